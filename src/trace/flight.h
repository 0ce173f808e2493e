/* SPDX-License-Identifier: Apache-2.0
 * flight.h - dumps of PyTorch's Flight Recorder: what each rank called of its process groups, and how far that got.
 *
 * This is a third model beside hu_trace and hu_operations: a ring of calls for each rank, taken when a job hangs.  A call of
 * a collective has a number that counts the collectives of its group; the ranks of the group give it the same number.
 */
#ifndef HU_TRACE_FLIGHT_H
#define HU_TRACE_FLIGHT_H

#include "base/arena.h"

typedef struct {
    hu_str  function, file;
    int64_t line;
} hu_flight_frame;

typedef struct {
    const hu_flight_frame *at; /* from the innermost on */
    size_t                 n;
} hu_flight_stack;

typedef enum {
    HU_FLIGHT_SCHEDULED, /* called; nothing is known of a start */
    HU_FLIGHT_STARTED,   /* on the device */
    HU_FLIGHT_ENDED,     /* completed; where the backend records no events (gloo) it may also have failed */
} hu_flight_state;

/* Texts live in the arena of the dump. */
typedef struct {
    hu_str                 group, about; /* name and description of the process group */
    hu_str                 backend;      /* "nccl"; "" unknown */
    hu_str                 operation;    /* "all_reduce", "send 0->1" */
    hu_str                 sizes[2];     /* of inputs and of outputs, "[8, 4] [2]"; "" none */
    hu_str                 types[2];     /* "Float" */
    int64_t                elements[2];  /* of all tensors together; -1 unknown */
    const hu_flight_stack *stack;        /* NULL: not recorded; equal stacks of a dump are one */
    int64_t                record;       /* counts the calls of the process; a ring begins with one that is not 0 */
    int64_t                sequence;     /* counts collectives of the group, or sends and receives where is_p2p */
    int64_t                created_ns;   /* wall clock of its machine; 0 unknown */
    int64_t                timeout_ms;
    uint32_t               place; /* of the group, as whoever compares dumps numbers them */
    uint8_t                state; /* hu_flight_state */
    bool                   is_p2p;
} hu_flight_entry;

typedef struct {
    hu_str         name, about;
    const int64_t *ranks; /* ascending */
    size_t         n;
} hu_flight_group;

typedef struct {
    int64_t   rank;
    hu_str    file, version;
    int64_t   written_ns;            /* last change of its file, no earlier than the dump; 0 unknown */
    bool      has_events;            /* false: an ended call may also have failed */
    hu_arena *arena;                 /* holds everything below */
    HU_VEC(hu_flight_entry) entries; /* as recorded */
    HU_VEC(hu_flight_group) groups;
} hu_flight_dump;

#endif
