/* SPDX-License-Identifier: Apache-2.0
 * fuzz_xplane.c - any bytes as a profile of XLA: no crash, no hang, and what is read keeps what the reader promises.
 *
 * Bytes that no XLA profile would begin with are wrapped into a plane of a host or a device, so that nearly all of what the
 * fuzzer thinks of gets behind the probe.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/format.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

extern const hu_format hu_format_xplane;

enum { MOST_BYTES = 1 << 16 };

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_xplane: %s\n", what);
    abort();
}

/* Operations of a TPU's line do not overlap: the time of each instant is one operation's. */
static void check_ops(const hu_trace *trace, const hu_track *track)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace) + track->first;

    for (uint32_t i = 0; i + 1 < track->count; i++)
        check(s.start_ns[order[i]] + s.dur_ns[order[i]] <= s.start_ns[order[i + 1]], "operations of one line overlap");
}

static void check_trace(const hu_trace *trace)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);

    for (size_t i = 0; i < s.n; i++)
        check(s.dur_ns[i] >= 0, "a slice ends before it begins");
    for (size_t k = 0; k < n; k++)
        if (tracks[k].type == HU_TRACK_STREAM && hu_str_equal(hu_trace_text(trace, tracks[k].name), HU_STR("XLA Ops")) &&
            s.n < 1000)
            check_ops(trace, &tracks[k]);
}

static void read_bytes(hu_str bytes)
{
    const hu_limits limits = {
        .events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options options = {.limits = limits};
    hu_error               err = {0};
    hu_input              *in = hu_input_open_memory(bytes, "fuzz", &options, &err);
    hu_builder            *b = in ? hu_builder_new("fuzz", &limits) : NULL;

    if (b && hu_format_xplane.import(in, b, &err) == 0) {
        hu_trace *trace = hu_builder_freeze(b, &err);

        if (trace)
            check_trace(trace);
        hu_trace_free(trace);
    } else {
        hu_builder_free(b);
    }
    hu_input_close(in);
}

/* One plane around the bytes, whose first byte chooses which. */
static void read_wrapped(const uint8_t *data, size_t n)
{
    static const char names[][16] = {"/host:CPU", "/device:GPU:0", "/device:TPU:0"};
    const char       *name = names[data[0] % HU_COUNT(names)];
    const size_t      length = strlen(name), body = n + 1 + length;
    char             *text = malloc(body + 4);

    if (!text)
        return;
    text[0] = 0x0a;
    text[1] = (char)(body & 0x7f) | (char)0x80;
    text[2] = (char)(body >> 7 & 0x7f) | (char)0x80;
    text[3] = (char)(body >> 14);
    text[4] = 0x12;
    text[5] = (char)length;
    memcpy(text + 6, name, length);
    memcpy(text + 6 + length, data + 1, n - 1);
    check(hu_format_xplane.probe((hu_str){text, body + 4}), "a plane is not recognised");
    read_bytes((hu_str){text, body + 4});
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > MOST_BYTES)
        return 0;
    if (hu_format_xplane.probe((hu_str){(const char *)data, n}))
        read_bytes((hu_str){(const char *)data, n});
    else
        read_wrapped(data, n);
    return 0;
}
