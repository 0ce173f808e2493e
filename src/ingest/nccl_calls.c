/* SPDX-License-Identifier: Apache-2.0
 * nccl_calls.c - from what NCCL's NVTX ranges say to collectives: communicator, bytes, peer.
 *
 * A call in a group (ncclGroupStart() to ncclGroupEnd()) is launched by the group's end, so what it says belongs to that
 * range where the group is one call, or sends and receives of one communicator. */
#include "ingest/nccl_calls.h"

#include <stdio.h>

#include "base/map.h"

const hu_str nccl_field_names[NCCL_FIELD_COUNT] = {
    {"NCCL communicator ID", 20}, {"Message size [bytes]", 20}, {"Peer rank", 9}, {"Root", 4}, {"No. of ranks", 12}};

/* A thread between ncclGroupStart() and ncclGroupEnd(). */
typedef struct {
    uint64_t  thread;
    int64_t   depth;
    nccl_call first; /* of the group */
    int64_t   n, sent, received;
    bool      is_exchange; /* it begins with a send or receive */
    bool      is_mixed;    /* several calls, and not only sends and receives of one communicator */
} group;

struct nccl_calls {
    hu_builder *b;
    hu_arena   *arena;
    hu_map      group_of; /* by thread */
    hu_map      size_of;  /* ranks of a communicator, by its id */
    HU_VEC(group) groups;
};

nccl_calls *nccl_calls_new(hu_builder *b, hu_arena *arena)
{
    nccl_calls *c = hu_arena_calloc(arena, 1, sizeof *c);

    if (!c || !hu_map_init(&c->group_of, arena, 16) || !hu_map_init(&c->size_of, arena, 16))
        return NULL;
    c->b = b;
    c->arena = arena;
    return c;
}

nccl_call nccl_call_of(uint32_t name)
{
    nccl_call call = {.name = name};

    for (int i = 0; i < NCCL_FIELD_COUNT; i++)
        call.values[i] = -1;
    return call;
}

void nccl_call_set(nccl_call *call, nccl_field field, uint64_t value)
{
    if (field == NCCL_COMM)
        call->comm = value;
    call->values[field] = field == NCCL_COMM ? 0 : value <= INT64_MAX ? (int64_t)value : -1;
}

static bool is_named(const nccl_calls *c, uint32_t name, const char *word)
{
    return hu_str_equal(hu_builder_text(c->b, name), hu_str_of(word));
}

/* NCCL says what one rank gives to a gather, or gets of a scatter; sizes of collectives are those of all ranks together. */
static int64_t whole_bytes(const nccl_calls *c, const nccl_call *k, int64_t ranks)
{
    static const char *const parts[] = {"ncclAllGather", "ncclReduceScatter", "ncclAlltoAll",
                                        "ncclAllToAll",  "ncclGather",        "ncclScatter"};
    int64_t                  bytes = k->values[NCCL_BYTES];

    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (is_named(c, k->name, parts[i]) && (ranks <= 0 || __builtin_mul_overflow(bytes, ranks, &bytes)))
            return 0;
    return bytes > 0 ? bytes : 0;
}

/* The detail of a range; `is_exchange`: sends and receives under no name of their own. */
static uint32_t describe(nccl_calls *c, const nccl_call *k, bool is_exchange)
{
    const uint32_t       size = hu_map_get(&c->size_of, k->comm);
    hu_collective_detail d = {.name = is_exchange ? 0 : k->name,
                              .in_elements = -1,
                              .out_elements = -1,
                              .group_size = size == HU_MAP_NONE ? -1 : (int32_t)size,
                              .source_rank = -1,
                              .target_rank = -1,
                              .rank_start = -1,
                              .rank_stride = -1,
                              .sequence = -1,
                              .comm_id = -1,
                              .is_async = -1};
    hu_op_extra          extra = {.stream = -1};
    hu_op_detail         op = {.sequence = -1};
    const int64_t        peer = k->values[NCCL_PEER] >= 0 ? k->values[NCCL_PEER] : k->values[NCCL_ROOT];
    char                 text[32];

    d.bytes = whole_bytes(c, k, d.group_size);
    if (k->values[NCCL_COMM] == 0) {
        snprintf(text, sizeof text, "nccl 0x%llx", (unsigned long long)k->comm);
        d.group = hu_builder_intern(c->b, hu_str_of(text));
    }
    if (peer >= 0 && peer <= INT32_MAX && is_named(c, k->name, "ncclSend"))
        d.target_rank = (int32_t)peer;
    else if (peer >= 0 && peer <= INT32_MAX && is_named(c, k->name, "ncclRecv"))
        d.source_rank = (int32_t)peer;
    extra.collective = hu_builder_collective_detail(c->b, &d);
    op.extra = hu_builder_op_extra(c->b, &extra);
    return hu_builder_op_detail(c->b, &op);
}

/* NULL: no memory. */
static group *group_at(nccl_calls *c, uint64_t thread)
{
    uint32_t *place = hu_map_put(&c->group_of, thread);

    if (place && *place == HU_MAP_NONE && hu_vec_push(c->arena, &c->groups, ((group){.thread = thread})))
        *place = (uint32_t)c->groups.n - 1;
    return place && *place != HU_MAP_NONE ? &c->groups.at[*place] : NULL;
}

static void join(nccl_calls *c, group *g, const nccl_call *k)
{
    const bool sends = is_named(c, k->name, "ncclSend"), receives = is_named(c, k->name, "ncclRecv");

    if (g->n == 0) {
        g->first = *k;
        g->is_exchange = sends || receives;
    }
    g->is_mixed |= g->n > 0 && (k->comm != g->first.comm || !(sends || receives) || !g->is_exchange);
    g->n++;
    if (sends)
        g->sent += k->values[NCCL_BYTES] > 0 ? k->values[NCCL_BYTES] : 0;
    else if (receives)
        g->received += k->values[NCCL_BYTES] > 0 ? k->values[NCCL_BYTES] : 0;
}

static uint32_t end_group(nccl_calls *c, group *g)
{
    nccl_call k = g->first;

    g->depth = g->depth > 0 ? g->depth - 1 : 0;
    if (g->depth || g->n == 0 || g->is_mixed)
        return HU_NONE;
    if (g->n > 1)
        k.values[NCCL_BYTES] = g->sent ? g->sent : g->received;
    return describe(c, &k, g->n > 1);
}

uint32_t nccl_calls_take(nccl_calls *c, uint64_t thread, const nccl_call *call, bool says)
{
    group *g;

    if (!hu_str_starts(hu_builder_text(c->b, call->name), HU_STR("nccl")))
        return HU_NONE;
    g = group_at(c, thread);
    if (!g) {
        hu_builder_fail(c->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return HU_NONE;
    }
    if (is_named(c, call->name, "ncclGroupStart")) {
        g->depth++;
        if (g->depth == 1)
            *g = (group){.thread = thread, .depth = 1};
        return HU_NONE;
    }
    if (is_named(c, call->name, "ncclGroupEnd"))
        return end_group(c, g);
    if (!says)
        return HU_NONE;
    if (call->values[NCCL_RANKS] > 0 && call->values[NCCL_RANKS] < INT32_MAX && call->values[NCCL_COMM] == 0) {
        uint32_t *place = hu_map_put(&c->size_of, call->comm);

        if (place)
            *place = (uint32_t)call->values[NCCL_RANKS];
    }
    if (call->values[NCCL_BYTES] < 0)
        return HU_NONE; /* it makes or ends a communicator */
    if (g->depth == 0)
        return describe(c, call, false);
    join(c, g, call);
    return HU_NONE;
}
