/* SPDX-License-Identifier: Apache-2.0
 * perf_data.c - perf.data as `perf record` leaves it (docs/formats/perf.md): a header, the events that were sampled, and
 * records.
 *
 * Layout as in the kernel's include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.  Records
 * are written by the CPU that they come from, so they are sorted by time before they are read: a mapping counts from when it
 * was made.  Addresses stay addresses, as [module]+0xoffset: names are in files that are elsewhere.  Traps: what stands in a
 * sample depends on its event; behind an AUXTRACE record lies data that no length of a record covers; files that were
 * written to a pipe have another header and keep their events among the records.
 */

#include <stdio.h>
#include <stdlib.h>

#include "ingest/format.h"
#include "ingest/perf_samples.h"

enum { HEADER_BYTES = 104, PIPE_HEADER_BYTES = 16, LEAST_ATTRIBUTE = 64, ID_BYTES = 8, RECORD_BYTES = 8 };
enum { MOST_EVENTS = 1024, MOST_IDS = 1 << 20, MOST_MAPPINGS = 1 << 15, MOST_PARENTS = 32, MOST_FIELDS = 4096 };

/* perf_event_type, and those that the tool adds */
enum {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_ATTRIBUTE = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_AUXTRACE = 71,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
};

/* sample_type */
enum {
    HAS_IP = 1,
    HAS_TID = 2,
    HAS_TIME = 4,
    HAS_ADDRESS = 8,
    HAS_READ = 16,
    HAS_CALLCHAIN = 32,
    HAS_ID = 64,
    HAS_CPU = 128,
    HAS_PERIOD = 256,
    HAS_STREAM_ID = 512,
    HAS_USER_STACK = 1 << 13,
    HAS_IDENTIFIER = 1 << 16,
};

enum { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 }; /* read_format */
enum { FLAG_FREQ = 1 << 10, FLAG_SAMPLE_ID_ALL = 1 << 18 };                               /* of the attribute */
enum {
    TYPE_HARDWARE = 0,
    TYPE_SOFTWARE = 1,
    TYPE_TRACEPOINT = 2,
    CONFIG_CYCLES = 0,
    CONFIG_CPU_CLOCK = 0,
    CONFIG_TASK_CLOCK = 1,
    CONFIG_REF_CYCLES = 9,
};
enum { MODE_MASK = 7, MODE_KERNEL = 1, MODE_GUEST_KERNEL = 4, COMM_EXEC = 1 << 13 }; /* misc of a record */

static const uint64_t CONTEXT = UINT64_MAX - 4095, CONTEXT_KERNEL = UINT64_MAX - 127, CONTEXT_USER = UINT64_MAX - 511;

typedef struct {
    uint32_t type;
    uint64_t config, period, sample_type, read_format, flags;
    int      clock; /* as perf_samples_rank has them */
} event;

typedef struct {
    uint64_t time, at;
} place;

typedef struct {
    uint64_t start, end, offset;
    int64_t  pid;
    uint32_t name; /* string id */
} mapping;

typedef struct {
    hu_str       file;
    const char  *name;
    hu_arena    *arena;
    perf_samples s;
    perf_sample  at;
    HU_VEC(event) events;
    hu_map event_of;          /* id -> place in events */
    hu_map parent_of;         /* process -> the one that forked it, until it executes another program */
    hu_map command_of;        /* thread -> string id */
    HU_VEC(mapping) mappings; /* by process and start; none overlaps another of its process */
    HU_VEC(place) order;
    int64_t compressed, bad; /* records that are packed; that are no records */
    int64_t samples;         /* of any event */
    int64_t stacks;          /* of the program, as bytes, which only a library that reads DWARF can follow */
    bool    is_cut;
} reader;

static bool fits(const reader *r, uint64_t at, uint64_t n)
{
    return at <= r->file.n && n <= r->file.n - at;
}

static uint64_t word(const reader *r, uint64_t at)
{
    uint64_t v = 0;

    if (fits(r, at, 8))
        memcpy(&v, r->file.p + at, 8);
    return v;
}

static uint32_t half(const reader *r, uint64_t at)
{
    uint32_t v = 0;

    if (fits(r, at, 4))
        memcpy(&v, r->file.p + at, 4);
    return v;
}

static uint16_t quarter(const reader *r, uint64_t at)
{
    uint16_t v = 0;

    if (fits(r, at, 2))
        memcpy(&v, r->file.p + at, 2);
    return v;
}

/* A text up to its NUL, of a record that ends at `end`. */
static hu_str text_of(const reader *r, uint64_t at, uint64_t end)
{
    const char *zero;

    if (at >= end || !fits(r, at, end - at))
        return HU_STR("");
    zero = memchr(r->file.p + at, 0, end - at);
    return (hu_str){r->file.p + at, zero ? (size_t)(zero - (r->file.p + at)) : (size_t)(end - at)};
}

/* events */

/* The high half of a hardware event's config is the kind of cores. */
static int clock_of(const event *e)
{
    const hu_str name = e->type == TYPE_SOFTWARE && e->config == CONFIG_CPU_CLOCK              ? HU_STR("cpu-clock")
                        : e->type == TYPE_SOFTWARE && e->config == CONFIG_TASK_CLOCK           ? HU_STR("task-clock")
                        : e->type == TYPE_HARDWARE && (uint32_t)e->config == CONFIG_CYCLES     ? HU_STR("cycles")
                        : e->type == TYPE_HARDWARE && (uint32_t)e->config == CONFIG_REF_CYCLES ? HU_STR("ref-cycles")
                                                                                               : HU_STR("another");

    return perf_samples_rank(name);
}

static int add_event(reader *r, uint64_t at, uint64_t bytes, hu_error *err)
{
    event e;

    if (bytes < LEAST_ATTRIBUTE || !fits(r, at, bytes) || r->events.n == MOST_EVENTS)
        return hu_fail(err, HU_EFORMAT, r->name, (int64_t)at,
                       "the description of an event of this perf.data is damaged; "
                       "`perf script -i FILE` may say more");
    e = (event){.type = half(r, at),
                .config = word(r, at + 8),
                .period = word(r, at + 16),
                .sample_type = word(r, at + 24),
                .read_format = word(r, at + 32),
                .flags = word(r, at + 40)};
    e.clock = clock_of(&e);
    return hu_vec_push(r->arena, &r->events, e) ? 0 : hu_fail_memory(err);
}

/* Samples of the last event that was added have one of these numbers. */
static int add_ids(reader *r, uint64_t at, uint64_t bytes, hu_error *err)
{
    for (uint64_t i = 0; i + ID_BYTES <= bytes && i / ID_BYTES < MOST_IDS && fits(r, at + i, ID_BYTES); i += ID_BYTES) {
        uint32_t *of = hu_map_put(&r->event_of, word(r, at + i));

        if (!of)
            return hu_fail_memory(err);
        *of = (uint32_t)r->events.n - 1;
    }
    return 0;
}

/* The list of the header: each attribute, and where its ids are. */
static int read_events(reader *r, hu_error *err)
{
    const uint64_t each = word(r, 16), at = word(r, 24), bytes = word(r, 32);
    int            rc = 0;

    if (each < LEAST_ATTRIBUTE + 16 || each > 4096)
        return hu_fail(err, HU_EFORMAT, r->name, 16,
                       "the header of this perf.data is damaged; record again, or try "
                       "`perf script -i FILE > out.txt`, which holdup reads");
    for (uint64_t i = 0; rc == 0 && i + each <= bytes; i += each) {
        if (!fits(r, at + i, each))
            return hu_fail(err, HU_EFORMAT, r->name, (int64_t)(at + i),
                           "this perf.data ends before its events; copy it again");
        rc = add_event(r, at + i, each - 16, err);
        if (rc == 0)
            rc = add_ids(r, word(r, at + i + each - 16), word(r, at + i + each - 8), err);
    }
    return rc;
}

/* times */

/* How far from the end of a record that is no sample its time stands; 0: it has none. */
static uint64_t time_from_end(const event *e)
{
    uint64_t n = 0;

    if (!(e->flags & FLAG_SAMPLE_ID_ALL) || !(e->sample_type & HAS_TIME))
        return 0;
    n += e->sample_type & HAS_IDENTIFIER ? 8 : 0;
    n += e->sample_type & HAS_CPU ? 8 : 0;
    n += e->sample_type & HAS_STREAM_ID ? 8 : 0;
    n += e->sample_type & HAS_ID ? 8 : 0;
    return n + 8;
}

/* How far from the beginning of a sample its time stands; 0: it has none. */
static uint64_t time_from_begin(const event *e)
{
    uint64_t n = RECORD_BYTES;

    if (!(e->sample_type & HAS_TIME))
        return 0;
    n += e->sample_type & HAS_IDENTIFIER ? 8 : 0;
    n += e->sample_type & HAS_IP ? 8 : 0;
    n += e->sample_type & HAS_TID ? 8 : 0;
    return n;
}

/* The event of a sample: all are laid out alike, or say first which they are of. */
static const event *event_of(const reader *r, uint64_t at)
{
    const event *first = &r->events.at[0];
    uint64_t     n = RECORD_BYTES, id;
    uint32_t     found;

    if (r->events.n == 1 || !(first->sample_type & (HAS_IDENTIFIER | HAS_ID)))
        return first;
    if (!(first->sample_type & HAS_IDENTIFIER)) {
        n += first->sample_type & HAS_IP ? 8 : 0;
        n += first->sample_type & HAS_TID ? 8 : 0;
        n += first->sample_type & HAS_TIME ? 8 : 0;
        n += first->sample_type & HAS_ADDRESS ? 8 : 0;
    }
    id = word(r, at + n);
    found = hu_map_get(&r->event_of, id);
    return found == HU_MAP_NONE ? first : &r->events.at[found];
}

static bool is_wanted(uint32_t type)
{
    return type == RECORD_MMAP || type == RECORD_MMAP2 || type == RECORD_COMM || type == RECORD_FORK ||
           type == RECORD_SAMPLE || type == RECORD_LOST || type == RECORD_LOST_SAMPLES;
}

static bool list_record(reader *r, uint64_t at, uint32_t type, uint64_t size)
{
    const uint64_t distance = type == RECORD_SAMPLE ? time_from_begin(event_of(r, at)) : time_from_end(&r->events.at[0]);
    uint64_t       time = 0;

    if (distance && distance + (type == RECORD_SAMPLE ? 8 : 0) <= size)
        time = word(r, type == RECORD_SAMPLE ? at + distance : at + size - distance);
    return hu_vec_push(r->arena, &r->order, ((place){time, at}));
}

/* What lies behind a record and in none. */
static uint64_t payload_of(const reader *r, uint64_t at, uint32_t type, bool is_pipe)
{
    if (type == RECORD_AUXTRACE)
        return word(r, at + RECORD_BYTES);
    if (type == RECORD_TRACING_DATA && is_pipe)
        return ((uint64_t)half(r, at + RECORD_BYTES) + 7) & ~(uint64_t)7;
    return 0;
}

static int list_records(reader *r, uint64_t at, uint64_t end, bool is_pipe, int64_t most, hu_error *err)
{
    while (at < end && !r->is_cut) {
        const uint32_t type = half(r, at);
        const uint64_t size = quarter(r, at + 6), payload = payload_of(r, at, type, is_pipe);

        if (!fits(r, at, RECORD_BYTES) || size < RECORD_BYTES || !fits(r, at, size) || payload > end) {
            r->is_cut = true;
            hu_builder_truncated(r->s.b, (int64_t)at, "a record ends behind the file; was perf killed, or the copy cut?");
            break;
        }
        if (type == RECORD_ATTRIBUTE && is_pipe) {
            const uint64_t bytes = half(r, at + RECORD_BYTES + 4); /* the attribute says its own size */
            int rc = add_event(r, at + RECORD_BYTES, bytes < size - RECORD_BYTES ? bytes : size - RECORD_BYTES, err);

            if (rc == 0 && bytes < size - RECORD_BYTES)
                rc = add_ids(r, at + RECORD_BYTES + bytes, size - RECORD_BYTES - bytes, err);
            if (rc < 0)
                return rc;
        } else if (type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2) {
            r->compressed++;
        } else if (is_wanted(type) && r->events.n) {
            if (r->order.n == (size_t)most)
                return hu_fail(err, HU_ELIMIT, r->name, HU_NO_OFFSET, "has more than %lld records; raise --limit events",
                               (long long)most);
            if (!list_record(r, at, type, size))
                return hu_fail_memory(err);
        }
        at += size + payload;
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* mappings */

/* The place of the first mapping that does not lie before (pid, start). */
static size_t find_place(const reader *r, int64_t pid, uint64_t start)
{
    size_t low = 0, high = r->mappings.n;

    while (low < high) {
        const size_t   middle = low + (high - low) / 2;
        const mapping *m = &r->mappings.at[middle];

        if (m->pid < pid || (m->pid == pid && m->end <= start))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Takes the place of what was mapped there: a newer one counts. */
static bool add_mapping(reader *r, mapping m)
{
    const size_t at = find_place(r, m.pid, m.start);
    mapping      right = {0}, left = {0};
    size_t       n = 0, more;

    if (m.end <= m.start || r->mappings.n >= MOST_MAPPINGS)
        return true;
    while (at + n < r->mappings.n && r->mappings.at[at + n].pid == m.pid && r->mappings.at[at + n].start < m.end)
        n++;
    if (n && r->mappings.at[at].start < m.start) {
        left = r->mappings.at[at];
        left.end = m.start;
    }
    if (n && r->mappings.at[at + n - 1].end > m.end) {
        right = r->mappings.at[at + n - 1];
        right.offset += m.end - right.start;
        right.start = m.end;
    }
    more = 1u + (left.end > 0) + (right.end > 0);
    if (!hu_vec_reserve(r->arena, &r->mappings, more))
        return false;
    memmove(&r->mappings.at[at + more], &r->mappings.at[at + n], (r->mappings.n - at - n) * sizeof m);
    r->mappings.n += more - n;
    n = at;
    if (left.end)
        r->mappings.at[n++] = left;
    r->mappings.at[n++] = m;
    if (right.end)
        r->mappings.at[n] = right;
    return true;
}

static const mapping *find_mapping(const reader *r, int64_t pid, uint64_t address)
{
    for (int i = 0; i < MOST_PARENTS; i++) {
        const size_t at = find_place(r, pid, address);
        uint32_t     parent;

        if (at < r->mappings.n && r->mappings.at[at].pid == pid && r->mappings.at[at].start <= address)
            return &r->mappings.at[at];
        parent = hu_map_get(&r->parent_of, (uint64_t)pid);
        if (parent == HU_MAP_NONE || (int64_t)parent == pid)
            return NULL;
        pid = parent;
    }
    return NULL;
}

static bool read_mapping(reader *r, uint64_t at, uint64_t size, bool is_second)
{
    const uint64_t name = at + RECORD_BYTES + (is_second ? 64 : 32);
    const mapping  m = {.pid = (int32_t)half(r, at + 8),
                        .start = word(r, at + 16),
                        .end = word(r, at + 16) + word(r, at + 24),
                        .offset = word(r, at + 32),
                        .name = hu_builder_intern(r->s.b, hu_str_base_name(text_of(r, name, at + size)))};

    return m.pid < 0 || add_mapping(r, m); /* of the kernel: one function of all */
}

static bool read_command(reader *r, uint64_t at, uint64_t size)
{
    const int64_t  pid = (int32_t)half(r, at + 8), tid = (int32_t)half(r, at + 12);
    const uint32_t name = hu_builder_intern(r->s.b, text_of(r, at + 16, at + size));
    uint32_t      *command = hu_map_put(&r->command_of, (uint64_t)tid);

    if (!command)
        return false;
    *command = name;
    if (quarter(r, at + 4) & COMM_EXEC && hu_map_get(&r->parent_of, (uint64_t)pid) != HU_MAP_NONE)
        *hu_map_put(&r->parent_of, (uint64_t)pid) = (uint32_t)pid;
    return true;
}

/* A thread has its parent's name until it takes another. */
static bool read_fork(reader *r, uint64_t at)
{
    const uint32_t pid = half(r, at + 8), parent = half(r, at + 12), tid = half(r, at + 16);
    const uint32_t name = hu_map_get(&r->command_of, half(r, at + 20));
    uint32_t      *of = pid != parent && parent != HU_MAP_NONE ? hu_map_put(&r->parent_of, pid) : NULL;
    uint32_t      *command = name != HU_MAP_NONE ? hu_map_put(&r->command_of, tid) : NULL;

    if (of)
        *of = parent;
    if (command)
        *command = name;
    return (of || pid == parent || parent == HU_MAP_NONE) && (command || name == HU_MAP_NONE);
}

/* samples */

static void add_frame(reader *r, uint64_t address)
{
    const mapping *m = find_mapping(r, r->at.pid, address);
    const hu_str   module = m ? hu_builder_text(r->s.b, m->name) : HU_STR("[unknown]");

    if (r->at.n == PERF_MOST_FRAMES)
        return;
    r->at.module[r->at.n] = m ? m->name : hu_builder_intern(r->s.b, module);
    r->at.function[r->at.n++] = perf_samples_place(&r->s, module, m ? address - m->start + m->offset : address);
}

/* Return addresses from the innermost on, between marks of where they are.  Returns how many bytes it takes; 0: too many. */
static uint64_t read_chain(reader *r, uint64_t at, uint64_t end)
{
    const uint64_t n = word(r, at);
    bool           is_user = true;

    if (at + 8 > end || n > (end - at - 8) / 8)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t address = word(r, at + 8 + 8 * i);

        if (address >= CONTEXT)
            is_user = address == CONTEXT_USER;
        else if (is_user)
            add_frame(r, address);
        r->at.is_kernel |= address == CONTEXT_KERNEL;
    }
    return 8 + 8 * n;
}

/* The values of counters. */
static uint64_t skip_read(const reader *r, uint64_t at, uint64_t format)
{
    const uint64_t times = (format & READ_ENABLED ? 8u : 0u) + (format & READ_RUNNING ? 8u : 0u);
    const uint64_t each = 8u + (format & READ_ID ? 8u : 0u) + (format & READ_LOST ? 8u : 0u);

    if (!(format & READ_GROUP))
        return times + each;
    return word(r, at) > MOST_FIELDS ? UINT32_MAX : 8 + times + word(r, at) * each;
}

/* Several events sample the same time several times: the best clock counts, and its twin on cores of the other kind. */
static bool is_counted(const reader *r, const event *e)
{
    const event *best = NULL;

    for (size_t i = 0; i < r->events.n; i++)
        if (r->events.at[i].clock >= 0 && (!best || r->events.at[i].clock < best->clock))
            best = &r->events.at[i];
    return e == best || (best && e->type == TYPE_HARDWARE && e->clock == best->clock && e->config != best->config);
}

/* Fields in the order of their bits, but for the identifier. */
static void read_sample(reader *r, uint64_t at, uint64_t size)
{
    const event   *e = event_of(r, at);
    const uint64_t end = at + size;
    const uint32_t mode = quarter(r, at + 4) & MODE_MASK;
    uint64_t       p = at + RECORD_BYTES, address = 0, used = 0;

    if (!is_counted(r, e)) {
        perf_samples_pass(&r->s, e->type == TYPE_TRACEPOINT ? HU_STR("a tracepoint")
                                 : e->clock >= 0            ? HU_STR("a second event that was sampled")
                                 : e->type == TYPE_SOFTWARE ? HU_STR("a software event")
                                                            : HU_STR("a count of the processor"));
        return;
    }
    r->at.n = 0;
    r->at.is_kernel = mode == MODE_KERNEL || mode == MODE_GUEST_KERNEL;
    p += e->sample_type & HAS_IDENTIFIER ? 8 : 0;
    if (e->sample_type & HAS_IP)
        address = word(r, p), p += 8;
    r->at.pid = r->at.tid = -1;
    if (e->sample_type & HAS_TID) {
        r->at.pid = (int32_t)half(r, p);
        r->at.tid = (int32_t)half(r, p + 4);
        p += 8;
    }
    r->at.time_ns = e->sample_type & HAS_TIME ? (int64_t)word(r, p) : -1;
    p += e->sample_type & HAS_TIME ? 8 : 0;
    p += e->sample_type & HAS_ADDRESS ? 8 : 0;
    p += e->sample_type & HAS_ID ? 8 : 0;
    p += e->sample_type & HAS_STREAM_ID ? 8 : 0;
    p += e->sample_type & HAS_CPU ? 8 : 0;
    p += e->sample_type & HAS_PERIOD ? 8 : 0;
    if (e->sample_type & HAS_READ)
        p += skip_read(r, p, e->read_format);
    if (p > end || r->at.time_ns < 0) {
        r->bad++;
        return;
    }
    if (e->sample_type & HAS_CALLCHAIN && !(used = read_chain(r, p, end))) {
        r->bad++;
        return;
    }
    if (r->at.n == 0 && !r->at.is_kernel && e->sample_type & HAS_IP)
        add_frame(r, address);
    r->stacks += r->at.tid != 0 && e->sample_type & HAS_USER_STACK && r->at.n <= 1;
    perf_samples_add(&r->s, &r->at);
}

static bool read_record(reader *r, uint64_t at)
{
    const uint64_t size = quarter(r, at + 6);

    switch (half(r, at)) {
    case RECORD_MMAP:
        return read_mapping(r, at, size, false);
    case RECORD_MMAP2:
        return read_mapping(r, at, size, true);
    case RECORD_COMM:
        return read_command(r, at, size);
    case RECORD_FORK:
        return read_fork(r, at);
    case RECORD_SAMPLE:
        r->samples++;
        read_sample(r, at, size);
        break;
    case RECORD_LOST:
        r->s.lost += word(r, at + 16) < UINT32_MAX ? (int64_t)word(r, at + 16) : 1;
        break;
    case RECORD_LOST_SAMPLES:
        r->s.lost += word(r, at + 8) < UINT32_MAX ? (int64_t)word(r, at + 8) : 1;
        break;
    default:
        break;
    }
    return true;
}

/* What one sample stands for: of a clock its period, and of a frequency its inverse. */
static int64_t sample_ns(const reader *r)
{
    int64_t ns = -1;

    for (size_t i = 0; i < r->events.n; i++) {
        const event *e = &r->events.at[i];
        int64_t      of = 0;

        if (!is_counted(r, e))
            continue;
        if (e->flags & FLAG_FREQ &&
            (e->type == TYPE_SOFTWARE || (e->type == TYPE_HARDWARE && (uint32_t)e->config == CONFIG_CYCLES)))
            of = e->period ? (int64_t)(1000000000u / (e->period < 1000000000u ? e->period : 1000000000u)) : 0;
        else if (e->type == TYPE_SOFTWARE && e->period < 10000000000u)
            of = (int64_t)e->period;
        if (ns >= 0 && ns != of)
            return 0; /* several that differ */
        ns = of;
    }
    return ns > 0 ? ns : 0;
}

static void name_threads(reader *r)
{
    for (size_t i = 0; i < r->s.lives.n; i++) {
        const hu_builder_id pid = {r->s.lives.at[i].pid, false}, tid = {r->s.lives.at[i].tid, false};
        const uint32_t      name = hu_map_get(&r->command_of, (uint64_t)tid.value);
        const uint32_t      of_process = hu_map_get(&r->command_of, (uint64_t)pid.value);

        if (name != HU_MAP_NONE)
            hu_builder_name_thread(r->s.b, pid, tid, name);
        if (of_process != HU_MAP_NONE)
            hu_builder_name_process(r->s.b, pid, of_process);
    }
}

static int fail_without(const reader *r, hu_error *err)
{
    if (r->compressed)
        return hu_fail(
            err, HU_EFORMAT, r->name, HU_NO_OFFSET,
            "this perf.data is packed (perf record -z), which holdup does not unpack; `perf script -i FILE > out.txt` "
            "prints what it reads");
    if (r->s.events)
        return hu_fail(err, HU_EEMPTY, r->name, HU_NO_OFFSET,
                       "this perf.data has no samples of a CPU, only other events (%.*s); record with: perf record -g -e "
                       "cpu-clock -- COMMAND",
                       HU_FMT(r->s.event));
    if (r->samples == 0)
        return hu_fail(
            err, HU_EEMPTY, r->name, HU_NO_OFFSET,
            "this perf.data has no samples%s; record more often, and as long as the program works: perf record -F 999 -g "
            "-e cpu-clock -- COMMAND. A program that waits uses no CPU and gets none: `holdup run -- COMMAND` records its "
            "waits",
            r->s.lost ? ": all of them were lost" : "");
    if (r->s.idle == r->samples)
        return hu_fail(err, HU_EEMPTY, r->name, HU_NO_OFFSET,
                       "this perf.data has only samples of the idle task: nothing ran on the CPUs; record while the program "
                       "works: perf record -F 999 -g -e cpu-clock -- COMMAND");
    return hu_fail(
        err, HU_EEMPTY, r->name, HU_NO_OFFSET,
        "this perf.data has no samples that holdup reads; `perf script -i FILE > out.txt` prints what perf finds in "
        "it, which holdup reads");
}

static int read_file(reader *r, int64_t most, hu_error *err)
{
    const bool is_pipe = word(r, 8) == PIPE_HEADER_BYTES;
    int        rc = 0;

    if (is_pipe)
        return list_records(r, PIPE_HEADER_BYTES, r->file.n, true, most, err);
    if (r->file.n < HEADER_BYTES)
        return hu_fail(err, HU_EEMPTY, r->name, (int64_t)r->file.n, "this perf.data ends in its header; was perf killed?");
    rc = read_events(r, err);
    if (rc == 0) {
        const uint64_t from = word(r, 40), bytes = word(r, 48);

        /* a size of 0 is what perf leaves that was killed */
        rc = list_records(r, from, bytes && fits(r, from, bytes) ? from + bytes : r->file.n, false, most, err);
        if (rc == 0 && bytes && !fits(r, from, bytes) && !r->is_cut) {
            r->is_cut = true;
            hu_builder_truncated(r->s.b, (int64_t)r->file.n, "the file ends before its last record");
        }
    }
    return rc;
}

static void say_left_out(reader *r)
{
    hu_quality *q = hu_builder_quality(r->s.b);

    perf_samples_say(&r->s, r->compressed, "packed records are left out", HU_STR(""));
    perf_samples_say(
        &r->s, r->stacks,
        "samples have a copy of the stack (--call-graph dwarf), which is not followed: their callers are in what "
        "perf script -i FILE > out.txt prints",
        HU_STR(""));
    q->events += r->bad;
    q->count[HU_REASON_MALFORMED] += r->bad;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    reader   *r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    int       rc = r ? hu_input_read_whole(in, arena, &r->file, err) : hu_fail_memory(err);

    if (rc == 0) {
        r->arena = arena;
        r->name = hu_input_name(in);
        if (!perf_samples_init(&r->s, b, arena) || !hu_map_init(&r->event_of, arena, 64) ||
            !hu_map_init(&r->parent_of, arena, 64) || !hu_map_init(&r->command_of, arena, 64))
            rc = hu_fail_memory(err);
    }
    if (rc == 0)
        rc = read_file(r, hu_input_limits(in)->events, err);
    if (rc == 0 && r->order.n)
        qsort(r->order.at, r->order.n, sizeof *r->order.at, by_time);
    for (size_t i = 0; rc == 0 && i < r->order.n; i++)
        rc = read_record(r, r->order.at[i].at) ? hu_builder_status(b, err) : hu_fail_memory(err);
    if (rc == 0 && r->s.lives.n == 0)
        rc = fail_without(r, err);
    if (rc == 0) {
        name_threads(r);
        perf_samples_end(&r->s, sample_ns(r));
        say_left_out(r);
        hu_builder_info(b)->tool = HU_STR("perf record");
        hu_builder_info(b)->bytes = (int64_t)r->file.n;
        hu_builder_quality(b)->has_all_events = !r->is_cut;
        rc = hu_builder_status(b, err);
    }
    hu_arena_free(arena);
    return rc;
}

static bool probe(hu_str head)
{
    return hu_str_starts(head, HU_STR("PERFILE2"));
}

const hu_format hu_format_perf_data = {
    .name = "perf-data",
    .what = "recordings of perf record (perf.data)",
    .suffixes = ".data",
    .probe = probe,
    .import = import,
};
