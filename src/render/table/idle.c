/* SPDX-License-Identifier: Apache-2.0
 * idle.c - why the device had nothing to do: causes, longest gaps, streams, times of low use. */
#include "render/table/cells.h"
#include "render/table/terms.h"

/* causes: rows without time are left out */

static size_t cause_rows(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;
    size_t           n = 0;

    for (hu_idle_cause c = 0; c < HU_IDLE_CAUSE_COUNT; c++)
        n += d->idle.by_cause[c] > 0;
    return n;
}

static hu_idle_cause cause_at(const hu_rank *rank, size_t row)
{
    const hu_digest *d = rank->digest;
    const int64_t   *ns = d->idle.by_cause;

    for (hu_idle_cause c = 0; c < HU_IDLE_CAUSE_COUNT; c++) {
        size_t before = 0;

        for (hu_idle_cause k = 0; k < HU_IDLE_CAUSE_COUNT; k++)
            before += ns[k] > 0 && (ns[k] > ns[c] || (ns[k] == ns[c] && k < c));
        if (ns[c] > 0 && before == row)
            return c;
    }
    return HU_IDLE_UNKNOWN;
}

HU_NUMBER_OF(cause_ns, d->idle.by_cause, d->idle.by_cause[cause_at(rank, row)])
HU_NUMBER_OF(cause_pct, d->idle.by_cause,
             hu_share_pct((double)d->idle.by_cause[cause_at(rank, row)], (double)d->idle.idle_ns))
HU_TEXT_OF(cause_key, d->idle.by_cause, hu_str_of(hu_idle_cause_key(cause_at(rank, row))))
HU_PLAIN_TEXT_OF(cause_words, d->idle.by_cause, hu_str_of(hu_idle_cause_words(cause_at(rank, row))))

/* clang-format off */
static const hu_column cause_columns[] = {
    {"time_ns", "time", HU_CELL_NS, 10, NULL, cause_ns,
     .help = "Idle time with this cause."},
    {"time_pct", "%", HU_CELL_PERCENT, 6, NULL, cause_pct,
     .help = "time_ns as a share of the idle time."},
    {"cause", NULL, HU_CELL_TEXT, 0, NULL, cause_key,
     .help = "Stable name of the cause."},
    {"words", "cause", HU_CELL_TEXT, 0, NULL, cause_words,
     .help = "The cause in words."},
};

static const hu_table causes = {
    .key = "causes", .title = "Causes of idle time",
    .columns = cause_columns, .n_columns = HU_COUNT(cause_columns), .rows = cause_rows,
    .empty = "the GPU was never idle",
    .about = "Idle time of the whole device by what the host or device did meanwhile; causes without time are left out.",
};
/* clang-format on */

/* gaps */

#define GAP d->idle.longest

static size_t gap_rows(const hu_rank *rank)
{
    return rank->digest->idle.n_longest;
}

HU_MOMENT(gap_start, GAP, r->start_ns)
HU_NUMBER_OF(gap_at, GAP, r->before.n ? (double)(r->start_ns - d->idle.first_ns) : HU_ABSENT)
HU_NUMBER_OF(gap_length, GAP, r->dur_ns)
HU_NUMBER_OF(gap_step, GAP, r->step >= 0 ? (double)r->step : HU_ABSENT)
HU_TEXT_OF(gap_cause, GAP, hu_str_of(hu_idle_cause_key(r->cause)))
HU_NUMBER_OF(gap_cause_pct, GAP, hu_share_pct(r->cause_ns, (double)r->dur_ns))
HU_TEXT_OF(gap_host, GAP, r->host)
HU_NUMBER_OF(gap_host_ns, GAP, r->host_ns)
/* JSON and CSV: "" where nothing ran before; what people read says so. */
HU_TEXT_OF(gap_before, GAP, r->before)
HU_PLAIN_TEXT_OF(gap_behind, GAP, r->before.n ? r->before : HU_STR("(before the first one)"))
HU_TEXT_OF(gap_after, GAP, r->after)

/* clang-format off */
static const hu_column gap_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, gap_start,
     .help = "Start of the gap, on the clock of the trace."},
    {NULL, "at", HU_CELL_NS, 9, NULL, gap_at,
     .help = "Start of the gap, from the first start of GPU operations."},
    {"duration_ns", "length", HU_CELL_NS, 9, NULL, gap_length,
     .help = "Length of the gap."},
    {"step", "step", HU_CELL_COUNT, 5, NULL, gap_step,
     .help = "Number of the step that launched the work after the gap; null when no step did."},
    {"cause", "cause", HU_CELL_TEXT, 15, NULL, gap_cause, .terms = hu_terms_idle_causes,
     .help = "Cause with the largest part of the gap."},
    {"cause_pct", "%", HU_CELL_PERCENT, 5, NULL, gap_cause_pct,
     .help = "Share of the gap with that cause."},
    {"host_ns", NULL, HU_CELL_NS, 0, NULL, gap_host_ns,
     .help = "How long the host did what the column host names."},
    {"before", NULL, HU_CELL_TEXT, 0, NULL, gap_before,
     .help = "GPU operation that ended last before the gap; empty for the wait before the first operation."},
    {NULL, "after this operation", HU_CELL_TEXT, 24, NULL, gap_behind, .is_wide = true,
     .help = "GPU operation that ended last before the gap."},
    {"after", NULL, HU_CELL_TEXT, 0, NULL, gap_after,
     .help = "GPU operation that ended the gap."},
    {"host", "longest host activity", HU_CELL_TEXT, 0, NULL, gap_host,
     .help = "Innermost slice that the launching thread spent most of the gap in; empty when nothing was recorded."},
};

static const hu_table gaps = {
    .key = "gaps", .title = "Longest gaps", .columns = gap_columns, .n_columns = HU_COUNT(gap_columns), .rows = gap_rows,
    .empty = "the GPU was never idle",
    .about = "The longest times in which no stream had work, at most 50, and the wait before the first operation.",
};
/* clang-format on */

/* streams */

#define STREAM d->idle.streams

static size_t stream_rows(const hu_rank *rank)
{
    return rank->digest->idle.n_streams;
}

HU_NUMBER_OF(stream_device, STREAM, r->device >= 0 ? (double)r->device : HU_ABSENT)
HU_NUMBER_OF(stream_stream, STREAM, r->stream >= 0 ? (double)r->stream : HU_ABSENT)
HU_NUMBER_OF(stream_work, STREAM, r->work)
HU_NUMBER_OF(stream_gaps, STREAM, r->gaps)
HU_NUMBER_OF(stream_busy, STREAM, r->busy_ns)
HU_NUMBER_OF(stream_idle, STREAM, r->idle_ns)
HU_NUMBER_OF(stream_host, STREAM, r->host_wait_ns)
HU_NUMBER_OF(stream_host_pct, STREAM, hu_share_pct((double)r->host_wait_ns, (double)r->idle_ns))
HU_NUMBER_OF(stream_kernel, STREAM, r->kernel_wait_ns)
HU_NUMBER_OF(stream_other, STREAM, r->other_ns)
HU_NUMBER_OF(stream_hosts, STREAM, r->host_waits)
HU_NUMBER_OF(stream_kernels, STREAM, r->kernel_waits)
HU_NUMBER_OF(stream_others, STREAM, r->others)

/* clang-format off */
static const hu_column stream_columns[] = {
    {"device", "device", HU_CELL_COUNT, 6, NULL, stream_device,
     .help = "Number of the device; null when unknown."},
    {"stream", "stream", HU_CELL_COUNT, 6, NULL, stream_stream,
     .help = "Number of the stream; null when unknown."},
    {"work", "ops", HU_CELL_COUNT, 7, NULL, stream_work,
     .help = "GPU operations of the stream."},
    {"gaps", NULL, HU_CELL_COUNT, 0, NULL, stream_gaps,
     .help = "Gaps between them."},
    {"busy_ns", "busy", HU_CELL_NS, 9, NULL, stream_busy,
     .help = "Time in which the stream had work."},
    {"idle_ns", "idle", HU_CELL_NS, 9, NULL, stream_idle,
     .help = "Time without work between its first start and last end: host wait + kernel wait + other."},
    {"host_wait_ns", "host wait", HU_CELL_NS, 9, NULL, stream_host, .source = "HTA: get_idle_time_breakdown",
     .help = "Time of gaps whose next operation was launched only after the last one had ended."},
    {"host_wait_pct", "%", HU_CELL_PERCENT, 5, NULL, stream_host_pct,
     .help = "host_wait_ns as a share of idle_ns."},
    {"kernel_wait_ns", "kern wait", HU_CELL_NS, 9, NULL, stream_kernel, .source = "HTA: get_idle_time_breakdown",
     .help = "Time of gaps below 30 µs whose next operation was launched in time."},
    {"other_ns", "other", HU_CELL_NS, 9, NULL, stream_other, .source = "HTA: get_idle_time_breakdown",
     .help = "Time of longer gaps whose next operation was launched in time, or whose launch is unknown."},
    {"host_waits", NULL, HU_CELL_COUNT, 0, NULL, stream_hosts,
     .help = "Number of gaps in host_wait_ns."},
    {"kernel_waits", NULL, HU_CELL_COUNT, 0, NULL, stream_kernels,
     .help = "Number of gaps in kernel_wait_ns."},
    {"others", NULL, HU_CELL_COUNT, 0, NULL, stream_others,
     .help = "Number of gaps in other_ns."},
};

static const hu_table streams = {
    .key = "streams", .title = "Gaps of each stream",
    .columns = stream_columns, .n_columns = HU_COUNT(stream_columns), .rows = stream_rows,
    .empty = "no streams were recorded",
    .about = "Gaps between the GPU operations of each stream, split by what held up the next one.",
};
/* clang-format on */

/* low utilisation */

#define WINDOW d->idle.windows

static size_t window_rows(const hu_rank *rank)
{
    return rank->digest->idle.n_windows;
}

HU_MOMENT(window_start, WINDOW, r->start_ns)
HU_NUMBER_OF(window_after, WINDOW, r->start_ns - d->idle.first_ns)
HU_NUMBER_OF(window_length, WINDOW, r->dur_ns)
HU_NUMBER_OF(window_busy, WINDOW, hu_share_pct((double)r->busy_ns, (double)r->dur_ns))

/* clang-format off */
static const hu_column window_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, window_start,
     .help = "Start, on the clock of the trace."},
    {NULL, "at", HU_CELL_NS, 10, NULL, window_after,
     .help = "Start, from the first start of GPU operations."},
    {"duration_ns", "length", HU_CELL_NS, 10, NULL, window_length,
     .help = "Length."},
    {"busy_pct", "busy%", HU_CELL_PERCENT, 6, NULL, window_busy, .source = "nsys analyze: gpu_time_util",
     .help = "Share of this time in which any stream had work."},
};

static const hu_table windows = {
    .key = "windows", .title = "Windows with the GPU busy for less than half",
    .columns = window_columns, .n_columns = HU_COUNT(window_columns), .rows = window_rows,
    .empty = "none",
    .about = "Thirtieths of the span in which the device was busy for less than half, neighbours joined.",
};
/* clang-format on */

HU_FACT(idle, d->idle.idle_ns)
HU_FACT(lead, d->idle.lead_ns)
HU_FACT(gap_count, d->idle.gaps)
HU_FACT(window_ns, d->idle.window_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"idle_ns", "time with no work on any stream", HU_CELL_NS, 0, NULL, idle,
     .help = "Time in which no stream had work."},
    {"lead_ns", "wait before the first GPU operation", HU_CELL_NS, 0, NULL, lead,
     .help = "Time from the beginning of the capture to the first GPU operation; not a part of idle_ns."},
    {"gap_count", "gaps", HU_CELL_COUNT, 0, NULL, gap_count,
     .help = "Number of gaps that this time is in."},
    {"window_ns", "length of a window, for low use", HU_CELL_NS, 0, NULL, window_ns,
     .help = "One thirtieth of the span, the slot in which low use is looked for."},
};
/* clang-format on */

static const hu_table *const tables[] = {&gaps, &causes, &streams, &windows};

/* clang-format off */
const hu_view hu_view_idle = {
    .word = "idle", .key = "idle", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = hu_has_device, .nothing = "no GPU operations recorded",
    .about = "why the GPU was idle: causes, longest gaps, streams, low use",
};
/* clang-format on */
