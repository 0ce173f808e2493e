/* SPDX-License-Identifier: Apache-2.0
 * edit_host.c - what would be left of a host thread's time: of its launches, of long work of its own, of calls that
 * allocate. */
#include "graph/edit_host.h"

#include <math.h>

#include "base/glob.h"

int64_t hu_edit_divide(int64_t cost_ns, double factor, int64_t floor_ns)
{
    const double  less = isinf(factor) ? 0 : (double)cost_ns / factor;
    const int64_t least = isinf(factor) ? 0 : floor_ns;
    const int64_t result = (int64_t)(less + 0.5) > least ? (int64_t)(less + 0.5) : least;

    return factor > 1 && result > cost_ns ? cost_ns : result;
}

/* A graph is launched once; its kernels cost the host HU_EDIT_GRAPH_NODE_NS each.  Long host work stays (host_work.c). */
size_t hu_edit_launch(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *node = &g->node[i];
        int64_t        own; /* of the profiler: no other way to launch makes it less */

        if (f->host.role[i] != HU_WORK_SHORT)
            continue;
        n++;
        own = !f->profiler_ns ? 0 : c->node[i] < f->profiler_ns[i] ? c->node[i] : f->profiler_ns[i];
        if (e->flavour == HU_EDIT_FREE || !isinf(e->factor))
            c->node[i] = own + hu_edit_divide(c->node[i] - own, e->factor, 0);
        else if (c->node[i] > own + HU_EDIT_GRAPH_NODE_NS || !node->n_ops)
            c->node[i] = own + (node->n_ops ? HU_EDIT_GRAPH_NODE_NS : 0);
    }
    return n;
}

/* Long pieces of host time whose name matches. */
size_t hu_edit_work(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_host_work *h = &f->host;
    const hu_trace     *trace = f->g->ask->trace;
    size_t              n = 0;

    for (size_t r = 0; r < h->n; r++) {
        if (h->at[r].kind == HU_BLOCK_UNRECORDED || !hu_glob_match(e->glob, hu_trace_text(trace, h->at[r].name)))
            continue;
        for (size_t i = 0; i < f->g->n_nodes; i++) {
            if (h->block[i] != r)
                continue;
            c->node[i] = hu_edit_divide(c->node[i], e->factor, 0);
            n++;
        }
    }
    return n;
}

/* Long pieces, and pauses, of which nothing was recorded. */
size_t hu_edit_unrecorded(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_host_work *h = &f->host;
    size_t              n = 0;

    for (size_t i = 0; i < f->g->n_nodes; i++) {
        if (!(f->g->node[i].in & HU_IN_STALL) && (h->block[i] == HU_NONE || h->at[h->block[i]].kind != HU_BLOCK_UNRECORDED))
            continue;
        c->node[i] = hu_edit_divide(c->node[i], e->factor, 0);
        n++;
    }
    return n;
}

static size_t without_role(const hu_edit_facts *f, hu_work_role role, int64_t left_ns, hu_costs *c)
{
    size_t n = 0;

    for (size_t i = 0; i < f->g->n_nodes; i++) {
        if (f->host.role[i] != role)
            continue;
        c->node[i] = c->node[i] < left_ns ? c->node[i] : left_ns;
        n++;
    }
    return n;
}

size_t hu_edit_capture(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return without_role(f, HU_WORK_CAPTURE, 0, c);
}

/* Launches return as soon as they have enqueued their kernel. */
size_t hu_edit_blocking(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return without_role(f, HU_WORK_BLOCKED, f->host.launch_ns, c);
}

static size_t without_calls(const hu_edit_facts *f, bool is_host, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->node[i].call != HU_CALL_ALLOC || hu_names_is_host_memory(hu_ask_name(g->ask, g->node[i].slice)) != is_host)
            continue;
        c->node[i] = 0;
        c->node_flags[i] |= HU_EDIT_NO_WAIT;
        n++;
    }
    return n;
}

size_t hu_edit_alloc(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return without_calls(f, false, c);
}

size_t hu_edit_pin(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return without_calls(f, true, c);
}

/*
 * With a buffer, one call moves as much as thousands do now, and costs hardly more than copying it: COPY_NS_PER_BYTE is a
 * slow page cache.  What takes longer than SMALL_CALL_NS waits for a device, which no buffer saves.
 */
enum { SMALL_BYTES = 4096, SMALL_CALL_NS = 20000, COPY_NS_PER_BYTE = 1 };

int64_t hu_edit_lost_cpu_ns(const hu_edit_facts *facts, size_t node)
{
    return facts->preempted.runnable_ns ? facts->preempted.runnable_ns[node] : 0;
}

bool hu_edit_is_small_name(hu_str name)
{
    return name.n && name.p[0] != 'f' && (hu_str_has(name, HU_STR("read")) || hu_str_has(name, HU_STR("write")));
}

int64_t hu_edit_small_slice_ns(const hu_ask *ask, uint32_t slice, int64_t took_ns)
{
    const uint32_t      row = ask->s.detail[slice];
    const hu_os_detail *d;
    int64_t             calls;

    if (row == HU_NONE || ask->s.kind[slice] != HU_KIND_OS_CALL)
        return -1;
    d = hu_trace_os_detail(ask->trace, row);
    calls = d->calls ? d->calls : 1;
    if ((d->class != HU_HOST_FILE_READ && d->class != HU_HOST_FILE_WRITE) || d->bytes <= 0 ||
        d->bytes > SMALL_BYTES * calls || took_ns > SMALL_CALL_NS * calls)
        return -1;
    return d->bytes * COPY_NS_PER_BYTE;
}

int64_t hu_edit_small_call_ns(const hu_edit_facts *facts, size_t node)
{
    const hu_graph *g = facts->g;
    const hu_node  *n = &g->node[node];

    if (n->class != HU_CLASS_IO || n->slice == HU_NONE)
        return -1;
    if (n->merged != HU_NONE)
        return g->merged[n->merged].left_ns;
    if (!hu_edit_is_small_name(hu_ask_name(g->ask, n->slice)))
        return -1;
    return hu_edit_small_slice_ns(g->ask, n->slice,
                                  hu_preempted_rest_ns(&facts->preempted, node, g->ask->s.dur_ns[n->slice]));
}

size_t hu_edit_small_calls(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    if (e->flavour == HU_EDIT_WITH_USES)
        hu_edit_around(f, true, c);
    for (size_t i = 0; hu_edit_has_nodes(f, 0, HU_CLASS_BIT(IO)) && i < f->g->n_nodes; i++) {
        const int64_t left = hu_edit_small_call_ns(f, i);

        if (left < 0)
            continue;
        c->node[i] = c->node[i] < left ? c->node[i] : left;
        n++;
    }
    return n;
}

/* Calls that map and release memory are gone; the main thread's own time shrinks by what samples say, wherever it is. */
size_t hu_edit_page_faults_away(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    (void)e;
    for (size_t i = 0; i < g->n_nodes && f->page_faults.samples; i++) {
        const uint32_t slice = g->node[i].slice;
        const bool     is_call = slice != HU_NONE && g->ask->s.kind[slice] == HU_KIND_OS_CALL;

        if (g->node[i].lane != g->main_lane || (is_call && !hu_page_faults_is_call(g, i)))
            continue;
        c->node[i] = is_call ? 0 : (int64_t)((double)c->node[i] * (1 - f->page_faults.share));
        n++;
    }
    return n;
}

size_t hu_edit_processes(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; f->children.of_node && i < f->g->n_nodes; i++) {
        if (!f->children.of_node[i])
            continue;
        c->node[i] = 0;
        c->node_flags[i] |= HU_EDIT_NO_WAIT;
        n++;
    }
    return n;
}
