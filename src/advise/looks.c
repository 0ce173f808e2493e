/* SPDX-License-Identifier: Apache-2.0
 * looks.c - words for a parent that sleeps between two looks at its children: how long it sleeps on when they have ended. */
#include "advise/looks.h"

#include "base/map.h"

static const double MOSTLY = 0.5; /* of the time that the program sleeps and nothing else runs */

typedef struct {
    int64_t  n;                /* children that were looked for */
    int64_t  late_ns, life_ns; /* that their parent sleeps on when they have ended; that they lived */
    int64_t  sleep_ns;         /* the longest whole sleep in which one ended */
    uint32_t call, child;      /* string ids: of the sleep, of the last child */
} looks;

static looks find_looks(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_ask   *ask = &c->s->ask;
    hu_map          track_of_lane;
    looks           x = {0};

    if (!hu_map_init(&track_of_lane, c->s->scratch, g->n_lanes))
        return x;
    for (uint32_t t = 0, lane = 0; t < ask->n_tracks; t++) {
        uint32_t *place = ask->tracks[t].type == HU_TRACK_HOST ? hu_map_put(&track_of_lane, lane++) : NULL;

        if (place)
            *place = t;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];
        uint32_t       child;
        int64_t        sleep_ns;

        if (!hu_graph_is_look(g, i))
            continue;
        child = hu_map_get(&track_of_lane, g->node[g->link[n->after].from].lane);
        if (child == HU_MAP_NONE)
            continue;
        sleep_ns = n->start_ns + n->seen_ns - ask->s.start_ns[n->slice];
        x.n++;
        x.late_ns += n->seen_ns;
        x.life_ns += ask->tracks[child].died_ns - ask->tracks[child].born_ns;
        x.sleep_ns = sleep_ns > x.sleep_ns ? sleep_ns : x.sleep_ns;
        x.call = ask->s.name[n->slice];
        x.child = ask->tracks[child].process;
    }
    return x;
}

bool hu_looks_are_most(const hu_scene *c, hu_ns_per_step time)
{
    return (double)find_looks(c).late_ns / (double)c->n_steps >= MOSTLY * time.ns;
}

bool hu_gate_polled_child(const hu_scene *c, hu_hint *h)
{
    const looks          x = find_looks(c);
    const hu_str         child = hu_trace_text(c->s->ask.trace, x.child);
    const hu_ns_per_step time = hu_as_mean((double)x.late_ns / (double)c->n_steps);

    if (!x.n || !hu_scene_is_much(c, time))
        return false;
    hu_hint_say(
        h,
        "The program sleeps (%.*s, up to %s) between two looks at a child process (%.*s) that takes %s%s. When the child "
        "has ended it sleeps on, for %s.",
        HU_FMT(hu_trace_text(c->s->ask.trace, x.call)), hu_say_time((double)x.sleep_ns).t,
        (int)(child.n < 40 ? child.n : 40), child.p, hu_say_time((double)x.life_ns / (double)x.n).t,
        x.n > 1 ? " on average" : "", hu_scene_share(c, time).t);
    hu_hint_show(h, "%s child process%s ended in such a sleep, on average %s before its end", hu_say_count(x.n).t,
                 x.n == 1 ? "" : "es", hu_say_time((double)x.late_ns / (double)x.n).t);
    return true;
}
