/* SPDX-License-Identifier: Apache-2.0
 * notes.c - details are made into words once for each different set of them, found by a hash of what was recorded. */
#include "timeline/notes.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/units.h"

int hu_notes_init(hu_notes *notes, const hu_trace *trace, hu_arena *arena, hu_error *err)
{
    *notes = (hu_notes){.trace = trace, .s = hu_trace_slices(trace)};
    return hu_map_init(&notes->seen, arena, 256) && hu_intern_init(&notes->texts, arena) ? 0 : hu_fail_memory(err);
}

static size_t say_collective(const hu_notes *n, uint32_t row, char *out, size_t room)
{
    const hu_collective_detail *c = row ? hu_trace_collective_detail(n->trace, row) : NULL;
    hu_str                      name, dtype, group;
    int                         bytes;

    if (!c)
        return 0;
    name = hu_trace_text(n->trace, c->name);
    dtype = hu_trace_text(n->trace, c->dtype);
    group = hu_trace_text(n->trace, c->group_description ? c->group_description : c->group);
    bytes = snprintf(out, room, "%.*s, %lld elements of %.*s, group %.*s of %d", (int)(name.n < 60 ? name.n : 60), name.p,
                     (long long)c->in_elements, (int)(dtype.n < 20 ? dtype.n : 20), dtype.p,
                     (int)(group.n < 60 ? group.n : 60), group.p, c->group_size);
    return bytes > 0 ? ((size_t)bytes < room ? (size_t)bytes : room - 1) : 0;
}

static void say_kernel(const hu_notes *n, const hu_kernel_detail *k, char *out)
{
    size_t at = say_collective(n, k->collective, out, HU_NOTE_BYTES);

    if (k->grid[0] && at < HU_NOTE_BYTES)
        at += (size_t)snprintf(out + at, HU_NOTE_BYTES - at, "%sgrid %u\xc3\x97%u\xc3\x97%u, block %u\xc3\x97%u\xc3\x97%u",
                               at ? "; " : "", k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2]);
    if (k->registers && at < HU_NOTE_BYTES)
        at += (size_t)snprintf(out + at, HU_NOTE_BYTES - at, ", %u registers", k->registers);
    if (k->shared_bytes && at < HU_NOTE_BYTES)
        at += (size_t)snprintf(out + at, HU_NOTE_BYTES - at, ", %u B shared", k->shared_bytes);
    if (!isnan(k->occupancy_pct) && k->occupancy_pct > 0 && at < HU_NOTE_BYTES)
        snprintf(out + at, HU_NOTE_BYTES - at, ", occupancy %d %%", (int)lrintf(k->occupancy_pct));
}

static void say_bytes(int64_t bytes, double gbps, char *out)
{
    char   unit[HU_UNIT_BYTES], rate[HU_NUMBER_BYTES];
    size_t at;

    hu_units_bytes(unit, (double)bytes);
    at = (size_t)snprintf(out, HU_NOTE_BYTES, "%s", unit);
    if (!isnan(gbps) && gbps > 0 && hu_format_fixed(rate, gbps, 1))
        snprintf(out + at, HU_NOTE_BYTES - at, ", %s GB/s", rate);
}

/* Shapes as recorded; the end of a text that is too long is cut between characters by whoever shows it. */
static void say_op(const hu_notes *n, const hu_op_detail *o, const hu_op_extra *extra, char *out)
{
    const hu_str dims = hu_trace_text(n->trace, o->dims), types = hu_trace_text(n->trace, o->types);
    const size_t room = HU_NOTE_BYTES / 2 - 1;
    size_t       at = extra ? say_collective(n, extra->collective, out, HU_NOTE_BYTES) : 0;

    if (dims.n && at < HU_NOTE_BYTES / 2)
        snprintf(out + at, HU_NOTE_BYTES - at, "%s%.*s %.*s", at ? "; " : "", (int)(dims.n < room ? dims.n : room), dims.p,
                 (int)(types.n < 80 ? types.n : 80), types.p);
}

static uint32_t put(hu_notes *n, uint64_t key, const char *text)
{
    uint32_t *place = hu_map_put(&n->seen, key), id;

    if (!place) {
        n->failed = true;
        return 0;
    }
    id = n->texts.entries.n < HU_NOTES_MOST ? hu_intern_add(&n->texts, hu_str_of(text)) : 0;
    n->failed |= id == UINT32_MAX;
    return *place = id == UINT32_MAX ? 0 : id;
}

/* Two different details with one hash would share a text: one chance in 2^32 for as many as there can be. */
static uint64_t key_of(unsigned kind, const void *detail, size_t bytes)
{
    return hu_hash_mix(hu_hash_bytes(detail, bytes), kind + 1);
}

uint32_t hu_notes_of(hu_notes *notes, uint32_t slice)
{
    const uint32_t row = notes->s.detail[slice];
    const unsigned kind = notes->s.kind[slice];
    char           text[HU_NOTE_BYTES]; /* cleared as a text only: most notes are known already */
    uint64_t       key;
    uint32_t       known;

    text[0] = '\0';
    if (row == HU_NONE)
        return 0;
    if (kind == HU_KIND_KERNEL || kind == HU_KIND_COLLECTIVE) {
        hu_kernel_detail k = *hu_trace_kernel_detail(notes->trace, row);

        k.graph = k.graph_node = 0;
        key = key_of(kind, &k, sizeof k);
        if ((known = hu_map_get(&notes->seen, key)) != HU_MAP_NONE)
            return known;
        say_kernel(notes, &k, text);
    } else if (kind == HU_KIND_MEMCPY || kind == HU_KIND_MEMSET) {
        const hu_copy_detail *c = hu_trace_copy_detail(notes->trace, row);

        if (c->bytes < 0)
            return 0;
        key = hu_hash_mix((uint64_t)c->bytes + 1, (uint64_t)lrint(isnan(c->gbps) ? 0 : c->gbps * 10) * 16 + kind);
        if ((known = hu_map_get(&notes->seen, key)) != HU_MAP_NONE)
            return known;
        say_bytes(c->bytes, c->gbps, text);
    } else if (kind == HU_KIND_CPU_OP || kind == HU_KIND_USER) {
        const hu_op_detail *o = hu_trace_op_detail(notes->trace, row);

        key = hu_hash_mix((uint64_t)o->dims << 32 | o->types, o->extra + 1u);
        if ((known = hu_map_get(&notes->seen, key)) != HU_MAP_NONE)
            return known;
        say_op(notes, o, o->extra ? hu_trace_op_extra(notes->trace, o->extra) : NULL, text);
    } else if (hu_kind_in(kind, HU_KINDS_CALL)) {
        const hu_call_detail *c = hu_trace_call_detail(notes->trace, row);

        if (c->bytes < 0)
            return 0;
        key = hu_hash_mix((uint64_t)c->bytes + 1, 977);
        if ((known = hu_map_get(&notes->seen, key)) != HU_MAP_NONE)
            return known;
        say_bytes(c->bytes, (double)NAN, text);
    } else {
        return 0;
    }
    return put(notes, key, text);
}

void hu_notes_write(const hu_notes *n, hu_json_out *j, const char *key)
{
    hu_json_open(j, key, '[');
    for (uint32_t i = 0; i < n->texts.entries.n; i++)
        hu_json_str(j, NULL, hu_intern_get(&n->texts, i));
    hu_json_close(j, ']');
}
