/* SPDX-License-Identifier: Apache-2.0
 * omp_regions.c - phases are matched by their number in the region: every thread of a team passes every barrier.
 *
 * A region whose threads have different numbers of phases is not understood, and left out: a recording that began in it,
 * records that were lost, or barriers so close that some threads only counted them.
 */
#include "analyze/omp_regions.h"

#include <stdlib.h>

#include "base/map.h"

/* What one slice says of a thread in a region. */
typedef struct {
    uint32_t region; /* row of `regions` */
    uint32_t track;
    uint32_t phase;
    uint32_t place, line, worksharing;
    bool     is_tasks; /* at the barrier behind the phase before it */
    int64_t  start_ns, end_ns, work_ns;
} row;

typedef struct {
    uint32_t caller, place, line;
    int32_t  threads;
    int64_t  end_ns;
} region;

typedef struct {
    const hu_ask   *ask;
    hu_arena       *arena;
    uint32_t        main;
    hu_omp_regions *out;
    hu_map          host;    /* process and thread -> track */
    hu_map          numbers; /* process and number of a region -> row */
    hu_map          site_of; /* place and function -> row of sites */
    HU_VEC(region) regions;
    HU_VEC(row) rows;
    HU_VEC(hu_omp_phase) phases;
    HU_VEC(hu_omp_member) members;
    HU_VEC(hu_omp_site) sites;
} work;

static uint64_t key_of(int64_t pid, int64_t number)
{
    return (uint64_t)pid * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)number;
}

static bool put(hu_map *map, uint64_t key, uint32_t value)
{
    uint32_t *place = hu_map_put(map, key);

    if (place)
        *place = value;
    return place != NULL;
}

static const hu_omp_detail *detail_of(const hu_ask *ask, uint32_t slice)
{
    const uint32_t at = ask->s.detail[slice];

    return ask->s.kind[slice] == HU_KIND_OPENMP && at != HU_NONE ? hu_trace_omp_detail(ask->trace, at) : NULL;
}

static bool find_hosts(work *w)
{
    for (uint32_t t = 0; t < w->ask->n_tracks; t++) {
        const hu_track *k = &w->ask->tracks[t];

        if (k->type == HU_TRACK_HOST && !k->pid_is_text && !k->tid_is_text && !put(&w->host, key_of(k->pid, k->tid), t))
            return false;
    }
    return true;
}

static uint32_t host_of(const work *w, uint32_t track)
{
    const hu_track *t = &w->ask->tracks[track];

    return t->pid_is_text || t->tid_is_text ? HU_MAP_NONE : hu_map_get(&w->host, key_of(t->pid, t->tid));
}

/* A region that somebody started, or its times alone. */
static bool take_region(work *w, uint32_t slice, const hu_omp_detail *d)
{
    const int64_t  pid = w->ask->tracks[w->ask->s.track[slice]].pid;
    const uint32_t host = host_of(w, w->ask->s.track[slice]);

    if (d->what == HU_OMP_SHORT_PARALLEL) {
        w->out->short_regions += d->calls;
        w->out->short_ns += d->work_ns > 0 && d->work_ns < w->ask->s.dur_ns[slice] ? d->work_ns : w->ask->s.dur_ns[slice];
        return true;
    }
    if (d->what != HU_OMP_PARALLEL || !d->region)
        return true;
    if (host == w->main) {
        w->out->regions++;
        w->out->region_ns += w->ask->s.dur_ns[slice];
    }
    return put(&w->numbers, key_of(pid, d->region), (uint32_t)w->regions.n) &&
           hu_vec_push(w->arena, &w->regions,
                       ((region){d->caller, d->place, d->line, d->threads, hu_ask_end(w->ask, slice)}));
}

static bool take_row(work *w, uint32_t slice, const hu_omp_detail *d)
{
    const uint32_t track = w->ask->s.track[slice], host = host_of(w, track);
    const uint32_t at = d->region ? hu_map_get(&w->numbers, key_of(w->ask->tracks[track].pid, d->region)) : HU_MAP_NONE;
    int64_t        most_ns;

    if ((d->what != HU_OMP_TASK && d->what != HU_OMP_TASKS) || at == HU_MAP_NONE || host == HU_MAP_NONE || d->work_ns < 0)
        return true;
    most_ns = w->regions.at[at].end_ns - w->ask->s.start_ns[slice]; /* at the barrier behind it, it may have run tasks */
    if (most_ns < 0)
        return true;
    return hu_vec_push(w->arena, &w->rows,
                       ((row){.region = at,
                              .track = host,
                              .place = d->place,
                              .line = d->line,
                              .worksharing = d->worksharing,
                              .is_tasks = d->what == HU_OMP_TASKS,
                              .start_ns = w->ask->s.start_ns[slice],
                              .end_ns = hu_ask_end(w->ask, slice),
                              .work_ns = d->work_ns < most_ns ? d->work_ns : most_ns}));
}

static bool read_slices(work *w)
{
    for (int pass = 0; pass < 1 + (w->regions.n > 0); pass++)
        for (uint32_t t = 0; t < w->ask->n_tracks; t++)
            for (uint32_t k = 0; w->ask->tracks[t].type == HU_TRACK_NOTE && k < w->ask->tracks[t].count; k++) {
                const uint32_t       i = w->ask->order[w->ask->tracks[t].first + k];
                const hu_omp_detail *d = detail_of(w->ask, i);

                if (d && !(pass ? take_row(w, i, d) : take_region(w, i, d)))
                    return false;
            }
    return true;
}

static int by_thread(const void *left, const void *right)
{
    const row *a = left, *b = right;

    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (int)a->is_tasks - (int)b->is_tasks;
}

static int by_phase(const void *left, const void *right)
{
    const row *a = left, *b = right;

    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

/* Numbers the phases of each thread, and adds tasks to the phase before them. */
static void number_phases(work *w)
{
    size_t n = 0;

    if (w->rows.n)
        qsort(w->rows.at, w->rows.n, sizeof *w->rows.at, by_thread);
    for (size_t i = 0; i < w->rows.n; i++) {
        row *r = &w->rows.at[i], *before = n ? &w->rows.at[n - 1] : NULL;

        if (before && (before->region != r->region || before->track != r->track))
            before = NULL;
        if (r->is_tasks) {
            if (before) {
                before->work_ns += r->work_ns;
                before->end_ns = r->end_ns > before->end_ns ? r->end_ns : before->end_ns;
            }
            continue;
        }
        r->phase = before ? before->phase + 1 : 0;
        w->rows.at[n++] = *r;
    }
    w->rows.n = n;
    if (n)
        qsort(w->rows.at, n, sizeof *w->rows.at, by_phase);
}

/* phases */

/* What the thread waited for a CPU, and ran, while it did that. */
static void ask_scheduler(const work *w, const row *r, int64_t *ready_ns, int64_t *run_ns)
{
    const hu_track   *t = &w->ask->tracks[r->track];
    size_t            n;
    const hu_stretch *all = hu_trace_stretches(w->ask->trace, &n), *at = all ? all + t->first_stretch : NULL;
    uint32_t          low = 0, high = t->n_stretches;

    *ready_ns = *run_ns = 0;
    if (hu_trace_get_info(w->ask->trace)->state_source != HU_STATES_SWITCHES)
        return;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (at[middle].end_ns <= r->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->n_stretches && at[low].start_ns < r->end_ns; low++) {
        const int64_t from = at[low].start_ns > r->start_ns ? at[low].start_ns : r->start_ns;
        const int64_t ns = (at[low].end_ns < r->end_ns ? at[low].end_ns : r->end_ns) - from;

        *ready_ns += at[low].state == HU_THREAD_RUNNABLE ? ns : 0;
        *run_ns += at[low].state == HU_THREAD_RUNNING ? ns : 0;
    }
}

/* Where the phase ends: a barrier inside of the region says its own place, the last one that of the region or none. */
static uint32_t find_site(work *w, const row *rows, size_t n)
{
    const region *r = &w->regions.at[rows->region];
    uint32_t      at = r->place, line = r->line, workshare = 0, *place;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].place && rows[i].place != r->place) {
            at = rows[i].place;
            line = rows[i].line;
        }
        workshare = rows[i].worksharing ? rows[i].worksharing : workshare;
    }
    place = hu_map_put(&w->site_of, (uint64_t)at << 32 | r->caller);
    if (!place)
        return HU_MAP_NONE;
    if (*place == HU_MAP_NONE) {
        if (!hu_vec_push(w->arena, &w->sites, ((hu_omp_site){.caller = r->caller, .place = at, .line = line})))
            return HU_MAP_NONE;
        *place = (uint32_t)w->sites.n - 1;
    }
    if (workshare)
        w->sites.at[*place].worksharing = workshare;
    return *place;
}

static bool add_phase(work *w, const row *rows, size_t n)
{
    const int64_t cpus = hu_trace_get_info(w->ask->trace)->cpus;
    hu_omp_phase  p = {.start_ns = INT64_MAX, .end_ns = INT64_MIN, .first = (uint32_t)w->members.n, .n = (uint32_t)n};
    int64_t       all_run_ns = 0, last_ready_ns = 0, sum_least_ns = 0, max_least_ns = 0, even_ns, most_ns;
    hu_omp_site  *s;

    p.site = find_site(w, rows, n);
    if (p.site == HU_MAP_NONE)
        return false;
    for (size_t i = 0; i < n; i++) {
        hu_omp_member m = {.track = rows[i].track, .end_ns = rows[i].end_ns};
        const int64_t waits_ns = rows[i].end_ns - rows[i].start_ns - rows[i].work_ns;
        int64_t       run_ns, ready_ns, least_ns;

        ask_scheduler(w, &rows[i], &m.ready_ns, &run_ns);
        /* it waits for a CPU in its waits, too, where these spin: as much of it as they hold, or nothing */
        ready_ns = waits_ns > 0 && m.ready_ns > waits_ns ? m.ready_ns - waits_ns : waits_ns > 0 ? 0 : m.ready_ns;
        m.work_ns = rows[i].work_ns > ready_ns ? rows[i].work_ns - ready_ns : 0;
        least_ns = rows[i].work_ns > m.ready_ns ? rows[i].work_ns - m.ready_ns : 0;
        sum_least_ns += least_ns;
        max_least_ns = least_ns > max_least_ns ? least_ns : max_least_ns;
        all_run_ns += run_ns;
        p.work_ns += m.work_ns;
        if (m.work_ns > p.longest_ns || i == 0) {
            p.longest_ns = m.work_ns;
            p.longest = m.track;
        }
        p.start_ns = rows[i].start_ns < p.start_ns ? rows[i].start_ns : p.start_ns;
        if (rows[i].end_ns > p.end_ns) {
            p.end_ns = rows[i].end_ns;
            last_ready_ns = ready_ns;
        }
        if (!hu_vec_push(w->arena, &w->members, m))
            return false;
    }
    even_ns = p.work_ns / (int64_t)n;
    if (cpus > 0 && cpus < (int64_t)n && all_run_ns / cpus > even_ns)
        even_ns = all_run_ns / cpus;
    most_ns = p.end_ns - p.start_ns - even_ns - last_ready_ns;
    if (max_least_ns - sum_least_ns / (int64_t)n < most_ns) /* what is uneven either way */
        most_ns = max_least_ns - sum_least_ns / (int64_t)n;
    p.saved_ns = p.longest_ns - even_ns < most_ns ? p.longest_ns - even_ns : most_ns;
    p.saved_ns = p.saved_ns > 0 ? p.saved_ns : 0;
    s = &w->sites.at[p.site];
    s->phases++;
    s->threads = (int64_t)n > s->threads ? (int64_t)n : s->threads;
    s->wall_ns += p.end_ns - p.start_ns;
    s->work_ns += p.work_ns;
    s->longest_ns += p.longest_ns;
    s->saved_ns += p.saved_ns;
    return hu_vec_push(w->arena, &w->phases, p);
}

/* All phases of one region, by phase and thread: each of them has all threads of the team, or nothing is known. */
static bool take_phases(work *w, const row *rows, size_t n)
{
    const size_t threads = (size_t)w->regions.at[rows->region].threads;
    bool         is_whole = threads > 0 && n % threads == 0;

    for (size_t i = 0; i < n && is_whole; i++)
        is_whole = rows[i].phase == i / threads && rows[i].track == rows[i % threads].track;
    if (!is_whole) {
        w->out->unknown++;
        return true;
    }
    for (size_t i = 0; i < n && threads > 1; i += threads)
        if (!add_phase(w, rows + i, threads))
            return false;
    return true;
}

bool hu_omp_regions_measure(const hu_ask *ask, uint32_t main, hu_arena *arena, hu_omp_regions *out)
{
    work w = {.ask = ask, .arena = arena, .main = main, .out = out};

    *out = (hu_omp_regions){0};
    if (!hu_map_init(&w.host, arena, 0) || !hu_map_init(&w.numbers, arena, 0) || !hu_map_init(&w.site_of, arena, 0) ||
        !find_hosts(&w) || !read_slices(&w))
        return false;
    number_phases(&w);
    for (size_t i = 0, n; i < w.rows.n; i += n) {
        for (n = 1; i + n < w.rows.n && w.rows.at[i + n].region == w.rows.at[i].region;)
            n++;
        if (!take_phases(&w, &w.rows.at[i], n))
            return false;
    }
    out->phases = w.phases.at;
    out->n_phases = w.phases.n;
    out->members = w.members.at;
    out->sites = w.sites.at;
    out->n_sites = w.sites.n;
    return true;
}
