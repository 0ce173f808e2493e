/* SPDX-License-Identifier: Apache-2.0
 * log_hang.c - ranks count the collectives of a group alike, so who has a smaller number is behind.
 *
 * A rank that enqueued calls behind the one that it waits in does no more than run ahead on the host.  Sends and receives
 * are counted for each pair, so that their numbers tell nothing of other ranks.
 */
#include "analyze/log_hang.h"

#include <stdlib.h>

enum { MOST_GROUPS = 16, MANY = 1024 /* lines, of which one group is enough */ };

static bool is_p2p(const hu_log_timeout *t)
{
    return hu_str_equal(t->operation, HU_STR("send")) || hu_str_equal(t->operation, HU_STR("recv"));
}

static bool is_of_group(const hu_log_timeout *t, hu_str group)
{
    return hu_str_equal(t->group, group);
}

/* Before 2.5 lines of a timeout name no group; the state that follows may. */
static bool may_be_of_group(const hu_log_timeout *t, hu_str group)
{
    return t->group.n == 0 || is_of_group(t, group);
}

/* The call of a group, the furthest of what each rank waits in first; `first` timed out in it. */
static const hu_log_timeout *find_call(const hu_log_timeouts *list, const hu_log_timeout *first)
{
    const hu_log_timeout *best = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const hu_log_timeout *t = &list->at[i];
        bool                  is_first_of_rank = t->timed_out && is_of_group(t, first->group);

        for (size_t k = 0; k < list->n && is_first_of_rank; k++) /* a rank may tell of several */
            is_first_of_rank = list->at[k].rank != t->rank || !list->at[k].timed_out ||
                               !is_of_group(&list->at[k], first->group) || list->at[k].sequence >= t->sequence;
        if (is_first_of_rank && (!best || t->sequence > best->sequence))
            best = t;
    }
    return best;
}

static bool add(hu_log_ranks *ranks, int64_t rank)
{
    size_t at = ranks->n;

    for (size_t i = 0; i < ranks->n; i++)
        if (ranks->at[i] == rank)
            return false;
    for (; at && ranks->at[at - 1] > rank; at--)
        ranks->at[at] = ranks->at[at - 1];
    ranks->at[at] = rank;
    ranks->n++;
    return true;
}

static bool has(const hu_log_ranks *ranks, int64_t rank)
{
    for (size_t i = 0; i < ranks->n; i++)
        if (ranks->at[i] == rank)
            return true;
    return false;
}

static bool differ(const hu_log_timeout *a, const hu_log_timeout *b)
{
    return (a->operation.n && b->operation.n && !hu_str_equal(a->operation, b->operation)) ||
           (a->elements[0] >= 0 && b->elements[0] >= 0 && a->elements[0] != b->elements[0]) ||
           (a->elements[1] >= 0 && b->elements[1] >= 0 && a->elements[1] != b->elements[1]);
}

/* Scatters and gathers have another size on their root. */
static bool has_root(const hu_log_timeout *t)
{
    return hu_str_equal(t->operation, HU_STR("scatter")) || hu_str_equal(t->operation, HU_STR("gather"));
}

/* Numbers of calls of groups that are not known to be one are not compared. */
static void place_unnamed(const hu_log_timeout *t, hu_log_hang *out)
{
    if (t->timed_out && t->sequence == out->call->sequence && !differ(t, out->call))
        add(&out->waiting, t->rank);
    else if (t->timed_out && add(&out->other, t->rank))
        out->first_other = out->first_other ? out->first_other : t;
}

static void place(const hu_log_timeout *t, hu_log_hang *out)
{
    const hu_log_timeout *call = out->call;

    if (call->group.n == 0 || t->group.n == 0) {
        place_unnamed(t, out);
        return;
    }
    if (t->timed_out && t->sequence == call->sequence) {
        if (differ(t, call) && !has_root(call) && add(&out->different, t->rank))
            out->first_different = out->first_different ? out->first_different : t;
        add(&out->waiting, t->rank);
    } else if (t->enqueued >= 0 && t->enqueued < call->sequence) {
        if (add(&out->absent, t->rank))
            out->first_absent = out->first_absent ? out->first_absent : t;
    } else if (t->timed_out && t->sequence >= 0 && t->sequence < call->sequence) {
        if (add(&out->earlier, t->rank))
            out->first_earlier = out->first_earlier ? out->first_earlier : t;
    }
}

/* A rank of several lines is where the latest of them has it. */
static void remove_ranks(hu_log_ranks *from, const hu_log_ranks *those)
{
    size_t n = 0;

    for (size_t i = 0; i < from->n; i++)
        if (!has(those, from->at[i]))
            from->at[n++] = from->at[i];
    from->n = n;
}

static bool is_of_all(const hu_log_timeout *call)
{
    return hu_str_equal(call->about, HU_STR("default_pg")) || (!call->about.n && hu_str_equal(call->group, HU_STR("0")));
}

/* Ranks of the job, as far as NCCL told; 0 unknown. */
static size_t world_of(const hu_step_log *log)
{
    enum { MOST_RANKS = 1 << 14 };

    return log->nccl.ranks <= 0 ? 0 : log->nccl.ranks < MOST_RANKS ? (size_t)log->nccl.ranks : MOST_RANKS;
}

static void find_silent(const hu_step_log *log, hu_log_hang *out)
{
    for (int64_t rank = 0; rank < (int64_t)world_of(log); rank++) {
        bool speaks = false;

        for (size_t i = 0; i < log->timeouts.n && !speaks; i++)
            speaks = log->timeouts.at[i].rank == rank;
        if (!speaks)
            out->silent.at[out->silent.n++] = rank;
    }
}

/* Is there a rank that the others wait for? */
static bool says_who(const hu_log_hang *h)
{
    return h->absent.n || h->earlier.n || h->different.n;
}

/* Of one group.  False: no memory. */
static bool measure_group(const hu_step_log *log, const hu_log_timeout *first, hu_arena *arena, hu_log_hang *out)
{
    const size_t  n = log->timeouts.n, world = world_of(log);
    hu_log_ranks *lists[] = {&out->waiting, &out->absent, &out->earlier, &out->different, &out->other};

    *out = (hu_log_hang){.call = find_call(&log->timeouts, first)};
    for (size_t i = 0; i < HU_COUNT(lists); i++)
        if (!(lists[i]->at = hu_arena_calloc(arena, n + 1, sizeof(int64_t))))
            return false;
    if (!(out->silent.at = hu_arena_calloc(arena, world + 1, sizeof(int64_t))))
        return false;
    for (size_t i = 0; i < n; i++)
        if (may_be_of_group(&log->timeouts.at[i], out->call->group) && !is_p2p(out->call) && out->call->sequence >= 0)
            place(&log->timeouts.at[i], out);
        else if (&log->timeouts.at[i] == out->call)
            add(&out->waiting, out->call->rank);
    remove_ranks(&out->absent, &out->waiting);
    remove_ranks(&out->earlier, &out->waiting);
    remove_ranks(&out->earlier, &out->absent);
    remove_ranks(&out->other, &out->waiting);
    remove_ranks(&out->other, &out->absent);
    remove_ranks(&out->other, &out->earlier);
    if (is_of_all(out->call) && !is_p2p(out->call))
        find_silent(log, out);
    return true;
}

/* The group whose ranks tell who did not come, else the first. */
bool hu_log_hang_measure(const hu_step_log *log, hu_arena *arena, hu_log_hang *out)
{
    const hu_log_timeouts *list = &log->timeouts;
    const size_t           most = list->n <= MANY ? MOST_GROUPS : 1;
    size_t                 n_groups = 0;

    *out = (hu_log_hang){0};
    for (size_t i = 0; i < list->n && n_groups < most; i++) {
        hu_log_hang group;
        bool        is_new = list->at[i].timed_out;

        for (size_t k = 0; k < i && is_new; k++)
            is_new = !list->at[k].timed_out || !is_of_group(&list->at[k], list->at[i].group);
        if (!is_new)
            continue;
        if (!measure_group(log, &list->at[i], arena, &group))
            return false;
        if (n_groups++ == 0 || says_who(&group))
            *out = group;
        if (says_who(&group))
            break;
    }
    return true;
}
