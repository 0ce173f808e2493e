/* SPDX-License-Identifier: Apache-2.0
 * children.c - which processes live too short to do much: fork, exec and the dynamic linker take one to three milliseconds.
 *
 * The main thread pays for such a process while it starts it, and while it waits for its end or for what it writes into a
 * pipe: calls of these kinds count where a short process lives for half of them.
 */
#include "graph/children.h"

#include "analyze/host_calls.h"
#include "analyze/main_thread.h"
#include "base/map.h"

enum {
    SHORT_NS = 20000000,
    FIRST_RECORD_NS =
        2000000, /* from a fork's return to the first that is known of the child, where its life was not recorded */
};

static const hu_track *track_of_lane(const hu_graph *g, uint32_t lane)
{
    uint32_t at = 0;

    for (uint32_t t = 0; t < g->ask->n_tracks; t++)
        if (g->ask->tracks[t].type == HU_TRACK_HOST && at++ == lane)
            return &g->ask->tracks[t];
    return NULL;
}

/* Counts names; of the one that most have, other than the main process's where there is another. */
static bool name_most(const hu_process_span *spans, size_t n, const hu_map *is_short, uint32_t main_name, hu_arena *arena,
                      hu_children *out)
{
    hu_map  times;
    int64_t of_main = 0;

    if (!hu_map_init(&times, arena, 64))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t *count;

        if (hu_map_get(is_short, (uint64_t)spans[i].pid) == HU_MAP_NONE || !spans[i].name)
            continue;
        count = hu_map_put(&times, spans[i].name);
        if (!count)
            return false;
        *count = *count == HU_MAP_NONE ? 1 : *count + 1;
        if (spans[i].name == main_name)
            of_main++;
        else if (*count > out->n_named) {
            out->name = spans[i].name;
            out->n_named = *count;
        }
    }
    if (!out->name && of_main) {
        out->name = main_name;
        out->n_named = of_main;
    }
    return true;
}

static int64_t common_ns(const hu_intervals *lives, size_t *at, int64_t from, int64_t to)
{
    int64_t sum = 0;

    while (*at < lives->n && lives->at[*at].end_ns <= from)
        ++*at;
    for (size_t k = *at; k < lives->n && lives->at[k].start_ns < to; k++)
        sum += (lives->at[k].end_ns < to ? lives->at[k].end_ns : to) -
               (lives->at[k].start_ns > from ? lives->at[k].start_ns : from);
    return sum;
}

static bool is_start(const hu_ask *ask, uint32_t slice)
{
    static const char *const starts[] = {"fork", "posix_spawn", "popen"};

    for (size_t i = 0; i < HU_COUNT(starts); i++)
        if (hu_str_equal(hu_ask_name(ask, slice), hu_str_of(starts[i])))
            return true;
    return false;
}

/* Is it a call that starts such a process, or waits for its end or its output? */
static bool is_for_child(const hu_graph *g, const hu_node *n, const hu_intervals *lives, size_t *at)
{
    const int64_t from = n->start_ns, to = n->start_ns + n->seen_ns;
    hu_host_class class;

    if (n->lane != g->main_lane || n->slice == HU_NONE || g->ask->s.kind[n->slice] != HU_KIND_OS_CALL || to <= from)
        return false;
    if (is_start(g->ask, n->slice))
        return common_ns(lives, at, from, to + FIRST_RECORD_NS) > 0;
    class = hu_host_calls_class(g->ask, n->slice);
    return (class == HU_HOST_CHILD || class == HU_HOST_PIPE) && 2 * common_ns(lives, at, from, to) >= to - from;
}

static bool mark(const hu_graph *g, const hu_map *is_short, const hu_intervals *lives, hu_arena *arena, hu_children *out)
{
    uint8_t *of_lane = hu_arena_calloc(arena, g->n_lanes + 1, 1);
    size_t   at = 0;

    out->of_node = hu_arena_calloc(arena, g->n_nodes + 1, 1);
    if (!of_lane || !out->of_node)
        return false;
    for (uint32_t t = 0, lane = 0; t < g->ask->n_tracks; t++)
        if (g->ask->tracks[t].type == HU_TRACK_HOST && lane < g->n_lanes)
            of_lane[lane++] = hu_map_get(is_short, (uint64_t)g->ask->tracks[t].pid) != HU_MAP_NONE;
    for (size_t i = 0; i < g->n_nodes; i++) { /* in the order in which they began */
        const hu_node *n = &g->node[i];

        out->of_node[i] = of_lane[n->lane];
        if (!is_for_child(g, n, lives, &at))
            continue;
        out->of_node[i] = 1;
        out->ns += n->seen_ns;
    }
    return true;
}

bool hu_children_find(const hu_graph *g, hu_arena *arena, hu_children *out)
{
    const hu_track  *main_thread = track_of_lane(g, g->main_lane);
    hu_process_span *spans = NULL;
    hu_intervals     lives = {0};
    hu_map           is_short;
    uint32_t         main_name = 0;
    size_t           n = 0;

    *out = (hu_children){0};
    if (!main_thread || main_thread->pid_is_text || g->n_lanes < 2)
        return true;
    if (!hu_main_thread_processes(g->ask->trace, arena, &spans, &n) || !hu_map_init(&is_short, arena, 64))
        return false;
    for (size_t i = 0; i < n; i++) {
        const int64_t life = spans[i].last_ns - spans[i].first_ns;
        uint32_t     *place;

        if (spans[i].pid == main_thread->pid)
            main_name = spans[i].name;
        if (spans[i].pid == main_thread->pid || life <= 0 || life > SHORT_NS)
            continue;
        place = hu_map_put(&is_short, (uint64_t)spans[i].pid);
        if (!place || !hu_intervals_add(arena, &lives, spans[i].first_ns, spans[i].last_ns))
            return false;
        *place = 1;
        out->n++;
        out->life_ns += life;
    }
    if (!out->n)
        return true;
    return hu_intervals_unite(arena, &lives) && name_most(spans, n, &is_short, main_name, arena, out) &&
           mark(g, &is_short, &lives, arena, out);
}
