/* SPDX-License-Identifier: Apache-2.0
 * node.c - samples lie by GPU, quantity and time, so that each series is one stretch of them. */
#include "job/node.h"

#include <math.h>
#include <stdlib.h>

#include "ingest/node_order.h"

enum { FEWEST_BUSY = 3, FEWEST_MISSED = 3 };

static const double BUSY_PCT = 50;      /* from which on a clock is one of work */
static const double LEAST_SHARE = 0.01; /* of the samples, for throttling */
static const double LEAST_LOOKS = 0.8;  /* of the others', for a GPU that was there throughout */
static const double AT_LIMIT = 0.95;    /* of the power limit, throughout */
static const double MOST_SHARE = 1.5;   /* of the time, for a counter whose ends are not quite those of the samples */
static const double LEAST_CLOCK = 0.85; /* of its peers' or of its own best, for a clock that is low without a reason */

static const struct {
    uint32_t bit;
    bool     lowers;
} reasons[] = {
#define R(id, bit, lowers, words) {bit, lowers},
    HU_GPU_REASONS(R)
#undef R
};

bool hu_node_reason_lowers(hu_gpu_reason reason)
{
    return reasons[reason].lowers;
}

bool hu_node_bits_lower(double bits)
{
    const uint64_t all = bits > 0 ? (uint64_t)bits : 0;

    for (size_t r = 0; r < HU_COUNT(reasons); r++)
        if ((all & reasons[r].bit) && reasons[r].lowers)
            return true;
    return false;
}

bool hu_node_is_busy(double pct)
{
    return pct >= BUSY_PCT;
}

int hu_node_files_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_node_log *out, hu_error *err)
{
    *out = (hu_node_log){.arena = arena};
    for (size_t i = 0; i < inputs->n; i++)
        if (hu_node_log_read_path(out, inputs->at[i], limits, err) < 0)
            return err->code;
    return hu_node_order(out) ? 0 : hu_fail_memory(err);
}

static hu_node_stat nothing(void)
{
    return (hu_node_stat){0, NAN, NAN, NAN};
}

/* `mean` is the sum until all are added. */
static void add(hu_node_stat *s, double value)
{
    s->mean = s->n ? s->mean + value : value;
    s->least = s->n && s->least < value ? s->least : value;
    s->most = s->n && s->most > value ? s->most : value;
    s->n++;
}

static void finish(hu_node_stat *s)
{
    if (s->n)
        s->mean /= (double)s->n;
}

/* A stretch of samples of one GPU and quantity. */
typedef struct {
    const hu_node_sample *at;
    size_t                n;
} stretch;

/* The value at a moment, which is later at each call; NaN: none was taken then. */
static double value_then(const stretch *s, size_t *i, int64_t ns)
{
    while (*i < s->n && s->at[*i].ns < ns)
        ++*i;
    return *i < s->n && s->at[*i].ns == ns ? s->at[*i].value : NAN;
}

static void measure_reasons(hu_node_gpu_answer *g, const stretch *bits, const stretch *clock)
{
    size_t k = 0;

    for (size_t i = 0; i < bits->n; i++) {
        const uint64_t all = bits->at[i].value > 0 ? (uint64_t)bits->at[i].value : 0;

        for (size_t r = 0; r < HU_COUNT(reasons); r++)
            g->by_reason[r] += (all & reasons[r].bit) != 0;
        if (hu_node_bits_lower(bits->at[i].value)) {
            const double mhz = value_then(clock, &k, bits->at[i].ns);

            g->lowered++;
            if (!isnan(mhz))
                add(&g->lowered_mhz, mhz);
        }
    }
    g->reason_looks = bits->n;
}

static void measure_gpu(hu_node_gpu_answer *g, const stretch of[HU_GPU_QUANTITY_COUNT])
{
    const stretch *busy = &of[HU_GAUGE_BUSY], *clock = &of[HU_GAUGE_SM_CLOCK];
    size_t         k = 0;

    for (size_t q = 0; q < HU_GPU_QUANTITY_COUNT; q++) {
        for (size_t i = 0; i < of[q].n; i++)
            add(&g->of[q], of[q].at[i].value);
        finish(&g->of[q]);
        if (q != HU_GAUGE_XID && of[q].n > g->looks)
            g->looks = of[q].n;
        if (of[q].n && of[q].at[of[q].n - 1].ns > g->last_ns)
            g->last_ns = of[q].at[of[q].n - 1].ns;
    }
    for (size_t i = 0; i < busy->n; i++)
        if (hu_node_is_busy(busy->at[i].value)) {
            const double mhz = value_then(clock, &k, busy->at[i].ns);

            if (!isnan(mhz))
                add(&g->busy_mhz, mhz);
        }
    measure_reasons(g, &of[HU_GAUGE_REASONS], clock);
    finish(&g->busy_mhz);
    finish(&g->lowered_mhz);
    g->xids = of[HU_GAUGE_XID].n;
    g->last_xid = g->xids ? of[HU_GAUGE_XID].at[g->xids - 1].value : NAN;
}

static void measure_samples(const hu_node_log *log, hu_node_gpu_answer *of_gpu)
{
    const hu_node_sample *at = log->samples.at;

    for (size_t i = 0, end; i < log->samples.n; i = end) {
        stretch of[HU_GPU_QUANTITY_COUNT] = {{0}};

        for (end = i; end < log->samples.n && at[end].gpu == at[i].gpu; end++) {
            stretch *s = &of[at[end].quantity];

            s->at = s->n ? s->at : &at[end];
            s->n++;
        }
        measure_gpu(&of_gpu[at[i].gpu], of);
    }
}

/* A counter of time, from its first to its last value. */
static void measure_time(hu_node_gpu_answer *g, const hu_node_count *first, const hu_node_count *last)
{
    static const uint32_t bits[] = {
#define C(id, bit, words) bit,
        HU_NODE_COUNTS(C)
#undef C
    };
    const uint32_t bit = bits[first->kind];
    double         share;

    if (bit == 0 || hu_node_is_moment(first->ns) || last->ns <= first->ns)
        return;
    share = (last->value - first->value) / ((double)(last->ns - first->ns) / 1e9);
    if (share > MOST_SHARE) /* the unit is another */
        return;
    share = share > 1 ? 1 : share;
    if (!(share > 0) || share <= g->counted_share)
        return;
    g->counted_share = share;
    for (hu_gpu_reason r = 0; r < HU_GPU_REASON_COUNT; r++)
        if (reasons[r].bit == bit)
            g->counted_reason = r;
}

static void measure_counts(const hu_node_log *log, hu_node_gpu_answer *of_gpu)
{
    const hu_node_count *at = log->counts.at;

    for (size_t i = 0, end; i < log->counts.n; i = end) {
        hu_node_gpu_answer *g = &of_gpu[at[i].gpu];

        for (end = i + 1; end < log->counts.n && at[end].gpu == at[i].gpu && at[end].kind == at[i].kind; end++)
            continue;
        g->looks = end - i > g->looks ? end - i : g->looks;
        g->first[at[i].kind] = at[i].value;
        g->last[at[i].kind] = at[end - 1].value;
        measure_time(g, &at[i], &at[end - 1]);
    }
}

/* Shares of looks, as dmon has them. */
static void measure_shares(hu_node_gpu_answer *g)
{
    static const hu_gpu_reason of[] = {HU_GPU_REASON_POWER_CAP, HU_GPU_REASON_THERMAL};

    for (size_t i = 0; i < HU_COUNT(of); i++) {
        const double share = g->gpu->n_held[i] ? g->gpu->held[i] / (double)g->gpu->n_held[i] : 0;

        if (share > g->counted_share) {
            g->counted_share = share;
            g->counted_reason = of[i];
        }
    }
}

static int by_place(const void *left, const void *right)
{
    const hu_node_gpu *a = ((const hu_node_gpu_answer *)left)->gpu, *b = ((const hu_node_gpu_answer *)right)->gpu;
    const int          host = hu_str_compare(a->host, b->host);

    if (host)
        return host;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number) : (a > b) - (a < b);
}

static void sum_up(hu_node_answer *out)
{
    size_t n = 0;
    bool   is_far = false; /* from the highest clock, which says nothing alone */

    out->busy = 0;
    for (size_t i = 0; i < out->n; i++) {
        const hu_node_gpu_answer *g = &out->at[i];
        const double              most = g->gpu->facts[HU_NODE_MOST_SM_MHZ];

        out->looks = g->looks > out->looks ? g->looks : out->looks;
        out->has_busy |= g->of[HU_GAUGE_BUSY].n > 0;
        out->has_clock |= g->of[HU_GAUGE_SM_CLOCK].n > 0;
        if (g->of[HU_GAUGE_SM_CLOCK].n && most > 0) {
            out->has_most = true;
            is_far |= g->reason_looks == 0 && g->busy_mhz.mean < LEAST_CLOCK * most;
        }
        out->has_reasons |= g->reason_looks > 0 || g->counted_share > 0;
        out->busy += g->of[HU_GAUGE_BUSY].n ? g->of[HU_GAUGE_BUSY].mean : 0;
        n += g->of[HU_GAUGE_BUSY].n > 0;
    }
    out->has_most &= !is_far;
    out->busy = n ? out->busy / (double)n : NAN;
    out->seconds = out->log->last_ns ? (double)(out->log->last_ns - out->log->first_ns) / 1e9 : NAN;
}

/* Do all of its looks say for which share of them? */
static bool has_shares(const hu_node_gpu_answer *g)
{
    return g->gpu->n_held[0] > 0 && (size_t)g->gpu->n_held[0] >= g->reason_looks;
}

hu_gpu_reason hu_node_main_reason(const hu_node_gpu_answer *g)
{
    /* the driver says a hardware slowdown beside what causes it */
    const bool    is_caused = g->by_reason[HU_GPU_REASON_HARDWARE_THERMAL] || g->by_reason[HU_GPU_REASON_POWER_BRAKE];
    hu_gpu_reason best = HU_GPU_REASON_COUNT;

    for (hu_gpu_reason r = 0; r < HU_GPU_REASON_COUNT; r++)
        if (reasons[r].lowers && g->by_reason[r] && !(is_caused && r == HU_GPU_REASON_SLOWDOWN) &&
            (best == HU_GPU_REASON_COUNT || g->by_reason[r] > g->by_reason[best]))
            best = r;
    return hu_node_is_timed(g) && g->counted_share > 0 ? g->counted_reason : best;
}

bool hu_node_is_timed(const hu_node_gpu_answer *g)
{
    return has_shares(g) || (g->reason_looks == 0 && g->counted_share > 0);
}

double hu_node_lowered_share(const hu_node_gpu_answer *g)
{
    if (!hu_node_is_timed(g))
        return g->reason_looks ? (double)g->lowered / (double)g->reason_looks : (double)NAN;
    return g->counted_share > 0 || has_shares(g) ? g->counted_share : (double)NAN;
}

/* ---- trouble ----------------------------------------------------------------------------------------------------- */

static double rise(const hu_node_gpu_answer *g, hu_node_count_kind kind)
{
    const double by = g->last[kind] - g->first[kind];

    return by > 0 ? by : 0;
}

static double rise_of_links(const hu_node_gpu_answer *g)
{
    double sum = 0;

    for (hu_node_count_kind k = HU_NODE_PCIE_REPLAYS; k <= HU_NODE_NVLINK_RECOVERIES; k++)
        sum += rise(g, k);
    return sum;
}

bool hu_node_is_at_limit(const hu_node_gpu_answer *g)
{
    const hu_node_stat *watts = &g->of[HU_GAUGE_POWER];
    const double        limit = g->gpu->facts[HU_NODE_LIMIT_WATTS];

    return g->reason_looks == 0 && limit > 0 && watts->n >= FEWEST_BUSY && watts->least >= AT_LIMIT * limit;
}

/* By how much its clock is low; the highest clock of a model is one that work need not reach, and says nothing alone. */
static double slowness(const hu_node_gpu_answer *g)
{
    const double most = g->gpu->facts[HU_NODE_MOST_SM_MHZ];
    double       than = g->peer_mhz > g->busy_mhz.most ? g->peer_mhz : g->busy_mhz.most;

    if (g->busy_mhz.n < FEWEST_BUSY)
        return 0;
    if (most > than && (hu_node_is_at_limit(g) || 2 * g->by_reason[HU_GPU_REASON_SET_CLOCKS] > g->reason_looks))
        than = most;
    return g->busy_mhz.mean < LEAST_CLOCK * than ? 1 - g->busy_mhz.mean / than : 0;
}

/* How grave this trouble of a GPU is; 0: it has it not. */
static double weight(const hu_node_gpu_answer *g, hu_node_says kind)
{
    const double share = hu_node_lowered_share(g), lanes = g->gpu->facts[HU_NODE_LANES],
                 most_lanes = g->gpu->facts[HU_NODE_MOST_LANES];

    switch (kind) {
    case HU_NODE_SAYS_LOST:
        return g->gpu->lost.n > 0;
    case HU_NODE_SAYS_FEWER:
        return g->gpu->lost.n == 0 && g->looks + FEWEST_MISSED <= g->file_looks &&
               (double)g->looks < LEAST_LOOKS * (double)g->file_looks;
    case HU_NODE_SAYS_XID:
        return (double)g->xids;
    case HU_NODE_SAYS_ECC:
        return g->last[HU_NODE_ECC_UNCORRECTED] > 0 ? g->last[HU_NODE_ECC_UNCORRECTED] : 0;
    case HU_NODE_SAYS_THROTTLED:
        return share >= LEAST_SHARE ? share : 0;
    case HU_NODE_SAYS_SLOW:
        return !(share >= LEAST_SHARE) ? slowness(g) : 0;
    case HU_NODE_SAYS_LANES:
        return lanes > 0 && lanes < most_lanes ? most_lanes / lanes : 0;
    case HU_NODE_SAYS_LINKS:
        return rise_of_links(g);
    case HU_NODE_SAYS_ROWS:
        return g->last[HU_NODE_ROWS_PENDING] > 0 ? 1 : 0;
    case HU_NODE_SAYS_KINDS:
        break;
    }
    return 0;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Each beside those of its model and of its file. */
static bool compare_with_peers(hu_node_answer *out, hu_arena *arena)
{
    double *room = hu_arena_calloc(arena, out->n + 1, sizeof *room);

    for (size_t i = 0; room && i < out->n; i++) {
        hu_node_gpu_answer *g = &out->at[i];
        size_t              n = 0;

        for (size_t k = 0; k < out->n; k++) {
            const hu_node_gpu_answer *peer = &out->at[k];

            if (hu_str_equal(peer->gpu->file, g->gpu->file) && peer->last_ns > g->last_ns && peer->looks > g->file_looks)
                g->file_looks = peer->looks;
            if (hu_str_equal(peer->gpu->name, g->gpu->name) && peer->busy_mhz.n >= FEWEST_BUSY)
                room[n++] = peer->busy_mhz.mean;
        }
        qsort(room, n, sizeof *room, by_value);
        g->peer_mhz = n > 1 ? room[n / 2] : 0;
    }
    return room != NULL;
}

typedef struct {
    double   weight, least_mhz;
    uint32_t gpu;
} heavy;

/* Of two that were throttled as often, the one whose clock fell lower is worse. */
static int by_weight(const void *left, const void *right)
{
    const heavy *a = left, *b = right;

    if (a->weight < b->weight || a->weight > b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->least_mhz < b->least_mhz || a->least_mhz > b->least_mhz)
        return a->least_mhz < b->least_mhz ? -1 : 1;
    return (a->gpu > b->gpu) - (a->gpu < b->gpu);
}

static bool find_trouble(hu_node_answer *out, hu_node_says kind, hu_arena *arena, heavy *room)
{
    uint32_t *gpus;
    size_t    n = 0;

    for (size_t i = 0; i < out->n; i++) {
        const double w = weight(&out->at[i], kind), mhz = out->at[i].lowered_mhz.least;

        if (w > 0)
            room[n++] = (heavy){w, isnan(mhz) ? INFINITY : mhz, (uint32_t)i};
    }
    if (n == 0)
        return true;
    qsort(room, n, sizeof *room, by_weight);
    gpus = hu_arena_alloc(arena, n * sizeof *gpus);
    if (!gpus)
        return false;
    for (size_t i = 0; i < n; i++)
        gpus[i] = room[i].gpu;
    out->troubles[out->n_troubles++] = (hu_node_trouble){kind, gpus, n};
    return true;
}

static double mean_of(const hu_node_sum *s)
{
    return s->n ? s->sum / (double)s->n : -1;
}

/* The busiest first, then those with most memory. */
static int by_use(const void *a, const void *b)
{
    const hu_node_process *x = *(const hu_node_process *const *)a, *y = *(const hu_node_process *const *)b;
    const double           busy = mean_of(&y->busy) - mean_of(&x->busy);
    const double           memory = y->memory.most - x->memory.most;

    return busy != 0     ? (busy > 0) - (busy < 0)
           : memory != 0 ? (memory > 0) - (memory < 0)
                         : (x->pid > y->pid) - (x->pid < y->pid);
}

static bool list_processes(const hu_node_log *log, hu_arena *arena, hu_node_answer *out)
{
    const hu_node_process **list = hu_arena_calloc(arena, log->processes.n + 1, sizeof *list);

    if (!list)
        return false;
    for (size_t i = 0; i < log->processes.n; i++)
        list[i] = &log->processes.at[i];
    qsort(list, log->processes.n, sizeof *list, by_use);
    out->processes = list;
    out->n_processes = log->processes.n;
    return true;
}

bool hu_node_measure(const hu_node_log *log, hu_arena *arena, hu_node_answer *out)
{
    heavy *room = hu_arena_calloc(arena, log->gpus.n + 1, sizeof *room);

    *out = (hu_node_answer){.log = log, .at = hu_arena_calloc(arena, log->gpus.n + 1, sizeof *out->at)};
    if (!out->at || !room || !list_processes(log, arena, out))
        return false;
    for (size_t i = 0; i < log->gpus.n; i++) {
        hu_node_gpu_answer *g = &out->at[i];

        *g = (hu_node_gpu_answer){.gpu = &log->gpus.at[i], .lowered_mhz = nothing(), .busy_mhz = nothing()};
        for (size_t q = 0; q < HU_GPU_QUANTITY_COUNT; q++)
            g->of[q] = nothing();
        for (size_t k = 0; k < HU_NODE_COUNT_KINDS; k++)
            g->first[k] = g->last[k] = NAN;
    }
    measure_samples(log, out->at);
    measure_counts(log, out->at);
    for (size_t i = 0; i < log->gpus.n; i++)
        measure_shares(&out->at[i]);
    for (size_t i = 0; i < log->gpus.n; i++) /* those that are only named, or divided by MIG, have nothing to tell */
        if (out->at[i].looks || out->at[i].xids || log->gpus.at[i].lost.n)
            out->at[out->n++] = out->at[i];
    qsort(out->at, out->n, sizeof *out->at, by_place);
    sum_up(out);
    if (!compare_with_peers(out, arena))
        return false;
    for (hu_node_says k = 0; k < HU_NODE_SAYS_KINDS; k++)
        if (!find_trouble(out, k, arena, room))
            return false;
    return true;
}
