/* SPDX-License-Identifier: Apache-2.0
 * idle.c - gaps of each stream by HTA's rule, and gaps of the device with what the host did in them.
 *
 * Source of the stream's split: HolisticTraceAnalysis, "idle time breakdown".  A gap is
 *
 *     host wait     when the next work was launched after the last had ended,
 *     kernel wait   else, when it is shorter than 30 µs (what a device needs from one kernel to the next),
 *     other         else: it waited for an event of another stream, for memory, or its launch is not known.
 *
 * HTA counts the time from the end of the piece before, which is negative where pieces of a stream overlap, and adds that
 * up; here a gap begins when all work before it has ended.  Times are exact, HTA's are whole microseconds.
 *
 * A gap of the device is a time in which no stream had work.  What ended it was launched by some thread: if the launch
 * came before the gap the device itself waited; else the thread was late, and its innermost slices between the beginning
 * of the gap and the launch tell what it did.  From the launch to the start is latency of the launch.
 *
 * Before its first work a device waits too, from where the capture begins.  That wait is a gap like the others, but lies
 * outside of the span, so that it is listed and no part of the idle time.
 *
 * Low utilisation: the span in 30 equal pieces, those busy for less than half, neighbours joined (as the rule gpu_time_util
 * of `nsys analyze`, which adds up streams instead of uniting them).
 */
#include "analyze/idle.h"

#include <stdlib.h>

#include "analyze/join.h"
#include "analyze/xla_threads.h"
#include "base/sort.h"

static const double LOW_UTILISATION = 0.5;

/* streams */

static void add_stream_gap(const hu_ask *ask, hu_idle_stream *s, uint32_t next, int64_t end_ns)
{
    const int64_t  gap = ask->s.start_ns[next] - end_ns;
    const uint32_t launch = hu_trace_launch_of(ask->trace, next);

    s->gaps++;
    s->idle_ns += gap;
    if (launch != HU_NONE && ask->s.start_ns[launch] > end_ns) {
        s->host_wait_ns += gap;
        s->host_waits++;
    } else if (launch != HU_NONE && gap < HU_IDLE_KERNEL_WAIT_NS) {
        s->kernel_wait_ns += gap;
        s->kernel_waits++;
    } else {
        s->other_ns += gap;
        s->others++;
    }
}

static bool measure_stream(const hu_ask *ask, const hu_track *t, hu_idle_stream *out)
{
    int64_t end_ns = 0, first_ns = 0;

    *out = (hu_idle_stream){.device = t->device, .stream = t->stream};
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_DEVICE) || !hu_ask_has(ask, i))
            continue;
        if (out->work == 0)
            first_ns = end_ns = ask->s.start_ns[i];
        out->work++;
        if (ask->s.start_ns[i] > end_ns)
            add_stream_gap(ask, out, i, end_ns);
        end_ns = hu_ask_end(ask, i) > end_ns ? hu_ask_end(ask, i) : end_ns;
    }
    out->busy_ns = end_ns - first_ns - out->idle_ns;
    return out->work > 0;
}

static int compare_streams(const void *left, const void *right)
{
    const hu_idle_stream *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int measure_streams(const hu_ask *ask, hu_idle *out, hu_error *err)
{
    HU_VEC(hu_idle_stream) list = {0};

    for (size_t t = 0; t < ask->n_tracks; t++) {
        hu_idle_stream s;

        if (ask->tracks[t].type == HU_TRACK_STREAM && measure_stream(ask, &ask->tracks[t], &s) &&
            !hu_vec_push(ask->arena, &list, s))
            return hu_fail_memory(err);
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, compare_streams);
    out->streams = list.at;
    out->n_streams = list.n;
    return 0;
}

/* gaps of the device */

enum { NAMES = 64 };

/* There are as many as there are kernels, so this is small: causes of all gaps are one sum, and only the longest have
   names. */
typedef struct {
    int64_t  start_ns;
    uint32_t after;  /* the work that ends it */
    uint32_t launch; /* of that work, if it came after the gap began: what is before is the host's; else HU_NONE */
    uint32_t detail; /* of the longest ones, a row of work.details; HU_NONE */
} gap;

/* What is said of one of the longest. */
typedef struct {
    uint32_t before; /* the work before it; HU_NONE */
    int64_t  cause_ns[HU_IDLE_CAUSE_COUNT];
    uint32_t host; /* name; 0 none */
    int64_t  host_ns;
} detail;

typedef struct {
    const hu_ask *ask;
    gap          *at; /* in time */
    size_t        n, cap;
    bool          has_lead; /* the first of them is the wait for the first work */
    uint32_t     *by_track; /* gap numbers by launching track, then time */
    hu_intervals  others;   /* XLA's other threads work, while one is walked */
    int64_t       by_cause[HU_IDLE_CAUSE_COUNT];
    detail        details[HU_IDLE_GAPS];
    size_t        n_details;
} work;

static int64_t gap_end(const hu_ask *ask, const gap *g)
{
    return ask->s.start_ns[g->after];
}

/* Until when the host was late. */
static int64_t late_end(const hu_ask *ask, const gap *g)
{
    const int64_t end_ns = gap_end(ask, g);

    if (g->launch == HU_NONE)
        return g->start_ns;
    return ask->s.start_ns[g->launch] < end_ns ? ask->s.start_ns[g->launch] : end_ns;
}

static void add_cause(work *w, const gap *g, hu_idle_cause cause, int64_t ns)
{
    if (g != w->at || !w->has_lead)
        w->by_cause[cause] += ns;
    if (g->detail != HU_NONE)
        w->details[g->detail].cause_ns[cause] += ns;
}

/* Whether the thread that launched what ends the gap was late. */
static gap gap_before(const hu_ask *ask, uint32_t after, int64_t start_ns)
{
    const uint32_t launch = hu_trace_launch_of(ask->trace, after);
    const bool     is_late = launch != HU_NONE && ask->s.start_ns[launch] > start_ns;

    return (gap){.start_ns = start_ns, .after = after, .launch = is_late ? launch : HU_NONE, .detail = HU_NONE};
}

/* What is known of a gap without a look at what the host did. */
static void add_launch(work *w, const gap *g)
{
    const hu_ask *ask = w->ask;

    if (g->launch != HU_NONE)
        add_cause(w, g, HU_IDLE_LAUNCH, gap_end(ask, g) - late_end(ask, g));
    else
        add_cause(w, g, hu_trace_launch_of(ask->trace, g->after) == HU_NONE ? HU_IDLE_UNKNOWN : HU_IDLE_DEVICE,
                  gap_end(ask, g) - g->start_ns);
}

/* From the first thing that a thread did to the first work that was launched in time to be seen. */
static bool find_lead(work *w, uint32_t first)
{
    const hu_ask *ask = w->ask;
    int64_t       start_ns = ask->s.start_ns[first];

    for (uint32_t i = 0; i < ask->s.n; i++)
        if (hu_kind_in(ask->s.kind[i], HU_KINDS_HOST) && ask->s.start_ns[i] < start_ns && hu_ask_has(ask, i))
            start_ns = ask->s.start_ns[i];
    if (start_ns == ask->s.start_ns[first])
        return true;
    w->has_lead = true;
    return hu_vec_push(ask->scratch, w, gap_before(ask, first, start_ns));
}

static bool find_gaps(work *w)
{
    const hu_ask *ask = w->ask;
    int64_t       end_ns = 0;
    uint32_t      last = HU_NONE;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];

        if (!hu_ask_has(ask, i))
            continue;
        if (last == HU_NONE && !find_lead(w, i))
            return false;
        if (last != HU_NONE && ask->s.start_ns[i] > end_ns && !hu_vec_push(ask->scratch, w, gap_before(ask, i, end_ns)))
            return false;
        if (last == HU_NONE || hu_ask_end(ask, i) > end_ns) {
            end_ns = hu_ask_end(ask, i);
            last = i;
        }
    }
    return true;
}

static hu_idle_cause cause_of(const hu_ask *ask, uint32_t slice)
{
    bool waits = false;

    for (uint32_t at = slice; at != HU_NONE; at = ask->s.parent[at]) {
        const uint8_t flags = ask->names[ask->s.name[at]];

        waits |= hu_ask_waits(ask, at) != HU_WAITS_NOT;
        if (flags & HU_NAME_DATA_LOADER)
            return HU_IDLE_DATA_LOADER;
        if (flags & HU_NAME_GC)
            return HU_IDLE_GC;
        if (flags & HU_NAME_SYNC)
            return HU_IDLE_SYNC;
    }
    if (hu_kind_in(ask->s.kind[slice], HU_KINDS_CALL)) {
        const uint8_t flags = ask->names[ask->s.name[slice]];

        if (flags & HU_NAME_ALLOC)
            return HU_IDLE_ALLOC;
        if (hu_str_has(hu_ask_name(ask, slice), HU_STR("emcpy")))
            return HU_IDLE_COPY_CALL;
        return flags & HU_NAME_LAUNCH ? HU_IDLE_LAUNCH_CALL : HU_IDLE_OTHER_CALL;
    }
    if (ask->s.kind[slice] == HU_KIND_PYTHON)
        return waits ? HU_IDLE_WAIT : HU_IDLE_PYTHON;
    if (ask->names[ask->s.name[slice]] & HU_NAME_COMM || ask->s.kind[slice] == HU_KIND_MPI)
        return HU_IDLE_COMM;
    if (ask->s.kind[slice] == HU_KIND_OS_CALL)
        return HU_IDLE_SYSTEM;
    return HU_IDLE_OPERATOR;
}

/* Time by name inside the gap that is being looked at; names beyond NAMES only count for their cause. */
typedef struct {
    uint32_t name[NAMES];
    int64_t  ns[NAMES];
    size_t   n;
} by_name;

static void add_name(by_name *list, uint32_t name, int64_t ns)
{
    size_t i = 0;

    while (i < list->n && list->name[i] != name)
        i++;
    if (i == list->n) {
        if (i == NAMES)
            return;
        list->name[i] = name;
        list->ns[i] = 0;
        list->n++;
    }
    list->ns[i] += ns;
}

static void close_gap(work *w, const gap *g, by_name *names)
{
    detail *d = g->detail == HU_NONE ? NULL : &w->details[g->detail];

    for (size_t i = 0; d && i < names->n; i++) {
        if (names->ns[i] > d->host_ns) {
            d->host_ns = names->ns[i];
            d->host = names->name[i];
        }
    }
    names->n = 0;
}

/* Is nothing told by it: no slice, or the mark of a step? */
static bool is_nothing(const hu_ask *ask, uint32_t slice)
{
    return slice == HU_NONE || hu_ask_is_mark(ask, slice);
}

/* Time of the launching thread in a gap. */
static void add_host(work *w, const gap *g, uint32_t slice, int64_t start, int64_t end)
{
    const int64_t waits = is_nothing(w->ask, slice) ? hu_xla_threads_in(&w->others, start, end) : 0;

    if (!is_nothing(w->ask, slice)) {
        add_cause(w, g, cause_of(w->ask, slice), end - start);
        return;
    }
    add_cause(w, g, HU_IDLE_WAIT, waits);
    add_cause(w, g, HU_IDLE_UNRECORDED, end - start - waits);
}

/* One piece [from, to) of the thread's time in which `slice` was innermost, or none was. */
static void add_piece(work *w, const uint32_t *gaps, size_t n, size_t *at, by_name *names, uint32_t slice, int64_t from,
                      int64_t to)
{
    while (*at < n && late_end(w->ask, &w->at[gaps[*at]]) <= from)
        close_gap(w, &w->at[gaps[(*at)++]], names);
    for (size_t k = *at; k < n && w->at[gaps[k]].start_ns < to; k++) {
        const gap    *g = &w->at[gaps[k]];
        const int64_t late_ns = late_end(w->ask, g);
        const int64_t start = g->start_ns > from ? g->start_ns : from, end = late_ns < to ? late_ns : to;

        if (end > start) {
            add_host(w, g, slice, start, end);
            if (slice != HU_NONE && g->detail != HU_NONE)
                add_name(names, w->ask->s.name[slice], end - start);
        }
        if (late_ns > to)
            break;
        close_gap(w, g, names);
        *at = k + 1;
    }
}

/* Walks a thread with the stack of what is open, as far as there are gaps. */
static void walk_thread(work *w, const hu_track *t, const uint32_t *gaps, size_t n)
{
    const hu_ask *ask = w->ask;
    by_name       names = {.n = 0};
    uint32_t      open = HU_NONE;
    int64_t       now = w->at[gaps[0]].start_ns;
    size_t        at = 0;

    for (uint32_t k = 0; k <= t->count && at < n; k++) {
        const uint32_t next = k < t->count ? ask->order[t->first + k] : HU_NONE;
        const int64_t  until = next != HU_NONE ? ask->s.start_ns[next] : INT64_MAX;

        if (next != HU_NONE && !hu_kind_in(ask->s.kind[next], HU_KINDS_HOST))
            continue;
        while (open != HU_NONE && hu_ask_end(ask, open) <= until) {
            const int64_t end = hu_ask_end(ask, open);

            if (end > now) {
                add_piece(w, gaps, n, &at, &names, open, now, end);
                now = end;
            }
            open = hu_trace_after(ask->trace, open);
        }
        if (until > now) {
            add_piece(w, gaps, n, &at, &names, open, now, until);
            now = until;
        }
        open = next;
    }
}

static uint32_t track_of(const work *w, size_t i)
{
    return w->at[i].launch == HU_NONE ? HU_NONE : w->ask->s.track[w->at[i].launch];
}

static int ask_threads(work *w, hu_error *err)
{
    const hu_ask *ask = w->ask;
    uint32_t     *start = hu_arena_calloc(ask->scratch, ask->n_tracks + 2, sizeof *start);

    w->by_track = hu_arena_calloc(ask->scratch, w->n + 1, sizeof *w->by_track);
    if (!start || !w->by_track)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n; i++)
        if (track_of(w, i) != HU_NONE)
            start[track_of(w, i) + 1]++;
    for (size_t t = 0; t < ask->n_tracks; t++)
        start[t + 1] += start[t];
    for (size_t i = 0; i < w->n; i++)
        if (track_of(w, i) != HU_NONE)
            w->by_track[start[track_of(w, i)]++] = (uint32_t)i;
    for (size_t t = 0; t < ask->n_tracks; t++) {
        const uint32_t from = t ? start[t - 1] : 0; /* start[] has moved on to the end of each */

        if (start[t] <= from)
            continue;
        if (!hu_xla_threads_find(ask->trace, (uint32_t)t, ask->scratch, &w->others))
            return hu_fail_memory(err);
        walk_thread(w, &ask->tracks[t], w->by_track + from, start[t] - from);
        hu_intervals_drop(ask->scratch, &w->others);
    }
    return 0;
}

static int by_length(const void *left, const void *right)
{
    const hu_idle_gap *a = left, *b = right;

    if (a->dur_ns != b->dur_ns)
        return a->dur_ns > b->dur_ns ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int64_t step_of(const hu_ask *ask, int64_t time_ns)
{
    for (size_t i = 0; ask->steps && i < ask->steps->n; i++)
        if (time_ns >= ask->steps->at[i].host_start_ns && time_ns < ask->steps->at[i].host_end_ns)
            return ask->steps->at[i].number;
    return -1;
}

static hu_idle_gap describe_gap(const hu_ask *ask, const gap *g, const detail *d)
{
    hu_idle_gap out = {.start_ns = g->start_ns,
                       .dur_ns = gap_end(ask, g) - g->start_ns,
                       .step = step_of(ask, hu_select_time(ask->trace, &ask->s, g->after)),
                       .host = hu_trace_text(ask->trace, d->host),
                       .host_ns = d->host_ns,
                       .before = d->before == HU_NONE ? HU_STR("") : hu_ask_name(ask, d->before),
                       .after = hu_ask_name(ask, g->after)};

    for (hu_idle_cause c = 0; c < HU_IDLE_CAUSE_COUNT; c++) {
        if ((double)d->cause_ns[c] > out.cause_ns) {
            out.cause_ns = (double)d->cause_ns[c];
            out.cause = c;
        }
    }
    return out;
}

/* The work before each of the longest: the one that ended last. */
static void find_before(work *w)
{
    const hu_ask *ask = w->ask;
    int64_t       end_ns = 0;
    uint32_t      last = HU_NONE;
    size_t        next = 0;

    for (size_t k = 0; k < ask->n_work && next < w->n; k++) {
        const uint32_t i = ask->work[k];

        if (!hu_ask_has(ask, i))
            continue;
        if (w->at[next].after == i) {
            if (w->at[next].detail != HU_NONE)
                w->details[w->at[next].detail].before = last;
            next++;
        }
        if (last == HU_NONE || hu_ask_end(ask, i) > end_ns) {
            end_ns = hu_ask_end(ask, i);
            last = i;
        }
    }
}

/* Chooses the HU_IDLE_GAPS longest of a list in time order: those of the least length fill what is left. */
static int choose_longest(work *w, hu_error *err)
{
    int64_t *length = hu_arena_grow(w->ask->scratch, NULL, (w->n + 1) * sizeof *length);
    int64_t  least = 0;

    if (!length)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n; i++)
        length[i] = gap_end(w->ask, &w->at[i]) - w->at[i].start_ns;
    if (w->n > HU_IDLE_GAPS)
        least = hu_sort_nth_i64(length, w->n, w->n - HU_IDLE_GAPS);
    hu_arena_drop(w->ask->scratch, length);
    for (int equal = 0; equal < 2; equal++)
        for (size_t i = 0; i < w->n && w->n_details < HU_IDLE_GAPS; i++) {
            const int64_t ns = gap_end(w->ask, &w->at[i]) - w->at[i].start_ns;

            if (equal ? ns == least : ns > least) {
                w->details[w->n_details] = (detail){.before = HU_NONE};
                w->at[i].detail = (uint32_t)w->n_details++;
            }
        }
    find_before(w);
    return 0;
}

static int keep_longest(const work *w, hu_idle *out, hu_error *err)
{
    out->longest = hu_arena_calloc(w->ask->arena, HU_IDLE_GAPS, sizeof *out->longest);
    if (!out->longest)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].detail != HU_NONE)
            out->longest[w->at[i].detail] = describe_gap(w->ask, &w->at[i], &w->details[w->at[i].detail]);
    out->n_longest = w->n_details;
    if (out->n_longest)
        qsort(out->longest, out->n_longest, sizeof *out->longest, by_length);
    return 0;
}

static int measure_device(const hu_ask *ask, hu_idle *out, hu_error *err)
{
    work w = {.ask = ask};
    int  rc;

    if (!find_gaps(&w))
        return hu_fail_memory(err);
    rc = choose_longest(&w, err);
    for (size_t i = 0; i < w.n; i++)
        add_launch(&w, &w.at[i]);
    if (rc == 0 && w.n)
        rc = ask_threads(&w, err);
    if (rc < 0)
        return rc;
    out->gaps = (int64_t)w.n - w.has_lead;
    out->lead_ns = w.has_lead ? gap_end(ask, &w.at[0]) - w.at[0].start_ns : 0;
    for (size_t i = w.has_lead; i < w.n; i++)
        out->idle_ns += gap_end(ask, &w.at[i]) - w.at[i].start_ns;
    memcpy(out->by_cause, w.by_cause, sizeof out->by_cause);
    return keep_longest(&w, out, err);
}

/* low utilisation */

static int find_windows(const hu_ask *ask, hu_idle *out, hu_error *err)
{
    hu_interval cut[HU_IDLE_WINDOWS];
    int64_t     busy[HU_IDLE_WINDOWS] = {0}, first, span;

    if (ask->busy.n == 0)
        return 0;
    first = ask->busy.at[0].start_ns;
    span = ask->busy.at[ask->busy.n - 1].end_ns - first;
    if (span < HU_IDLE_WINDOWS)
        return 0;
    for (int i = 0; i < HU_IDLE_WINDOWS; i++)
        cut[i] = (hu_interval){first + span / HU_IDLE_WINDOWS * i,
                               i + 1 < HU_IDLE_WINDOWS ? first + span / HU_IDLE_WINDOWS * (i + 1) : first + span};
    hu_intervals_split(&ask->busy, cut, HU_IDLE_WINDOWS, busy);
    out->window_ns = span / HU_IDLE_WINDOWS;
    out->windows = hu_arena_calloc(ask->arena, HU_IDLE_WINDOWS, sizeof *out->windows);
    if (!out->windows)
        return hu_fail_memory(err);
    for (int i = 0; i < HU_IDLE_WINDOWS; i++) {
        const int64_t   length = cut[i].end_ns - cut[i].start_ns;
        hu_idle_window *last = out->n_windows ? &out->windows[out->n_windows - 1] : NULL;

        if ((double)busy[i] >= LOW_UTILISATION * (double)length)
            continue;
        if (last && last->start_ns + last->dur_ns == cut[i].start_ns) {
            last->dur_ns += length;
            last->busy_ns += busy[i];
        } else {
            out->windows[out->n_windows++] = (hu_idle_window){cut[i].start_ns, length, busy[i]};
        }
    }
    return 0;
}

int hu_idle_measure(const hu_ask *ask, hu_idle *out, hu_error *err)
{
    hu_idle result = {0};
    int     rc;

    result.first_ns = ask->n_work ? ask->s.start_ns[ask->work[0]] : 0;
    if ((rc = measure_streams(ask, &result, err)) < 0 || (rc = measure_device(ask, &result, err)) < 0 ||
        (rc = find_windows(ask, &result, err)) < 0)
        return rc;
    *out = result;
    return 0;
}

bool hu_idle_merge(hu_idle *into, const hu_idle *from, hu_arena *arena)
{
    if (!hu_join_chain((void **)&into->streams, &into->n_streams, from->streams, from->n_streams, sizeof *into->streams,
                       arena) ||
        !hu_join_chain((void **)&into->longest, &into->n_longest, from->longest, from->n_longest, sizeof *into->longest,
                       arena) ||
        !hu_join_chain((void **)&into->windows, &into->n_windows, from->windows, from->n_windows, sizeof *into->windows,
                       arena))
        return false;
    qsort(into->longest, into->n_longest, sizeof *into->longest, by_length);
    into->n_longest = into->n_longest < HU_IDLE_GAPS ? into->n_longest : HU_IDLE_GAPS;
    into->idle_ns += from->idle_ns;
    into->gaps += from->gaps;
    into->lead_ns += from->lead_ns;
    for (hu_idle_cause c = 0; c < HU_IDLE_CAUSE_COUNT; c++)
        into->by_cause[c] += from->by_cause[c];
    return true;
}

static const struct {
    const char *key, *words;
} causes[] = {
#define C(id, key, words) [HU_IDLE_##id] = {key, words},
    HU_IDLE_CAUSES(C)
#undef C
};

const char *hu_idle_cause_key(hu_idle_cause cause)
{
    return causes[cause].key;
}

const char *hu_idle_cause_words(hu_idle_cause cause)
{
    return causes[cause].words;
}
