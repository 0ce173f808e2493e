/* SPDX-License-Identifier: Apache-2.0
 * perfetto_sched.c - when a thread could have run and had no processor.
 *
 * GenericKernelTaskStateEvent says from when on a thread is in a state; what it was in before ends there.  A stretch in
 * which it is runnable becomes a slice of kind cpu_wait, on a row of notes beside the thread.  The event has no process,
 * which descriptors of threads may name later, so stretches are kept until the end of the file.
 */
#include "ingest/perfetto_reader.h"

/* Processes and threads of a tree are read alike. */
_Static_assert(HU_PT_TREE_PROCESS_PID == (int)HU_PT_TREE_THREAD_TID &&
                   HU_PT_TREE_PROCESS_COMMAND == (int)HU_PT_TREE_THREAD_NAME,
               "the same field of both");

void perfetto_sched_take(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    int64_t           tid = 0, state = 0, ns = 0;
    uint32_t         *open;

    q->events++;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_TASK_TID)
            tid = (int64_t)f.value;
        else if (f.number == HU_PT_TASK_STATE)
            state = (int64_t)f.value;
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    open = hu_map_put(&r->waiting, (uint64_t)tid);
    if (!open) {
        perfetto_no_memory(r);
        return;
    }
    if (*open != HU_MAP_NONE && *open)
        r->cpu_waits.at[*open - 1].end_ns = ns;
    *open = 0;
    if (state != HU_PT_STATE_RUNNABLE)
        return;
    if (!hu_vec_push(r->arena, &r->cpu_waits, ((perfetto_cpu_wait){tid, ns, ns})))
        perfetto_no_memory(r);
    else
        *open = (uint32_t)r->cpu_waits.n;
}

void perfetto_sched_tree(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), part;
    hu_protobuf_field f, g;

    while (hu_protobuf_next(&m, &f)) {
        int64_t   id = 0, pid = 0;
        hu_str    name = HU_STR("");
        uint32_t *place;

        if (f.number != HU_PT_TREE_PROCESS && f.number != HU_PT_TREE_THREAD)
            continue;
        part = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&part, &g)) {
            id = g.number == HU_PT_TREE_THREAD_TID ? (int64_t)g.value : id;
            pid = g.number == HU_PT_TREE_THREAD_PID ? (int64_t)g.value : pid;
            name = g.number == HU_PT_TREE_THREAD_NAME ? g.bytes : name;
        }
        if (f.number == HU_PT_TREE_PROCESS) {
            if (name.n)
                hu_builder_name_process(r->b, (hu_builder_id){id, false}, hu_builder_intern(r->b, name));
            continue;
        }
        if (name.n)
            hu_builder_name_thread(r->b, (hu_builder_id){pid, false}, (hu_builder_id){id, false},
                                   hu_builder_intern(r->b, name));
        place = pid > 0 && pid <= INT32_MAX ? hu_map_put(&r->process_of, (uint64_t)id) : NULL;
        if (place)
            *place = (uint32_t)pid;
    }
    if (m.bad)
        perfetto_malformed(r);
}

/* The process of each thread that was declared; a thread that was not is taken for the first of its process. */
static bool map_threads(perfetto_reader *r, hu_map *pid_of)
{
    if (!hu_map_init(pid_of, r->arena, 64))
        return false;
    for (size_t i = 0; i < r->tracks.n; i++) {
        const perfetto_track *t = &r->tracks.at[i];
        uint32_t             *place = t->has_pid && t->has_tid ? hu_map_put(pid_of, (uint64_t)t->tid) : NULL;

        if (place)
            *place = (uint32_t)i;
        else if (t->has_pid && t->has_tid)
            return false;
    }
    return true;
}

void perfetto_sched_finish(perfetto_reader *r)
{
    const uint32_t name = r->cpu_waits.n ? hu_builder_intern(r->b, HU_STR("runnable")) : 0;
    hu_map         pid_of;

    if (r->cpu_waits.n == 0)
        return;
    if (!map_threads(r, &pid_of)) {
        perfetto_no_memory(r);
        return;
    }
    for (size_t i = 0; i < r->cpu_waits.n; i++) {
        const perfetto_cpu_wait *w = &r->cpu_waits.at[i];
        const uint32_t           track = hu_map_get(&pid_of, (uint64_t)w->tid);
        const uint32_t           known = hu_map_get(&r->process_of, (uint64_t)w->tid);
        const int64_t pid = track != HU_MAP_NONE ? r->tracks.at[track].pid : known != HU_MAP_NONE ? known : w->tid;

        if (w->end_ns > w->start_ns)
            hu_builder_add(r->b,
                           &(hu_builder_slice){.start_ns = w->start_ns,
                                               .dur_ns = w->end_ns - w->start_ns,
                                               .name = name,
                                               .kind = HU_KIND_CPU_WAIT,
                                               .detail = HU_NONE,
                                               .track = hu_builder_track(r->b, HU_TRACK_NOTE, (hu_builder_id){pid, false},
                                                                         (hu_builder_id){w->tid, false})});
    }
}
