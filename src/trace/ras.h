/* SPDX-License-Identifier: Apache-2.0
 * ras.h - what NCCL's RAS subsystem says of a job: of each communicator, sets of ranks that have something in common.
 *
 * The text names only ranks of small sets and only communicators with trouble; its JSON names all.
 */
#ifndef HU_TRACE_RAS_H
#define HU_TRACE_RAS_H

#include "base/arena.h"

typedef enum {
    HU_RAS_DEAD,   /* cannot be reached any more */
    HU_RAS_SILENT, /* did not answer in time */
    HU_RAS_ERROR,  /* reported an error */
    HU_RAS_STATUS, /* of an initialised, finalised or aborted communicator; NOCOMM: does not know it */
    HU_RAS_COUNT,  /* launched so many operations of a kind */
} hu_ras_kind;

typedef struct {
    int64_t rank; /* in the communicator; -1: a process */
    int64_t pid;  /* -1 unknown */
    hu_str  host, gpu;
} hu_ras_member;

typedef struct {
    hu_ras_kind kind;
    hu_str      what;  /* COUNT: the operation; STATUS, ERROR: the word; else "" */
    int64_t     count; /* COUNT: of operations */
    int64_t     n;     /* members, named or not */
    HU_VEC(hu_ras_member) members;
} hu_ras_set;

typedef struct {
    hu_str  name, hash; /* "#0-1"; of JSON "" */
    int64_t size;       /* ranks; -1 unknown */
    HU_VEC(hu_ras_set) sets;
} hu_ras_comm;

typedef struct {
    hu_arena   *arena; /* holds everything below */
    hu_str      file, version;
    int64_t     written_ns; /* last change of the file; 0 unknown */
    int64_t     n_comms, timeouts;
    bool        is_cut; /* ended before its last section */
    hu_ras_comm job;    /* processes, where the text tells them */
    HU_VEC(hu_ras_comm) comms;
} hu_ras_status;

#endif
