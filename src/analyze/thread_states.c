/* SPDX-License-Identifier: Apache-2.0
 * thread_states.c - a table of two partitions of a thread's time: by the scheduler's state, and by recorded call.
 *
 *     cell(state, call) = |state ∩ call ∩ windows|          running + runnable + waiting + unknown = |windows|
 *
 * Calls exclude each other: barriers of OpenMP first, in which a library spins or calls what it likes, without what the
 * thread ran of explicit tasks meanwhile; then communication (libraries wait in it by asking again and again), then by
 * class, of which only the outermost counts.  A library may communicate in threads of its own (gloo below PyTorch): a wait
 * that such a thread ended in the middle of a collective is communication of the thread that waited.
 *
 * The scheduler's switches say where each state lies.  Readings of /proc say only how long it took, and the last one of the
 * command only of its main thread, and of all its life.  Then the table is filled from its margins: calls are where threads
 * wait, so all calls are waits if the thread waited that long, and else in proportion; the rest of its waiting is in no
 * recorded call.  Where even these are not known, the state is unknown, and no call is taken for a wait or for work.
 */
#include "analyze/thread_states.h"

#include "analyze/host_calls.h"
#include "analyze/mpi_calls.h"
#include "analyze/thread_sweep.h"
#include "analyze/wakes.h"
#include "base/map.h"

static uint64_t thread_key(const hu_track *t)
{
    return (uint64_t)t->pid * 0x9e3779b97f4a7c15u ^ (uint64_t)t->tid;
}

static bool is_thread(const hu_track *t)
{
    return !t->pid_is_text && !t->tid_is_text;
}

static uint32_t *find_notes(const hu_ask *ask)
{
    uint32_t *notes = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof *notes);
    hu_map    of_thread;

    if (!notes || !hu_map_init(&of_thread, ask->scratch, 16))
        return NULL;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        uint32_t *place;

        if (ask->tracks[t].type != HU_TRACK_NOTE || !is_thread(&ask->tracks[t]))
            continue;
        place = hu_map_put(&of_thread, thread_key(&ask->tracks[t]));
        if (!place)
            return NULL;
        *place = t;
    }
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        notes[t] = is_thread(&ask->tracks[t]) ? hu_map_get(&of_thread, thread_key(&ask->tracks[t])) : HU_NONE;
    return notes;
}

/* The main thread of the command, of which the kernel told the sums; HU_NONE: it is not in this file. */
static uint32_t find_command(const hu_ask *ask)
{
    const hu_trace_info *info = hu_trace_get_info(ask->trace);

    for (uint32_t t = 0; info->main_running_ns && t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];

        if (track->type == HU_TRACK_HOST && track->n_stretches && is_thread(track) && track->pid == info->command_pid &&
            track->tid == track->pid)
            return t;
    }
    return HU_NONE;
}

static bool is_collective(const hu_ask *ask, uint32_t i)
{
    return hu_kind_in(ask->s.kind[i], HU_BIT(USER) | HU_BIT(CPU_OP)) && ask->names[ask->s.name[i]] & HU_NAME_COMM;
}

static bool covers(const hu_intervals *sorted, int64_t time_ns)
{
    size_t low = 0, high = sorted->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sorted->at[middle].end_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sorted->n && sorted->at[low].start_ns <= time_ns;
}

/* The collectives of each host thread; *does_any: there are some.  False: no memory. */
static bool list_collectives(const hu_ask *ask, hu_intervals *of_track, bool *does_any)
{
    *does_any = false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        if (!is_collective(ask, i) || ask->tracks[ask->s.track[i]].type != HU_TRACK_HOST)
            continue;
        *does_any = true;
        if (!hu_intervals_add(ask->scratch, &of_track[ask->s.track[i]], ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    for (size_t t = 0; t < ask->n_tracks; t++)
        if (of_track[t].n && !hu_intervals_unite(ask->scratch, &of_track[t]))
            return false;
    return true;
}

/* Waits that a thread ended in the middle of a collective.  False: no memory. */
static bool find_comm(const hu_ask *ask, const uint8_t **out)
{
    hu_intervals *of_track = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, sizeof *of_track);
    uint8_t      *comm;
    hu_wakes      wakes;
    bool          does_any;

    *out = NULL;
    if (!of_track || !list_collectives(ask, of_track, &does_any))
        return false;
    if (!does_any)
        return true;
    comm = hu_arena_calloc(ask->scratch, ask->s.n + 1, sizeof *comm);
    if (!comm || !hu_wakes_find(ask, ask->scratch, ask->scratch, &wakes))
        return false;
    for (size_t k = 0; k < wakes.n; k++) {
        const hu_woken *w = &wakes.at[k];

        comm[w->slice] = of_track[ask->s.track[w->slice]].n == 0 && covers(&of_track[w->waker], w->wake_ns);
    }
    *out = comm;
    return true;
}

bool hu_thread_states_prepare(const hu_ask *ask, hu_thread_asker *out)
{
    size_t n;

    *out = (hu_thread_asker){.ask = ask, .main = HU_NONE};
    out->inner = hu_host_calls_find_inner(ask, ask->scratch);
    out->notes = find_notes(ask);
    out->stretches = hu_trace_stretches(ask->trace, &n);
    out->source = n ? (hu_state_source)hu_trace_get_info(ask->trace)->state_source : HU_STATES_NONE;
    if (out->source == HU_STATES_SUMS) {
        out->main = find_command(ask);
        out->source = out->main == HU_NONE ? HU_STATES_NONE : HU_STATES_SUMS;
    }
    return out->inner && out->notes && find_comm(ask, &out->comm);
}

/* ---- what it is in ------------------------------------------------------------------------------------------------ */

static hu_within within_of(const hu_thread_asker *x, uint32_t i)
{
    const hu_ask *ask = x->ask;

    if (hu_mpi_calls_starts_or_ends(ask, i))
        return (hu_within)HU_HOST_OTHER;
    if (ask->s.kind[i] == HU_KIND_MPI || is_collective(ask, i) || (x->comm && x->comm[i]))
        return HU_WITHIN_COMM;
    return ask->s.kind[i] == HU_KIND_OS_CALL && !x->inner[i] ? (hu_within)hu_host_calls_class(ask, i) : HU_WITHIN_CODE;
}

/*
 * When a thread waits at barriers of OpenMP, sorted and disjoint.  Of tasks that it ran at one only the sum may be known,
 * and is then taken off the beginning.
 */
static bool collect_barriers(const hu_thread_asker *x, uint32_t track, hu_intervals *out)
{
    const hu_ask   *ask = x->ask;
    const hu_track *note = x->notes[track] == HU_NONE ? NULL : &ask->tracks[x->notes[track]];
    hu_intervals    waits = {0}, tasks = {0};

    *out = (hu_intervals){0};
    for (uint32_t k = 0; note && k < note->count; k++) {
        const uint32_t       i = ask->order[note->first + k], at = ask->s.detail[i];
        const hu_omp_detail *d = ask->s.kind[i] == HU_KIND_OPENMP && at != HU_NONE ? hu_trace_omp_detail(ask->trace, at)
                                                                                   : NULL;
        const int64_t        work_ns = d && d->what == HU_OMP_BARRIER && d->work_ns > 0 ? d->work_ns : 0;

        if (d && d->what == HU_OMP_BARRIER && work_ns < ask->s.dur_ns[i] &&
            !hu_intervals_add(ask->scratch, &waits, ask->s.start_ns[i] + work_ns, hu_ask_end(ask, i)))
            return false;
        if (d && d->what == HU_OMP_TASKS && !hu_intervals_add(ask->scratch, &tasks, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    return !waits.n || (hu_intervals_unite(ask->scratch, &waits) && hu_intervals_unite(ask->scratch, &tasks) &&
                        hu_intervals_subtract(ask->scratch, &waits, &tasks, out));
}

enum { BLOCK = 1 << 15 /* slices that are looked at together: their sets stay in the cache */ };

/* The part of a list that lies in, or reaches into, a stretch of time; nothing is copied. */
static hu_intervals part_of(const hu_intervals *list, hu_interval at)
{
    size_t low = 0, high = list->n, end;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->at[middle].end_ns <= at.start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low, high = list->n; end < high;) {
        const size_t middle = end + (high - end) / 2;

        if (list->at[middle].start_ns < at.end_ns)
            end = middle + 1;
        else
            high = middle;
    }
    return (hu_intervals){.at = list->n ? list->at + low : NULL, .n = end - low};
}

/* Adds what lies in one stretch of time; set[] is all that may reach into it, each united. */
static bool add_block(hu_intervals set[HU_WITHIN_CODE], const hu_intervals state[HU_THREAD_STATE_COUNT],
                      const hu_intervals *windows, hu_interval at, hu_arena *arena, hu_thread_places *out)
{
    const hu_intervals near = part_of(windows, at), whole = {.at = &at, .n = 1};
    hu_intervals       left, rest, in = {0};

    if (!hu_intervals_intersect(arena, &near, &whole, &left))
        return false;
    for (size_t k = 0; k <= HU_WITHIN_CODE; k++) {
        const size_t w = k == 0 ? HU_WITHIN_COMM : k == HU_WITHIN_CODE ? HU_WITHIN_CODE : k - 1;

        if (w < HU_WITHIN_CODE && !set[w].n)
            continue;
        if (w < HU_WITHIN_CODE &&
            (!hu_intervals_intersect(arena, &set[w], &left, &in) || !hu_intervals_subtract(arena, &left, &set[w], &rest)))
            return false;
        if (w == HU_WITHIN_CODE)
            in = left; /* disjoint sets that make up the windows */
        else
            left = rest;
        out->in_ns[w] += hu_intervals_length(&in);
        for (size_t s = 0; s < HU_THREAD_UNKNOWN; s++) {
            const hu_intervals here = part_of(&state[s], at);

            out->common_ns[s][w] += hu_intervals_common(&here, &in);
        }
    }
    return true;
}

/* What reaches beyond a time is all that the next block has to know of this one. */
static bool carry(const hu_intervals set[HU_WITHIN_CODE], int64_t time_ns, hu_arena *arena, hu_intervals out[HU_WITHIN_CODE])
{
    for (size_t w = 0; w < HU_WITHIN_CODE; w++) {
        const hu_intervals *x = &set[w];

        out[w] = (hu_intervals){0};
        if (x->n && x->at[x->n - 1].end_ns > time_ns &&
            !hu_intervals_add(arena, &out[w], x->at[x->n - 1].start_ns, x->at[x->n - 1].end_ns))
            return false;
    }
    return true;
}

/* The windows by what the thread is in, block by block: a thread may have millions of calls. */
static bool split_by_call(const hu_thread_asker *x, uint32_t track, const hu_intervals *windows,
                          const hu_intervals state[HU_THREAD_STATE_COUNT], hu_thread_places *out)
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track];
    hu_arena       *arena = hu_arena_new(), *next;
    hu_intervals    set[HU_WITHIN_CODE] = {{0}}, carried[HU_WITHIN_CODE];
    hu_interval     at = {INT64_MIN, INT64_MAX};
    bool            ok = arena != NULL;

    *out = (hu_thread_places){0};
    for (uint32_t k = 0; ok && (k == 0 || k < t->count); k += BLOCK) {
        const uint32_t end = t->count - k > BLOCK ? k + BLOCK : t->count;

        for (uint32_t j = k; ok && j < end; j++) {
            const uint32_t  i = ask->order[t->first + j];
            const hu_within in = within_of(x, i);

            ok = in == HU_WITHIN_CODE || hu_intervals_add(arena, &set[in], ask->s.start_ns[i], hu_ask_end(ask, i));
        }
        for (size_t w = 0; ok && w < HU_WITHIN_CODE; w++)
            ok = hu_intervals_unite(arena, &set[w]);
        at.end_ns = end < t->count ? ask->s.start_ns[ask->order[t->first + end]] : INT64_MAX;
        next = ok && end < t->count ? hu_arena_new() : NULL;
        ok = ok && add_block(set, state, windows, at, arena, out) &&
             (end == t->count || (next && carry(set, at.end_ns, next, carried)));
        hu_arena_free(arena);
        arena = next;
        memcpy(set, carried, end < t->count && ok ? sizeof set : 0);
        at.start_ns = at.end_ns;
    }
    hu_arena_free(arena);
    return ok;
}

/* The same of calls that follow each other, which is nearly always so; *is_row: they do. */
static bool sweep_calls(const hu_thread_asker *x, uint32_t track, const hu_intervals *windows,
                        const hu_intervals state[HU_THREAD_STATE_COUNT], hu_thread_places *out, bool *is_row)
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track];
    hu_thread_sweep sweep;

    *is_row = hu_thread_sweep_begin(&sweep, windows, state, ask->scratch, out);
    if (!*is_row)
        return false;
    for (uint32_t k = 0; *is_row && k < t->count; k++) {
        const uint32_t  i = ask->order[t->first + k];
        const hu_within in = within_of(x, i);

        *is_row = in == HU_WITHIN_CODE || hu_thread_sweep_call(&sweep, in, ask->s.start_ns[i], hu_ask_end(ask, i));
    }
    hu_thread_sweep_end(&sweep);
    return true;
}

/* ---- its states --------------------------------------------------------------------------------------------------- */

static bool collect_states(const hu_thread_asker *x, uint32_t track, hu_intervals set[HU_THREAD_STATE_COUNT])
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track], *note = x->notes[track] == HU_NONE ? NULL : &ask->tracks[x->notes[track]];

    for (uint32_t k = 0; k < t->n_stretches; k++) {
        const hu_stretch *s = &x->stretches[t->first_stretch + k];

        if (s->state < HU_THREAD_UNKNOWN && !hu_intervals_add(ask->scratch, &set[s->state], s->start_ns, s->end_ns))
            return false;
    }
    for (uint32_t k = 0; note && !t->n_stretches && k < note->count; k++) { /* of other formats: only these are known */
        const uint32_t i = ask->order[note->first + k];

        if (ask->s.kind[i] == HU_KIND_CPU_WAIT &&
            !hu_intervals_add(ask->scratch, &set[HU_THREAD_RUNNABLE], ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    for (size_t s = 0; s < HU_THREAD_UNKNOWN; s++)
        if (!hu_intervals_unite(ask->scratch, &set[s]))
            return false;
    return true;
}

/* What is left of a call's time when all known states are taken off is unknown. */
static void fill_from_places(const hu_thread_places *p, hu_thread_states *out)
{
    for (size_t w = 0; w < HU_WITHIN_COUNT; w++) {
        int64_t left = p->in_ns[w];

        for (size_t s = 0; s < HU_THREAD_UNKNOWN; s++) {
            out->ns[s][w] = p->common_ns[s][w];
            left -= out->ns[s][w];
        }
        out->ns[HU_THREAD_UNKNOWN][w] = left;
    }
}

/* `part` of `whole`, of a length of at most that; without overflow, and `length` where part is whole. */
static int64_t share_of(int64_t length, int64_t part, int64_t whole)
{
    const int64_t share = whole > 0 ? (int64_t)((double)length * ((double)part / (double)whole)) : 0;

    return part >= whole ? length : share < length ? share : length;
}

/* The head comment's estimate, from the margins; margin[UNKNOWN] stays in no call. */
static void fill_from_margins(const int64_t margin[HU_THREAD_STATE_COUNT], const hu_thread_places *p, hu_thread_states *out)
{
    int64_t left[HU_THREAD_STATE_COUNT], calls = 0, in_ns[HU_WITHIN_COUNT];

    *out = (hu_thread_states){0};
    memcpy(left, margin, sizeof left);
    for (size_t w = 0; w < HU_WITHIN_CODE; w++)
        calls += in_ns[w] = p->in_ns[w];
    for (size_t w = 0; w < HU_WITHIN_CODE; w++) {
        int64_t waits = share_of(in_ns[w], margin[HU_THREAD_WAITING], calls);

        waits = waits < left[HU_THREAD_WAITING] ? waits : left[HU_THREAD_WAITING];
        out->ns[HU_THREAD_WAITING][w] = waits;
        left[HU_THREAD_WAITING] -= waits;
        in_ns[w] -= waits;
    }
    for (size_t w = 0; w < HU_WITHIN_CODE; w++) /* who does not wait in a call runs in it, or waits for the CPU to */
        for (size_t s = 0; s < HU_THREAD_STATE_COUNT; s++) {
            const int64_t others = margin[HU_THREAD_RUNNING] + margin[HU_THREAD_RUNNABLE];
            const size_t  state = s == 0   ? HU_THREAD_RUNNABLE
                                  : s == 1 ? HU_THREAD_RUNNING
                                  : s == 2 ? HU_THREAD_WAITING
                                           : HU_THREAD_UNKNOWN;
            int64_t share = state == HU_THREAD_RUNNABLE ? share_of(in_ns[w], margin[HU_THREAD_RUNNABLE], others) : in_ns[w];

            share = share < left[state] ? share : left[state];
            out->ns[state][w] += share;
            left[state] -= share;
            in_ns[w] -= share;
        }
    for (size_t s = 0; s < HU_THREAD_STATE_COUNT; s++)
        out->ns[s][HU_WITHIN_CODE] = left[s];
}

/* Of a length in an unknown state, what the thread ran there by the CPU time of the command. */
static int64_t unseen_of(const hu_thread_asker *x, int64_t length_ns)
{
    return (int64_t)((double)length_ns * ((double)hu_trace_get_info(x->ask->trace)->unseen_ppm / 1e6));
}

/* Of all its life, or of a part of it as if it ran evenly. */
static void sums_of_main(const hu_thread_asker *x, int64_t whole_ns, int64_t margin[HU_THREAD_STATE_COUNT])
{
    const hu_trace_info *info = hu_trace_get_info(x->ask->trace);
    const hu_interval    life = hu_thread_life(x->ask->trace, x->main);
    const int64_t        life_ns = life.end_ns - life.start_ns;

    margin[HU_THREAD_RUNNING] = share_of(whole_ns, info->main_running_ns, life_ns);
    margin[HU_THREAD_RUNNABLE] = share_of(whole_ns - margin[HU_THREAD_RUNNING], info->main_runnable_ns,
                                          life_ns - info->main_running_ns);
    margin[HU_THREAD_WAITING] = whole_ns - margin[HU_THREAD_RUNNING] - margin[HU_THREAD_RUNNABLE];
}

bool hu_thread_has_states(const hu_thread_asker *x, uint32_t track)
{
    return x->ask->tracks[track].n_stretches && x->source != HU_STATES_NONE &&
           (x->source != HU_STATES_SUMS || track == x->main);
}

bool hu_thread_states_measure(const hu_thread_asker *x, uint32_t track, const hu_intervals *windows, hu_thread_states *out)
{
    hu_intervals     set[HU_THREAD_STATE_COUNT] = {{0}};
    hu_intervals     barriers, at_barriers = {0}, rest = *windows;
    hu_thread_places p;
    int64_t          margin[HU_THREAD_STATE_COUNT] = {0}, whole = hu_intervals_length(windows), ran_ns;
    bool             is_row;

    *out = (hu_thread_states){0};
    if (!collect_states(x, track, set) || !collect_barriers(x, track, &barriers) ||
        (barriers.n && (!hu_intervals_intersect(x->ask->scratch, &barriers, windows, &at_barriers) ||
                        !hu_intervals_subtract(x->ask->scratch, windows, &barriers, &rest))) ||
        !sweep_calls(x, track, &rest, set, &p, &is_row) || (!is_row && !split_by_call(x, track, &rest, set, &p)))
        return false;
    p.in_ns[HU_WITHIN_TEAM] = hu_intervals_length(&at_barriers);
    for (size_t s = 0; s < HU_THREAD_UNKNOWN; s++)
        p.common_ns[s][HU_WITHIN_TEAM] = hu_intervals_common(&set[s], &at_barriers);
    if (x->source == HU_STATES_SWITCHES || x->source == HU_STATES_NONE || !hu_thread_has_states(x, track)) {
        fill_from_places(&p, out);
        return true;
    }
    if (x->source == HU_STATES_SUMS) {
        sums_of_main(x, whole, margin);
    } else {
        margin[HU_THREAD_UNKNOWN] = whole;
        for (size_t s = 0; s < HU_THREAD_UNKNOWN; s++) {
            margin[s] = hu_intervals_common(&set[s], windows);
            margin[HU_THREAD_UNKNOWN] -= margin[s];
        }
        ran_ns = unseen_of(x, margin[HU_THREAD_UNKNOWN]);
        margin[HU_THREAD_RUNNING] += ran_ns;
        margin[HU_THREAD_UNKNOWN] -= ran_ns;
    }
    fill_from_margins(margin, &p, out);
    return true;
}

int64_t hu_thread_cpu_ns(const hu_thread_asker *asker, uint32_t track)
{
    const hu_track *t = &asker->ask->tracks[track];
    int64_t         sum = 0, known = 0;

    if (!hu_thread_has_states(asker, track))
        return -1;
    if (asker->source == HU_STATES_SUMS)
        return hu_trace_get_info(asker->ask->trace)->main_running_ns;
    for (uint32_t k = 0; k < t->n_stretches; k++) {
        const hu_stretch *s = &asker->stretches[t->first_stretch + k];

        sum += s->state == HU_THREAD_RUNNING ? s->end_ns - s->start_ns : 0;
        known += s->end_ns - s->start_ns;
    }
    return sum + (asker->source == HU_STATES_SCHEDSTAT ? unseen_of(asker, t->died_ns - t->born_ns - known) : 0);
}

int64_t hu_thread_states_sum(const hu_thread_states *s, hu_sched_state state)
{
    int64_t sum = 0;

    for (size_t w = 0; w < HU_WITHIN_COUNT; w++)
        sum += s->ns[state][w];
    return sum;
}

/* ---- lives -------------------------------------------------------------------------------------------------------- */

hu_interval hu_thread_life(const hu_trace *trace, uint32_t track)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n;
    const hu_track *t = &hu_trace_tracks(trace, &n)[track];
    const uint32_t *order = hu_trace_order(trace) + t->first;
    hu_interval     life = {INT64_MAX, INT64_MIN};

    if (t->n_stretches)
        life = (hu_interval){t->born_ns, t->died_ns};
    if (t->count && s.start_ns[order[0]] < life.start_ns)
        life.start_ns = s.start_ns[order[0]];
    if (t->count && t->last_ns > life.end_ns)
        life.end_ns = t->last_ns;
    return t->count || t->n_stretches ? life : (hu_interval){0};
}

bool hu_thread_has_lives(const hu_trace *trace)
{
    size_t n;

    hu_trace_stretches(trace, &n);
    return n > 0;
}

const char *hu_thread_state_key(unsigned state)
{
    static const char *const keys[HU_THREAD_STATE_COUNT] = {"running", "runnable", "waiting", "unknown"};

    return state < HU_THREAD_STATE_COUNT ? keys[state] : "unknown";
}

const char *hu_state_source_key(int64_t source)
{
    static const char *const keys[] = {"none", "switches", "schedstat", "sums"};

    return source >= 0 && (size_t)source < HU_COUNT(keys) ? keys[source] : "none";
}
