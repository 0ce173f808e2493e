/* SPDX-License-Identifier: Apache-2.0
 * rocprof_json.c - `rocprofv3 --output-format json`: *_results.json (docs/formats/rocprof.md).
 *
 * {"rocprofiler-sdk-tool": [process, ...]}.  A process has its agents, its strings (names of kinds and operations, texts of
 * markers), its kernel symbols, and then its records.  The file is written when the program ends, so that one which was
 * killed leaves half of it: what stands before the break is read.
 *
 * Traps: members may come in another order after somebody's tool rewrote them, so records are read once a process's other
 * members are known; records without a stream (of old versions, or 0 for all of them) are told apart by their queues.
 */
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/format.h"
#include "ingest/rocm.h"

enum { LOOKED_AT = 4096, MOST_KINDS = 4096, MOST_FIELDS = 16 };

/* What a kind of record is called, and its operations. */
typedef struct {
    uint32_t name;
    HU_VEC(uint32_t) operations;
} kind_names;

typedef struct {
    uint32_t name, mangled;
    int64_t  registers;
} symbol;

typedef struct {
    rocm_reader rocm;
    const char *file, *begin, *end;
    hu_map      symbols; /* kernel id -> place in known */
    hu_map      markers; /* correlation id -> string id */
    HU_VEC(symbol) known;
    HU_VEC(kind_names) kinds;
    const char *records; /* "buffer_records" of this process; NULL: none yet */
    int64_t     pid, n_processes;
    bool        has_streams, is_cut;
    hu_str      command;
    hu_arena   *scratch;
} reader;

static bool probe(hu_str head)
{
    const hu_str mark = HU_STR("\"rocprofiler-sdk-tool\"");
    size_t       i = 0;

    if (hu_str_starts(head, HU_STR("\xef\xbb\xbf")))
        i = 3;
    while (i < head.n && (head.p[i] == ' ' || head.p[i] == '\n' || head.p[i] == '\r' || head.p[i] == '\t'))
        i++;
    if (i == head.n || head.p[i] != '{')
        return false;
    return hu_str_has((hu_str){head.p + i, head.n - i < LOOKED_AT ? head.n - i : LOOKED_AT}, mark);
}

static void no_memory(reader *r)
{
    hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

/* The document from outside to inside: a container is entered without knowing where it ends, since it may not. */

static const char *skip_space(const reader *r, const char *p)
{
    while (p < r->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t' || *p == ','))
        p++;
    return p;
}

/* Behind the value at p, or NULL where the text ends in it. */
static const char *behind(const reader *r, const char *p)
{
    hu_json j = {p, r->end, false};
    hu_str  value;

    return p < r->end && hu_json_element(&j, &value) && !j.is_broken && j.p < r->end ? j.p : NULL;
}

static bool cut(reader *r, const char *at)
{
    if (!r->is_cut)
        hu_builder_truncated(r->rocm.b, (int64_t)(at - r->begin), "");
    r->is_cut = true;
    return false;
}

/* The next member of an object: *p is moved to its value.  False at its end, which is passed, or where the text breaks. */
static bool next_member(reader *r, const char **p, hu_str *key)
{
    const char *at = skip_space(r, *p), *end;

    if (at >= r->end)
        return cut(r, r->end);
    *p = at + 1;
    if (*at == '}')
        return false;
    if (*at != '"' || !(end = memchr(at + 1, '"', (size_t)(r->end - at) - 1)))
        return cut(r, at);
    *key = (hu_str){at + 1, (size_t)(end - at) - 1};
    at = skip_space(r, end + 1);
    if (at >= r->end || *at != ':')
        return cut(r, at);
    *p = skip_space(r, at + 1);
    return *p < r->end || cut(r, r->end);
}

/* The next element of a list, as a whole.  False at its end, which is passed, or where the text breaks. */
static bool next_element(reader *r, const char **p, hu_str *value)
{
    const char *at = skip_space(r, *p), *after;

    if (at >= r->end)
        return cut(r, r->end);
    *p = at + 1;
    if (*at == ']')
        return false;
    after = *at == '}' || *at == ':' ? NULL : behind(r, at);
    if (!after)
        return cut(r, at);
    *value = (hu_str){at, (size_t)(after - at)};
    *p = after;
    return true;
}

static bool skip_value(reader *r, const char **p)
{
    const char *after = behind(r, *p);

    if (!after)
        return cut(r, *p);
    *p = after;
    return true;
}

/* Does a list begin at *p, which is entered then?  Another value is passed. */
static bool enter(reader *r, const char **p, char open)
{
    if (**p == open) {
        ++*p;
        return true;
    }
    skip_value(r, p);
    return false;
}

/* Members of small objects */

/* The values of the members that `keys` names, in one walk; p is NULL of those that are missing. */
static void take_fields(hu_str object, const char *const *keys, hu_str *out)
{
    hu_json j = hu_json_enter(object.n ? object : HU_STR("{}"));
    hu_str  key, value;

    for (size_t i = 0; keys[i]; i++)
        out[i] = (hu_str){NULL, 0};
    while (hu_json_member(&j, &key, &value))
        for (size_t i = 0; keys[i]; i++)
            if (hu_str_equal(key, hu_str_of(keys[i])))
                out[i] = value;
}

/* A number, also as text ("0x7f00", "12") or as {"handle": 12}. */
static int64_t number(hu_str value, int64_t absent)
{
    int64_t  v;
    uint64_t big = 0;

    if (value.n && value.p[0] == '{') {
        hu_json j = hu_json_enter(value);
        hu_str  key, inner;

        return hu_json_member(&j, &key, &inner) && inner.n && inner.p[0] != '{' ? number(inner, absent) : absent;
    }
    if (value.n > 1 && value.p[0] == '"')
        value = (hu_str){value.p + 1, value.n - 2};
    if (hu_str_starts(value, HU_STR("0x")) && value.n <= 18) {
        for (size_t i = 2; i < value.n; i++) {
            const char *digits = "0123456789abcdef", *at = memchr(digits, hu_char_lower(value.p[i]), 16);

            if (!at)
                return absent;
            big = big << 4 | (uint64_t)(at - digits);
        }
        return (int64_t)big;
    }
    if (hu_parse_i64(value, &v))
        return v;
    return hu_parse_u64(value, &big) ? (int64_t)big : absent;
}

/* Valid until the scratch arena goes. */
static hu_str text(reader *r, hu_str value)
{
    hu_str s;

    if (value.n < 2 || value.p[0] != '"')
        return HU_STR("");
    if (!memchr(value.p, '\\', value.n))
        return (hu_str){value.p + 1, value.n - 2};
    s = hu_json_text(r->scratch, value);
    if (!s.p)
        no_memory(r);
    return s.p ? s : HU_STR("");
}

/* What a process is */

static void read_metadata(reader *r, hu_str object)
{
    enum { NODE, PID, COMMAND };
    static const char *const keys[] = {"node", "pid", "command", NULL};
    hu_str                   f[HU_COUNT(keys)], host, first;
    hu_json                  j;

    take_fields(object, keys, f);
    r->pid = number(f[PID], 0);
    r->pid = r->pid > 0 && r->pid <= UINT32_MAX ? r->pid : 0;
    host = f[NODE].p ? hu_json_get(f[NODE], HU_STR("hostname")) : (hu_str){NULL, 0};
    if (host.p && !hu_builder_info(r->rocm.b)->host.n)
        hu_builder_info(r->rocm.b)->host = hu_builder_keep(r->rocm.b, text(r, host));
    j = hu_json_enter(f[COMMAND].p ? f[COMMAND] : HU_STR("[]"));
    r->command = hu_json_element(&j, &first) ? text(r, first) : HU_STR("");
}

static void read_agents(reader *r, const char **p)
{
    enum { ID, TYPE, ORDER, PRODUCT, NAME, UNITS, WAVE, WAVES, BANKS };
    static const char *const keys[] = {"id",        "type",     "logical_node_type_id", "product_name",
                                       "name",      "cu_count", "wave_front_size",      "max_waves_per_cu",
                                       "mem_banks", NULL};
    hu_str                   f[HU_COUNT(keys)], agent;
    int64_t                  n = 0;

    while (next_element(r, p, &agent)) {
        enum { GPU = 2 };
        hu_str name;
        bool   is_gpu;

        take_fields(agent, keys, f);
        is_gpu = number(f[TYPE], 0) == GPU;
        name = text(r, f[PRODUCT]);
        rocm_add_agent(&r->rocm, &(rocm_agent){.agent = number(f[ID], ROCM_NO_AGENT),
                                               .number = is_gpu ? number(f[ORDER], n) : -1,
                                               .name = name.n ? name : text(r, f[NAME]),
                                               .memory_bytes = rocm_memory_of(f[BANKS]),
                                               .units = number(f[UNITS], 0),
                                               .wave = number(f[WAVE], 0),
                                               .waves_per_unit = number(f[WAVES], 0)});
        n += is_gpu;
    }
}

static void read_symbols(reader *r, const char **p)
{
    enum { ID, FORMATTED, DEMANGLED, NAME, VECTOR, ACCUMULATION };
    static const char *const keys[] = {"kernel_id",   "formatted_kernel_name", "demangled_kernel_name",
                                       "kernel_name", "arch_vgpr_count",       "accum_vgpr_count",
                                       NULL};
    hu_str                   f[HU_COUNT(keys)], object;

    while (next_element(r, p, &object)) {
        uint32_t *place;
        hu_str    name;
        symbol    s;

        take_fields(object, keys, f);
        name = text(r, f[FORMATTED]);
        name = name.n ? name : text(r, f[DEMANGLED]);
        name = name.n ? name : text(r, f[NAME]);
        s = (symbol){.name = rocm_kernel_name(&r->rocm, name),
                     .mangled = rocm_kernel_name(&r->rocm, text(r, f[NAME])),
                     .registers = number(f[VECTOR], 0) + number(f[ACCUMULATION], 0)};
        s.mangled = s.mangled == s.name ? 0 : s.mangled;
        place = hu_map_put(&r->symbols, (uint64_t)number(f[ID], -1));
        if (place)
            *place = (uint32_t)r->known.n;
        if (!place || !hu_vec_push(r->rocm.arena, &r->known, s)) {
            no_memory(r);
            return;
        }
    }
}

static void read_kinds(reader *r, const char **p)
{
    enum { KIND, OPERATIONS };
    static const char *const keys[] = {"kind", "operations", NULL};
    hu_str                   f[HU_COUNT(keys)], object, operation;

    while (next_element(r, p, &object)) {
        kind_names k = {0};
        hu_json    j;

        take_fields(object, keys, f);
        k.name = hu_builder_intern(r->rocm.b, text(r, f[KIND]));
        j = hu_json_enter(f[OPERATIONS].p ? f[OPERATIONS] : HU_STR("[]"));
        while (k.operations.n < MOST_KINDS && hu_json_element(&j, &operation))
            if (!hu_vec_push(r->rocm.arena, &k.operations, hu_builder_intern(r->rocm.b, text(r, operation))))
                no_memory(r);
        if (r->kinds.n < MOST_KINDS && !hu_vec_push(r->rocm.arena, &r->kinds, k))
            no_memory(r);
    }
}

static void read_markers(reader *r, const char **p)
{
    enum { KEY, VALUE };
    static const char *const keys[] = {"key", "value", NULL};
    hu_str                   f[HU_COUNT(keys)], object;

    while (next_element(r, p, &object)) {
        uint32_t *place;

        take_fields(object, keys, f);
        place = hu_map_put(&r->markers, (uint64_t)number(f[KEY], 0));
        if (place)
            *place = hu_builder_intern(r->rocm.b, text(r, f[VALUE]));
        else
            no_memory(r);
    }
}

static void read_strings(reader *r, const char **p)
{
    hu_str key;

    while (!r->is_cut && next_member(r, p, &key)) {
        if (hu_str_equal(key, HU_STR("buffer_records")) && enter(r, p, '['))
            read_kinds(r, p);
        else if (hu_str_equal(key, HU_STR("marker_api")) && enter(r, p, '['))
            read_markers(r, p);
        else if (!hu_str_equal(key, HU_STR("buffer_records")) && !hu_str_equal(key, HU_STR("marker_api")))
            skip_value(r, p);
    }
}

/* Records */

enum { THREAD, CORRELATION, KIND, OPERATION, START, END, COMMON };
#define COMMON_KEYS "thread_id", "correlation_id", "kind", "operation", "start_timestamp", "end_timestamp"

static rocm_when when_of(const reader *r, const hu_str *f)
{
    hu_str internal = f[CORRELATION];

    if (internal.n && internal.p[0] == '{')
        internal = hu_json_get(internal, HU_STR("internal"));
    return (rocm_when){.start_ns = number(f[START], -1),
                       .end_ns = number(f[END], -1),
                       .pid = r->pid,
                       .tid = number(f[THREAD], 0),
                       .correlation = number(internal, 0)};
}

/* Of several processes each counts for itself. */
static rocm_when in_process(const reader *r, rocm_when when)
{
    if (when.correlation > 0 && when.correlation < INT64_C(1) << 40 && r->n_processes > 1 && r->n_processes < 1 << 20)
        when.correlation += (r->n_processes - 1) << 40;
    return when;
}

static hu_str kind_name(const reader *r, hu_str kind)
{
    const int64_t at = number(kind, -1);

    return at >= 0 && (size_t)at < r->kinds.n ? hu_builder_text(r->rocm.b, r->kinds.at[at].name) : HU_STR("");
}

static hu_str operation_name(const reader *r, hu_str kind, hu_str operation)
{
    const int64_t at = number(kind, -1), k = number(operation, -1);

    if (at < 0 || (size_t)at >= r->kinds.n || k < 0 || (size_t)k >= r->kinds.at[at].operations.n)
        return HU_STR("");
    return hu_builder_text(r->rocm.b, r->kinds.at[at].operations.at[k]);
}

/* Where a stream is not said, or no record says one, rows are those of the queues. */
static int64_t row_of(const reader *r, hu_str stream, hu_str queue)
{
    return r->has_streams && stream.p ? number(stream, -1) : number(queue, number(stream, -1));
}

static void take_triple(hu_str object, int64_t out[3])
{
    static const char *const keys[] = {"x", "y", "z", NULL};
    hu_str                   f[HU_COUNT(keys)];

    take_fields(object, keys, f);
    for (int i = 0; i < 3; i++)
        out[i] = number(f[i], 0);
}

static void take_kernel(reader *r, hu_str record)
{
    enum { INFO = COMMON, STREAM };
    enum { AGENT, QUEUE, KERNEL, SHARED, GROUP, GRID };
    static const char *const keys[] = {COMMON_KEYS, "dispatch_info", "stream_id", NULL};
    static const char *const inner[] = {"agent_id",       "queue_id",  "kernel_id", "group_segment_size",
                                        "workgroup_size", "grid_size", NULL};
    hu_str                   f[HU_COUNT(keys)], d[HU_COUNT(inner)];
    rocm_kernel              k = {0};
    uint32_t                 place;

    take_fields(record, keys, f);
    take_fields(f[INFO].p ? f[INFO] : record, inner, d); /* of 6.0 they stand in the record itself */
    k.when = in_process(r, when_of(r, f));
    k.device = rocm_device_of(&r->rocm, number(d[AGENT], ROCM_NO_AGENT));
    k.stream = row_of(r, f[STREAM], d[QUEUE]);
    k.shared_bytes = number(d[SHARED], 0);
    take_triple(d[GRID], k.grid);
    take_triple(d[GROUP], k.group);
    place = hu_map_get(&r->symbols, (uint64_t)number(d[KERNEL], -1));
    if (place == HU_MAP_NONE) {
        char name[48];

        snprintf(name, sizeof name, "kernel %lld", (long long)number(d[KERNEL], -1));
        k.name = hu_builder_intern(r->rocm.b, hu_str_of(name));
        hu_quality_count(hu_builder_quality(r->rocm.b), HU_REASON_UNKNOWN_ID, 0);
    } else {
        k.name = r->known.at[place].name;
        k.mangled = r->known.at[place].mangled;
        k.registers = r->known.at[place].registers;
    }
    rocm_add_kernel(&r->rocm, &k);
}

static void take_copy(reader *r, hu_str record)
{
    enum { STREAM = COMMON, FROM, TO, BYTES };
    static const char *const keys[] = {COMMON_KEYS, "stream_id", "src_agent_id", "dst_agent_id", "bytes", NULL};
    hu_str                   f[HU_COUNT(keys)];

    take_fields(record, keys, f);
    rocm_add_copy(&r->rocm, &(rocm_copy){.when = in_process(r, when_of(r, f)),
                                         .direction = operation_name(r, f[KIND], f[OPERATION]),
                                         .from = rocm_device_of(&r->rocm, number(f[FROM], ROCM_NO_AGENT)),
                                         .to = rocm_device_of(&r->rocm, number(f[TO], ROCM_NO_AGENT)),
                                         .stream = number(f[STREAM], -1),
                                         .bytes = number(f[BYTES], -1)});
}

static void take_call(reader *r, hu_str record)
{
    static const char *const keys[] = {COMMON_KEYS, NULL};
    hu_str                   f[HU_COUNT(keys)];
    rocm_call                c;
    uint32_t                 message;

    take_fields(record, keys, f);
    c = (rocm_call){.when = when_of(r, f),
                    .domain = kind_name(r, f[KIND]),
                    .name = operation_name(r, f[KIND], f[OPERATION]),
                    .message = HU_STR("")};
    message = hu_str_starts(c.domain, HU_STR("MARKER_")) ? hu_map_get(&r->markers, (uint64_t)c.when.correlation)
                                                         : HU_MAP_NONE;
    if (message != HU_MAP_NONE)
        c.message = hu_builder_text(r->rocm.b, message);
    c.overlaps = hu_str_has(c.name, HU_STR("RangeStart")) || hu_str_has(c.name, HU_STR("ProcessRange"));
    if (!c.name.n) {
        hu_quality_count(hu_builder_quality(r->rocm.b), HU_REASON_UNKNOWN_ID, 0);
        c.name = HU_STR("unknown call");
    }
    c.when = in_process(r, c.when);
    rocm_add_call(&r->rocm, &c);
}

static void take_allocation(reader *r, hu_str record)
{
    enum { AGENT = COMMON, ADDRESS, BYTES };
    static const char *const keys[] = {COMMON_KEYS, "agent_id", "address", "allocation_size", NULL};
    hu_str                   f[HU_COUNT(keys)], name;
    rocm_when                when;
    bool                     is_release;

    take_fields(record, keys, f);
    when = when_of(r, f);
    name = operation_name(r, f[KIND], f[OPERATION]);
    is_release = hu_str_has(name, HU_STR("FREE"));
    if (!is_release && !hu_str_has(name, HU_STR("ALLOCATE")))
        return;
    rocm_add_allocation(&r->rocm,
                        &(rocm_allocation){.time_ns = when.start_ns,
                                           .pid = when.pid,
                                           .tid = when.tid,
                                           .bytes = is_release ? -1 : number(f[BYTES], 0),
                                           .address = (uint64_t)number(f[ADDRESS], 0),
                                           .device = (int32_t)rocm_device_of(&r->rocm, number(f[AGENT], ROCM_NO_AGENT))});
}

static const struct {
    const char *key;
    void (*take)(reader *r, hu_str record);
} lists[] = {
    {"kernel_dispatch", take_kernel}, {"memory_copy", take_copy}, {"hip_api", take_call},
    {"hsa_api", take_call},           {"marker_api", take_call},  {"rccl_api", take_call},
    {"rocdecode_api", take_call},     {"rocjpeg_api", take_call}, {"memory_allocation", take_allocation},
};

static void read_list(reader *r, const char **p, void (*take)(reader *r, hu_str record))
{
    hu_str record;

    while (hu_builder_status(r->rocm.b, NULL) == 0 && next_element(r, p, &record)) {
        if (record.p[0] == '{') {
            take(r, record);
            continue;
        }
        hu_builder_quality(r->rocm.b)->events++;
        hu_quality_count(hu_builder_quality(r->rocm.b), HU_REASON_MALFORMED, 0);
    }
}

static void read_records(reader *r, const char **p)
{
    hu_str key;

    while (!r->is_cut && hu_builder_status(r->rocm.b, NULL) == 0 && next_member(r, p, &key)) {
        size_t i = 0;

        while (i < HU_COUNT(lists) && !hu_str_equal(key, hu_str_of(lists[i].key)))
            i++;
        if (i == HU_COUNT(lists))
            skip_value(r, p);
        else if (enter(r, p, '['))
            read_list(r, p, lists[i].take);
    }
}

/* Does a record name a stream that is not the default one? */
static bool find_stream(const reader *r, const char *from)
{
    const hu_str key = HU_STR("\"stream_id\"");

    for (const char *p = from; p < r->end && (p = memmem(p, (size_t)(r->end - p), key.p, key.n));) {
        p += key.n;
        for (const char *q = p; q < r->end && q - p < 64 && *q != '}'; q++)
            if (*q >= '1' && *q <= '9')
                return true;
    }
    return false;
}

/* Passes them, to come back when everything else is known; a break in them is found then. */
static void keep_records(reader *r, const char **p)
{
    const char *after = behind(r, *p);

    r->records = **p == '{' ? *p + 1 : NULL;
    *p = after ? after : r->end;
}

/* A member of a process, at whose value *p is. */
static void read_part(reader *r, hu_str key, const char **p)
{
    const char *from = *p;

    if (hu_str_equal(key, HU_STR("agents"))) {
        if (enter(r, p, '['))
            read_agents(r, p);
    } else if (hu_str_equal(key, HU_STR("strings"))) {
        if (enter(r, p, '{'))
            read_strings(r, p);
    } else if (hu_str_equal(key, HU_STR("kernel_symbols"))) {
        if (enter(r, p, '['))
            read_symbols(r, p);
    } else if (hu_str_equal(key, HU_STR("buffer_records"))) {
        keep_records(r, p);
    } else if (skip_value(r, p) && hu_str_equal(key, HU_STR("metadata"))) {
        read_metadata(r, (hu_str){from, (size_t)(*p - from)});
    }
}

/* One process; *p is behind its "{". */
static void read_process(reader *r, const char **p)
{
    const char *records;
    hu_str      key;

    r->n_processes++;
    r->records = NULL;
    r->pid = 0;
    r->command = HU_STR("");
    r->known.n = r->kinds.n = 0;
    hu_map_clear(&r->symbols);
    hu_map_clear(&r->markers);
    while (!r->is_cut && *p < r->end && next_member(r, p, &key))
        read_part(r, key, p);
    records = r->records;
    if (records) {
        r->has_streams = r->has_streams || find_stream(r, records);
        read_records(r, &records);
    }
    if (r->command.n)
        rocm_name_process(&r->rocm, r->pid, r->command);
}

static void read_document(reader *r)
{
    const char *p = r->begin;
    hu_str      key;

    p += hu_str_starts((hu_str){p, (size_t)(r->end - p)}, HU_STR("\xef\xbb\xbf")) ? 3 : 0;
    p = skip_space(r, p);
    if (p < r->end && *p == '{')
        p++;
    while (!r->is_cut && next_member(r, &p, &key)) {
        if (!hu_str_equal(key, HU_STR("rocprofiler-sdk-tool")) || *p != '[') {
            skip_value(r, &p);
            continue;
        }
        p++;
        while (!r->is_cut && hu_builder_status(r->rocm.b, NULL) == 0) {
            p = skip_space(r, p);
            if (p >= r->end) {
                cut(r, r->end);
            } else if (*p == ']') {
                p++;
                break;
            } else if (*p == '{') {
                p++;
                read_process(r, &p);
            } else if (!skip_value(r, &p)) {
                break;
            }
        }
    }
}

static int settle(reader *r, hu_error *err)
{
    hu_builder *b = r->rocm.b;

    if (hu_builder_status(b, err) < 0)
        return err->code;
    if (hu_builder_slice_count(b) == 0 && r->is_cut)
        return hu_fail(err, HU_EEMPTY, r->file, hu_builder_quality(b)->truncated_at,
                       "the output of rocprofv3 ends before its first record; it is written when the program ends: was it "
                       "killed?");
    if (hu_builder_slice_count(b) == 0)
        return hu_fail(err, HU_EEMPTY, r->file, HU_NO_OFFSET,
                       "output of rocprofv3 without kernels, copies, calls or markers; record with: rocprofv3 --sys-trace "
                       "--output-format json -- COMMAND");
    return 0;
}

static int read_text(hu_input *in, hu_builder *b, hu_str bytes, hu_arena *arena, hu_error *err)
{
    reader r = {.file = hu_input_name(in), .begin = bytes.p, .end = bytes.p + bytes.n, .scratch = hu_arena_new()};
    int    rc;

    if (!r.scratch || !rocm_init(&r.rocm, b, arena) || !hu_map_init(&r.symbols, arena, 1024) ||
        !hu_map_init(&r.markers, arena, 64)) {
        hu_arena_free(r.scratch);
        return hu_fail_memory(err);
    }
    r.rocm.part = hu_input_part(in);
    read_document(&r);
    rocm_finish(&r.rocm);
    hu_builder_info(b)->tool = HU_STR("rocprofv3 (ROCm)");
    hu_builder_info(b)->bytes = (int64_t)bytes.n;
    hu_builder_quality(b)->has_all_events = !r.is_cut;
    rc = settle(&r, err);
    hu_arena_free(r.scratch);
    return rc;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    hu_str    bytes = {NULL, 0};
    int       rc = arena ? hu_input_read_whole(in, arena, &bytes, err) : hu_fail_memory(err);

    if (rc < 0 && bytes.p) { /* the stream broke: what came before it is there */
        hu_builder_truncated(b, (int64_t)bytes.n, err->text);
        *err = (hu_error){0};
        rc = 0;
    }
    if (rc == 0)
        rc = read_text(in, b, bytes, arena, err);
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_rocprof_json = {
    .name = "rocprof-json",
    .what = "rocprofv3's JSON (rocprofv3 --output-format json)",
    .suffixes = "_results.json",
    .probe = probe,
    .import = import,
};
