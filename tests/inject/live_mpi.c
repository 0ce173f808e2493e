/* SPDX-License-Identifier: Apache-2.0
 * live_mpi.c - steps of a job of MPI in which rank 0 is early: prints its rank, its pid, and how long it waited, in ns. */
#include <holdup_annotate.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    double waited = 0;
    int    rank, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++) {
        double began;

        holdup_step();
        holdup_phase_push(HOLDUP_PHASE_BACKWARD);
        nanosleep(&(struct timespec){0, rank ? 15000000 : 2000000}, NULL);
        began = MPI_Wtime();
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        waited += MPI_Wtime() - began;
        holdup_phase_pop();
    }
    holdup_step_end();
    printf("%d %d %.0f\n", rank, (int)getpid(), waited * 1e9);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
