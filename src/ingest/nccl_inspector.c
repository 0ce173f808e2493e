/* SPDX-License-Identifier: Apache-2.0
 * nccl_inspector.c - objects one behind another, each a call of a collective (coll_perf) or of Send or Recv (p2p_perf).
 *
 * Traps: the plugin writes an object a line, its documents show them over many.  A killed job ends within one.  Up to v4.2
 * each has its header and metadata; from v4.3 on those stand in the dump_stats before the calls alone.  What dump_stats says
 * was dropped is a total, which rises.
 */
#include "ingest/nccl_inspector.h"

#include <math.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/number.h"

enum {
    PROBED = 4096,
    MOST_OPS = 64,
    MOST_COMMS = 1 << 16,
    MOST_PROCESSES = 1 << 16,
    MOST_DROPS = 4096,
    MOST_TEXT = 96,
    MOST_RANK = 1 << 20,
    MOST_RECORD = 1 << 20,
    LOOKED_BACK = 64
};

/* What a record says of the communicator and the process that it is of. */
typedef struct {
    uint32_t comm, process;
    int32_t  rank;
    bool     is_known;
} context;

/* What was dropped of a communicator in a process. */
typedef struct {
    uint32_t comm, process;
    int64_t  n;
} dropped;

typedef struct {
    hu_log_inspector *out;
    hu_arena         *arena;
    hu_map            comms;
    int64_t           most; /* calls */
    context           now;
    HU_VEC(dropped) drops;
} reader;

bool hu_inspector_probe(hu_str head)
{
    const hu_str text = {head.p, head.n < PROBED ? head.n : PROBED};

    return text.n && text.p[0] == '{' && hu_str_has(text, HU_STR("\"header\"")) &&
           (hu_str_has(text, HU_STR("\"inspector_output_format_version\"")) ||
            hu_str_has(text, HU_STR("\"coll_msg_size_bytes\"")) || hu_str_has(text, HU_STR("\"p2p_msg_size_bytes\"")));
}

static int64_t whole_of(hu_str object, const char *key, int64_t absent)
{
    int64_t value;

    return hu_parse_i64(hu_json_get(object, hu_str_of(key)), &value) ? value : absent;
}

static double number_of(hu_str object, const char *key)
{
    double value;

    return hu_parse_f64(hu_json_get(object, hu_str_of(key)), &value) && value >= 0 && value < 1e9 ? value : (double)NAN;
}

/* A text as it stands between its quotes, "" where there is none: names of hosts and operations have no escapes. */
static hu_str text_of(hu_str object, const char *key)
{
    const hu_str value = hu_json_get(object, hu_str_of(key));

    if (value.n < 2 || value.p[0] != '"')
        return HU_STR("");
    return (hu_str){value.p + 1, value.n - 2 < MOST_TEXT ? value.n - 2 : MOST_TEXT};
}

static uint64_t key_of(hu_str id, int64_t ranks)
{
    return hu_hash_mix(hu_hash_bytes(id.p, id.n), (uint64_t)ranks + 1);
}

/* The communicator of a header; HU_MAP_NONE: one too many, or no memory (*has_memory). */
static uint32_t comm_of(reader *r, hu_str header, bool *has_memory)
{
    hu_inspector_comm comm = {.id = text_of(header, "id"),
                              .name = text_of(header, "comm_name"),
                              .ranks = whole_of(header, "n_ranks", 0),
                              .nodes = whole_of(header, "nnodes", 0)};
    uint32_t         *place = hu_map_put(&r->comms, key_of(comm.id, comm.ranks));

    *has_memory = place != NULL;
    if (!place || *place != HU_MAP_NONE || r->out->comms.n == MOST_COMMS)
        return place ? *place : HU_MAP_NONE;
    *place = (uint32_t)r->out->comms.n;
    comm.id = hu_arena_copy(r->arena, comm.id);
    comm.name = hu_arena_copy(r->arena, comm.name);
    *has_memory = comm.id.p && comm.name.p && hu_vec_push(r->arena, &r->out->comms, comm);
    return (uint32_t)r->out->comms.n - 1;
}

/* Files are of one process each, so the last one is mostly it. */
static uint32_t process_of(reader *r, hu_str metadata, bool *has_memory)
{
    hu_inspector_process process = {.host = text_of(metadata, "hostname"), .pid = whole_of(metadata, "pid", 0)};

    *has_memory = true;
    for (size_t i = r->out->processes.n, looked = 0; i-- > 0 && looked < LOOKED_BACK; looked++)
        if (r->out->processes.at[i].pid == process.pid && hu_str_equal(r->out->processes.at[i].host, process.host))
            return (uint32_t)i;
    if (r->out->processes.n == MOST_PROCESSES)
        return HU_MAP_NONE;
    process.host = hu_arena_copy(r->arena, process.host);
    *has_memory = process.host.p && hu_vec_push(r->arena, &r->out->processes, process);
    return (uint32_t)r->out->processes.n - 1;
}

static bool take_context(reader *r, hu_str header, hu_str metadata)
{
    const int64_t rank = whole_of(header, "rank", -1);
    bool          has_comm, has_process;

    r->now = (context){.rank = rank >= 0 && rank < MOST_RANK ? (int32_t)rank : -1};
    r->now.comm = comm_of(r, header, &has_comm);
    r->now.process = process_of(r, metadata, &has_process);
    if (!has_comm || !has_process)
        return false;
    r->now.is_known = r->now.comm != HU_MAP_NONE && r->now.process != HU_MAP_NONE;
    if (r->out->version.n == 0)
        r->out->version = hu_arena_copy(r->arena, text_of(metadata, "inspector_output_format_version"));
    return r->out->version.p != NULL;
}

/* HU_MAP_NONE: no name, one operation too many, or no memory. */
static uint32_t op_of(reader *r, hu_str op, bool is_p2p, bool *has_memory)
{
    *has_memory = true;
    for (size_t i = 0; i < r->out->ops.n; i++)
        if (r->out->ops.at[i].is_p2p == is_p2p && hu_str_equal(r->out->ops.at[i].op, op))
            return (uint32_t)i;
    if (op.n == 0 || r->out->ops.n == MOST_OPS)
        return HU_MAP_NONE;
    op = hu_arena_copy(r->arena, op);
    *has_memory = op.p && hu_vec_push(r->arena, &r->out->ops, ((hu_inspector_op){.op = op, .is_p2p = is_p2p}));
    return (uint32_t)r->out->ops.n - 1;
}

/* Keys of both kinds of calls. */
static const struct {
    const char *op, *sn, *bytes, *us, *source, *alg, *bus;
} keys[] = {
    {"coll", "coll_sn", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source", "coll_algobw_gbs",
     "coll_busbw_gbs"},
    {"p2p", "p2p_sn", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source", "p2p_algobw_gbs", "p2p_busbw_gbs"}};

static bool take_call(reader *r, hu_str perf, bool is_p2p)
{
    const hu_str      source = hu_json_get(perf, hu_str_of(keys[is_p2p].source));
    const double      us = number_of(perf, keys[is_p2p].us);
    hu_inspector_call call = {.sn = whole_of(perf, keys[is_p2p].sn, -1),
                              .bytes = whole_of(perf, keys[is_p2p].bytes, -1),
                              .alg = number_of(perf, keys[is_p2p].alg),
                              .bus = number_of(perf, keys[is_p2p].bus),
                              .comm = r->now.comm,
                              .process = r->now.process,
                              .rank = r->now.rank};
    bool              has_memory;

    call.op = op_of(r, text_of(perf, keys[is_p2p].op), is_p2p, &has_memory);
    if (!has_memory)
        return false;
    if (!r->now.is_known || call.op == HU_MAP_NONE || call.bytes < 0 || isnan(us)) {
        r->out->n_torn++;
        return true;
    }
    if ((int64_t)r->out->calls.n >= r->most) {
        r->out->n_more++;
        return true;
    }
    call.ns = llround(us * 1e3);
    call.ranks = r->out->comms.at[call.comm].ranks;
    r->out->n_cpu += hu_str_has(source, HU_STR("_cpu"));
    return hu_vec_push(r->arena, &r->out->calls, call);
}

static int64_t drops_of(hu_str stats, const char *key)
{
    const int64_t n = whole_of(stats, key, 0);

    return n > 0 && n < INT64_C(1000000000000) ? n : 0;
}

static bool take_stats(reader *r, hu_str stats)
{
    const int64_t n = drops_of(stats, "coll_dropped_total") + drops_of(stats, "p2p_dropped_total");

    for (size_t i = r->drops.n; i-- > 0;)
        if (r->drops.at[i].comm == r->now.comm && r->drops.at[i].process == r->now.process) {
            r->drops.at[i].n = n > r->drops.at[i].n ? n : r->drops.at[i].n;
            return true;
        }
    return n == 0 || r->drops.n == MOST_DROPS ||
           hu_vec_push(r->arena, &r->drops, ((dropped){r->now.comm, r->now.process, n}));
}

/* One object.  False: no memory. */
static bool take_record(reader *r, hu_str record)
{
    const hu_str header = hu_json_get(record, HU_STR("header"));
    const hu_str coll = hu_json_get(record, HU_STR("coll_perf")), p2p = hu_json_get(record, HU_STR("p2p_perf"));
    const hu_str stats = hu_json_get(record, HU_STR("dump_stats"));

    if (header.n && !take_context(r, header, hu_json_get(record, HU_STR("metadata"))))
        return false;
    if (stats.n)
        return take_stats(r, stats);
    if (coll.n || p2p.n)
        return take_call(r, coll.n ? coll : p2p, !coll.n);
    return true; /* of a proxy thread, or of a version to come */
}

/* Where the object that begins at `at` ends; 0: not in this text.  *next: where another begins all the same, a line of its
   own, as the first is torn; else 0. */
static size_t end_of(hu_str text, size_t at, size_t *next)
{
    size_t depth = 0;
    bool   is_text = false;

    *next = 0;
    for (size_t i = at; i < text.n; i++) {
        const char c = text.p[i];

        if (c == '\n' && i + 1 < text.n && text.p[i + 1] == '{') {
            *next = i + 1;
            return 0;
        }
        if (is_text) {
            i += c == '\\';
            is_text = c != '"';
        } else if (c == '"') {
            is_text = true;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Whole records of a span; *left: bytes behind the last of them. */
static int read_span(reader *r, const hu_span *span, size_t *left, uint64_t *n_lines, hu_error *err)
{
    const hu_str text = {span->p, span->n};
    size_t       at = 0, end, next;

    for (;;) {
        const char *brace = at < text.n ? memchr(text.p + at, '{', text.n - at) : NULL;

        if (!brace) {
            *left = 0;
            return 0;
        }
        at = (size_t)(brace - text.p);
        end = end_of(text, at, &next);
        if (end == 0 && next == 0) { /* goes on in the next span, unless it is no record at all */
            const bool is_none = span->is_last || text.n - at > MOST_RECORD;

            r->out->n_torn += is_none;
            *left = is_none ? 0 : text.n - at;
            return 0;
        }
        ++*n_lines;
        if (end == 0)
            r->out->n_torn++;
        else if (!take_record(r, (hu_str){text.p + at, end - at}))
            return hu_fail_memory(err);
        at = end ? end : next;
    }
}

int hu_inspector_read(hu_input *in, hu_arena *arena, hu_log_inspector *out, uint64_t *n_lines, hu_error *err)
{
    reader  r = {.out = out, .arena = arena, .most = hu_input_limits(in)->events};
    hu_span span = {0};
    size_t  left = 0;
    bool    has_memory = hu_map_init(&r.comms, arena, 64);
    int     rc = 0;

    if (out->n_files++ == 0)
        out->version = HU_STR("");
    for (size_t i = 0; has_memory && i < out->comms.n; i++) { /* of the files before */
        const hu_inspector_comm *c = &out->comms.at[i];
        uint32_t                *place = hu_map_put(&r.comms, key_of(c->id, c->ranks));

        has_memory = place != NULL;
        if (place)
            *place = (uint32_t)i;
    }
    if (!has_memory)
        rc = hu_fail_memory(err);
    while (rc == 0 && !span.is_last) {
        rc = hu_input_next(in, left, &span, err);
        if (rc == 0)
            rc = read_span(&r, &span, &left, n_lines, err);
    }
    if (rc == 0)
        rc = hu_input_status(in, err);
    for (size_t i = 0; i < r.drops.n; i++)
        out->n_dropped += r.drops.at[i].n;
    hu_map_drop(&r.comms);
    return rc;
}
