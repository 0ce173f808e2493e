/* SPDX-License-Identifier: Apache-2.0
 * fuzz_step_log.c - any bytes as a log of a training run, in chunks of any size, to the last answer: no crash, no hang.
 *
 * Properties: chunks do not change what is read, steps are longer than nothing, no level is negative; a test of collectives
 * reaches what one of its rows has, a rank waits in one place, a log is what it is itself, modules have places in their text, and shares of operations are no more than the whole.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/step_log.h"
#include "render/log_difference.h"
#include "render/step_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_step_log: %s\n", what);
    abort();
}

static bool read_log(hu_str bytes, size_t chunk_bytes, hu_arena *arena, hu_step_log *log)
{
    const hu_limits limits = {
        .events = 500, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {.limits = limits, .chunk_bytes = chunk_bytes};
    hu_input              *in = hu_input_open_memory(bytes, "fuzz", &options, NULL);
    bool                   is_read;

    *log = (hu_step_log){.writer = HU_STR("")};
    is_read = in && hu_step_log_read(in, NULL, arena, log, NULL) == 0;
    if (in)
        hu_input_close(in);
    return is_read;
}

static void check(const hu_step_log *log, const hu_log_answer *a)
{
    for (size_t i = 0; i < log->steps.n; i++)
        if (log->steps.at[i].ns < 0 || log->steps.at[i].covers < 1 || log->steps.at[i].iteration < 0)
            fail("a step that is none");
    if (a->step.n > log->steps.n || a->n_slow > log->steps.n || (a->has_change && (a->before_ns <= 0 || a->after_ns < 0)))
        fail("more than there is");
}

static void check_tables(const hu_step_log *log, const hu_log_answer *a)
{
    double shares = 0;

    for (size_t i = 0; i < a->benches.n; i++) {
        const hu_bench_answer *b = &a->benches.at[i];

        if (b->best > 0 && (b->best_at <= 0 || b->from < 0 || b->half < 0 || b->test->rows.n == 0))
            fail("a bandwidth without a row");
        if (b->latency < 0 || b->beta < 0 || b->wrong < 0)
            fail("a line below zero");
    }
    for (size_t i = 0; i < a->ops.at.n; i++)
        shares += a->ops.at.at[i].share;
    if (shares > 1.000001)
        fail("operations that are more than all");
    if (a->inspector.wait_ns < 0 || a->inspector.wait_ns > a->inspector.ns * 1.000001)
        fail("more waiting than time");
    for (size_t i = 0; i < log->flops.modules.n; i++)
        if (log->flops.modules.at[i].depth < 0 || !log->flops.modules.at[i].name.p)
            fail("a module without a place");
    for (size_t i = 0; i < a->parts.n; i++)
        if (a->parts.at[i].spread.n && a->parts.at[i].spread.min < 0)
            fail("a fastest rank that is slower than the slowest");
}

/* A rank is in one of these lists at most. */
static void check_hang(const hu_log_hang *h)
{
    const hu_log_ranks *lists[] = {&h->waiting, &h->absent, &h->earlier, &h->other, &h->silent};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t k = 0; k < lists[i]->n; k++) {
            if (k && lists[i]->at[k] <= lists[i]->at[k - 1])
                fail("ranks that do not rise");
            for (size_t m = i + 1; m < sizeof lists / sizeof lists[0]; m++)
                for (size_t n = 0; n < lists[m]->n; n++)
                    if (lists[m]->at[n] == lists[i]->at[k])
                        fail("a rank in two places");
        }
}

/* Of a log and itself nothing changes. */
static void check_difference(const hu_step_log *log, const hu_log_answer *answer, hu_arena *arena, hu_out *out)
{
    const hu_step_log   *logs[] = {log, log};
    const hu_log_answer *answers[] = {answer, answer};
    const hu_str         names[] = {HU_STR("a"), HU_STR("b")};
    hu_log_difference    x;

    if (!hu_log_difference_measure(logs, answers, arena, &x))
        return;
    if (x.has_step && x.is_clear)
        fail("a log that differs from itself");
    hu_log_difference_text(&x, names, 80, out);
    hu_log_difference_json(&x, names, out);
}

static bool differ(const hu_step_log *a, const hu_step_log *b)
{
    return a->steps.n != b->steps.n || a->n_lines != b->n_lines || a->nccl.n_lines != b->nccl.n_lines ||
           a->benches.n != b->benches.n || a->ops.n != b->ops.n || a->flops.modules.n != b->flops.modules.n ||
           a->parts.n != b->parts.n || a->tuning.experiments.n != b->tuning.experiments.n ||
           a->tuning.spaces.n != b->tuning.spaces.n || a->timeouts.n != b->timeouts.n || a->unit != b->unit ||
           a->n_anew != b->n_anew;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_str  bytes = {(const char *)data, n};
    hu_arena     *arena = hu_arena_new();
    hu_step_log   log, again;
    hu_log_answer answer;

    if (arena && read_log(bytes, 0, arena, &log) && hu_step_log_measure(&log, arena, &answer)) {
        const hu_log_report r = {.log = &log, .answer = &answer, .scratch = arena, .top = 9, .width = 80};
        hu_out             *out = hu_out_open_memory(arena);

        check(&log, &answer);
        check_tables(&log, &answer);
        check_hang(&answer.hang);
        check_difference(&log, &answer, arena, out);
        hu_log_text(&r, out);
        hu_log_json(&r, out);
        hu_out_abandon(out);
        /* JSON is known by more than 64 bytes */
        if ((n == 0 || data[0] != '{') && read_log(bytes, 64, arena, &again) && differ(&log, &again))
            fail("chunks change what is read");
    }
    hu_arena_free(arena);
    return 0;
}
