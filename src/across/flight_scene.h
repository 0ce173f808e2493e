/* SPDX-License-Identifier: Apache-2.0
 * flight_scene.h - the dumps of a job, indexed: process groups, their members, and calls by group and number. */
#ifndef HU_ACROSS_FLIGHT_SCENE_H
#define HU_ACROSS_FLIGHT_SCENE_H

#include "across/flight.h"

typedef const hu_flight_entry *hu_flight_entry_at;

/* A process group, as all dumps together show it. */
typedef struct {
    hu_str          name, about;
    const int64_t  *ranks; /* of its members */
    size_t          n;
    bool            knows_members;
    int64_t         size;   /* as gathers show it; 0: they do not */
    int64_t         stuck;  /* the first number that somebody waits in; INT64_MAX: nobody waits */
    int64_t         newest; /* the highest number */
    int64_t         differs;
    hu_flight_cause difference;
    size_t          which;    /* of the coalesced calls that share the number */
    int64_t         since_ns; /* the first call of the number in question */
} hu_flight_pg;

/* Collectives of one rank by group and number. */
typedef struct {
    hu_flight_entry_at *at;
    size_t              n;
} hu_flight_calls;

typedef struct {
    hu_flight_dump *dumps; /* by rank */
    size_t          n;
    hu_arena       *arena;
    HU_VEC(hu_flight_pg) groups;
    hu_flight_calls *calls;     /* of each dump */
    bool            *is_behind; /* of each dump: others went on beyond its end; NULL: not looked for */
    bool             has_memory;
    bool             is_beyond; /* there are more groups */
} hu_flight_scene;

/* Fills *s, which lives in `arena` and points into `dumps`; sets `place` of their entries.  0, HU_ENOMEM or HU_ELIMIT. */
int hu_flight_scene_build(hu_flight_dump *dumps, size_t n, hu_arena *arena, hu_flight_scene *s, hu_error *err);

/* The first call of (group, number) or what would follow it; *n how many calls share that number (coalesced ones). */
hu_flight_entry_at *hu_flight_find(const hu_flight_calls *c, uint32_t place, int64_t sequence, size_t *n);

/* The call with this number, the last one of a coalesced group, whose state is that of all; NULL: none. */
hu_flight_entry_at hu_flight_call_of(const hu_flight_calls *c, uint32_t place, int64_t sequence);

bool hu_flight_is_member(const hu_flight_pg *g, int64_t rank);

/* The dump of a rank; NULL: none. */
hu_flight_dump *hu_flight_dump_of(const hu_flight_scene *s, int64_t rank);

const hu_flight_calls *hu_flight_calls_of(const hu_flight_scene *s, const hu_flight_dump *d);

#endif
