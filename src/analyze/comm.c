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

#include "analyze/comm_fit.h"
#include "analyze/comm_kernels.h"
#include "analyze/join.h"
#include "analyze/mpi_calls.h"
#include "analyze/shapes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/number.h"

typedef struct {
    HU_VEC(int64_t) durations;
    hu_intervals at;
} samples;

/* What a host thread does about messages, and when: calls them, or launches a kernel of communication. */
typedef struct {
    uint32_t track, slice; /* of an operator, or of what was launched */
    uint32_t call;         /* of what was launched its place in `calls`; HU_NONE: an operator */
    int64_t  start_ns, end_ns;
} sighting;

typedef struct {
    const hu_ask *ask;
    HU_VEC(hu_collective) list;
    HU_VEC(samples) samples;
    HU_VEC(hu_comm_call) calls;
    HU_VEC(sighting) seen;
    int64_t base_ns;
    hu_map  rows;
    hu_map  stream_of_track; /* streams of communication, numbered in the order of their first work */
} work;

int hu_comm_dtype_bytes(hu_str dtype)
{
    static const struct {
        const char *name;
        int         bytes;
        /* clang-format off */
    } types[] = {
        {"Float", 4},   {"Double", 8},  {"Half", 2},    {"BFloat16", 2}, {"Int", 4},           {"Long", 8},
        {"Short", 2},   {"Char", 1},    {"Byte", 1},    {"Bool", 1},     {"ComplexFloat", 8},  {"ComplexDouble", 16},
        {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}, {"Float8_e5m2fnuz", 1}, {"UInt16", 2},
        {"UInt32", 4},
    };
    /* clang-format on */

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (hu_str_equal(dtype, hu_str_of(types[i].name)))
            return types[i].bytes;
    return 0;
}

hu_comm_kind hu_comm_kind_of(hu_str name)
{
    /* in lower case; in this order, because "reduce" is in many of them */
    static const struct {
        const char  *word;
        hu_comm_kind kind;
        /* clang-format off */
    } words[] = {
        {"reduce_scatter", HU_COMM_REDUCE_SCATTER}, {"reducescatter", HU_COMM_REDUCE_SCATTER},
        {"all_reduce", HU_COMM_ALL_REDUCE}, {"allreduce", HU_COMM_ALL_REDUCE}, {"all_gather", HU_COMM_ALL_GATHER},
        {"allgather", HU_COMM_ALL_GATHER}, {"all_to_all", HU_COMM_ALL_TO_ALL}, {"alltoall", HU_COMM_ALL_TO_ALL},
        {"barrier", HU_COMM_BARRIER}, {"broadcast", HU_COMM_BROADCAST}, {"sendrecv", HU_COMM_EXCHANGE},
        {"recv", HU_COMM_RECEIVE}, {"send", HU_COMM_SEND}, {"reduce", HU_COMM_REDUCE},
    };
    /* clang-format on */

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has_lower(name, hu_str_of(words[i].word)))
            return words[i].kind;
    return HU_COMM_OTHER;
}

const char *hu_comm_kind_words(hu_comm_kind kind)
{
    static const char *const words[] = {
#define K(id, word) [HU_COMM_##id] = word,
        HU_COMM_KINDS(K)
#undef K
    };

    return words[kind];
}

const char *hu_comm_bound_key(hu_comm_bound bound)
{
    return bound == HU_COMM_BY_LATENCY ? "latency" : bound == HU_COMM_BY_BANDWIDTH ? "bandwidth" : "";
}

const char *hu_comm_link_key(hu_comm_link link)
{
    return link == HU_LINK_HOST ? "host" : link == HU_LINK_NETWORK ? "network" : "";
}

/* What the name of the collective says about its size and its traffic. */
static void judge(hu_collective *c, const hu_collective_detail *d)
{
    const int64_t element = hu_comm_dtype_bytes(c->dtype);
    int64_t       elements = d->in_elements > d->out_elements ? d->in_elements : d->out_elements;

    c->factor = hu_comm_factor(c->kind, c->group_size);
    if (c->kind == HU_COMM_ALL_REDUCE || c->kind == HU_COMM_REDUCE_SCATTER || c->kind == HU_COMM_ALL_TO_ALL)
        elements = d->in_elements;
    else if (c->kind == HU_COMM_ALL_GATHER)
        elements = d->out_elements;
    if (element && elements >= 0 && !__builtin_mul_overflow(elements, element, &c->bytes))
        return;
    c->bytes = d->bytes > 0 ? d->bytes : -1;
}

static const hu_collective_detail *detail_of(const hu_ask *ask, uint32_t i)
{
    uint32_t row = 0;

    if (ask->s.detail[i] == HU_NONE)
        return NULL;
    if (ask->s.kind[i] == HU_KIND_COLLECTIVE) {
        row = hu_trace_kernel_detail(ask->trace, ask->s.detail[i])->collective;
    } else if (hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(OTHER))) {
        const uint32_t extra = hu_trace_op_detail(ask->trace, ask->s.detail[i])->extra;

        row = extra ? hu_trace_op_extra(ask->trace, extra)->collective : 0;
    }
    return row ? hu_trace_collective_detail(ask->trace, row) : NULL;
}

/* Older profilers put the arguments on the operator alone. */
const hu_collective_detail *hu_comm_detail(const hu_ask *ask, uint32_t slice)
{
    const hu_collective_detail *d = detail_of(ask, slice);

    for (uint32_t at = ask->s.parent[slice]; !d && at != HU_NONE; at = ask->s.parent[at])
        d = detail_of(ask, at);
    return d;
}

/* gloo records the tensors of a collective as arguments of its annotation. */
static int64_t argument_bytes(const hu_ask *ask, uint32_t i)
{
    const hu_op_detail *d = ask->s.detail[i] != HU_NONE && hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER))
                                ? hu_trace_op_detail(ask->trace, ask->s.detail[i])
                                : NULL;
    hu_args             args;
    int64_t             bytes = 0;

    if (!d || !d->dims ||
        !hu_args_parse(hu_trace_text(ask->trace, d->dims), hu_trace_text(ask->trace, d->types), HU_STR(""), &args))
        return -1;
    for (size_t k = 0; k < args.n; k++)
        if (hu_arg_is_tensor(&args, k))
            bytes = hu_plus(bytes, hu_arg_bytes(&args.at[k]));
    return bytes > 0 ? bytes : -1;
}

/*
 * NCCL makes an all-to-all of sends and receives, and its kernel is named after them.  What they are for is said by the
 * operator that launched them; where it names none, they stay messages.
 */
static hu_comm_kind purpose_of(const hu_ask *ask, uint32_t i, hu_comm_kind kind)
{
    enum { MOST_ABOVE = 8 };
    uint32_t at = kind == HU_COMM_EXCHANGE && ask->s.kind[i] == HU_KIND_COLLECTIVE ? hu_trace_op_of(ask->trace, i) : HU_NONE;

    for (int n = 0; at != HU_NONE && n < MOST_ABOVE; at = ask->s.parent[at], n++) {
        const hu_str       name = hu_ask_name(ask, at);
        const hu_comm_kind above = hu_comm_kind_of(name);

        if (!hu_comm_kernels_is_call(name))
            continue;
        if (above != HU_COMM_OTHER || hu_str_has_lower(name, HU_STR("gather")) || hu_str_has_lower(name, HU_STR("scatter")))
            return above;
    }
    return kind;
}

static hu_collective describe(const hu_ask *ask, uint32_t i, const hu_collective_detail *d)
{
    hu_collective c = {.name = hu_ask_name(ask, i),
                       .group_size = -1,
                       .bytes = -1,
                       .factor = (double)NAN,
                       .group = HU_STR(""),
                       .dtype = HU_STR(""),
                       .on_host = ask->s.kind[i] != HU_KIND_COLLECTIVE};
    hu_mpi_call   mpi;

    c.kind = hu_comm_kind_of(c.name);
    if (hu_mpi_calls_describe(ask->trace, &ask->s, i, &mpi)) {
        c.kind = mpi.kind;
        c.group = mpi.group;
        c.group_size = mpi.group_size;
        c.bytes = mpi.bytes;
        c.factor = hu_comm_factor(c.kind, c.group_size);
        return c;
    }
    if (!d) {
        c.kind = purpose_of(ask, i, c.kind);
        c.bytes = argument_bytes(ask, i);
        return c;
    }
    c.name = hu_trace_text(ask->trace, d->name);
    c.group = hu_trace_text(ask->trace, d->group_description ? d->group_description : d->group);
    if (!c.group.n || hu_str_equal(c.group, HU_STR("undefined")))
        c.group = hu_trace_text(ask->trace, d->group);
    c.dtype = hu_trace_text(ask->trace, d->dtype);
    c.group_size = d->group_size;
    c.is_posted = d->recorded == HU_COLLECTIVE_CALL;
    c.kind = hu_comm_kind_of(c.name);
    if (c.kind == HU_COMM_OTHER && !c.on_host && (!c.name.n || hu_str_has_lower(c.name, HU_STR("coalesced"))))
        c.kind = purpose_of(ask, i, hu_comm_kind_of(hu_ask_name(ask, i))); /* of several calls: the kernel says which */
    if (!c.name.n && d->bytes > 0)
        c.name = hu_ask_name(ask, i); /* sends and receives of NCCL's own record have no name of their own */
    judge(&c, d);
    return c;
}

int64_t hu_comm_bytes(const hu_ask *ask, uint32_t slice)
{
    return describe(ask, slice, hu_comm_detail(ask, slice)).bytes;
}

static uint64_t key_of(const hu_ask *ask, uint32_t i, const hu_collective_detail *d)
{
    uint64_t key = hu_hash_u64(ask->s.name[i]);

    if (ask->s.kind[i] == HU_KIND_MPI && ask->s.detail[i] != HU_NONE) {
        const hu_mpi_detail *mpi = hu_trace_mpi_detail(ask->trace, ask->s.detail[i]);

        return hu_hash_u64(hu_hash_u64(key ^ mpi->comm) ^ (uint64_t)mpi->bytes);
    }
    if (!d && ask->s.detail[i] != HU_NONE && hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)))
        return hu_hash_u64(key ^ hu_trace_op_detail(ask->trace, ask->s.detail[i])->dims);
    if (!d)
        return hu_hash_u64(key ^ (uint64_t)purpose_of(ask, i, hu_comm_kind_of(hu_ask_name(ask, i))) << 32);
    key = hu_hash_u64((uint64_t)d->name << 32 | d->dtype);
    key = hu_hash_u64(key ^ ((uint64_t)d->group << 32 | d->group_description));
    key = hu_hash_u64(key ^ (uint64_t)d->in_elements);
    key = hu_hash_u64(key ^ (uint64_t)d->bytes ^ (uint64_t)d->recorded << 60);
    return hu_hash_u64(key ^ (uint64_t)d->out_elements);
}

/* Does everybody wait for everybody?  Not so in broadcasts, reductions to one rank, sends and receives. */
static bool synchronises(hu_comm_kind kind)
{
    return kind == HU_COMM_ALL_REDUCE || kind == HU_COMM_ALL_GATHER || kind == HU_COMM_REDUCE_SCATTER ||
           kind == HU_COMM_ALL_TO_ALL || kind == HU_COMM_BARRIER;
}

static uint64_t hash_of(hu_str s)
{
    return hu_hash_bytes(s.p, s.n);
}

/* The other of two ranks, "[0, 3]"; -1 where it is not a pair, or not of this rank's. */
static int32_t other_of_two(hu_str ranks, int64_t own)
{
    int64_t two[2] = {-1, -1};
    size_t  n = 0;

    for (size_t i = 0; i < ranks.n;) {
        const size_t from = i;

        while (i < ranks.n && ranks.p[i] >= '0' && ranks.p[i] <= '9')
            i++;
        if (i == from) {
            i++;
            continue;
        }
        if (n == HU_COUNT(two) || !hu_parse_i64((hu_str){ranks.p + from, i - from}, &two[n]) || two[n] > INT32_MAX)
            return -1;
        n++;
    }
    if (n < HU_COUNT(two) || own < 0 || (two[0] != own && two[1] != own))
        return -1;
    return (int32_t)(two[0] == own ? two[1] : two[0]);
}

static int32_t peer_of(const hu_ask *ask, const hu_collective_detail *d, hu_comm_kind kind)
{
    const int64_t peer = !d ? -1 : kind == HU_COMM_SEND ? d->target_rank : kind == HU_COMM_RECEIVE ? d->source_rank : -1;

    if (peer >= 0 || !d || (kind != HU_COMM_SEND && kind != HU_COMM_RECEIVE))
        return (int32_t)peer;
    return other_of_two(hu_trace_text(ask->trace, d->group_ranks), hu_trace_get_info(ask->trace)->rank);
}

/*
 * Sends and receives in one kernel, in a group of two whose ranks are known: both are in it, whoever sends.
 */
static bool is_pairwise(const hu_ask *ask, const hu_collective_detail *d, hu_comm_kind kind)
{
    return d && kind == HU_COMM_EXCHANGE &&
           other_of_two(hu_trace_text(ask->trace, d->group_ranks), hu_trace_get_info(ask->trace)->rank) >= 0;
}

/*
 * The process group: the same number on every rank, made of texts, not of the trace's ids for them.  Where no group was
 * recorded the stream stands for it, because NCCL's back end gives each group a stream of its own; of `streams`, which
 * are numbered as their first work comes.
 */
static uint64_t group_of(const work *w, uint32_t i, const hu_collective *c, hu_str ranks)
{
    uint64_t       group = hu_hash_mix(hash_of(c->group), hash_of(ranks) | 1);
    const uint32_t stream = w->ask->s.kind[i] == HU_KIND_COLLECTIVE && !c->group.n && !ranks.n
                                ? hu_map_get(&w->stream_of_track, w->ask->s.track[i])
                                : HU_MAP_NONE;

    return stream == HU_MAP_NONE || stream == 0 ? group : hu_hash_u64(group + stream);
}

/* What two ranks' calls must have in common to be one; in an all-to-all each rank brings as much as it has. */
static uint64_t what_of(const hu_collective *c)
{
    return hu_hash_mix(hash_of(c->name) ^ hash_of(c->dtype), c->kind == HU_COMM_ALL_TO_ALL ? 1 : (uint64_t)c->bytes + 2);
}

static hu_comm_call call_of(const work *w, uint32_t i, uint32_t row, const hu_collective_detail *d)
{
    const int64_t        most = INT64_C(1) << 61;
    const hu_collective *c = &w->list.at[row];
    const hu_str         ranks = d ? hu_trace_text(w->ask->trace, d->group_ranks) : HU_STR("");
    const bool           pairwise = is_pairwise(w->ask, d, c->kind);
    int64_t              start, end;

    if (__builtin_add_overflow(w->base_ns, w->ask->s.start_ns[i], &start) ||
        __builtin_add_overflow(start, w->ask->s.dur_ns[i], &end) || end >= most || start < -most)
        start = 0;
    return (hu_comm_call){.group = group_of(w, i, c, ranks),
                          .what = what_of(c),
                          .is_anonymous = !c->group.n && !ranks.n && w->ask->s.kind[i] == HU_KIND_COLLECTIVE,
                          .start_ns = start,
                          .dur_ns = w->ask->s.dur_ns[i],
                          .sequence = d ? d->sequence : -1,
                          .row = row,
                          .peer = peer_of(w->ask, d, c->kind),
                          .order = (uint32_t)w->calls.n,
                          .kind = (uint8_t)(pairwise ? HU_COMM_OTHER : c->kind),
                          .synchronises = pairwise || synchronises(c->kind),
                          .is_posted = c->is_posted,
                          .slice = i};
}

/* What only MPI says: messages are in order for each tag alone, and ranks may bring unlike sizes. */
static void add_mpi(const work *w, uint32_t i, hu_comm_call *call)
{
    hu_mpi_call mpi;

    if (!hu_mpi_calls_describe(w->ask->trace, &w->ask->s, i, &mpi))
        return;
    call->synchronises = mpi.synchronises;
    call->is_posted = mpi.is_posted;
    call->peer = mpi.peer;
    if (!mpi.same_bytes)
        call->what = hu_hash_u64(hash_of(w->list.at[call->row].name));
    if (mpi.tag >= 0 && hu_comm_is_message(mpi.kind))
        call->group = hu_hash_u64(call->group ^ (uint64_t)(uint32_t)mpi.tag);
}

/* The row of a call that is described like this, made where it is new; HU_NONE when there is no memory. */
static uint32_t row_of(work *w, uint32_t i, const hu_collective_detail *d)
{
    uint32_t *place = hu_map_put(&w->rows, key_of(w->ask, i, d));

    if (place && *place == HU_NONE) {
        if (!hu_vec_push(w->ask->arena, &w->list, describe(w->ask, i, d)) ||
            !hu_vec_push(w->ask->scratch, &w->samples, (samples){{0}}))
            return HU_NONE;
        *place = (uint32_t)w->list.n - 1;
    }
    return place ? *place : HU_NONE;
}

static bool add(work *w, uint32_t i)
{
    const hu_ask               *ask = w->ask;
    const hu_collective_detail *d = hu_comm_detail(ask, i);
    const uint32_t              row = row_of(w, i, d);
    hu_comm_call                call;

    if (row == HU_NONE)
        return false;
    call = call_of(w, i, row, d);
    add_mpi(w, i, &call);
    if (!hu_vec_push(ask->arena, &w->calls, call) ||
        !hu_vec_push(ask->scratch, &w->samples.at[row].durations, ask->s.dur_ns[i]))
        return false;
    return call.is_posted || hu_intervals_add(ask->scratch, &w->samples.at[row].at, ask->s.start_ns[i], hu_ask_end(ask, i));
}

/*
 * Sends and receives that are called together (batch_isend_irecv) become one kernel, which names none of them; the operators
 * say with whom.  An operator under which no kernel was launched belongs to the next such kernel of its thread.
 */
static int by_thread(const void *left, const void *right)
{
    const sighting *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

static bool see(work *w, uint32_t slice, uint32_t host, uint32_t call)
{
    const hu_ask *ask = w->ask;

    return hu_vec_push(ask->scratch, &w->seen,
                       ((sighting){ask->s.track[host], slice, call, ask->s.start_ns[host], hu_ask_end(ask, host)}));
}

/* The messages of one kernel, with its time and what their operators say; none of them a call of its own. */
static bool add_messages(work *w, const sighting *ops, size_t n, const sighting *launch)
{
    const uint32_t row = w->calls.at[launch->call].row;

    for (size_t i = 0; i < n; i++) {
        const hu_collective_detail *d = detail_of(w->ask, ops[i].slice);
        const hu_collective         c = describe(w->ask, ops[i].slice, d);
        hu_comm_call                call = call_of(w, launch->slice, row, d);

        call.group = hu_hash_mix(hash_of(c.group), hash_of(hu_trace_text(w->ask->trace, d->group_ranks)) | 1);
        call.what = what_of(&c);
        call.is_anonymous = false;
        call.kind = (uint8_t)c.kind;
        call.peer = peer_of(w->ask, d, c.kind);
        call.synchronises = false;
        if (!hu_vec_push(w->ask->arena, &w->calls, call))
            return false;
    }
    return true;
}

static bool add_batches(work *w)
{
    sighting *s = w->seen.at;
    size_t    waiting = 0;

    if (w->seen.n)
        qsort(s, w->seen.n, sizeof *s, by_thread);
    /* operators that wait for their kernel are moved to the front of the list */
    for (size_t i = 0; i < w->seen.n; i++) {
        if (waiting && s[waiting - 1].track != s[i].track)
            waiting = 0;
        if (s[i].call == HU_NONE) {
            s[waiting++] = s[i];
            continue;
        }
        while (waiting && s[waiting - 1].end_ns >= s[i].start_ns && w->calls.at[s[i].call].peer >= 0)
            waiting--; /* launched inside of it: its own */
        if (w->calls.at[s[i].call].peer >= 0 || !hu_comm_is_message(w->calls.at[s[i].call].kind))
            continue;
        if (!add_messages(w, s, waiting, &s[i]))
            return false;
        waiting = 0;
    }
    return true;
}

static bool see_operators(work *w)
{
    const hu_ask *ask = w->ask;

    for (uint32_t i = 0; i < ask->s.n; i++) {
        const hu_collective_detail *d = hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP)) ? detail_of(ask, i) : NULL;

        if (d && (d->source_rank >= 0 || d->target_rank >= 0) && hu_ask_has(ask, i) && !see(w, i, i, HU_NONE))
            return false;
    }
    return true;
}

static bool number_stream(work *w, uint32_t i)
{
    const uint32_t next = (uint32_t)w->stream_of_track.n;
    uint32_t      *place = hu_map_put(&w->stream_of_track, w->ask->s.track[i]);

    if (place && *place == HU_MAP_NONE)
        *place = next;
    return place != NULL;
}

/* Of the host: what NCCL itself told (`holdup run --trace nccl`). */
static bool is_recorded(const hu_ask *ask, uint32_t i)
{
    const hu_collective_detail *d = hu_kind_in(ask->s.kind[i], HU_BIT(USER) | HU_BIT(OTHER)) ? detail_of(ask, i) : NULL;

    return d && d->recorded != HU_COLLECTIVE_UNSAID;
}

static bool has_recorded(const hu_ask *ask)
{
    uint32_t i = 0;

    while (i < ask->s.n && !is_recorded(ask, i))
        i++;
    return i < ask->s.n;
}

static bool add_all(work *w, bool on_host)
{
    const hu_ask *ask = w->ask;
    const bool    by_nccl = on_host && has_recorded(ask); /* then the framework's ranges around it say the same again */

    for (size_t k = 0; !on_host && k < ask->n_work; k++) {
        const uint32_t i = ask->work[k], launch = hu_trace_launch_of(ask->trace, i);

        if (ask->s.kind[i] != HU_KIND_COLLECTIVE || !hu_ask_has(ask, i))
            continue;
        if (!number_stream(w, i) || !add(w, i) || (launch != HU_NONE && !see(w, i, launch, (uint32_t)w->calls.n - 1)))
            return false;
    }
    if (!on_host && w->calls.n && (!see_operators(w) || !add_batches(w)))
        return false;
    for (size_t k = 0; on_host && k < ask->s.n; k++) {
        const uint32_t i = ask->order[k], above = ask->s.parent[i];
        hu_mpi_call    mpi;

        if (ask->s.kind[i] == HU_KIND_MPI && !(above != HU_NONE && ask->s.kind[above] == HU_KIND_MPI) &&
            hu_mpi_calls_describe(ask->trace, &ask->s, i, &mpi) && hu_ask_has(ask, i) && !add(w, i))
            return false;
        if (by_nccl && (is_recorded(ask, i) || hu_str_starts(hu_ask_name(ask, i), HU_STR("nccl:")))) {
            if (is_recorded(ask, i) && hu_ask_has(ask, i) && !add(w, i))
                return false;
            continue;
        }
        if (hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)) && (ask->names[ask->s.name[i]] & HU_NAME_COMM) &&
            !(above != HU_NONE && (ask->names[ask->s.name[above]] & HU_NAME_COMM)) && hu_ask_has(ask, i) && !add(w, i))
            return false;
    }
    return true;
}

static int by_total(const void *left, const void *right)
{
    const hu_collective *a = left, *b = right;
    int                  c;

    if (a->duration.sum != b->duration.sum)
        return a->duration.sum > b->duration.sum ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    c = c ? c : hu_str_compare(a->group, b->group);
    return c ? c : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

typedef struct {
    const hu_collective *row;
    uint32_t             number;
} numbered;

static int by_row(const void *left, const void *right)
{
    const numbered *a = left, *b = right;
    const int       c = by_total(a->row, b->row);

    return c ? c : (a->number > b->number) - (a->number < b->number);
}

static int by_start(const void *left, const void *right)
{
    const hu_comm_call *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Calls keep pointing at their rows. */
static bool sort_rows(work *w)
{
    hu_collective *sorted = hu_arena_alloc(w->ask->arena, (w->list.n + 1) * sizeof *sorted);
    numbered      *order = hu_arena_alloc(w->ask->scratch, (w->list.n + 1) * sizeof *order);
    uint32_t      *place = hu_arena_alloc(w->ask->scratch, (w->list.n + 1) * sizeof *place);

    if (!sorted || !order || !place)
        return false;
    for (size_t i = 0; i < w->list.n; i++)
        order[i] = (numbered){&w->list.at[i], (uint32_t)i};
    if (w->list.n)
        qsort(order, w->list.n, sizeof *order, by_row);
    for (size_t i = 0; i < w->list.n; i++) {
        sorted[i] = *order[i].row;
        place[order[i].number] = (uint32_t)i;
    }
    for (size_t i = 0; i < w->calls.n; i++)
        w->calls.at[i].row = place[w->calls.at[i].row];
    w->list.at = sorted;
    return true;
}

/* Of one rank: lines through what its calls of each size need at best, which is all that it can know. */
static bool fit_rows(work *w, hu_comm *out)
{
    const size_t  n = w->list.n;
    hu_comm_size *sizes = hu_arena_calloc(w->ask->scratch, n + 1, sizeof *sizes);
    bool          ok = sizes != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        const hu_collective *c = &w->list.at[i];

        sizes[i] = (hu_comm_size){.kind = c->kind,
                                  .bytes = c->is_posted ? -1 : c->bytes,
                                  .group_size = c->group_size,
                                  .factor = c->factor,
                                  .calls = (int64_t)c->duration.n,
                                  .least_ns = c->duration.p10};
    }
    ok = ok && hu_comm_fit_sizes(sizes, n, w->ask->arena, w->ask->scratch, &out->fits, &out->n_fits);
    for (size_t i = 0; ok && i < n; i++)
        w->list.at[i].bound = sizes[i].bound;
    return ok;
}

int hu_comm_measure(const hu_ask *ask, hu_comm *out, hu_error *err)
{
    hu_comm      result = {.on_host = ask->comm.n == 0};
    work         w = {.ask = ask, .base_ns = hu_trace_get_info(ask->trace)->base_ns};
    hu_intervals all = {0};

    if (!hu_map_init(&w.rows, ask->scratch, 64) || !hu_map_init(&w.stream_of_track, ask->scratch, 16) ||
        !add_all(&w, result.on_host))
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
    if (!sort_rows(&w) || !fit_rows(&w, &result))
        return hu_fail_memory(err);
    result.at = w.list.at;
    result.n = w.list.n;
    if (w.calls.n) /* of several threads, and batches come last */
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
    return c->bytes >= 0 && !c->is_posted && c->duration.sum > 0
               ? (double)c->bytes * (double)c->duration.n / (double)c->duration.sum
               : (double)NAN;
}

double hu_collective_bus_gbps(const hu_collective *c)
{
    return hu_collective_alg_gbps(c) * c->factor;
}
