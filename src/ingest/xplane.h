/* SPDX-License-Identifier: Apache-2.0
 * xplane.h - private to the readers of XLA's profiles (docs/formats/xplane.md): planes, their dictionaries, stats of events.
 *
 * A plane is a process or a device.  It has lines (threads, streams), a line has events.  Names lie once in a plane, in its
 * dictionaries: of events, and of what is told of them (stats).  The plane may hold its dictionaries behind its lines.
 */
#ifndef HU_INGEST_XPLANE_H
#define HU_INGEST_XPLANE_H

#include "base/map.h"
#include "base/protobuf.h"
#include "ingest/xla_names.h"
#include "trace/builder.h"

/* Field numbers of the messages, in the order of nesting. */
enum { XSPACE_PLANE = 1, XSPACE_ERROR = 2, XSPACE_WARNING = 3, XSPACE_HOST = 4 };
enum { XPLANE_NAME = 2, XPLANE_LINE = 3, XPLANE_EVENT_NAMES = 4, XPLANE_STAT_NAMES = 5, XPLANE_STAT = 6 };
enum { XENTRY_KEY = 1, XENTRY_VALUE = 2 };
enum { XNAMES_NAME = 2, XNAMES_SHOWN = 4, XNAMES_STAT = 5 };
enum { XLINE_ID = 1, XLINE_NAME = 2, XLINE_NS = 3, XLINE_EVENT = 4 };
enum { XEVENT_NAME = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STAT = 4, XEVENT_TIMES = 5 };
enum {
    XSTAT_NAME = 1,
    XSTAT_DOUBLE = 2,
    XSTAT_UNSIGNED = 3,
    XSTAT_SIGNED = 4,
    XSTAT_TEXT = 5,
    XSTAT_BYTES = 6,
    XSTAT_REFERENCE = 7,
};

/* Stats that somebody asks for; id, name in the file. */
#define XPLANE_STATS(S)                  \
    S(CORRELATION, "correlation_id")     \
    S(KERNEL_DETAILS, "kernel_details")  \
    S(MEMCPY_DETAILS, "memcpy_details")  \
    S(MEMSET_DETAILS, "memset_details")  \
    S(MEMSET_DETAILS_, "Memset_details") \
    S(HLO_OP, "hlo_op")                  \
    S(HLO_MODULE, "hlo_module")          \
    S(HLO_CATEGORY, "hlo_category")      \
    S(ANNOTATION, "annotation")          \
    S(STEP, "step_num")                  \
    S(STEP_NAME, "step_name")            \
    S(IS_EAGER, "is_eager")              \
    S(ALLOCATOR, "allocator_name")       \
    S(ALLOCATED, "bytes_allocated")      \
    S(ALLOCATION, "allocation_bytes")    \
    S(ADDRESS, "addr")                   \
    S(TF_OP, "tf_op")                    \
    S(PROCESS, "process_id")             \
    S(BEGAN, "profile_start_time")       \
    S(JAX, "jax_version")                \
    S(VENDOR, "device_vendor")           \
    S(DEVICE_TYPE, "device_type_string") \
    S(CORES, "core_count")               \
    S(MEMORY, "memory_size")             \
    S(MAJOR, "compute_cap_major")        \
    S(MINOR, "compute_cap_minor")

typedef enum {
#define S(id, name) XPLANE_##id,
    XPLANE_STATS(S)
#undef S
        XPLANE_STAT_COUNT
} xplane_known;

typedef struct {
    bool    is_text;
    int64_t number; /* of a text 0 */
    hu_str  text;   /* of a number "" */
} xplane_value;

/* Of one event: at[i] is set where bit i of `has` is. */
typedef struct {
    uint64_t     has;
    xplane_value at[XPLANE_STAT_COUNT];
} xplane_stats;

typedef struct {
    hu_str   name, shown, message; /* shown: "" where the file has no shorter name */
    uint32_t id;                   /* string id of the name; 0 not asked yet */
} xplane_event_name;

typedef struct {
    hu_str  name;
    uint8_t known; /* xplane_known */
} xplane_stat_name;

typedef struct {
    hu_str name, message;
    size_t offset; /* of the message in the file */
    HU_VEC(xplane_event_name) event_names;
    HU_VEC(xplane_stat_name) stat_names;
    hu_map event_of, stat_of; /* id in the file -> row */
    bool   is_opened;
} xplane_plane;

typedef struct {
    hu_str  name;
    int64_t id, timestamp_ns;
    hu_str  message;
} xplane_line;

typedef struct {
    hu_builder_slice slice; /* its time; nothing else is set */
    hu_str           name, shown;
    uint32_t         name_id;
    bool             is_sum; /* times of an event that were added up: it has no time of its own */
    xplane_stats     stats;
} xplane_event;

typedef struct {
    hu_builder *b;
    hu_arena   *arena;
    hu_str      bytes;
    HU_VEC(xplane_plane) planes;
    hu_map              op_of;    /* correlation -> string id of the operation that its first kernel belongs to */
    const xplane_plane *stepping; /* the device plane whose steps are the steps; NULL: the host marks them, or nobody */
    int64_t             pid;
    int64_t             n_sums;
    bool                is_amd, has_jax;
} xplane_reader;

/* xplane_parts.c: dictionaries and stats */
bool xplane_no_memory(xplane_reader *r);
bool xplane_open_plane(xplane_reader *r, xplane_plane *plane);
void xplane_plane_stats(const xplane_plane *plane, xplane_stats *out);
/* The next line of a plane; `m` begins as the plane's message. */
bool xplane_next_line(hu_protobuf *m, xplane_line *out);
/* The next event of a line that has a time; `m` begins as the line's message.  What cannot be used is counted. */
bool xplane_next_event(xplane_reader *r, xplane_plane *plane, const xplane_line *line, hu_protobuf *m, xplane_event *out);

static inline bool xplane_has(const xplane_stats *s, xplane_known what)
{
    return s->has >> what & 1;
}

static inline hu_str xplane_text(const xplane_stats *s, xplane_known what)
{
    return xplane_has(s, what) ? s->at[what].text : HU_STR("");
}

/* A number, or a text that is one. */
int64_t xplane_number(const xplane_stats *s, xplane_known what, int64_t absent);

/* The number behind "key:" in a text of such words ("regs:16 grid:160,1,1"), up to `room` with commas between; how many. */
size_t xplane_detail(hu_str details, const char *key, int64_t *out, size_t room);

/* xplane_device.c, xplane_host.c */
void xplane_read_device(xplane_reader *r, xplane_plane *plane, int64_t device, bool is_gpu);
void xplane_read_host(xplane_reader *r, xplane_plane *plane);

/* xplane_threads.c: lines of calls that belong to a thread of another line, by their places in the plane */
bool xplane_join_threads(xplane_reader *r, xplane_plane *plane, hu_map *home_of);

/* xplane_ops.c: operations of a TPU's line, which may hold others */
void xplane_read_ops(xplane_reader *r, xplane_plane *plane, const xplane_line *line, int64_t device, bool is_async);

#endif
