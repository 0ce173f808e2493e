/* SPDX-License-Identifier: Apache-2.0
 * perfetto_gpu.c - work and counters of devices as drivers write them: everything by id, the length beside the start.
 *
 * A render stage names its queue, stage, kernel and context by id.  Which call launched it is said on the call's side,
 * by the ids of the stages that it submitted, so calls and stages get one number for a correlation.
 */
#include <math.h>

#include "base/number.h"
#include "ingest/perfetto_reader.h"
#include "ingest/producers.h"

/* {x 1, y 2, z 3} as "[x, y, z]" */
static void take_dimensions(perfetto_reader *r, int place, hu_str message)
{
    const size_t      from = r->text.n;
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          size[3] = {1, 1, 1};
    char              digits[HU_NUMBER_BYTES];

    while (hu_protobuf_next(&m, &f))
        if (f.number >= 1 && f.number <= 3)
            size[f.number - 1] = f.value;
    for (size_t i = 0; i < 3; i++) {
        perfetto_values_append(r, i ? HU_STR(", ") : HU_STR("["));
        perfetto_values_append(r, (hu_str){digits, hu_format_u64(digits, size[i])});
    }
    perfetto_values_append(r, HU_STR("]"));
    perfetto_values_set_appended(r, place, from);
}

static void take_argument(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, value = {0};
    int               place = CHROME_IGNORED;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_ARG_NAME)
            place = perfetto_values_place(r, f.bytes);
        else if (f.number == HU_PT_ARG_NAME_IID)
            place = perfetto_values_place_by_id(r, sequence, HU_PT_INTERNED_KERNEL_ARG_NAME, f.value);
        else
            value = f;
    }
    if (place == CHROME_IGNORED || m.bad)
        return;
    if (value.number == HU_PT_ARG_INT)
        perfetto_values_set_int(r, place, (int64_t)value.value);
    else if (value.number == HU_PT_ARG_UINT)
        perfetto_values_set_unsigned(r, place, value.value);
    else if (value.number == HU_PT_ARG_DOUBLE)
        perfetto_values_set_double(r, place, hu_protobuf_double(&value));
    else if (value.number == HU_PT_ARG_TEXT)
        perfetto_values_set_text(r, place, value.bytes);
    else if (value.number == HU_PT_ARG_TEXT_IID)
        perfetto_values_set_text(r, place, perfetto_values_text(r, sequence, HU_PT_INTERNED_TEXT, value.value));
}

static void take_launch(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_LAUNCH_GRID)
            take_dimensions(r, CHROME_GRID, f.bytes);
        else if (f.number == HU_PT_LAUNCH_BLOCK)
            take_dimensions(r, CHROME_BLOCK, f.bytes);
        else if (f.number == HU_PT_LAUNCH_ARG)
            take_argument(r, sequence, f.bytes);
    }
}

/* {name 1, value 2} */
static void take_extra(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR(""), value = HU_STR("");
    int               place;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            name = f.bytes;
        else if (f.number == 2)
            value = f.bytes;
    }
    place = perfetto_values_place(r, name);
    if (place != CHROME_IGNORED)
        perfetto_values_set_text(r, place, value);
}

/* The row of device work: of the process that owns the context, else of the device, as other profilers number it. */
static void place_stage(perfetto_reader *r, uint32_t sequence, uint64_t context, int64_t gpu, uint64_t queue)
{
    const perfetto_interned *owner = context ? perfetto_values_find(r, sequence, HU_PT_INTERNED_CONTEXT, context) : NULL;
    const hu_str             name = perfetto_values_text(r, sequence, HU_PT_INTERNED_GPU_SPECIFICATION, queue);

    if (!chrome_has(&r->chrome.event, CHROME_DEVICE))
        perfetto_values_set_int(r, CHROME_DEVICE, gpu);
    perfetto_values_set_int(r, CHROME_PID, owner ? owner->number : gpu);
    perfetto_values_set_int(r, CHROME_TID, queue <= INT64_MAX ? (int64_t)queue : -1);
    if (name.n && name.p[name.n - 1] >= '0' && name.p[name.n - 1] <= '9')
        perfetto_values_set_text(r, CHROME_TID, name); /* "Channel #7" */
}

void perfetto_gpu_stage(perfetto_reader *r, const perfetto_packet *packet)
{
    const uint32_t    s = packet->sequence;
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    uint64_t          id = 0, context = 0, queue = 0, duration = 0;
    int64_t           gpu = 0, ns = 0;
    hu_str            name = HU_STR(""), kernel = HU_STR(""), stage = HU_STR(""), category;
    bool              is_first;
    uint32_t          number;

    perfetto_values_start(r);
    q->events++;
    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case HU_PT_STAGE_ID:
            id = f.value;
            break;
        case HU_PT_STAGE_DURATION:
            duration = f.value;
            break;
        case HU_PT_STAGE_CONTEXT:
            context = f.value;
            break;
        case HU_PT_STAGE_EXTRA:
            take_extra(r, f.bytes);
            break;
        case HU_PT_STAGE_GPU:
            gpu = (int32_t)f.value;
            break;
        case HU_PT_STAGE_QUEUE_IID:
            queue = f.value;
            break;
        case HU_PT_STAGE_IID:
            stage = perfetto_values_text(r, s, HU_PT_INTERNED_GPU_SPECIFICATION, f.value);
            break;
        case HU_PT_STAGE_NAME:
            name = f.bytes;
            break;
        case HU_PT_STAGE_NAME_IID:
            name = perfetto_values_text(r, s, HU_PT_INTERNED_EVENT_NAME, f.value);
            break;
        case HU_PT_STAGE_KERNEL:
            kernel = perfetto_values_text(r, s, HU_PT_INTERNED_KERNEL, f.value);
            break;
        case HU_PT_STAGE_LAUNCH:
            take_launch(r, s, f.bytes);
            break;
        default:
            break;
        }
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    perfetto_values_resolve(r);
    name = name.n ? name : kernel.n ? kernel : stage;
    category = hu_producers_kind(stage) != HU_KIND_OTHER ? stage : perfetto_events_category(name);
    place_stage(r, s, context, gpu, queue);
    if (!chrome_has(&r->chrome.event, CHROME_CORRELATION) && id) {
        number = perfetto_events_number(r, &r->stages, id, &is_first);
        perfetto_values_set_int(r, CHROME_CORRELATION, PERFETTO_FIRST_FLOW + number);
    }
    perfetto_values_set_text(r, CHROME_CAT, category);
    perfetto_values_set_text(r, CHROME_NAME, name);
    perfetto_values_set_int(r, CHROME_TS, ns);
    perfetto_values_set_int(r, CHROME_DUR, duration <= INT64_MAX ? (int64_t)duration : INT64_MAX);
    perfetto_values_set(r, CHROME_PH, (chrome_value){.p = "X", .n = 1, .type = CHROME_STRING});
    chrome_take_event(&r->chrome);
}

/* {counter_id 1, name 2} of GpuCounterDescriptor.specs 1 */
static void declare_counters(perfetto_reader *r, uint64_t gpu, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), spec;
    hu_protobuf_field f, g;

    while (hu_protobuf_next(&m, &f)) {
        uint64_t  id = 0;
        hu_str    name = HU_STR("");
        uint32_t *place;

        if (f.number != 1)
            continue;
        spec = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&spec, &g)) {
            if (g.number == 1)
                id = g.value;
            else if (g.number == 2)
                name = g.bytes;
        }
        place = hu_map_put(&r->counter_of, gpu << 32 ^ id);
        if (place)
            *place = hu_builder_intern(r->b, name);
        else
            perfetto_no_memory(r);
    }
}

/* {counter_id 1, int 2 | double 3} */
static void take_gpu_counter(perfetto_reader *r, uint64_t gpu, int64_t ns, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          id = 0;
    double            value = (double)NAN;
    uint32_t          name;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            value = (double)(int64_t)f.value;
        else if (f.number == 3)
            value = hu_protobuf_double(&f);
    }
    name = hu_map_get(&r->counter_of, gpu << 32 ^ id);
    if (name == HU_MAP_NONE)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    if (isfinite(value))
        hu_builder_sample(
            r->b, hu_builder_counter(r->b, (hu_builder_id){(int64_t)gpu, false}, name == HU_MAP_NONE ? 0 : name), ns, value);
}

void perfetto_gpu_counters(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    uint64_t          gpu = 0;
    hu_str            descriptor = HU_STR("");
    int64_t           ns;

    q->events++;
    q->by_phase['C']++;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            descriptor = f.bytes;
        else if (f.number == 3)
            gpu = (uint32_t)f.value;
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    declare_counters(r, gpu, descriptor);
    m = hu_protobuf_of(packet->what.bytes);
    while (hu_protobuf_next(&m, &f))
        if (f.number == 2)
            take_gpu_counter(r, gpu, ns, f.bytes);
}
