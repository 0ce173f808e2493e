/* SPDX-License-Identifier: Apache-2.0
 * lttng_write.h - LTTng-UST's way to say what our wrapper says: an event before and one after a call. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER holdup_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_write.h"

#if !defined(HU_BENCH_LTTNG_WRITE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HU_BENCH_LTTNG_WRITE_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(holdup_bench, before, LTTNG_UST_TP_ARGS(int, fd),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, fd, fd)))
LTTNG_UST_TRACEPOINT_EVENT(holdup_bench, after, LTTNG_UST_TP_ARGS(long, bytes),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, bytes, bytes)))

#endif
#include <lttng/tracepoint-event.h>
