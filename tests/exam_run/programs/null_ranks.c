/* SPDX-License-Identifier: Apache-2.0
 * null_ranks.c - two ranks with equal work.  Not a cause: their messages. */
#include "work.h"

#include <mpi.h>

__attribute__((noinline)) static uint64_t relax_cells(uint64_t x)
{
    return work_mix(x, 6000000);
}

int main(int argc, char **argv)
{
    int      rank;
    uint64_t border = 1, theirs = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    work_begin(argc, argv);
    for (int i = 0; i < 70; i++) {
        border = relax_cells(border + 1);
        MPI_Sendrecv(&border, 1, MPI_UINT64_T, !rank, 0, &theirs, 1, MPI_UINT64_T, !rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d\n", border == theirs);
        work_end();
    }
    MPI_Finalize();
    return 0;
}
