/* SPDX-License-Identifier: Apache-2.0
 * late_sender.c - rank 0 sends 64 KiB to rank 1 in each of 20 steps, 10 ms late; then all reduce.  MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    static char data[1 << 16];
    int         rank;
    double      sum, one = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++) {
        const struct timespec late = {0, 10000000};

        if (rank == 0) {
            nanosleep(&late, NULL);
            MPI_Send(data, sizeof data, MPI_CHAR, 1, i, MPI_COMM_WORLD);
        }
        if (rank == 1)
            MPI_Recv(data, sizeof data, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    printf("rank %d done\n", rank);
    return 0;
}
