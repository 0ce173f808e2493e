/* SPDX-License-Identifier: Apache-2.0
 * pf_thread.c - the records of one thread as slices, instants and counters.
 *
 * A track of Perfetto ends what was begun last, but ranges of NVTX nest within their domain alone, and a step may end
 * inside of a range.  So the records are read twice: first to find the domains whose ranges cross others, which then get
 * a row of their own below the thread; everything else lies on the thread itself, where it was.
 * The last step of a loop that nothing ends is open until the process ends, whatever that does behind the loop.  So among
 * others it is no step but a range that says so: how long it took is not known.  Where the recorder stopped listening behind
 * it (--steps), that was its end.
 *
 * Steps that the hook of PyTorch found count only where the program marks none, by holdup.step, torch.profiler or a numbered
 * range; and not those that were none (HU_RECORD_STEP_END), or that nothing ended.
 *
 * Calls are written when they have returned, so they come behind what happened inside of them: readers sort by time.
 */
#include "base/number.h"
#include "protocol/mpi_calls.h"
#include "protocol/os_calls.h"
#include "record/pf.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

enum { STEP_KEY = 1 << 16 }; /* behind all domains */

/* Ranges that nest among themselves: a domain, or the steps. */
typedef struct {
    uint32_t key;
    uint32_t n_open;
    uint32_t top; /* 1 + the youngest open one in `open`; 0: none */
    bool     crosses;
    uint64_t track; /* its own row; 0: the thread's */
} lane;

typedef struct {
    uint32_t below; /* 1 + the next older one of its lane; 0: none */
    uint32_t lane;
    bool     has_ended;
} open_range;

/* A STEP, in the order of the records. */
typedef struct {
    bool is_of_hook;
    bool is_hidden; /* it does not count */
} step_mark;

typedef struct {
    hu_pf                *p;
    hu_pf_sequence        s;
    const hu_ring_thread *thread;
    uint64_t              track;
    hu_arena             *arena;
    hu_map                lane_of;
    uint64_t              steps, open_step; /* as read so far; 1, 2, ...: the one that nothing ends, 0: none */
    const hu_wait_thread *waits;            /* of this thread, seen from outside */
    size_t                n_waits;
    bool                  is_gpu;        /* it decoded what CUPTI gave */
    uint64_t              omp_row;       /* of what OpenMP told; 0: nothing yet */
    uint64_t              paused;        /* when the recorder stopped listening in the last step; 0: it did not */
    bool                  has_own_steps; /* the program marks steps */
    bool                  is_hidden;     /* the step that is open does not count */
    HU_VEC(step_mark) marks;
    hu_map recomputed;      /* sequence numbers of another thread than the one that trains */
    HU_VEC(uint32_t) names; /* of ranges and operators that are open on the thread itself, oldest first */
    HU_VEC(lane) lanes;
    HU_VEC(open_range) open;
} work;

/* The lane of a key; NULL: no memory. */
static lane *find_lane(work *w, uint32_t key)
{
    uint32_t *place = hu_map_put(&w->lane_of, key);

    if (place && *place == HU_MAP_NONE && hu_vec_push(w->arena, &w->lanes, ((lane){.key = key})))
        *place = (uint32_t)w->lanes.n - 1;
    return place && *place != HU_MAP_NONE ? &w->lanes.at[*place] : NULL;
}

/* first reading: who crosses whom */

static bool survey_begin(work *w, uint32_t key)
{
    lane *l = find_lane(w, key);

    if (!l || !hu_vec_push(w->arena, &w->open, ((open_range){.below = l->top, .lane = (uint32_t)(l - w->lanes.at)})))
        return false;
    l->top = (uint32_t)w->open.n;
    return true;
}

static bool survey_end(work *w, uint32_t key)
{
    lane *l = find_lane(w, key);

    if (!l)
        return false;
    if (l->top == 0)
        return true;
    l->crosses |= l->top != w->open.n;
    w->open.at[l->top - 1].has_ended = true;
    l->top = w->open.at[l->top - 1].below;
    while (w->open.n && w->open.at[w->open.n - 1].has_ended)
        w->open.n--;
    return true;
}

/* "step 12", "train_iteration#3", "iter: 7": the program's own, in a range of NVTX or of torch.profiler. */
static bool is_mark_of_steps(hu_str name)
{
    static const hu_str words[] = {{"step", 4}, {"iteration", 9}, {"iter", 4}};
    const size_t        all = name.n;

    while (name.n && name.p[name.n - 1] >= '0' && name.p[name.n - 1] <= '9')
        name.n--;
    if (name.n == all || name.n < 4)
        return false;
    while (name.n && strchr(" _-#:=[", name.p[name.n - 1]))
        name.n--;
    for (size_t i = 0; i < HU_COUNT(words); i++) {
        const char *at = name.p + name.n - words[i].n;

        if (name.n >= words[i].n && strncasecmp(at, words[i].p, words[i].n) == 0)
            return name.n == words[i].n || !isalpha((unsigned char)at[-1]) || isupper((unsigned char)*at); /* no "filter" */
    }
    return false;
}

/* What ends the open step is an end that the hook meant: it counts. */
static void keep_open_step(work *w)
{
    if (w->marks.n)
        w->marks.at[w->marks.n - 1].is_hidden = false;
}

static bool survey_step(work *w, const hu_record *r)
{
    lane           *steps = find_lane(w, STEP_KEY);
    const step_mark mark = {r->b == HU_STEP_OF_HOOK, r->b == HU_STEP_OF_HOOK};

    if (!steps)
        return false;
    w->steps++;
    w->paused = 0;
    w->has_own_steps |= !mark.is_of_hook;
    if (steps->top) {
        keep_open_step(w);
        if (!survey_end(w, STEP_KEY))
            return false;
    }
    return hu_vec_push(w->arena, &w->marks, mark) && survey_begin(w, STEP_KEY);
}

/* The program ends no step of the hook's, nor the hook one of the program's. */
static bool is_end_of_another(const work *w, const hu_record *r)
{
    return w->steps && w->steps <= w->marks.n && w->marks.at[w->steps - 1].is_of_hook != (r->b == HU_STEP_OF_HOOK);
}

static bool survey_step_end(work *w, const hu_record *r)
{
    const lane *steps = find_lane(w, STEP_KEY);

    if (!steps)
        return false;
    if (is_end_of_another(w, r))
        return true;
    if (steps->top && r->a == 0)
        keep_open_step(w);
    return survey_end(w, STEP_KEY);
}

static bool survey_one(work *w, const hu_record *r)
{
    lane *steps;

    switch ((hu_record_type)r->type) {
    case HU_RECORD_BEGIN:
        w->has_own_steps |= is_mark_of_steps(hu_ring_text(w->p->ring, r->id));
        return survey_begin(w, r->aux);
    case HU_RECORD_PHASE:
    case HU_RECORD_TORCH:
        return survey_begin(w, r->aux);
    case HU_RECORD_END:
        return survey_end(w, r->aux);
    case HU_RECORD_STEP:
        return survey_step(w, r);
    case HU_RECORD_STEP_END:
        return survey_step_end(w, r);
    case HU_RECORD_PAUSE:
        steps = find_lane(w, STEP_KEY);
        if (steps && steps->top && !w->paused) {
            keep_open_step(w);
            w->paused = r->time;
            steps->crosses |= steps->top != w->open.n;
        }
        return steps != NULL;
    default:
        return true;
    }
}

static bool survey(work *w)
{
    hu_ring_cursor c;
    hu_ring_event  e;

    hu_ring_start(w->p->ring, w->thread, NULL, &c);
    while (hu_ring_next(&c, &e))
        if (!survey_one(w, e.record))
            return false;
    if (w->steps) {
        const lane *steps = find_lane(w, STEP_KEY);

        if (!steps)
            return false;
        w->paused = steps->top ? w->paused : 0;
        w->open_step = steps->top && !w->paused && w->steps > 1 ? w->steps : 0;
        w->steps = 0;
    }
    for (size_t i = 0; w->has_own_steps && i < w->marks.n; i++)
        w->marks.at[i].is_hidden |= w->marks.at[i].is_of_hook;
    return true;
}

/* the thread and its rows */

void hu_pf_describe_thread(hu_pf *p, hu_pf_sequence *s, uint64_t track, uint32_t tid, hu_str name)
{
    const size_t packet = hu_pf_open(p, s), open = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);
    size_t       nest;

    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, track);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_PARENT, p->process_track);
    nest = hu_pb_write_open(&p->w, HU_PT_TRACK_THREAD);
    hu_pb_write_uint(&p->w, HU_PT_THREAD_PID, hu_ring_get_head(p->ring)->pid);
    hu_pb_write_uint(&p->w, HU_PT_THREAD_TID, tid);
    if (name.n)
        hu_pb_write_str(&p->w, HU_PT_THREAD_NAME, name);
    hu_pb_write_close(&p->w, nest);
    hu_pb_write_close(&p->w, open);
    hu_pf_close(p, s, packet);
}

static void describe_first(hu_pf *p, hu_pf_sequence *s, uint64_t track, uint32_t tid)
{
    const hu_ring_head *head = hu_ring_get_head(p->ring);

    hu_pf_describe_thread(p, s, track, tid,
                          tid == head->pid          ? hu_str_of(head->name)
                          : tid == head->cuda.tid   ? HU_STR("holdup-cuda")
                          : tid == head->opencl.tid ? HU_STR("holdup-opencl")
                                                    : HU_STR(""));
}

void hu_pf_threads(hu_pf *p, hu_pf_sequence *s)
{
    size_t                n;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n);

    p->first_track = p->last_uuid + 1;
    p->last_uuid += n;
    for (size_t i = 0; i < n; i++)
        describe_first(p, s, p->first_track + i, threads[i].tid);
}

static void make_rows(work *w)
{
    for (size_t i = 0; i < w->lanes.n; i++) {
        lane *l = &w->lanes.at[i];

        l->top = 0;
        if (!l->crosses)
            continue;
        l->track = ++w->p->last_uuid;
        hu_pf_row(w->p, &w->s, l->track, w->track,
                  l->key == STEP_KEY                   ? HU_STR("steps")
                  : hu_ring_text(w->p->ring, l->key).n ? hu_ring_text(w->p->ring, l->key)
                                                       : HU_STR("ranges"),
                  false);
    }
    w->open.n = 0;
}

/* second reading */

static hu_pf_event event_of(work *w, hu_pt_type type, hu_pf_category category, uint64_t ticks, uint32_t name)
{
    return (hu_pf_event){.type = type, .category = category, .ns = hu_pf_ns(w->p, ticks), .name = name, .text = HU_STR("")};
}

static uint32_t name_of(const work *w, uint32_t id)
{
    return hu_ring_text(w->p->ring, id).n ? id : HU_PF_OWN + HU_PF_UNNAMED;
}

static bool begin(work *w, const hu_ring_event *from)
{
    hu_pf_event e = event_of(w, HU_PT_TYPE_BEGIN, HU_PF_OF_USER, from->record->time, name_of(w, from->record->id));
    lane       *l = find_lane(w, from->record->aux);
    char        color[8];

    if (!l)
        return false;
    hu_pf_add_range(w->p, &e, from, color);
    e.track = l->track;
    l->n_open++;
    hu_pf_write(w->p, &w->s, &e);
    return from->record->aux != 0 || hu_vec_push(w->arena, &w->names, from->record->id);
}

/* A node of the graph: the engine calls it inside of "autograd::engine::evaluate_function: NAME". */
static bool is_node(const work *w, uint32_t id)
{
    static const hu_str engine = {"autograd::engine::evaluate_function: ", 37};
    const hu_str        name = hu_ring_text(w->p->ring, id);
    const hu_str        parent = w->names.n ? hu_ring_text(w->p->ring, w->names.at[w->names.n - 1]) : HU_STR("");

    return parent.n == engine.n + name.n && hu_str_starts(parent, engine) && hu_str_ends(parent, name);
}

static bool note_number(work *w, uint64_t sequence)
{
    uint32_t *place = hu_map_put(&w->recomputed, sequence);

    if (place)
        *place = 1;
    return place != NULL;
}

/*
 * What links forward and backward.  PyTorch numbers by thread, and NVTX does not say whose number a node has.  It is that of
 * the thread that trains, unless this is another one, where layers were computed again under the same number: then it is
 * left out.  Numbers of forward operators in other threads are left out always.
 */
static bool add_sequence(work *w, hu_pf_event *e, uint32_t id, int64_t sequence)
{
    const uint32_t trains = hu_ring_get_head(w->p->ring)->torch.tid;
    const bool     is_elsewhere = trains && trains != w->thread->tid, is_backward = is_node(w, id);

    if (sequence < 0)
        return true;
    if (is_elsewhere && !is_backward)
        return note_number(w, (uint64_t)sequence);
    if (is_elsewhere && hu_map_get(&w->recomputed, (uint64_t)sequence) != HU_MAP_NONE)
        return true;
    hu_pf_add(w->p, e, HU_PF_OWN + HU_PF_OP_SEQUENCE, HU_PF_INT)->whole = sequence;
    if (is_backward)
        hu_pf_add(w->p, e, HU_PF_OWN + HU_PF_FORWARD_THREAD, HU_PF_INT)->whole = trains ? trains : w->thread->tid;
    return true;
}

/* An operator of PyTorch, with the arguments that torch.profiler writes. */
static bool operator(work *w, const hu_ring_event *from)
{
    const hu_record *r = from->record;
    hu_pf_event      e = event_of(w, HU_PT_TYPE_BEGIN, HU_PF_OF_OPERATOR, r->time, name_of(w, r->id));
    lane            *l = find_lane(w, r->aux);

    if (!l)
        return false;
    hu_pf_add_text(w->p, &e, HU_PF_INPUT_DIMS, r->b);
    if (!add_sequence(w, &e, r->id, (int64_t)r->a))
        return false;
    hu_pf_add_more(w->p, &e, from);
    e.track = l->track;
    l->n_open++;
    hu_pf_write(w->p, &w->s, &e);
    return r->aux != 0 || hu_vec_push(w->arena, &w->names, r->id);
}

/* Ends the youngest of a lane, if there is one. */
static bool end(work *w, uint32_t key, uint64_t ticks, const hu_ring_event *from)
{
    hu_pf_event e = event_of(w, HU_PT_TYPE_END, HU_PF_OF_NONE, ticks, 0);
    lane       *l = find_lane(w, key);

    if (!l)
        return false;
    if (l->n_open == 0) {
        w->p->tally.orphans++;
        return true;
    }
    l->n_open--;
    w->names.n -= key == 0 && w->names.n;
    e.track = l->track;
    hu_pf_add_more(w->p, &e, from);
    hu_pf_write(w->p, &w->s, &e);
    return true;
}

static bool step(work *w, const hu_ring_event *from)
{
    char                text[32 + HU_NUMBER_BYTES], number[HU_NUMBER_BYTES];
    hu_pf_event         e = event_of(w, HU_PT_TYPE_BEGIN, HU_PF_OF_USER, from->record->time, 0);
    lane               *l = find_lane(w, STEP_KEY);
    const hu_ring_event nothing = {from->record, NULL, 0};
    const size_t        at = w->steps++;

    if (!l || (l->n_open && !end(w, STEP_KEY, from->record->time, &nothing)))
        return false;
    w->is_hidden = at < w->marks.n && w->marks.at[at].is_hidden;
    if (w->is_hidden)
        return true;
    number[hu_format_i64(number, (int64_t)from->record->a)] = '\0';
    snprintf(text, sizeof text, w->steps == w->open_step ? "step %s, which nothing ended" : "ProfilerStep#%s", number);
    e.text = hu_str_of(text);
    e.track = l->track;
    hu_pf_add_more(w->p, &e, from);
    l->n_open++;
    hu_pf_write(w->p, &w->s, &e);
    return true;
}

static bool step_end(work *w, const hu_ring_event *from)
{
    const bool was_hidden = w->is_hidden;

    if (is_end_of_another(w, from->record))
        return true;
    w->is_hidden = false;
    return was_hidden || end(w, STEP_KEY, from->record->time, from);
}

static void mark(work *w, const hu_ring_event *from)
{
    hu_pf_event e = event_of(w, HU_PT_TYPE_INSTANT, HU_PF_OF_USER, from->record->time, name_of(w, from->record->id));
    char        color[8];

    hu_pf_add_range(w->p, &e, from, color);
    hu_pf_write(w->p, &w->s, &e);
}

/* What a call returned is bytes where it moves some. */
static bool moves_bytes(uint32_t call, hu_os_class class)
{
    static const bool never[HU_OS_CALL_COUNT] = {
        [HU_OS_CALL_fflush] = true, [HU_OS_CALL_fclose] = true,  [HU_OS_CALL_connect] = true,
        [HU_OS_CALL_accept] = true, [HU_OS_CALL_accept4] = true, [HU_OS_CALL_getaddrinfo] = true,
    };

    return !never[call] &&
           (class == HU_OS_FILE_READ || class == HU_OS_FILE_WRITE || class == HU_OS_NETWORK || class == HU_OS_PIPE);
}

static hu_os_class class_of(uint32_t call)
{
    static const uint8_t classes[] = {
#define C(name, class) HU_OS_##class,
        HU_OS_CALLS(C)
#undef C
    };

    return (hu_os_class)classes[call];
}

static void add_class_of(hu_pf *p, hu_pf_event *e, uint32_t call)
{
    static const char *const names[] = {
#define C(id, name) name,
        HU_OS_CLASSES(C)
#undef C
    };

    hu_pf_add(p, e, HU_PF_OWN + HU_PF_CLASS, HU_PF_TEXT)->text = hu_str_of(names[class_of(call)]);
}

/* What was recorded here is not told a second time from what was seen from outside. */
static void cover(work *w, int64_t start_ns, int64_t end_ns)
{
    if (w->n_waits)
        hu_waits_cover(w->p->waits, w->waits, w->n_waits, hu_pf_monotonic_ns(w->p, start_ns),
                       hu_pf_monotonic_ns(w->p, end_ns));
}

/* A call that has returned: both ends. */
static void write_call(work *w, hu_pf_event *e, const hu_record *r)
{
    hu_pf_event over = event_of(w, HU_PT_TYPE_END, HU_PF_OF_NONE, r->time, 0);
    uint64_t    until;

    if (!__builtin_add_overflow(r->time, r->a, &until))
        over.ns = hu_pf_ns(w->p, until);
    hu_pf_write(w->p, &w->s, e);
    over.ns = over.ns > e->ns ? over.ns : e->ns;
    hu_pf_write(w->p, &w->s, &over);
    cover(w, e->ns, over.ns);
}

static void os_call(work *w, const hu_ring_event *from)
{
    const hu_record *r = from->record;
    const uint32_t   call = r->aux;
    hu_pf_event      e = event_of(w, HU_PT_TYPE_BEGIN, HU_PF_OF_OS_CALL, r->time, HU_PF_OS_CALL_NAMES + call);

    if (call >= HU_OS_CALL_COUNT) {
        w->p->tally.damage.odd++;
        return;
    }
    add_class_of(w->p, &e, call);
    if (moves_bytes(call, class_of(call)))
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_BYTES, HU_PF_INT)->whole = (int64_t)r->b;
    else if (r->b)
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_RESULT, HU_PF_INT)->whole = (int64_t)r->b;
    hu_pf_add_text(w->p, &e, class_of(call) == HU_OS_NETWORK ? HU_PF_PEER : HU_PF_PATH, r->id);
    hu_pf_add_more(w->p, &e, from);
    hu_pf_add_place(w->p, &e, from);
    write_call(w, &e, r);
    hu_pf_waker(w->p, &w->s, from);
}

static void mpi(work *w, const hu_ring_event *from)
{
    const hu_record *r = from->record;
    hu_pf_event      e = event_of(w, HU_PT_TYPE_BEGIN, HU_PF_OF_MPI, r->time, HU_PF_MPI_NAMES + r->aux);

    if (!hu_pf_iid_text(w->p, e.name).n) {
        w->p->tally.damage.odd++;
        return;
    }
    hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_BYTES, HU_PF_INT)->whole = (int64_t)r->b;
    hu_pf_add_text(w->p, &e, HU_PF_COMM, r->id);
    hu_pf_add_more(w->p, &e, from);
    write_call(w, &e, r);
}

void hu_pf_describe_counter(hu_pf *p, hu_pf_sequence *s, uint64_t track, hu_str name)
{
    const size_t packet = hu_pf_open(p, s), open = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);

    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, track);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_PARENT, p->process_track);
    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, name);
    hu_pb_write_close(&p->w, hu_pb_write_open(&p->w, HU_PT_TRACK_COUNTER));
    hu_pb_write_close(&p->w, open);
    hu_pf_close(p, s, packet);
}

static bool counter(work *w, const hu_ring_event *from)
{
    const hu_record *r = from->record;
    hu_pf           *p = w->p;
    hu_pf_event      e = event_of(w, HU_PT_TYPE_COUNTER, HU_PF_OF_NONE, r->time, 0);
    uint32_t        *place = hu_map_put(&p->counters, r->id);

    if (place && *place == HU_MAP_NONE && hu_vec_push(p->scratch, &p->counter_tracks, ++p->last_uuid)) {
        *place = (uint32_t)p->counter_tracks.n - 1;
        hu_pf_describe_counter(p, &w->s, p->last_uuid, hu_pf_iid_text(p, name_of(w, r->id)));
    }
    if (!place || *place == HU_MAP_NONE)
        return false;
    e.track = p->counter_tracks.at[*place];
    memcpy(&e.counter, &r->a, sizeof e.counter);
    hu_pf_write(p, &w->s, &e);
    return true;
}

static void lost(work *w, const hu_record *r)
{
    static const char *const reasons[HU_LOSS_REASONS] = {"no free block",     "disk full",   "in a signal handler",
                                                         "string table full", "overwritten", "size limit"};
    hu_pf_event              e = event_of(w, HU_PT_TYPE_INSTANT, HU_PF_OF_LOST, r->b, HU_PF_OWN + HU_PF_LOST);

    hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_COUNT, HU_PF_INT)->whole = (int64_t)r->a;
    if (r->aux < HU_LOSS_REASONS)
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_REASON, HU_PF_TEXT)->text = hu_str_of(reasons[r->aux]);
    hu_pf_write(w->p, &w->s, &e);
}

/* The end of this process image, or a new one: what comes then points back here. */
static void family(work *w, const hu_record *r)
{
    const bool  is_fork = r->type == HU_RECORD_FORK;
    hu_pf_event e = event_of(w, HU_PT_TYPE_INSTANT, HU_PF_OF_PROCESS, r->time,
                             HU_PF_OWN + (is_fork ? HU_PF_FORK : HU_PF_EXEC));

    if (is_fork)
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_CHILD, HU_PF_INT)->whole = (int64_t)r->a;
    else
        hu_pf_add_text(w->p, &e, HU_PF_PROGRAM, r->id);
    e.flow = w->p->flow_to ? w->p->flow_to(w->p->flows, w->p->process_id, r) : 0;
    hu_pf_write(w->p, &w->s, &e);
}

static bool convert(work *w, const hu_ring_event *e)
{
    const hu_record *r = e->record;
    hu_pf_event      instant;

    switch ((hu_record_type)r->type) {
    case HU_RECORD_BEGIN:
    case HU_RECORD_PHASE:
        return begin(w, e);
    case HU_RECORD_END:
        return end(w, r->aux, r->time, e);
    case HU_RECORD_MARK:
        mark(w, e);
        return true;
    case HU_RECORD_START:
    case HU_RECORD_STOP:
        return hu_pf_ranges_take(w->p, e, w->thread->tid);
    case HU_RECORD_STEP:
        return step(w, e);
    case HU_RECORD_STEP_END:
        return step_end(w, e);
    case HU_RECORD_TORCH:
        return operator(w, e);
    case HU_RECORD_COUNTER:
        return counter(w, e);
    case HU_RECORD_OS_CALL:
        os_call(w, e);
        return true;
    case HU_RECORD_MPI:
        mpi(w, e);
        return true;
    case HU_RECORD_THREAD:
        hu_pf_describe_thread(w->p, &w->s, w->track, w->thread->tid, hu_ring_text(w->p->ring, r->id));
        return true;
    case HU_RECORD_FORK:
    case HU_RECORD_EXEC:
        family(w, r);
        return true;
    case HU_RECORD_LOST:
        w->p->tally.placed += r->a;
        lost(w, r);
        return true;
    case HU_RECORD_PAUSE:
        if (w->paused && r->time == w->paused && !w->is_hidden && !end(w, STEP_KEY, r->time, &(hu_ring_event){.record = r}))
            return false;
        /* fall through */
    case HU_RECORD_RESUME:
        instant = event_of(w, HU_PT_TYPE_INSTANT, HU_PF_OF_RECORDER, r->time,
                           HU_PF_OWN + (r->type == HU_RECORD_PAUSE ? HU_PF_PAUSED : HU_PF_RESUMED));
        hu_pf_write(w->p, &w->s, &instant);
        return true;
    case HU_RECORD_WAKE:
        hu_pf_wake(w->p, &w->s, r);
        return true;
    case HU_RECORD_GPU:
        return w->is_gpu ? hu_pf_gpu_take(w->p, &w->s, e) : (w->p->tally.damage.odd++, true);
    case HU_RECORD_NCCL:
        return hu_pf_nccl_take(w->p, &w->s, e);
    case HU_RECORD_OPENCL:
        if ((r->aux & ((1u << HU_OPENCL_KIND_BITS) - 1)) == HU_OPENCL_CALL && r->a < UINT64_MAX - r->time)
            cover(w, hu_pf_ns(w->p, r->time), hu_pf_ns(w->p, r->time + r->a));
        return hu_pf_opencl_take(w->p, &w->s, e);
    case HU_RECORD_OMP:
        return hu_pf_omp_take(w->p, &w->s, e, w->track, &w->omp_row);
    case HU_RECORD_SAMPLE:
        return true; /* perf_timer.c */
    case HU_RECORD_PAYLOAD:
    case HU_RECORD_NONE:
    case HU_RECORD_MORE:
    case HU_RECORD_TYPES:
        break;
    }
    w->p->tally.damage.odd++;
    return true;
}

/* what lasts until the end */

static void end_one(work *w, uint64_t track)
{
    hu_pf_event over = {
        .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = w->p->last_ns, .track = track, .text = HU_STR("")};

    hu_pf_add(w->p, &over, HU_PF_OWN + HU_PF_UNFINISHED, HU_PF_BOOL)->whole = 1;
    hu_pf_write(w->p, &w->s, &over);
    w->p->tally.unfinished++;
}

static void end_unfinished(work *w)
{
    const uint32_t call = w->thread->call;
    const bool     is_mpi = call > HU_INSIDE_MPI && call - 1 - HU_INSIDE_MPI < HU_MPI_CALL_COUNT;

    if (is_mpi || (call && call - 1 < HU_OS_CALL_COUNT)) {
        hu_pf_event e = event_of(w, HU_PT_TYPE_BEGIN, is_mpi ? HU_PF_OF_MPI : HU_PF_OF_OS_CALL, w->thread->call_since,
                                 is_mpi ? HU_PF_MPI_NAMES + call - 1 - HU_INSIDE_MPI : HU_PF_OS_CALL_NAMES + call - 1);

        if (!is_mpi) {
            add_class_of(w->p, &e, call - 1);
            hu_pf_add_unfinished(w->p, &e, w->thread);
        }
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_UNFINISHED, HU_PF_BOOL)->whole = 1;
        hu_pf_write(w->p, &w->s, &e);
        end_one(w, 0);
        cover(w, e.ns, w->p->last_ns);
    }
    for (size_t i = 0; i < w->lanes.n; i++)
        for (; w->lanes.at[i].n_open; w->lanes.at[i].n_open--)
            end_one(w, w->lanes.at[i].track);
}

static bool write_all(work *w)
{
    const uint32_t pid = hu_ring_get_head(w->p->ring)->pid;
    hu_ring_cursor c;
    hu_ring_event  e;

    if (!survey(w))
        return false;
    w->track = hu_pf_track_of(w->p, w->thread->thread);
    w->waits = w->p->waits ? hu_waits_of(w->p->waits, pid, w->thread->tid, &w->n_waits) : NULL;
    if (w->n_waits && w->lanes.n)
        hu_waits_trim(w->p->waits, w->waits, w->n_waits);
    hu_pf_begin_sequence(w->p, w->track, &w->s);
    make_rows(w);
    w->is_gpu = w->thread->tid && w->thread->tid == hu_ring_get_head(w->p->ring)->cuda.tid;
    if (w->is_gpu && !hu_pf_gpu_begin(w->p, w->thread))
        return false;
    hu_ring_start(w->p->ring, w->thread, &w->p->tally.damage, &c);
    while (hu_ring_next(&c, &e))
        if (!convert(w, &e))
            return false;
    hu_pf_gloo_write(w->p, &w->s, w->thread->thread);
    end_unfinished(w);
    if (w->is_gpu && !hu_pf_gpu_end(w->p, &w->s))
        return false;
    return !w->p->w.no_memory;
}

int hu_pf_thread(hu_pf *p, const hu_ring_thread *thread, hu_error *err)
{
    hu_arena  *arena = hu_arena_new();
    work       w = {.p = p, .thread = thread, .arena = arena};
    const bool ok = arena && hu_map_init(&w.lane_of, arena, 0) && hu_map_init(&w.recomputed, arena, 0) && write_all(&w);

    hu_arena_free(arena);
    return ok ? hu_ring_status(p->ring, err) : hu_fail_memory(err);
}
