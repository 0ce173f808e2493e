/* SPDX-License-Identifier: Apache-2.0
 * recorder.h - a session of our own, joined by the code of libholdup-inject.so, and times as multiples of rdtsc.
 *
 * The flight recorder is what is measured, because it needs nobody to drain it: it wipes a block of 16 KiB for each 510
 * records, which is in the figures.
 */
#ifndef HU_BENCH_RECORDER_H
#define HU_BENCH_RECORDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inject/process.h"

enum { ROUNDS = 101, BURST = 20000 };

static char bench_folder[64];

static hu_control *bench_join(void)
{
    char        path[96];
    hu_control *c = calloc(1, 4096);
    FILE       *f;

    snprintf(bench_folder, sizeof bench_folder, "%s/holdup-bench-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    snprintf(path, sizeof path, "%s/control", bench_folder);
    mkdir(bench_folder, 0700);
    *c = (hu_control){.magic = HU_CONTROL_MAGIC,
                      .version = HU_FORMAT_VERSION,
                      .bytes = sizeof *c,
                      .mask = HU_DOOR_NVTX,
                      .wanted = HU_DOOR_NVTX,
                      .state = HU_SESSION_RECORDING,
                      .mode = HU_MODE_FLIGHT,
                      .clock = HU_CLOCK_TSC,
                      .max_blocks = 64,
                      .ticks_per_second = 2.5e9};
    f = fopen(path, "w");
    if (!f || fwrite(c, 4096, 1, f) != 1 || fclose(f) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
    free(c);
    setenv("HOLDUP_SESSION", bench_folder, 1);
    if (!hu_process_join()) {
        fprintf(stderr, "cannot join %s\n", bench_folder);
        exit(1);
    }
    hu_ring_init();
    hu_gate_page();
    if (!hu_process_attach())
        exit(1);
    hu_gate_init();
    return hu_the_control;
}

static void bench_leave(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", bench_folder);
    if (system(command) != 0)
        fprintf(stderr, "%s failed\n", command);
}

static int64_t bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* whoever else is on the machine */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ns of one call, the median of the rounds. */
static double bench_ns(void (*burst)(int n))
{
    double ns[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start = bench_now();

        burst(BURST);
        ns[i] = (double)(bench_now() - start) / BURST;
    }
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    return ns[ROUNDS / 2];
}

static void bench_rdtsc(int n)
{
    for (int i = 0; i < n; i++) {
        const uint64_t t = hu_ticks();

        __asm__ volatile("" : : "r"(t));
    }
}

static void bench_row(const char *what, double ns, double rdtsc, double most)
{
    printf("%-44s %7.1f ns %6.2f x rdtsc", what, ns, ns / rdtsc);
    if (most > 0)
        printf("   promised <= %.0f ns: %s", most, ns <= most ? "kept" : "BROKEN");
    putchar('\n');
}

#endif
