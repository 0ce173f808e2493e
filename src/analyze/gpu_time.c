/* SPDX-License-Identifier: Apache-2.0
 * gpu_time.c - busy, idle, compute, communication, copies, and what hides what.
 *
 * Intervals are united over all streams and devices of the trace, so that two kernels at once count once:
 *
 *     idle = span - | kernel ∪ memcpy ∪ memset |      overlapped = | comm ∩ compute |
 *
 * HolisticTraceAnalysis computes the same on times rounded to whole microseconds, which loses up to 18 % of the
 * computation of a trace with short kernels, and counts sync records and Triton operators as device work; TraceLens
 * leaves out device work without a launch.  Both differences are explained in docs/numbers.md.
 */
#include "analyze/gpu_time.h"

#include "analyze/select.h"

static void count_slices(const hu_trace *trace, hu_gpu_time *g)
{
    const hu_slices s = hu_trace_slices(trace);
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < s.n; i++) {
        if (!hu_kind_in(s.kind[i], HU_KINDS_DEVICE))
            continue;
        g->n_slices++;
        g->n_kernels += s.kind[i] == HU_KIND_KERNEL;
        g->n_comm += s.kind[i] == HU_KIND_COLLECTIVE;
        g->n_memcpy += s.kind[i] == HU_KIND_MEMCPY;
        g->n_memset += s.kind[i] == HU_KIND_MEMSET;
        g->kernel_sum_ns += s.kind[i] == HU_KIND_KERNEL ? s.dur_ns[i] : 0;
        g->comm_sum_ns += s.kind[i] == HU_KIND_COLLECTIVE ? s.dur_ns[i] : 0;
        first = s.start_ns[i] < first ? s.start_ns[i] : first;
        last = s.start_ns[i] + s.dur_ns[i] > last ? s.start_ns[i] + s.dur_ns[i] : last;
    }
    g->span_ns = g->n_slices ? last - first : 0;
}

int hu_gpu_time_measure(const hu_trace *trace, hu_arena *scratch, hu_gpu_time *out, hu_error *err)
{
    hu_intervals compute, comm, memcpy_, memset_, kernels, all, copies;
    hu_gpu_time  g = {0};
    int          rc;

    count_slices(trace, &g);
    if ((rc = hu_select_kinds(trace, HU_KINDS_COMPUTE, scratch, &compute, err)) < 0 ||
        (rc = hu_select_kinds(trace, HU_KINDS_COMM, scratch, &comm, err)) < 0 ||
        (rc = hu_select_kinds(trace, HU_BIT(MEMCPY), scratch, &memcpy_, err)) < 0 ||
        (rc = hu_select_kinds(trace, HU_BIT(MEMSET), scratch, &memset_, err)) < 0)
        return rc;
    if (!hu_intervals_join(scratch, &compute, &comm, &kernels) || !hu_intervals_join(scratch, &memcpy_, &memset_, &copies) ||
        !hu_intervals_join(scratch, &kernels, &copies, &all))
        return hu_fail_memory(err);

    g.busy_ns = hu_intervals_length(&all);
    g.compute_ns = hu_intervals_length(&compute);
    g.comm_ns = hu_intervals_length(&comm);
    g.memcpy_ns = hu_intervals_length(&memcpy_);
    g.memset_ns = hu_intervals_length(&memset_);
    g.overlapped_comm_ns = hu_intervals_common(&comm, &compute);
    g.exposed_memcpy_ns = g.memcpy_ns - hu_intervals_common(&memcpy_, &kernels);
    *out = g;
    return 0;
}

int64_t hu_gpu_time_idle_ns(const hu_gpu_time *g)
{
    return g->span_ns - g->busy_ns;
}

int64_t hu_gpu_time_exposed_comm_ns(const hu_gpu_time *g)
{
    return g->comm_ns - g->overlapped_comm_ns;
}
