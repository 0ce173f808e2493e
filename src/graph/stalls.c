/* SPDX-License-Identifier: Apache-2.0
 * stalls.c - pauses of a host thread that nothing in the trace explains: a garbage collector that was not recorded, the
 * system that took the processor away, a page fault storm.
 *
 * A pause is time between calls that is far longer than such time usually is on its thread, and that does not come back in
 * every step in front of the same thing: what comes back is work, however long.  Nor is it behind a call that waits for the
 * device: there the program works on what it waited for.  An operator is never a pause: on a processor it is the work; nor
 * is a Python function that the trace names.
 */
#include "analyze/xla_threads.h"
#include "base/sort.h"
#include "graph/build.h"

enum { LEAST_STALL_NS = 300000, FEWEST_STEPS = 3 };

static const double STALL_FACTOR = 30; /* of the median on the thread */

static bool is_plain(const hu_building *b, const hu_node *n)
{
    if (n->slice != HU_NONE && b->ask->s.kind[n->slice] == HU_KIND_PYTHON)
        return false;
    return n->call == HU_CALL_NONE && !(n->in & (HU_IN_DATA | HU_IN_IO | HU_IN_GC)) &&
           (n->class == HU_CLASS_PYTHON || n->class == HU_CLASS_UNRECORDED);
}

/* What follows a node on its thread, and what it lies in: the place in the program. */
static uint64_t place_of(const hu_building *b, uint32_t node, uint32_t next)
{
    const uint32_t *name = b->ask->s.name;
    const uint32_t  own = b->nodes.at[node].slice, behind = next == HU_NONE ? HU_NONE : b->nodes.at[next].slice;

    return (uint64_t)(own == HU_NONE ? 0 : name[own]) << 32 | (behind == HU_NONE ? 0 : name[behind]);
}

int hu_build_stalls(hu_building *b, hu_error *err)
{
    const size_t   steps = b->g->n_marks - 1;
    hu_intervals   others; /* what XLA's threads do is no pause of the one that waits for them */
    int64_t       *samples;
    uint32_t      *next, last = HU_NONE;
    hu_map         count;
    size_t         n = 0;
    int64_t        least;
    const uint32_t regular = steps > 3 ? (uint32_t)steps - 1 : 2; /* one may lie at the border of the window */

    if (b->g->n_marks <= FEWEST_STEPS)
        return 0; /* too few to tell what comes back from what does not */
    samples = hu_arena_grow(b->ask->scratch, NULL, (b->nodes.n + 1) * sizeof *samples);
    next = hu_arena_grow(b->ask->scratch, NULL, (b->nodes.n + 1) * sizeof *next);
    if (!samples || !next || !hu_map_init(&count, b->ask->scratch, 64) ||
        !hu_xla_threads_find(b->ask->trace, hu_graph_main_track(b->g), b->ask->scratch, &others))
        return hu_fail_memory(err);
    for (uint32_t i = (uint32_t)b->nodes.n; i-- > 0;) {
        if (b->nodes.at[i].lane != b->g->main_lane)
            continue;
        next[i] = last;
        last = i;
        if (is_plain(b, &b->nodes.at[i]) && b->nodes.at[i].cost_ns > 0)
            samples[n++] = b->nodes.at[i].cost_ns;
    }
    least = n ? (int64_t)(STALL_FACTOR * (double)hu_sort_nth_i64(samples, n, n / 2)) : 0;
    least = least > LEAST_STALL_NS ? least : LEAST_STALL_NS;
    for (int pass = 0; pass < 2; pass++) {
        bool behind_wait = false;

        for (uint32_t i = 0; i < b->nodes.n; i++) {
            hu_node  *node = &b->nodes.at[i];
            uint32_t *place;

            if (node->lane != b->g->main_lane)
                continue;
            if (node->call != HU_CALL_NONE)
                behind_wait = node->waits != HU_NONE;
            if (!is_plain(b, node) || node->cost_ns < least || behind_wait ||
                hu_xla_threads_are_awaited(&others, node->start_ns, node->start_ns + node->cost_ns))
                continue;
            place = hu_map_put(&count, place_of(b, i, next[i]));
            if (!place)
                return hu_fail_memory(err);
            if (pass == 0)
                *place = *place == HU_MAP_NONE ? 1 : *place + 1;
            else if (*place < regular)
                node->in |= HU_IN_STALL;
        }
    }
    hu_arena_drop(b->ask->scratch, samples);
    hu_arena_drop(b->ask->scratch, next);
    return 0;
}
