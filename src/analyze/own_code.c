/* SPDX-License-Identifier: Apache-2.0
 * own_code.c - a frame's own time is its time without the frames directly inside of it. */
#include "analyze/own_code.h"

typedef struct {
    int64_t own_ns, calls;
} by_name;

static bool is_frame(const hu_ask *ask, uint32_t slice)
{
    return ask->s.kind[slice] == HU_KIND_PYTHON && ask->s.track[slice] == ask->main_track;
}

int hu_own_code_find(const hu_ask *ask, hu_own_code *out, hu_error *err)
{
    by_name *sums;
    uint32_t most = 0;

    *out = (hu_own_code){.name = HU_STR("")};
    if (!(ask->kinds & HU_BIT(PYTHON)) || ask->kinds & HU_BIT(CPU_OP) || ask->n_work)
        return 0;
    sums = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, sizeof *sums);
    if (!sums)
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const uint32_t above = ask->s.parent[i];

        if (!is_frame(ask, i))
            continue;
        sums[ask->s.name[i]].own_ns += ask->s.dur_ns[i];
        sums[ask->s.name[i]].calls++;
        if (above != HU_NONE && is_frame(ask, above))
            sums[ask->s.name[above]].own_ns -= ask->s.dur_ns[i];
        else
            out->all_ns += ask->s.dur_ns[i];
    }
    for (uint32_t i = 1; i <= hu_trace_string_count(ask->trace); i++)
        most = sums[i].own_ns > sums[most].own_ns ? i : most;
    if (sums[most].own_ns <= 0)
        return 0;
    out->name = hu_trace_text(ask->trace, most);
    out->own_ns = sums[most].own_ns;
    out->calls = sums[most].calls;
    return 0;
}
