/* SPDX-License-Identifier: Apache-2.0
 * builder_asks.c - what an importer may ask about what it has built so far. */
#include "base/sort.h"
#include "trace/builder_state.h"

const hu_os_detail *hu_builder_get_os_detail(const hu_builder *b, uint32_t row)
{
    return &b->trace->os_calls.at[row];
}

bool hu_builder_list_moments(const hu_builder *b, hu_arena *arena, hu_builder_moments *out)
{
    const hu_trace *t = b->trace;

    *out = (hu_builder_moments){.n_tracks = t->tracks.n};
    out->at = hu_arena_grow(arena, NULL, (2 * t->n + 1) * sizeof *out->at);
    out->first = hu_arena_grow(arena, NULL, (t->tracks.n + 2) * sizeof *out->first);
    if (!out->at || !out->first)
        return false;
    memset(out->first, 0, (t->tracks.n + 2) * sizeof *out->first);
    for (size_t i = 0; i < t->n; i++) /* counted two places further on, so that first[t + 1] is where t is filled */
        out->first[t->track[i] + 2] += t->tracks.at[t->track[i]].type == HU_TRACK_HOST ? 2 : 0;
    for (size_t i = 2; i < t->tracks.n + 2; i++)
        out->first[i] += out->first[i - 1];
    for (size_t i = 0; i < t->n; i++) {
        if (t->tracks.at[t->track[i]].type != HU_TRACK_HOST)
            continue;
        out->at[out->first[t->track[i] + 1]++] = t->start_ns[i];
        out->at[out->first[t->track[i] + 1]++] = t->start_ns[i] + t->dur_ns[i];
    }
    for (size_t i = 0; i < t->tracks.n; i++)
        hu_sort_i64(out->at + out->first[i], out->first[i + 1] - out->first[i]);
    return true;
}

size_t hu_builder_slice_count(const hu_builder *b)
{
    return b->trace->n;
}

bool hu_builder_span(const hu_builder *b, int64_t *from_ns, int64_t *to_ns)
{
    const hu_trace *t = b->trace;

    for (size_t i = 0; i < t->n; i++) {
        const int64_t end_ns = t->start_ns[i] + t->dur_ns[i];

        *from_ns = i == 0 || t->start_ns[i] < *from_ns ? t->start_ns[i] : *from_ns;
        *to_ns = i == 0 || end_ns > *to_ns ? end_ns : *to_ns;
    }
    return t->n > 0;
}

int64_t hu_builder_only_device(const hu_builder *b)
{
    const hu_trace *t = b->trace;
    int64_t         device = -1;

    for (size_t i = 0; i < t->tracks.n; i++) {
        if (t->tracks.at[i].type != HU_TRACK_STREAM)
            continue;
        if (device >= 0 && t->tracks.at[i].device != device)
            return -1;
        device = t->tracks.at[i].device;
    }
    return device;
}

void hu_builder_count_kinds(const hu_builder *b, int64_t counts[HU_KIND_COUNT])
{
    memset(counts, 0, HU_KIND_COUNT * sizeof *counts);
    for (size_t i = 0; i < b->trace->n; i++)
        counts[b->trace->kind[i]]++;
}

bool hu_builder_has_pid(const hu_builder *b, int64_t pid)
{
    for (size_t i = 0; i < b->trace->tracks.n; i++)
        if (b->trace->tracks.at[i].type == HU_TRACK_HOST && !b->trace->tracks.at[i].pid_is_text &&
            b->trace->tracks.at[i].pid == pid)
            return true;
    return false;
}

bool hu_builder_has_process(const hu_builder *b, hu_str prefix)
{
    for (size_t i = 0; i < b->process_names.n; i++)
        if (hu_str_starts(hu_intern_get(&b->trace->strings, b->process_names.at[i].name), prefix))
            return true;
    return false;
}

size_t hu_builder_track_count(const hu_builder *b, hu_track_type type)
{
    size_t n = 0;

    for (size_t i = 0; i < b->trace->tracks.n; i++)
        n += b->trace->tracks.at[i].type == type;
    return n;
}

size_t hu_builder_step_count(const hu_builder *b)
{
    const hu_trace *t = b->trace;
    size_t          n = b->n_marked;

    for (size_t i = 0; i < t->n; i++)
        n += t->kind[i] == HU_KIND_USER && hu_str_starts(hu_intern_get(&t->strings, t->name[i]), HU_STR("ProfilerStep#"));
    return n;
}

const hu_device *hu_builder_devices(const hu_builder *b, size_t *n)
{
    *n = b->trace->devices.n;
    return b->trace->devices.at;
}

const hu_device *hu_builder_device_of(const hu_builder *b, int64_t id)
{
    for (size_t i = 0; i < b->trace->devices.n; i++)
        if (b->trace->devices.at[i].id == id)
            return &b->trace->devices.at[i];
    return NULL;
}
