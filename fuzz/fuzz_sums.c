/* SPDX-License-Identifier: Apache-2.0
 * fuzz_sums.c - any bytes as what `nsys stats` printed, to the last answer: no crash, no hang, no leak.
 *
 * Two properties: parts of the GPU's work add up to its lists, and what is missing is a share.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/nsys_stats.h"
#include "render/nsys_sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_sums: %s\n", what);
    abort();
}

static void check(const hu_nsys_answer *a)
{
    const double kernels = a->compute.ns + a->comm.ns, copies = a->memcpys.ns + a->memsets.ns;

    if (fabs(kernels - a->kernels.total) > 1e-6 * (1 + a->kernels.total) ||
        fabs(copies - a->copies.total) > 1e-6 * (1 + a->copies.total))
        fail("parts of the GPU's work do not add up");
    if (a->kernels.missing < 0 || a->kernels.missing > 2 || a->calls.missing < 0 || a->calls.missing > 2)
        fail("what is missing is no share");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_limits limits = {
        .events = 500, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {limits, false, NULL};
    hu_error               err = {0};
    hu_arena              *arena = hu_arena_new();
    hu_input              *in = hu_input_open_memory((hu_str){(const char *)data, n}, "fuzz", &options, &err);
    hu_nsys_sums           sums = {.sqlite = HU_STR(""), .report = HU_STR("")};
    hu_nsys_answer         answer;

    if (in && hu_nsys_stats_probe(hu_input_head(in)) && hu_nsys_stats_read(in, arena, &sums, &err) == 0 &&
        hu_nsys_sums_measure(&sums, arena, &answer)) {
        const hu_nsys_report r = {.sums = &sums, .answer = &answer, .top = 9, .width = 80};
        hu_out              *out = hu_out_open_memory(arena);

        check(&answer);
        hu_nsys_text(&r, arena, out);
        hu_nsys_json(&r, arena, out);
        hu_out_abandon(out);
    }
    if (in)
        hu_input_close(in);
    hu_arena_free(arena);
    return 0;
}
