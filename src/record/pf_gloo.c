/* SPDX-License-Identifier: Apache-2.0
 * pf_gloo.c - collectives of gloo, as slices of the threads in which PyTorch runs them.
 *
 * ProcessGroupGloo (torch/csrc/distributed/c10d) has a queue of work, and two threads that take from it:
 *
 *     while (!stop) {
 *         if (queue is empty) { workProduceCV.wait(); continue; }
 *         take one;
 *         workConsumeCV.notify_one();         the condition lies behind the other one (inject/osrt_wakes.c)
 *         run it, and complete its future     which wakes who waits for it
 *     }
 *
 * So a collective lasts from a signal to the next one, or to the next wait for the queue.  Without these signals it lasts
 * from one wait for the queue to the next, and what followed without a wait is one with it.  A thread that runs collectives
 * is known by who called: the waits inside of one are gloo's (UnboundBuffer::waitRecv), those for the queue are not.
 *
 * What a collective is called is only known with --pytorch: a queue keeps its order, so the first that is taken is the first
 * operator c10d::X.  Where both do not fit, or there are several queues, none is named.
 */
#include <pthread.h>
#include <stdlib.h>

#include "protocol/os_calls.h"
#include "record/pf.h"

typedef struct {
    uint64_t start, end; /* ticks */
    uint32_t thread;
    hu_str   name;
} collective;

/* An operator that puts one into the queue. */
typedef struct {
    uint64_t start;
    hu_str   name;
} request;

struct hu_pf_gloo {
    HU_VEC(collective) list; /* by start */
    HU_VEC(request) requests;
    HU_VEC(uint64_t) pauses; /* when nothing was recorded from there on */
    uint64_t queue;          /* of the last thread; 0: there was none */
    bool     has_queues;     /* more than one */
};

/* PyTorch's words for the work of each operator (profilingTitle, ProcessGroupGloo.cpp). */
static hu_str title_of(hu_str operator)
{
    static const struct {
        const char *request, *title;
    } titles[] = {
        {"c10d::allreduce_", "gloo:all_reduce"},
        {"c10d::allreduce_coalesced_", "gloo:all_reduce"},
        {"c10d::broadcast_", "gloo:broadcast"},
        {"c10d::reduce_", "gloo:reduce"},
        {"c10d::allgather_", "gloo:all_gather"},
        {"c10d::_allgather_base_", "gloo:all_gather"},
        {"c10d::allgather_coalesced_", "gloo:all_gather"},
        {"c10d::allgather_into_tensor_coalesced_", "gloo:all_gather"},
        {"c10d::reduce_scatter_", "gloo:reduce_scatter"},
        {"c10d::_reduce_scatter_base_", "gloo:reduce_scatter"},
        {"c10d::reduce_scatter_tensor_coalesced_", "gloo:reduce_scatter"},
        {"c10d::gather_", "gloo:gather"},
        {"c10d::scatter_", "gloo:scatter"},
        {"c10d::alltoall_", "gloo:all_to_all"},
        {"c10d::alltoall_base_", "gloo:all_to_all"},
        {"c10d::barrier", "gloo:barrier"},
    };

    for (size_t i = 0; i < HU_COUNT(titles); i++)
        if (hu_str_equal(operator, hu_str_of(titles[i].request)))
            return hu_str_of(titles[i].title);
    return HU_STR("");
}

static hu_str caller_of(hu_pf *p, const hu_ring_event *e)
{
    for (uint32_t i = 0; i < e->n_more; i++)
        if (e->more[i].aux == HU_MORE_PLACE) {
            const uint32_t id = hu_call_sites_caller(&p->sites, e->more[i].b);

            return id == HU_CALL_SITE_NONE ? HU_STR("") : p->sites.names.at[id];
        }
    return HU_STR("");
}

/* What is known of a thread while its records are read. */
typedef struct {
    uint32_t thread;
    bool     is_loop;     /* it runs collectives */
    bool     signals;     /* for each that it takes */
    bool     works;       /* it called gloo since `since` */
    uint64_t since, last; /* the collective's begin, 0: it is in none; the end of the last call */
    uint64_t queue;       /* the address of its condition */
} reader;

static bool finish(hu_pf *p, reader *x, uint64_t end)
{
    const bool is_one = x->since && end > x->since && (x->signals || x->works);
    const bool ok = !is_one || hu_vec_push(p->scratch, &p->gloo->list,
                                           ((collective){.start = x->since, .end = end, .thread = x->thread}));

    x->since = 0;
    x->works = false;
    return ok;
}

static uint64_t object_of(const hu_ring_event *e)
{
    for (uint32_t i = 0; i < e->n_more; i++)
        if (e->more[i].aux == HU_MORE_PLACE)
            return e->more[i].a;
    return 0;
}

static bool read_call(hu_pf *p, reader *x, const hu_ring_event *e)
{
    const hu_record *r = e->record;
    const hu_str     caller = caller_of(p, e);
    uint64_t         end;

    if (!__builtin_add_overflow(r->time, r->a, &end) && end > x->last)
        x->last = end;
    if (hu_str_starts(caller, HU_STR("gloo::"))) {
        x->works = true;
        x->is_loop |= hu_str_has(caller, HU_STR("UnboundBuffer::wait"));
        return true;
    }
    if (caller.n == 0 || r->aux != HU_OS_CALL_pthread_cond_wait)
        return true;
    if (!finish(p, x, r->time))
        return false;
    x->queue = x->queue ? x->queue : object_of(e);
    if (!x->signals)
        x->since = x->last;
    return true;
}

static bool read_signal(hu_pf *p, reader *x, const hu_record *r)
{
    if (r->aux != HU_WAKE_SIGNAL || !x->queue || r->a - x->queue != sizeof(pthread_cond_t))
        return true;
    if (!x->signals) {
        x->signals = true;
        x->since = 0;
    }
    if (!finish(p, x, r->time))
        return false;
    x->since = r->time;
    return true;
}

static bool read_one(hu_pf *p, reader *x, const hu_ring_event *e)
{
    const hu_record *r = e->record;
    hu_str           name;

    switch ((hu_record_type)r->type) {
    case HU_RECORD_OS_CALL:
        return read_call(p, x, e);
    case HU_RECORD_WAKE:
        return read_signal(p, x, r);
    case HU_RECORD_PAUSE:
        return hu_vec_push(p->scratch, &p->gloo->pauses, r->time);
    case HU_RECORD_TORCH:
        name = title_of(hu_ring_text(p->ring, r->id));
        return name.n == 0 || hu_vec_push(p->scratch, &p->gloo->requests, ((request){r->time, name}));
    default:
        return true;
    }
}

static bool survey_thread(hu_pf *p, const hu_ring_thread *thread)
{
    struct hu_pf_gloo *g = p->gloo;
    const size_t       before = g->list.n;
    reader             x = {.thread = thread->thread};
    hu_ring_cursor     c;
    hu_ring_event      e;

    hu_ring_start(p->ring, thread, NULL, &c);
    while (hu_ring_next(&c, &e))
        if (!read_one(p, &x, &e))
            return false;
    /* most processes end while these threads wait for more; what still ran then has no end */
    if ((thread->call == HU_OS_CALL_pthread_cond_wait + 1 && !finish(p, &x, thread->call_since)) ||
        (thread->call == 0 && x.signals && !finish(p, &x, x.last)))
        return false;
    if (!x.is_loop || thread->tid == hu_ring_get_head(p->ring)->pid) {
        g->list.n = before;
        return true;
    }
    g->has_queues |= g->queue && g->queue != x.queue;
    g->queue = x.queue;
    return true;
}

static int by_start(const void *left, const void *right)
{
    const collective *a = left, *b = right;

    return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
                                : (a->thread > b->thread) - (a->thread < b->thread);
}

static int by_request(const void *left, const void *right)
{
    const request *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

/* When those ended that were running is not known. */
static void leave_out_paused(struct hu_pf_gloo *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->list.n; i++) {
        bool is_cut = false;

        for (size_t k = 0; k < g->pauses.n; k++)
            is_cut |= g->list.at[i].start < g->pauses.at[k] && g->pauses.at[k] < g->list.at[i].end;
        if (!is_cut)
            g->list.at[kept++] = g->list.at[i];
    }
    g->list.n = kept;
}

/*
 * Where recording began later, requests may be without a collective at first: the thread waited already, unseen.  Nobody
 * takes what has not been asked for yet, so elsewhere none may be missing.
 */
static void name_all(struct hu_pf_gloo *g)
{
    const size_t early = g->requests.n - g->list.n;
    bool         fits = g->list.n <= g->requests.n && !g->has_queues;

    for (size_t i = 0; i < g->list.n && fits; i++)
        fits = g->requests.at[early + i].start <= g->list.at[i].start;
    for (size_t i = 0; i < g->list.n; i++)
        g->list.at[i].name = fits ? g->requests.at[early + i].name : HU_STR("gloo:collective");
}

/* A process without libtorch need not be read twice. */
static bool has_torch(const hu_pf *p)
{
    for (size_t i = 0; i < p->sites.modules.n; i++)
        if (hu_str_ends(p->sites.modules.at[i].path, HU_STR("/libtorch_cpu.so")))
            return true;
    return false;
}

bool hu_pf_gloo_survey(hu_pf *p)
{
    size_t                n;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n);

    p->gloo = NULL;
    if (!has_torch(p))
        return true;
    p->gloo = hu_arena_calloc(p->scratch, 1, sizeof *p->gloo);
    if (!p->gloo)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!survey_thread(p, &threads[i]))
            return false;
    leave_out_paused(p->gloo);
    if (p->gloo->list.n)
        qsort(p->gloo->list.at, p->gloo->list.n, sizeof *p->gloo->list.at, by_start);
    if (p->gloo->requests.n)
        qsort(p->gloo->requests.at, p->gloo->requests.n, sizeof *p->gloo->requests.at, by_request);
    name_all(p->gloo);
    return true;
}

void hu_pf_gloo_write(hu_pf *p, hu_pf_sequence *s, uint32_t thread)
{
    for (size_t i = 0; p->gloo && i < p->gloo->list.n; i++) {
        const collective *c = &p->gloo->list.at[i];
        hu_pf_event       e = {
                  .type = HU_PT_TYPE_BEGIN, .category = HU_PF_OF_USER, .ns = hu_pf_ns(p, c->start) + 1, .text = c->name};
        hu_pf_event over = {.type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .text = HU_STR("")};

        over.ns = hu_pf_ns(p, c->end) - 1; /* within the waits around it, by any order of what happens at once */
        if (c->thread != thread || over.ns <= e.ns)
            continue;
        hu_pf_write(p, s, &e);
        hu_pf_write(p, s, &over);
    }
}
