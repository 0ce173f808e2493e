/* SPDX-License-Identifier: Apache-2.0
 * counters.c - one launch at a time, from the metrics that its report has. */
#include "analyze/counters.h"

#include <math.h>
#include <stdlib.h>

/* "Speed Of Light" and its rule SOLBottleneck: per cent of a peak. */
static const double BUSY_PCT = 60, NEAR_PCT = 10;
/* Work of the matrix units that is not worth a word. */
static const double LEAST_MATRIX_PCT = 1;
/* Metrics that are the largest of others are equal to one of them but for rounding. */
static const double ROUNDING = 0.01;

/* States of a warp that have to be measured for their sum to be all of its time; no chip has all of ours. */
enum { LEAST_STATES = 12 };

static const char *const stalls[] = {
#define S(id, name, label) name,
    HU_STALLS(S)
#undef S
};

/* "Warp Stall Reasons" of the Profiling Guide says what each is. */
static const char *const advice[HU_STALL_COUNT] = {
    [HU_STALL_LONG_SCOREBOARD] =
        "waits for data of global or local memory: coalesce loads, keep reused data in shared memory, load ahead of use",
    [HU_STALL_SHORT_SCOREBOARD] =
        "waits for shared memory or special functions: look for bank conflicts, use fewer exp/sin/division",
    [HU_STALL_LG_THROTTLE] = "the queue to global memory is full: fewer and wider loads (float4), no register spills",
    [HU_STALL_MIO_THROTTLE] =
        "the queue of shared memory and special functions is full: wider accesses to shared memory, reuse in registers",
    [HU_STALL_TEX_THROTTLE] = "the texture queue is full: fewer or wider texture and surface accesses",
    [HU_STALL_MATH_THROTTLE] =
        "an arithmetic pipe is busy: the kernel computes as fast as that pipe can; use another one or a smaller type",
    [HU_STALL_BARRIER] = "waits at __syncthreads: blocks of fewer threads, equal work between barriers, fewer barriers",
    [HU_STALL_MEMBAR] = "waits for memory fences: fewer or narrower fences (block instead of device)",
    [HU_STALL_WAIT] =
        "fixed latency between instructions that depend on each other: more independent work in a thread, or more warps",
    [HU_STALL_BRANCH] = "waits for branch targets: fewer branches, unrolled loops",
    [HU_STALL_NO_INSTRUCTION] =
        "waits for instructions: code larger than the instruction cache, or too few warps; unroll less",
    [HU_STALL_IMC_MISS] = "misses in the constant cache: let all threads of a warp read the same constant",
    [HU_STALL_DISPATCH] = "the dispatcher holds the warp back: rarely anything to change in the code",
    [HU_STALL_DRAIN] = "waits for stores before it ends: fewer or coalesced stores at the end of the kernel",
    [HU_STALL_GMMA] = "waits for warp-group matrix instructions: the matrix units are busy, or too few are in flight",
    [HU_STALL_SLEEPING] = "sleeps as it was told to (nanosleep)",
    [HU_STALL_MISC] = "other reasons",
    [HU_STALL_NOT_SELECTED] = "ready, but another warp was chosen: there are enough warps",
    [HU_STALL_SELECTED] = "issues an instruction",
};

const char *hu_stall_name(hu_stall stall)
{
    return stalls[stall];
}

const char *hu_stall_advice(hu_stall stall)
{
    return advice[stall];
}

static const struct {
    const char *name, *brings;
} sections[] = {
#define S(id, section, brings) {section, brings},
    HU_KERNEL_SECTIONS(S)
#undef S
};

const char *hu_kernel_section_name(hu_kernel_section section)
{
    return sections[section].name;
}

const char *hu_kernel_section_brings(hu_kernel_section section)
{
    return sections[section].brings;
}

static double value(const hu_counted *k, hu_counter c)
{
    return k->value[c];
}

/*
 * Which level of memory reaches what all of it does: gpu__compute_memory_throughput is the largest of its parts, and so are
 * the throughputs of DRAM and L2 of theirs.
 */
static const char *memory_level(const hu_counted *k)
{
    const double all = value(k, HU_COUNTER_MEMORY_PCT), dram = value(k, HU_COUNTER_DRAM_PCT),
                 l2 = value(k, HU_COUNTER_L2_PCT);

    if (isnan(all) || isnan(dram) || isnan(l2))
        return NULL;
    if (dram >= all - ROUNDING)
        return "DRAM";
    return l2 >= all - ROUNDING ? "L2" : "L1 or shared memory";
}

static void judge_bound(const hu_counted *k, hu_kernel_answer *out)
{
    const double sm = value(k, HU_COUNTER_SM_PCT), memory = value(k, HU_COUNTER_MEMORY_PCT),
                 waves = value(k, HU_COUNTER_WAVES);

    if (isnan(sm) || isnan(memory)) {
        out->lacks[HU_KERNEL_NEEDS_SPEED] = true;
        return;
    }
    out->level = memory_level(k);
    if (sm < BUSY_PCT && memory < BUSY_PCT)
        out->bound = waves < 1 && fmax(sm, memory) >= BUSY_PCT * waves ? HU_KERNEL_GRID : HU_KERNEL_LATENCY;
    else if (fabs(sm - memory) < NEAR_PCT)
        out->bound = HU_KERNEL_BOTH;
    else
        out->bound = sm > memory ? HU_KERNEL_COMPUTE : HU_KERNEL_MEMORY;
}

/* A multiplication with addition is two operations (SpeedOfLight_RooflineChart).  NaN: not measured. */
static double operations_per_s(const hu_counted *k, hu_counter first)
{
    const double *c = &k->value[first], *sums = c + HU_OPERATION_SUMS, hz = value(k, HU_COUNTER_SMSP_HZ);
    const double  per_cycle = c[HU_OPERATION_ADD] + c[HU_OPERATION_MUL] + 2 * c[HU_OPERATION_FMA];
    const double  sum = sums[HU_OPERATION_ADD] + sums[HU_OPERATION_MUL] + 2 * sums[HU_OPERATION_FMA];

    if (!isnan(per_cycle) && !isnan(hz))
        return per_cycle * hz;
    return sum / (value(k, HU_COUNTER_DURATION_NS) / 1e9);
}

static void judge_operations(const hu_counted *k, hu_kernel_answer *out)
{
    static const hu_counter precisions[] = {HU_COUNTER_FADD_PER_CYCLE, HU_COUNTER_DADD_PER_CYCLE, HU_COUNTER_HADD_PER_CYCLE};
    double                  most = -1;

    out->flops_per_s = out->peak_flops_per_s = (double)NAN;
    for (size_t i = 0; i < HU_COUNT(precisions); i++) {
        const double rate = operations_per_s(k, precisions[i]);
        const double per_cycle = k->value[precisions[i] + HU_OPERATION_PEAK];

        if (!isfinite(rate) || rate < 0)
            continue;
        out->flops_per_s = isnan(out->flops_per_s) ? rate : out->flops_per_s + rate;
        if (rate <= most)
            continue;
        most = rate;
        out->peak_flops_per_s = per_cycle * 2 * value(k, HU_COUNTER_SM_HZ);
    }
    out->has_matrix_work = value(k, HU_COUNTER_MATRIX_PCT) >= LEAST_MATRIX_PCT;
}

static double dram_bytes_per_s(const hu_counted *k)
{
    const double seconds = value(k, HU_COUNTER_DURATION_NS) / 1e9;

    if (!isnan(value(k, HU_COUNTER_DRAM_BYTES_PER_S)))
        return value(k, HU_COUNTER_DRAM_BYTES_PER_S);
    if (!isnan(value(k, HU_COUNTER_DRAM_BYTES)))
        return value(k, HU_COUNTER_DRAM_BYTES) / seconds;
    return (value(k, HU_COUNTER_DRAM_READ) + value(k, HU_COUNTER_DRAM_WRITE)) / seconds;
}

static void judge_roofline(const hu_counted *k, hu_kernel_answer *out)
{
    const double bytes = dram_bytes_per_s(k);

    judge_operations(k, out);
    out->bytes_per_s = isfinite(bytes) ? bytes : (double)NAN;
    out->peak_bytes_per_s = value(k, HU_COUNTER_DRAM_PEAK) * value(k, HU_COUNTER_DRAM_HZ);
    out->intensity = out->bytes_per_s > 0 ? out->flops_per_s / out->bytes_per_s : (double)NAN;
    out->ridge = out->peak_bytes_per_s > 0 ? out->peak_flops_per_s / out->peak_bytes_per_s : (double)NAN;
    out->lacks[HU_KERNEL_NEEDS_ROOFLINE] = isnan(out->flops_per_s);
    out->lacks[HU_KERNEL_NEEDS_MEMORY] = isnan(out->bytes_per_s);
}

static void judge_occupancy(const hu_counted *k, hu_kernel_answer *out)
{
    const struct {
        hu_counter limit;
        bool      *is_tightest;
    } limits[] = {{HU_COUNTER_LIMIT_REGISTERS, &out->by_registers},
                  {HU_COUNTER_LIMIT_SHARED, &out->by_shared},
                  {HU_COUNTER_LIMIT_WARPS, &out->by_warps},
                  {HU_COUNTER_LIMIT_BLOCKS, &out->by_blocks},
                  {HU_COUNTER_LIMIT_BARRIERS, &out->by_barriers}};

    out->theoretical_pct = value(k, HU_COUNTER_THEORETICAL_PCT);
    out->achieved_pct = value(k, HU_COUNTER_ACHIEVED_PCT);
    out->blocks_per_sm = (double)NAN;
    out->tail = value(k, HU_COUNTER_WAVES) > 0 ? 1 - value(k, HU_COUNTER_WAVES) / ceil(value(k, HU_COUNTER_WAVES)) : 0;
    for (size_t i = 0; i < HU_COUNT(limits); i++)
        out->blocks_per_sm = fmin(out->blocks_per_sm, value(k, limits[i].limit)); /* NaN where both are */
    for (size_t i = 0; i < HU_COUNT(limits) && out->theoretical_pct < 100 - ROUNDING; i++)
        *limits[i].is_tightest = value(k, limits[i].limit) <= out->blocks_per_sm;
    out->lacks[HU_KERNEL_NEEDS_OCCUPANCY] = isnan(out->theoretical_pct) || isnan(out->achieved_pct);
}

/* Shares of the largest few; a warp that issues, or could, waits for nothing. */
static void take_largest(const double of[HU_STALL_COUNT], double all, hu_kernel_answer *out)
{
    for (hu_stall s = 0; s < HU_STALL_COUNT && all > 0; s++) {
        hu_kernel_stall next = {s, of[s] / all};

        if (s == HU_STALL_SELECTED || s == HU_STALL_NOT_SELECTED || !(of[s] > 0))
            continue;
        for (size_t i = 0; i < HU_KERNEL_STALLS; i++) {
            const hu_kernel_stall old = out->stalls[i];

            if (i < out->n_stalls && old.share >= next.share)
                continue;
            out->stalls[i] = next;
            if (i >= out->n_stalls) {
                out->n_stalls = i + 1;
                break;
            }
            next = old;
        }
    }
}

/* The sum of all that are measured; *is_all: hardly any other can be. */
static double sum_of(const double of[HU_STALL_COUNT], bool *is_all)
{
    double all = 0;
    int    n = 0;

    for (hu_stall s = 0; s < HU_STALL_COUNT; s++) {
        n += !isnan(of[s]);
        all += of[s] > 0 ? of[s] : 0;
    }
    *is_all = n >= LEAST_STATES;
    return all;
}

/* Warps of a state at each issue, over the cycles of a warp between two issues, are its share (rule CPIStall). */
static void judge_stalls(const hu_counted *k, hu_kernel_answer *out)
{
    bool         has_states, has_samples;
    const double states = sum_of(k->stall, &has_states), samples = sum_of(k->sample, &has_samples);

    if (has_states || !isnan(value(k, HU_COUNTER_WARP_LATENCY)))
        take_largest(k->stall, fmax(states, value(k, HU_COUNTER_WARP_LATENCY)), out);
    if (out->n_stalls == 0 && has_samples) {
        take_largest(k->sample, samples, out);
        out->is_sampled = out->n_stalls > 0;
    }
    out->lacks[HU_KERNEL_NEEDS_STALLS] = out->n_stalls == 0;
}

void hu_kernel_judge(const hu_counted *k, hu_kernel_answer *out)
{
    *out = (hu_kernel_answer){.bound = HU_KERNEL_UNKNOWN};
    judge_bound(k, out);
    judge_roofline(k, out);
    judge_occupancy(k, out);
    judge_stalls(k, out);
}

/* --- groups --- */

static int compare_shape(const hu_counted *a, const hu_counted *b)
{
    int c = hu_str_compare(a->name, b->name);

    c = c ? c : hu_str_compare(a->device, b->device);
    c = c ? c : memcmp(a->grid, b->grid, sizeof a->grid);
    return c ? c : memcmp(a->block, b->block, sizeof a->block);
}

/* Launches of a shape together, the shortest first; those without a duration last. */
static int compare_launches(const void *x, const void *y)
{
    const hu_counted *a = *(const hu_counted *const *)x, *b = *(const hu_counted *const *)y;
    const double      da = a->value[HU_COUNTER_DURATION_NS], db = b->value[HU_COUNTER_DURATION_NS];
    const int         c = compare_shape(a, b);

    if (c)
        return c;
    if (isnan(da) || isnan(db))
        return isnan(da) != isnan(db) ? (isnan(da) ? 1 : -1) : (a > b) - (a < b);
    return da != db ? (da > db) - (da < db) : (a > b) - (a < b);
}

/* The longest first; those without a duration last, in the order of the file. */
static int compare_groups(const void *x, const void *y)
{
    const hu_kernel_group *a = x, *b = y;

    if (isnan(a->total_ns) != isnan(b->total_ns))
        return isnan(a->total_ns) ? 1 : -1;
    if (a->total_ns < b->total_ns || a->total_ns > b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return (a->shown > b->shown) - (a->shown < b->shown);
}

void hu_kernel_group_of(const hu_counters *c, const hu_counted **launches, size_t n, hu_kernel_group *out)
{
    qsort(launches, n, sizeof *launches, compare_launches);
    *out = (hu_kernel_group){.n = n,
                             .shown = (size_t)(launches[(n - 1) / 2] - c->kernels.at),
                             .least_ns = launches[0]->value[HU_COUNTER_DURATION_NS],
                             .most_ns = launches[n - 1]->value[HU_COUNTER_DURATION_NS]};
    for (size_t i = 0; i < n; i++)
        out->total_ns += launches[i]->value[HU_COUNTER_DURATION_NS];
}

/* Launches of one shape have their places in the sorted list; groups are sorted once more. */
static void number_groups(const hu_counters *c, const hu_counted **order, uint32_t *place, hu_kernel_groups *out)
{
    for (size_t g = 0; g < out->n; g++)
        place[out->at[g].shown] = (uint32_t)g;
    for (size_t i = 0, end; i < c->kernels.n; i = end) {
        uint32_t group = 0;

        for (end = i; end < c->kernels.n && compare_shape(order[i], order[end]) == 0; end++)
            ;
        group = place[order[i + (end - i - 1) / 2] - c->kernels.at];
        for (size_t k = i; k < end; k++)
            out->of[order[k] - c->kernels.at] = group;
    }
}

int hu_kernel_group_all(const hu_counters *c, hu_arena *arena, hu_kernel_groups *out, hu_error *err)
{
    const size_t       n = c->kernels.n;
    const hu_counted **order = hu_arena_calloc(arena, n + 1, sizeof *order);
    uint32_t          *place = hu_arena_calloc(arena, n + 1, sizeof *place);

    *out = (hu_kernel_groups){.at = hu_arena_calloc(arena, n + 1, sizeof *out->at),
                              .of = hu_arena_calloc(arena, n + 1, sizeof *out->of)};
    if (!order || !place || !out->at || !out->of)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        order[i] = &c->kernels.at[i];
    qsort(order, n, sizeof *order, compare_launches);
    for (size_t i = 0, end; i < n; i = end) {
        hu_kernel_group *g = &out->at[out->n++];

        for (end = i; end < n && compare_shape(order[i], order[end]) == 0; end++)
            ;
        hu_kernel_group_of(c, order + i, end - i, g);
        out->total_ns += g->total_ns;
    }
    qsort(out->at, out->n, sizeof *out->at, compare_groups);
    number_groups(c, order, place, out);
    return 0;
}
