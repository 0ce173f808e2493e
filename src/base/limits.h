/* SPDX-License-Identifier: Apache-2.0
 * limits.h - what a file may cost us.  Every row is an option of the same name (`--limit events=…`). */
#ifndef HU_BASE_LIMITS_H
#define HU_BASE_LIMITS_H

#include <stdint.h>

#define HU_LIMITS(L)                                                                      \
    L(events, 1000000000, "events of one file")                                           \
    L(nesting, 256, "levels of arrays and objects inside one event")                      \
    L(event_bytes, 64 << 20, "bytes of one event or one metadata value")                  \
    L(string_bytes, INT64_C(8) << 30, "bytes of all distinct strings of one file")        \
    L(inflate_ratio, 400, "bytes out per byte in of a compressed file, once past 64 MiB") \
    L(os_calls, INT64_MAX, "calls of the C library read one by one; of more, storms of fast ones are one slice each")

typedef struct {
#define L(name, value, text) int64_t name;
    HU_LIMITS(L)
#undef L
    int64_t cpus; /* no limit, but it goes where they go: CPUs of the job, as the user says (--cpus); 0 not said */
} hu_limits;

static inline hu_limits hu_limits_default(void)
{
    return (hu_limits){
#define L(name, value, text) .name = (value),
        HU_LIMITS(L)
#undef L
    };
}

/* For answers about a whole run: a storm in one slice changes no sum, and a large export takes less memory. */
static inline hu_limits hu_limits_with_storms(hu_limits limits)
{
    const int64_t most = 2000000;

    limits.os_calls = limits.os_calls == INT64_MAX ? most : limits.os_calls;
    return limits;
}

#endif
