/* SPDX-License-Identifier: Apache-2.0
 * trouble.c - a library to preload: MPI as it is on a bad day.  TROUBLE names what happens to the rank TROUBLE_RANK in its
 * TROUBLE_CALL-th call: stop, kill and term in an all-reduce, stop-send in a send; and in each: wrong (one element
 * of an all-reduce), slow (sends). */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_here(const char *what)
{
    const char *trouble = getenv("TROUBLE");
    int         rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return trouble && strcmp(trouble, what) == 0 && rank == atoi(getenv("TROUBLE_RANK"));
}

static int is_time(void)
{
    static int calls;

    return ++calls == atoi(getenv("TROUBLE_CALL"));
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rc;

    if (is_here("stop") && is_time())
        raise(SIGSTOP);
    if (is_here("kill") && is_time())
        raise(SIGKILL);
    if (is_here("term") && is_time())
        raise(SIGTERM);
    rc = PMPI_Allreduce(in, out, n, type, op, comm);
    if (type == MPI_FLOAT && is_here("wrong"))
        ((float *)out)[n - 1] += 1;
    return rc;
}

int MPI_Send(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (is_here("stop-send") && is_time())
        raise(SIGSTOP);
    if (is_here("slow") && n > 100000)
        usleep(20000);
    return PMPI_Send(bytes, n, type, to, tag, comm);
}
