/* SPDX-License-Identifier: Apache-2.0
 * backlog.c - what runs before the first work of its stream whose launch is in the trace was queued before the capture,
 * whenever it runs.  So was work with a lower number than all launches in the trace, for the runtime counts them.
 */
#include "analyze/backlog.h"

#include "analyze/names.h"

bool hu_backlog_find(const hu_trace *trace, const uint8_t *names, hu_arena *arena, hu_backlog *out)
{
    size_t n_tracks;

    *out = (hu_backlog){.trace = trace, .s = hu_trace_slices(trace), .least = UINT32_MAX};
    hu_trace_tracks(trace, &n_tracks);
    out->first_launched = hu_arena_alloc(arena, (n_tracks + 1) * sizeof *out->first_launched);
    if (!out->first_launched)
        return false;
    for (size_t t = 0; t < n_tracks; t++)
        out->first_launched[t] = INT64_MAX;
    for (uint32_t i = 0; i < out->s.n; i++) {
        if (hu_kind_in(out->s.kind[i], HU_KINDS_DEVICE)) {
            int64_t *first = &out->first_launched[out->s.track[i]];

            if (hu_trace_launch_of(trace, i) != HU_NONE && out->s.start_ns[i] < *first)
                *first = out->s.start_ns[i];
        } else if (hu_kind_in(out->s.kind[i], HU_KINDS_CALL) && names[out->s.name[i]] & HU_NAME_LAUNCH) {
            out->has_launches = true;
            if (out->s.correlation[i] && out->s.correlation[i] < out->least)
                out->least = out->s.correlation[i];
        }
    }
    for (size_t t = 0; t < n_tracks; t++)
        if (out->first_launched[t] == INT64_MAX)
            out->first_launched[t] = INT64_MIN;
    return true;
}

bool hu_backlog_has(const hu_backlog *b, uint32_t slice)
{
    const uint32_t number = b->s.correlation[slice];

    if (hu_trace_launch_of(b->trace, slice) != HU_NONE)
        return false;
    return b->s.start_ns[slice] < b->first_launched[b->s.track[slice]] || (b->has_launches && number && number < b->least);
}
