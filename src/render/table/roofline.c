/* SPDX-License-Identifier: Apache-2.0
 * roofline.c - operators against the peaks of their device, and what no model explains. */
#include "render/table/cells.h"

static bool has_peaks(const hu_rank *rank)
{
    return rank->digest->roofline.device.n > 0;
}

HU_TEXT(op, roofline, r->op)
HU_PLAIN_TEXT_OF(shapes, d->roofline.at, r->shapes)
HU_PLAIN_TEXT_OF(types, d->roofline.at, r->types)
HU_TEXT(kind, roofline, hu_str_of(hu_work_kind_name(r->kind)))
HU_TEXT(dtype, roofline, hu_str_of(hu_dtype_name(r->dtype)))
HU_TEXT(bound, roofline, hu_str_of(hu_bound_name(r->bound)))
HU_TEXT(peak, roofline, r->peak)
HU_NUMBER(peak_tflops, roofline, r->peak_tflops > 0 ? r->peak_tflops : HU_ABSENT)
HU_NUMBER(calls, roofline, r->calls)
HU_NUMBER(kernels, roofline, r->kernels)
HU_NUMBER(kernel_ns, roofline, r->kernel_ns)
HU_NUMBER(kernel_pct, roofline, hu_share_pct((double)r->kernel_ns, (double)d->roofline.kernel_ns))
HU_NUMBER(gflop, roofline, hu_mean(r->flops / 1e9, (double)r->calls))
HU_NUMBER(bytes, roofline, hu_mean(r->bytes, (double)r->calls))
HU_NUMBER(intensity, roofline, hu_mean(r->flops, r->bytes))
HU_NUMBER(tflops, roofline, hu_mean(r->flops / 1e3, (double)r->kernel_ns))
HU_NUMBER(gbps, roofline, hu_mean(r->bytes, (double)r->kernel_ns))
HU_NUMBER(roofline_pct, roofline, hu_share_pct(r->roofline_ns, (double)r->kernel_ns))
HU_ROWS(rows, roofline)

/* clang-format off */
static const hu_column columns[] = {
    {"kernel_ns", "kernels", HU_CELL_NS, 8, NULL, kernel_ns,
     .help = "Sum of the durations of its kernels."},
    {"kernel_pct", "%", HU_CELL_PERCENT, 5, NULL, kernel_pct,
     .help = "kernel_ns as a share of all compute kernels."},
    {"calls", "calls", HU_CELL_COUNT, 5, NULL, calls,
     .help = "Calls that launched kernels."},
    {"kernels", NULL, HU_CELL_COUNT, 0, NULL, kernels,
     .help = "Number of kernels that they launched."},
    {"gflop_per_call", NULL, HU_CELL_NUMBER, 0, NULL, gflop, .unit = "GFLOP",
     .help = "FLOP of one call by the operator's model; null when only its bytes are known."},
    {"bytes_per_call", NULL, HU_CELL_BYTES, 0, NULL, bytes,
     .help = "Bytes that one call must move at least: each input and output once."},
    {"flop_per_byte", "FLOP/B", HU_CELL_NUMBER, 7, NULL, intensity, .is_wide = true, .unit = "FLOP/byte",
     .help = "Arithmetic intensity: FLOP over bytes; null when only its bytes are known."},
    {"tflops", "TFLOP/s", HU_CELL_NUMBER, 7, NULL, tflops, .unit = "TFLOP/s",
     .help = "FLOP over kernel time; null when only its bytes are known."},
    {"gbps", "GB/s", HU_CELL_NUMBER, 6, NULL, gbps, .unit = "GB/s",
     .help = "Bytes over kernel time."},
    {"roofline_pct", "roof%", HU_CELL_PERCENT, 5, has_peaks, roofline_pct, .source = "Roofline (Williams et al. 2009)",
     .help = "Least time that the peaks allow over kernel time; null without peaks."},
    {"bound", "bound", HU_CELL_TEXT, 9, has_peaks, bound,
     .help = "What limits it by the roofline: compute, bandwidth or unknown."},
    {"peak", NULL, HU_CELL_TEXT, 0, NULL, peak,
     .help = "Peak that its FLOP rate is compared with; empty when unknown."},
    {"peak_tflops", NULL, HU_CELL_NUMBER, 0, NULL, peak_tflops, .unit = "TFLOP/s",
     .help = "That peak; null when unknown."},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, kind,
     .help = "Kind of the model: what the operator computes."},
    {"dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype,
     .help = "Type that the unit computes in."},
    {"shapes", "shapes", HU_CELL_TEXT, 32, NULL, shapes, .is_wide = true,
     .help = "Input shapes, as recorded."},
    {"types", NULL, HU_CELL_TEXT, 0, NULL, types,
     .help = "Input types, as recorded."},
    {"operator", "operator", HU_CELL_TEXT, 0, NULL, op,
     .help = "Name of the operator."},
};

static const hu_table operators = {
    .key = "operators", .title = "Operators with a model, by shapes",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no shapes of operators that launch kernels: profile(record_shapes=True)",
    .about = "Operators whose FLOPs and bytes follow from their shapes, against the peaks of the device.",
};
/* clang-format on */

/* what no model explains */

#define UNKNOWN d->roofline.unknown

static size_t unknown_rows(const hu_rank *rank)
{
    return rank->digest->roofline.n_unknown;
}

HU_NUMBER_OF(unknown_ns, UNKNOWN, r->kernel_ns)
HU_NUMBER_OF(unknown_pct, UNKNOWN, hu_share_pct((double)r->kernel_ns, (double)d->roofline.kernel_ns))
HU_NUMBER_OF(unknown_kernels, UNKNOWN, r->kernels)
HU_NUMBER_OF(unknown_is_kernel, UNKNOWN, r->is_kernel)
HU_TEXT_OF(unknown_name, UNKNOWN, r->name)

/* clang-format off */
static const hu_column unknown_columns[] = {
    {"kernel_ns", "kernels", HU_CELL_NS, 9, NULL, unknown_ns,
     .help = "Sum of the durations of the kernels."},
    {"kernel_pct", "%", HU_CELL_PERCENT, 5, NULL, unknown_pct,
     .help = "kernel_ns as a share of all compute kernels."},
    {"kernels", "count", HU_CELL_COUNT, 7, NULL, unknown_kernels,
     .help = "Number of kernels."},
    {"is_kernel", NULL, HU_CELL_BOOL, 0, NULL, unknown_is_kernel,
     .help = "Whether the name is that of a kernel that no operator launched."},
    {"name", "operator, or kernel without one", HU_CELL_TEXT, 0, NULL, unknown_name,
     .help = "Name of the operator, or of the kernel."},
};

static const hu_table unknown = {
    .key = "unknown", .title = "Without a model",
    .columns = unknown_columns, .n_columns = HU_COUNT(unknown_columns), .rows = unknown_rows,
    .empty = "nothing",
    .about = "Kernel time that no model explains, by operator, or by kernel when no operator launched it.",
};
/* clang-format on */

static double or_absent(double x)
{
    return x > 0 ? x : HU_ABSENT;
}

HU_FACT_TEXT(device, d->roofline.device)
HU_FACT_TEXT(device_text, d->roofline.device.n ? d->roofline.device : HU_STR("not in the table: no roofline"))
HU_FACT_TEXT(source, d->roofline.source)
HU_FACT(memory_gbps, or_absent(d->roofline.gbps))
HU_FACT(coverage, hu_share_pct((double)d->roofline.modelled_ns, (double)d->roofline.kernel_ns))
HU_FACT(bytes_only, hu_share_pct((double)d->roofline.bytes_only_ns, (double)d->roofline.kernel_ns))
HU_FACT(matrix, hu_share_pct((double)d->roofline.matrix_ns, (double)d->roofline.kernel_ns))
HU_FACT(all_tflop, d->roofline.flops / 1e12)
HU_FACT(all_roofline, hu_share_pct(d->roofline.roofline_ns, (double)d->roofline.roofline_kernel_ns))
HU_FACT(window, d->roofline.window_ns)
HU_FACT(window_tflop, d->roofline.window_model_flops / 1e12)
HU_FACT(mfu, hu_roofline_mfu_pct(&d->roofline))
HU_FACT(hfu, hu_roofline_hfu_pct(&d->roofline))

/* clang-format off */
static const hu_column facts[] = {
    {NULL, "device", HU_CELL_TEXT, 0, NULL, device_text,
     .help = "Device whose peaks are used."},
    {"peaks_of", NULL, HU_CELL_TEXT, 0, NULL, device,
     .help = "Row of the table of peaks; empty when the device is not in it."},
    {"peaks_source", NULL, HU_CELL_TEXT, 0, NULL, source,
     .help = "Where the numbers of that row come from."},
    {"memory_gbps", "its memory, GB/s", HU_CELL_NUMBER, 0, NULL, memory_gbps, .unit = "GB/s",
     .help = "Bandwidth of the device's memory; null when unknown."},
    {"coverage_pct", "kernel time with a model, %", HU_CELL_PERCENT, 0, NULL, coverage,
     .help = "Share of kernel time under an operator whose FLOPs are known."},
    {"bytes_only_pct", "kernel time with only bytes known, %", HU_CELL_PERCENT, 0, NULL, bytes_only,
     .help = "Share of kernel time under an operator of which only the bytes are known."},
    {"matrix_pct", "in matmuls, convolutions, attention, %", HU_CELL_PERCENT, 0, NULL, matrix,
     .help = "Share of kernel time in matmuls, convolutions and attention."},
    {"tflop", "TFLOP executed", HU_CELL_NUMBER, 0, NULL, all_tflop, .unit = "TFLOP",
     .help = "FLOP executed, as far as known."},
    {"roofline_pct", "of the roofline, where modelled, %", HU_CELL_PERCENT, 0, NULL, all_roofline,
     .help = "Least time that the peaks allow over kernel time, where there is a model; null without peaks."},
    {"window_ns", "time base of MFU", HU_CELL_NS, 0, NULL, window,
     .help = "Time that MFU is taken over: the counted steps, or the whole span."},
    {"model_tflop", "model TFLOP in that time", HU_CELL_NUMBER, 0, NULL, window_tflop, .unit = "TFLOP",
     .help = "FLOP of the model in that time, recomputation left out."},
    {"mfu_pct", "MFU, %", HU_CELL_PERCENT, 0, NULL, mfu, .source = "PaLM (Chowdhery et al. 2022)",
     .help = "Model FLOPs utilisation: the time that the model's FLOPs would take at peak, over the window; null "
             "without peaks."},
    {"hfu_pct", "HFU, %", HU_CELL_PERCENT, 0, NULL, hfu, .source = "Korthikanti et al. 2022",
     .help = "Hardware FLOPs utilisation: the same with recomputation; null without peaks."},
};
/* clang-format on */

static const hu_table *const tables[] = {&operators, &unknown};

static bool has(const hu_rank *rank)
{
    return rank->digest->roofline.kernel_ns > 0;
}

/* clang-format off */
const hu_view hu_view_roofline = {
    .word = "roofline", .key = "roofline", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no kernels were recorded",
    .about = "FLOPs and bytes by operator against the device's peaks; MFU",
};
/* clang-format on */
