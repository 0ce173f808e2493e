/* SPDX-License-Identifier: Apache-2.0
 * fuzz_rows.c - any bytes as a table of operations, to the last answer: no crash, no hang, no leak.
 *
 * Two properties: what was read replays to one answer whatever the order of its rows, and the numbers of operations are an
 * order in which each comes behind all that it waits for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "advise/slowdown.h"
#include "ingest/operation_rows.h"
#include "render/slowdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_rows: %s\n", what);
    abort();
}

static void draw(const hu_slowdown *s)
{
    const hu_slowdown_report r = {.slowdown = s, .width = 80, .has_steps = true};
    hu_arena                *arena = hu_arena_new();
    hu_out                  *out = hu_out_open_memory(arena);

    hu_slowdown_text(&r, out);
    hu_slowdown_json(&r, out);
    hu_out_abandon(out);
    hu_arena_free(arena);
}

/* Numbers of a step are an order in which everything comes behind what it waits for. */
static void check_order(const hu_pipeline_step *s)
{
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint32_t i = s->group_first[g]; i < s->group_first[g + 1]; i++)
            for (uint32_t k = s->wait_first[i]; k < s->wait_first[i + 1]; k++)
                if (s->waits[k] >= s->group_first[g])
                    fail("an operation waits for a later one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_limits limits = {
        .events = 5000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {limits, false, NULL};
    hu_error               err = {0};
    hu_arena              *arena = hu_arena_new();
    hu_input              *in = hu_input_open_memory((hu_str){(const char *)data, n}, "fuzz", &options, &err);
    hu_operations          table = {0};
    hu_pipeline            p, again;
    hu_slowdown            s, other;

    if (in && hu_operation_rows_read(in, 9, arena, &table, &err) == 0) {
        hu_operations_sort(&table);
        if (hu_pipeline_build(&table, arena, &p, &err) == 0 && hu_slowdown_measure(&p, 1, arena, &s, &err) == 0) {
            for (size_t k = 0; k < p.n_steps; k++)
                if (!p.steps[k].left_out)
                    check_order(&p.steps[k]);
            draw(&s);
            for (size_t i = 0, j = table.n - 1; i < j; i++, j--) {
                const hu_operation held = table.at[i];

                table.at[i] = table.at[j];
                table.at[j] = held;
            }
            hu_operations_sort(&table);
            if (hu_pipeline_build(&table, arena, &again, &err) < 0 ||
                hu_slowdown_measure(&again, 1, arena, &other, &err) < 0 || other.original_ns != s.original_ns ||
                other.ideal_ns != s.ideal_ns)
                fail("the order of rows matters");
        }
    }
    if (in)
        hu_input_close(in);
    hu_arena_free(arena);
    return 0;
}
