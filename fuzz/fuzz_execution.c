/* SPDX-License-Identifier: Apache-2.0
 * fuzz_execution.c - any bytes as an execution trace, to the last answer: no crash, no hang, no leak.
 *
 * Two properties: calls by name add up to all operators, and no operator lies deeper than there are any.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/execution_trace.h"
#include "render/execution.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const hu_execution_answer *a)
{
    int64_t calls = 0;

    for (size_t i = 0; i < a->n_rows; i++)
        calls += a->rows[i].calls;
    if (calls != a->operators || a->depth > a->operators || a->outermost > a->operators || a->with_shapes > a->operators) {
        fprintf(stderr, "fuzz_execution: %lld calls of %lld operators, %lld deep\n", (long long)calls,
                (long long)a->operators, (long long)a->depth);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_limits limits = {
        .events = 1000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {limits, false, NULL};
    hu_error               err = {0};
    hu_arena              *arena = hu_arena_new();
    hu_input              *in = hu_input_open_memory((hu_str){(const char *)data, n}, "fuzz", &options, &err);
    hu_execution           files[2];
    hu_execution_answer    answer;

    if (in && hu_execution_trace_probe(hu_input_head(in)) && hu_execution_trace_read(in, arena, &files[0], &err) == 0) {
        files[1] = files[0]; /* two ranks that are alike */
        if (hu_execution_measure(files, 1 + n % 2, arena, &answer)) {
            const hu_execution_report r = {.answer = &answer, .top = 9, .width = 80};
            hu_out                   *out = hu_out_open_memory(arena);

            check(&answer);
            hu_execution_text(&r, out);
            hu_execution_json(&r, out);
            hu_out_abandon(out);
        }
    }
    if (in)
        hu_input_close(in);
    hu_arena_free(arena);
    return 0;
}
