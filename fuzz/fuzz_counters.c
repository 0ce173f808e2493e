/* SPDX-License-Identifier: Apache-2.0
 * fuzz_counters.c - any bytes as a report of Nsight Compute, to the last answer: no crash, no hang, no leak.
 *
 * Two properties: groups hold each launch once, and shares of stalls are shares.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/ncu.h"
#include "render/counters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_counters: %s\n", what);
    abort();
}

static void check(const hu_counters *c, const hu_kernel_groups *groups)
{
    size_t launches = 0;

    for (size_t i = 0; i < groups->n; i++) {
        hu_kernel_answer a;
        double           shares = 0;

        launches += groups->at[i].n;
        hu_kernel_judge(&c->kernels.at[groups->at[i].shown], &a);
        for (size_t k = 0; k < a.n_stalls; k++)
            shares += a.stalls[k].share;
        if (shares > 1.000001)
            fail("stalls take more than all of the time");
    }
    if (launches != c->kernels.n)
        fail("a launch is in no group, or in two");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_limits limits = {
        .events = 500, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {limits, false, NULL};
    hu_error               err = {0};
    hu_arena              *arena = hu_arena_new();
    hu_input              *in = hu_input_open_memory((hu_str){(const char *)data, n}, "fuzz", &options, &err);
    hu_counters            counters = {0};
    hu_kernel_groups       groups;

    if (in && hu_ncu_is_report(hu_input_head(in)) && hu_ncu_read(in, arena, &counters, &err) == 0 &&
        hu_kernel_group_all(&counters, arena, &groups, &err) == 0) {
        const hu_counters_report r = {.counters = &counters, .groups = &groups, .top = 9, .width = 80};
        hu_out                  *out = hu_out_open_memory(arena);

        check(&counters, &groups);
        hu_counters_text(&r, out);
        hu_counters_json(&r, out);
        hu_out_abandon(out);
    }
    if (in)
        hu_input_close(in);
    hu_arena_free(arena);
    return 0;
}
