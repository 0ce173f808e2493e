/* SPDX-License-Identifier: Apache-2.0
 * mpi.h - what the files of the MPI door share: the library, its handles as 64-bit words, communicators and requests.
 *
 * We know neither MPI's headers nor which library it is until it is called.  Arguments pass through us as words of 64
 * bits: where a handle is an int (MPICH), its upper half is whatever the caller left there, and is ours to ignore.
 */
#ifndef HU_INJECT_MPI_H
#define HU_INJECT_MPI_H

#include <stdbool.h>

#include "inject/ring.h"
#include "protocol/mpi_calls.h"

typedef uint64_t hu_word; /* an argument of any type */

/* mpi_abi.c */
typedef enum { HU_MPI_UNKNOWN, HU_MPI_OPEN, HU_MPI_CH /* and Intel MPI, MVAPICH, Cray: one ABI */ } hu_mpi_abi;

typedef struct {
    hu_mpi_abi abi;
    bool       is_ready; /* between MPI_Init and MPI_Finalize: it may be asked */
    int32_t    proc_null, any_source, any_tag, undefined, root;
    uint32_t   source_at, tag_at, status_bytes; /* of an MPI_Status */
    hu_word    world, self, comm_null, type_null;
    hu_word    empty_request, fortran_empty_request; /* Open MPI's; the other language knows it by a number */
    int32_t    rank, size;                           /* of MPI_COMM_WORLD; -1: not known */
    /* The library's own functions that we ask. */
    int (*initialized)(int *flag);
    int (*type_size)(hu_word type, int *bytes);
    int (*comm_rank)(hu_word comm, int *rank);
    int (*comm_size)(hu_word comm, int *size);
    int (*comm_group)(hu_word comm, hu_word *group);
    int (*comm_remote_group)(hu_word comm, hu_word *group);
    int (*comm_test_inter)(hu_word comm, int *flag);
    int (*group_size)(hu_word group, int *size);
    int (*group_translate)(hu_word from, int n, const int *ranks, hu_word to, int *out);
    int (*group_free)(hu_word *group);
    hu_word (*comm_f2c)(int comm);
    hu_word (*type_f2c)(int type);
    hu_word (*win_f2c)(int win);
    hu_word (*file_f2c)(int file);
} hu_mpi;

extern hu_mpi hu_the_mpi;

void   *hu_mpi_next(const char *name);   /* what the program would have called, or the library's PMPI_; NULL: no MPI */
hu_word hu_mpi_object(const char *name); /* address of an exported variable; 0: there is none */
void    hu_mpi_starts(void);             /* MPI_Init returned, or a call came that we did not see it before */
void    hu_mpi_ends(void);
hu_word hu_mpi_handle(hu_word word); /* as the library sees it: the lower half where a handle is an int */
hu_word hu_mpi_handle_at(hu_word address);
bool    hu_mpi_is_shared_request(hu_word handle); /* one that many calls are given, because they are over */
bool    hu_mpi_is_own_address(hu_word buffer);    /* MPI_IN_PLACE, in C or in Fortran */

typedef struct {
    int32_t source, tag;
    int64_t bytes; /* -1: not told */
} hu_mpi_status;

hu_mpi_status hu_mpi_status_read(const void *status);

/* mpi_comms.c: communicators, and the windows and files that belong to one. */
typedef enum { HU_MPI_A_COMM, HU_MPI_A_WINDOW, HU_MPI_A_FILE } hu_mpi_thing;

typedef struct {
    uint32_t text; /* "MPI_COMM_WORLD", "MPI_COMM_WORLD[0,2]#1"; 0: not known */
    int32_t  size; /* whom a rank may name: of the other group where there are two */
    bool     is_world;
} hu_mpi_comm;

void        hu_mpi_comms_start(void);
hu_mpi_comm hu_mpi_comm_get(hu_mpi_thing thing, hu_word handle);
int32_t     hu_mpi_comm_world_rank(hu_word comm, int32_t rank); /* -1: not known */
void        hu_mpi_comm_made(hu_word comm); /* a call that all its members made in the same order gave it */
void        hu_mpi_comm_lend(hu_mpi_thing thing, hu_word handle, hu_word comm);
void        hu_mpi_comm_drop(hu_mpi_thing thing, hu_word handle);

/* mpi_requests.c: what a request is about, until it is over. */
typedef struct {
    int64_t  bytes;
    uint32_t comm;      /* text */
    int32_t  peer, tag; /* peer: of the communicator; HU_MPI_NOBODY: none, or any */
    int32_t  world_peer;
    uint16_t call;
    bool     is_receive, is_persistent;
} hu_mpi_request;

enum { HU_MPI_NOBODY = INT32_MIN };

void hu_mpi_request_made(hu_word handle, const hu_mpi_request *request);
bool hu_mpi_request_get(hu_word handle, hu_mpi_request *request);
void hu_mpi_request_over(hu_word handle, bool is_given_back);

/* mpi.c, for both languages.  A call between its two sides. */
enum { HU_MPI_REQUESTS_MAX = 128, HU_MPI_STATUS_WORDS = 16 }; /* requests that one wait is looked into for */

typedef struct { /* not initialised: most calls need none of it */
    hu_word requests[HU_MPI_REQUESTS_MAX];
    hu_word status[HU_MPI_STATUS_WORDS];
} hu_mpi_room;

typedef struct {
    uint16_t       call;
    bool           is_fortran, has_fortran_status;
    bool           is_last;                   /* it will not return */
    bool           is_timed_only, is_entered; /* for a monitor: nothing of it is recorded; it is counted */
    const char    *arguments;                 /* letters: protocol/mpi_calls.h */
    hu_word       *a;
    uint64_t       since;
    const hu_word *requests; /* that it was given: handles before the call */
    uint32_t       n_requests, total_requests;
    hu_word        message;    /* that a call of matched receives was given; 0: none */
    hu_word        given_back; /* a communicator, window or file; 0: none */
    hu_mpi_thing   thing;
    hu_mpi_comm    comm; /* ... and whose it was */
} hu_mpi_frame;

static inline int32_t hu_mpi_int_at(hu_word address)
{
    return *(const int32_t *)(uintptr_t)address;
}

void *hu_mpi_function(uint16_t call); /* of C; NULL: a note was written */
bool  hu_mpi_is_quiet(uint16_t call); /* nothing to do but to call the next one */
void  hu_mpi_before(hu_mpi_frame *f, hu_mpi_room *room);
void  hu_mpi_after(hu_mpi_frame *f, int rc);

#endif
