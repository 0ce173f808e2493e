/* SPDX-License-Identifier: Apache-2.0
 * tracelens.c - TraceLens's gpu_timeline: only GPU work whose launch is in the trace, and sets count as computation.
 *
 *     exposed comm = comm ∖ computation       exposed memcpy = memcpy ∖ computation ∖ comm       busy = union of all
 *
 * TraceLens computes in doubles of microseconds; here are integers, so the last nanoseconds may differ.
 */
#include "analyze/tracelens.h"

/* TraceLens knows communication by these words alone, whatever their case. */
static bool is_comm(hu_str name)
{
    static const char *const words[] = {"nccl", "rccl", "cross_device_reduce"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has_lower(name, hu_str_of(words[i])))
            return true;
    return false;
}

static bool collect(const hu_ask *ask, hu_intervals set[3], hu_tracelens *out)
{
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        const int64_t  start = ask->s.start_ns[i], end = hu_ask_end(ask, i);
        const int      which = ask->s.kind[i] == HU_KIND_COLLECTIVE && is_comm(hu_ask_name(ask, i)) ? 1
                               : ask->s.kind[i] == HU_KIND_MEMCPY                                   ? 2
                                                                                                    : 0;

        if (!hu_ask_has(ask, i))
            continue;
        if (hu_trace_launch_of(ask->trace, i) == HU_NONE) {
            out->left_out++;
            out->left_out_ns += ask->s.dur_ns[i];
            continue;
        }
        first = start < first ? start : first;
        last = end > last ? end : last;
        if (!hu_intervals_add(ask->scratch, &set[which], start, end))
            return false;
    }
    out->total_ns = last > first ? last - first : 0;
    return true;
}

int hu_tracelens_measure(const hu_ask *ask, hu_tracelens *out, hu_error *err)
{
    hu_intervals set[3] = {{0}}, kernels, all;
    hu_tracelens t = {0};

    /* work comes in time order, so each set is already a union */
    if (!collect(ask, set, &t) || !hu_intervals_join(ask->scratch, &set[0], &set[1], &kernels) ||
        !hu_intervals_join(ask->scratch, &kernels, &set[2], &all))
        return hu_fail_memory(err);
    t.busy_ns = hu_intervals_length(&all);
    t.idle_ns = t.total_ns - t.busy_ns;
    t.computation_ns = hu_intervals_length(&set[0]);
    t.comm_ns = hu_intervals_length(&set[1]);
    t.memcpy_ns = hu_intervals_length(&set[2]);
    t.exposed_comm_ns = t.comm_ns - hu_intervals_common(&set[1], &set[0]);
    t.exposed_memcpy_ns = t.memcpy_ns - hu_intervals_common(&set[2], &kernels);
    *out = t;
    return 0;
}
