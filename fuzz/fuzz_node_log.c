/* SPDX-License-Identifier: Apache-2.0
 * fuzz_node_log.c - what a monitor sampled, in any of its formats: two files, with "\n====\n" between them, become one log, which
 * answers alone and is laid beside a trace of a fixed time. */
#include <string.h>

#include "base/limits.h"
#include "ingest/node_order.h"
#include "ingest/node_tracks.h"
#include "ingest/open.h"
#include "render/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const hu_input_options how = {
    .limits = {.events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400}};

static const char trace[] =
    "{\"baseTimeNanoseconds\":1795000000000000000,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\","
    "\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":5e6,\"args\":{\"device\":0,\"stream\":7}}]}";

static void read_one(hu_node_log *log, hu_str bytes)
{
    hu_error  err = {0};
    hu_input *in = hu_input_open_memory(bytes, "fuzz", &how, &err);

    if (!in)
        return;
    hu_node_log_read(log, in, &err);
    hu_input_close(in);
}

static const char *no_words(int64_t xid)
{
    (void)xid;
    return NULL;
}

/* What `holdup report FILE` makes of it. */
static void say(const hu_node_log *log)
{
    hu_node_answer answer;
    hu_node_report r = {.answer = &answer, .xid_words = no_words, .scratch = log->arena, .width = 80};
    hu_out        *out = hu_node_measure(log, log->arena, &answer) ? hu_out_open_memory(log->arena) : NULL;
    hu_str         text;

    if (!out)
        return;
    hu_node_text(&r, out);
    hu_node_json(&r, out);
    (void)hu_out_take(out, &text, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char mark[] = "\n====\n";
    const char       *at = (const char *)data, *next = n ? memmem(at, n, mark, sizeof mark - 1) : NULL;
    hu_node_log       log = {.arena = hu_arena_new()};
    hu_error          err = {0};
    hu_input         *in;
    hu_builder       *b;

    if (!log.arena)
        return 0;
    read_one(&log, (hu_str){at, next ? (size_t)(next - at) : n});
    if (next)
        read_one(&log, (hu_str){next + sizeof mark - 1, n - (size_t)(next - at) - (sizeof mark - 1)});
    if (!hu_node_order(&log)) {
        hu_arena_free(log.arena);
        return 0;
    }
    say(&log);
    in = hu_node_log_has_any(&log) ? hu_input_open_memory(HU_STR(trace), "trace", &how, &err) : NULL;
    b = in ? hu_open_input(in, &how, &err) : NULL;
    if (b) {
        hu_node_tracks_add(&log, 0, b);
        hu_trace_free(hu_builder_freeze(b, &err));
    }
    hu_arena_free(log.arena);
    return 0;
}
