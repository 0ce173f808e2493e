/* SPDX-License-Identifier: Apache-2.0
 * edit_facts.c - what kernels' names say, which of them run beside communication or get slower, and where the profiler
 * itself worked or a thread had no processor. */
#include "graph/edit_facts.h"

#include <stdlib.h>

#include "analyze/comm.h"
#include "analyze/kernel_name.h"
#include "analyze/matrix_units.h"
#include "base/map.h"
#include "base/sort.h"
#include "graph/message_time.h"
#include "graph/teams.h"

enum {
    FEWEST_PAIRS = 10,
    SMALL_BYTES = 1000000, /* sent by ring in about the time that nothing takes */
    SMALL_NS = 150000,     /* where the bytes are not recorded */
};

static const double USUAL_SLOWDOWN = 0.19; /* of computation under communication, on average over A100, H100, MI210
                                                   and MI250 (arXiv 2507.03114)                            */

static bool read_names(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_ask    *ask = f->g->ask;
    const uint32_t   n = hu_trace_string_count(ask->trace);
    hu_kernel_reader reader;

    f->family = hu_arena_alloc(f->arena, n + 1);
    f->is_plain = hu_arena_calloc(f->arena, n + 1, 1);
    if (!f->family || !f->is_plain)
        return false;
    memset(f->family, HU_EDIT_NO_KERNEL, n + 1);
    hu_kernel_reader_init(&reader);
    for (size_t i = 0; i < f->g->n_ops; i++) {
        const hu_op   *op = &f->g->op[i];
        const uint32_t name = ask->s.name[op->slice];
        hu_kernel_name read;

        if (op->class != HU_CLASS_COMPUTE || f->family[name] != HU_EDIT_NO_KERNEL)
            continue;
        if (!hu_kernel_name_read(&reader, hu_trace_text(ask->trace, name), false, scratch, &read))
            return false;
        f->family[name] = (uint8_t)read.family;
        f->is_plain[name] = read.is_plain_fp32;
    }
    return true;
}

/* The length of what communication runs beside a piece of work; `at` moves along with it. */
static int64_t beside_comm(const hu_intervals *comm, int64_t start_ns, int64_t end_ns, size_t *at)
{
    int64_t common = 0;

    while (*at > 0 && comm->at[*at - 1].end_ns > start_ns)
        --*at;
    while (*at < comm->n && comm->at[*at].end_ns <= start_ns)
        ++*at;
    for (size_t k = *at; k < comm->n && comm->at[k].start_ns < end_ns; k++) {
        const int64_t from = comm->at[k].start_ns > start_ns ? comm->at[k].start_ns : start_ns;
        const int64_t to = comm->at[k].end_ns < end_ns ? comm->at[k].end_ns : end_ns;

        common += to - from;
    }
    return common;
}

/* Kernels that do the same: of[i] is the group of operation i, HU_NONE for what does not compute. */
static bool group_kernels(hu_edit_facts *f, hu_arena *scratch, uint32_t *of, uint32_t *n)
{
    const hu_graph *g = f->g;
    size_t          at = 0;
    hu_map          group;

    if (!hu_map_init(&group, scratch, 256))
        return false;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];
        uint32_t    *place;

        of[i] = HU_NONE;
        if (op->class != HU_CLASS_COMPUTE)
            continue;
        f->is_overlapped[i] = 2 * beside_comm(&g->ask->comm, op->start_ns, op->start_ns + op->cost_ns, &at) > op->cost_ns;
        place = hu_map_put(&group, hu_drift_same_kernel(g->ask, op->slice));
        if (!place)
            return false;
        if (*place == HU_MAP_NONE)
            *place = (*n)++;
        of[i] = *place;
    }
    return true;
}

/* The same kernel: how long it takes when nothing is communicated. */
static bool compare_overlapped(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_graph *g = f->g;
    uint32_t       *of = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *of), *first, n = 0;
    int64_t        *all = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *all);

    f->is_overlapped = hu_arena_calloc(f->arena, g->n_ops + 1, 1);
    f->alone_ns = hu_arena_calloc(f->arena, g->n_ops + 1, sizeof *f->alone_ns);
    if (!of || !all || !f->is_overlapped || !f->alone_ns)
        return false;
    if (g->ask->comm.n == 0)
        return true;
    if (!group_kernels(f, scratch, of, &n))
        return false;
    first = hu_arena_calloc(scratch, n + 2, sizeof *first);
    if (!first)
        return false;
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (of[i] != HU_NONE && !f->is_overlapped[i])
            first[of[i] + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        first[k] += first[k - 1];
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (of[i] != HU_NONE && !f->is_overlapped[i])
            all[first[of[i] + 1]++] = g->op[i].cost_ns;
    for (uint32_t k = 0; k < n; k++)
        if (first[k + 1] > first[k])
            all[first[k]] = hu_sort_nth_i64(all + first[k], first[k + 1] - first[k], (first[k + 1] - first[k]) / 2);
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (of[i] != HU_NONE && first[of[i] + 1] > first[of[i]])
            f->alone_ns[i] = all[first[of[i]]];
    return true;
}

static int by_number(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The median of what overlapped kernels take more than alone, where enough of them were seen both ways. */
static bool measure_slowdown(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_ask *ask = f->g->ask;
    const int64_t comm = hu_intervals_length(&ask->comm);
    double       *more = hu_arena_alloc(scratch, (f->g->n_ops + 1) * sizeof *more);
    size_t        n = 0;

    if (!more)
        return false;
    for (size_t i = 0; i < f->g->n_ops; i++)
        if (f->is_overlapped[i] && f->alone_ns[i])
            more[n++] = (double)f->g->op[i].cost_ns / (double)f->alone_ns[i] - 1;
    if (n)
        qsort(more, n, sizeof *more, by_number);
    f->slowdown = n < FEWEST_PAIRS ? USUAL_SLOWDOWN : more[n / 2] > 0 ? more[n / 2] : 0;
    f->exposed = comm ? 1 - (double)hu_intervals_common(&ask->comm, &ask->compute) / (double)comm : 0;
    return true;
}

bool hu_edit_is_small_message(const hu_graph *g, uint32_t op)
{
    const hu_ask  *ask = g->ask;
    const uint32_t row = ask->s.detail[g->op[op].slice];
    uint32_t       own = 0;

    if (g->op[op].class != HU_CLASS_COMM)
        return false;
    if (row != HU_NONE)
        own = hu_trace_kernel_detail(ask->trace, row)->collective;
    if (own) {
        const hu_collective_detail *d = hu_trace_collective_detail(ask->trace, own);
        const int64_t               elements = d->in_elements > d->out_elements ? d->in_elements : d->out_elements;
        const int                   bytes = hu_comm_dtype_bytes(hu_trace_text(ask->trace, d->dtype));

        if (elements >= 0 && bytes > 0)
            return elements <= SMALL_BYTES / bytes;
    }
    return g->op[op].cost_ns <= SMALL_NS;
}

bool hu_edit_loader_waits(const hu_graph *g)
{
    static const double MOSTLY = 0.8;
    double              all = 0, waits = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if (n->lane != g->main_lane || !(n->in & HU_IN_DATA || n->class == HU_CLASS_DATA))
            continue;
        all += (double)n->cost_ns;
        waits += 1u << n->class & (HU_CLASS_BIT(SLEEP) | HU_CLASS_BIT(IO)) ? (double)n->cost_ns : 0;
    }
    return waits > MOSTLY * all;
}

int64_t hu_edit_loader_threads(const hu_graph *g)
{
    const int64_t now = g->calibration.loader_threads;

    return g->calibration.loaders_wait && 2 * now < HU_EDIT_LOADERS ? (now ? HU_EDIT_LOADERS : 0) : 2 * now;
}

/* What nodes of a lane have in common with sorted intervals. */
static void add_common(const hu_graph *g, uint32_t lane, const hu_intervals *own, int64_t *of_node)
{
    size_t at = 0;

    for (size_t i = 0; i < g->n_nodes && at < own->n; i++) {
        const hu_node *n = &g->node[i];
        const int64_t  end = n->start_ns + n->seen_ns;

        if (n->lane != lane)
            continue;
        while (at < own->n && own->at[at].end_ns <= n->start_ns)
            at++;
        for (size_t k = at; k < own->n && own->at[k].start_ns < end; k++) {
            const int64_t from = own->at[k].start_ns > n->start_ns ? own->at[k].start_ns : n->start_ns;
            const int64_t to = own->at[k].end_ns < end ? own->at[k].end_ns : end;

            of_node[i] += to > from ? to - from : 0;
        }
    }
}

/* The profiler's records lie on tracks of their own, so they are given to whatever the main thread did meanwhile. */
static bool find_profiler(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_graph *g = f->g;
    const hu_ask   *ask = g->ask;
    hu_intervals    own = {0};

    for (uint32_t i = 0; i < ask->s.n; i++)
        if (ask->s.kind[i] == HU_KIND_OVERHEAD && !hu_intervals_add(scratch, &own, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    if (own.n == 0)
        return true;
    f->profiler_ns = hu_arena_calloc(f->arena, g->n_nodes + 1, sizeof *f->profiler_ns);
    if (!f->profiler_ns || !hu_intervals_unite(scratch, &own))
        return false;
    add_common(g, g->main_lane, &own, f->profiler_ns);
    return true;
}

/* Operators that only move or convert what is there; where there is a device, they are mostly its launches. */
static bool find_casts(hu_edit_facts *f, hu_arena *scratch)
{
    static const char *const names[] = {"aten::copy_", "aten::_to_copy", "aten::clone", "aten::contiguous"};
    const hu_graph          *g = f->g;
    const hu_ask            *ask = g->ask;
    hu_intervals             own = {0};
    uint32_t                 ids[HU_COUNT(names)];

    if (ask->n_work)
        return true;
    for (size_t k = 0; k < HU_COUNT(names); k++)
        ids[k] = hu_trace_find_text(ask->trace, hu_str_of(names[k]));
    for (uint32_t i = 0; i < ask->s.n; i++) {
        bool is_one = false;

        for (size_t k = 0; k < HU_COUNT(names); k++)
            is_one = is_one || (ids[k] != HU_NONE && ask->s.name[i] == ids[k]);
        if (is_one && ask->s.kind[i] == HU_KIND_CPU_OP &&
            !hu_intervals_add(scratch, &own, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    if (own.n == 0)
        return true;
    f->casts_ns = hu_arena_calloc(f->arena, g->n_nodes + 1, sizeof *f->casts_ns);
    if (!f->casts_ns || !hu_intervals_unite(scratch, &own))
        return false;
    add_common(g, g->main_lane, &own, f->casts_ns);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].class != HU_CLASS_OPERATOR) /* another thread's copies are no time of this one */
            f->casts_ns[i] = 0;
    return true;
}

/* Waits for a processor lie beside their thread. */
static bool find_starved(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_graph *g = f->g;
    const hu_ask   *ask = g->ask;
    const uint32_t  track = hu_graph_main_track(g);
    const hu_track *main_track = track == HU_NONE ? NULL : &ask->tracks[track];
    hu_intervals    own = {0};

    for (uint32_t i = 0; main_track && i < ask->s.n; i++) {
        const hu_track *t = &ask->tracks[ask->s.track[i]];

        if (ask->s.kind[i] == HU_KIND_CPU_WAIT && t->pid == main_track->pid && t->tid == main_track->tid &&
            t->pid_is_text == main_track->pid_is_text && t->tid_is_text == main_track->tid_is_text &&
            !hu_intervals_add(scratch, &own, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    if (own.n == 0)
        return true;
    f->starved_ns = hu_arena_calloc(f->arena, g->n_nodes + 1, sizeof *f->starved_ns);
    if (!f->starved_ns || !hu_intervals_unite(scratch, &own))
        return false;
    add_common(g, g->main_lane, &own, f->starved_ns);
    for (size_t i = 0; main_track->n_stretches && i < g->n_nodes; i++) /* places in a chunk are not those of its pieces */
        if (g->node[i].lane == g->main_lane && g->node[i].merged != HU_NONE)
            f->starved_ns[i] = g->merged[g->node[i].merged].ready_ns;
    return true;
}

static bool spread(hu_edit_facts *f, const hu_intervals *of, int64_t **out)
{
    if (of->n == 0)
        return true;
    *out = hu_arena_calloc(f->arena, f->g->n_nodes + 1, sizeof **out);
    if (!*out)
        return false;
    add_common(f->g, f->g->main_lane, of, *out);
    return true;
}

static bool is_device_to_host(const hu_graph *g, const hu_node *n)
{
    const uint32_t own = hu_graph_own_op(g->op, n);

    return own != HU_NONE && hu_edit_is_copy_to_host(g, own);
}

/* Few nodes of many, and each price asks for them. */
static bool find_syncs(hu_edit_facts *f)
{
    const hu_graph *g = f->g;
    HU_VEC(uint32_t) syncs = {0};

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if ((n->call == HU_CALL_SYNC || (n->call == HU_CALL_COPY && is_device_to_host(g, n))) &&
            !hu_vec_push(f->arena, &syncs, i))
            return false;
    }
    f->syncs = syncs.at;
    f->n_syncs = syncs.n;
    return true;
}

static bool find_before(hu_edit_facts *f, hu_arena *scratch)
{
    const hu_graph *g = f->g;
    uint32_t       *last = hu_arena_alloc(scratch, (g->n_lanes + 1) * sizeof *last);

    if (g->n_lanes < 2)
        return last != NULL;
    f->lane_before = hu_arena_alloc(f->arena, (g->n_nodes + 1) * sizeof *f->lane_before);
    if (!last || !f->lane_before)
        return false;
    memset(last, 0xff, (g->n_lanes + 1) * sizeof *last);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        f->lane_before[i] = last[g->node[i].lane];
        last[g->node[i].lane] = i;
    }
    return true;
}

static bool find_parts(hu_edit_facts *f)
{
    return hu_children_find(f->g, f->arena, &f->children) && hu_page_faults_find(f->g, f->arena, &f->page_faults) &&
           hu_train_parts_find(f->g, f->arena, &f->parts) && spread(f, &f->parts.loops, &f->optimizer_ns) &&
           spread(f, &f->parts.forwards, &f->validation_ns);
}

static void list_classes(hu_edit_facts *f)
{
    for (size_t i = 0; i < f->g->n_nodes; i++) {
        f->classes |= 1u << f->g->node[i].class;
        f->in |= f->g->node[i].in;
    }
}

bool hu_edit_has_nodes(const hu_edit_facts *facts, uint8_t in, unsigned classes)
{
    return facts->in & in || facts->classes & classes;
}

/* By the generation of the host's link that a device of this age usually has: three quarters of its rate on paper. */
static double find_link(const hu_trace *trace)
{
    const hu_device *d = hu_trace_main_device(trace);

    if (!d || d->major == 0 || d->major == 8)
        return 24;                 /* PCIe 4 x16 */
    return d->major < 8 ? 12 : 48; /* PCIe 3, PCIe 5 */
}

hu_edit_facts *hu_edit_facts_new(const hu_graph *g, double tensor_factor, hu_arena *arena)
{
    hu_edit_facts *f = hu_arena_calloc(arena, 1, sizeof *f);
    hu_arena      *scratch = hu_arena_new();
    bool           ok = f && scratch;

    if (ok) {
        f->g = g;
        f->arena = arena;
        f->tensor_factor = tensor_factor > 1 ? tensor_factor : HU_USUAL_TENSOR_FACTOR;
        f->has_tensor = hu_matrix_units_of_trace(g->ask->trace) != HU_MATRIX_NONE;
        f->link_gbps = find_link(g->ask->trace);
        list_classes(f);
        f->match = hu_arena_calloc(arena, hu_trace_string_count(g->ask->trace) + 1, 1);
        f->head = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *f->head);
        ok = f->match && f->head && read_names(f, scratch) && compare_overlapped(f, scratch) &&
             measure_slowdown(f, scratch) && hu_drift_measure(g, f->is_overlapped, arena, &f->drift) &&
             find_profiler(f, scratch) && find_casts(f, scratch) && find_starved(f, scratch) && find_parts(f) &&
             hu_message_time_find(g, arena, &f->message_ns) && hu_preempted_find(g, arena, &f->preempted) &&
             hu_joined_find(g, arena, scratch, &f->joined) && hu_teams_find(g, arena, scratch, &f->teams_ns) &&
             find_before(f, scratch) && find_syncs(f) &&
             hu_waited_children_find(g, &f->joined, arena, scratch, &f->waited) &&
             hu_accumulation_find(g, arena, &f->more) && hu_host_work_find(g, arena, scratch, &f->host);
    }
    hu_arena_free(scratch);
    return ok ? f : NULL;
}

hu_edit_facts *hu_edit_facts_fork(const hu_edit_facts *facts, hu_arena *arena)
{
    hu_edit_facts *f = hu_arena_alloc(arena, sizeof *f);

    if (!f)
        return NULL;
    *f = *facts;
    f->match = hu_arena_calloc(arena, hu_trace_string_count(f->g->ask->trace) + 1, 1);
    f->head = hu_arena_alloc(arena, (f->g->n_ops + 1) * sizeof *f->head);
    return f->match && f->head && hu_preempted_fork(&facts->preempted, f->g, arena, &f->preempted) ? f : NULL;
}
