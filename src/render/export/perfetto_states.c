/* SPDX-License-Identifier: Apache-2.0
 * perfetto_states.c - when threads ran, waited for a CPU and waited: GenericKernelTaskStateEvents, as `holdup run` writes
 * them.
 *
 * An event says what a thread is in from then on, so a hole between two states and the end of its life are events too.
 * The viewer draws them beside the thread.  Slices of kind cpu_wait say the same once more, and are left out.
 */
#include "base/json.h"
#include "base/number.h"
#include "render/export/perfetto_writer.h"
#include "render/export/track_names.h"

bool hu_perfetto_are_states(const hu_perfetto *p, const hu_lane *lane)
{
    size_t n;

    hu_trace_stretches(p->part->trace, &n);
    for (size_t i = 0; n && i < lane->n; i++)
        if (p->s.kind[lane->at[i].slice] != HU_KIND_CPU_WAIT)
            return false;
    return n > 0;
}

static void write_state(hu_perfetto *p, uint32_t thread, hu_str name, int64_t time_ns, unsigned state, uint16_t cpu)
{
    const size_t packet = hu_perfetto_open(p);
    size_t       task;

    hu_pb_write_uint(&p->w, HU_PT_PACKET_TIMESTAMP, hu_perfetto_time(p, time_ns));
    task = hu_pb_write_open(&p->w, HU_PT_PACKET_TASK);
    if (cpu)
        hu_pb_write_uint(&p->w, HU_PT_TASK_CPU, cpu - 1u);
    hu_pb_write_str(&p->w, HU_PT_TASK_NAME, name);
    hu_pb_write_uint(&p->w, HU_PT_TASK_TID, thread);
    hu_pb_write_uint(&p->w, HU_PT_TASK_STATE, state);
    hu_pb_write_close(&p->w, task);
    hu_perfetto_close(p, packet);
}

static void write_thread(hu_perfetto *p, const hu_track *t, const hu_stretch *s, uint32_t number, hu_str name)
{
    static const unsigned states[HU_THREAD_STATE_COUNT] = {[HU_THREAD_RUNNING] = HU_PT_STATE_RUNNING,
                                                           [HU_THREAD_RUNNABLE] = HU_PT_STATE_RUNNABLE,
                                                           [HU_THREAD_WAITING] = HU_PT_STATE_SLEEPING,
                                                           [HU_THREAD_UNKNOWN] = HU_PT_STATE_CREATED};
    const hu_interval     window = p->part->window;
    int64_t               end_ns = INT64_MIN; /* of the state that was written last */

    for (uint32_t i = 0; i < t->n_stretches && !hu_out_has_failed(p->out); i++) {
        const int64_t from = s[i].start_ns > window.start_ns ? s[i].start_ns : window.start_ns;
        const int64_t to = s[i].end_ns < window.end_ns ? s[i].end_ns : window.end_ns;

        if (to <= from)
            continue;
        if (end_ns != INT64_MIN && end_ns < from)
            write_state(p, number, name, end_ns, HU_PT_STATE_UNKNOWN, 0);
        write_state(p, number, name, from, states[s[i].state], s[i].cpu);
        end_ns = to;
    }
    if (end_ns != INT64_MIN)
        write_state(p, number, name, end_ns, HU_PT_STATE_DEAD, 0);
}

bool hu_perfetto_write_states(hu_perfetto *p)
{
    size_t            n, n_tracks;
    const hu_stretch *s = hu_trace_stretches(p->part->trace, &n);
    const hu_track   *tracks = hu_trace_tracks(p->part->trace, &n_tracks);

    for (size_t t = 0; n && t < n_tracks; t++) {
        hu_str name;

        if (tracks[t].type != HU_TRACK_HOST || !tracks[t].n_stretches || !p->thread_number[t])
            continue;
        name = hu_track_name(p->part->trace, &tracks[t], p->arena);
        if (!name.p)
            return false;
        write_thread(p, &tracks[t], s + tracks[t].first_stretch, p->thread_number[t], name);
    }
    return !p->w.no_memory;
}

static void write_fact(hu_perfetto *p, hu_str key, hu_str json)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_ATTRIBUTES_ATTRIBUTE);
    int64_t      number;

    hu_pb_write_str(&p->w, HU_PT_ATTRIBUTE_KEY, key);
    if (hu_parse_i64(json, &number))
        hu_pb_write_int(&p->w, HU_PT_ATTRIBUTE_WHOLE, number);
    else
        hu_pb_write_str(&p->w, HU_PT_ATTRIBUTE_TEXT, hu_json_text(p->arena, json));
    hu_pb_write_close(&p->w, open);
}

/* Of one trace: several ranks have no common facts. */
void hu_perfetto_write_facts(hu_perfetto *p)
{
    size_t             n;
    const hu_metadata *m = hu_trace_metadata(p->part->trace, &n);
    size_t             packet, open, written = 0;

    if (p->is_one_of_many)
        return;
    packet = hu_perfetto_open(p);
    open = hu_pb_write_open(&p->w, HU_PT_PACKET_ATTRIBUTES);
    for (size_t i = 0; i < n; i++) {
        const hu_str key = hu_trace_text(p->part->trace, m[i].key), json = hu_trace_text(p->part->trace, m[i].value);
        int64_t      number;
        const bool   is_text = json.n >= 2 && json.p[0] == '"';

        if (hu_str_starts(key, HU_STR("holdup.")) && (is_text || hu_parse_i64(json, &number))) {
            write_fact(p, key, json);
            written++;
        }
    }
    hu_pb_write_close(&p->w, open);
    if (written)
        hu_perfetto_close(p, packet);
    else
        hu_pbw_clear(&p->w);
}
