/* SPDX-License-Identifier: Apache-2.0
 * perfetto_samples.c - PerfSample packets: where the CPU was, as functions that call each other.
 *
 * A frame names a function and a mapping, a call stack names its frames from the outermost on, a sample names its call
 * stack; all by ids of interned data (trace/profiling/profile_common.proto).  Fields come in any order, so each level
 * is read once the one below it is there.  A function without a name is "[module]+0xoffset".
 */
#include "ingest/perfetto_reader.h"

#include <stdio.h>

enum { MOST_FRAMES = 1024, NAME_MOST = 256 };

/* The last part of a path: "libc.so.6". */
static hu_str base_name(hu_str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/' && i + 1 < path.n)
            return (hu_str){path.p + i + 1, path.n - i - 1};
    return path;
}

static void declare_mapping(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    perfetto_interned entry = {.type = HU_PT_INTERNED_MAPPING, .text = HU_STR("")};
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          parts[16];

    while (hu_protobuf_next(&m, &f)) {
        const size_t n = f.number == HU_PT_MAPPING_PATH ? hu_protobuf_numbers(&f, false, parts, HU_COUNT(parts)) : 0;

        if (f.number == HU_PT_ENTRY_IID)
            entry.iid = f.value;
        if (n)
            entry.text = base_name(perfetto_values_text(r, sequence, HU_PT_INTERNED_PATH, parts[n - 1]));
    }
    entry.number = hu_builder_intern(r->b, entry.text);
    perfetto_values_declare(r, sequence, &entry);
}

static void declare_frame(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    perfetto_interned        entry = {.type = HU_PT_INTERNED_FRAME, .text = HU_STR("")};
    const perfetto_interned *mapping = NULL;
    hu_protobuf              m = hu_protobuf_of(message);
    hu_protobuf_field        f;
    uint64_t                 at = 0;
    char                     name[NAME_MOST];

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_ENTRY_IID)
            entry.iid = f.value;
        else if (f.number == HU_PT_FRAME_FUNCTION)
            entry.text = perfetto_values_text(r, sequence, HU_PT_INTERNED_FUNCTION, f.value);
        else if (f.number == HU_PT_FRAME_MAPPING)
            mapping = perfetto_values_find(r, sequence, HU_PT_INTERNED_MAPPING, f.value);
        else if (f.number == HU_PT_FRAME_REL_PC)
            at = f.value;
    }
    if (mapping)
        entry.number = mapping->number;
    if (entry.text.n == 0) {
        const hu_str module = mapping ? mapping->text : HU_STR("unknown");
        const int    n = snprintf(name, sizeof name, "[%.*s]+0x%llx", module.n < 200 ? (int)module.n : 200, module.p,
                                  (unsigned long long)at);

        entry.text = hu_builder_text(r->b, hu_builder_intern(r->b, (hu_str){name, (size_t)n}));
    }
    perfetto_values_declare(r, sequence, &entry);
}

static void declare_stack(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    perfetto_interned entry = {.type = HU_PT_INTERNED_STACK, .text = HU_STR("")};
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          frames[MOST_FRAMES];
    size_t            n = 0;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_ENTRY_IID)
            entry.iid = f.value;
        else if (f.number == HU_PT_STACK_FRAMES)
            n += hu_protobuf_numbers(&f, false, frames + n, MOST_FRAMES - n);
    }
    for (size_t i = 0; i < n; i++) {
        const perfetto_interned *frame = perfetto_values_find(r, sequence, HU_PT_INTERNED_FRAME, frames[i]);
        const hu_cpu_stack       stack = {.caller = (uint32_t)entry.number,
                                          .function = frame ? hu_builder_intern(r->b, frame->text) : 0,
                                          .module = frame ? (uint32_t)frame->number : 0};

        if (!frame)
            hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
        else
            entry.number = hu_builder_cpu_stack(r->b, &stack);
        if (hu_builder_status(r->b, NULL) < 0)
            return;
    }
    perfetto_values_declare(r, sequence, &entry);
}

void perfetto_samples_intern(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    static const struct {
        int type; /* HU_PT_INTERNED_… */
        void (*declare)(perfetto_reader *r, uint32_t sequence, hu_str message);
    } levels[] = {{HU_PT_INTERNED_MAPPING, declare_mapping},
                  {HU_PT_INTERNED_FRAME, declare_frame},
                  {HU_PT_INTERNED_STACK, declare_stack}};

    for (size_t i = 0; i < HU_COUNT(levels); i++) {
        hu_protobuf       m = hu_protobuf_of(message);
        hu_protobuf_field f;

        while (hu_protobuf_next(&m, &f) && hu_builder_status(r->b, NULL) == 0)
            if (f.number == (uint32_t)levels[i].type)
                levels[i].declare(r, sequence, f.bytes);
    }
}

/* How much CPU time a sample stands for, when a clock of the CPU took it. */
void perfetto_samples_defaults(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), timebase;
    hu_protobuf_field f, g;

    while (hu_protobuf_next(&m, &f)) {
        uint64_t period_ns = 0, event = HU_PT_COUNTER_CPU_CLOCK;

        if (f.number != HU_PT_SAMPLE_DEFAULTS_TIMEBASE)
            continue;
        timebase = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&timebase, &g)) {
            if (g.number == HU_PT_TIMEBASE_PERIOD)
                period_ns = g.value;
            else if (g.number == HU_PT_TIMEBASE_FREQUENCY && g.value)
                period_ns = 1000000000u / g.value;
            else if (g.number == HU_PT_TIMEBASE_COUNTER)
                event = g.value;
        }
        if ((event == HU_PT_COUNTER_CPU_CLOCK || event == HU_PT_COUNTER_TASK_CLOCK) && period_ns <= 1000000000000u)
            hu_builder_info(r->b)->cpu_sample_ns = (int64_t)period_ns;
    }
}

void perfetto_samples_take(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    hu_cpu_sample     sample = {0};
    int64_t           pid = 0, tid = 0;
    uint64_t          stack = 0, lost = 0;
    bool              is_sample = true;
    const bool        has_time = perfetto_clocks_time(r, packet, &sample.time_ns);

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_SAMPLE_PID)
            pid = (int32_t)f.value;
        else if (f.number == HU_PT_SAMPLE_TID)
            tid = (int32_t)f.value;
        else if (f.number == HU_PT_SAMPLE_STACK)
            stack = f.value;
        else if (f.number == HU_PT_SAMPLE_MODE)
            sample.is_kernel = f.value == HU_PT_MODE_KERNEL;
        else if (f.number == HU_PT_SAMPLE_LOST)
            lost = f.value;
        else if (f.number == HU_PT_SAMPLE_SKIPPED)
            is_sample = false;
    }
    if (m.bad || !is_sample || lost) {
        if (m.bad) {
            perfetto_malformed(r);
        } else if (lost) {
            const int64_t n = lost < UINT64_C(1) << 50 ? (int64_t)lost : 1;

            q->events += n;
            q->count[HU_REASON_RECORDER] += n;
        }
        return;
    }
    q->events++;
    if (!has_time) {
        hu_quality_count(q, HU_REASON_NO_TIME, 0);
        return;
    }
    if (stack) {
        const perfetto_interned *entry = perfetto_values_find(r, packet->sequence, HU_PT_INTERNED_STACK, stack);

        if (entry)
            sample.stack = (uint32_t)entry->number;
        else
            hu_quality_count(q, HU_REASON_UNKNOWN_ID, 0);
    }
    sample.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid, false}, (hu_builder_id){tid, false});
    hu_builder_cpu_sample(r->b, &sample);
}
