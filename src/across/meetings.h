/* SPDX-License-Identifier: Apache-2.0
 * meetings.h - collectives that were found on all ranks of their group: rendezvous.c matches them, others read them. */
#ifndef HU_ACROSS_MEETINGS_H
#define HU_ACROSS_MEETINGS_H

#include "analyze/digest.h"

/* One rank in a collective: its digest, and the row of that digest's list of calls. */
typedef struct {
    uint32_t digest, call;
} hu_member;

/* Members in the order of digests; meetings of one group stand together, and each has the same digests. */
typedef struct {
    size_t   first; /* of members */
    uint32_t n;
    uint32_t group;    /* a number */
    int64_t  least_ns; /* the shortest time that any of them was in it */
    bool     synchronises;
    bool     is_posted; /* only when it was called is known; then it synchronises nothing that is */
} hu_meeting;

typedef struct {
    hu_digest *const *digests;
    size_t            n_digests;
    HU_VEC(hu_member) members;
    HU_VEC(hu_meeting) list;
} hu_meetings;

static inline const hu_comm_call *hu_meetings_call(const hu_meetings *m, hu_member who)
{
    return &m->digests[who.digest]->comm.calls_at[who.call];
}

static inline int64_t hu_comm_call_end(const hu_comm_call *c)
{
    return c->start_ns + c->dur_ns;
}

/* The first meeting of the next group. */
static inline size_t hu_meetings_next_group(const hu_meetings *m, size_t i)
{
    const uint32_t group = m->list.at[i].group;

    while (i < m->list.n && m->list.at[i].group == group)
        i++;
    return i;
}

#endif
