/* SPDX-License-Identifier: Apache-2.0
 * perfetto_clocks.c - from the clock that a packet was stamped with to the one of the trace.
 *
 * A snapshot reads several clocks at one moment; the newest one says how far each is from the trace's own clock
 * (BOOTTIME unless it names another).  Ids 64 to 127 belong to one sequence, and such a clock may be incremental: each
 * stamp counts from the one before it, so none may be left out.  Clocks run at one speed here: drift between two
 * snapshots is left in.  A built-in clock that no snapshot mentions is taken for the trace's: simple writers mean it.
 */
#include "ingest/perfetto_reader.h"

enum { MOST_CLOCKS = 64 };

typedef struct {
    uint32_t id;
    int64_t  ns, unit_ns;
    bool     is_incremental;
} reading;

static uint64_t key_of(uint32_t sequence, uint32_t id)
{
    return id >= HU_PT_FIRST_OWN_CLOCK && id <= HU_PT_LAST_OWN_CLOCK ? ((uint64_t)sequence + 1) << 32 | id : id;
}

static perfetto_clock *find(perfetto_reader *r, uint32_t sequence, uint32_t id)
{
    const uint32_t at = hu_map_get(&r->clock_of, key_of(sequence, id));

    return at == HU_MAP_NONE ? NULL : &r->clocks.at[at];
}

/* False: the clock makes no sense and is left out. */
static bool read_clock(hu_str message, reading *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          id = 0, stamp = 0, unit = 1;

    *out = (reading){0};
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_CLOCK_ID)
            id = f.value;
        else if (f.number == HU_PT_CLOCK_TIME)
            stamp = f.value;
        else if (f.number == HU_PT_CLOCK_INCREMENTAL)
            out->is_incremental = f.value != 0;
        else if (f.number == HU_PT_CLOCK_UNIT)
            unit = f.value;
    }
    if (m.bad || id == 0 || id > UINT32_MAX || unit == 0 || unit > INT32_MAX || stamp > INT64_MAX)
        return false;
    out->id = (uint32_t)id;
    out->unit_ns = (int64_t)unit;
    return !__builtin_mul_overflow((int64_t)stamp, out->unit_ns, &out->ns);
}

/* What the trace's own clock showed at the moment of the snapshot. */
static int64_t trace_time(perfetto_reader *r, uint32_t sequence, const reading *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].id == r->primary_clock)
            return all[i].ns;
    for (size_t i = 0; i < n; i++) {
        const perfetto_clock *known = find(r, sequence, all[i].id);
        int64_t               ns;

        if (known && !known->is_incremental && !__builtin_add_overflow(all[i].ns, known->offset_ns, &ns))
            return ns;
    }
    for (size_t i = 0; i < n; i++)
        if (all[i].id < HU_PT_FIRST_OWN_CLOCK)
            return all[i].ns;
    return all[0].ns;
}

static void keep(perfetto_reader *r, uint32_t sequence, const reading *c, int64_t trace_ns)
{
    uint32_t      *place = hu_map_put(&r->clock_of, key_of(sequence, c->id));
    perfetto_clock clock = {.unit_ns = c->unit_ns, .last_ns = c->ns, .is_incremental = c->is_incremental};

    if (__builtin_sub_overflow(trace_ns, c->ns, &clock.offset_ns))
        return;
    if (!place) {
        perfetto_no_memory(r);
    } else if (*place != HU_MAP_NONE) {
        r->clocks.at[*place] = clock;
    } else if (hu_vec_push(r->arena, &r->clocks, clock)) {
        *place = (uint32_t)r->clocks.n - 1;
    } else {
        perfetto_no_memory(r);
    }
}

void perfetto_clocks_snapshot(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_trace_info    *info = hu_builder_info(r->b);
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    reading           all[MOST_CLOCKS];
    size_t            n = 0;
    int64_t           trace_ns;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_SNAPSHOT_CLOCK && n < MOST_CLOCKS && read_clock(f.bytes, &all[n]))
            n++;
        else if (f.number == HU_PT_SNAPSHOT_PRIMARY && !r->has_clocks && f.value && f.value <= UINT32_MAX)
            r->primary_clock = (uint32_t)f.value;
    }
    if (n == 0)
        return;
    trace_ns = trace_time(r, sequence, all, n);
    for (size_t i = 0; i < n; i++) {
        keep(r, sequence, &all[i], trace_ns);
        if (all[i].id == HU_PT_REALTIME && !r->has_clocks && __builtin_sub_overflow(all[i].ns, trace_ns, &info->base_ns))
            info->base_ns = 0;
    }
    r->has_clocks = true;
}

bool perfetto_clocks_time(perfetto_reader *r, const perfetto_packet *packet, int64_t *ns)
{
    const uint64_t  id = packet->has_clock ? packet->clock : r->sequences.at[packet->sequence].clock;
    perfetto_clock *clock;

    if (!packet->has_timestamp || packet->timestamp > INT64_MAX || id > UINT32_MAX)
        return false;
    *ns = (int64_t)packet->timestamp;
    if (id == 0 || id == r->primary_clock)
        return true;
    clock = find(r, packet->sequence, (uint32_t)id);
    if (!clock)
        return id < HU_PT_FIRST_OWN_CLOCK;
    if (__builtin_mul_overflow(*ns, clock->unit_ns, ns))
        return false;
    if (clock->is_incremental) {
        if (__builtin_add_overflow(clock->last_ns, *ns, ns))
            return false;
        clock->last_ns = *ns;
    }
    return !__builtin_add_overflow(*ns, clock->offset_ns, ns);
}
