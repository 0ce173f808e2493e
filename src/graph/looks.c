/* SPDX-License-Identifier: Apache-2.0
 * looks.c - sleeps in which a child process ends, cut where it does: what comes before is a wait for the child, if its
 * parent polls it between sleeps (joins.c), and only the remainder is a sleep.
 */
#include <stdlib.h>

#include "graph/build.h"
#include "graph/kin.h"

typedef struct {
    int64_t parent, died_ns;
} death;

static int by_parent(const void *left, const void *right)
{
    const death *a = left, *b = right;

    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return (a->died_ns > b->died_ns) - (a->died_ns < b->died_ns);
}

/* When processes ended, by parent, in order.  NULL: no memory. */
static death *list_deaths(const hu_building *b, size_t *n)
{
    const hu_ask *ask = b->ask;
    death        *list = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof *list);

    *n = 0;
    for (uint32_t t = 0; list && t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];

        if (track->type == HU_TRACK_HOST && track->n_stretches && track->parent_pid)
            list[(*n)++] = (death){track->parent_pid, track->died_ns};
    }
    if (*n)
        qsort(list, *n, sizeof *list, by_parent);
    return list;
}

/* The last death of a child of `pid` between two times; 0: none. */
static int64_t last_death(const death *list, size_t n, int64_t pid, int64_t from_ns, int64_t to_ns)
{
    const death until = {pid, to_ns};
    size_t      low = 0, high = n;

    while (low < high) { /* the first that is not before `until` */
        const size_t mid = low + (high - low) / 2;

        if (by_parent(&list[mid], &until) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low && list[low - 1].parent == pid && list[low - 1].died_ns > from_ns ? list[low - 1].died_ns : 0;
}

bool hu_graph_is_look(const hu_graph *g, size_t node)
{
    const hu_node *n = &g->node[node];

    return n->class == HU_CLASS_SLEEP && n->after != HU_NONE && g->link[n->after].at == HU_AT_NODE_END &&
           n->slice != HU_NONE && n->start_ns > g->ask->s.start_ns[n->slice] &&
           g->node[g->link[n->after].from].lane != n->lane;
}

bool hu_build_cut_looks(hu_building *b)
{
    const size_t n_nodes = b->nodes.n;
    int64_t     *pid_of = hu_arena_calloc(b->ask->scratch, b->g->n_lanes + 1, sizeof *pid_of);
    size_t       n;
    const death *deaths = list_deaths(b, &n);
    uint32_t     lane = 0;

    if (!pid_of || !deaths)
        return false;
    for (uint32_t t = 0; t < b->ask->n_tracks && lane < b->g->n_lanes; t++)
        if (b->ask->tracks[t].type == HU_TRACK_HOST)
            pid_of[lane++] = b->ask->tracks[t].pid;
    for (size_t i = 0; n && b->g->is_whole && i < n_nodes; i++) {
        hu_node      *node = &b->nodes.at[i];
        hu_node       rest = *node;
        const int64_t end_ns = node->start_ns + node->seen_ns;
        const int64_t died_ns = node->class == HU_CLASS_SLEEP && node->call == HU_CALL_NONE
                                    ? last_death(deaths, n, pid_of[node->lane], node->start_ns, end_ns)
                                    : 0;

        if (!died_ns)
            continue;
        rest.start_ns = died_ns;
        rest.seen_ns = end_ns - died_ns;
        node->seen_ns = died_ns - node->start_ns;
        if (!hu_vec_push(b->ask->arena, &b->nodes, rest))
            return false;
    }
    return true;
}
