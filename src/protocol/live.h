/* SPDX-License-Identifier: Apache-2.0
 * live.h - what a running job tells the monitor of its node: a datagram for each process, again and again.
 *
 * All counts and times in it are totals since the process began, so that a datagram that is lost takes nothing with it, and
 * a monitor that was started late knows as much as one that was always there.  The sender never waits: a socket that is
 * full or absent costs a failed call.  The receiver believes none of it without looking: who sent it comes from the kernel
 * (SCM_CREDENTIALS), counts may only rise, and every number has a limit.
 *
 * Senders: `holdup run` for the processes that it supervises (record/live.c), which only store into memory that it maps,
 * and the Python package for a process without a recorder (python/holdup/_live.py), which has the same layout in `struct`.
 */
#ifndef HU_PROTOCOL_LIVE_H
#define HU_PROTOCOL_LIVE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The socket, a Unix datagram socket: $HOLDUP_JOB_SOCKET ("0": send nothing), else both of those that exist:
 * HU_LIVE_SOCKET (a monitor of the node's administrator) and $XDG_RUNTIME_DIR HU_LIVE_SOCKET_OF_USER.
 */
#define HU_LIVE_VARIABLE       "HOLDUP_JOB_SOCKET"
#define HU_LIVE_SOCKET         "/run/holdup/job.sock"
#define HU_LIVE_SOCKET_OF_USER "/holdup/job.sock"

#define HU_LIVE_MAGIC 0x3145564cu /* "LVE1" */

enum {
    HU_LIVE_VERSION = 1,
    HU_LIVE_PERIOD_MS = 500, /* between two datagrams of a process; a receiver takes three without one for silence */
    HU_LIVE_JOB_BYTES = 64,
    HU_LIVE_STEP_BYTES = 16,
    HU_LIVE_NAME_BYTES = 64,
};

/*
 * What the thread that makes the steps did in them.  Each instant of a step counts once, for the innermost of what was open:
 * a wait for a collective inside of the backward pass is communication.  What no row covers is the rest of the step.
 * Between two steps nothing is counted.
 */
/* clang-format off */
/* L(id, name, help) */
#define HU_LIVE_CAUSES(L)                                                                                            \
    L(DATA, "data-loading", "waiting for the next batch, or making it")                                              \
    L(COMMUNICATION, "communication", "waiting in collectives and messages, which nothing else hides")               \
    L(CHECKPOINT, "checkpoint", "writing the state")                                                                 \
    L(TRANSFER, "copies", "bringing the batch to the device")                                                        \
    L(DEVICE, "device-wait", "waiting for the device: what it computes is the step")                                 \
    L(FORWARD, "forward", "the forward pass on the host, but for the above")                                         \
    L(BACKWARD, "backward", "the backward pass on the host, but for the above")                                      \
    L(OPTIMIZER, "optimizer", "the optimizer on the host, but for the above")
/* clang-format on */

typedef enum {
#define L(id, name, help) HU_LIVE_##id,
    HU_LIVE_CAUSES(L)
#undef L
        HU_LIVE_CAUSE_COUNT
} hu_live_cause;

/* Upper limits of the step times that are counted together, in us; one more count holds what is longer. */
/* clang-format off */
#define HU_LIVE_LIMITS_US(U)                                                                      \
    U(100) U(250) U(500) U(1000) U(2500) U(5000) U(10000) U(25000) U(50000) U(100000) U(250000)   \
    U(500000) U(1000000) U(2500000) U(5000000) U(10000000) U(25000000) U(50000000) U(100000000)   \
    U(250000000) U(500000000) U(1000000000)
/* clang-format on */

enum {
#define U(us) +1
    HU_LIVE_LIMITS = 0 HU_LIVE_LIMITS_US(U),
#undef U
    HU_LIVE_CAUSES_ROOM = 16 /* of the datagram: later versions may have more causes */
};

/* Little-endian, in the order of the members, without gaps.  A longer datagram is of a later version: its head is read. */
typedef struct {
    uint32_t magic;
    uint16_t version, bytes;
    uint32_t pid;      /* as the sender sees it */
    uint32_t measured; /* bits of hu_live_cause: recorded in this process; what is not is absent, not 0 */
    uint64_t began; /* of the process: field 22 of /proc/PID/stat; with the pid, it is who this is, whatever it executes */
    uint64_t sequence; /* of this datagram: one that is not newer than the last is dropped */
    int64_t  sent_ns;  /* CLOCK_REALTIME */

    int32_t rank, local_rank, world_size, local_size; /* -1: not known */
    char    job_id[HU_LIVE_JOB_BYTES];                /* of the scheduler, else of the launcher, else of the run; "" */
    char    step_id[HU_LIVE_STEP_BYTES];
    char    name[HU_LIVE_NAME_BYTES]; /* of the program: "train.py" */

    uint64_t steps;           /* that are over */
    uint64_t step_ns;         /* that they took */
    int64_t  step_number;     /* of the one that runs; -1: none runs */
    int64_t  step_since_ns;   /* CLOCK_REALTIME: when it began; 0: none runs */
    int64_t  last_step_ns;    /* CLOCK_REALTIME: when the last one ended; 0: none did */
    uint32_t now, is_over;    /* hu_live_cause that is open + 1, 0: none; the process has ended as it wanted to */
    int64_t  now_since_ns;    /* CLOCK_REALTIME: since when */
    uint64_t samples, tokens; /* that the program has counted (holdup_count); 0: not told */
    uint64_t checkpoints;     /* that are written, in steps or not */
    uint64_t cause_ns[HU_LIVE_CAUSES_ROOM]; /* of the steps that are over, as step_ns: all of them together are not more */
    uint64_t histogram[HU_LIVE_LIMITS + 1]; /* steps by the limit that they are not above: of each alone, not added up */
} hu_live_datagram;

_Static_assert(sizeof(hu_live_datagram) == 280 + 8 * (HU_LIVE_CAUSES_ROOM + HU_LIVE_LIMITS + 1),
               "no gaps: others write it, too");

#endif
