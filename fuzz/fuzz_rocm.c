/* SPDX-License-Identifier: Apache-2.0
 * fuzz_rocm.c - any bytes as a database, JSON or table of ROCm's profilers: no crash, no hang, no leak, and no slice that was not
 * counted as an event. */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/format.h"
#include "ingest/open.h"
#include "ingest/rocprof_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

extern const hu_format hu_format_rocpd, hu_format_rocprof_csv, hu_format_rocprof_json;

static void read_name(hu_str name)
{
    hu_str prefix;

    if (hu_rocprof_set_file(name, &prefix) != HU_ROCPROF_NONE && prefix.n > name.n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_str    bytes = {n ? (const char *)data : "", n};
    const hu_limits limits = {
        .events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {limits, false, NULL};
    const hu_format       *format = hu_format_find(bytes);
    hu_error               err = {0};
    hu_input              *in;
    hu_builder            *b;
    hu_trace              *trace;

    read_name(bytes);
    if (format != &hu_format_rocpd && format != &hu_format_rocprof_csv && format != &hu_format_rocprof_json)
        return 0;
    in = hu_input_open_memory(bytes, "fuzz", &options, &err);
    b = in ? hu_open_input(in, &options, &err) : NULL;
    if (b && (int64_t)hu_builder_slice_count(b) > hu_builder_quality(b)->events) {
        fprintf(stderr, "fuzz_rocm: %zu slices of %lld events\n", hu_builder_slice_count(b),
                (long long)hu_builder_quality(b)->events);
        abort();
    }
    trace = b ? hu_builder_freeze(b, &err) : NULL;
    if (trace)
        hu_trace_free(trace);
    return 0;
}
