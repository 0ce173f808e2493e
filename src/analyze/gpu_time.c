/* SPDX-License-Identifier: Apache-2.0
 * gpu_time.c - busy, idle, compute, communication, copies, and what overlaps.
 *
 * Intervals are united over all streams and devices of the trace, so that two kernels at once count once:
 *
 *     idle = span - | kernel ∪ memcpy ∪ memset |      overlapped = | comm ∩ compute |
 *
 * HolisticTraceAnalysis computes the same on times rounded to whole microseconds, which loses up to 18 % of the
 * computation of a trace with short kernels, and counts sync records and Triton operators as GPU work; TraceLens
 * leaves out GPU work without a launch.  Both differences are explained in docs/numbers.md.
 */
#include "analyze/gpu_time.h"

static void count_slices(const hu_ask *ask, hu_gpu_time *g)
{
    int64_t last = INT64_MIN;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        const int64_t  dur = ask->s.dur_ns[i], end = hu_ask_end(ask, i);

        g->n_kernels += ask->s.kind[i] == HU_KIND_KERNEL;
        g->n_comm += ask->s.kind[i] == HU_KIND_COLLECTIVE;
        g->n_memcpy += ask->s.kind[i] == HU_KIND_MEMCPY;
        g->n_memset += ask->s.kind[i] == HU_KIND_MEMSET;
        g->kernel_sum_ns += ask->s.kind[i] == HU_KIND_KERNEL ? dur : 0;
        g->comm_sum_ns += ask->s.kind[i] == HU_KIND_COLLECTIVE ? dur : 0;
        last = end > last ? end : last;
    }
    g->n_slices = (int64_t)ask->n_work;
    g->span_ns = ask->n_work ? last - ask->s.start_ns[ask->work[0]] : 0;
}

/* By inclusion and exclusion, which needs but the common parts. */
static int split(const hu_ask *ask, hu_gpu_time *g, hu_error *err)
{
    hu_intervals  compute_comm;
    const int64_t comm_copy = hu_intervals_common(&ask->comm, &ask->copies);
    const int64_t compute_copy = hu_intervals_common(&ask->compute, &ask->copies);
    int64_t       all, *out = g->split_ns;

    if (!hu_intervals_intersect(ask->scratch, &ask->compute, &ask->comm, &compute_comm))
        return hu_fail_memory(err);
    all = hu_intervals_common(&compute_comm, &ask->copies);
    out[HU_PART_COMPUTE | HU_PART_COMM | HU_PART_MEMORY] = all;
    out[HU_PART_COMPUTE | HU_PART_COMM] = g->overlapped_comm_ns - all;
    out[HU_PART_COMPUTE | HU_PART_MEMORY] = compute_copy - all;
    out[HU_PART_COMM | HU_PART_MEMORY] = comm_copy - all;
    out[HU_PART_COMPUTE] = g->compute_ns - g->overlapped_comm_ns - compute_copy + all;
    out[HU_PART_COMM] = g->comm_ns - g->overlapped_comm_ns - comm_copy + all;
    out[HU_PART_MEMORY] = hu_intervals_length(&ask->copies) - compute_copy - comm_copy + all;
    out[0] = g->span_ns - g->busy_ns;
    return 0;
}

int hu_gpu_time_measure(const hu_ask *ask, hu_gpu_time *out, hu_error *err)
{
    hu_gpu_time g = {0};
    int         rc;

    count_slices(ask, &g);
    g.busy_ns = hu_intervals_length(&ask->busy);
    g.compute_ns = hu_intervals_length(&ask->compute);
    g.comm_ns = hu_intervals_length(&ask->comm);
    g.memcpy_ns = hu_intervals_length(&ask->memcpy);
    g.memset_ns = hu_intervals_length(&ask->memset);
    g.overlapped_comm_ns = hu_intervals_common(&ask->comm, &ask->compute);
    g.exposed_memcpy_ns = g.memcpy_ns - hu_intervals_common(&ask->memcpy, &ask->kernels);
    rc = split(ask, &g, err);
    if (rc == 0)
        *out = g;
    return rc;
}

void hu_gpu_time_merge(hu_gpu_time *into, const hu_gpu_time *from)
{
    _Static_assert(sizeof *into % sizeof(int64_t) == 0, "a struct of sums and nothing else");

    for (size_t i = 0; i < sizeof *into / sizeof(int64_t); i++)
        ((int64_t *)into)[i] += ((const int64_t *)from)[i];
}

int64_t hu_gpu_time_idle_ns(const hu_gpu_time *g)
{
    return g->span_ns - g->busy_ns;
}

int64_t hu_gpu_time_exposed_comm_ns(const hu_gpu_time *g)
{
    return g->comm_ns - g->overlapped_comm_ns;
}
