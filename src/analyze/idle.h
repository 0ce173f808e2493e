/* SPDX-License-Identifier: Apache-2.0
 * idle.h - why a stream or the whole device had nothing to do, and what the host did meanwhile. */
#ifndef HU_ANALYZE_IDLE_H
#define HU_ANALYZE_IDLE_H

#include "analyze/ask.h"

/* The gaps of one stream, split as HolisticTraceAnalysis does. */
typedef struct {
    int64_t device, stream;
    int64_t work, gaps;       /* pieces of work; gaps between them that are not empty */
    int64_t busy_ns, idle_ns; /* from the first start to the last end; idle = host wait + kernel wait + other */
    int64_t host_wait_ns;     /* the next work was launched only after the last had ended */
    int64_t kernel_wait_ns;   /* it was launched in time, and began within HU_IDLE_KERNEL_WAIT_NS */
    int64_t other_ns;         /* it was launched in time and began late, or its launch is not known */
    int64_t host_waits, kernel_waits, others;
} hu_idle_stream;

enum { HU_IDLE_KERNEL_WAIT_NS = 30000 };

/* What holds up a device on which nothing runs at all. */
#define HU_IDLE_CAUSES(C)                                          \
    C(DATA_LOADER, "data_loader", "host: data loader")             \
    C(SYNC, "sync", "host: sync calls")                            \
    C(ALLOC, "memory_call", "host: device memory allocation")      \
    C(COPY_CALL, "copy_call", "host: copy calls")                  \
    C(LAUNCH_CALL, "launch_call", "host: launch calls")            \
    C(OTHER_CALL, "other_call", "host: other runtime calls")       \
    C(COMM, "communication", "host: collectives")                  \
    C(SYSTEM, "os_call", "host: system calls")                     \
    C(GC, "garbage_collection", "host: Python garbage collection") \
    C(OPERATOR, "operator", "host: operators")                     \
    C(PYTHON, "python", "host: Python")                            \
    C(WAIT, "wait", "host: waits for another thread or process")   \
    C(UNRECORDED, "unrecorded", "host: unrecorded")                \
    C(LAUNCH, "launch_latency", "launch latency")                  \
    C(DEVICE, "device_wait", "launched in time: kernel wait")      \
    C(UNKNOWN, "unknown", "launch not in the trace")

typedef enum {
#define C(id, key, words) HU_IDLE_##id,
    HU_IDLE_CAUSES(C)
#undef C
        HU_IDLE_CAUSE_COUNT
} hu_idle_cause;

typedef struct {
    int64_t       start_ns, dur_ns;
    int64_t       step;  /* number of the step that launched what ends it; -1 none */
    hu_idle_cause cause; /* the one with most of the gap */
    double        cause_ns;
    hu_str        host; /* what the launching thread did for longest: its innermost slice; "" nothing */
    int64_t       host_ns;
    hu_str        before, after; /* the work around it; before "": it is the wait for the first work */
} hu_idle_gap;

/* A time in which little of the device was used. */
typedef struct {
    int64_t start_ns, dur_ns, busy_ns;
} hu_idle_window;

enum { HU_IDLE_GAPS = 50, HU_IDLE_WINDOWS = 30 };

typedef struct {
    hu_idle_stream *streams; /* by device and stream */
    size_t          n_streams;
    int64_t         idle_ns; /* of the device: no stream had work; sum of by_cause */
    int64_t         gaps;
    int64_t         lead_ns; /* from the begin of the capture to the first work: no part of idle_ns; listed as a gap */
    int64_t         by_cause[HU_IDLE_CAUSE_COUNT];
    hu_idle_gap    *longest; /* the longest gaps first, at most HU_IDLE_GAPS */
    size_t          n_longest;
    hu_idle_window *windows; /* busy for less than half, neighbours joined, in time */
    size_t          n_windows;
    int64_t         first_ns;  /* the first start of any work */
    int64_t         window_ns; /* the span cut into HU_IDLE_WINDOWS pieces */
} hu_idle;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_idle_measure(const hu_ask *ask, hu_idle *out, hu_error *err);

/* Adds another rank; its streams, gaps and windows are kept beside, longest first.  False when there is no memory. */
bool hu_idle_merge(hu_idle *into, const hu_idle *from, hu_arena *arena);

const char *hu_idle_cause_key(hu_idle_cause cause);
const char *hu_idle_cause_words(hu_idle_cause cause);

#endif
