/* SPDX-License-Identifier: Apache-2.0
 * tree.c - slices of all threads fall into nodes by their path of names; steps are one name ("ProfilerStep*").
 *
 * Python frames and calls of the runtime are left out: with them a tree has as many nodes as the trace has slices.  A path
 * stays when its host or device time is among the HU_TREE_NODES largest, so that a parent is never without its children's
 * reason to be there: its time is at least theirs.
 */
#include "analyze/tree.h"

#include "base/map.h"
#include "base/sort.h"
#include "trace/nest.h"

enum { COUNTED = HU_BIT(CPU_OP) | HU_BIT(USER) };

typedef HU_VEC(hu_tree_node) node_list;

typedef struct {
    const hu_ask *ask;
    uint32_t     *parent;    /* by slice: the innermost one around it of those in the tree */
    int64_t      *self_ns;   /* by slice */
    uint32_t     *node;      /* by slice: 1 + its node, 0 for what has none: no page of it is touched for those */
    uint32_t      step_name; /* stands for all ProfilerStep#N */
    hu_map        by_path;   /* parent node and name -> node */
    node_list     list;
} work;

static uint32_t node_above(const work *w, uint32_t slice)
{
    uint32_t at = w->parent[slice];

    while (at != HU_NONE && !w->node[at])
        at = w->parent[at];
    return at != HU_NONE ? w->node[at] - 1 : HU_NONE;
}

static bool put(work *w, uint32_t slice)
{
    const hu_ask  *ask = w->ask;
    const uint32_t parent = node_above(w, slice);
    const bool     is_profiler = ask->names[ask->s.name[slice]] & HU_NAME_STEP;
    const bool     is_step = is_profiler ||
                         (ask->s.kind[slice] == HU_KIND_USER && hu_steps_has_name(ask->steps, hu_ask_name(ask, slice)));
    const int depth = parent != HU_NONE ? w->list.at[parent].depth + 1 : 0;
    uint32_t *place;

    if (depth >= HU_TREE_DEPTH)
        return true;
    place = hu_map_put(&w->by_path, (uint64_t)parent << 32 | (is_step ? 0 : ask->s.name[slice]));
    if (!place)
        return false;
    if (*place == HU_NONE) {
        const hu_str name = !is_step ? hu_ask_name(ask, slice) : is_profiler ? HU_STR("ProfilerStep*") : ask->steps->what;

        if (!hu_vec_push(ask->scratch, &w->list, ((hu_tree_node){.name = name, .depth = depth, .parent = parent})))
            return false;
        *place = (uint32_t)w->list.n - 1;
    }
    w->node[slice] = *place + 1;
    w->list.at[*place].calls++;
    w->list.at[*place].host_total_ns += ask->s.dur_ns[slice];
    w->list.at[*place].host_self_ns += w->self_ns[slice];
    return true;
}

static void add_device(work *w)
{
    for (size_t k = 0; k < w->ask->n_work; k++) {
        const uint32_t i = w->ask->work[k];
        uint32_t       op = hu_trace_op_of(w->ask->trace, i), at;

        while (op != HU_NONE && !w->node[op])
            op = hu_kind_in(w->ask->s.kind[op], COUNTED) ? w->parent[op] : w->ask->s.parent[op];
        for (at = op != HU_NONE ? w->node[op] - 1 : HU_NONE; at != HU_NONE; at = w->list.at[at].parent)
            w->list.at[at].device_total_ns += w->ask->s.dur_ns[i];
    }
}

/* The value that HU_TREE_NODES / 2 of the nodes reach. */
static int64_t threshold(int64_t *values, size_t n)
{
    const size_t most = HU_TREE_NODES / 2;

    if (n <= most)
        return 0;
    return hu_sort_nth_i64(values, n, n - 1 - most);
}

static int costlier(const hu_tree_node *a, const hu_tree_node *b)
{
    if (a->device_total_ns != b->device_total_ns)
        return a->device_total_ns > b->device_total_ns ? -1 : 1;
    if (a->host_total_ns != b->host_total_ns)
        return a->host_total_ns > b->host_total_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

/* Puts the kept nodes into the order of a walk: parents first, siblings by cost. */
static bool lay_out(const node_list *from, const uint8_t *kept, hu_tree *out, hu_arena *arena, hu_arena *scratch)
{
    const size_t n = from->n;
    uint32_t    *sorted = hu_arena_calloc(scratch, n + 1, sizeof *sorted);
    uint32_t    *first = hu_arena_alloc(scratch, (n + 2) * sizeof *first);
    uint32_t    *next = hu_arena_alloc(scratch, (n + 2) * sizeof *next);
    uint32_t    *moved = hu_arena_alloc(scratch, (n + 1) * sizeof *moved);
    size_t       count = 0;

    if (!sorted || !first || !next || !moved)
        return false;
    memset(first, 0xff, (n + 2) * sizeof *first);
    for (uint32_t i = 0; i < n; i++)
        if (kept[i])
            sorted[count++] = i;
    /* children as lists by insertion in order of cost: lists are short, and kept nodes few */
    for (size_t k = 0; k < count; k++) {
        const uint32_t i = sorted[k];
        uint32_t      *link = &first[from->at[i].parent != HU_NONE ? from->at[i].parent : n];

        while (*link != HU_NONE && costlier(&from->at[*link], &from->at[i]) <= 0)
            link = &next[*link];
        next[i] = *link;
        *link = i;
    }
    out->at = hu_arena_calloc(arena, count + 1, sizeof *out->at);
    if (!out->at)
        return false;
    out->n = 0;
    for (uint32_t at = first[n]; at != HU_NONE;) {
        hu_tree_node *node = &out->at[out->n];

        *node = from->at[at];
        moved[at] = (uint32_t)out->n++;
        if (node->parent != HU_NONE)
            node->parent = moved[node->parent];
        if (first[at] != HU_NONE) {
            at = first[at];
            continue;
        }
        while (at != HU_NONE && next[at] == HU_NONE)
            at = from->at[at].parent;
        at = at != HU_NONE ? next[at] : HU_NONE;
    }
    return true;
}

static bool choose(const node_list *list, hu_tree *out, hu_arena *arena, hu_arena *scratch)
{
    int64_t *values = hu_arena_alloc(scratch, (list->n + 1) * sizeof *values), least_host, least_device;
    uint8_t *kept = hu_arena_calloc(scratch, list->n + 1, 1);

    if (!values || !kept)
        return false;
    for (size_t i = 0; i < list->n; i++)
        values[i] = list->at[i].host_total_ns;
    least_host = threshold(values, list->n);
    for (size_t i = 0; i < list->n; i++)
        values[i] = list->at[i].device_total_ns;
    least_device = threshold(values, list->n);
    for (size_t i = list->n; i-- > 0;) {
        const hu_tree_node *n = &list->at[i];

        /* host times of children may pass their parent's by rounding; what is kept keeps its parents */
        kept[i] |= list->n <= HU_TREE_NODES / 2 || n->host_total_ns > least_host ||
                   (n->device_total_ns > 0 && n->device_total_ns > least_device);
        if (kept[i] && n->parent != HU_NONE)
            kept[n->parent] = 1;
    }
    for (size_t i = 0; i < list->n; i++)
        out->hidden += !kept[i];
    return lay_out(list, kept, out, arena, scratch);
}

int hu_tree_measure(const hu_ask *ask, hu_tree *out, hu_error *err)
{
    work    w = {.ask = ask};
    hu_tree result = {0};

    w.node = hu_arena_calloc(ask->scratch, ask->s.n + 1, sizeof *w.node);
    w.parent = hu_arena_alloc(ask->scratch, (ask->s.n + 1) * sizeof *w.parent);
    w.self_ns = hu_arena_alloc(ask->scratch, (ask->s.n + 1) * sizeof *w.self_ns);
    if (!w.node || !w.parent || !w.self_ns || !hu_map_init(&w.by_path, ask->scratch, 1024) ||
        !hu_nest_kinds(ask->trace, COUNTED, w.parent, w.self_ns, ask->scratch))
        return hu_fail_memory(err);
    for (size_t k = 0; k < ask->s.n; k++) {
        const uint32_t i = ask->order[k];

        if (hu_kind_in(ask->s.kind[i], COUNTED) && hu_select_in(ask->scope, ask->s.start_ns[i]) && !put(&w, i))
            return hu_fail_memory(err);
    }
    add_device(&w);
    for (size_t i = 0; i < w.list.n; i++) {
        if (w.list.at[i].parent == HU_NONE) {
            result.host_ns += w.list.at[i].host_total_ns;
            result.device_ns += w.list.at[i].device_total_ns;
        }
    }
    if (!choose(&w.list, &result, ask->arena, ask->scratch))
        return hu_fail_memory(err);
    *out = result;
    return 0;
}

bool hu_tree_merge(hu_tree *into, const hu_tree *from, hu_arena *arena)
{
    node_list list = {0};
    uint32_t *moved = hu_arena_calloc(arena, from->n + 1, sizeof *moved);
    int64_t   hidden = into->hidden + from->hidden;
    hu_tree   result = {.host_ns = into->host_ns + from->host_ns, .device_ns = into->device_ns + from->device_ns};

    if (!moved || !hu_vec_reserve(arena, &list, into->n + from->n + 1))
        return false;
    for (size_t i = 0; i < into->n; i++)
        list.at[list.n++] = into->at[i];
    for (size_t i = 0; i < from->n; i++) {
        hu_tree_node node = from->at[i];
        size_t       k = 0;

        node.parent = node.parent != HU_NONE ? moved[node.parent] : HU_NONE;
        while (k < list.n && !(list.at[k].parent == node.parent && hu_str_equal(list.at[k].name, node.name)))
            k++;
        moved[i] = (uint32_t)k;
        if (k == list.n) {
            list.at[list.n++] = node;
        } else {
            list.at[k].calls += node.calls;
            list.at[k].host_total_ns += node.host_total_ns;
            list.at[k].host_self_ns += node.host_self_ns;
            list.at[k].device_total_ns += node.device_total_ns;
        }
    }
    if (!choose(&list, &result, arena, arena))
        return false;
    result.hidden += hidden;
    *into = result;
    return true;
}
