/* SPDX-License-Identifier: Apache-2.0
 * comm.c - collectives by name, group and size, because bandwidth means nothing over sizes mixed together.
 *
 * Sizes and factors are those of nccl-tests (doc/PERFORMANCE.md): of n ranks,
 *
 *     collective        bytes of a call S            bus bandwidth = S / t *
 *     all-reduce        of the input                 2 (n - 1) / n
 *     all-gather        of the output                (n - 1) / n
 *     reduce-scatter    of the input                 (n - 1) / n
 *     all-to-all        of the input                 (n - 1) / n
 *     others            of the larger side           1
 *
 * The duration of a collective on one rank includes its wait for the slowest rank, so bandwidths here are lower bounds
 * of what the links do.  Where no device took part, the host's own record of the back end is measured
 * ("gloo:all_reduce"), and the bytes of its tensors.
 */
#include "analyze/comm.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/join.h"
#include "analyze/shapes.h"
#include "base/hash.h"
#include "base/map.h"

typedef struct {
    HU_VEC(int64_t) durations;
    hu_intervals at;
} samples;

typedef struct {
    const hu_ask *ask;
    HU_VEC(hu_collective) list;
    HU_VEC(samples) samples;
    HU_VEC(hu_comm_call) calls;
    int64_t       base_ns;
    hu_map        rows;
} work;

int hu_comm_dtype_bytes(hu_str dtype)
{
    static const struct {
        const char *name;
        int         bytes;
    } types[] = {
        {"Float", 4},   {"Double", 8},  {"Half", 2},    {"BFloat16", 2}, {"Int", 4},           {"Long", 8},
        {"Short", 2},   {"Char", 1},    {"Byte", 1},    {"Bool", 1},     {"ComplexFloat", 8},  {"ComplexDouble", 16},
        {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}, {"Float8_e5m2fnuz", 1}, {"UInt16", 2},
        {"UInt32", 4},
    };

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (hu_str_equal(dtype, hu_str_of(types[i].name)))
            return types[i].bytes;
    return 0;
}

static bool has_any(hu_str name, const char *a, const char *b)
{
    return hu_str_has(name, hu_str_of(a)) || hu_str_has(name, hu_str_of(b));
}

/* What the name of the collective says about its size and its traffic. */
static void judge(hu_collective *c, const hu_collective_detail *d)
{
    const double  n = (double)c->group_size, part = n > 0 ? (n - 1) / n : (double)NAN;
    const int64_t element = hu_comm_dtype_bytes(c->dtype);
    int64_t       elements = d->in_elements > d->out_elements ? d->in_elements : d->out_elements;

    c->factor = 1;
    if (has_any(c->name, "allreduce", "all_reduce")) {
        elements = d->in_elements;
        c->factor = 2 * part;
    } else if (has_any(c->name, "allgather", "all_gather")) {
        elements = d->out_elements;
        c->factor = part;
    } else if (has_any(c->name, "reduce_scatter", "reducescatter") || has_any(c->name, "all_to_all", "alltoall")) {
        elements = d->in_elements;
        c->factor = part;
    }
    if (element && elements >= 0 && !__builtin_mul_overflow(elements, element, &c->bytes))
        return;
    c->bytes = -1;
}

static const hu_collective_detail *detail_of(const hu_ask *ask, uint32_t i)
{
    uint32_t row = 0;

    if (ask->s.detail[i] == HU_NONE)
        return NULL;
    if (ask->s.kind[i] == HU_KIND_COLLECTIVE) {
        row = hu_trace_kernel_detail(ask->trace, ask->s.detail[i])->collective;
    } else if (ask->s.kind[i] == HU_KIND_CPU_OP || ask->s.kind[i] == HU_KIND_USER) {
        const uint32_t extra = hu_trace_op_detail(ask->trace, ask->s.detail[i])->extra;

        row = extra ? hu_trace_op_extra(ask->trace, extra)->collective : 0;
    }
    return row ? hu_trace_collective_detail(ask->trace, row) : NULL;
}

/* Older profilers put the arguments on the operator alone. */
static const hu_collective_detail *find_detail(const hu_ask *ask, uint32_t i)
{
    const hu_collective_detail *d = detail_of(ask, i);

    for (uint32_t at = ask->s.parent[i]; !d && at != HU_NONE; at = ask->s.parent[at])
        d = detail_of(ask, at);
    return d;
}

/* gloo records the tensors of a collective as arguments of its annotation. */
static int64_t argument_bytes(const hu_ask *ask, uint32_t i)
{
    const hu_op_detail *d = ask->s.detail[i] != HU_NONE && hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER))
                                ? hu_trace_op_detail(ask->trace, ask->s.detail[i])
                                : NULL;
    hu_args args;
    int64_t bytes = 0;

    if (!d || !d->dims ||
        !hu_args_parse(hu_trace_text(ask->trace, d->dims), hu_trace_text(ask->trace, d->types), HU_STR(""), &args))
        return -1;
    for (size_t k = 0; k < args.n; k++)
        if (hu_arg_is_tensor(&args, k))
            bytes = hu_plus(bytes, hu_arg_bytes(&args.at[k]));
    return bytes > 0 ? bytes : -1;
}

static hu_collective describe(const hu_ask *ask, uint32_t i, const hu_collective_detail *d)
{
    hu_collective c = {.name = hu_ask_name(ask, i), .group_size = -1, .bytes = -1, .factor = (double)NAN,
                       .group = HU_STR(""), .dtype = HU_STR(""), .on_host = ask->s.kind[i] != HU_KIND_COLLECTIVE};

    if (!d) {
        c.bytes = argument_bytes(ask, i);
        return c;
    }
    c.name = hu_trace_text(ask->trace, d->name);
    c.group = hu_trace_text(ask->trace, d->group_description ? d->group_description : d->group);
    if (!c.group.n || hu_str_equal(c.group, HU_STR("undefined")))
        c.group = hu_trace_text(ask->trace, d->group);
    c.dtype = hu_trace_text(ask->trace, d->dtype);
    c.group_size = d->group_size;
    judge(&c, d);
    return c;
}

static uint64_t key_of(const hu_ask *ask, uint32_t i, const hu_collective_detail *d)
{
    uint64_t key = hu_hash_u64(ask->s.name[i]);

    if (!d && ask->s.detail[i] != HU_NONE && hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)))
        return hu_hash_u64(key ^ hu_trace_op_detail(ask->trace, ask->s.detail[i])->dims);
    if (!d)
        return key;
    key = hu_hash_u64((uint64_t)d->name << 32 | d->dtype);
    key = hu_hash_u64(key ^ ((uint64_t)d->group << 32 | d->group_description));
    key = hu_hash_u64(key ^ (uint64_t)d->in_elements);
    return hu_hash_u64(key ^ (uint64_t)d->out_elements);
}

/* Does everybody wait for everybody?  Not so in broadcasts, reductions to one rank, sends and receives. */
static bool synchronises(hu_str name)
{
    static const char *const words[] = {"all_reduce", "allreduce", "AllReduce", "all_gather", "allgather", "AllGather",
                                        "reduce_scatter", "reducescatter", "ReduceScatter", "all_to_all", "alltoall",
                                        "AllToAll", "barrier", "Barrier"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has(name, hu_str_of(words[i])))
            return true;
    return false;
}

static uint64_t hash_of(hu_str s)
{
    return hu_hash_bytes(s.p, s.n);
}

/* The same numbers on every rank: they are made of texts, not of the trace's ids for them. */
static hu_comm_call call_of(const work *w, uint32_t i, const hu_collective *c, const hu_collective_detail *d)
{
    const int64_t most = INT64_C(1) << 61;
    const hu_str  ranks = d ? hu_trace_text(w->ask->trace, d->group_ranks) : HU_STR("");
    int64_t       start;

    if (__builtin_add_overflow(w->base_ns, w->ask->s.start_ns[i], &start) || start > most || start < -most)
        start = 0;
    return (hu_comm_call){.group = hu_hash_mix(hash_of(c->group), hash_of(ranks) | 1),
                          .what = hu_hash_mix(hash_of(c->name) ^ hash_of(c->dtype), (uint64_t)c->bytes + 2),
                          .start_ns = start, .dur_ns = w->ask->s.dur_ns[i], .sequence = d ? d->sequence : -1,
                          .synchronises = synchronises(c->name), .slice = i};
}

static bool add(work *w, uint32_t i)
{
    const hu_ask *ask = w->ask;
    const hu_collective_detail *d = find_detail(ask, i);
    uint32_t     *place = hu_map_put(&w->rows, key_of(ask, i, d));

    if (!place)
        return false;
    if (*place == HU_NONE) {
        if (!hu_vec_push(ask->arena, &w->list, describe(ask, i, d)) ||
            !hu_vec_push(ask->scratch, &w->samples, (samples){{0}}))
            return false;
        *place = (uint32_t)w->list.n - 1;
    }
    return hu_vec_push(ask->arena, &w->calls, call_of(w, i, &w->list.at[*place], d)) &&
           hu_vec_push(ask->scratch, &w->samples.at[*place].durations, ask->s.dur_ns[i]) &&
           hu_intervals_add(ask->scratch, &w->samples.at[*place].at, ask->s.start_ns[i], hu_ask_end(ask, i));
}

static bool add_all(work *w, bool on_host)
{
    const hu_ask *ask = w->ask;

    for (size_t k = 0; !on_host && k < ask->n_work; k++)
        if (ask->s.kind[ask->work[k]] == HU_KIND_COLLECTIVE && hu_ask_has(ask, ask->work[k]) && !add(w, ask->work[k]))
            return false;
    for (size_t k = 0; on_host && k < ask->s.n; k++) {
        const uint32_t i = ask->order[k], above = ask->s.parent[i];

        if (hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)) && (ask->names[ask->s.name[i]] & HU_NAME_COMM) &&
            !(above != HU_NONE && (ask->names[ask->s.name[above]] & HU_NAME_COMM)) && hu_ask_has(ask, i) && !add(w, i))
            return false;
    }
    return true;
}

static int by_total(const void *left, const void *right)
{
    const hu_collective *a = left, *b = right;
    int c;

    if (a->duration.sum != b->duration.sum)
        return a->duration.sum > b->duration.sum ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    c = c ? c : hu_str_compare(a->group, b->group);
    return c ? c : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int by_start(const void *left, const void *right)
{
    const hu_comm_call *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->what > b->what) - (a->what < b->what);
}

int hu_comm_measure(const hu_ask *ask, hu_comm *out, hu_error *err)
{
    hu_comm      result = {.on_host = ask->comm.n == 0};
    work         w = {.ask = ask, .base_ns = hu_trace_get_info(ask->trace)->base_ns};
    hu_intervals all = {0};

    if (!hu_map_init(&w.rows, ask->scratch, 64) || !add_all(&w, result.on_host))
        return hu_fail_memory(err);
    for (size_t r = 0; r < w.list.n; r++) {
        hu_collective *c = &w.list.at[r];
        hu_intervals  *at = &w.samples.at[r].at;

        c->duration = hu_stats_of(w.samples.at[r].durations.at, w.samples.at[r].durations.n);
        for (size_t i = 0; i < at->n; i++)
            if (!hu_intervals_add(ask->scratch, &all, at->at[i].start_ns, at->at[i].end_ns))
                return hu_fail_memory(err);
        if (!hu_intervals_unite(ask->scratch, at))
            return hu_fail_memory(err);
        c->exposed_ns = hu_intervals_length(at) - hu_intervals_common(at, &ask->compute);
        result.calls += (int64_t)c->duration.n;
        result.bytes += c->bytes > 0 ? c->bytes * (int64_t)c->duration.n : 0;
    }
    if (!hu_intervals_unite(ask->scratch, &all))
        return hu_fail_memory(err);
    result.total_ns = hu_intervals_length(&all);
    result.overlapped_ns = hu_intervals_common(&all, &ask->compute);
    result.exposed_ns = result.total_ns - result.overlapped_ns;
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_total);
    result.at = w.list.at;
    result.n = w.list.n;
    if (result.on_host && w.calls.n)                /* of several threads */
        qsort(w.calls.at, w.calls.n, sizeof *w.calls.at, by_start);
    result.calls_at = w.calls.at;
    result.n_calls_at = w.calls.n;
    *out = result;
    return 0;
}

/* Rows of ranks are equal when name, group and size are; the size goes into the key as its bytes. */
static void row_key(const void *row, hu_str *a, hu_str *b)
{
    const hu_collective *c = row;

    *a = c->name;
    *b = (hu_str){(const char *)&c->bytes, sizeof c->bytes};
}

static void add_row(void *left, const void *right)
{
    hu_collective       *into = left;
    const hu_collective *from = right;

    hu_stats_merge(&into->duration, &from->duration);
    into->exposed_ns += from->exposed_ns;
}

bool hu_comm_merge(hu_comm *into, const hu_comm *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_collective), row_key, add_row, by_total};

    into->calls += from->calls;
    into->total_ns += from->total_ns;
    into->overlapped_ns += from->overlapped_ns;
    into->exposed_ns += from->exposed_ns;
    into->bytes += from->bytes;
    into->on_host &= from->on_host;
    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}

double hu_collective_alg_gbps(const hu_collective *c)
{
    return c->bytes >= 0 && c->duration.sum > 0 ? (double)c->bytes * (double)c->duration.n / (double)c->duration.sum
                                                : (double)NAN;
}

double hu_collective_bus_gbps(const hu_collective *c)
{
    return hu_collective_alg_gbps(c) * c->factor;
}
