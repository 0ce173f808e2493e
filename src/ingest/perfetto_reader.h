/* SPDX-License-Identifier: Apache-2.0
 * perfetto_reader.h - what the parts of the Perfetto importer share: packets, clocks, tracks, events.
 *
 * Field numbers are those of google/perfetto's .proto files; only what is looked at has a name here.
 */
#ifndef HU_INGEST_PERFETTO_READER_H
#define HU_INGEST_PERFETTO_READER_H

#include "base/map.h"
#include "base/protobuf.h"
#include "base/unpack.h"
#include "ingest/chrome_reader.h"
#include "protocol/perfetto.h"

/* TracePacket */

typedef struct {
    uint64_t       iid;
    hu_str         text;
    int64_t        number; /* of a context: its process; of an argument's name: its place in chrome_event; of a frame:
                               the id of its module; of a call stack: what hu_builder_cpu_stack returned */
    uint32_t       sequence, generation;
    hu_pt_interned type;
} perfetto_interned;

/* One writer.  What it declared is forgotten when it says so: a new generation. */
typedef struct {
    uint32_t generation;
    bool     is_valid; /* its state was declared, and no packet was lost since */
    uint64_t state;    /* another number with each packet that declares anything */
    uint32_t clock;    /* of its time stamps unless a packet says otherwise; 0: the trace's */
    uint64_t track;    /* of its events unless one says otherwise */
} perfetto_sequence;

typedef struct {
    int64_t unit_ns, last_ns, offset_ns; /* trace time = offset + value * unit; last: of an incremental clock */
    bool    is_incremental;
} perfetto_clock;

typedef struct {
    uint64_t     uuid, parent;
    hu_str       name;
    int64_t      pid, tid; /* with has_pid, has_tid */
    bool         is_declared, has_parent, has_pid, has_tid, is_delta;
    double       unit, total; /* of a counter */
    bool         is_used;     /* below is fixed, whatever is declared later */
    chrome_value row[2];      /* as members "pid" and "tid" */
} perfetto_track;

/* One end of a slice.  `slice` is PERFETTO_END, PERFETTO_LOST or the number of the slice that begins. */
typedef struct {
    int64_t  time_ns;
    uint32_t track, slice;
} perfetto_edge;

/* A thread in one state; pid 0: not known when it was read. */
typedef struct {
    int64_t  tid, start_ns, end_ns;
    int32_t  pid;
    uint16_t cpu;   /* 1 + its number; 0 */
    uint8_t  state; /* hu_sched_state */
} perfetto_stretch;

/* An event as it lies, and what it means with what its writer had declared by then. */
typedef struct {
    uint64_t         state;
    uint32_t         n, track;
    uint32_t         number, number_n; /* where in `body` the bytes that a call moved lie, as a varint; 0: nowhere */
    int64_t          bytes;            /* that number */
    bool             is_end;
    hu_builder_slice slice; /* of a beginning */
    char             body[88];
} perfetto_repeat;

enum { PERFETTO_REPEAT_BITS = 10 };

enum { PERFETTO_END = UINT32_MAX, PERFETTO_LOST = UINT32_MAX - 1 };

typedef struct {
    chrome_reader chrome; /* an event becomes what a line of Chrome JSON becomes */
    hu_builder   *b;
    hu_arena     *arena;
    int64_t       offset; /* of the packet in the file */
    hu_unpacked   unpacked;
    uint64_t      packed_bytes, unpacked_bytes;
    int64_t       n_packets;

    hu_map sequence_of, interned_of, clock_of, track_of, places, flows, stages, counter_of;
    hu_map process_of; /* thread -> its process, as a process tree says */
    hu_map stretch_of; /* thread -> 1 + the row of stretches that it is in; 0 none */
    HU_VEC(perfetto_stretch) stretches;
    int64_t last_state_ns; /* the last time at which any thread changed its state */
    HU_VEC(perfetto_sequence) sequences;
    HU_VEC(perfetto_interned) interned;
    HU_VEC(perfetto_clock) clocks;
    HU_VEC(perfetto_track) tracks;
    HU_VEC(perfetto_edge) edges;
    HU_VEC(hu_cpu_stack) stacks; /* as the builder has them */
    uint32_t primary_clock;
    bool     has_clocks;

    uint64_t         n_states, last_id; /* of packets that declare; of the last packet's writer */
    uint32_t         last_sequence;
    perfetto_repeat *repeats; /* 1 << PERFETTO_REPEAT_BITS */

    bool is_ours;      /* holdup recorded it */
    HU_VEC(char) text; /* of arrays and dictionaries of one event */
    uint32_t n_flows;
} perfetto_reader;

/* One packet, its fields collected, because they come in any order. */
typedef struct {
    uint32_t          sequence; /* its place in the reader's list */
    uint64_t          timestamp, clock;
    bool              has_timestamp, has_clock, is_cleared, is_dropped, needs_state;
    hu_str            defaults, interned, clock_snapshot;
    hu_protobuf_field what; /* the event, descriptor or bundle; number 0 none */
} perfetto_packet;

/* No memory: the builder remembers it.  Returns false. */
bool perfetto_no_memory(perfetto_reader *r);
/* Something that is no event of its own is not well formed: counted as one event, which is lost. */
void perfetto_malformed(perfetto_reader *r);

/* perfetto_clocks.c */
void perfetto_clocks_snapshot(perfetto_reader *r, uint32_t sequence, hu_str message);
/* Nanoseconds of the trace; false when the clock is not known or the time is out of range. */
bool perfetto_clocks_time(perfetto_reader *r, const perfetto_packet *packet, int64_t *ns);

/* perfetto_tracks.c */
void perfetto_tracks_declare(perfetto_reader *r, hu_str message);
/* The number of a track, declared or not; UINT32_MAX without memory. */
uint32_t perfetto_tracks_find(perfetto_reader *r, uint64_t uuid);
/* The two members that say on which row its events lie. */
const chrome_value *perfetto_tracks_row(perfetto_reader *r, uint32_t track);
chrome_value        perfetto_tracks_thread(perfetto_reader *r, uint32_t track); /* that the row lies below; else its own */
void                perfetto_tracks_edge(perfetto_reader *r, uint32_t track, int64_t time_ns, uint32_t slice);
/* Pairs the edges: the lengths of all slices. */
void perfetto_tracks_finish(perfetto_reader *r);

/* perfetto_values.c */
/* Builds the look-up of argument names; false without memory. */
bool perfetto_values_prepare(perfetto_reader *r);
void perfetto_values_intern(perfetto_reader *r, uint32_t sequence, hu_str message);
/* Declares; its texts are kept already. */
void perfetto_values_declare(perfetto_reader *r, uint32_t sequence, const perfetto_interned *entry);
/* NULL: never declared, or forgotten since. */
const perfetto_interned *perfetto_values_find(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid);
/* "" for an id that is not known, which is counted, and for 0. */
hu_str perfetto_values_text(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid);
/* Where the value of an argument goes in a chrome_event; CHROME_IGNORED when nobody asks for it. */
int perfetto_values_place(const perfetto_reader *r, hu_str name);
int perfetto_values_place_by_id(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid);
/* A new, empty event. */
void perfetto_values_start(perfetto_reader *r);
void perfetto_values_set(perfetto_reader *r, int place, chrome_value v);
void perfetto_values_set_int(perfetto_reader *r, int place, int64_t number);
void perfetto_values_set_unsigned(perfetto_reader *r, int place, uint64_t number);
void perfetto_values_set_double(perfetto_reader *r, int place, double value); /* not when it is NaN or infinite */
void perfetto_values_set_text(perfetto_reader *r, int place, hu_str s);
/* Text that is put together piece by piece; what was appended since `from` becomes a value. */
void perfetto_values_append(perfetto_reader *r, hu_str s);
/* The same as a JSON text. */
void perfetto_values_quote(perfetto_reader *r, hu_str s);
void perfetto_values_set_appended(perfetto_reader *r, int place, size_t from);
/* Once the event is whole: appended values point at their text. */
void perfetto_values_resolve(perfetto_reader *r);
/* One debug annotation.  False: not well formed. */
bool perfetto_values_note(perfetto_reader *r, uint32_t sequence, hu_str message);

/* perfetto_events.c */
/* Correlations that come from flows and stages begin behind it, where no profiler counts. */
static const int64_t PERFETTO_FIRST_FLOW = INT64_C(0x80000000);
/* One number for all that an id of `map` connects, until it ends; 0 without memory. */
uint32_t perfetto_events_number(perfetto_reader *r, hu_map *map, uint64_t id, bool *is_first);
/* Kineto's word for device work of that name. */
hu_str perfetto_events_category(hu_str name);
void   perfetto_events_track_event(perfetto_reader *r, const perfetto_packet *packet);

/* perfetto_repeat.c */
/* The event of a packet is one that was kept: taken.  False: it has to be read. */
bool perfetto_repeat_take(perfetto_reader *r, const perfetto_packet *packet);
/* What the event of a packet was read as: the beginning of a slice, or with NULL an end. */
void perfetto_repeat_keep(perfetto_reader *r, const perfetto_packet *packet, uint32_t track, const hu_builder_slice *slice);

/* perfetto_samples.c */
/* Mappings, frames and call stacks of interned data; their names are there already. */
void perfetto_samples_intern(perfetto_reader *r, uint32_t sequence, hu_str message);
void perfetto_samples_defaults(perfetto_reader *r, hu_str message);
void perfetto_samples_take(perfetto_reader *r, const perfetto_packet *packet);

/* perfetto_sched.c */
/* Which thread belongs to which process, and their names (GenericKernelProcessTree). */
void perfetto_sched_tree(perfetto_reader *r, hu_str message);
void perfetto_sched_take(perfetto_reader *r, const perfetto_packet *packet);
/* The slices, once all threads are declared. */
void perfetto_sched_finish(perfetto_reader *r);

/* perfetto_gpu.c */
void perfetto_gpu_stage(perfetto_reader *r, const perfetto_packet *packet);
void perfetto_gpu_counters(perfetto_reader *r, const perfetto_packet *packet);

#endif
