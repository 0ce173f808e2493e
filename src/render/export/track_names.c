/* SPDX-License-Identifier: Apache-2.0
 * track_names.c - the name that the profiler gave, else kind and number. */
#include "render/export/track_names.h"

#include "base/number.h"

hu_str hu_track_join(hu_arena *arena, const hu_str *pieces, size_t n)
{
    size_t total = 0, used = 0;
    char  *p;

    for (size_t i = 0; i < n; i++)
        total += pieces[i].n;
    p = hu_arena_alloc(arena, total + 1);
    if (!p)
        return (hu_str){NULL, 0};
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].n)
            memcpy(p + used, pieces[i].p, pieces[i].n);
        used += pieces[i].n;
    }
    p[used] = '\0';
    return (hu_str){p, used};
}

hu_str hu_track_id(const hu_trace *trace, int64_t id, bool is_text, hu_arena *arena)
{
    char text[HU_NUMBER_BYTES];

    if (is_text)
        return hu_trace_text(trace, (uint32_t)id);
    return hu_arena_copy(arena, (hu_str){text, hu_format_i64(text, id)});
}

static hu_str stream_name(const hu_track *track, hu_arena *arena)
{
    char   device[HU_NUMBER_BYTES], stream[HU_NUMBER_BYTES];
    hu_str pieces[] = {HU_STR("GPU "),
                       {device, hu_format_i64(device, track->device)},
                       HU_STR(" / stream "),
                       {stream, hu_format_i64(stream, track->stream)}};

    if (track->device < 0)
        pieces[1] = HU_STR("?");
    if (track->stream < 0)
        pieces[3] = HU_STR("?");
    return hu_track_join(arena, pieces, HU_COUNT(pieces));
}

hu_str hu_track_name(const hu_trace *trace, const hu_track *track, hu_arena *arena)
{
    const hu_str name = hu_trace_text(trace, track->name);
    hu_str       id;

    if (track->type == HU_TRACK_STREAM)
        return stream_name(track, arena);
    if (name.n)
        return name;
    id = hu_track_id(trace, track->tid, track->tid_is_text, arena);
    if (!id.p || track->tid_is_text)
        return id;
    return hu_track_join(arena, (hu_str[]){track->type == HU_TRACK_HOST ? HU_STR("thread ") : HU_STR("row "), id}, 2);
}

hu_str hu_track_rank(const hu_trace *trace, int64_t index, hu_arena *arena)
{
    const int64_t rank = hu_trace_get_info(trace)->rank;
    char          text[HU_NUMBER_BYTES];
    hu_str        pieces[] = {rank >= 0 ? HU_STR("rank ") : HU_STR("trace "),
                       {text, hu_format_i64(text, rank >= 0 ? rank : index)}};

    return rank < 0 && index < 0 ? HU_STR("") : hu_track_join(arena, pieces, HU_COUNT(pieces));
}

hu_str hu_track_process_name(const hu_trace *trace, const hu_track *track, int64_t index, hu_arena *arena)
{
    const hu_str rank = hu_track_rank(trace, index, arena);
    const hu_str id = track ? hu_track_id(trace, track->pid, track->pid_is_text, arena) : HU_STR("");
    const hu_str name = track ? hu_trace_text(trace, track->process) : HU_STR("");
    const hu_str own = track ? HU_STR("process ") : HU_STR("trace");
    const bool   has_name = name.n || (track && track->pid_is_text);
    hu_str       pieces[] = {rank, rank.n ? HU_STR(" · ") : HU_STR(""), has_name ? HU_STR("") : own, name.n ? name : id};

    if (!rank.p || !id.p)
        return (hu_str){NULL, 0};
    return hu_track_join(arena, pieces, HU_COUNT(pieces));
}
