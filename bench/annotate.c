/* SPDX-License-Identifier: Apache-2.0
 * annotate.c - what a marker of holdup_annotate.h costs in this process, beside reading the time stamp counter.
 *
 * usage: annotate          no recorder: what a program pays that nobody records
 *        holdup run --mode flight --max-memory 1M -- build/bench/annotate         recorded, into memory that is used again
 *        holdup run --delay 3600 -- build/bench/annotate                          a recorder that does not listen
 *
 * Each figure is the median of 201 bursts, in ns per call and as a ratio to rdtsc in the same run; the loop is taken off.
 * Bursts of 2,000 calls with a pause after each, so that whoever drains the records keeps up.  A range is a push and a pop.
 */
#include "holdup_annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { BURSTS = 201, CALLS = 2000 };

static holdup_name name = HOLDUP_NAME("forward");

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static volatile uint64_t sink;

static void nothing(void) {}
static void read_ticks(void)
{
    sink = ticks();
}
static void range_text(void)
{
    holdup_range_push("forward");
    holdup_range_pop();
}
static void range_name(void)
{
    holdup_range_push_name(&name);
    holdup_range_pop();
}
static void phase(void)
{
    holdup_phase_push(HOLDUP_PHASE_FORWARD);
    holdup_phase_pop();
}
static void mark(void)
{
    holdup_mark_name(&name);
}
static void counter(void)
{
    holdup_counter_name(&name, 0.5);
}
static void step(void)
{
    holdup_step();
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A loop of its own for each call, so that nothing but the call is in it. */
#define MEASURE(call)                                                \
    do {                                                             \
        for (int burst = 0; burst < BURSTS; burst++) {               \
            const int64_t began = now_ns();                          \
            for (int i = 0; i < CALLS; i++) {                        \
                call();                                              \
                __asm__ volatile("" ::: "memory");                   \
            }                                                        \
            times[burst] = (double)(now_ns() - began) / CALLS;       \
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); \
        }                                                            \
        qsort(times, BURSTS, sizeof *times, by_value);               \
    } while (0)

/* As a loop that trains is marked: four phases, one of them in another, and what was done. */
static void whole_step(void)
{
    static int64_t i;

    holdup_step_number(i++);
    holdup_phase_push(HOLDUP_PHASE_DATA);
    holdup_phase_pop();
    holdup_phase_push(HOLDUP_PHASE_FORWARD);
    holdup_phase_push(HOLDUP_PHASE_TRANSFER);
    holdup_phase_pop();
    holdup_phase_pop();
    holdup_phase_push(HOLDUP_PHASE_OPTIMIZER);
    holdup_phase_pop();
    holdup_count(HOLDUP_SAMPLES, 8);
}

int main(void)
{
    static double times[BURSTS];
    double        loop, rdtsc;

    MEASURE(nothing);
    loop = times[BURSTS / 2];
    MEASURE(read_ticks);
    rdtsc = times[BURSTS / 2] - loop;
    printf("%s\n%-24s %8s %8s\n%-24s %8.2f %8.2f\n", holdup_listening() ? "a recorder listens" : "nobody listens", "", "ns",
           "x rdtsc", "rdtsc", rdtsc, 1.0);
#define ROW(text, call) \
    MEASURE(call);      \
    printf("%-24s %8.2f %8.2f\n", text, times[BURSTS / 2] - loop, (times[BURSTS / 2] - loop) / rdtsc)
    ROW("range, text", range_text);
    ROW("range, registered name", range_name);
    ROW("phase", phase);
    ROW("mark, registered name", mark);
    ROW("counter, registered name", counter);
    ROW("step", step);
    ROW("step of four phases", whole_step);
    return 0;
}
