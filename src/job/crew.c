/* SPDX-License-Identifier: Apache-2.0
 * crew.c - messages between the processes; how they were started is not its business (cli/join.c). */
#include "job/crew.h"

#include <stdlib.h>

#include "base/thread.h"

int hu_crew_leave(hu_crew *crew, int status)
{
    if (!crew)
        return status;
    if (crew->rank == 0) {
        for (int p = 1; p < crew->size; p++)
            crew->mpi->send(&(char){0}, 1, p);
    } else if (!crew->is_over && hu_crew_await(crew)) {
        const hu_error err = {.code = HU_EIO, .text = "process 0 waits for this one, which failed"};

        crew->give_up(crew, &err);
    }
    crew->mpi->finish();
    return crew->rank == 0 ? status : 0;
}

int hu_crew_rank(const hu_crew *crew)
{
    return crew ? crew->rank : 0;
}

int hu_crew_size(const hu_crew *crew)
{
    return crew ? crew->size : 1;
}

bool hu_crew_is_first(const hu_crew *crew)
{
    return hu_crew_rank(crew) == 0;
}

int hu_crew_threads(const hu_crew *crew)
{
    const int n = hu_thread_count();

    return crew && crew->threads < n && !getenv("HOLDUP_THREADS") ? crew->threads : n;
}

int hu_crew_threads_alone(const hu_crew *crew)
{
    if (hu_crew_size(crew) == 1 || getenv("HOLDUP_THREADS"))
        return hu_crew_threads(crew);
    crew->mpi->take_processors();
    return hu_thread_count_in("");
}

void hu_crew_call(hu_crew *crew)
{
    for (int p = 1; p < hu_crew_size(crew); p++)
        crew->mpi->send(&(char){1}, 1, p);
}

bool hu_crew_await(hu_crew *crew)
{
    char there_is;

    crew->mpi->receive(&there_is, 1, 0);
    crew->is_over = !there_is;
    return there_is;
}

void hu_crew_send(hu_crew *crew, int to, hu_str bytes)
{
    const uint64_t n = bytes.n;

    crew->mpi->send(&n, sizeof n, to);
    crew->mpi->send(bytes.p, bytes.n, to);
}

int hu_crew_receive(hu_crew *crew, int from, hu_arena *arena, hu_str *out, hu_error *err)
{
    uint64_t n;
    char    *bytes;

    crew->mpi->receive(&n, sizeof n, from);
    bytes = hu_arena_alloc(arena, n + 1);
    if (!bytes)
        return hu_fail_memory(err);
    crew->mpi->receive(bytes, n, from);
    *out = (hu_str){bytes, n};
    return 0;
}
