/* SPDX-License-Identifier: Apache-2.0
 * gates_work.c - what nominates the diagnoses of host time between launches: launching itself, long work that has a name or
 * none, launches that wait, captures, loading, allocation.
 */
#include <math.h>
#include <stdio.h>

#include "advise/blind.h"
#include "advise/gates.h"
#include "advise/say_thread.h"

enum {
    ENOUGH_STEPS = 3,
    FEWEST_SAMPLES = 50,         /* of the main thread, to name a function */
    APART = 2,                   /* times the longest piece of the usual ones */
    LEAST_COMPILE_NS = 10000000, /* nothing is compiled in less */
};

static const double LEAST_HOST = 0.20;  /* of the step in short stretches of the host, for a job that its launches limit */
static const double ONCE = 0.10;        /* of the window that a piece of work must take when few steps have it */
static const double FIRST_SHARE = 0.95; /* of loading in the first step, for a capture that began too early */

static const hu_host_work *work_of(const hu_scene *c)
{
    return hu_edit_host_work(hu_pricer_facts(c->s->pricer));
}

bool hu_gate_launch(const hu_scene *c, hu_hint *h)
{
    const hu_host_work   *w = work_of(c);
    const hu_calibration *gap = &c->s->graph.calibration;
    const double          launches = (double)w->launches / (double)c->n_steps;
    const hu_ns_per_step  time = hu_as_mean((double)w->short_ns / (double)c->n_steps);

    if (!w->has_many || c->d->launches.launches == 0 || hu_blind_to_launches(&c->s->graph) ||
        !hu_is_share_of_step(time, LEAST_HOST, c->step))
        return false;
    h->is_partial = w->is_blocking;
    hu_hint_say(h, "The host needs %s to launch %s GPU operation%s%s, and the GPU waits for it.", hu_scene_share(c, time).t,
                hu_say_count((int64_t)(launches + 0.5)).t, hu_plural((int64_t)(launches + 0.5)),
                c->has_steps ? " per step" : "");
    hu_hint_show(
        h,
        "%s of host time per call in the median, from launch to launch, without what takes more than %s; the price: %s "
        "each, as in a CUDA graph",
        hu_say_time((double)w->median_ns).t, hu_say_time((double)w->limit_ns).t,
        hu_say_time((double)HU_EDIT_GRAPH_NODE_NS).t);
    if (!gap->is_gap_seen)
        hu_hint_show(
            h,
            "nearly every operation waited for its launch, so how soon one can follow another is not seen: %s per call in "
            "the price, 0 to %s in its interval",
            hu_say_time((double)gap->gap_ns).t, hu_say_time((double)gap->most_gap_ns).t);
    if (w->is_blocking)
        hu_hint_show(h, "each launch waits for its own kernel: what launching costs without that is not in the trace");
    if (c->d->launches.launches)
        hu_hint_show(h, "%s of the launches in the whole capture take longer than the GPU operation they start",
                     hu_say_pct(100 * (double)c->d->launches.shorter / (double)c->d->launches.launches).t);
    return true;
}

static hu_ns_per_step time_of(const hu_scene *c, const hu_block *b)
{
    return hu_as_mean((double)b->total_ns / (double)c->n_steps);
}

/* Work comes back in the steps; what one step has alone must be large to be more than chance. */
static bool is_regular(const hu_scene *c, const hu_block *b)
{
    return c->n_steps < ENOUGH_STEPS || 2 * b->count >= c->n_steps || hu_is_share_of_step(time_of(c, b), ONCE, c->step);
}

/* Is it a named piece of work that comes back, and whose absence could be worth something? */
static bool is_asked(const hu_scene *c, const hu_block *b)
{
    const bool is_alone = c->d->health.kinds[HU_KIND_CPU_OP] == 0; /* nothing is computed that has a name of its own */

    if (b->kind == HU_BLOCK_UNRECORDED || !is_regular(c, b))
        return false;
    /* without a GPU, a phase that the program marks, or a function of its own, is the job, not what holds it up */
    return c->s->graph.n_ops || !(b->kind == HU_BLOCK_RANGE || (b->kind == HU_BLOCK_PYTHON && is_alone));
}

size_t hu_work_asked(const hu_scene *c, const hu_block **out)
{
    const hu_host_work *w = work_of(c);
    size_t              n = 0;

    for (size_t i = 0; i < w->n && n < HU_WORK_ASKED && hu_scene_is_much(c, time_of(c, &w->at[i])); i++)
        if (is_asked(c, &w->at[i]))
            out[n++] = &w->at[i];
    return n;
}

/* The named piece of work that is worth most. */
static const hu_block *find_block(const hu_scene *c)
{
    const hu_block *asked[HU_WORK_ASKED], *best = NULL;
    const size_t    n = hu_work_asked(c, asked);
    double          least = hu_pricer_step_ns(c->s->pricer);

    for (size_t i = 0; i < n; i++) {
        const hu_edit edit = {.kind = HU_EDIT_WORK,
                              .flavour = HU_EDIT_FREE,
                              .factor = INFINITY,
                              .glob = hu_trace_text(c->s->ask.trace, asked[i]->name)};
        const double  step_ns = hu_price_step_ns(c->s->pricer, &edit, 1);

        if (step_ns < least) {
            least = step_ns;
            best = asked[i];
        }
    }
    return best;
}

static const char FIX_OPERATOR[] =
    "compute it on the GPU (device=\"cuda\" where its tensors are created), or once before the loop, not in each step";
static const char FIX_DATA[] = "make it once before the loop, or ahead of time: in a loader's worker, or a thread";
static const char FIX_AHEAD[] =
    "move it out of the step: into a thread or a loader's worker that runs ahead, or do it less often";
static const char FIX_LAUNCHES[] =
    "find what this operator does on the CPU: record with with_stack=True; a library that tries algorithms needs fixed "
    "shapes; a custom operator that computes on the CPU can run on the GPU";
static const char FIX_CALL[] =
    "--view calls: where it is called from; it does not wait for GPU work, so call it less often or outside the steps";
static const char FIX_RANGE[] =
    "record with with_stack=True to see which line of it takes the time; then move that out of the step, into a thread or "
    "a loader's worker that runs ahead";

static const char *words_of(hu_block_kind kind)
{
    static const char *const words[] = {[HU_BLOCK_RANGE] = "The range ",
                                        [HU_BLOCK_PYTHON] = "The Python function ",
                                        [HU_BLOCK_OPERATOR] = "",
                                        [HU_BLOCK_CALL] = "The call "};

    return words[kind] ? words[kind] : "";
}

/* What was launched before a node, and what next, on its thread. */
static void show_place(const hu_scene *c, hu_hint *h, uint32_t node)
{
    const hu_graph *g = &c->s->graph;
    const uint32_t  lane = g->node[node].lane;
    uint32_t        next = HU_NONE, before = HU_NONE;

    for (uint32_t i = node; i-- > 0 && before == HU_NONE;)
        if (g->node[i].lane == lane && (g->node[i].n_ops || g->node[i].n_waits) && g->node[i].call != HU_CALL_NONE)
            before = i;
    for (uint32_t i = node + 1; i < g->n_nodes && next == HU_NONE; i++)
        if (g->node[i].lane == lane && g->node[i].n_ops && g->node[i].call != HU_CALL_NONE)
            next = i;
    if (next == HU_NONE)
        return;
    hu_hint_show(h, "the longest takes %s, %s%.60s%s before the launch of %.90s",
                 hu_say_time((double)g->node[node].cost_ns).t,
                 before == HU_NONE                                                 ? "before the first GPU operation"
                 : g->node[before].call == HU_CALL_SYNC || g->node[before].n_waits ? "after the wait in "
                                                                                   : "after ",
                 before == HU_NONE ? "" : hu_ask_name(&c->s->ask, g->node[before].slice).p, before == HU_NONE ? "," : " and",
                 hu_ask_name(&c->s->ask, g->op[g->node[next].ops].slice).p);
    if (g->node[node].cost_ns >= LEAST_COMPILE_NS &&
        hu_str_starts(hu_ask_name(&c->s->ask, g->op[g->node[next].ops].slice), HU_STR("triton_")))
        hu_hint_show(h, "behind the longest comes a Triton kernel: it may be the time in which that was compiled");
}

bool hu_gate_work(const hu_scene *c, hu_hint *h)
{
    const hu_block *b = find_block(c);
    hu_str          name;

    if (!b)
        return false;
    name = hu_trace_text(c->s->ask.trace, b->name);
    h->glob = name;
    hu_hint_say(h, "%s%s%s takes %s%s.", words_of(b->kind), hu_say_frame(name).t,
                b->launches                    ? ", before it launches anything,"
                : b->kind == HU_BLOCK_OPERATOR ? " on the CPU"
                                               : "",
                hu_scene_share(c, time_of(c, b)).t,
                c->s->ask.n_work && !b->launches ? " and launches nothing meanwhile" : "");
    hu_hint_show(h, "%s such piece%s in the replayed steps, the longest %s", hu_say_count(b->count).t, hu_plural(b->count),
                 hu_say_time((double)b->longest_ns).t);
    hu_hint_show_frames(c, h, c->s->graph.node[b->longest].slice);
    show_place(c, h, b->longest);
    h->is_likely = b->kind == HU_BLOCK_OPERATOR && !c->s->ask.n_work; /* it may be the model's own */
    h->fix = b->launches                    ? FIX_LAUNCHES
             : b->kind == HU_BLOCK_OPERATOR ? c->s->ask.n_work ? FIX_OPERATOR : FIX_DATA
             : b->kind == HU_BLOCK_CALL     ? FIX_CALL
             : b->kind == HU_BLOCK_RANGE    ? FIX_RANGE
             : c->s->ask.n_work             ? NULL
                                            : FIX_AHEAD;
    return true;
}

static bool is_unrecorded(const hu_host_work *w, const hu_graph *g, size_t node)
{
    return g->node[node].in & HU_IN_STALL ||
           (w->block[node] != HU_NONE && w->at[w->block[node]].kind == HU_BLOCK_UNRECORDED);
}

/* Does such time stand apart from what the main thread usually spends between operators, and is no end of a long tail? */
static bool unrecorded_stands_apart(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    int64_t         shortest = INT64_MAX, usual = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if (n->lane != g->main_lane || n->call != HU_CALL_NONE || n->start_ns < g->mark[0].host_end_ns ||
            n->start_ns >= g->mark[g->n_marks - 1].host_end_ns)
            continue;
        if (is_unrecorded(work_of(c), g, i))
            shortest = n->cost_ns < shortest ? n->cost_ns : shortest;
        else if (n->class == HU_CLASS_PYTHON || n->class == HU_CLASS_UNRECORDED)
            usual = n->cost_ns > usual ? n->cost_ns : usual;
    }
    return shortest >= APART * usual;
}

/*
 * Are there three steps with about as much of it as the step with most, or two as far from each other as the window allows
 * for what comes back at that distance?  A collector that runs every few steps stops for about as long each time; what the
 * system does to a process once in a while does not.
 */
static bool unrecorded_comes_back(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    double          most = 0;
    size_t          alike = 0, last = 0, apart = 0;

    for (int pass = 0; pass < 2; pass++) {
        size_t i = 0;

        for (size_t m = 0; m < g->n_marks; m++) { /* nodes stand in the order in which they began */
            double sum = 0;

            for (; i < g->n_nodes && g->node[i].start_ns < g->mark[m].host_end_ns; i++)
                sum += m && is_unrecorded(work_of(c), g, i) ? (double)g->node[i].seen_ns : 0;
            most = sum > most ? sum : most;
            if (!pass || sum <= 0 || 2 * sum < most)
                continue;
            apart = alike == 1 && m - last >= last ? m - last : 0;
            last = m;
            alike++;
        }
    }
    return alike >= 3 || (alike == 2 && last + apart >= g->n_marks);
}

static const char FIX_NSIGHT[] =
    "record what the host does: nsys profile --trace=cuda,nvtx,osrt --sample=process-tree (Python: --python-sampling=true "
    "--pytorch=autograd-nvtx); or holdup run: files, locks, sleep, CPU samples";

/* Samples name what calls and operators do not, though not for which part of the step. */
static void show_samples(const hu_scene *c, hu_hint *h)
{
    const hu_hot          *hot = &c->d->hot;
    const hu_hot_function *most = NULL;
    size_t                 said;
    hu_str                 name, module;

    for (size_t i = 0; i < hot->n; i++)
        if (hot->at[i].name.n && hu_hot_has_symbol(hot->at[i].name) && (!most || hot->at[i].main_self > most->main_self))
            most = &hot->at[i];
    if (!most || most->main_self <= 0 || hot->main_samples < FEWEST_SAMPLES)
        return;
    name = hu_str_cut(most->name, 60);
    module = hu_str_cut(most->module, 40);
    said = strlen(h->statement);
    snprintf(h->statement + said, sizeof h->statement - said,
             " CPU samples of the main thread in the whole capture: %s in %.*s (%.*s).",
             hu_say_pct(100 * (double)most->main_self / (double)hot->main_samples).t, HU_FMT(name), HU_FMT(module));
    h->fix = "--view hot lists the functions that CPU samples name: make them faster, or move them out of the step, into a "
             "thread that runs ahead";
}

/* The range around the longest pause of the main thread; "" where there is none but that of the step. */
static hu_str range_of_pause(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_ask   *ask = &c->s->ask;
    const hu_node  *longest = NULL;
    uint32_t        range;
    hu_str          name;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].in & HU_IN_STALL && g->node[i].lane == g->main_lane &&
            (!longest || g->node[i].seen_ns > longest->seen_ns))
            longest = &g->node[i];
    if (!longest)
        return HU_STR("");
    range = hu_ask_slice_at(ask, ask->main_track, longest->start_ns + longest->seen_ns / 2, HU_BIT(USER));
    name = range == HU_NONE ? HU_STR("") : hu_ask_name(ask, range);
    return hu_steps_is_mark(ask->steps, name) ? HU_STR("") : name;
}

bool hu_gate_unrecorded(const hu_scene *c, hu_hint *h)
{
    static const double  MOSTLY_UNKNOWN = 0.5;
    const hu_step_time  *t = hu_digest_step_time(c->d);
    const hu_host_work  *w = work_of(c);
    const hu_graph      *g = &c->s->graph;
    const int64_t       *kinds = c->d->health.kinds;
    const hu_ns_per_step pauses = hu_scene_node_time(c, HU_IN_STALL, 0);
    const bool           is_beside_comm = c->d->comm.on_host && c->d->comm.calls > 0;
    const hu_block      *most = NULL;
    double               sum = pauses.ns * (double)c->n_steps;
    hu_ns_per_step       time;

    /* a program that shows neither operators nor frames nor a device is described by its own marks alone */
    if (kinds[HU_KIND_CPU_OP] + kinds[HU_KIND_PYTHON] == 0 && g->n_ops == 0)
        return false;
    if (t && t->unknown_ns > 0 && t->unknown_ns >= MOSTLY_UNKNOWN * t->role_ns[HU_ROLE_OTHER])
        return false; /* something was recorded there, if of a kind that nobody here knows */
    for (size_t i = 0; i < w->n; i++) {
        if (w->at[i].kind != HU_BLOCK_UNRECORDED)
            continue;
        sum += (double)w->at[i].total_ns;
        most = !most || w->at[i].total_ns > most->total_ns ? &w->at[i] : most;
    }
    time = hu_as_mean(sum / (double)c->n_steps);
    if (!hu_scene_is_much(c, time))
        return false;
    if (most && !most->is_pause && 2 * (double)most->total_ns > sum) {
        const hu_str name = hu_trace_text(c->s->ask.trace, most->name);

        hu_hint_say(h, "The main thread spends %s in something that the trace does not name: no operator, no call%s%s%.*s.",
                    hu_scene_share(c, time).t, kinds[HU_KIND_PYTHON] ? ", no Python frame" : "",
                    name.n ? ", inside of the range " : "", HU_FMT(name));
        show_place(c, h, most->longest);
    } else {
        const hu_str range = range_of_pause(c);

        hu_hint_say(h,
                    "The main thread pauses for %s at points that differ from step to step%s%.*s%s, and nothing%s was "
                    "recorded there. It may be Python's garbage collector, input or output, or another process on this CPU.",
                    hu_scene_share(c, time).t, range.n ? " (longest in the range " : "", HU_FMT(range), range.n ? ")" : "",
                    range.n ? " else" : "");
        h->is_suspected = true;
        h->comes_back = !is_beside_comm && unrecorded_stands_apart(c) && unrecorded_comes_back(c);
    }
    h->fix = c->d->health.by_nsight ? FIX_NSIGHT : NULL;
    show_samples(c, h);
    h->is_likely = true;
    /* the host's collectives run in threads of their own: the hole may be a wait for them */
    h->may_gain_nothing = is_beside_comm;
    hu_hint_show(h, "the price is that of the time without its cause, which this trace does not show");
    return true;
}

bool hu_gate_blocking(const hu_scene *c, hu_hint *h)
{
    const hu_host_work *w = work_of(c);

    if (!w->is_blocking)
        return false;
    hu_hint_say(h,
                "Each launch returns only when its own kernel has ended (%s launches), so host and GPU never work at the "
                "same time.",
                hu_say_count(w->blocked).t);
    hu_hint_show(
        h, "the price takes %s for a launch that does not wait: from a call's begin to its kernel's, at most 10 \302\265s",
        hu_say_time((double)w->launch_ns).t);
    return true;
}

bool hu_gate_capture(const hu_scene *c, hu_hint *h)
{
    const hu_host_work *w = work_of(c);
    const hu_graph     *g = &c->s->graph;
    int64_t             sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        if (w->role[i] != HU_WORK_CAPTURE)
            continue;
        sum += g->node[i].seen_ns;
    }
    if (!hu_scene_is_much(c, hu_as_mean((double)sum / (double)c->n_steps)))
        return false;
    hu_hint_say(h, "Capturing CUDA graphs takes %s. During a capture the GPU runs nothing, by design.",
                hu_scene_share(c, hu_as_mean((double)sum / (double)c->n_steps)).t);
    hu_hint_show(h, "capturing is done once, when a job starts: this is no part of its usual steps");
    return true;
}

static bool has_name(const hu_scene *c, uint32_t node, bool is_host)
{
    return hu_names_is_host_memory(hu_ask_name(&c->s->ask, c->s->graph.node[node].slice)) == is_host;
}

typedef struct {
    hu_ns_per_step time;
    double         calls; /* per step */
    uint32_t       longest;
} alloc_sum;

/* Calls of the window that allocate or free memory of the device, or of the host for it. */
static alloc_sum sum_allocs(const hu_scene *c, bool is_host)
{
    const hu_graph *g = &c->s->graph;
    const int64_t   from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    alloc_sum       sum = {.longest = HU_NONE};
    int64_t         n = 0, until = from, ns = 0;

    for (uint32_t i = 0; i < g->n_nodes;
         i++) { /* in the order in which they began: what two threads do at once counts once */
        int64_t end;

        if (g->node[i].class != HU_CLASS_ALLOC_CALL || g->node[i].start_ns < from || g->node[i].start_ns >= to ||
            !has_name(c, i, is_host))
            continue;
        end = g->node[i].start_ns + g->node[i].seen_ns;
        ns += end > until ? end - (g->node[i].start_ns > until ? g->node[i].start_ns : until) : 0;
        until = end > until ? end : until;
        n++;
        if (sum.longest == HU_NONE || g->node[i].seen_ns > g->node[sum.longest].seen_ns)
            sum.longest = i;
    }
    sum.time = hu_as_mean((double)ns / (double)c->n_steps);
    sum.calls = (double)n / (double)c->n_steps;
    return sum;
}

static void show_calls(const hu_scene *c, hu_hint *h, const alloc_sum *sum)
{
    const hu_node *n = &c->s->graph.node[sum->longest];
    char           calls[HU_NUMBER_BYTES];

    hu_format_fixed(calls, sum->calls, sum->calls == floor(sum->calls) ? 0 : 1);
    hu_hint_show(h, "%s such call%s %s", calls, sum->calls == 1 ? "" : "s",
                 c->has_steps ? "per step" : "in the whole capture");
    hu_hint_show(h, "the longest takes %s: %s", hu_say_time((double)n->seen_ns).t, hu_ask_name(&c->s->ask, n->slice).p);
}

bool hu_gate_alloc(const hu_scene *c, hu_hint *h)
{
    const alloc_sum sum = sum_allocs(c, false);

    if (!hu_scene_is_much(c, sum.time) || c->d->calls.alloc_calls_in_steps == 0)
        return false;
    hu_hint_say(h, "Calls that allocate or free device memory in the driver take %s. A warm caching allocator needs none.",
                hu_scene_share(c, sum.time).t);
    show_calls(c, h, &sum);
    return true;
}

bool hu_gate_pin(const hu_scene *c, hu_hint *h)
{
    const alloc_sum sum = sum_allocs(c, true);

    if (!hu_scene_is_much(c, sum.time))
        return false;
    hu_hint_say(h, "Calls that allocate, register or free pinned host memory take %s.", hu_scene_share(c, sum.time).t);
    show_calls(c, h, &sum);
    return true;
}

/* Time of the window in loading and compiling of GPU code, and how much of it lies in the first step. */
static hu_ns_per_step loading(const hu_scene *c, bool *is_first, uint32_t *longest)
{
    const hu_graph *g = &c->s->graph;
    double          first = 0, all = 0;

    *longest = HU_NONE;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if ((n->class != HU_CLASS_COMPILE_CALL && !(n->in & HU_IN_COMPILE)) || n->start_ns < g->mark[0].host_end_ns ||
            n->start_ns >= g->mark[g->n_marks - 1].host_end_ns)
            continue;
        all += (double)n->seen_ns;
        first += n->start_ns < g->mark[1].host_end_ns ? (double)n->seen_ns : 0;
        *longest = *longest == HU_NONE || n->seen_ns > g->node[*longest].seen_ns ? i : *longest;
    }
    *is_first = first >= FIRST_SHARE * all;
    return hu_scene_node_time(c, HU_IN_COMPILE, HU_CLASS_BIT(COMPILE_CALL));
}

bool hu_gate_compile(const hu_scene *c, hu_hint *h)
{
    bool                 is_first;
    uint32_t             longest;
    const hu_ns_per_step time = loading(c, &is_first, &longest);

    if (!hu_scene_is_much(c, time) || is_first)
        return false;
    hu_hint_say(h, "Loading or compiling GPU code takes %s. Do it before the first step.", hu_scene_share(c, time).t);
    return true;
}

/* The kernel that a launch was for, when its code had to be loaded first. */
static hu_str kernel_behind(const hu_scene *c, uint32_t node)
{
    const hu_graph *g = &c->s->graph;

    for (uint32_t i = node + 1; i < g->n_nodes; i++)
        if (g->node[i].lane == g->node[node].lane)
            return g->node[i].slice == g->node[node].slice && g->node[i].n_ops
                       ? hu_ask_name(&c->s->ask, g->op[g->node[i].ops].slice)
                       : HU_STR("");
    return HU_STR("");
}

bool hu_gate_cold(const hu_scene *c, hu_hint *h)
{
    const hu_graph      *g = &c->s->graph;
    bool                 is_first;
    uint32_t             longest;
    const hu_ns_per_step time = loading(c, &is_first, &longest);
    hu_str               kernel;

    if (!hu_scene_is_much(c, time) || !is_first || longest == HU_NONE)
        return false;
    hu_hint_say(
        h,
        "The capture begins cold: first uses of the device and of its code take %s%s. A job that has run for a while "
        "does not pay this again.",
        hu_scene_share(c, time).t, c->n_steps > 1 ? ", all of it in the first step" : "");
    kernel = kernel_behind(c, longest);
    hu_hint_show(h, "the longest is %s in %s%s%.*s", hu_say_time((double)g->node[longest].seen_ns).t,
                 hu_ask_name(&c->s->ask, g->node[longest].slice).p, kernel.n ? ", the first launch of " : "",
                 (int)(kernel.n > 90 ? 90 : kernel.n), kernel.n ? kernel.p : "");
    hu_hint_show(h, "the gain is that of this capture, not of the job's usual step");
    return true;
}
