/* SPDX-License-Identifier: Apache-2.0
 * perfetto_writer.h - a .pftrace while it is written; private to the files that write it. */
#ifndef HU_RENDER_EXPORT_PERFETTO_WRITER_H
#define HU_RENDER_EXPORT_PERFETTO_WRITER_H

#include "base/map.h"
#include "base/protobuf_out.h"
#include "render/export/lanes.h"
#include "render/export/numbering.h"
#include "protocol/perfetto.h"

/* A device and what is drawn below it. */
typedef struct {
    int64_t  id;
    uint64_t uuid;
} hu_perfetto_device;

typedef struct {
    hu_out      *out;
    hu_pbw       w;
    hu_arena    *arena;              /* of the trace at hand */
    hu_numbering processes, threads; /* over all traces */
    uint64_t     last_uuid;          /* of tracks; counted, so that they are short */
    uint64_t     shift_ns;           /* makes the earliest time positive; 0 unless a time is negative */
    uint64_t     written;            /* bytes since the interned data was sent last */

    /* of the trace at hand */
    const hu_export_part *part;
    hu_slices             s;
    size_t                index;
    bool                  is_one_of_many;
    hu_lanes              lanes;
    uint64_t             *lane_uuid;
    uint32_t             *thread_number; /* by track: of a thread in the file; 0 none */
    uint64_t              main_process;  /* the track that holds what belongs to no thread */
    HU_VEC(hu_perfetto_device) devices;
    uint32_t  generation;               /* of the interned data */
    uint32_t *name_stamp, *value_stamp; /* by string: the generation that holds it */
    uint32_t  kind_stamp[HU_KIND_COUNT];
    uint32_t *arg_stamp;
    uint8_t  *flow_ends;                      /* by slice */
    uint32_t *first_backward, *next_backward; /* by slice; NULL when nothing is linked */
} hu_perfetto;

static inline size_t hu_perfetto_open(hu_perfetto *p)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_TRACE_PACKET);

    hu_pb_write_uint(&p->w, HU_PT_PACKET_SEQUENCE, p->index + 1);
    return open;
}

static inline void hu_perfetto_close(hu_perfetto *p, size_t open)
{
    hu_pb_write_close(&p->w, open);
    if (!p->w.no_memory)
        hu_out_write(p->out, p->w.at, p->w.n);
    p->written += p->w.n;
    hu_pbw_clear(&p->w);
}

/* A time of the trace at hand on the clock of the file. */
static inline uint64_t hu_perfetto_time(const hu_perfetto *p, int64_t time_ns)
{
    const uint64_t absolute = (uint64_t)(hu_export_base_ns(p->part->trace) + time_ns) + p->shift_ns;

    return absolute > INT64_MAX ? 0 : absolute;
}

/* Descriptors of all lanes and what they lie in.  Each of these returns false when there is no memory. */
bool hu_perfetto_write_tracks(hu_perfetto *p);

/* What the scheduler did with each thread, and what the recorder says of the run. */
bool hu_perfetto_write_states(hu_perfetto *p);
void hu_perfetto_write_facts(hu_perfetto *p);

/* Are these slices states of threads, which are written as such? */
bool hu_perfetto_are_states(const hu_perfetto *p, const hu_lane *lane);

/* Memory, the counters of the file, and how much work waits for each device. */
bool hu_perfetto_write_counters(hu_perfetto *p);

#endif
