/* SPDX-License-Identifier: Apache-2.0
 * outsiders.h - processes of the job that the recorder is not in: who they are, and why.
 *
 * A program without the recorder leaves no ring, and nobody would miss it.  So the supervisor looks now and then at all
 * that descends from the command: whatever lives for HU_OUTSIDERS_LEAST_NS without a ring is written down.
 */
#ifndef HU_RECORD_OUTSIDERS_H
#define HU_RECORD_OUTSIDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/str.h"

enum { HU_OUTSIDERS_LEAST_NS = 80000000 };

/* The words follow the name of a process and "not recorded from inside: ". */
#define HU_OUTSIDERS(R)                                                                                         \
    R(UNKNOWN, "not known why")                                                                                 \
    R(STATIC, "statically linked, so nothing can be loaded into it")                                            \
    R(PRIVILEGED, "set-uid, set-gid or with file capabilities, so its loader ignores LD_PRELOAD")               \
    R(NO_LIBRARY, "its root directory does not hold libholdup-inject.so")                                       \
    R(CLOSED_LIBRARY, "its user may not read libholdup-inject.so; install holdup where every user can read it") \
    R(ENVIRONMENT, "started without the recorder in LD_PRELOAD")                                                \
    R(LOADER, "its loader did not take libholdup-inject.so: another architecture or C library")                 \
    R(USER, "its user may not open the session's directory")                                                    \
    R(ROOT, "its root directory does not hold the session's directory")                                         \
    R(HIDDEN, "another user's, and this user may not look into it")

typedef enum {
#define R(id, words) HU_OUTSIDER_##id,
    HU_OUTSIDERS(R)
#undef R
        HU_OUTSIDER_REASONS
} hu_outsider_reason;

const char *hu_outsider_words(uint32_t reason);

/* The file `outsiders` of a session: such rows. */
typedef struct {
    uint32_t pid, ppid, uid, reason; /* hu_outsider_reason */
    int64_t  first_ns, last_ns;      /* CLOCK_MONOTONIC: the program was seen; since its start where that was seen */
    int64_t  cpu_ns;                 /* of all its threads, to 10 ms */
    char     name[16];               /* comm, without secrets */
} hu_outsider;

_Static_assert(sizeof(hu_outsider) == 56, "rows stay aligned");

typedef struct hu_outsiders hu_outsiders;

/* `library`: the recorder's file; `command`: not yet reaped.  NULL: it cannot be done. */
hu_outsiders *hu_outsiders_start(const char *session, const char *library, pid_t command);

/* Looks when it is time to: every 50 ms, or less often, so that it costs 1 % of a CPU at most. */
void hu_outsiders_round(hu_outsiders *o);

/* The command has ended, and was not waited for yet. */
void hu_outsiders_ended(hu_outsiders *o);

/* Looks a last time, frees.  NULL is fine. */
void hu_outsiders_stop(hu_outsiders *o);

/* The rows of a session into `arena`; 0 where there are none. */
size_t hu_outsiders_read(const char *session, hu_arena *arena, hu_outsider **out);

#endif
