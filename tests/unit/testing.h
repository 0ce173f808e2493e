/* SPDX-License-Identifier: Apache-2.0
 * testing.h - what every unit test needs: cmocka in the order it wants, and traces from text. */
#ifndef HU_TESTS_UNIT_TESTING_H
#define HU_TESTS_UNIT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingest/open.h"

static inline hu_input_options plain_options(void)
{
    return (hu_input_options){.limits = hu_limits_default()};
}

/* A frozen trace of JSON text that must be readable. */
static inline hu_trace *trace_of(const char *json)
{
    const hu_input_options options = plain_options();
    hu_error               err = {0};
    hu_input              *in = hu_input_open_memory(hu_str_of(json), "test", &options, &err);
    hu_builder            *b;
    hu_trace              *t;

    assert_non_null(in);
    b = hu_open_input(in, &options, &err);
    if (!b)
        fail_msg("%s", err.text);
    t = hu_builder_freeze(b, &err);
    assert_non_null(t);
    return t;
}

/* The number of the first slice with a name. */
static inline uint32_t slice_named(const hu_trace *t, const char *name)
{
    const hu_slices s = hu_trace_slices(t);

    for (uint32_t i = 0; i < s.n; i++)
        if (hu_str_equal(hu_trace_text(t, s.name[i]), hu_str_of(name)))
            return i;
    fail_msg("no slice %s", name);
    return 0;
}

#define OP(name, tid, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur "}"
#define USER(name, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}"
#define CALL(name, ts, dur, correlation)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"correlation\":" correlation "}}"
#define KERNEL(name, stream, ts, dur, correlation)                                                                   \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"device\":0,\"stream\":" stream ",\"correlation\":" correlation "}}"

#endif
