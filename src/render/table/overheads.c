/* SPDX-License-Identifier: Apache-2.0
 * overheads.c - recomputed operators, the garbage collector, the profiler itself. */
#include "render/table/cells.h"

#define AGAIN d->overheads.recomputed

static size_t again_rows(const hu_rank *rank)
{
    return rank->digest->overheads.n_recomputed;
}

HU_NUMBER_OF(again_device, AGAIN, r->device_ns)
HU_NUMBER_OF(again_host, AGAIN, r->host_ns)
HU_NUMBER_OF(again_calls, AGAIN, r->calls)
HU_TEXT_OF(again_name, AGAIN, r->name)

/* clang-format off */
static const hu_column again_columns[] = {
    {"device_ns", "device", HU_CELL_NS, 9, hu_has_device, again_device,
     .help = "Time of the GPU operations that it launched again."},
    {"host_ns", "host", HU_CELL_NS, 9, NULL, again_host,
     .help = "Host time of the second runs."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, again_calls,
     .help = "Number of second runs."},
    {"name", "operator", HU_CELL_TEXT, 0, NULL, again_name,
     .help = "Name of the operator."},
};

static const hu_table recomputed = {
    .key = "recomputed", .title = "Forward operators recomputed in backward",
    .columns = again_columns, .n_columns = HU_COUNT(again_columns), .rows = again_rows,
    .empty = "none",
    .about = "Operators with an autograd sequence number and no forward thread inside a backward node: a checkpoint's "
             "second forward pass.",
};
/* clang-format on */

HU_TEXT(name, overheads, r->name)
HU_NUMBER(total, overheads, r->total_ns)
HU_NUMBER(calls, overheads, r->calls)
HU_ROWS(rows, overheads)

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total,
     .help = "Sum of durations."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, calls,
     .help = "Number of slices."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the slice, as recorded."},
};

static const hu_table profiler = {
    .key = "profiler", .title = "Profiler overhead", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "none was recorded",
    .about = "The profiler's own slices, by name.",
};
/* clang-format on */

HU_FACT(span, d->overheads.span_ns)
HU_FACT(again_count, d->overheads.recompute_calls)
HU_FACT(again_device_ns, d->overheads.recompute_device_ns)
HU_FACT(again_pct, hu_share_pct((double)d->overheads.recompute_device_ns, (double)d->overheads.device_ns))
HU_FACT(again_host_ns, d->overheads.recompute_host_ns)
HU_FACT(gc_known, d->overheads.gc_recorded)
HU_FACT(gc_calls, d->overheads.gc_recorded ? (double)d->overheads.gc_calls : HU_ABSENT)
HU_FACT(gc_ns, d->overheads.gc_recorded ? (double)d->overheads.gc_ns : HU_ABSENT)
HU_FACT(gc_pct,
        d->overheads.gc_recorded ? hu_share_pct((double)d->overheads.gc_ns, (double)d->overheads.span_ns) : HU_ABSENT)
HU_FACT(gc_most, d->overheads.gc_recorded ? (double)d->overheads.gc_most_ns : HU_ABSENT)
HU_FACT(profiler_ns, d->overheads.profiler_ns)
HU_FACT(profiler_pct, hu_share_pct((double)d->overheads.profiler_ns, (double)d->overheads.span_ns))
HU_FACT(profiler_steps, d->overheads.profiler_in_steps_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"span_ns", "capture", HU_CELL_NS, 0, NULL, span,
     .help = "Time from the first start to the last end of anything in the trace."},
    {"recompute_calls", "operators recomputed", HU_CELL_COUNT, 0, NULL, again_count,
     .help = "Forward operators that ran again in backward, outermost ones only."},
    {"recompute_device_ns", "their device time", HU_CELL_NS, 0, NULL, again_device_ns,
     .help = "Time of the GPU operations that they launched."},
    {"recompute_device_pct", "of all GPU time, %", HU_CELL_PERCENT, 0, NULL, again_pct,
     .help = "recompute_device_ns as a share of the time of all GPU operations."},
    {"recompute_host_ns", "their host time", HU_CELL_NS, 0, NULL, again_host_ns,
     .help = "Host time of them."},
    {"gc_recorded", NULL, HU_CELL_BOOL, 0, NULL, gc_known,
     .help = "Whether the trace has Python frames or records of the garbage collector."},
    {"gc_calls", "garbage collections", HU_CELL_COUNT, 0, NULL, gc_calls,
     .help = "Garbage collections; null when the trace could not show them."},
    {"gc_ns", "their time", HU_CELL_NS, 0, NULL, gc_ns,
     .help = "Time in garbage collections, union over threads; null when the trace could not show them."},
    {"gc_pct", "of the capture, %", HU_CELL_PERCENT, 0, NULL, gc_pct,
     .help = "gc_ns as a share of the capture; null when the trace could not show them."},
    {"gc_max_ns", "the longest", HU_CELL_NS, 0, NULL, gc_most,
     .help = "Longest garbage collection; null when the trace could not show them."},
    {"profiler_ns", "profiler overhead", HU_CELL_NS, 0, NULL, profiler_ns,
     .help = "Time in the profiler's own slices (union)."},
    {"profiler_pct", "of the capture, %", HU_CELL_PERCENT, 0, NULL, profiler_pct,
     .help = "profiler_ns as a share of the capture."},
    {"profiler_in_steps_ns", "in counted steps", HU_CELL_NS, 0, NULL, profiler_steps,
     .help = "Time of profiler_ns inside the counted steps."},
};
/* clang-format on */

static const hu_table *const tables[] = {&recomputed, &profiler};

static bool always(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    (void)d;
    return true;
}

/* clang-format off */
const hu_view hu_view_overheads = {
    .word = "overheads", .key = "overheads", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = always,
    .about = "recomputed operators, garbage collector, the profiler itself",
};
/* clang-format on */
