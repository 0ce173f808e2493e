/* SPDX-License-Identifier: Apache-2.0
 * loaders.c - batches come from workers, processes or a thread, at their own pace.
 *
 * Where the main thread waits for a worker, the batch is there when the worker has it, however early the main thread asks: a
 * faster step only waits longer.  So from one such wait to the next there is a link as long as was seen between them.  It
 * holds while the workers are the slower side; a rare wait has a cause of its own, and workers that were far ahead in
 * between.
 *
 * The window cuts a rhythm anywhere.  What is waited for first was in the making since before the window, for workers have
 * several batches in hand, so the first wait is as far behind the first fetch as it was seen.  Behind the last wait, batches
 * come no sooner than the mean pace between waits says.  Else steps at both ends would seem free to become faster.
 *
 * Waits that are too few or too irregular for a pace are counted: that workers could keep up with a faster host is then not
 * known (hu_calibration.loader_waits).
 */
#include "analyze/host_calls.h"
#include "analyze/names.h"
#include "analyze/thread_states.h"
#include "analyze/wakes.h"
#include "base/sort.h"
#include "graph/build.h"

enum { LEAST_WAIT_NS = 200000, FEWEST_WAITS = 3, REGULAR = 2, RARE = 10 };

static const double FEW_TIMES = 3; /* the shortest fetch: longer ones waited */
static const double MOSTLY = 0.8;  /* of its life, that a thread waits: it needs a CPU now and then */

typedef struct {
    int64_t  length_ns;
    uint32_t node; /* the longest of its nodes, in which it waits */
    size_t   number;
} fetch;

typedef HU_VEC(fetch) fetches;

/* The main thread's fetches: each a run of nodes that lie in the loader. */
static bool find_fetches(const hu_building *b, const hu_lane_nodes *l, fetches *out)
{
    bool inside = false;

    for (uint32_t k = l->first[b->g->main_lane]; k < l->first[b->g->main_lane + 1]; k++) {
        const uint32_t i = l->of_lane[k];
        const hu_node *n = &b->nodes.at[i];

        if (!(n->in & HU_IN_DATA)) {
            inside = false;
            continue;
        }
        if (!inside && !hu_vec_push(b->ask->scratch, out, ((fetch){0, i, out->n})))
            return false;
        inside = true;
        out->at[out->n - 1].length_ns += n->seen_ns;
        if (n->seen_ns > b->nodes.at[out->at[out->n - 1].node].seen_ns)
            out->at[out->n - 1].node = i;
    }
    return true;
}

/* Those that waited; false: no memory. */
static bool keep_waits(hu_arena *scratch, const fetches *all, fetches *out)
{
    int64_t shortest = INT64_MAX;

    for (size_t i = 0; i < all->n; i++)
        shortest = all->at[i].length_ns < shortest ? all->at[i].length_ns : shortest;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].length_ns >= LEAST_WAIT_NS &&
            ((double)all->at[i].length_ns > FEW_TIMES * (double)shortest || shortest >= LEAST_WAIT_NS) &&
            !hu_vec_push(scratch, out, all->at[i]))
            return false;
    return true;
}

/* How many fetches waits are apart at most, in a rhythm; 0: too few or too irregular for a pace.  False: no memory. */
static bool find_rhythm(hu_arena *scratch, const fetches *waits, size_t *most)
{
    const size_t n = waits->n;
    int64_t     *apart;

    *most = 0;
    if (n < FEWEST_WAITS)
        return true;
    apart = hu_arena_alloc(scratch, n * sizeof *apart);
    if (!apart)
        return false;
    for (size_t i = 1; i < n; i++)
        apart[i - 1] = (int64_t)(waits->at[i].number - waits->at[i - 1].number);
    hu_sort_i64(apart, n - 1);
    if (apart[n - 2] <= REGULAR * apart[(n - 1) / 2])
        *most = (size_t)(REGULAR * apart[(n - 1) / 2]);
    return true;
}

/*
 * Does a thread of the program make the batches, at a pace of its own?  Known where the recording says who woke whom: it
 * ends the waits for batches, and never waits for the main thread itself.  One that does works on demand, or is the faster
 * side.  Where nothing runs on a device, such waits are followed one by one (wakes.c).
 */
static bool find_maker(const hu_building *b, uint32_t main_track, const fetches *waits, uint8_t *makes, bool *out)
{
    const hu_ask *ask = b->ask;
    hu_wakes      wakes;
    size_t        n = 0, at = 0;

    *out = false;
    if (!hu_wakes_find(ask, ask->scratch, ask->scratch, &wakes))
        return false;
    for (size_t i = 0; i < wakes.n; i++) {
        const hu_woken *w = &wakes.at[i];

        if (ask->s.track[w->slice] != main_track)
            continue;
        while (at < waits->n && hu_build_node_end(b, waits->at[at].node) < w->end_ns)
            at++;
        if (at == waits->n)
            break;
        if (b->nodes.at[waits->at[at].node].start_ns <= ask->s.start_ns[w->slice]) {
            makes[w->waker] = 1;
            n++;
            at++;
        }
    }
    *out = n > 0 && n >= waits->n - waits->n / RARE;
    for (size_t i = 0; i < wakes.n; i++)
        if (makes[ask->s.track[wakes.at[i].slice]] && wakes.at[i].waker == main_track)
            *out = false;
    return true;
}

/* How many threads make batches, and whether they wait for most of their lives, in calls that others can wait in, too. */
static bool judge_makers(const hu_building *b, const uint8_t *makes)
{
    const unsigned WAITS = 1u << HU_HOST_FILE_READ | 1u << HU_HOST_FSYNC | 1u << HU_HOST_NETWORK | 1u << HU_HOST_SLEEP;
    const hu_ask  *ask = b->ask;
    int64_t        wait_ns = 0, life_ns = 0;

    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_interval life = makes[t] ? hu_thread_life(ask->trace, t) : (hu_interval){0};
        hu_intervals      waits = {0};

        if (!makes[t])
            continue;
        for (uint32_t k = 0; k < ask->tracks[t].count; k++) {
            const uint32_t i = ask->order[ask->tracks[t].first + k];

            if (ask->s.kind[i] == HU_KIND_OS_CALL && WAITS >> hu_host_calls_class(ask, i) & 1 &&
                !hu_intervals_add(ask->scratch, &waits, ask->s.start_ns[i], hu_ask_end(ask, i)))
                return false;
        }
        if (!hu_intervals_unite(ask->scratch, &waits))
            return false;
        b->g->calibration.loader_threads++;
        wait_ns += hu_intervals_length(&waits);
        life_ns += life.end_ns - life.start_ns;
    }
    b->g->calibration.loaders_wait = (double)wait_ns > MOSTLY * (double)life_ns;
    return true;
}

/* A batch comes no sooner than so long after another one; what is longer than a link can be is left as it is. */
static bool link_fetch(hu_building *b, uint32_t node, uint32_t from, int64_t pace_ns, bool is_wait)
{
    const hu_link link = {.from = from, .weight_ns = (int32_t)pace_ns, .at = HU_AT_NODE_END, .class = HU_CLASS_DATA};

    if (pace_ns > INT32_MAX || pace_ns < 0 || node == from)
        return true;
    b->nodes.at[node].cost_ns = is_wait ? 0 : b->nodes.at[node].cost_ns;
    return hu_build_link_node(b, node, link);
}

/* The main thread's last node, where a fetch behind the window would begin; HU_NONE: it waits for something else. */
static uint32_t last_node(const hu_building *b, const hu_lane_nodes *l)
{
    const uint32_t end = l->first[b->g->main_lane + 1],
                   last = end > l->first[b->g->main_lane] ? l->of_lane[end - 1] : HU_NONE;

    return last != HU_NONE && b->nodes.at[last].call == HU_CALL_NONE && b->nodes.at[last].waits == HU_NONE ? last : HU_NONE;
}

/* Fetches behind the last wait, and the end of the window as another: no sooner than the mean pace, or than seen. */
static bool link_rest(hu_building *b, const hu_lane_nodes *l, const fetches *all, const fetches *waits, size_t most)
{
    const fetch  *first = &waits->at[0], *last = &waits->at[waits->n - 1];
    const int64_t since = hu_build_node_end(b, last->node);
    const double  pace = (double)(since - hu_build_node_end(b, first->node)) / (double)(last->number - first->number);

    for (size_t i = last->number + 1; i <= all->n && i - last->number <= most; i++) {
        const uint32_t node = i < all->n ? all->at[i].node : last_node(b, l);
        const int64_t  due = (int64_t)(pace * (double)(i - last->number));
        const int64_t  seen = node == HU_NONE ? -1 : hu_build_node_end(b, node) - since;

        if (seen >= 0 && !link_fetch(b, node, last->node, due < seen ? due : seen, false))
            return false;
    }
    return true;
}

int hu_build_loaders(hu_building *b, hu_error *err)
{
    const hu_loader_kinds kinds = hu_names_loaders(b->ask->trace);
    bool                  has_maker = kinds.has_workers;
    uint8_t              *makes = hu_arena_calloc(b->ask->scratch, b->ask->n_tracks + 1, 1);
    hu_lane_nodes         l;
    fetches               all = {0}, waits = {0};
    size_t                most;

    if (kinds.in_process || (!kinds.has_workers && b->ask->n_work == 0))
        return 0;
    if (!makes || !hu_build_lane_nodes(b, &l) || !find_fetches(b, &l, &all) || !keep_waits(b->ask->scratch, &all, &waits) ||
        (!has_maker && !find_maker(b, hu_graph_main_track(b->g), &waits, makes, &has_maker)) ||
        !find_rhythm(b->ask->scratch, &waits, &most))
        return hu_fail_memory(err);
    if (!has_maker)
        return 0;
    b->g->calibration.has_loader_thread = !kinds.has_workers;
    if (!kinds.has_workers && !judge_makers(b, makes))
        return hu_fail_memory(err);
    if (most == 0) {
        b->g->calibration.loader_waits = (int64_t)waits.n;
        return 0;
    }
    for (size_t i = 0; i < waits.n; i++) {
        const bool     is_lead = i == 0 && waits.at[0].number > 0 && waits.at[0].number <= most;
        const uint32_t now = waits.at[i].node, before = is_lead ? all.at[0].node : i ? waits.at[i - 1].node : HU_NONE;

        if (before != HU_NONE && !link_fetch(b, now, before, hu_build_node_end(b, now) - hu_build_node_end(b, before), true))
            return hu_fail_memory(err);
    }
    return link_rest(b, &l, &all, &waits, most) ? 0 : hu_fail_memory(err);
}
