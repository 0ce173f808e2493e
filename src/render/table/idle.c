/* SPDX-License-Identifier: Apache-2.0
 * idle.c - why the device had nothing to do: causes, longest gaps, streams, times of low use. */
#include "render/table/cells.h"

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

static const hu_column cause_columns[] = {
    {"time_ns", "time", HU_CELL_NS, 10, NULL, cause_ns},
    {"time_pct", "%", HU_CELL_PERCENT, 6, NULL, cause_pct},
    {"cause", NULL, HU_CELL_TEXT, 0, NULL, cause_key},
    {"words", "cause", HU_CELL_TEXT, 0, NULL, cause_words},
};

static const hu_table causes = {"causes",      "Causes of idle time",   "the GPU was never idle",
                                cause_columns, HU_COUNT(cause_columns), cause_rows};

/* gaps */

#define GAP d->idle.longest

static size_t gap_rows(const hu_rank *rank)
{
    return rank->digest->idle.n_longest;
}

HU_MOMENT(gap_start, GAP, r->start_ns)
HU_NUMBER_OF(gap_at, GAP, r->start_ns - d->idle.first_ns)
HU_NUMBER_OF(gap_length, GAP, r->dur_ns)
HU_NUMBER_OF(gap_step, GAP, r->step >= 0 ? (double)r->step : HU_ABSENT)
HU_TEXT_OF(gap_cause, GAP, hu_str_of(hu_idle_cause_key(r->cause)))
HU_NUMBER_OF(gap_cause_pct, GAP, hu_share_pct(r->cause_ns, (double)r->dur_ns))
HU_TEXT_OF(gap_host, GAP, r->host)
HU_NUMBER_OF(gap_host_ns, GAP, r->host_ns)
HU_TEXT_OF(gap_before, GAP, r->before)
HU_TEXT_OF(gap_after, GAP, r->after)

static const hu_column gap_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, gap_start},
    {NULL, "at", HU_CELL_NS, 9, NULL, gap_at},
    {"duration_ns", "length", HU_CELL_NS, 9, NULL, gap_length},
    {"step", "step", HU_CELL_COUNT, 5, NULL, gap_step},
    {"cause", "cause", HU_CELL_TEXT, 15, NULL, gap_cause},
    {"cause_pct", "%", HU_CELL_PERCENT, 5, NULL, gap_cause_pct},
    {"host_ns", NULL, HU_CELL_NS, 0, NULL, gap_host_ns},
    {"before", "after this work", HU_CELL_TEXT, 24, NULL, gap_before, true},
    {"after", NULL, HU_CELL_TEXT, 0, NULL, gap_after},
    {"host", "longest host activity", HU_CELL_TEXT, 0, NULL, gap_host},
};

static const hu_table gaps = {"gaps",      "The longest gaps",    "the GPU was never idle",
                              gap_columns, HU_COUNT(gap_columns), gap_rows};

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

static const hu_column stream_columns[] = {
    {"device", "device", HU_CELL_COUNT, 6, NULL, stream_device},
    {"stream", "stream", HU_CELL_COUNT, 6, NULL, stream_stream},
    {"work", "work", HU_CELL_COUNT, 7, NULL, stream_work},
    {"gaps", NULL, HU_CELL_COUNT, 0, NULL, stream_gaps},
    {"busy_ns", "busy", HU_CELL_NS, 9, NULL, stream_busy},
    {"idle_ns", "idle", HU_CELL_NS, 9, NULL, stream_idle},
    {"host_wait_ns", "host wait", HU_CELL_NS, 9, NULL, stream_host},
    {"host_wait_pct", "%", HU_CELL_PERCENT, 5, NULL, stream_host_pct},
    {"kernel_wait_ns", "kern wait", HU_CELL_NS, 9, NULL, stream_kernel},
    {"other_ns", "other", HU_CELL_NS, 9, NULL, stream_other},
    {"host_waits", NULL, HU_CELL_COUNT, 0, NULL, stream_hosts},
    {"kernel_waits", NULL, HU_CELL_COUNT, 0, NULL, stream_kernels},
    {"others", NULL, HU_CELL_COUNT, 0, NULL, stream_others},
};

static const hu_table streams = {"streams",      "Gaps of each stream",    "no streams were recorded",
                                 stream_columns, HU_COUNT(stream_columns), stream_rows};

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

static const hu_column window_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, window_start},
    {NULL, "begins at", HU_CELL_NS, 10, NULL, window_after},
    {"duration_ns", "length", HU_CELL_NS, 10, NULL, window_length},
    {"busy_pct", "busy%", HU_CELL_PERCENT, 6, NULL, window_busy},
};

static const hu_table windows = {
    "windows",  "Windows with the GPU busy for less than half", "none", window_columns, HU_COUNT(window_columns),
    window_rows};

HU_FACT(idle, d->idle.idle_ns)
HU_FACT(gap_count, d->idle.gaps)
HU_FACT(window_ns, d->idle.window_ns)

static const hu_column facts[] = {
    {"idle_ns", "time with no work on any stream", HU_CELL_NS, 0, NULL, idle},
    {"gap_count", "gaps", HU_CELL_COUNT, 0, NULL, gap_count},
    {"window_ns", "length of a window, for low use", HU_CELL_NS, 0, NULL, window_ns},
};

static const hu_table *const tables[] = {&gaps, &causes, &streams, &windows};

/* clang-format off */
const hu_view hu_view_idle = {
    .word = "idle", .key = "idle", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = hu_has_device, .nothing = "no GPU operations recorded",
    .about = "why the GPU was idle: causes, longest gaps, streams, low use",
};
/* clang-format on */
