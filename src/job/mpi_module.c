/* SPDX-License-Identifier: Apache-2.0
 * mpi_module.c - libholdup-mpi.so, libholdup-mpich.so: the few calls of MPI that a crew of processes needs (job/crew.h), and
 * those that `holdup doctor --collectives` measures.
 *
 * A receive of MPI spins.  The processes of one machine share its processors with each other's threads, so here whoever
 * waits looks, sleeps, and looks again, at most a millisecond later.
 */
#include "job/mpi_module.h"

#include <mpi.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum { MOST_AT_ONCE = 1 << 30, FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 1000000 };

static cpu_set_t all; /* processors that any process of this machine may run on */

/* These, divided by those processes: whether each is bound to its own or all may use all, together they start as many
   threads as there are processors. */
static int share_processors(void)
{
    cpu_set_t mine;
    MPI_Comm  machine;
    int       n = 1;

    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &n);
    MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, machine);
    MPI_Comm_free(&machine);
    return CPU_COUNT(&all) > n ? CPU_COUNT(&all) / n : 1;
}

/* A launcher binds each process to its own.  Threads that this one starts from now on have the mask, too. */
static void take_processors(void)
{
    sched_setaffinity(0, sizeof all, &all);
}

static int start(int *rank, int *size, int *threads)
{
    int level;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return -1;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    *threads = share_processors();
    return 0;
}

static void await(MPI_Request *request)
{
    struct timespec nap = {0, FIRST_NAP_NS};
    int             is_done;

    for (MPI_Test(request, &is_done, MPI_STATUS_IGNORE); !is_done; MPI_Test(request, &is_done, MPI_STATUS_IGNORE)) {
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < LONGEST_NAP_NS / 2 ? 2 * nap.tv_nsec : LONGEST_NAP_NS;
    }
}

static void send(const void *bytes, size_t n, int to)
{
    const char *p = bytes;

    for (size_t left = n; left;) {
        const size_t part = left < MOST_AT_ONCE ? left : MOST_AT_ONCE;
        MPI_Request  request;

        MPI_Isend(p, (int)part, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
        await(&request);
        p += part;
        left -= part;
    }
}

static void receive(void *bytes, size_t n, int from)
{
    char *p = bytes;

    for (size_t left = n; left;) {
        const size_t part = left < MOST_AT_ONCE ? left : MOST_AT_ONCE;
        MPI_Request  request;

        MPI_Irecv(p, (int)part, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
        await(&request);
        p += part;
        left -= part;
    }
}

static void finish(void)
{
    MPI_Finalize();
}

static void stop_all(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_reduce(const float *in, float *out, size_t n)
{
    MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_gather(const float *in, float *out, size_t n)
{
    MPI_Allgather(in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, MPI_COMM_WORLD);
}

static void reduce_scatter(const float *in, float *out, size_t n)
{
    MPI_Reduce_scatter_block(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_to_all(const float *in, float *out, size_t n)
{
    MPI_Alltoall(in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, MPI_COMM_WORLD);
}

static void put(const void *bytes, size_t n, int to)
{
    MPI_Send(bytes, (int)n, MPI_BYTE, to, 1, MPI_COMM_WORLD);
}

static void get(void *bytes, size_t n, int from)
{
    MPI_Recv(bytes, (int)n, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void maximum(double *values, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* "Open MPI v4.1.4, package: ..."; MPICH writes a line for each thing, with a tab behind its name. */
static void library(char *out, size_t room)
{
    char   text[MPI_MAX_LIBRARY_VERSION_STRING];
    int    n = 0;
    size_t k = 0;

    MPI_Get_library_version(text, &n);
    for (int i = 0; i < n && text[i] && text[i] != '\n' && text[i] != ','; i++) {
        const char c = text[i] == '\t' || text[i] == ':' ? ' ' : text[i];

        if (k + 1 < room && !(c == ' ' && k && out[k - 1] == ' '))
            out[k++] = c;
    }
    if (room)
        out[k] = '\0';
}

extern const hu_mpi_module hu_mpi_calls;

const hu_mpi_module hu_mpi_calls = {HU_MPI_MODULE_VERSION,
                                    start,
                                    take_processors,
                                    send,
                                    receive,
                                    finish,
                                    stop_all,
                                    barrier,
                                    all_reduce,
                                    all_gather,
                                    reduce_scatter,
                                    all_to_all,
                                    put,
                                    get,
                                    maximum,
                                    library};
