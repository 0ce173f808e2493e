/* SPDX-License-Identifier: Apache-2.0
 * mpi_between.c - another tool of MPI, preloaded behind us: counts sends, and says so at the end. */
#include <stdio.h>

#include <mpi.h>

static int n_sends;

int MPI_Send(const void *p, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
    n_sends++;
    return PMPI_Send(p, n, t, to, tag, comm);
}

int MPI_Finalize(void)
{
    printf("the other tool saw %d sends\n", n_sends);
    return PMPI_Finalize();
}
