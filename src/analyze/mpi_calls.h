/* SPDX-License-Identifier: Apache-2.0
 * mpi_calls.h - calls of MPI as collectives and messages: what they are, with whom, and does the call itself wait. */
#ifndef HU_ANALYZE_MPI_CALLS_H
#define HU_ANALYZE_MPI_CALLS_H

#include "analyze/comm.h"

typedef struct {
    hu_comm_kind kind;
    bool         synchronises; /* nobody leaves it before all have come */
    bool         is_posted;    /* it returns at once (MPI_Isend): its length says nothing of waits */
    bool         same_bytes;   /* all ranks bring as much */
    hu_str       group;        /* the communicator, as recorded */
    int64_t      group_size;   /* ranks; -1 not recorded */
    int32_t      peer;         /* rank of the job; -1 unknown, or no message */
    int32_t      tag;          /* -1 any, or no message */
    int64_t      bytes;        /* -1 not recorded */
} hu_mpi_call;

/* False when it neither is a collective nor sends or receives: MPI_Init, MPI_Wait, MPI_Comm_rank … */
bool hu_mpi_calls_describe(const hu_trace *trace, const hu_slices *s, uint32_t slice, hu_mpi_call *out);

/* What a call of so many bytes takes at most on a network that people run MPI over, in ns; INT64_MAX: bytes not known. */
int64_t hu_mpi_calls_most_ns(hu_comm_kind kind, int64_t bytes);

/* Does this call of MPI start or end the job on its rank?  No computation can hide it: there is none before or behind it. */
bool hu_mpi_calls_is_frame(hu_str name);
bool hu_mpi_calls_starts_or_ends(const hu_ask *ask, uint32_t slice);

/*
 * The rank of the job of member `rank` of a communicator, from a text that holds its members: "[0, 4, 8]", also behind a
 * name.  MPI_COMM_WORLD has its own numbers.  -1: the text does not tell.
 */
int32_t hu_mpi_calls_member(hu_str comm, int32_t rank);

/* How many members such a text holds; -1: it does not tell. */
int64_t hu_mpi_calls_size(hu_str comm);

#endif
