/* SPDX-License-Identifier: Apache-2.0
 * mpi_module.c - libholdup-mpi.so: the few calls of MPI that a crew of processes needs (job/crew.h).
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

/* Processors that any process of this machine may run on, divided by those processes: whether each is bound to its own or
   all may use all, together they start as many threads as there are processors. */
static int share_processors(void)
{
    cpu_set_t mine, all;
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

extern const hu_mpi_module hu_mpi_module_v1;

const hu_mpi_module hu_mpi_module_v1 = {HU_MPI_MODULE_VERSION, start, send, receive, finish, stop_all};
