/* SPDX-License-Identifier: Apache-2.0
 * processes.h - the process images of a session: who made whom, and which rank each belongs to. */
#ifndef HU_RECORD_PROCESSES_H
#define HU_RECORD_PROCESSES_H

#include "base/arena.h"
#include "base/error.h"
#include "record/clock_map.h"
#include "record/outsiders.h"
#include "protocol/format.h"

typedef struct {
    hu_str            path; /* of its ring file, '\0' behind it */
    uint32_t          pid, ppid, doors, clock;
    uint64_t          started, exited;                    /* ticks; exited 0: it was killed, or runs */
    uint32_t          state;                              /* hu_process_state */
    int32_t           rank, local_rank, world_size, node; /* of its environment; -1: not known */
    bool              is_forked, is_alive;                /* is_alive: a process of this number, and this program, runs */
    bool              is_tool;                            /* a profiler's, that runs the program (tools.h) */
    bool              is_outsider;                        /* it has no ring: the recorder was not in it */
    uint64_t          lost[HU_LOSS_REASONS], first_lost, last_lost;
    hu_clock_snapshot begin, end;
    hu_str            name, program, job_id, rank_source, command; /* command: arguments, each ended by '\0' */
    hu_cuda_facts    *cuda;                                        /* how its CUDA door stands; NULL: nothing touched it */
    hu_opencl_facts  *opencl;                                      /* NULL: it did not use OpenCL */
    uint32_t          parent; /* the image that made it, by fork or exec; UINT32_MAX: none of this session */
    int32_t           owner;  /* the rank whose file it belongs to; -1: of none, or of several */
} hu_process_image;

typedef struct {
    hu_str             path;    /* of the session */
    hu_control         control; /* has_control: as it was when it was read */
    bool               has_control;
    hu_process_image  *at; /* by beginning */
    size_t             n;
    int32_t            world_size; /* the largest that a process knows; -1 none does */
    bool               has_ranks;
    hu_clock_map       clock;
    hu_clock_snapshot *snapshots; /* all of them, by ticks; the map has sorted them */
    size_t             n_snapshots;
    hu_outsider       *outsiders; /* as the supervisor saw them */
    size_t             n_outsiders;
    size_t             unreadable; /* ring files that are none */
    char               first_unreadable[512];
} hu_process_list;

/* Reads the heads of all rings of a session, its control page and its clocks.  0 also when there is no ring. */
int hu_processes_read(const char *session, hu_arena *arena, hu_process_list *out, hu_error *err);

/* How long so many ticks are, in ns; 0 where that is not known, HU_TIME_MAX_NS at most. */
int64_t hu_processes_ns(const hu_process_list *list, uint64_t ticks);

/* The image that a process became at `ticks`, by fork (child: its number) or exec (its own); UINT32_MAX: not in the list. */
uint32_t hu_processes_child(const hu_process_list *list, uint32_t pid, uint64_t ticks, bool is_fork, uint32_t parent_pid);

#endif
