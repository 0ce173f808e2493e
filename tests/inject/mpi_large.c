/* SPDX-License-Identifier: Apache-2.0
 * mpi_large.c - counts of 64 bits, by weak references as mpi4py makes them: the library may have none. */
#include <stdio.h>

#include <mpi.h>

int MPI_Send_c(const void *p, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm comm) __attribute__((weak));
int MPI_Recv_c(void *p, MPI_Count n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s) __attribute__((weak));
int MPI_Allreduce_c(const void *p, void *q, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) __attribute__((weak));

int main(int argc, char **argv)
{
    int rank, data[10] = {0}, sum[10] = {0}, rc = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        data[i] = rank + i;
    if (rank == 0)
        rc = MPI_Send_c(data, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        rc = MPI_Recv_c(data, 10, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rc += MPI_Allreduce_c(data, sum, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d %d %d\n", rank, rc, sum[9]);
#ifdef HUGE
    printf("huge %d\n", MPI_Send_c(data, (MPI_Count)1 << 40, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD) == MPI_ERR_ARG);
#endif
    MPI_Finalize();
    return 0;
}
