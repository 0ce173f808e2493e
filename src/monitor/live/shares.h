/* SPDX-License-Identifier: Apache-2.0
 * shares.h - what holds up a job now: where the time of its last steps went, over all of its processes here.
 *
 * Pure functions of what processes told and of the time.  A window begins and ends where a step did, so that it holds whole
 * steps; a step that still runs counts only once it is longer than twice the usual one: then it is what holds the job up,
 * and once it is as long as a window, it is all of it.
 */
#ifndef HU_MONITOR_LIVE_SHARES_H
#define HU_MONITOR_LIVE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/live.h"

#define HU_LIVE_WINDOW_NS INT64_C(5000000000)

/* What can hold up a job: H(id, name).  Forward, backward and optimizer are the host's own work. */
/* clang-format off */
#define HU_LIVE_HOLDUPS(H)             \
    H(DATA, "data-loading")            \
    H(COMMUNICATION, "communication")  \
    H(STRAGGLER, "straggler")          \
    H(CHECKPOINT, "checkpoint")        \
    H(TRANSFER, "copies")              \
    H(DEVICE, "device-wait")           \
    H(HOST, "host")                    \
    H(OTHER, "other")
/* clang-format on */

typedef enum {
#define H(id, name) HU_HOLDUP_##id,
    HU_LIVE_HOLDUPS(H)
#undef H
        HU_HOLDUP_COUNT
} hu_holdup;

extern const char *const hu_holdup_names[HU_HOLDUP_COUNT];

/* Totals at a moment. */
typedef struct {
    int64_t  at_ns; /* CLOCK_REALTIME, as all times here */
    uint64_t steps;
    int64_t  step_ns, cause_ns[HU_LIVE_CAUSE_COUNT];
} hu_live_point;

/* Moments at which steps had ended since the one before: as many as half seconds are in a window, and one before it. */
enum { HU_LIVE_POINTS = 12 };

typedef struct {
    unsigned      n;
    hu_live_point at[HU_LIVE_POINTS];
} hu_live_history;

/* Adds what a datagram says, if a step has ended since the last one. */
void hu_live_history_add(hu_live_history *h, const hu_live_datagram *d);

/* The time of a process's last steps. */
typedef struct {
    bool    is_known;                               /* a whole step was seen */
    bool    is_late;                                /* the step that runs is part of it */
    int64_t step_ns, cause_ns[HU_LIVE_CAUSE_COUNT]; /* causes are together no more than the steps */
    int64_t usual_ns;                               /* median of a step */
} hu_live_window;

/* `d` is the last datagram. */
hu_live_window hu_live_window_of(const hu_live_history *h, const hu_live_datagram *d, int64_t now_ns);

/* One process of a job. */
typedef struct {
    hu_live_window window;
    uint32_t       measured;
    int32_t        rank, world; /* -1: not known */
} hu_live_member;

typedef struct {
    bool   is_known;
    double share[HU_HOLDUP_COUNT]; /* of the step time of all; less than 0: not recorded in all of them */
} hu_live_shares;

/*
 * Of all processes of a job here.  Straggler: what a rank waits longer in communication than the rank that waits least, and
 * only where all ranks of the job are among them, else it is a part of communication.  The shares add up to 1: what is not
 * recorded in all of them is part of `other`.
 */
hu_live_shares hu_live_shares_of(const hu_live_member *members, unsigned n);

/*
 * The largest share of step time that a process of the job waited for data or communication, at most: what is not known to
 * be something else counts where one of the two is not recorded.  Less than 0: not known of all.
 */
double hu_live_waits_most(const hu_live_member *members, unsigned n);

#endif
