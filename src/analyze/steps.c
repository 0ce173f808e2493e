/* SPDX-License-Identifier: Apache-2.0
 * steps.c - finds the steps, then decides what belongs to each.
 *
 * What a step is, in this order: ProfilerStep#N of torch.profiler; a step that a serving engine names (engine.h), also where
 * a profiler's step holds several; another annotation of the user that recurs on one
 * thread and covers most of it; a period in the work itself (see period.c); nothing.
 *
 * Annotations are one series if they have one name, or names that differ in the number of an iteration ("step 10").  Who
 * marks iterations says so: such a series need not cover the capture, which may begin with minutes of loading.
 *
 * Where it ends.  Devices run behind their host, so host times alone would give a step the kernels of the one before.
 * The rule is torch-tb-profiler's:
 *
 *     start(i) = max(host start, end(i - 1))      end(i) = max(host end, last end of GPU work launched in it)
 *
 * with end(-1) = the last end of GPU work launched before the first step.  How long a step takes is another question,
 * which steady.h answers.  Steps of one job differ; the first ones also fill caches and compile.  A first step much
 * longer than the others is a warm-up, unless a later one takes as much, or it writes a file or collects garbage meanwhile:
 * that has no more to do with the start than with any other step.  A last step with clearly less GPU work than the one
 * before was cut by the end of the capture.  Both stay in the list, outside of the means, and so do steps of which a
 * cut file does not hold the device's side (cut.c), and a last one whose mark is a range that leaves out a part of the step:
 * the others reach to the next mark, and it has none.  So does a step in front of a pause (pauses.c).
 */
#include "analyze/steps.h"

#include <stdio.h>

#include "analyze/backlog.h"
#include "analyze/cut.h"
#include "analyze/engine.h"
#include "analyze/names.h"
#include "analyze/pauses.h"
#include "analyze/period.h"
#include "analyze/select.h"
#include "analyze/steady.h"
#include "analyze/unknown.h"
#include "base/map.h"

enum {
    FEWEST_REPEATS = 3,
    FEWEST_EVEN = 5,
    ROUNDING_NS = 1000
}; /* abutting marks may overlap by what a clock of whole us hides */

static const double WARM_UP_FACTOR = 1.5; /* longer than this many medians of the others */
static const double OWN_PART = 0.5;       /* of what the first step takes more: then it is no start */
static const double LEAST_BETWEEN = 0.02; /* of the time, between an engine's passes; of a step, behind its mark */
static const double CUT_FACTOR = 0.8;     /* less device work than this share of the step before (tb_plugin) */
static const double MOST_UNEVEN = 1.25;   /* times the least distance of marks that are even */
static const double LEAST_COVERAGE = 0.5; /* of its thread's busy time, for an annotation to be the step */

typedef HU_VEC(hu_step) step_list;

static bool add_step(hu_arena *arena, step_list *list, const hu_step *s)
{
    return hu_vec_push(arena, list, *s);
}

/* ProfilerStep slices of the thread that has most of them, in order. */
static int find_profiler_steps(const hu_trace *trace, const uint8_t *names, hu_arena *arena, step_list *out, uint32_t *track,
                               hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace);
    size_t          n_tracks, best_count = 0, best = 0;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);

    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t t = 0; t < n_tracks; t++) {
            size_t count = 0;

            if (tracks[t].type != HU_TRACK_HOST || (pass == 1 && t != best))
                continue;
            for (uint32_t k = 0; k < tracks[t].count; k++) {
                const uint32_t i = order[tracks[t].first + k];

                if (s.kind[i] != HU_KIND_USER && s.kind[i] != HU_KIND_CPU_OP)
                    continue;
                if (!(names[s.name[i]] & HU_NAME_STEP))
                    continue;
                count++;
                if (pass == 1 && !add_step(arena, out,
                                           &(hu_step){.name = s.name[i],
                                                      .number = hu_names_step_number(hu_trace_text(trace, s.name[i])),
                                                      .start_ns = s.start_ns[i],
                                                      .end_ns = s.start_ns[i] + s.dur_ns[i]}))
                    return hu_fail_memory(err);
            }
            if (count > best_count) {
                best_count = count;
                best = t;
                *track = (uint32_t)t;
            }
        }
        if (best_count == 0)
            break;
    }
    return 0;
}

typedef struct {
    uint32_t name, track; /* of the first */
    uint32_t count;
    int64_t  covered_ns, start_ns, last_start_ns, last_end_ns, number;
    int64_t  least_apart_ns, most_apart_ns; /* from one beginning to the next */
    hu_str   stem;                          /* of a mark of iterations */
    bool     overlaps;                      /* two at once: not a sequence of steps */
    bool     is_numbered;                   /* each number is larger than the one before, */
    bool     is_counted;                    /* by one */
} candidate;

static uint64_t series_key(uint32_t track, uint32_t name, hu_str stem)
{
    return stem.n ? hu_hash_mix(hu_hash_bytes(stem.p, stem.n), track + UINT64_C(1)) | UINT64_C(1) << 63
                  : (uint64_t)track << 32 | name;
}

static bool is_of_series(const hu_trace *trace, const candidate *c, uint32_t name, int64_t *number)
{
    hu_str stem = {0};

    if (!c->stem.n)
        return name == c->name;
    return hu_names_is_iteration(hu_trace_text(trace, name), &stem, number) && hu_str_equal(stem, c->stem);
}

/*
 * Of the capture, or of its own extent where it says that it marks iterations.  Who counts them may mark as little as he
 * likes: with asynchronous dispatch (JAX) the host is done with a step long before the device, and a step lasts from mark to
 * mark.  So may who names iterations and marks them evenly, or on the thread that does most; "Optimizer.step#SGD.step" is a
 * call that a profiler saw.
 */
static bool covers_enough(const candidate *c, int64_t capture_ns, uint32_t busiest)
{
    if (c->is_numbered && c->is_counted)
        return true;
    if (c->stem.n && !hu_str_has(c->stem, HU_STR(".")) && c->count >= FEWEST_EVEN &&
        (c->track == busiest || (double)c->most_apart_ns <= MOST_UNEVEN * (double)c->least_apart_ns))
        return true;
    const int64_t whole_ns = c->stem.n ? c->last_end_ns - c->start_ns : capture_ns;

    return (double)c->covered_ns >= LEAST_COVERAGE * (double)whole_ns;
}

/* What lies behind the last mark: of host threads other than the marks', or of devices. */
static int list_behind(const hu_trace *trace, const candidate *c, bool of_device, hu_arena *scratch, int64_t *ns,
                       hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    hu_intervals    behind = {0};

    for (uint32_t i = 0; i < s.n; i++) {
        const int64_t end_ns = s.start_ns[i] + s.dur_ns[i];

        if (!hu_kind_in(s.kind[i], of_device ? HU_KINDS_DEVICE : HU_BIT(CPU_OP) | HU_BIT(USER)) || s.track[i] == c->track ||
            (!of_device && s.start_ns[i] < c->start_ns) || end_ns <= c->last_end_ns)
            continue;
        if (!hu_intervals_add(scratch, &behind, s.start_ns[i] > c->last_end_ns ? s.start_ns[i] : c->last_end_ns, end_ns))
            return hu_fail_memory(err);
    }
    if (!hu_intervals_unite(scratch, &behind))
        return hu_fail_memory(err);
    *ns = hu_intervals_length(&behind);
    return 0;
}

/*
 * Do the marks tell when work was asked for, and not when it was done?  Then how long a step takes is not in them.  So it is
 * where there is no GPU work, and other threads work on behind the last mark for longer than all marks together take (JAX on
 * CPUs); and where no GPU work says which step launched it, and the GPU works on for longer than from one mark to the next.
 */
static int outlive(const hu_trace *trace, const candidate *c, hu_arena *scratch, bool *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    bool            has_device = false;
    int64_t         behind_ns, limit_ns = c->last_end_ns - c->start_ns;
    int             rc;

    *out = false;
    for (uint32_t i = 0; i < s.n; i++) {
        has_device |= hu_kind_in(s.kind[i], HU_KINDS_DEVICE);
        if (hu_kind_in(s.kind[i], HU_KINDS_DEVICE) && s.parent[i] != HU_NONE)
            return 0;
    }
    if (has_device)
        limit_ns = (c->last_start_ns - c->start_ns) / (c->count - 1);
    rc = list_behind(trace, c, has_device, scratch, &behind_ns, err);
    *out = rc == 0 && behind_ns > limit_ns;
    return rc;
}

static void note_distance(candidate *c, int64_t ns)
{
    c->least_apart_ns = ns < c->least_apart_ns ? ns : c->least_apart_ns;
    c->most_apart_ns = ns > c->most_apart_ns ? ns : c->most_apart_ns;
}

/* The thread with most slices. */
static uint32_t find_busiest(const hu_trace *trace)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);
    uint32_t        best = 0;

    for (uint32_t t = 0; t < n; t++)
        if (tracks[t].type == HU_TRACK_HOST && (tracks[best].type != HU_TRACK_HOST || tracks[t].count > tracks[best].count))
            best = t;
    return best;
}

/* Of two series that may be the steps: who names iterations knows better than who names what holds several ("epoch"). */
static bool is_better(const candidate *c, const candidate *best)
{
    if (!best)
        return true;
    if (!c->stem.n != !best->stem.n && c->track == best->track &&
        (c->stem.n ? c->count > best->count : best->count > c->count))
        return c->stem.n > 0;
    return c->covered_ns > best->covered_ns;
}

static int collect_annotations(const hu_trace *trace, const uint8_t *names, hu_arena *scratch, candidate **out, size_t *n,
                               hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace);
    HU_VEC(candidate) list = {0};
    hu_map by_key;

    if (!hu_map_init(&by_key, scratch, 0))
        return hu_fail_memory(err);
    for (size_t k = 0; k < s.n; k++) {
        const uint32_t i = order[k];
        uint32_t      *place;
        candidate     *c;
        hu_str         stem = {0};
        int64_t        number = -1;

        if (s.kind[i] != HU_KIND_USER || names[s.name[i]] & HU_NAME_COMM)
            continue;
        hu_names_is_iteration(hu_trace_text(trace, s.name[i]), &stem, &number);
        place = hu_map_put(&by_key, series_key(s.track[i], s.name[i], stem));
        if (!place)
            return hu_fail_memory(err);
        if (*place == HU_MAP_NONE) {
            const candidate fresh = {.name = s.name[i],
                                     .track = s.track[i],
                                     .stem = stem,
                                     .start_ns = s.start_ns[i],
                                     .number = -1,
                                     .is_numbered = true,
                                     .is_counted = true,
                                     .least_apart_ns = INT64_MAX,
                                     .last_end_ns = INT64_MIN + ROUNDING_NS};

            if (!hu_vec_push(scratch, &list, fresh))
                return hu_fail_memory(err);
            *place = (uint32_t)list.n - 1;
        }
        c = &list.at[*place];
        c->overlaps |= s.start_ns[i] < c->last_end_ns - ROUNDING_NS;
        c->is_numbered &= number > c->number;
        c->is_counted &= c->count == 0 || number == c->number + 1;
        c->number = number;
        if (c->count++)
            note_distance(c, s.start_ns[i] - c->last_start_ns);
        c->last_start_ns = s.start_ns[i];
        c->covered_ns += s.dur_ns[i];
        c->last_end_ns = s.start_ns[i] + s.dur_ns[i];
    }
    *out = list.at;
    *n = list.n;
    return 0;
}

/* Events of unknown kinds are time of the capture too, but of a trace that has nothing else no window is known. */
static void reach_unknown(const hu_trace *trace, int64_t *start_ns, int64_t *end_ns)
{
    const hu_slices s = hu_trace_slices(trace);

    for (uint32_t i = 0; i < s.n; i++) {
        if (!hu_unknown_is(trace, i))
            continue;
        *start_ns = s.start_ns[i] < *start_ns ? s.start_ns[i] : *start_ns;
        *end_ns = s.start_ns[i] + s.dur_ns[i] > *end_ns ? s.start_ns[i] + s.dur_ns[i] : *end_ns;
    }
}

/* The capture as host threads and devices saw it, and their lives where these were recorded. */
static bool capture_window(const hu_trace *trace, int64_t *start_ns, int64_t *end_ns)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);

    *start_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < s.n; i++) {
        if (!hu_kind_in(s.kind[i], HU_KINDS_HOST | HU_KINDS_DEVICE))
            continue;
        *start_ns = s.start_ns[i] < *start_ns ? s.start_ns[i] : *start_ns;
        *end_ns = s.start_ns[i] + s.dur_ns[i] > *end_ns ? s.start_ns[i] + s.dur_ns[i] : *end_ns;
    }
    for (size_t t = 0; t < n_tracks; t++) {
        if (!tracks[t].n_stretches)
            continue;
        *start_ns = tracks[t].born_ns < *start_ns ? tracks[t].born_ns : *start_ns;
        *end_ns = tracks[t].died_ns > *end_ns ? tracks[t].died_ns : *end_ns;
    }
    if (*end_ns <= *start_ns)
        return false;
    reach_unknown(trace, start_ns, end_ns);
    return true;
}

/* A step in front of a pause ends with its own range, ends_ns[i], and the one behind it begins with its own. */
static int leave_pauses(const hu_trace *trace, const uint8_t *names, step_list *list, const int64_t *ends_ns, uint32_t track,
                        hu_arena *scratch, hu_steps *steps, hu_error *err)
{
    int64_t       *starts_ns = hu_arena_alloc(scratch, (list->n + 1) * sizeof *starts_ns);
    bool          *after = hu_arena_calloc(scratch, list->n + 1, sizeof *after);
    const hu_marks marks = {starts_ns, ends_ns, list->n, track};
    uint32_t       what;
    int            rc;

    if (!starts_ns || !after)
        return hu_fail_memory(err);
    for (size_t i = 0; i < list->n; i++)
        starts_ns[i] = list->at[i].start_ns;
    rc = hu_pauses_find(trace, names, &marks, after, &what, scratch, err);
    for (size_t i = 0; rc == 0 && i + 1 < list->n; i++) {
        if (!after[i])
            continue;
        list->at[i].end_ns = ends_ns[i];
        list->at[i + 1].is_resumed = true;
        steps->pause = hu_trace_text(trace, what);
    }
    return rc;
}

/* Steps of torch.profiler touch one another, but for other writers. */
static int leave_profiler_pauses(const hu_trace *trace, const uint8_t *names, step_list *list, uint32_t track,
                                 hu_arena *scratch, hu_steps *steps, hu_error *err)
{
    int64_t *ends_ns = hu_arena_alloc(scratch, (list->n + 1) * sizeof *ends_ns);

    if (!ends_ns)
        return hu_fail_memory(err);
    for (size_t i = 0; i < list->n; i++)
        ends_ns[i] = list->at[i].end_ns;
    return leave_pauses(trace, names, list, ends_ns, track, scratch, steps, err);
}

/* What usually lies between the end of one mark and the next: ends_ns[i] is that of the i-th step's own range. */
static bool find_between(const step_list *list, const int64_t *ends_ns, hu_arena *scratch, int64_t *between_ns)
{
    int64_t *gaps = list->n < 2 ? NULL : hu_arena_alloc(scratch, list->n * sizeof *gaps);

    *between_ns = 0;
    if (list->n < 2)
        return true;
    if (!gaps)
        return false;
    for (size_t i = 0; i + 1 < list->n; i++)
        gaps[i] = list->at[i + 1].start_ns - ends_ns[i];
    *between_ns = (int64_t)hu_stats_of(gaps, list->n - 1).median;
    return true;
}

/*
 * The annotation that covers most, if it recurs and covers enough; its steps reach from start to start.  The last one has
 * its own range; *between_ns: what is missing of it, as far as the others tell.
 */
static int find_annotated_steps(const hu_trace *trace, const uint8_t *names, hu_arena *arena, hu_arena *scratch,
                                step_list *out, hu_steps *steps, int64_t *between_ns, hu_error *err)
{
    const hu_slices  s = hu_trace_slices(trace);
    const uint32_t  *order = hu_trace_order(trace);
    size_t           n_tracks, n = 0;
    const hu_track  *tracks = hu_trace_tracks(trace, &n_tracks);
    const uint32_t   busiest = find_busiest(trace);
    const bool       is_of_profiler = hu_trace_get_info(trace)->tool.n > 0; /* else any program's: "Source" of a compiler */
    candidate       *list = NULL;
    const candidate *best = NULL;
    int64_t          start_ns, end_ns, *ends_ns;
    int              rc = collect_annotations(trace, names, scratch, &list, &n, err);

    if (rc < 0 || !capture_window(trace, &start_ns, &end_ns))
        return rc;
    for (size_t i = 0; i < n; i++) {
        const candidate *c = &list[i];
        bool             is_outlived;

        if (c->count < FEWEST_REPEATS || c->overlaps || (!is_of_profiler && !c->stem.n) ||
            !covers_enough(c, end_ns - start_ns, busiest) || !is_better(c, best))
            continue;
        rc = outlive(trace, c, scratch, &is_outlived, err);
        if (rc < 0)
            return rc;
        steps->is_outlived |= is_outlived;
        if (!is_outlived)
            best = c;
    }
    if (!best)
        return 0;
    steps->is_outlived = false;
    steps->what = best->stem.n ? best->stem : hu_trace_text(trace, best->name);
    ends_ns = hu_arena_alloc(scratch, (tracks[best->track].count + 1) * sizeof *ends_ns);
    if (!ends_ns)
        return hu_fail_memory(err);
    for (uint32_t k = 0; k < tracks[best->track].count; k++) {
        const uint32_t i = order[tracks[best->track].first + k];
        int64_t        number = -1;

        if (s.kind[i] != HU_KIND_USER || !is_of_series(trace, best, s.name[i], &number))
            continue;
        if (out->n)
            out->at[out->n - 1].end_ns = s.start_ns[i];
        ends_ns[out->n] = s.start_ns[i] + s.dur_ns[i];
        if (!add_step(arena, out,
                      &(hu_step){.name = s.name[i],
                                 .number = best->is_numbered ? number : (int64_t)out->n,
                                 .start_ns = s.start_ns[i],
                                 .end_ns = s.start_ns[i] + s.dur_ns[i]}))
            return hu_fail_memory(err);
    }
    if (!find_between(out, ends_ns, scratch, between_ns))
        return hu_fail_memory(err);
    return leave_pauses(trace, names, out, ends_ns, best->track, scratch, steps, err);
}

static int find_periodic_steps(const hu_trace *trace, hu_arena *arena, hu_arena *scratch, step_list *out, hu_str *what,
                               double *confidence, hu_error *err)
{
    hu_period p;
    int       rc = hu_period_measure(trace, scratch, &p, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i + 1 < p.n_starts; i++)
        if (!add_step(arena, out,
                      &(hu_step){.number = (int64_t)i, .start_ns = p.starts_ns[i], .end_ns = p.starts_ns[i + 1]}))
            return hu_fail_memory(err);
    *confidence = p.confidence;
    *what = p.n_starts ? hu_trace_text(trace, p.anchor) : HU_STR("");
    return 0;
}

/* The steps as marked, and each with what lies between it and the step before. */
static bool list_windows(step_list *list, hu_arena *scratch, hu_intervals *host, hu_intervals *reach)
{
    host->at = hu_arena_calloc(scratch, list->n + 1, sizeof *host->at);
    reach->at = hu_arena_calloc(scratch, list->n + 1, sizeof *reach->at);
    if (!host->at || !reach->at)
        return false;
    host->n = host->cap = reach->n = reach->cap = list->n;
    for (size_t i = 0; i < list->n; i++) {
        hu_step *step = &list->at[i];

        step->host_start_ns = step->start_ns;
        step->host_end_ns = step->end_ns;
        step->work = (hu_interval){INT64_MAX, INT64_MIN};
        host->at[i] = (hu_interval){step->start_ns, step->end_ns};
        reach->at[i] = (hu_interval){i && !step->is_resumed ? list->at[i - 1].host_end_ns : step->start_ns, step->end_ns};
    }
    return true;
}

/* Counts the work of each step and finds its ends; device_end: of what was launched in it as marked. */
static int64_t find_work(const hu_backlog *q, step_list *list, const hu_intervals *host, const hu_intervals *reach,
                         int64_t *device_end, hu_steps *steps)
{
    int64_t before_end = INT64_MIN;
    bool    has_work = false, has_launch = false;

    for (uint32_t i = 0; i < q->s.n; i++) {
        const int64_t end = q->s.start_ns[i] + q->s.dur_ns[i];
        int64_t       launched;
        size_t        at;

        if (!hu_kind_in(q->s.kind[i], HU_KINDS_DEVICE))
            continue;
        has_launch |= q->s.parent[i] != HU_NONE;
        launched = hu_select_time(q->trace, &q->s, i);
        if (launched < host->at[0].start_ns || hu_backlog_has(q, i)) {
            before_end = end > before_end ? end : before_end;
            continue;
        }
        at = hu_select_find(reach, launched);
        if (at < reach->n) {
            hu_interval *work = &list->at[at].work;

            has_work = true;
            work->start_ns = q->s.start_ns[i] < work->start_ns ? q->s.start_ns[i] : work->start_ns;
            work->end_ns = end > work->end_ns ? end : work->end_ns;
        }
        at = hu_select_find(host, launched);
        if (at < host->n) {
            list->at[at].n_device++;
            device_end[at] = end > device_end[at] ? end : device_end[at];
        }
    }
    steps->is_backlog = !has_work && before_end > host->at[0].start_ns;
    steps->is_unlinked = has_work && !has_launch;
    return before_end;
}

/* Applies the rule of the head comment; steps are sorted and do not overlap afterwards.  *before_ns: see steady.h. */
static int give_device_work(const hu_trace *trace, const uint8_t *names, step_list *list, hu_arena *scratch,
                            int64_t *before_ns, hu_steps *steps, hu_error *err)
{
    hu_intervals host = {0}, reach = {0};
    int64_t     *device_end = hu_arena_calloc(scratch, list->n + 1, sizeof *device_end), before_end;
    hu_backlog   q;

    if (!device_end || !list_windows(list, scratch, &host, &reach) || !hu_backlog_find(trace, names, scratch, &q))
        return hu_fail_memory(err);
    for (size_t i = 0; i < list->n; i++)
        device_end[i] = INT64_MIN;
    before_end = *before_ns = find_work(&q, list, &host, &reach, device_end, steps);
    for (size_t i = 0; i < list->n; i++) {
        hu_step *step = &list->at[i];

        if (step->work.end_ns < step->work.start_ns)
            step->work = (hu_interval){0};
        step->start_ns = step->start_ns > before_end ? step->start_ns : before_end;
        step->end_ns = step->end_ns > device_end[i] ? step->end_ns : device_end[i];
        if (step->end_ns < step->start_ns)
            step->end_ns = step->start_ns;
        before_end = step->end_ns;
    }
    return 0;
}

static double length_of(const hu_step *s)
{
    return (double)(s->end_ns - s->start_ns);
}

/* Is a later step about as much longer than usual as the first, with a usual one between?  A start is over once it is. */
static bool comes_back(const step_list *list, size_t n, double median)
{
    const double excess = length_of(&list->at[0]) - median;
    bool         was_usual = false;

    for (size_t i = 1; i < n; i++) {
        if (was_usual && length_of(&list->at[i]) - median >= OWN_PART * excess)
            return true;
        was_usual = was_usual || length_of(&list->at[i]) <= WARM_UP_FACTOR * median;
    }
    return false;
}

/* Time of a step in what no start is the reason for: it writes a file, or collects garbage. */
static int sum_own(const hu_trace *trace, const uint8_t *names, const hu_step *step, hu_arena *scratch, double *out,
                   hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    hu_intervals    own = {0};

    for (size_t i = 0; i < s.n; i++) {
        if (!hu_kind_in(s.kind[i], HU_KINDS_HOST) || s.start_ns[i] < step->host_start_ns ||
            s.start_ns[i] >= step->host_end_ns ||
            !(names[s.name[i]] & HU_NAME_GC || hu_names_writes_files(hu_trace_text(trace, s.name[i]))))
            continue;
        if (!hu_intervals_add(scratch, &own, s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
            return hu_fail_memory(err);
    }
    if (!hu_intervals_unite(scratch, &own))
        return hu_fail_memory(err);
    *out = (double)hu_intervals_length(&own);
    return 0;
}

static int judge(const hu_trace *trace, const uint8_t *names, step_list *list, hu_arena *scratch, hu_error *err)
{
    int64_t *others;
    size_t   n = list->n, n_others = 0;
    double   median, excess, own = 0;
    int      rc;

    /* cut at the end: no device work although the others have some, or clearly less than the step before */
    while (n >= 2 && list->at[0].n_device > 0 && list->at[n - 1].n_device == 0)
        list->at[--n].is_incomplete = true;
    if (n >= 2 && list->at[n - 2].n_device > 0 && list->at[n - 2].phase == list->at[n - 1].phase &&
        (double)list->at[n - 1].n_device < CUT_FACTOR * (double)list->at[n - 2].n_device)
        list->at[--n].is_incomplete = true;
    if (n < FEWEST_REPEATS || list->at[0].phase == HU_PHASE_PREFILL || list->at[0].phase == HU_PHASE_MIXED)
        return 0; /* prompts differ in length: a long first one is no warm-up */
    others = hu_arena_alloc(scratch, n * sizeof *others);
    if (!others)
        return hu_fail_memory(err);
    for (size_t i = 1; i < n; i++)
        if (list->at[i].phase == list->at[0].phase)
            others[n_others++] = list->at[i].end_ns - list->at[i].start_ns;
    if (n_others + 1 < FEWEST_REPEATS)
        return 0;
    median = hu_stats_of(others, n_others).median;
    excess = length_of(&list->at[0]) - median;
    if (length_of(&list->at[0]) <= WARM_UP_FACTOR * median || comes_back(list, n, median))
        return 0;
    rc = sum_own(trace, names, &list->at[0], scratch, &own, err);
    list->at[0].is_warm_up = rc == 0 && own < OWN_PART * excess;
    return rc;
}

/*
 * The last step by marks, and one in front of a pause, ends with its own range; what the others have behind theirs is
 * missing.  That is nothing where the GPU works on what was launched in it for as long.
 */
static void leave_open(hu_step *last, int64_t between_ns)
{
    if ((double)between_ns <= LEAST_BETWEEN * (double)(last->host_end_ns - last->host_start_ns + between_ns) ||
        (last->n_device && last->work.end_ns >= last->host_end_ns + between_ns))
        return;
    last->is_open = !last->is_incomplete;
    last->is_incomplete = true;
}

static int keep_range(step_list *list, const hu_step_range *range, hu_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].number >= range->first && list->at[i].number <= range->last)
            list->at[kept++] = list->at[i];
    if (kept == 0 && list->n > 0) {
        const long long first = list->at[0].number, last = list->at[list->n - 1].number;
        char            asked[64];

        snprintf(asked, sizeof asked, range->first == range->last ? "%lld" : "%lld..%lld", (long long)range->first,
                 (long long)range->last);
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no step %s; this trace has steps %lld..%lld", asked, first,
                       last);
    }
    list->n = kept;
    return 0;
}

/*
 * No share can be told: the device's side may be missing of every step.  A warm-up is complete; who asks for it alone
 * gets it, as from a whole file, but it does not stand for the steps that nobody selected.
 */
static bool is_cut(const step_list *list, bool is_selected)
{
    for (size_t i = 0; i < list->n; i++)
        if (!list->at[i].is_incomplete && (is_selected || !list->at[i].is_warm_up))
            return false;
    return true;
}

static int describe(step_list *list, hu_arena *scratch, hu_steps *out, hu_error *err)
{
    int64_t *duration = hu_arena_alloc(scratch, (list->n + 1) * sizeof *duration);

    if (!duration)
        return hu_fail_memory(err);
    out->at = list->at;
    out->n = list->n;
    out->n_counted = 0;
    hu_steady_choose(list->at, list->n, &out->steady);
    for (size_t i = 0; i < list->n; i++)
        if (hu_step_counts(&list->at[i]))
            duration[out->n_counted++] = list->at[i].period.end_ns - list->at[i].period.start_ns;
    out->duration = hu_stats_of(duration, out->n_counted);
    for (size_t i = 1; i < list->n; i++)
        if (list->at[i].is_resumed && list->at[i].marks.start_ns > list->at[i - 1].ends.end_ns) {
            out->n_pauses++;
            out->pauses_ns += list->at[i].marks.start_ns - list->at[i - 1].ends.end_ns;
        }
    for (size_t i = 0; out->is_engine && i < list->n; i++) {
        const hu_step *s = &list->at[i];

        if (hu_step_counts(s)) {
            out->phase_n[s->phase]++;
            out->phase_ns[s->phase] += (double)(s->period.end_ns - s->period.start_ns);
        }
    }
    for (size_t k = 0; k < HU_ENGINE_PHASES; k++)
        out->phase_ns[k] = out->phase_n[k] ? out->phase_ns[k] / (double)out->phase_n[k] : 0;
    return 0;
}

/* An engine's own steps, unless a profiler marks at least as many.  Its name for them is what they have in common. */
static int take_engine(const hu_trace *trace, hu_arena *arena, step_list *list, hu_steps *steps, hu_error *err)
{
    hu_step  *at;
    size_t    n;
    const int rc = hu_engine_find(trace, arena, &at, &n, err);

    if (rc < 0 || n == 0 || n <= list->n)
        return rc;
    *list = (step_list){.at = at, .n = n, .cap = n};
    steps->source = HU_STEPS_ANNOTATION;
    steps->what = n == 1 ? hu_trace_text(trace, at[0].name) : HU_STR("steps of a serving engine");
    steps->is_engine = true;
    return 0;
}

/* One pass of an engine follows no other: it takes from its call to the end of its GPU work. */
static void take_pass(hu_step *s)
{
    s->is_first = false;
    s->ends.start_ns = s->marks.start_ns;
    s->marks = s->ends;
}

/*
 * A step of an engine reaches from the end of the pass before it to its own, and in between the engine schedules, reads
 * tokens and works on them.  Of the first pass that part is not known, and of one behind a pause.  It stays out of the means
 * where it is a part worth the name, and enough passes of its phase are left.  Steps of torch.profiler with time between
 * them are no different.
 */
static void leave_first(step_list *list)
{
    int64_t between = 0, all = 0;
    size_t  alike = 0;

    for (size_t i = 1; i < list->n; i++) {
        if (list->at[i].is_resumed)
            continue;
        between += list->at[i].host_start_ns - list->at[i - 1].host_end_ns;
        all += list->at[i].host_end_ns - list->at[i - 1].host_end_ns;
        alike += hu_step_counts(&list->at[i]) && list->at[i].phase == list->at[0].phase;
    }
    if (alike < FEWEST_REPEATS || (double)between <= LEAST_BETWEEN * (double)all)
        return;
    for (size_t i = 0; i < list->n; i++)
        list->at[i].is_incomplete |= i == 0 || list->at[i].is_resumed;
}

int hu_steps_measure(const hu_trace *trace, const uint8_t *names, const hu_step_range *range, hu_arena *arena,
                     hu_arena *scratch, hu_steps *out, hu_error *err)
{
    hu_steps  steps = {.source = HU_STEPS_PROFILER, .confidence = 1, .what = HU_STR("ProfilerStep")};
    step_list list = {0};
    bool      is_device = false;
    int64_t   before_ns = INT64_MIN, between_ns = 0;
    uint32_t  track = 0;
    int       rc;

    rc = find_profiler_steps(trace, names, arena, &list, &track, err);
    if (rc == 0 && list.n)
        rc = leave_profiler_pauses(trace, names, &list, track, scratch, &steps, err);
    if (rc == 0)
        rc = take_engine(trace, arena, &list, &steps, err);
    if (rc == 0 && list.n == 0) {
        steps.source = HU_STEPS_ANNOTATION;
        rc = find_annotated_steps(trace, names, arena, scratch, &list, &steps, &between_ns, err);
    }
    if (rc == 0 && list.n == 0) {
        steps.source = HU_STEPS_STRUCTURE;
        rc = find_periodic_steps(trace, arena, scratch, &list, &steps.what, &steps.confidence, err);
    }
    if (rc == 0 && list.n == 0) {
        hu_step whole = {0};

        steps.source = HU_STEPS_NONE;
        steps.what = HU_STR("");
        steps.confidence = 0;
        if (capture_window(trace, &whole.start_ns, &whole.end_ns) && !add_step(arena, &list, &whole))
            return hu_fail_memory(err);
    }
    if (rc == 0 && list.n)
        rc = give_device_work(trace, names, &list, scratch, &before_ns, &steps, err);
    if (rc == 0 && steps.source != HU_STEPS_NONE)
        rc = judge(trace, names, &list, scratch, err);
    for (size_t i = 0; rc == 0 && between_ns > 0 && i < list.n; i++)
        if (i + 1 == list.n || list.at[i + 1].is_resumed)
            leave_open(&list.at[i], between_ns);
    if (rc == 0 && list.n)
        rc = hu_cut_judge(trace, names, list.at, list.n, scratch, &is_device, err);
    if (rc == 0 && steps.source == HU_STEPS_NONE && !is_device && list.n)
        list.at[0].is_incomplete = false; /* the piece is what there is */
    if (rc == 0)
        hu_steady_measure(list.at, list.n, before_ns);
    if (rc == 0 && steps.is_engine && list.n == 1)
        take_pass(&list.at[0]);
    if (rc == 0 && list.n && (steps.is_engine || (steps.source == HU_STEPS_PROFILER && !is_device)))
        leave_first(&list);
    if (rc == 0 && range && range->is_limited)
        rc = keep_range(&list, range, err);
    if (rc == 0)
        rc = describe(&list, scratch, &steps, err);
    steps.is_selected = range && range->is_limited;
    steps.is_cut = is_device && is_cut(&list, steps.is_selected);
    if (rc == 0)
        *out = steps;
    return rc;
}

const char *hu_steps_cut_words(const hu_steps *steps)
{
    if (steps->is_selected)
        return "the selected steps";
    return steps->n && steps->at[0].is_warm_up && !steps->at[0].is_incomplete ? "any step but the warm-up" : "any step";
}

bool hu_steps_has_name(const hu_steps *steps, hu_str name)
{
    hu_str  stem;
    int64_t number;

    return steps && steps->source == HU_STEPS_ANNOTATION && steps->what.n && hu_names_is_iteration(name, &stem, &number) &&
           number >= 0 && hu_str_equal(stem, steps->what);
}

bool hu_steps_is_mark(const hu_steps *steps, hu_str name)
{
    return hu_steps_has_name(steps, name) ||
           (steps && steps->source == HU_STEPS_ANNOTATION && steps->what.n && hu_str_equal(name, steps->what));
}

const char *hu_step_source_name(hu_step_source source)
{
    static const char *const names[] = {"ProfilerStep", "annotation", "structure", "none"};

    return names[source];
}
