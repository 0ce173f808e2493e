/* SPDX-License-Identifier: Apache-2.0
 * sheet_ranges.c - ranges of the program, and what a GPU did for them.
 *
 * Work of a GPU belongs to each range of the thread that was open around the call that launched it.  A range projected onto
 * the GPU lasts from the start of its first to the end of its last piece of work; ranges inside of it are not subtracted. */
#include <stdlib.h>

#include "analyze/sheet_parts.h"

/* Of a slice; what is no range has only zeros. */
typedef struct {
    int64_t  start_ns, end_ns; /* on the GPU */
    int64_t  child_ns;         /* of the ranges directly in it, on the host */
    uint32_t n_ops;
    uint32_t n_children;      /* ranges directly in it */
    uint32_t n_busy_children; /* of them those with work of a GPU */
    uint32_t level;           /* ranges around it */
} span;

static void add_work(const hu_trace *t, const hu_slices *s, uint32_t work, span *spans)
{
    const int64_t  start = s->start_ns[work], end = start + s->dur_ns[work];
    const uint32_t call = hu_trace_launch_of(t, work);

    for (uint32_t at = call == HU_NONE ? HU_NONE : hu_naming_range_around(t, s, call); at != HU_NONE;
         at = hu_naming_range_around(t, s, at)) {
        span *of = &spans[at];

        of->start_ns = of->n_ops && of->start_ns < start ? of->start_ns : start;
        of->end_ns = of->n_ops && of->end_ns > end ? of->end_ns : end;
        of->n_ops++;
    }
}

/* One for each slice of the trace; NULL: no memory. */
static span *spans_of(const hu_trace *t, hu_arena *arena)
{
    const hu_slices s = hu_trace_slices(t);
    const uint32_t *order = hu_trace_order(t);
    span           *spans = hu_arena_calloc(arena, s.n + 1, sizeof *spans);

    if (!spans)
        return NULL;
    for (uint32_t i = 0; i < s.n; i++)
        if (hu_kind_in(s.kind[i], HU_KINDS_DEVICE))
            add_work(t, &s, i, spans);
    for (size_t k = 0; k < s.n; k++) { /* on a track, what contains comes first */
        const uint32_t i = order[k], up = hu_naming_is_range(t, &s, i) ? hu_naming_range_around(t, &s, i) : HU_NONE;

        if (up == HU_NONE)
            continue;
        spans[up].n_children++;
        spans[up].n_busy_children += spans[i].n_ops > 0;
        spans[up].child_ns += s.dur_ns[i];
        spans[i].level = spans[up].level + 1;
    }
    return spans;
}

/* A row. */
typedef struct {
    hu_sheet_slice at;
    span           of;
} ranged;

static int by_start(const void *a, const void *b)
{
    const ranged *x = a, *y = b;

    if (x->at.start_ns != y->at.start_ns)
        return x->at.start_ns < y->at.start_ns ? -1 : 1;
    if (x->of.level != y->of.level)
        return x->of.level < y->of.level ? -1 : 1;
    if (x->at.trace != y->at.trace)
        return x->at.trace < y->at.trace ? -1 : 1;
    return x->at.slice < y->at.slice ? -1 : x->at.slice > y->at.slice;
}

static bool collect(hu_sheet *sheet, bool with_work)
{
    HU_VEC(ranged) found = {0};

    for (uint32_t k = 0; k < sheet->n_traces; k++) {
        const hu_trace *t = sheet->traces[k];
        const hu_slices s = hu_trace_slices(t);
        const span     *spans = spans_of(t, sheet->arena);

        if (!spans)
            return false;
        for (uint32_t i = 0; i < s.n; i++)
            if (hu_naming_is_range(t, &s, i) && (!with_work || spans[i].n_ops) &&
                !hu_vec_push(sheet->arena, &found,
                             ((ranged){{with_work ? spans[i].start_ns : s.start_ns[i], k, i}, spans[i]})))
                return false;
    }
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_start);
    sheet->rows = found.at;
    sheet->n = found.n;
    return true;
}

bool hu_sheet_projected_measure(hu_sheet *sheet)
{
    return collect(sheet, true);
}

bool hu_sheet_ranges_measure(hu_sheet *sheet)
{
    return collect(sheet, false);
}

void hu_sheet_projected_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const ranged   *r = &((const ranged *)sheet->rows)[row];
    const hu_trace *t = sheet->traces[r->at.trace];
    const hu_slices s = hu_trace_slices(t);
    size_t          n;
    const hu_track *track = &hu_trace_tracks(t, &n)[s.track[r->at.slice]];

    cells[0] = hu_cell_text(hu_naming_range(t, s.name[r->at.slice]));
    cells[1] = hu_cell_int(r->of.start_ns);
    cells[2] = hu_cell_int(r->of.end_ns - r->of.start_ns);
    cells[3] = hu_cell_int(s.start_ns[r->at.slice]);
    cells[4] = hu_cell_int(s.dur_ns[r->at.slice]);
    cells[5] = hu_cell_text(HU_STR("PushPop"));
    cells[6] = hu_sheet_pid(t, track);
    cells[7] = hu_sheet_tid(t, track);
    cells[8] = hu_cell_int(r->of.n_ops);
    cells[9] = hu_cell_int(r->of.level);
    cells[10] = hu_cell_int(r->of.n_busy_children);
}

void hu_sheet_ranges_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const ranged   *r = &((const ranged *)sheet->rows)[row];
    const hu_trace *t = sheet->traces[r->at.trace];
    const hu_slices s = hu_trace_slices(t);
    const int64_t   start = s.start_ns[r->at.slice], dur = s.dur_ns[r->at.slice];
    size_t          n;
    const hu_track *track = &hu_trace_tracks(t, &n)[s.track[r->at.slice]];

    cells[0] = hu_cell_int(start);
    cells[1] = hu_cell_int(start + dur);
    cells[2] = hu_cell_int(dur);
    cells[3] = hu_cell_int(r->of.child_ns);
    cells[4] = hu_cell_int(dur - r->of.child_ns);
    cells[5] = hu_cell_text(hu_naming_range(t, s.name[r->at.slice]));
    cells[6] = hu_sheet_pid(t, track);
    cells[7] = hu_sheet_tid(t, track);
    cells[8] = hu_cell_int(r->of.level);
    cells[9] = hu_cell_int(r->of.n_children);
}

/* Projections by name. */
typedef struct {
    hu_str name;
    HU_VEC(int64_t) times;
    hu_stats stats;
    int64_t  range_ns, ops, level, children;
} projection;

static int by_projected(const void *a, const void *b)
{
    const projection *x = a, *y = b;

    if (x->stats.sum != y->stats.sum)
        return x->stats.sum > y->stats.sum ? -1 : 1;
    return hu_str_compare(x->name, y->name);
}

bool hu_sheet_projections_measure(hu_sheet *sheet)
{
    HU_VEC(projection) found = {0};
    hu_sheet_groups keys;
    const ranged   *at;

    if (!collect(sheet, true) || !hu_sheet_groups_init(&keys, sheet->arena))
        return false;
    at = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++) {
        const hu_trace *t = sheet->traces[at[i].at.trace];
        const hu_slices s = hu_trace_slices(t);
        const hu_str    name = hu_naming_range(t, s.name[at[i].at.slice]);
        const int64_t   id = hu_sheet_name(&keys, name), row = id < 0 ? -1 : hu_sheet_row(&keys, &id, 1);
        projection     *p;

        if (row < 0 || ((size_t)row == found.n && !hu_vec_push(sheet->arena, &found, (projection){.name = name})))
            return false;
        p = &found.at[row];
        p->range_ns += s.dur_ns[at[i].at.slice];
        p->ops += at[i].of.n_ops;
        p->level += at[i].of.level;
        p->children += at[i].of.n_busy_children;
        if (!hu_vec_push(sheet->arena, &p->times, at[i].of.end_ns - at[i].of.start_ns))
            return false;
    }
    for (size_t i = 0; i < found.n; i++)
        found.at[i].stats = hu_stats_of(found.at[i].times.at, found.at[i].times.n);
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_projected);
    sheet->rows = found.at;
    sheet->n = found.n;
    return true;
}

void hu_sheet_projections_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const projection *p = &((const projection *)sheet->rows)[row];
    const double      n = (double)p->stats.n;

    cells[0] = hu_cell_text(p->name);
    cells[1] = hu_cell_text(HU_STR("PushPop"));
    cells[2] = hu_cell_int(p->stats.sum);
    cells[3] = hu_cell_int(p->range_ns);
    cells[4] = hu_cell_int((int64_t)p->stats.n);
    hu_sheet_stats(&p->stats, &cells[5]);
    cells[10] = hu_cell_int(p->ops);
    cells[11] = hu_cell_real((double)p->ops / n, 1);
    cells[12] = hu_cell_real((double)p->level / n, 1);
    cells[13] = hu_cell_real((double)p->children / n, 1);
}

/* A kernel's times in all ranges of a name on a thread. */
typedef struct {
    hu_sheet_slice kernel; /* the first */
    uint32_t       range;  /* a slice of the same trace; HU_NONE outside of all ranges */
    int64_t        n_ranges;
    HU_VEC(int64_t) times;
    hu_stats stats;
} range_kernel;

typedef struct {
    hu_sheet       *sheet;
    hu_sheet_groups keys, seen; /* seen: which ranges a row has counted */
    int64_t         n_seen;
    HU_VEC(range_kernel) rows;
} range_work;

static bool count_in(range_work *w, const hu_slices *s, const hu_sheet_slice *kernel, uint32_t range)
{
    const hu_trace *t = w->sheet->traces[kernel->trace];
    const bool      none = range == HU_NONE;
    const int64_t   key[] = {none ? -1 : (int64_t)kernel->trace, none ? -1 : (int64_t)s->track[range],
                           hu_sheet_name(&w->keys, none ? HU_STR("") : hu_naming_range(t, s->name[range])),
                           hu_sheet_name(&w->keys, hu_naming_kernel(w->sheet->naming, t, s, kernel->slice))};
    const int64_t row = key[2] < 0 || key[3] < 0 ? -1 : hu_sheet_row(&w->keys, key, HU_COUNT(key));
    const int64_t pair[] = {row, range};
    const int64_t seen = row < 0 ? -1 : none ? -2 : hu_sheet_row(&w->seen, pair, HU_COUNT(pair));
    range_kernel *r;

    if (seen == -1 || ((size_t)row == w->rows.n &&
                       !hu_vec_push(w->sheet->arena, &w->rows, ((range_kernel){.kernel = *kernel, .range = range}))))
        return false;
    r = &w->rows.at[row];
    r->n_ranges += seen == w->n_seen;
    w->n_seen += seen == w->n_seen;
    return hu_vec_push(w->sheet->arena, &r->times, s->dur_ns[kernel->slice]);
}

static int by_range_total(const void *a, const void *b)
{
    const range_kernel *x = a, *y = b;

    if (x->stats.sum != y->stats.sum)
        return x->stats.sum > y->stats.sum ? -1 : 1;
    return x->kernel.start_ns < y->kernel.start_ns ? -1 : x->kernel.start_ns > y->kernel.start_ns;
}

/* A kernel counts in every range around its launch, as nsys does it, and what has none in rows without a range. */
bool hu_sheet_range_kernels_measure(hu_sheet *sheet)
{
    range_work            w = {.sheet = sheet};
    const hu_sheet_slice *at;

    if (!hu_sheet_slices(sheet, HU_KINDS_COMPUTE | HU_KINDS_COMM, NULL) || !hu_sheet_groups_init(&w.keys, sheet->arena) ||
        !hu_sheet_groups_init(&w.seen, sheet->arena))
        return false;
    at = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++) {
        const hu_trace *t = sheet->traces[at[i].trace];
        const hu_slices s = hu_trace_slices(t);
        const uint32_t  call = hu_trace_launch_of(t, at[i].slice);
        uint32_t        range = call == HU_NONE ? HU_NONE : hu_naming_range_around(t, &s, call);

        do {
            if (!count_in(&w, &s, &at[i], range))
                return false;
            range = range == HU_NONE ? HU_NONE : hu_naming_range_around(t, &s, range);
        } while (range != HU_NONE);
    }
    for (size_t i = 0; i < w.rows.n; i++)
        w.rows.at[i].stats = hu_stats_of(w.rows.at[i].times.at, w.rows.at[i].times.n);
    if (w.rows.n)
        qsort(w.rows.at, w.rows.n, sizeof *w.rows.at, by_range_total);
    sheet->rows = w.rows.at;
    sheet->n = w.rows.n;
    return true;
}

void hu_sheet_range_kernels_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const range_kernel *r = &((const range_kernel *)sheet->rows)[row];
    const hu_trace     *t = sheet->traces[r->kernel.trace];
    const hu_slices     s = hu_trace_slices(t);
    size_t              n;

    if (r->range != HU_NONE) {
        const hu_track *track = &hu_trace_tracks(t, &n)[s.track[r->range]];

        cells[0] = hu_cell_text(hu_naming_range(t, s.name[r->range]));
        cells[1] = hu_cell_text(HU_STR("PushPop"));
        cells[2] = hu_sheet_pid(t, track);
        cells[3] = hu_sheet_tid(t, track);
    }
    cells[4] = hu_cell_int(r->n_ranges);
    cells[5] = hu_cell_int((int64_t)r->stats.n);
    cells[6] = hu_cell_int(r->stats.sum);
    hu_sheet_stats(&r->stats, &cells[7]);
    cells[12] = hu_cell_text(hu_naming_kernel(sheet->naming, t, &s, r->kernel.slice));
}
