/* SPDX-License-Identifier: Apache-2.0
 * mpi_abort.c - a call that fails and is told, then the end of the job by MPI_Abort; with an argument by a kill. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value = 1, got;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    printf("failed %d\n", MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    fflush(stdout);
    if (rank == 1 && argc > 1) {
        usleep(400000);
        kill(getpid(), SIGKILL);
    }
    usleep(200000); /* mpiexec of MPICH throws away what it has not read when the job aborts */
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
