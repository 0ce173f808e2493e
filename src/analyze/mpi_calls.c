/* SPDX-License-Identifier: Apache-2.0
 * mpi_calls.c - names of MPI's interface (MPI 4.1), with and without the I of calls that only start something.
 *
 * Calls that only start something wait elsewhere (MPI_Wait), so a collective of that form is left out: nobody waits in it.
 * A send of that form still says when its sender was there, which is what a receiver that waits needs to know.
 */
#include "analyze/mpi_calls.h"

#include "base/number.h"

/* name without "MPI_", kind, do all wait for all, do all bring as much */
static const struct {
    const char  *name;
    hu_comm_kind kind;
    bool         synchronises, same_bytes;
} calls[] = {
    {"Barrier", HU_COMM_BARRIER, true, true},
    {"Allreduce", HU_COMM_ALL_REDUCE, true, true},
    {"Allgather", HU_COMM_ALL_GATHER, true, true},
    {"Allgatherv", HU_COMM_ALL_GATHER, true, false},
    {"Reduce_scatter", HU_COMM_REDUCE_SCATTER, true, true},
    {"Reduce_scatter_block", HU_COMM_REDUCE_SCATTER, true, true},
    {"Alltoall", HU_COMM_ALL_TO_ALL, true, true},
    {"Alltoallv", HU_COMM_ALL_TO_ALL, true, false},
    {"Alltoallw", HU_COMM_ALL_TO_ALL, true, false},
    {"Bcast", HU_COMM_BROADCAST, false, true},
    {"Scatter", HU_COMM_BROADCAST, false, false},
    {"Scatterv", HU_COMM_BROADCAST, false, false},
    {"Reduce", HU_COMM_REDUCE, false, true},
    {"Gather", HU_COMM_REDUCE, false, false},
    {"Gatherv", HU_COMM_REDUCE, false, false},
    {"Send", HU_COMM_SEND, false, false},
    {"Ssend", HU_COMM_SEND, false, false},
    {"Bsend", HU_COMM_SEND, false, false},
    {"Rsend", HU_COMM_SEND, false, false},
    {"Recv", HU_COMM_RECEIVE, false, false},
    {"Mrecv", HU_COMM_RECEIVE, false, false},
    {"Sendrecv", HU_COMM_EXCHANGE, false, false},
    {"Sendrecv_replace", HU_COMM_EXCHANGE, false, false},
};

static bool is_call(hu_str name, const char *call, bool ignore_case)
{
    const size_t n = strlen(call);

    return name.n == n && (ignore_case ? hu_char_lower(name.p[0]) == hu_char_lower(call[0]) : name.p[0] == call[0]) &&
           memcmp(name.p + 1, call + 1, n - 1) == 0;
}

/* Where the list of members begins: behind the last '['; NULL: there is none. */
static const char *list_of(hu_str comm, const char **end)
{
    for (size_t i = comm.n; i-- > 0;)
        if (comm.p[i] == '[') {
            *end = comm.p + comm.n;
            return comm.p + i + 1;
        }
    return NULL;
}

/* Number `wanted` of a list "0, 4, 8]"; with -1 how many there are.  -1: it does not tell. */
static int64_t member(const char *p, const char *end, int64_t wanted)
{
    int64_t n = 0;

    while (p < end && *p != ']') {
        const char *from;
        int64_t     rank;

        while (p < end && (*p == ',' || *p == ' '))
            p++;
        for (from = p; p < end && *p >= '0' && *p <= '9';)
            p++;
        if (p == from || !hu_parse_i64((hu_str){from, (size_t)(p - from)}, &rank) || rank > INT32_MAX)
            return -1;
        if (n++ == wanted)
            return rank;
    }
    return p < end && wanted < 0 ? n : -1;
}

int32_t hu_mpi_calls_member(hu_str comm, int32_t rank)
{
    const char *end, *p = list_of(comm, &end);

    if (rank < 0)
        return -1;
    if (p)
        return (int32_t)member(p, end, rank);
    return comm.n == 0 || hu_str_equal(comm, HU_STR("MPI_COMM_WORLD")) ? rank : -1;
}

int64_t hu_mpi_calls_size(hu_str comm)
{
    const char *end, *p = list_of(comm, &end);

    return p ? member(p, end, -1) : -1;
}

/* 1 Gbit/s, as an all-reduce uses it: each byte goes out and comes in; the latency is that of a tree of 1,000 ranks. */
int64_t hu_mpi_calls_most_ns(hu_comm_kind kind, int64_t bytes)
{
    enum { LATENCY_NS = 500000, NS_PER_BYTE = 20 };

    if (kind == HU_COMM_BARRIER)
        return LATENCY_NS;
    return bytes < 0 || bytes > INT64_MAX / (2 * NS_PER_BYTE) ? INT64_MAX : LATENCY_NS + NS_PER_BYTE * bytes;
}

bool hu_mpi_calls_is_frame(hu_str name)
{
    static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i])))
            return true;
    return false;
}

bool hu_mpi_calls_starts_or_ends(const hu_ask *ask, uint32_t slice)
{
    return ask->s.kind[slice] == HU_KIND_MPI && hu_mpi_calls_is_frame(hu_ask_name(ask, slice));
}

bool hu_mpi_calls_describe(const hu_trace *trace, const hu_slices *s, uint32_t slice, hu_mpi_call *out)
{
    const hu_mpi_detail *d;
    hu_str               name = hu_trace_text(trace, s->name[slice]);
    bool                 is_posted = false;

    if (s->kind[slice] != HU_KIND_MPI || !hu_str_starts(name, HU_STR("MPI_")) || name.n < 6)
        return false;
    d = s->detail[slice] == HU_NONE ? NULL : hu_trace_mpi_detail(trace, s->detail[slice]);
    name = (hu_str){name.p + 4, name.n - 4};
    if (name.p[0] == 'I' && name.p[1] != 'n') { /* MPI_Init is no call of that form */
        name = (hu_str){name.p + 1, name.n - 1};
        is_posted = true;
    }
    for (size_t i = 0; i < HU_COUNT(calls); i++) {
        const bool is_message = hu_comm_is_message(calls[i].kind);

        if (!is_call(name, calls[i].name, is_posted) || (is_posted && !is_message))
            continue;
        *out = (hu_mpi_call){.kind = calls[i].kind,
                             .synchronises = calls[i].synchronises,
                             .is_posted = is_posted,
                             .same_bytes = calls[i].same_bytes,
                             .group = d ? hu_trace_text(trace, d->comm) : HU_STR(""),
                             .group_size = -1,
                             .peer = -1,
                             .tag = -1,
                             .bytes = d ? d->bytes : -1};
        out->group_size = hu_mpi_calls_size(out->group);
        if (d && is_message && calls[i].kind != HU_COMM_EXCHANGE) {
            out->peer = hu_mpi_calls_member(out->group, d->peer);
            out->tag = d->tag >= 0 ? d->tag : -1;
        }
        if (hu_str_equal(out->group, HU_STR("MPI_COMM_WORLD")))
            out->group_size = hu_trace_get_info(trace)->world_size > 0 ? hu_trace_get_info(trace)->world_size : -1;
        return true;
    }
    return false;
}
