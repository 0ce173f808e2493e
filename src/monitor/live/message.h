/* SPDX-License-Identifier: Apache-2.0
 * message.h - a datagram of protocol/live.h as it came, looked at before anything of it is believed. */
#ifndef HU_MONITOR_LIVE_MESSAGE_H
#define HU_MONITOR_LIVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/live.h"

/* What became of a datagram: V(id, result, reason) */
/* clang-format off */
#define HU_LIVE_VERDICTS(V)                                                  \
    V(TAKEN, "taken", "")                                                    \
    V(OLD, "dropped", "not newer than the last")                             \
    V(MALFORMED, "refused", "size, version or numbers out of range")         \
    V(TEXT, "refused", "names are no text")                                  \
    V(FALLING, "refused", "a count fell")                                    \
    V(SENDER, "refused", "sender not known to the kernel")                   \
    V(PROCESS, "refused", "no such process")                                 \
    V(FOREIGN, "refused", "process of another user")                         \
    V(OTHER, "refused", "another sender tells of that process")              \
    V(HASTY, "refused", "too many processes begin at once")                  \
    V(FULL, "refused", "too many processes")
/* clang-format on */

typedef enum {
#define V(id, result, reason) HU_LIVE_##id,
    HU_LIVE_VERDICTS(V)
#undef V
        HU_LIVE_VERDICT_COUNT
} hu_live_verdict;

/*
 * Copies it to *out if its size, version, numbers and texts can be those of a process; its texts then end in a NUL, and
 * numbers are below the limits.  Whether they are that process's, the table asks (table.h).
 */
hu_live_verdict hu_live_message_read(const void *bytes, size_t n, hu_live_datagram *out);

/* Did a count fall since `before`?  All of them are totals. */
bool hu_live_message_falls(const hu_live_datagram *before, const hu_live_datagram *now);

/* No count is above the first, no time above the second: sums and differences of them fit. */
#define HU_LIVE_MOST      (INT64_C(1) << 56)
#define HU_LIVE_MOST_TIME (INT64_C(1) << 62)

#endif
