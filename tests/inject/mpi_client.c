/* SPDX-License-Identifier: Apache-2.0
 * mpi_client.c - one of nearly every kind of call on four ranks; says what came out, and how often it called what.
 *
 * tests/test_mpi_door.py knows the bytes and peers that must be recorded.  An argument: a folder for a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#define DO(name, ...) (count("MPI_" #name), check(#name, MPI_##name(__VA_ARGS__)))

static struct {
    const char *name;
    int         n;
} counts[256];
static int rank, size, n_counts;

static void count(const char *name)
{
    int i = 0;

    while (i < n_counts && strcmp(counts[i].name, name) != 0)
        i++;
    if (i == n_counts)
        counts[n_counts++].name = name;
    counts[i].n++;
}

static void check(const char *name, int rc)
{
    if (rc != MPI_SUCCESS) {
        printf("%s failed on %d\n", name, rank);
        exit(1);
    }
}

static long sum(const int *p, int n)
{
    long s = 0;

    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}

static void messages(void)
{
    const int   next = (rank + 1) % size, before = (rank + size - 1) % size;
    int         data[100], got[100], flag = 0, index, many, which[4];
    MPI_Status  status, statuses[4];
    MPI_Request requests[4];
    MPI_Message message;

    for (int i = 0; i < 100; i++)
        data[i] = rank * 1000 + i;
    DO(Sendrecv, data, 100, MPI_INT, next, 1, got, 100, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    DO(Sendrecv_replace, data, 10, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, &status);
    printf("%d sendrecv %ld %d %d\n", rank, sum(got, 100), status.MPI_SOURCE, status.MPI_TAG);
    if (rank == 0) { /* from anybody, of any tag, and the program does not want to know */
        for (int i = 1; i < size; i++)
            DO(Recv, got, 100, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i < size; i++) {
            DO(Recv, got, 100, MPI_INT, i, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &many);
            if (many != 50 || status.MPI_TAG != 8)
                printf("wrong: %d of tag %d\n", many, status.MPI_TAG);
        }
    } else {
        DO(Ssend, data, 30 + rank, MPI_INT, 0, 7, MPI_COMM_WORLD);
        DO(Send, data, 50, MPI_INT, 0, 8, MPI_COMM_WORLD);
    }
    DO(Barrier, MPI_COMM_WORLD);
    DO(Irecv, got, 100, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[0]);
    DO(Isend, data, 25, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[1]);
    DO(Wait, &requests[0], &status);
    DO(Wait, &requests[1], MPI_STATUS_IGNORE);
    printf("%d wait %d %d %ld\n", rank, status.MPI_SOURCE, requests[0] == MPI_REQUEST_NULL, sum(got, 25));
    for (int i = 0; i < 2; i++) {
        DO(Irecv, got + 10 * i, 10, MPI_INT, before, 4 + i, MPI_COMM_WORLD, &requests[i]);
        DO(Isend, data, 10, MPI_INT, next, 4 + i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    DO(Waitall, 4, requests, statuses);
    DO(Irecv, got, 10, MPI_INT, before, 6, MPI_COMM_WORLD, &requests[0]);
    DO(Issend, data, 10, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[1]);
    DO(Waitany, 2, requests, &index, &status);
    DO(Waitsome, 2, requests, &many, which, statuses);
    printf("%d some %d\n", rank, many);
    DO(Send_init, data, 5, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[0]);
    DO(Recv_init, got, 5, MPI_INT, before, 9, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        DO(Startall, 2, requests);
        DO(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    }
    DO(Start, &requests[0]);
    DO(Start, &requests[1]);
    DO(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    DO(Request_free, &requests[0]);
    DO(Request_free, &requests[1]);
    DO(Isend, data, 4, MPI_INT, next, 10, MPI_COMM_WORLD, &requests[0]);
    DO(Probe, before, 10, MPI_COMM_WORLD, &status);
    DO(Mprobe, before, 10, MPI_COMM_WORLD, &message, &status);
    DO(Mrecv, got, 4, MPI_INT, &message, &status);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); /* not counted: how often is chance */
    DO(Send, data, 3, MPI_INT, MPI_PROC_NULL, 11, MPI_COMM_WORLD);
    DO(Recv, got, 3, MPI_INT, MPI_PROC_NULL, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    int         mine[64], all[256], numbers[4], places[4], request_done = 0;
    MPI_Request request;

    for (int i = 0; i < 64; i++)
        mine[i] = rank + i;
    for (int i = 0; i < 4; i++) {
        numbers[i] = i + 1;
        places[i] = 16 * i;
    }
    DO(Bcast, mine, 64, MPI_INT, 1, MPI_COMM_WORLD);
    DO(Reduce, mine, all, 64, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    DO(Allreduce, mine, all, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    DO(Allreduce, MPI_IN_PLACE, all, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    printf("%d allreduce %ld\n", rank, sum(all, 64));
    /* what counts at the root alone is nonsense elsewhere */
    DO(Gather, mine, 16, MPI_INT, rank == 3 ? all : NULL, rank == 3 ? 16 : -1, rank == 3 ? MPI_INT : MPI_DATATYPE_NULL, 3,
       MPI_COMM_WORLD);
    if (rank == 3)
        DO(Gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 16, MPI_INT, 3, MPI_COMM_WORLD);
    else
        DO(Gather, mine, 16, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 3, MPI_COMM_WORLD);
    DO(Gatherv, mine, rank + 1, MPI_INT, all, rank == 0 ? numbers : NULL, rank == 0 ? places : NULL, MPI_INT, 0,
       MPI_COMM_WORLD);
    if (rank == 0)
        DO(Scatter, all, 4, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    else
        DO(Scatter, NULL, 0, MPI_DATATYPE_NULL, mine, 4, MPI_INT, 0, MPI_COMM_WORLD);
    DO(Scatterv, all, rank == 0 ? numbers : NULL, rank == 0 ? places : NULL, MPI_INT, mine, rank + 1, MPI_INT, 0,
       MPI_COMM_WORLD);
    DO(Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 16, MPI_INT, MPI_COMM_WORLD);
    DO(Allgatherv, mine, rank + 1, MPI_INT, all, numbers, places, MPI_INT, MPI_COMM_WORLD);
    DO(Alltoall, mine, 4, MPI_INT, all, 4, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        numbers[i] = 2;
    DO(Alltoallv, mine, numbers, places, MPI_INT, all, numbers, places, MPI_INT, MPI_COMM_WORLD);
    DO(Reduce_scatter, mine, all, numbers, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    DO(Reduce_scatter_block, mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    DO(Scan, mine, all, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    DO(Exscan, mine, all, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    DO(Iallreduce, mine, all, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    DO(Ibarrier, MPI_COMM_WORLD, &request);
    while (!request_done)
        MPI_Test(&request, &request_done, MPI_STATUS_IGNORE);
    printf("%d collectives %ld\n", rank, sum(all, 4));
}

static void communicators(void)
{
    MPI_Comm half, copy, pair, grid;
    int      value = rank, got = -1, dims[2] = {2, 2}, around[2] = {0, 0};

    DO(Comm_split, MPI_COMM_WORLD, rank % 2, rank, &half);
    DO(Comm_split, MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, -rank, &pair);
    DO(Comm_dup, half, &copy);
    if (rank < 2)
        DO(Send, &value, 1, MPI_INT, 1, 20, copy);
    else
        DO(Recv, &got, 1, MPI_INT, MPI_ANY_SOURCE, 20, copy, MPI_STATUS_IGNORE);
    DO(Allreduce, &value, &got, 1, MPI_INT, MPI_SUM, half);
    printf("%d half %d\n", rank, got);
    DO(Comm_free, &copy);
    DO(Comm_dup, MPI_COMM_WORLD, &copy);
    DO(Barrier, copy);
    DO(Comm_free, &copy);
    if (pair != MPI_COMM_NULL) {
        DO(Bcast, &value, 1, MPI_INT, 0, pair);
        DO(Comm_free, &pair);
    }
    DO(Comm_free, &half);
    DO(Cart_create, MPI_COMM_WORLD, 2, dims, around, 0, &grid);
    DO(Neighbor_allgather, &value, 0, MPI_INT, &got, 0, MPI_INT, grid);
    DO(Comm_free, &grid);
    DO(Barrier, MPI_COMM_SELF);
}

static void memory(void)
{
    int     window[8] = {0}, value = rank + 1, old;
    MPI_Win win;

    DO(Win_create, window, sizeof window, sizeof *window, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    DO(Win_fence, 0, win);
    DO(Put, &value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    DO(Accumulate, &value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    DO(Win_fence, 0, win);
    DO(Win_lock, MPI_LOCK_SHARED, 0, 0, win);
    DO(Get, &old, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    DO(Win_unlock, 0, win);
    printf("%d window %d %d\n", rank, window[0], old);
    DO(Win_free, &win);
}

static void files(const char *folder)
{
    char       path[256];
    int        value[16], got[16];
    MPI_File   file;
    MPI_Status status;

    snprintf(path, sizeof path, "%s/mpi.data", folder);
    for (int i = 0; i < 16; i++)
        value[i] = rank;
    DO(File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    DO(File_write_at_all, file, (MPI_Offset)(rank * sizeof value), value, 16, MPI_INT, MPI_STATUS_IGNORE);
    DO(File_sync, file);
    DO(Barrier, MPI_COMM_WORLD);
    /* the last one asks for more than there is */
    DO(File_read_at, file, (MPI_Offset)(rank * sizeof value + (rank == size - 1 ? 32 : 0)), got, 16, MPI_INT, &status);
    printf("%d file %d\n", rank, got[0]);
    DO(File_close, &file);
}

int main(int argc, char **argv)
{
    int provided;

    DO(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages();
    collectives();
    communicators();
    memory();
    if (argc > 1)
        files(argv[1]);
    count("MPI_Finalize");
    check("Finalize", MPI_Finalize());
    for (int i = 0; i < n_counts; i++)
        printf("COUNT %d %s %d\n", rank, counts[i].name, counts[i].n);
    return 0;
}
