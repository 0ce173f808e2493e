/* SPDX-License-Identifier: Apache-2.0
 * pauses.c - an evaluation between two epochs is time of the run, and of no step.
 *
 * What lies between two marks belongs to the step: in many loops the wait for the next batch is there.  A gap is a pause
 * where
 *
 *   - it is longer than usual by LONGER of a step, and by FAR times as much as gaps usually differ;
 *   - that holds, too, without the time in which the GPU works on what was launched before the gap: a host that runs ahead
 *     of the GPU waits for it now and then;
 *   - the loop's own parts take less than half of it: the wait for a batch, ranges and operators that other gaps have as
 *     well, and what a fix is known for: files written, garbage collected;
 *   - and it is rare.  Where other work was recorded in half of it, at most a quarter of the gaps are such; where nothing
 *     was, at most a tenth, and all are APART from the others: a loader with eight workers may stall at every eighth batch,
 *     waits for data have long tails, and that is time of the steps.
 */
#include "analyze/pauses.h"

#include "analyze/names.h"
#include "analyze/select.h"
#include "base/interval.h"
#include "base/stats.h"

enum { FEWEST_GAPS = 4, WITH_WORK = 4, WITHOUT = 10 }; /* one in so many gaps */

static const double LONGER = 0.5;
static const double FAR = 6;
static const double SIGMA = 1.4826; /* of a normal distribution, in median absolute deviations */
static const double OWN_PART = 0.5; /* of a gap */
static const double APART = 3;      /* times the longest gap that is no pause */

/* What a slice in a gap says about it. */
typedef enum { NOTHING, LOOP, OTHER_WORK, UNCLEAR, SIGNS } sign;

typedef struct {
    const hu_trace *trace;
    const uint8_t  *names;
    const hu_marks *marks;
    hu_slices       s;
    int64_t        *gap;   /* from the end of mark i to the next */
    bool           *after; /* such gaps are long */
    uint8_t        *usual; /* by name: a gap of usual length has it */
    hu_intervals    between;
    int64_t        *work_end; /* of what was launched from the beginning of mark i to its end, on the GPU */
    double          median_ns, limit_ns;
    size_t          n; /* gaps */
} finder;

static bool prepare(finder *f, hu_arena *scratch)
{
    const hu_marks *m = f->marks;

    f->gap = hu_arena_alloc(scratch, f->n * sizeof *f->gap);
    f->work_end = hu_arena_calloc(scratch, f->n, sizeof *f->work_end);
    f->usual = hu_arena_calloc(scratch, hu_trace_string_count(f->trace) + 1, 1);
    f->between.at = hu_arena_alloc(scratch, f->n * sizeof *f->between.at);
    if (!f->gap || !f->work_end || !f->usual || !f->between.at)
        return false;
    f->between.n = f->between.cap = f->n;
    for (size_t i = 0; i < f->n; i++) {
        f->gap[i] = m->start_ns[i + 1] - m->end_ns[i];
        f->between.at[i] = (hu_interval){m->end_ns[i] < m->start_ns[i + 1] ? m->end_ns[i] : m->start_ns[i + 1],
                                         m->start_ns[i + 1]};
    }
    return true;
}

/* Median and limit of gaps; false: no memory. */
static bool find_limit(finder *f, hu_arena *scratch)
{
    int64_t *v = hu_arena_alloc(scratch, f->n * sizeof *v);
    double   spread, step;

    if (!v)
        return false;
    for (size_t i = 0; i < f->n; i++)
        v[i] = f->marks->start_ns[i + 1] - f->marks->start_ns[i];
    step = hu_stats_of(v, f->n).median;
    memcpy(v, f->gap, f->n * sizeof *v);
    f->median_ns = hu_stats_of(v, f->n).median;
    for (size_t i = 0; i < f->n; i++)
        v[i] = (double)f->gap[i] > f->median_ns ? f->gap[i] - (int64_t)f->median_ns : (int64_t)f->median_ns - f->gap[i];
    spread = FAR * SIGMA * hu_stats_of(v, f->n).median;
    f->limit_ns = f->median_ns + (LONGER * step > spread ? LONGER * step : spread);
    return true;
}

/* The GPU may still work on the steps before a long gap: only what is left of it counts.  False: no memory. */
static bool leave_backlog(finder *f, hu_arena *scratch)
{
    const hu_marks *m = f->marks;
    hu_intervals    reach = {.at = hu_arena_alloc(scratch, f->n * sizeof *reach.at), .n = f->n, .cap = f->n};
    int64_t         last = INT64_MIN;

    if (!reach.at)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        reach.at[i] = (hu_interval){m->start_ns[i], m->start_ns[i + 1]};
        f->work_end[i] = INT64_MIN;
    }
    for (uint32_t i = 0; i < f->s.n; i++) {
        const int64_t end = f->s.start_ns[i] + f->s.dur_ns[i];
        int64_t       launched;
        size_t        at;

        if (!hu_kind_in(f->s.kind[i], HU_KINDS_DEVICE))
            continue;
        launched = hu_select_time(f->trace, &f->s, i);
        at = hu_select_find(&reach, launched);
        if (at < f->n && launched < f->between.at[at].start_ns && end > f->work_end[at])
            f->work_end[at] = end;
    }
    for (size_t i = 0; i < f->n; i++) {
        last = f->work_end[i] > last ? f->work_end[i] : last;
        if (last > m->end_ns[i] && (double)m->start_ns[i + 1] - (double)last <= f->limit_ns)
            f->after[i] = false;
    }
    return true;
}

/* The gap that a host slice of the marks' thread lies in, or f->n. */
static size_t gap_of(const finder *f, uint32_t i)
{
    size_t at;

    if (f->s.track[i] != f->marks->track || !hu_kind_in(f->s.kind[i], HU_KINDS_HOST) || f->s.dur_ns[i] <= 0)
        return f->n;
    at = hu_select_find(&f->between, f->s.start_ns[i]);
    return at < f->n && f->s.start_ns[i] + f->s.dur_ns[i] <= f->between.at[at].end_ns ? at : f->n;
}

static sign sign_of(const finder *f, uint32_t i)
{
    const uint32_t name = f->s.name[i];

    if (f->names[name] & (HU_NAME_DATA_LOADER | HU_NAME_GC) || hu_names_writes_files(hu_trace_text(f->trace, name)))
        return LOOP;
    if (hu_kind_in(f->s.kind[i], HU_BIT(PYTHON)) || f->names[name] & HU_NAME_SYNC)
        return NOTHING;
    if (f->usual[name])
        return LOOP;
    return hu_kind_in(f->s.kind[i], HU_BIT(USER) | HU_BIT(CPU_OP) | HU_KINDS_CALL) ? OTHER_WORK : UNCLEAR;
}

/* What of each long gap each sign covers: a list of SIGNS for each gap; NULL: no memory. */
static hu_intervals *list_signs(finder *f, hu_arena *scratch)
{
    hu_intervals *in = hu_arena_calloc(scratch, f->n * SIGNS, sizeof *in);

    for (uint32_t i = 0; in && i < f->s.n; i++) {
        const size_t at = gap_of(f, i);

        if (at < f->n && !f->after[at])
            f->usual[f->s.name[i]] = 1;
    }
    for (uint32_t i = 0; in && i < f->s.n; i++) {
        const size_t at = gap_of(f, i);

        if (at < f->n && f->after[at] &&
            !hu_intervals_add(scratch, &in[at * SIGNS + sign_of(f, i)], f->s.start_ns[i], f->s.start_ns[i] + f->s.dur_ns[i]))
            return NULL;
    }
    for (size_t k = 0; in && k < f->n * SIGNS; k++)
        if (in[k].n && !hu_intervals_unite(scratch, &in[k]))
            return NULL;
    return in;
}

typedef enum { STEP_TIME, WORKED, SILENT } verdict;

/* What a long gap is, by the share of it that each sign covers. */
static verdict judge_gap(const finder *f, const hu_intervals *in, size_t at)
{
    double share[SIGNS];

    for (size_t k = 0; k < SIGNS; k++)
        share[k] = (double)hu_intervals_length(&in[at * SIGNS + k]) / (double)f->gap[at];
    if (share[LOOP] >= OWN_PART)
        return STEP_TIME;
    if (share[OTHER_WORK] >= OWN_PART)
        return WORKED;
    return share[UNCLEAR] >= OWN_PART ? STEP_TIME : SILENT;
}

/* Leaves the gaps that are no part of the loop, if they are rare. */
static bool judge(finder *f, hu_arena *scratch)
{
    const hu_intervals *in = list_signs(f, scratch);
    uint8_t            *is = hu_arena_calloc(scratch, f->n, sizeof *is);
    size_t              n[SILENT + 1] = {0};
    int64_t longest = 0, shortest = INT64_MAX; /* of the steps' own gaps; of those in which nothing was recorded */

    if (!in || !is)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        is[i] = f->after[i] ? (uint8_t)judge_gap(f, in, i) : STEP_TIME;
        n[is[i]]++;
        if (is[i] == STEP_TIME && f->gap[i] > longest)
            longest = f->gap[i];
        if (is[i] == SILENT && f->gap[i] < shortest)
            shortest = f->gap[i];
    }
    for (size_t i = 0; i < f->n; i++)
        f->after[i] = (is[i] == WORKED && WITH_WORK * n[WORKED] <= f->n) ||
                      (is[i] == SILENT && WITHOUT * n[SILENT] <= f->n && (double)shortest >= APART * (double)longest);
    return true;
}

/* The range that takes the longest of all in pauses. */
static bool find_name(const finder *f, hu_arena *scratch, uint32_t *what)
{
    int64_t *ns = hu_arena_calloc(scratch, hu_trace_string_count(f->trace) + 1, sizeof *ns);

    *what = 0;
    if (!ns)
        return false;
    for (uint32_t i = 0; i < f->s.n; i++) {
        const size_t   at = f->s.kind[i] == HU_KIND_USER ? gap_of(f, i) : f->n;
        const uint32_t name = f->s.name[i];

        if (at == f->n || !f->after[at])
            continue;
        ns[name] += f->s.dur_ns[i];
        if (*what == 0 || ns[name] > ns[*what])
            *what = name;
    }
    return true;
}

int hu_pauses_find(const hu_trace *trace, const uint8_t *names, const hu_marks *marks, bool *after, uint32_t *what,
                   hu_arena *scratch, hu_error *err)
{
    finder f = {.trace = trace, .names = names, .marks = marks, .s = hu_trace_slices(trace), .after = after};
    size_t n_long = 0;

    *what = 0;
    memset(after, 0, marks->n * sizeof *after);
    if (marks->n <= FEWEST_GAPS)
        return 0;
    f.n = marks->n - 1;
    if (!prepare(&f, scratch) || !find_limit(&f, scratch))
        return hu_fail_memory(err);
    for (size_t i = 0; i < f.n; i++) {
        after[i] = (double)f.gap[i] > f.limit_ns;
        n_long += after[i];
    }
    if (n_long && (!leave_backlog(&f, scratch) || !judge(&f, scratch) || !find_name(&f, scratch, what)))
        return hu_fail_memory(err);
    return 0;
}
