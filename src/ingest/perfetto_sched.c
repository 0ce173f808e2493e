/* SPDX-License-Identifier: Apache-2.0
 * perfetto_sched.c - when a thread ran, when it could have run and had no processor, and when it waited.
 *
 * GenericKernelTaskStateEvent says from when on a thread is in a state; what it was in before ends there.  All stretches
 * go to the model, and those in which a thread is runnable also become slices of kind cpu_wait, on a row of notes beside
 * the thread.  The event has no process, which descriptors of threads may name later, so stretches are kept until the end
 * of the file.  What still lasts then lasts until the last change of any thread: behind that nobody looked.
 */
#include "ingest/perfetto_reader.h"

/* Processes and threads of a tree are read alike. */
_Static_assert(HU_PT_TREE_PROCESS_PID == (int)HU_PT_TREE_THREAD_TID &&
                   HU_PT_TREE_PROCESS_PARENT == (int)HU_PT_TREE_THREAD_PID &&
                   HU_PT_TREE_PROCESS_COMMAND == (int)HU_PT_TREE_THREAD_NAME,
               "the same field of both");

/* False: the thread has ended, or nothing is known of it from here on. */
static bool begins_stretch(int64_t state, uint8_t *out)
{
    switch (state) {
    case HU_PT_STATE_CREATED:
        *out = HU_THREAD_UNKNOWN;
        return true;
    case HU_PT_STATE_RUNNABLE:
        *out = HU_THREAD_RUNNABLE;
        return true;
    case HU_PT_STATE_RUNNING:
        *out = HU_THREAD_RUNNING;
        return true;
    case HU_PT_STATE_SLEEPING:
    case HU_PT_STATE_DISK_SLEEP:
    case HU_PT_STATE_STOPPED:
        *out = HU_THREAD_WAITING;
        return true;
    default:
        return false;
    }
}

void perfetto_sched_take(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    int64_t           tid = 0, state = 0, ns = 0, cpu = -1;
    perfetto_stretch  row = {0};
    uint32_t         *open, process;

    q->events++;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_TASK_TID)
            tid = (int64_t)f.value;
        else if (f.number == HU_PT_TASK_STATE)
            state = (int64_t)f.value;
        else if (f.number == HU_PT_TASK_CPU)
            cpu = (int64_t)f.value;
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    process = hu_map_get(&r->process_of, (uint64_t)tid);
    open = hu_map_put(&r->stretch_of, (uint64_t)tid);
    if (!open) {
        perfetto_no_memory(r);
        return;
    }
    r->last_state_ns = r->stretches.n == 0 || ns > r->last_state_ns ? ns : r->last_state_ns;
    if (*open != HU_MAP_NONE && *open)
        r->stretches.at[*open - 1].end_ns = ns;
    *open = 0;
    if (!begins_stretch(state, &row.state))
        return;
    row.tid = tid;
    row.cpu = row.state == HU_THREAD_RUNNING && cpu >= 0 && cpu < UINT16_MAX ? (uint16_t)(cpu + 1) : 0;
    row.start_ns = ns;
    row.end_ns = INT64_MAX;
    row.pid = process == HU_MAP_NONE ? 0 : (int32_t)process;
    if (!hu_vec_push(r->arena, &r->stretches, row))
        perfetto_no_memory(r);
    else
        *open = (uint32_t)r->stretches.n;
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
            if (pid)
                hu_builder_describe_process(r->b, id, pid, 0);
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

static void add_stretch(perfetto_reader *r, const perfetto_stretch *s, int64_t pid, uint32_t runnable)
{
    const hu_builder_id of = {pid, false}, tid = {s->tid, false};
    hu_stretch          stretch = {.start_ns = s->start_ns, .end_ns = s->end_ns, .cpu = s->cpu, .state = s->state};
    hu_builder_slice    wait = {.start_ns = s->start_ns, .name = runnable, .kind = HU_KIND_CPU_WAIT, .detail = HU_NONE};

    stretch.end_ns = stretch.end_ns == INT64_MAX ? r->last_state_ns : stretch.end_ns;
    if (stretch.end_ns <= stretch.start_ns)
        return;
    stretch.track = hu_builder_track(r->b, HU_TRACK_HOST, of, tid);
    hu_builder_stretch(r->b, &stretch);
    if (s->state != HU_THREAD_RUNNABLE)
        return;
    wait.dur_ns = stretch.end_ns - stretch.start_ns;
    wait.track = hu_builder_track(r->b, HU_TRACK_NOTE, of, tid);
    hu_builder_add(r->b, &wait);
}

void perfetto_sched_finish(perfetto_reader *r)
{
    hu_trace_info *info = hu_builder_info(r->b);
    const uint32_t name = r->stretches.n ? hu_builder_intern(r->b, HU_STR("runnable")) : 0;
    hu_map         pid_of;

    if (r->stretches.n == 0)
        return;
    if (!map_threads(r, &pid_of)) {
        perfetto_no_memory(r);
        return;
    }
    info->state_source = info->state_source ? info->state_source : HU_STATES_SWITCHES;
    for (size_t i = 0; i < r->stretches.n; i++) {
        const perfetto_stretch *s = &r->stretches.at[i];
        const uint32_t          track = hu_map_get(&pid_of, (uint64_t)s->tid);
        const uint32_t          known = hu_map_get(&r->process_of, (uint64_t)s->tid);

        add_stretch(r, s,
                    s->pid                 ? s->pid
                    : track != HU_MAP_NONE ? r->tracks.at[track].pid
                    : known != HU_MAP_NONE ? known
                                           : s->tid,
                    name);
    }
}
