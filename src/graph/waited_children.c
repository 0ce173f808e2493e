/* SPDX-License-Identifier: Apache-2.0
 * waited_children.c - whose children compute, and how long the same work would take on the CPUs that the job may use.
 *
 * Only processes with most of the work count as children to choose from; a driver that only starts one other process (sh,
 * cc) is passed over.  Of several children, those that share a work (forks of one program in one function) could take equal
 * parts of it.  Others are what they are: they could at best be started in another order, the longest first, or beside
 * each other.
 * Of one alone nobody knows whether it can be divided.
 *
 * On a busy machine, children wait for CPUs.  What counts is how many want one at a time: that they did not get it is no
 * reason to say that they ran one after the other.
 */
#include "graph/waited_children.h"

#include <stdlib.h>

#include "analyze/main_thread.h"
#include "graph/kin.h"

enum {
    LEAST_RUN_NS = 10000000, /* of a process, for a finding to be about it */
    FEW_SAMPLES = 10,        /* fewer say nothing of what a process does */
    MOST_GENERATIONS = 64,   /* from the main process down */
    MOST_CHANGES = 1 << 23,  /* of states: more are not looked at */
    NO_JOB = UINT32_MAX,
};

static const double WORTH_COUNTING = 0.1; /* of the computing of the child with most, that another one does */

typedef struct {
    const hu_process_span *span;
    int64_t                own_ns, all_ns, wants_ns; /* it computes; with all below it; it waits for a CPU */
    int64_t                samples, in_function;
    uint32_t               function;
    uint32_t               parent; /* row; HU_NONE */
    uint32_t               job;    /* which of the children it is, or is below; NO_JOB */
} process;

typedef struct {
    const hu_graph     *g;
    const hu_joined    *j;
    hu_arena           *scratch;
    hu_kin              kin;
    hu_map              row_of; /* number of a process -> row */
    process            *at;
    size_t              n;
    uint32_t           *lane_row; /* by lane; HU_NONE */
    const hu_track    **track;    /* by lane */
    uint32_t           *number;   /* by lane: of its track */
    uint32_t            root;     /* row of the main process */
    hu_waited_children *out;
} work;

static bool map_processes(work *w)
{
    hu_process_span *spans = NULL;

    if (!hu_main_thread_processes(w->g->ask->trace, w->scratch, &spans, &w->n) ||
        !hu_map_init(&w->row_of, w->scratch, w->n) || !hu_kin_find(w->g->ask->trace, w->scratch, &w->kin))
        return false;
    w->at = hu_arena_calloc(w->scratch, w->n + 1, sizeof *w->at);
    if (!w->at)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t *place = hu_map_put(&w->row_of, (uint64_t)spans[i].pid);

        if (!place)
            return false;
        *place = i;
        w->at[i] = (process){.span = &spans[i], .job = NO_JOB};
    }
    for (size_t i = 0; i < w->n; i++)
        w->at[i].parent = hu_map_get(&w->row_of, (uint64_t)hu_kin_parent(&w->kin, spans[i].pid));
    return true;
}

static bool map_lanes(work *w)
{
    const hu_ask *ask = w->g->ask;
    uint32_t      lane = 0;

    w->lane_row = hu_arena_alloc(w->scratch, (w->g->n_lanes + 1) * sizeof *w->lane_row);
    w->track = hu_arena_calloc(w->scratch, w->g->n_lanes + 1, sizeof *w->track);
    w->number = hu_arena_calloc(w->scratch, w->g->n_lanes + 1, sizeof *w->number);
    if (!w->lane_row || !w->track || !w->number)
        return false;
    for (uint32_t t = 0; t < ask->n_tracks && lane < w->g->n_lanes; t++) {
        const hu_track *track = &ask->tracks[t];

        if (track->type != HU_TRACK_HOST)
            continue;
        w->lane_row[lane] = track->pid_is_text ? HU_NONE : hu_map_get(&w->row_of, (uint64_t)track->pid);
        w->number[lane] = t;
        w->track[lane++] = track;
    }
    w->root = w->lane_row[w->g->main_lane];
    for (size_t i = 0; i < w->g->n_nodes; i++) {
        const uint32_t row = w->lane_row[w->g->node[i].lane];

        if (row != HU_NONE) {
            w->at[row].own_ns += w->j->run_ns[i];
            w->at[row].wants_ns += w->j->ready_ns[i];
        }
    }
    return true;
}

/* What a process computes, and all below it. */
static void add_up(work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        uint32_t at = (uint32_t)i;

        for (int k = 0; k < MOST_GENERATIONS && at != HU_NONE; k++) {
            w->at[at].all_ns += w->at[i].own_ns;
            at = at == w->root ? HU_NONE : w->at[at].parent;
        }
    }
}

/* The child with most to compute, and how many compute about as much. */
static uint32_t largest_child(const work *w, uint32_t parent, size_t *n)
{
    uint32_t best = HU_NONE;

    *n = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->at[i].parent == parent && i != w->root && (best == HU_NONE || w->at[i].all_ns > w->at[best].all_ns))
            best = i;
    for (uint32_t i = 0; best != HU_NONE && i < w->n; i++)
        *n += w->at[i].parent == parent && i != w->root &&
              (double)w->at[i].all_ns >= WORTH_COUNTING * (double)w->at[best].all_ns;
    return best;
}

/* Whose children are looked at; HU_NONE: nobody's.  *only: the one child; HU_NONE: all of them. */
static uint32_t find_parent(const work *w, uint32_t *only)
{
    uint32_t parent = w->root;

    for (int k = 0; k < MOST_GENERATIONS; k++) {
        size_t         n;
        const uint32_t child = largest_child(w, parent, &n);

        *only = n == 1 ? child : HU_NONE;
        if (child == HU_NONE || w->at[child].all_ns < LEAST_RUN_NS)
            return HU_NONE;
        if (n > 1 || 2 * w->at[child].own_ns >= w->at[child].all_ns)
            return parent;
        parent = child;
    }
    return HU_NONE;
}

/* Gives each child its number, and those below it the same. */
static void number_jobs(work *w, uint32_t parent, uint32_t only)
{
    for (size_t i = 0; i < w->n; i++) {
        uint32_t at = (uint32_t)i, above = w->at[i].parent;

        for (int k = 0; k < MOST_GENERATIONS && above != HU_NONE && above != parent && at != w->root; k++) {
            at = above;
            above = w->at[at].parent;
        }
        if (above != parent || at == w->root || i == w->root || (only != HU_NONE && at != only))
            continue;
        w->at[i].job = at;
        w->out->n += at == i;
        w->out->all_ns += w->at[i].own_ns;
    }
}

/* Of each process the function that most of its samples are in. */
static bool find_functions(work *w)
{
    const hu_trace      *trace = w->g->ask->trace;
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    hu_map               place;
    HU_VEC(int64_t) counts = {0};

    if (!hu_map_init(&place, w->scratch, 64))
        return false;
    for (size_t i = 0; i < n; i++) {
        const hu_track *t = samples[i].track < w->g->ask->n_tracks ? &w->g->ask->tracks[samples[i].track] : NULL;
        const uint32_t  row = t && !t->pid_is_text ? hu_map_get(&w->row_of, (uint64_t)t->pid) : HU_NONE;
        const uint32_t  function = samples[i].stack ? hu_trace_cpu_stack(trace, samples[i].stack)->function : 0;
        uint32_t       *at;

        if (row == HU_NONE)
            continue;
        w->at[row].samples++;
        at = function ? hu_map_put(&place, (uint64_t)row << 32 | function) : NULL;
        if (!function)
            continue;
        if (at && *at == HU_MAP_NONE && hu_vec_push(w->scratch, &counts, 0))
            *at = (uint32_t)counts.n - 1;
        if (!at || *at == HU_MAP_NONE)
            return false;
        if (++counts.at[*at] > w->at[row].in_function) {
            w->at[row].in_function = counts.at[*at];
            w->at[row].function = function;
        }
    }
    return true;
}

static uint32_t function_of(const process *p)
{
    return p->samples >= FEW_SAMPLES && 2 * p->in_function >= p->samples ? p->function : 0;
}

/* Is a process a fork of another one, which became no other program?  One that recorded nothing has no command. */
static bool is_fork_of(const work *w, const process *child, const process *parent)
{
    const hu_track *a = &w->g->ask->tracks[child->span->main], *b = &w->g->ask->tracks[parent->span->main];

    return a->process == b->process && (!a->command || a->command == b->command);
}

/* Are all of them forks of their parent, with nothing below, in the same function? */
static bool is_shared(const work *w, uint32_t parent, uint32_t longest)
{
    const uint32_t function = function_of(&w->at[longest]);

    if (w->out->n < 2 || !function)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        const process *p = &w->at[i];

        if (p->job == NO_JOB || (double)p->own_ns < WORTH_COUNTING * (double)w->at[longest].own_ns)
            continue;
        if (p->job != i || !is_fork_of(w, p, &w->at[parent]) || (p->samples >= FEW_SAMPLES && function_of(p) != function))
            return false;
    }
    return true;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* A thread begins or ends to want a CPU, to have one. */
typedef struct {
    int64_t  time_ns;
    uint32_t job; /* NO_JOB: it is of none */
    int8_t   wants, runs;
} change;

static int by_time(const void *left, const void *right)
{
    const change *a = left, *b = right;

    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* False: no memory. *too_many: more than are looked at. */
static bool list_changes(work *w, change **out, size_t *n, bool *too_many)
{
    size_t            all;
    const hu_stretch *s = hu_trace_stretches(w->g->ask->trace, &all);
    HU_VEC(change) list = {0};

    *too_many = false;
    for (uint32_t lane = 0; lane < w->g->n_lanes; lane++) {
        const hu_track *t = w->track[lane];
        const uint32_t  job = w->lane_row[lane] == HU_NONE ? NO_JOB : w->at[w->lane_row[lane]].job;

        for (uint32_t k = 0; k < t->n_stretches; k++) {
            const hu_stretch *x = &s[t->first_stretch + k];
            const int8_t      runs = x->state == HU_THREAD_RUNNING;

            if (!runs && (x->state != HU_THREAD_RUNNABLE || job == NO_JOB))
                continue;
            if (!hu_vec_push(w->scratch, &list, ((change){x->start_ns, job, 1, runs})) ||
                !hu_vec_push(w->scratch, &list, ((change){x->end_ns, job, -1, (int8_t)-runs})))
                return false;
            if (list.n > MOST_CHANGES) {
                *too_many = true;
                return true;
            }
        }
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_time);
    *out = list.at;
    *n = list.n;
    return true;
}

/* How long they compute as they ran, and what others compute meanwhile. */
static void add_times(work *w, const change *at, size_t n, uint32_t longest_job, int32_t *wants_of, int64_t *others_ns)
{
    int64_t wants = 0, runs = 0, others = 0, jobs = 0, before_ns = 0;
    double  span_ns = 0, alone_ns = 0;

    for (size_t i = 0; i < n; i++) {
        const double part = wants ? (double)(at[i].time_ns - before_ns) * (double)runs / (double)wants : 0;

        span_ns += part;
        alone_ns += jobs == 1 && wants_of[longest_job] ? part : 0;
        *others_ns += wants ? others * (at[i].time_ns - before_ns) : 0;
        before_ns = at[i].time_ns;
        if (at[i].job == NO_JOB) {
            others += at[i].runs;
            continue;
        }
        wants += at[i].wants;
        runs += at[i].runs;
        jobs -= wants_of[at[i].job] > 0;
        wants_of[at[i].job] += at[i].wants;
        jobs += wants_of[at[i].job] > 0;
    }
    w->out->span_ns = (int64_t)span_ns;
    w->out->alone_ns = (int64_t)alone_ns;
}

static int longer(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a < b) - (a > b);
}

/* The longest first, each on the CPU that is free first.  A child with threads takes no longer than it lived. */
static bool list_schedule(work *w, int64_t cpus)
{
    const size_t room = w->out->n < (size_t)cpus ? w->out->n : (size_t)cpus;
    int64_t     *length = hu_arena_calloc(w->scratch, w->out->n + 1, sizeof *length);
    int64_t     *busy = hu_arena_calloc(w->scratch, room + 1, sizeof *busy);
    size_t       n = 0;

    if (!length || !busy)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        const int64_t life = w->at[i].span->last_ns - w->at[i].span->first_ns;

        if (w->at[i].job == i)
            length[n++] = w->at[i].all_ns < life ? w->at[i].all_ns : life;
    }
    qsort(length, n, sizeof *length, longer);
    w->out->first_ns = 0;
    for (size_t i = 0; i < n; i++) {
        size_t least = 0;

        for (size_t k = 1; k < room; k++)
            least = busy[k] < busy[least] ? k : least;
        busy[least] += length[i];
        w->out->first_ns = busy[least] > w->out->first_ns ? busy[least] : w->out->first_ns;
    }
    return true;
}

/* Of one alone, what is left of it if it ran beside what its parent computes: no more than both need of the CPUs. */
static void work_beside(work *w, int64_t cpus)
{
    const int64_t parent_ns = w->at[w->root].own_ns, beside_ns = w->out->span_ns - parent_ns;
    const int64_t least_ns = (w->out->all_ns + parent_ns) / cpus - parent_ns;

    w->out->beside_ns = beside_ns > least_ns ? beside_ns : least_ns;
    w->out->beside_ns = w->out->beside_ns > 0 ? w->out->beside_ns : 0;
}

static bool measure(work *w, uint32_t longest_job)
{
    const int64_t cpus = hu_trace_get_info(w->g->ask->trace)->cpus;
    int32_t      *wants_of = hu_arena_calloc(w->scratch, w->n + 1, sizeof *wants_of);
    change       *changes = NULL;
    size_t        n = 0;
    bool          too_many;
    int64_t       others_ns = 0;

    if (!wants_of || !list_changes(w, &changes, &n, &too_many))
        return false;
    if (too_many || cpus <= 0) {
        w->out->n = 0;
        return true;
    }
    add_times(w, changes, n, longest_job, wants_of, &others_ns);
    w->out->even_ns = (w->out->all_ns + others_ns) / cpus;
    if (w->out->n == 1)
        work_beside(w, cpus);
    return list_schedule(w, cpus);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* The call in which a child was started. */
static uint32_t find_start(const work *w, uint32_t parent, uint32_t child)
{
    static const char *const starts[] = {"system", "posix_spawn", "popen", "fork"};
    const hu_ask            *ask = w->g->ask;
    const int64_t            born_ns = w->at[child].span->first_ns;

    for (size_t i = 0; i < w->g->n_nodes && w->g->node[i].start_ns <= born_ns; i++) {
        const hu_node *n = &w->g->node[i];

        if (w->lane_row[n->lane] != parent || n->slice == HU_NONE || n->start_ns + n->seen_ns < born_ns ||
            ask->s.kind[n->slice] != HU_KIND_OS_CALL)
            continue;
        for (size_t k = 0; k < HU_COUNT(starts); k++)
            if (hu_str_equal(hu_ask_name(ask, n->slice), hu_str_of(starts[k])))
                return ask->s.name[n->slice];
    }
    return 0;
}

static void tell(work *w, uint32_t parent, uint32_t longest)
{
    const process *p = &w->at[longest];
    uint32_t       first = p->job;

    /* of one alone, those between it and the main process only pass it on */
    for (int k = 0; k < MOST_GENERATIONS && w->out->n == 1 && w->at[first].parent != w->root; k++)
        first = w->at[first].parent;
    parent = w->out->n == 1 ? w->root : parent;
    w->out->parent = w->at[parent].span->main;
    w->out->track = p->span->main;
    w->out->run_ns = p->own_ns;
    w->out->wants_ns = p->wants_ns;
    w->out->function = function_of(p);
    w->out->samples = p->samples;
    w->out->in_function = p->in_function;
    w->out->is_shared = is_shared(w, parent, longest);
    w->out->started_by = find_start(w, parent, first);
    for (uint32_t lane = 0; lane < w->g->n_lanes; lane++) {
        const uint32_t row = w->lane_row[lane];

        w->out->of_lane[lane] = row == HU_NONE || row == w->root ? 0
                                : w->at[row].job == NO_JOB       ? HU_LANE_OF_OTHERS
                                                                 : HU_LANE_OF_CHILD;
    }
}

bool hu_waited_children_find(const hu_graph *g, const hu_joined *joined, hu_arena *arena, hu_arena *scratch,
                             hu_waited_children *out)
{
    work     w = {.g = g, .j = joined, .scratch = scratch, .out = out};
    uint32_t parent, only, longest = HU_NONE;

    *out = (hu_waited_children){0};
    if (!g->is_whole || g->n_ops || !joined->run_ns)
        return true;
    out->of_lane = hu_arena_calloc(arena, g->n_lanes + 1, 1);
    if (!out->of_lane || !map_processes(&w) || !map_lanes(&w))
        return false;
    if (w.root == HU_NONE || w.n < 2)
        return true;
    add_up(&w);
    parent = find_parent(&w, &only);
    if (parent == HU_NONE)
        return true;
    number_jobs(&w, parent, only);
    for (uint32_t i = 0; i < w.n; i++)
        if (w.at[i].job != NO_JOB && (longest == HU_NONE || w.at[i].own_ns > w.at[longest].own_ns))
            longest = i;
    if (longest == HU_NONE || w.at[longest].own_ns < LEAST_RUN_NS) {
        out->n = 0;
        return true;
    }
    if (!find_functions(&w) || !measure(&w, w.at[longest].job))
        return false;
    tell(&w, parent, longest);
    return true;
}

double hu_waited_children_left(const hu_waited_children *w, bool at_least)
{
    const int64_t other_ns = w->is_shared ? w->even_ns : w->first_ns;
    const int64_t ns = !at_least && other_ns > w->even_ns ? other_ns : w->even_ns;

    if (!w->n || w->span_ns <= 0)
        return 1;
    if (w->n == 1)
        return at_least ? 0 : 0.5;
    return ns < w->span_ns ? (double)ns / (double)w->span_ns : 1;
}
