/* SPDX-License-Identifier: Apache-2.0
 * calibrate.c - the few constants that explain almost all starts: launch latency, gap, and what waiting costs on top.
 *
 * Launch latency: from the start of the call to the start of its work, where the stream was idle at the call; where it never
 * was, that of starts which follow their calls at one distance: a queue would make it longer and shorter.
 * Gap: from the end of one piece of work to the start of the next of its stream, where that was there before: launched so
 * long ago that no launch of this trace takes longer.  Else it is the launch that is measured: a host that launches every
 * 7 us, 19 us ahead, leaves 4 us between kernels of 3 us, whatever the device needs.  In a job that is bound by its launches
 * no work is ever there before; then the gap is a usual one, and no longer than the short ones that were seen.
 * Means of what lies near the median are used, so that thousands of links in a row do not add up to an error.
 *
 * What then starts later than these say waits for something that the trace does not name.  First work of another stream is
 * looked for that ended just before; else the delay is frozen: it moves with what comes before it, and is counted.
 */
#include "base/sort.h"
#include "graph/build.h"

enum {
    SLACK_NS = 15000,    /* launched so long before, work did not wait for its launch, if launches do not take longer here */
    LONGEST_NS = 50000,  /* that any launch takes, where none is known to have found its stream idle */
    NEAR_NS = 5000,      /* of the median: a sample like the others */
    LOCAL_NS = 2000,     /* a start this near to the model's is explained */
    EXPLAINED_NS = 5000, /* a delay below is noise of the device */
    INFER_NS = 15000,    /* work of another stream that ended so shortly before was waited for */
    LAUNCH_NS = 7000,
    GAP_NS = 1500,
    EVENT_NS = 1500,    /* where a trace has too few samples */
    MOST_GAP_NS = 4000, /* that a device needs between two pieces of work */
    FEWEST = 3,         /* samples, to measure by */
    FEWEST_ALIKE = 10,  /* starts at one distance from their launches */
};

static const double FAST_FACTOR = 4;

/* How long after its call work of each kind may start and have waited for nothing else. */
typedef struct {
    int64_t at_most_ns[HU_CALL_KINDS];
} launch_times;

int64_t hu_build_typical(int64_t *samples, size_t n, int64_t reach, int64_t otherwise)
{
    int64_t median, sum = 0, count = 0;

    if (n < FEWEST)
        return otherwise;
    median = hu_sort_nth_i64(samples, n, n / 2);
    for (size_t i = 0; i < n; i++) {
        if (samples[i] < median - reach || samples[i] > median + reach)
            continue;
        sum += samples[i];
        count++;
    }
    return sum / count;
}

static hu_call_kind call_of(const hu_building *b, const hu_op *op)
{
    return op->has_launch ? (hu_call_kind)b->nodes.at[op->node].call : HU_CALL_NONE;
}

/*
 * Communication is left out: it waits for what it sends, and where the trace has no events nothing says so, so that its
 * stream looks idle for as long as the kernels run.
 */
static bool is_idle_start(const hu_building *b, const hu_op *op)
{
    return op->has_launch && op->deps == HU_NONE && op->class != HU_CLASS_COMM &&
           (op->before == HU_NONE || hu_build_op_end(b, op->before) <= b->nodes.at[op->node].start_ns);
}

/* Was it there when a time came?  Then it did not wait for its launch. */
static bool was_there(const hu_building *b, const launch_times *t, const hu_op *op, int64_t time_ns)
{
    return op->has_launch && b->nodes.at[op->node].start_ns + t->at_most_ns[call_of(b, op)] < time_ns;
}

static bool is_queued_start(const hu_building *b, const launch_times *t, const hu_op *op)
{
    return op->deps == HU_NONE && op->before != HU_NONE && was_there(b, t, op, hu_build_op_end(b, op->before));
}

/* What a start may have waited for besides its launch, by what the device did before it. */
typedef enum {
    WAS_IDLE,  /* at the call: nothing */
    WENT_IDLE, /* for longer than it needs between two pieces of work: nothing that is recorded */
    WAS_ANY,
} device_before;

static bool is_start_after(const hu_building *b, const hu_op *op, device_before what)
{
    return what == WAS_IDLE    ? is_idle_start(b, op)
           : what == WENT_IDLE ? op->before != HU_NONE && op->start_ns - hu_build_op_end(b, op->before) > MOST_GAP_NS
                               : true;
}

/* From calls of a kind to the starts of their work, sorted; how many. */
static size_t list_delays(const hu_building *b, hu_call_kind kind, device_before what, int64_t *samples)
{
    size_t n = 0;

    for (uint32_t i = 0; i < b->ops.n; i++) {
        const hu_op *op = &b->ops.at[i];

        if (call_of(b, op) == kind && op->deps == HU_NONE && op->class != HU_CLASS_COMM && is_start_after(b, op, what))
            samples[n++] = op->start_ns - b->nodes.at[op->node].start_ns;
    }
    hu_sort_i64(samples, n);
    return n;
}

/* Do starts follow their calls at one distance, within `spread_ns`, and is that one that a launch takes? */
static bool are_alike(const int64_t *sorted, size_t n, int64_t spread_ns)
{
    return n >= FEWEST_ALIKE && sorted[3 * n / 4] <= LONGEST_NS && sorted[3 * n / 4] - sorted[n / 10] <= spread_ns;
}

/* What shows how long launches of a kind take, where the stream was hardly ever idle at a call. */
static size_t list_alike(const hu_building *b, hu_call_kind kind, int64_t *samples)
{
    size_t n = list_delays(b, kind, WENT_IDLE, samples);

    if (n && are_alike(samples, n, samples[n / 2] / 2 > NEAR_NS ? samples[n / 2] / 2 : NEAR_NS))
        return n;
    n = list_delays(b, kind, WAS_ANY, samples);
    return are_alike(samples, n, NEAR_NS) ? n : 0;
}

/* Of times of launches; most of them, and half as much again as the median where a trace has waits among them. */
static int64_t longest_usual(const int64_t *sorted, size_t n)
{
    const int64_t most = sorted[n / 2] + sorted[n / 2] / 2, at_most = sorted[9 * n / 10];

    return (at_most < most ? at_most : most) + NEAR_NS;
}

static void measure_launch(hu_building *b, launch_times *t, int64_t *samples)
{
    hu_calibration *c = &b->g->calibration;
    int64_t         least = INT64_MAX;

    for (uint32_t i = 0; i < b->ops.n; i++) {
        const hu_op *op = &b->ops.at[i];

        if (op->has_launch && op->start_ns - b->nodes.at[op->node].start_ns < least)
            least = op->start_ns - b->nodes.at[op->node].start_ns;
    }
    c->launch_ns[HU_CALL_KERNEL] = least < LAUNCH_NS && least >= 0 ? least : LAUNCH_NS;
    for (hu_call_kind k = HU_CALL_KERNEL; k <= HU_CALL_OTHER; k++) {
        size_t n = list_delays(b, k, WAS_IDLE, samples);

        if (n < FEWEST && k == HU_CALL_KERNEL)
            n = list_alike(b, k, samples);
        t->at_most_ns[k] = n >= FEWEST           ? longest_usual(samples, n)
                           : k == HU_CALL_KERNEL ? LONGEST_NS
                                                 : t->at_most_ns[HU_CALL_KERNEL];
        t->at_most_ns[k] = t->at_most_ns[k] > SLACK_NS ? t->at_most_ns[k] : SLACK_NS;
        c->launch_ns[k] = hu_build_typical(samples, n, NEAR_NS, c->launch_ns[HU_CALL_KERNEL]);
    }
}

/* A gap that no work showed is no longer than the short ones between work that waited for its launch. */
static void guess_gap(hu_building *b, int64_t *samples)
{
    hu_calibration *c = &b->g->calibration;
    size_t          n = 0;
    int64_t         quarter_ns;

    for (uint32_t i = 0; i < b->ops.n; i++) {
        const hu_op  *op = &b->ops.at[i];
        const int64_t gap = op->before == HU_NONE ? -1 : op->start_ns - hu_build_op_end(b, op->before);

        if (op->has_launch && op->deps == HU_NONE && gap >= 0)
            samples[n++] = gap;
    }
    quarter_ns = n ? hu_sort_nth_i64(samples, n, n / 4) : MOST_GAP_NS;
    c->most_gap_ns = quarter_ns < MOST_GAP_NS ? quarter_ns : MOST_GAP_NS;
    c->gap_ns = c->most_gap_ns < GAP_NS ? c->most_gap_ns : GAP_NS;
}

static void measure_gap(hu_building *b, const launch_times *t, int64_t *samples)
{
    hu_calibration *c = &b->g->calibration;
    size_t          n = 0;

    for (uint32_t i = 0; i < b->ops.n; i++)
        if (is_queued_start(b, t, &b->ops.at[i]))
            samples[n++] = b->ops.at[i].start_ns - hu_build_op_end(b, b->ops.at[i].before);
    if (n < FEWEST) {
        guess_gap(b, samples);
        return;
    }
    c->gap_ns = c->most_gap_ns = hu_build_typical(samples, n, LOCAL_NS, GAP_NS);
    c->is_gap_seen = true;
}

static void measure_event(hu_building *b, const launch_times *t, int64_t *samples)
{
    hu_calibration *c = &b->g->calibration;
    size_t          n = 0;

    for (uint32_t i = 0; i < b->ops.n; i++) {
        const hu_op   *op = &b->ops.at[i];
        const hu_link *link = op->deps == HU_NONE ? NULL : &b->links.at[op->deps].link;
        int64_t        end;

        if (!link || link->at != HU_AT_OP_END || link->class == HU_CLASS_GAP || b->links.at[op->deps].next != HU_NONE)
            continue;
        end = hu_build_op_end(b, link->from);
        if (was_there(b, t, op, end) && (op->before == HU_NONE || hu_build_op_end(b, op->before) + SLACK_NS <= end))
            samples[n++] = op->start_ns - end;
    }
    c->event_ns = hu_build_typical(samples, n, NEAR_NS, EVENT_NS);
}

/*
 * What a call of each kind takes when it does not wait: the median of those within a few times of the fast ones.  Where most
 * of a kind wait, as in a job that the device limits, the plain median would be a wait.
 */
static void measure_calls(hu_building *b, int64_t *samples)
{
    /* a trace may hold only calls that wait */
    static const int64_t most[HU_CALL_KINDS] = {[HU_CALL_SYNC] = 5000, [HU_CALL_COPY] = 10000, [HU_CALL_ALLOC] = 100000};

    for (hu_call_kind k = HU_CALL_KERNEL; k < HU_CALL_KINDS; k++) {
        size_t n = 0, fast;

        for (size_t i = 0; i < b->nodes.n; i++)
            if (b->nodes.at[i].call == k)
                samples[n++] = b->nodes.at[i].cost_ns;
        if (n)
            hu_sort_i64(samples, n);
        for (fast = 0; fast < n && (double)samples[fast] <= FAST_FACTOR * (double)samples[n / 10] + NEAR_NS;)
            fast++;
        b->g->calibration.call_ns[k] = n ? samples[fast / 2] : 0;
        if (most[k] && b->g->calibration.call_ns[k] > most[k])
            b->g->calibration.call_ns[k] = most[k];
    }
}

int hu_build_calibrate(hu_building *b, hu_error *err)
{
    const size_t n = b->ops.n > b->nodes.n ? b->ops.n : b->nodes.n;
    int64_t     *samples = hu_arena_grow(b->ask->scratch, NULL, (n + 1) * sizeof *samples);
    launch_times t;

    if (!samples)
        return hu_fail_memory(err);
    measure_launch(b, &t, samples);
    measure_gap(b, &t, samples);
    measure_event(b, &t, samples);
    measure_calls(b, samples);
    hu_arena_drop(b->ask->scratch, samples);
    return 0;
}

/* A weight as calibrated, or less when this start was so much earlier that the constant cannot hold for it. */
static int32_t fit(int64_t weight, int64_t seen)
{
    const int64_t w = seen < weight - LOCAL_NS ? seen : weight;

    return w < INT32_MIN ? INT32_MIN : w > INT32_MAX ? INT32_MAX : (int32_t)w;
}

static int64_t at_of(const hu_building *b, const hu_link *link)
{
    return link->at == HU_AT_OP_END     ? hu_build_op_end(b, link->from)
           : link->at == HU_AT_OP_START ? b->ops.at[link->from].start_ns
                                        : hu_build_node_end(b, link->from);
}

/* Sets the weights of what an operation waits for; returns when it should have started. */
static int64_t weigh(hu_building *b, hu_op *op)
{
    const hu_calibration *c = &b->g->calibration;
    int64_t               ready = INT64_MIN;

    if (op->has_launch) {
        const int64_t launched = b->nodes.at[op->node].start_ns;

        op->launch_ns = fit(c->launch_ns[b->nodes.at[op->node].call], op->start_ns - launched);
        ready = launched + op->launch_ns;
    }
    if (op->before != HU_NONE) {
        const int64_t end = hu_build_op_end(b, op->before);

        op->gap_ns = fit(c->gap_ns, op->start_ns - end);
        if (op->in_graph && op->start_ns - end < op->gap_ns)
            op->gap_ns = (int32_t)(op->start_ns - end > INT32_MIN ? op->start_ns - end : INT32_MIN);
        ready = end + op->gap_ns > ready ? end + op->gap_ns : ready;
    }
    for (uint32_t k = op->deps; k != HU_NONE; k = b->links.at[k].next) {
        hu_link      *link = &b->links.at[k].link;
        const int64_t at = at_of(b, link);

        if (link->class == HU_CLASS_EVENT || link->class == HU_CLASS_INFERRED)
            link->weight_ns = fit(c->event_ns, op->start_ns - at);
        ready = at + link->weight_ns > ready ? at + link->weight_ns : ready;
    }
    return ready == INT64_MIN ? b->from_ns : ready;
}

uint32_t hu_build_ended_before(const hu_building *b, uint32_t op, bool own_too, int64_t time_ns)
{
    const int64_t device = b->stream_track[b->ops.at[op].stream]->device;
    uint32_t      best = HU_NONE;

    for (uint32_t s = 0; s < b->g->n_streams; s++) {
        uint32_t low = b->stream_first[s], high = b->stream_first[s + 1];

        if ((!own_too && s == b->ops.at[op].stream) || b->stream_track[s]->device != device)
            continue;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;

            if (b->by_stream[middle] < op && hu_build_op_end(b, b->by_stream[middle]) <= time_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > b->stream_first[s] &&
            (best == HU_NONE || hu_build_op_end(b, b->by_stream[low - 1]) > hu_build_op_end(b, best)))
            best = b->by_stream[low - 1];
    }
    return best;
}

static bool explain(hu_building *b, uint32_t i, int64_t ready)
{
    hu_calibration *c = &b->g->calibration;
    hu_op          *op = &b->ops.at[i];
    const uint32_t  from = hu_build_ended_before(b, i, false, op->start_ns);
    int64_t         end;

    /* commands of OpenCL have all of their waits: where another one ended just before, it was no wait for that */
    if (from != HU_NONE && !hu_trace_get_info(b->ask->trace)->opencl) {
        end = hu_build_op_end(b, from);
        if (op->start_ns - end <= INFER_NS && end > ready - SLACK_NS) {
            c->inferred++;
            return hu_build_link_op(b, i,
                                    (hu_link){.from = from,
                                              .weight_ns = (int32_t)(op->start_ns - end),
                                              .at = HU_AT_OP_END,
                                              .class = HU_CLASS_INFERRED});
        }
    }
    op->frozen_ns = op->start_ns - ready;
    c->frozen++;
    return true;
}

int hu_build_residuals(hu_building *b, hu_error *err)
{
    for (uint32_t i = 0; i < b->ops.n; i++) {
        hu_op        *op = &b->ops.at[i];
        const int64_t ready = weigh(b, op), late = op->start_ns - ready;

        if (op->has_launch || op->in_graph) {
            b->g->calibration.ops++;
            b->g->calibration.local += late <= LOCAL_NS && late >= -LOCAL_NS;
        }
        if (late > EXPLAINED_NS && !explain(b, i, ready))
            return hu_fail_memory(err);
    }
    return 0;
}
