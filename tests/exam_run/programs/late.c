/* SPDX-License-Identifier: Apache-2.0
 * late.c - two ranks pass borders on.  The cause: rank 1 does more before it sends, and rank 0 waits for it. */
#include "work.h"

#include <mpi.h>

enum { STEPS = 40 };

__attribute__((noinline)) static uint64_t compute_cells(uint64_t x, long rounds)
{
    return work_mix(x, rounds);
}

int main(int argc, char **argv)
{
    int      rank;
    uint64_t border = 1, theirs = 0;
    bool     with;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    with = work_begin(argc, argv);
    for (int i = 0; i < STEPS; i++) {
        border = compute_cells(border, with && rank == 1 ? 9000000 : 4000000);
        if (rank == 1) {
            MPI_Send(&border, 1, MPI_UINT64_T, 0, 7, MPI_COMM_WORLD);
            MPI_Recv(&theirs, 1, MPI_UINT64_T, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&theirs, 1, MPI_UINT64_T, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&border, 1, MPI_UINT64_T, 1, 8, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d\n", border != theirs || !with);
        work_end();
    }
    MPI_Finalize();
    return 0;
}
