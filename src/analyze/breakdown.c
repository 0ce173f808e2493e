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

/* Windows in order that do not overlap, and what is known of each. */
typedef struct {
    hu_interval  *at;
    size_t        n;
    hu_step_time *rows;
} windows;

/* Of each step as it is listed, and of its period, which the means are taken over. */
enum { LISTED, PERIODS, SETS };

typedef struct {
    const hu_ask *ask;
    windows       set[SETS];
    hu_arena     *scratch;
    hu_intervals  role[HU_ROLE_COUNT];
    hu_intervals  waits;     /* Python frames that wait, of all threads */
    int64_t      *had, *has; /* room for a number for each window */
} work;

/* HU_ROLE_COUNT: none. */
static hu_role role_of(const hu_ask *ask, uint32_t i)
{
    const uint8_t flags = ask->names[ask->s.name[i]];

    /* a call of the system belongs to what it is made in: analyze/host_time.h tells what it waits for */
    if (!hu_kind_in(ask->s.kind[i], HU_KINDS_HOST & ~HU_BIT(OS_CALL)) || (flags & HU_NAME_STEP))
        return HU_ROLE_COUNT;
    if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL))
        return HU_ROLE_RUNTIME;
    if (flags & HU_NAME_DATA_LOADER)
        return HU_ROLE_DATA_LOADER;
    if (hu_mpi_calls_starts_or_ends(ask, i))
        return HU_ROLE_CPU_EXEC;
    return flags & HU_NAME_COMM || ask->s.kind[i] == HU_KIND_MPI ? HU_ROLE_COMMUNICATION : HU_ROLE_CPU_EXEC;
}

/* Operators, annotations and frames of a thread, but for the time in frames that wait. */
static bool add_execution(work *w, const hu_track *t)
{
    const hu_ask *ask = w->ask;
    hu_intervals  all = {0}, waits = {0}, rest;

    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];
        const bool     is_wait = hu_ask_waits(ask, i) != HU_WAITS_NOT;

        if (role_of(ask, i) == HU_ROLE_CPU_EXEC &&
            !hu_intervals_add(w->scratch, is_wait ? &waits : &all, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    if (!hu_intervals_unite(w->scratch, &all) || !hu_intervals_unite(w->scratch, &waits) ||
        !hu_intervals_subtract(w->scratch, &all, &waits, &rest))
        return false;
    for (size_t k = 0; k < rest.n; k++)
        if (!hu_intervals_add(w->scratch, &w->role[HU_ROLE_CPU_EXEC], rest.at[k].start_ns, rest.at[k].end_ns))
            return false;
    for (size_t k = 0; k < waits.n; k++)
        if (!hu_intervals_add(w->scratch, &w->waits, waits.at[k].start_ns, waits.at[k].end_ns))
            return false;
    hu_intervals_drop(w->scratch, &all);
    hu_intervals_drop(w->scratch, &waits);
    hu_intervals_drop(w->scratch, &rest);
    return true;
}

static int collect_host_roles(work *w, hu_error *err)
{
    const hu_slices *s = &w->ask->s;

    for (size_t k = 0; k < s->n; k++) {
        const uint32_t i = w->ask->order[k];
        const hu_role  role = role_of(w->ask, i);

        if (role != HU_ROLE_COUNT && role != HU_ROLE_CPU_EXEC &&
            !hu_intervals_add(w->scratch, &w->role[role], s->start_ns[i], hu_ask_end(w->ask, i)))
            return hu_fail_memory(err);
    }
    for (size_t t = 0; t < w->ask->n_tracks; t++)
        if (w->ask->tracks[t].type == HU_TRACK_HOST && !add_execution(w, &w->ask->tracks[t]))
            return hu_fail_memory(err);
    for (hu_role r = HU_ROLE_COMMUNICATION; r <= HU_ROLE_CPU_EXEC; r++)
        if (!hu_intervals_unite(w->scratch, &w->role[r]))
            return hu_fail_memory(err);
    return hu_intervals_unite(w->scratch, &w->waits) ? 0 : hu_fail_memory(err);
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

        memset(w->had, 0, v->n * sizeof *w->had);
        memset(w->has, 0, v->n * sizeof *w->has);
        hu_intervals_split(free_time, v->at, v->n, w->had);
        hu_intervals_split(&rest, v->at, v->n, w->has);
        for (size_t i = 0; i < v->n; i++)
            *(double *)((char *)&v->rows[i] + offset) += (double)(w->had[i] - w->has[i]);
    }
    hu_intervals_drop(w->scratch, free_time);
    *free_time = rest;
    return true;
}

/* What *out held before is given back. */
static bool all_windows(work *w, hu_intervals *out)
{
    hu_intervals_drop(w->scratch, out);
    for (size_t k = 0; k < SETS; k++)
        for (size_t i = 0; i < w->set[k].n; i++)
            if (!hu_intervals_add(w->scratch, out, w->set[k].at[i].start_ns, w->set[k].at[i].end_ns))
                return false;
    return hu_intervals_unite(w->scratch, out);
}

static int share_out(work *w, hu_error *err)
{
    const hu_intervals *comm = &w->ask->comm;
    hu_intervals        free_time = {0}, with_comm;
    int                 rc;

    w->role[HU_ROLE_KERNEL] = w->ask->compute;
    w->role[HU_ROLE_MEMCPY] = w->ask->memcpy;
    w->role[HU_ROLE_MEMSET] = w->ask->memset;

    /* the device's view */
    if (!all_windows(w, &free_time) || !take_share(w, &free_time, comm, offsetof(hu_step_time, comm_ns)) ||
        !all_windows(w, &free_time) ||
        !take_share(w, &free_time, &w->role[HU_ROLE_KERNEL], offsetof(hu_step_time, compute_ns)) ||
        !take_share(w, &free_time, comm, offsetof(hu_step_time, exposed_comm_ns)) ||
        !take_share(w, &free_time, &w->ask->copies, offsetof(hu_step_time, exposed_copy_ns)))
        return hu_fail_memory(err);

    /* the combined view */
    hu_intervals_drop(w->scratch, &free_time);
    rc = collect_host_roles(w, err);
    if (rc < 0)
        return rc;
    if (!hu_intervals_join(w->scratch, &w->role[HU_ROLE_COMMUNICATION], comm, &with_comm) || !all_windows(w, &free_time))
        return hu_fail_memory(err);
    hu_intervals_drop(w->scratch, &w->role[HU_ROLE_COMMUNICATION]);
    w->role[HU_ROLE_COMMUNICATION] = with_comm;
    for (hu_role r = 0; r < HU_ROLE_OTHER; r++) {
        if (!take_share(w, &free_time, &w->role[r], offsetof(hu_step_time, role_ns) + r * sizeof(double)))
            return hu_fail_memory(err);
        if (r >= HU_ROLE_COMMUNICATION) /* those before are lists of everybody */
            hu_intervals_drop(w->scratch, &w->role[r]);
    }
    return take_share(w, &free_time, &w->waits, offsetof(hu_step_time, wait_ns)) ? 0 : hu_fail_memory(err);
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
    w->had = hu_arena_calloc(ask->scratch, steps->n + 1, sizeof *w->had);
    w->has = hu_arena_calloc(ask->scratch, steps->n + 1, sizeof *w->has);
    return w->had && w->has;
}

/* What lies outside of all steps, listed or not. */
static bool measure_rest(work *w, hu_breakdown *out)
{
    const hu_slices *s = &w->ask->s;
    hu_interval      capture = {INT64_MAX, INT64_MIN};
    hu_intervals     all = {0}, steps = {0}, rest;

    for (size_t i = 0; i < s->n; i++) {
        const int64_t end = s->start_ns[i] + s->dur_ns[i];

        if (!hu_kind_in(s->kind[i], HU_KINDS_HOST | HU_KINDS_DEVICE))
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
    if (!hu_intervals_add(w->scratch, &all, capture.start_ns, capture.end_ns) || !all_windows(w, &steps) ||
        !hu_intervals_subtract(w->scratch, &all, &steps, &rest))
        return false;
    out->capture_ns = capture.end_ns - capture.start_ns;
    out->rest_ns = hu_intervals_length(&rest);
    out->rest_busy_ns = hu_intervals_common(&rest, &w->ask->busy);
    return true;
}

int hu_breakdown_measure(const hu_ask *ask, hu_breakdown *out, hu_error *err)
{
    work w = {.ask = ask, .scratch = ask->scratch};
    int  rc;

    if (!prepare(ask->steps, ask, &w))
        return hu_fail_memory(err);
    rc = share_out(&w, err);
    if (rc < 0)
        return rc;
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
