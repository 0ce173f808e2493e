/* SPDX-License-Identifier: Apache-2.0
 * fuzz_results.c - results of benchmarks and sampled memory: any bytes, or two files with "\n====\n" between them, which are compared.
 *
 * Properties: every benchmark has a median, and a peak is no less than the last sample.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/results.h"
#include "render/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_results: %s\n", what);
    abort();
}

static bool read_one(hu_str bytes, hu_arena *arena, hu_results *out)
{
    const hu_input_options how = {
        .limits = {.events = 5000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400}};
    hu_error  err = {0};
    hu_input *in = hu_input_open_memory(bytes, "fuzz", &how, &err);
    bool      is = in && hu_results_probe(hu_input_head(in)) && hu_results_read(in, arena, out, &err) == 0;

    if (in)
        hu_input_close(in);
    return is;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char mark[] = "\n====\n";
    const char       *at = (const char *)data, *next = n ? memmem(at, n, mark, sizeof mark - 1) : NULL;
    hu_arena         *arena = hu_arena_new();
    hu_out           *out = arena ? hu_out_open_memory(arena) : NULL;
    hu_results        files[2] = {{.rows = {0}}};
    bool              is[2] = {false, false};

    if (out) {
        is[0] = read_one((hu_str){at, next ? (size_t)(next - at) : n}, arena, &files[0]);
        is[1] = next &&
                read_one((hu_str){next + sizeof mark - 1, n - (size_t)(next - at) - (sizeof mark - 1)}, arena, &files[1]);
        for (size_t k = 0; k < 2 && is[k]; k++) {
            for (size_t i = 0; i < files[k].rows.n; i++)
                if (isnan(files[k].rows.at[i].median))
                    fail("a benchmark without a median");
            if (files[k].memory.n_samples && files[k].memory.peak < files[k].memory.last)
                fail("a peak below the last sample");
            hu_results_text(&files[k], 1, 3, 80, out);
            hu_results_json(&files[k], 1, out);
        }
        if (is[0] && is[1] &&
            (!hu_results_diff_text(&files[0], &files[1], arena, 80, out) ||
             !hu_results_diff_json(&files[0], &files[1], arena, out)))
            fail("no memory for a few rows");
        hu_out_abandon(out);
    }
    hu_arena_free(arena);
    return 0;
}
