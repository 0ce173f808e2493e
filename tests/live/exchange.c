/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - steps of an MPI job that keeps a log of its own: what `holdup monitor` says of it is held against that.
 *
 *     exchange FOLDER STEPS
 *
 * Each step: `data` ms of sleep as the phase data, `work` ms on a processor, on the last rank `late` ms more, then an all-reduce.
 * The three are read from files in FOLDER before each step.  At the end it writes FOLDER/log.RANK: a line for each step, its ns and
 * the ns in the all-reduce; then it waits for FOLDER/go.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "holdup_annotate.h"

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void nap(double ms)
{
    const struct timespec t = {(time_t)(ms / 1000), (long)((int64_t)(ms * 1e6) % 1000000000)};

    if (ms > 0)
        nanosleep(&t, NULL);
}

static double setting(const char *folder, const char *name)
{
    char   path[4096];
    double value = 0;
    FILE  *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "r");
    if (f != NULL) {
        if (fscanf(f, "%lf", &value) != 1)
            value = 0;
        fclose(f);
    }
    return value;
}

int main(int argc, char **argv)
{
    const char *const folder = argv[1];
    const int         steps = argc > 2 ? atoi(argv[2]) : 0;
    int64_t *const took = calloc((size_t)steps + 1, sizeof *took), *const waited = calloc((size_t)steps + 1, sizeof *waited);
    int   rank, size;
    char  path[4096];
    FILE *f;

    if (argc != 3 || took == NULL || waited == NULL)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < steps; i++) {
        const int64_t began = now();
        int64_t       before;
        double        mine = rank, sum;

        holdup_step_number(i);
        holdup_phase_push(HOLDUP_PHASE_DATA);
        nap(setting(folder, "data"));
        holdup_phase_pop();
        nap(setting(folder, "work") + (rank == size - 1 ? setting(folder, "late") : 0));
        before = now();
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        waited[i] = now() - before;
        took[i] = now() - began;
    }
    holdup_step_end();
    snprintf(path, sizeof path, "%s/.log.%d", folder, rank);
    f = fopen(path, "w");
    for (int i = 0; i < steps; i++)
        fprintf(f, "%lld %lld\n", (long long)took[i], (long long)waited[i]);
    fclose(f);
    {
        char whole[4096];

        snprintf(whole, sizeof whole, "%s/log.%d", folder, rank);
        if (rename(path, whole) != 0)
            return 3;
        snprintf(path, sizeof path, "%s/go", folder);
    }
    while (access(path, F_OK) != 0)
        usleep(20000);
    MPI_Finalize();
    free(took);
    free(waited);
    return 0;
}
