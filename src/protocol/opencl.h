/* SPDX-License-Identifier: Apache-2.0
 * opencl.h - what our layer of OpenCL's loader saw, as records of a ring, and how it went, in the head of a ring.
 *
 * A HU_RECORD_OPENCL is a call of the program, written by the thread that made it when the call returned,
 *
 *     time   ticks of its beginning        a   ticks it took
 *     id     the function's name           aux HU_OPENCL_CALL | HU_OPENCL_BLOCKS and so on
 *     b      its number, which is its command's, too | what it returned << 32
 *
 * or a command that a device has completed, written by the thread that asks for the device's times:
 *
 *     time   ticks of the beginning of its call    a   ns that it ran
 *     id     its name                              aux hu_opencl_kind | HU_OPENCL_* of its queue
 *     b      its number | its queue << 32 | its device << 56
 *
 * Behind them, MOREs of their own layout (28 bytes each).  Times of a device are in ns of its own clock.
 *
 *     HU_MORE_OPENCL_QUEUE  of a call: id the queue   a bytes
 *     HU_MORE_OPENCL_WAIT   of a call: id how many (1 to 3)   time, a, b of each command that it, or its
 *                           command, waits for: the number | the queue << 32
 *     HU_MORE_OPENCL_TIMES  of a command: time queued   a submitted   b started
 *     HU_MORE_OPENCL_SIZE   of a kernel: id dimensions   a global x | y << 32   b global z | local x << 32
 *                           time local y | z << 32
 *     HU_MORE_OPENCL_BYTES  of a copy, a fill or a map: a bytes
 */
#ifndef HU_PROTOCOL_OPENCL_H
#define HU_PROTOCOL_OPENCL_H

#include <stdint.h>

/* clang-format off */
typedef enum {
    HU_OPENCL_CALL, HU_OPENCL_KERNEL, HU_OPENCL_COPY, HU_OPENCL_FILL, HU_OPENCL_MAP /* maps, unmaps, migrations */,
    HU_OPENCL_MARKER /* and barriers: no work */, HU_OPENCL_KINDS,
} hu_opencl_kind;
/* clang-format on */

enum {
    HU_OPENCL_KIND_BITS = 4,
    HU_OPENCL_BLOCKS = 1 << 4,       /* of a call: it returns only when its command is complete */
    HU_OPENCL_WAITS_QUEUE = 1 << 5,  /* ... when its queue is empty */
    HU_OPENCL_WAITS_EVENTS = 1 << 6, /* ... when the commands that it names are complete */
    HU_OPENCL_ORDERS = 1 << 7,       /* a barrier: what is enqueued behind it waits for what was before it */
    HU_OPENCL_UNORDERED = 1 << 8,    /* of a command or a call: its queue is out of order */
    HU_OPENCL_ENQUEUES = 1 << 9,     /* of a call: it has a command */
    HU_OPENCL_COMPILES = 1 << 10,    /* of a call: it compiles or links a program */
    HU_OPENCL_DEVICES = 8,
    HU_OPENCL_KNOTS = 64,
    HU_OPENCL_TEXT = 64,
};

typedef struct {
    uint32_t type;     /* of OpenCL: bits of CL_DEVICE_TYPE_*; 2 is the host's own cores */
    uint32_t is_part;  /* 1: a sub-device */
    uint32_t units;    /* of computing */
    uint32_t profiles; /* ns: the resolution of its clock, as it says */
    uint64_t memory_bytes;
    char     name[HU_OPENCL_TEXT];
} hu_opencl_device;

/* The clock of a device read at `ticks`, give or take `error_ticks`. */
typedef struct {
    uint64_t ticks, device_ns;
    uint32_t error_ticks, device;
} hu_opencl_knot;

/* In the head of a ring.  Numbers are of commands. */
typedef struct {
    uint32_t         tid;        /* of the thread that asks for times; 0: none */
    uint32_t         n_devices;  /* that had a queue; those behind HU_OPENCL_DEVICES share the last number */
    uint32_t         n_knots;    /* of all devices */
    uint32_t         has_timer;  /* bits of devices whose clock was read by clGetDeviceAndHostTimer */
    uint64_t         enqueued;   /* by calls that succeeded */
    uint64_t         timed;      /* with times of their device */
    uint64_t         failed;     /* that ended with an error */
    uint64_t         untimed;    /* whose device gave no times, or whose queue takes no profiling */
    uint64_t         crowded;    /* that nobody asked for: too many were incomplete at once */
    uint64_t         unfinished; /* not complete when the program ended */
    uint64_t         strange;    /* in wait lists: events that no call here has made */
    uint64_t         users;      /* in wait lists: events of the program's own */
    uint64_t         asking_ns;  /* CPU time of that thread */
    hu_opencl_device devices[HU_OPENCL_DEVICES];
    hu_opencl_knot   knots[HU_OPENCL_KNOTS];
} hu_opencl_facts;

#endif
