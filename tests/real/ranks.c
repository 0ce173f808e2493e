/* SPDX-License-Identifier: Apache-2.0
 * ranks.c - ranks that compute and sum up, 12 times.
 *
 *   ranks equal    all of them the same
 *   ranks late     rank 1 computes three times as much as the others
 *   ranks send     the same, but rank 1 sends what rank 0 waits for
 *   ranks post     the same, and rank 0 posts its receive and waits for it
 *   ranks large    they hardly compute, and sum up 4 MB: communication is what they do */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, ROUNDS = 8000000, WORDS = 1 << 19 };

__attribute__((noinline)) static uint64_t cells(uint64_t x, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        x ^= x >> 31;
        x *= UINT64_C(0x9e3779b97f4a7c15);
    }
    return x;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "equal";
    const int   is_large = strcmp(mode, "large") == 0, is_post = strcmp(mode, "post") == 0;
    const int   is_send = is_post || strcmp(mode, "send") == 0;
    int         rank;
    uint64_t    own = 1, sum = 0, *field = calloc(WORDS, sizeof *field), *total = calloc(WORDS, sizeof *total);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; field && total && i < STEPS; i++) {
        const int is_late = rank == 1 && (is_send || strcmp(mode, "late") == 0);

        own = cells(own + 1, is_large ? ROUNDS / 40 : is_late ? 3 * ROUNDS : ROUNDS);
        field[0] = own & 7;
        if (is_large)
            MPI_Allreduce(field, total, WORDS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        else if (!is_send)
            MPI_Allreduce(field, total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Send(field, 1, MPI_UINT64_T, 0, i, MPI_COMM_WORLD);
        else if (rank == 0 && is_post) {
            MPI_Request there;

            MPI_Irecv(total, 1, MPI_UINT64_T, 1, i, MPI_COMM_WORLD, &there);
            MPI_Wait(&there, MPI_STATUS_IGNORE);
        } else if (rank == 0)
            MPI_Recv(total, 1, MPI_UINT64_T, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += total[0];
    }
    if (rank == 0)
        printf("%llu\n", (unsigned long long)sum);
    MPI_Finalize();
    return 0;
}
