/* SPDX-License-Identifier: Apache-2.0
 * perf_samples.h - samples of Linux's perf as the model has them, whichever of its forms they were read from.
 */
#ifndef HU_INGEST_PERF_SAMPLES_H
#define HU_INGEST_PERF_SAMPLES_H

#include "base/map.h"
#include "trace/builder.h"

enum { PERF_MOST_FRAMES = 1024 };

/* A sample as it is collected: frames from the innermost on, of the program alone. */
typedef struct {
    int64_t  pid, tid, time_ns;
    bool     is_kernel; /* it was in the kernel, which the innermost frame called */
    bool     is_inside; /* a frame of the program was added; kernel frames behind it are its own business */
    size_t   n;
    uint32_t function[PERF_MOST_FRAMES], module[PERF_MOST_FRAMES]; /* string ids */
} perf_sample;

typedef struct {
    int64_t  first_ns, last_ns, pid, tid, samples;
    uint32_t track;
} perf_life;

/* What is left out, and said. */
typedef struct {
    hu_builder *b;
    hu_arena   *arena;
    hu_map      life_of; /* track -> place in lives */
    HU_VEC(perf_life) lives;
    int64_t idle, events, lost; /* of the idle task; of events that are no samples of the CPU; that perf lost */
    hu_str  event;              /* the first of those events */
    bool    has_no_pids;        /* all threads count as those of one process, which may be wrong */
} perf_samples;

/* False: no memory. */
bool perf_samples_init(perf_samples *s, hu_builder *b, hu_arena *arena);

/* Where an address is that has no name: "[libc.so.6]+0x1234". */
uint32_t perf_samples_place(perf_samples *s, hu_str module, uint64_t offset);

/*
 * Adds the next frame, from the innermost on: those of the kernel before the first of the program are one.  A module or a
 * function that is not known is "" or "[unknown]".
 */
void perf_samples_frame(perf_samples *s, perf_sample *at, uint64_t place, bool is_kernel, hu_str module, hu_str function);

/* Adds a sample; one of the idle task is counted and left out. */
void perf_samples_add(perf_samples *s, const perf_sample *sample);

/*
 * Which clock an event is, by its name; the smallest is preferred where several were sampled: 0 cpu-clock, 1 task-clock,
 * 2 cycles, of any kind of cores, 3 ref-cycles, 4 what has no name.  -1: something that happens now and then (a tracepoint,
 * a page fault, an instruction), which says nothing of where time goes.
 */
int perf_samples_rank(hu_str event);

/* Counts a record of such an event. */
void perf_samples_pass(perf_samples *s, hu_str event);

/* "N what name" among what is said of the recording; nothing of 0. */
void perf_samples_say(perf_samples *s, int64_t n, const char *what, hu_str name);

/*
 * At the end: what was left out is said, and threads live from their first sample to their last.  Of a whole system, or of
 * processes none of which has nearly all samples, they have no lives: the report would take one of them for the job.
 */
void perf_samples_end(perf_samples *s, int64_t sample_ns);

#endif
