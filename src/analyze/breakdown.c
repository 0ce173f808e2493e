/* SPDX-License-Identifier: Apache-2.0
 * breakdown.c - exclusive shares by priority: what comes first takes its time, the rest shares what is left.
 *
 *     free = the steps;  for each role in order:  share = |role ∩ free|,  free = free ∖ role
 *
 * Source: torch-tb-profiler's step time breakdown.  Because kernels come first, "data loader" here is the time in which
 * the device had nothing to do while the host waited for data, which is what it costs; a loader that is hidden behind
 * kernels costs nothing and shows nothing.  The device's own view needs no host events and uses the same machinery.
 */
#include "analyze/breakdown.h"

#include <math.h>

#include "analyze/mpi_calls.h"
#include "analyze/unknown.h"

/* Windows in order that do not overlap, and what is known of each. */
typedef struct {
    hu_interval  *at;
    size_t        n;
    hu_step_time *rows;
    size_t        first, end; /* those that the piece touches */
} windows;

/* Of each step as it is listed, and of its period, which the means are taken over. */
enum { LISTED, PERIODS, SETS };

/* Until when roles of a thread last that began before the piece. */
typedef struct {
    int64_t until_ns[HU_ROLE_COUNT], wait_until_ns;
} past;

typedef struct {
    const hu_ask *ask;
    windows       set[SETS];
    hu_arena     *scratch;
    hu_intervals  all;   /* all windows */
    hu_interval   piece; /* of the capture, so that lists of roles are short; the first and the last have no end */
    past         *past;  /* by track */
    hu_intervals  role[HU_ROLE_COUNT];
    hu_intervals  waits;     /* Python frames that wait, of all threads */
    hu_intervals  unknown;   /* events of unknown kinds; of the whole capture */
    int64_t      *had, *has; /* room for a number for each window */
} work;

enum { PIECE_SLICES = 20000 };

/* HU_ROLE_COUNT: none. */
static hu_role role_of(const hu_ask *ask, uint32_t i)
{
    const uint8_t flags = ask->names[ask->s.name[i]];

    /* a call of the system belongs to what it is made in: analyze/host_time.h tells what it waits for */
    if (!hu_kind_in(ask->s.kind[i], HU_KINDS_HOST & ~HU_BIT(OS_CALL)) || (flags & HU_NAME_STEP))
        return HU_ROLE_COUNT;
    if (hu_ask_is_mark(ask, i))
        return HU_ROLE_COUNT; /* the step is no part of itself */
    if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL))
        return HU_ROLE_RUNTIME;
    if (flags & HU_NAME_DATA_LOADER)
        return HU_ROLE_DATA_LOADER;
    if (hu_mpi_calls_starts_or_ends(ask, i))
        return HU_ROLE_CPU_EXEC;
    return flags & HU_NAME_COMM || ask->s.kind[i] == HU_KIND_MPI ? HU_ROLE_COMMUNICATION : HU_ROLE_CPU_EXEC;
}

/* Slices of a track that begin in the piece, by their places in its order. */
static void find_slices(const work *w, const hu_track *t, uint32_t *from, uint32_t *end)
{
    *from = hu_ask_first_from(w->ask, t, w->piece.start_ns);
    *end = w->piece.end_ns == INT64_MAX ? t->count : hu_ask_first_from(w->ask, t, w->piece.end_ns);
}

/* Adds an interval of a role, and remembers how far it reaches. */
static bool add_role(work *w, hu_intervals *list, int64_t *until_ns, uint32_t slice)
{
    const int64_t end_ns = hu_ask_end(w->ask, slice);

    *until_ns = end_ns > *until_ns ? end_ns : *until_ns;
    return hu_intervals_add(w->scratch, list, w->ask->s.start_ns[slice], end_ns);
}

/* What began earlier and goes on covers the piece from its beginning, without a gap. */
static bool add_past(work *w, hu_intervals *list, int64_t until_ns)
{
    return until_ns <= w->piece.start_ns || hu_intervals_add(w->scratch, list, w->piece.start_ns, until_ns);
}

/* Operators, annotations and frames of a thread, but for the time in frames that wait. */
static bool add_execution(work *w, const hu_track *t, past *p)
{
    const hu_ask *ask = w->ask;
    hu_intervals  all = {0}, waits = {0}, rest;
    uint32_t      k, end;

    find_slices(w, t, &k, &end);
    if (!add_past(w, &all, p->until_ns[HU_ROLE_CPU_EXEC]) || !add_past(w, &waits, p->wait_until_ns))
        return false;
    for (; k < end; k++) {
        const uint32_t i = ask->order[t->first + k];
        const bool     is_wait = hu_ask_waits(ask, i) != HU_WAITS_NOT;

        if (role_of(ask, i) == HU_ROLE_CPU_EXEC &&
            !add_role(w, is_wait ? &waits : &all, is_wait ? &p->wait_until_ns : &p->until_ns[HU_ROLE_CPU_EXEC], i))
            return false;
    }
    if (!hu_intervals_unite(w->scratch, &all) || !hu_intervals_unite(w->scratch, &waits) ||
        !hu_intervals_subtract(w->scratch, &all, &waits, &rest))
        return false;
    for (k = 0; k < rest.n; k++)
        if (!hu_intervals_add(w->scratch, &w->role[HU_ROLE_CPU_EXEC], rest.at[k].start_ns, rest.at[k].end_ns))
            return false;
    for (k = 0; k < waits.n; k++)
        if (!hu_intervals_add(w->scratch, &w->waits, waits.at[k].start_ns, waits.at[k].end_ns))
            return false;
    hu_intervals_drop(w->scratch, &all);
    hu_intervals_drop(w->scratch, &waits);
    hu_intervals_drop(w->scratch, &rest);
    return true;
}

/* The other roles of the host. */
static bool add_roles(work *w, const hu_track *t, past *p)
{
    uint32_t k, end;

    find_slices(w, t, &k, &end);
    for (hu_role r = HU_ROLE_COMMUNICATION; r < HU_ROLE_CPU_EXEC; r++)
        if (!add_past(w, &w->role[r], p->until_ns[r]))
            return false;
    for (; k < end; k++) {
        const uint32_t i = w->ask->order[t->first + k];
        const hu_role  role = role_of(w->ask, i);

        if (role != HU_ROLE_COUNT && role != HU_ROLE_CPU_EXEC && !add_role(w, &w->role[role], &p->until_ns[role], i))
            return false;
    }
    return true;
}

static bool collect_host_roles(work *w)
{
    for (size_t t = 0; t < w->ask->n_tracks; t++)
        if (!add_roles(w, &w->ask->tracks[t], &w->past[t]) ||
            (w->ask->tracks[t].type == HU_TRACK_HOST && !add_execution(w, &w->ask->tracks[t], &w->past[t])))
            return false;
    for (hu_role r = HU_ROLE_COMMUNICATION; r <= HU_ROLE_CPU_EXEC; r++)
        if (!hu_intervals_unite(w->scratch, &w->role[r]))
            return false;
    return hu_intervals_unite(w->scratch, &w->waits);
}

/* Takes `set` out of *free and adds what each window lost to the member at `offset` of its row: what was free in it
   without what is left, so that the share itself is never a list. */
static bool take_share(work *w, hu_intervals *free_time, const hu_intervals *set, size_t offset)
{
    hu_intervals rest;

    if (set->n == 0 || free_time->n == 0)
        return true;
    if (!hu_intervals_subtract(w->scratch, free_time, set, &rest))
        return false;
    for (size_t k = 0; k < SETS; k++) {
        const windows *v = &w->set[k];
        const size_t   n = v->end - v->first;

        memset(w->had, 0, n * sizeof *w->had);
        memset(w->has, 0, n * sizeof *w->has);
        hu_intervals_split(free_time, v->at + v->first, n, w->had);
        hu_intervals_split(&rest, v->at + v->first, n, w->has);
        for (size_t i = 0; i < n; i++)
            *(double *)((char *)&v->rows[v->first + i] + offset) += (double)(w->had[i] - w->has[i]);
    }
    hu_intervals_drop(w->scratch, free_time);
    *free_time = rest;
    return true;
}

static bool all_windows(work *w)
{
    for (size_t k = 0; k < SETS; k++)
        for (size_t i = 0; i < w->set[k].n; i++)
            if (!hu_intervals_add(w->scratch, &w->all, w->set[k].at[i].start_ns, w->set[k].at[i].end_ns))
                return false;
    return hu_intervals_unite(w->scratch, &w->all);
}

/* The first of sorted intervals that ends behind a time. */
static size_t first_behind(const hu_interval *at, size_t n, int64_t time_ns)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The intervals of a list that touch the piece; they may reach out of it. */
static hu_intervals part_of(const work *w, const hu_intervals *list)
{
    const size_t first = first_behind(list->at, list->n, w->piece.start_ns);
    size_t       end = first_behind(list->at, list->n, w->piece.end_ns);

    end += end < list->n && list->at[end].start_ns < w->piece.end_ns;
    return (hu_intervals){.at = list->n ? list->at + first : NULL, .n = end - first};
}

/* All windows, as far as they lie in the piece.  What *out held before is given back. */
static bool all_free(work *w, hu_intervals *out)
{
    const hu_intervals piece = {.at = &w->piece, .n = 1}, steps = part_of(w, &w->all);

    hu_intervals_drop(w->scratch, out);
    return hu_intervals_intersect(w->scratch, &steps, &piece, out);
}

/* Of one piece.  Whatever is taken lies in what is free, so that sets may reach out of the piece. */
static bool share_piece(work *w)
{
    const hu_ask      *ask = w->ask;
    const hu_intervals comm = part_of(w, &ask->comm), copies = part_of(w, &ask->copies);
    const hu_intervals unknown = part_of(w, &w->unknown);
    const hu_intervals device[] = {[HU_ROLE_KERNEL] = part_of(w, &ask->compute),
                                   [HU_ROLE_MEMCPY] = part_of(w, &ask->memcpy),
                                   [HU_ROLE_MEMSET] = part_of(w, &ask->memset)};
    hu_intervals       free_time = {0}, with_comm;

    for (size_t k = 0; k < SETS; k++) {
        const hu_intervals all = {.at = w->set[k].at, .n = w->set[k].n}, part = part_of(w, &all);

        w->set[k].first = part.n ? (size_t)(part.at - all.at) : 0; /* of no list there is no place */
        w->set[k].end = w->set[k].first + part.n;
    }

    /* the device's view */
    if (!all_free(w, &free_time) || !take_share(w, &free_time, &comm, offsetof(hu_step_time, comm_ns)) ||
        !all_free(w, &free_time) ||
        !take_share(w, &free_time, &device[HU_ROLE_KERNEL], offsetof(hu_step_time, compute_ns)) ||
        !take_share(w, &free_time, &comm, offsetof(hu_step_time, exposed_comm_ns)) ||
        !take_share(w, &free_time, &copies, offsetof(hu_step_time, exposed_copy_ns)))
        return false;

    /* the combined view */
    hu_intervals_drop(w->scratch, &free_time);
    if (!collect_host_roles(w) || !hu_intervals_join(w->scratch, &w->role[HU_ROLE_COMMUNICATION], &comm, &with_comm) ||
        !all_free(w, &free_time))
        return false;
    hu_intervals_drop(w->scratch, &w->role[HU_ROLE_COMMUNICATION]);
    w->role[HU_ROLE_COMMUNICATION] = with_comm;
    for (hu_role r = 0; r < HU_ROLE_OTHER; r++) {
        if (!take_share(w, &free_time, r < HU_COUNT(device) ? &device[r] : &w->role[r],
                        offsetof(hu_step_time, role_ns) + r * sizeof(double)))
            return false;
        hu_intervals_drop(w->scratch, &w->role[r]);
    }
    if (!take_share(w, &free_time, &w->waits, offsetof(hu_step_time, wait_ns)))
        return false;
    hu_intervals_drop(w->scratch, &w->waits);
    if (!take_share(w, &free_time, &unknown, offsetof(hu_step_time, unknown_ns)))
        return false;
    hu_intervals_drop(w->scratch, &free_time);
    return true;
}

/* Pieces of equal length, so many that lists are short where slices are evenly spread. */
static bool share_out(work *w)
{
    const hu_slices *s = &w->ask->s;
    const int64_t    n = 1 + (int64_t)(s->n / PIECE_SLICES);
    int64_t          first = INT64_MAX, last = INT64_MIN;

    if (!all_windows(w))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        first = s->start_ns[i] < first ? s->start_ns[i] : first;
        last = s->start_ns[i] > last ? s->start_ns[i] : last;
    }
    w->piece.end_ns = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        w->piece.start_ns = w->piece.end_ns;
        w->piece.end_ns = i + 1 < n ? first + (int64_t)((double)(i + 1) / (double)n * ((double)last - (double)first))
                                    : INT64_MAX;
        if (!share_piece(w))
            return false;
    }
    return true;
}

/* What is left over, as differences, so that each row sums exactly to its step. */
static void fill_rests(const windows *w)
{
    for (size_t i = 0; i < w->n; i++) {
        hu_step_time *t = &w->rows[i];

        t->step_ns = (double)(w->at[i].end_ns - w->at[i].start_ns);
        t->idle_ns = t->step_ns - t->compute_ns - t->exposed_comm_ns - t->exposed_copy_ns;
        t->role_ns[HU_ROLE_OTHER] = t->step_ns;
        for (hu_role r = 0; r < HU_ROLE_OTHER; r++)
            t->role_ns[HU_ROLE_OTHER] -= t->role_ns[r];
    }
}

enum { MEMBERS = sizeof(hu_step_time) / sizeof(double) };

static void average(const windows *w, hu_breakdown *out)
{
    double *mean = (double *)&out->mean, *spread = (double *)&out->spread;
    double  n = (double)w->n;

    for (size_t m = 0; m < MEMBERS; m++) {
        double sum = 0, squares = 0;

        for (size_t i = 0; i < w->n; i++)
            sum += ((const double *)&w->rows[i])[m];
        mean[m] = n > 0 ? sum / n : (double)NAN;
        for (size_t i = 0; i < w->n; i++) {
            const double off = ((const double *)&w->rows[i])[m] - mean[m];

            squares += off * off;
        }
        spread[m] = n > 1 ? sqrt(squares / (n - 1)) : (double)NAN;
    }
}

static bool prepare(const hu_steps *steps, const hu_ask *ask, work *w)
{
    for (size_t k = 0; k < SETS; k++) {
        w->set[k].at = hu_arena_calloc(ask->scratch, steps->n + 1, sizeof *w->set[k].at);
        w->set[k].rows = hu_arena_calloc(ask->arena, steps->n + 1, sizeof *w->set[k].rows);
        if (!w->set[k].at || !w->set[k].rows)
            return false;
    }
    for (size_t i = 0; i < steps->n; i++) {
        const hu_step *s = &steps->at[i];

        w->set[LISTED].at[w->set[LISTED].n++] = (hu_interval){s->start_ns, s->end_ns};
        if (hu_step_counts(s))
            w->set[PERIODS].at[w->set[PERIODS].n++] = s->period;
    }
    w->past = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof *w->past);
    w->had = hu_arena_calloc(ask->scratch, steps->n + 1, sizeof *w->had);
    w->has = hu_arena_calloc(ask->scratch, steps->n + 1, sizeof *w->has);
    if (!w->past)
        return false;
    for (size_t t = 0; t < ask->n_tracks; t++) {
        w->past[t].wait_until_ns = INT64_MIN;
        for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
            w->past[t].until_ns[r] = INT64_MIN;
    }
    return w->had && w->has;
}

/* What lies outside of all steps, listed or not. */
static bool measure_rest(work *w, hu_breakdown *out)
{
    const hu_slices *s = &w->ask->s;
    hu_interval      capture = {INT64_MAX, INT64_MIN};
    hu_intervals     all = {0}, rest;

    for (size_t i = 0; i < s->n; i++) {
        const int64_t end = s->start_ns[i] + s->dur_ns[i];

        if (!hu_kind_in(s->kind[i], HU_KINDS_HOST | HU_KINDS_DEVICE) && !hu_unknown_is(w->ask->trace, (uint32_t)i))
            continue;
        capture.start_ns = s->start_ns[i] < capture.start_ns ? s->start_ns[i] : capture.start_ns;
        capture.end_ns = end > capture.end_ns ? end : capture.end_ns;
    }
    for (size_t t = 0; t < w->ask->n_tracks; t++) {
        const hu_track *track = &w->ask->tracks[t];

        if (!track->n_stretches)
            continue;
        capture.start_ns = track->born_ns < capture.start_ns ? track->born_ns : capture.start_ns;
        capture.end_ns = track->died_ns > capture.end_ns ? track->died_ns : capture.end_ns;
    }
    if (capture.end_ns <= capture.start_ns)
        return true;
    if (!hu_intervals_add(w->scratch, &all, capture.start_ns, capture.end_ns) ||
        !hu_intervals_subtract(w->scratch, &all, &w->all, &rest))
        return false;
    out->capture_ns = capture.end_ns - capture.start_ns;
    out->rest_ns = hu_intervals_length(&rest);
    out->rest_busy_ns = hu_intervals_common(&rest, &w->ask->busy);
    return true;
}

int hu_breakdown_measure(const hu_ask *ask, hu_breakdown *out, hu_error *err)
{
    work w = {.ask = ask, .scratch = ask->scratch};

    if (!prepare(ask->steps, ask, &w) || !hu_unknown_unite(ask->trace, w.scratch, &w.unknown) || !share_out(&w))
        return hu_fail_memory(err);
    for (size_t k = 0; k < SETS; k++)
        fill_rests(&w.set[k]);
    *out = (hu_breakdown){.at = w.set[LISTED].rows, .n = w.set[LISTED].n, .has_device = ask->n_work > 0};
    average(&w.set[PERIODS], out);
    return measure_rest(&w, out) ? 0 : hu_fail_memory(err);
}

static const struct {
    const char *key, *label;
} roles[] = {
#define R(id, key, label) [HU_ROLE_##id] = {key, label},
    HU_BREAKDOWN_ROLES(R)
#undef R
};

const char *hu_role_key(hu_role role)
{
    return roles[role].key;
}

const char *hu_role_label(hu_role role)
{
    return roles[role].label;
}
