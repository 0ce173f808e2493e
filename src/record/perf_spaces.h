/* SPDX-License-Identifier: Apache-2.0
 * perf_spaces.h - where code lies in each process, as forks, execs and mappings come by in the order of time. */
#ifndef HU_RECORD_PERF_SPACES_H
#define HU_RECORD_PERF_SPACES_H

#include "base/arena.h"
#include "base/map.h"

typedef struct {
    uint64_t start, end, offset; /* offset: in the file of the module */
    uint32_t module;
} hu_perf_place;

typedef struct {
    HU_VEC(hu_perf_place) places; /* by start; they never overlap */
    uint32_t owners;              /* processes that share it since a fork */
} hu_perf_space;

typedef struct {
    hu_arena *arena;
    hu_map    space_of; /* pid: index of spaces */
    HU_VEC(hu_perf_space) spaces;
    HU_VEC(uint32_t) unused; /* spaces without an owner */
    uint64_t dropped;        /* mappings beyond the limit of one process */
} hu_perf_spaces;

/* All of these: false when there is no memory. */
bool hu_perf_spaces_init(hu_perf_spaces *s, hu_arena *arena);
bool hu_perf_spaces_fork(hu_perf_spaces *s, uint32_t parent, uint32_t child);
bool hu_perf_spaces_clear(hu_perf_spaces *s, uint32_t pid); /* an exec, or the end */
bool hu_perf_spaces_map(hu_perf_spaces *s, uint32_t pid, const hu_perf_place *place);

/* The mapping that holds an address; NULL: none is known. */
const hu_perf_place *hu_perf_spaces_find(const hu_perf_spaces *s, uint32_t pid, uint64_t address);

#endif
