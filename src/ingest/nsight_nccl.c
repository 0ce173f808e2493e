/* SPDX-License-Identifier: Apache-2.0
 * nsight_nccl.c - what NCCL says of its calls: communicator, bytes, peer, in payloads of its NVTX ranges.
 *
 * A payload is bytes behind a header of 32, laid out as the tables of schemas say, or JSON with the same names.  A call in a
 * group (ncclGroupStart() to ncclGroupEnd()) is launched by the group's end, so what it says belongs to that range where
 * the group is one call, or sends and receives of one communicator. */
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/nsight.h"

typedef enum { COMM, BYTES, PEER, ROOT, RANKS, FIELD_COUNT } field;

static const hu_str field_names[FIELD_COUNT] = {
    {"NCCL communicator ID", 20}, {"Message size [bytes]", 20}, {"Peer rank", 9}, {"Root", 4}, {"No. of ranks", 12}};

enum { HEADER_BYTES = 32, SCHEMA_AT = 8, TYPE_INT = 5, TYPE_UINT64 = 18, TYPE_SIZE = 22, NO_PLACE = UINT16_MAX };

/* Where a schema has each field, and how long it is. */
typedef struct {
    uint16_t at[FIELD_COUNT]; /* behind the header; NO_PLACE */
    uint8_t  bytes[FIELD_COUNT];
} schema;

/* One call; a field that is not there is -1. */
typedef struct {
    uint64_t comm;
    int64_t  values[FIELD_COUNT]; /* but for COMM: 0, where it is there */
    uint32_t name;
} call;

/* A thread between ncclGroupStart() and ncclGroupEnd(). */
typedef struct {
    int64_t thread, depth;
    call    first; /* of the group */
    int64_t n, sent, received;
    bool    is_exchange; /* it begins with a send or receive */
    bool    is_mixed;    /* several calls, and not only sends and receives of one communicator */
} group;

struct nsight_nccl {
    nsight_reader *r;
    hu_map         schema_of; /* by id */
    hu_map         group_of;  /* by thread */
    hu_map         size_of;   /* ranks of a communicator, by its id */
    HU_VEC(schema) schemas;
    HU_VEC(group) groups;
};

static schema *schema_at(nsight_nccl *c, uint64_t id)
{
    uint32_t *place = hu_map_put(&c->schema_of, id);
    schema    none = {0};

    if (!place)
        return NULL;
    for (int i = 0; i < FIELD_COUNT; i++)
        none.at[i] = NO_PLACE;
    if (*place == HU_MAP_NONE) {
        if (!hu_vec_push(c->r->arena, &c->schemas, none))
            return NULL;
        *place = (uint32_t)c->schemas.n - 1;
    }
    return &c->schemas.at[*place];
}

static void read_schemas(nsight_nccl *c)
{
    enum { ID, TYPE, NAME, OFFSET };
    static const char *const columns[] = {"schemaId", "type", "name", "offset", NULL};
    nsight_rows              rows;

    if (!nsight_begin(c->r, &rows, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t type = nsight_int(&rows, TYPE, 0), at = nsight_int(&rows, OFFSET, 0);
        const hu_str  name = nsight_text(&rows, NAME);
        schema       *s;

        for (int i = 0; i < FIELD_COUNT; i++) {
            if (!hu_str_equal(name, field_names[i]) || at < 0 || at >= NO_PLACE ||
                (type != TYPE_INT && type != TYPE_UINT64 && type != TYPE_SIZE))
                continue;
            s = schema_at(c, (uint64_t)nsight_int(&rows, ID, 0));
            if (!s) {
                hu_builder_fail(c->r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
                break;
            }
            s->at[i] = (uint16_t)at;
            s->bytes[i] = type == TYPE_INT ? 4 : 8;
        }
    }
}

nsight_nccl *nsight_nccl_new(nsight_reader *r)
{
    nsight_nccl *c = hu_arena_calloc(r->arena, 1, sizeof *c);

    if (!c || !hu_map_init(&c->schema_of, r->arena, 16) || !hu_map_init(&c->group_of, r->arena, 16) ||
        !hu_map_init(&c->size_of, r->arena, 16))
        return NULL;
    c->r = r;
    read_schemas(c);
    return c;
}

static uint64_t number_at(hu_str bytes, size_t at, size_t n)
{
    uint64_t value = 0;

    for (size_t i = n; i-- > 0;)
        value = value << 8 | (uint8_t)bytes.p[at + i];
    return value;
}

static bool from_bytes(const nsight_nccl *c, hu_str bytes, call *out)
{
    uint32_t      row;
    const schema *s;
    bool          has_any = false;

    if (bytes.n < HEADER_BYTES)
        return false;
    row = hu_map_get(&c->schema_of, number_at(bytes, SCHEMA_AT, 4));
    if (row == HU_MAP_NONE)
        return false;
    s = &c->schemas.at[row];
    for (int i = 0; i < FIELD_COUNT; i++) {
        uint64_t value;

        if (s->at[i] == NO_PLACE || HEADER_BYTES + (size_t)s->at[i] + s->bytes[i] > bytes.n)
            continue;
        value = number_at(bytes, HEADER_BYTES + (size_t)s->at[i], s->bytes[i]);
        if (i == COMM)
            out->comm = value;
        out->values[i] = i == COMM ? 0 : value <= INT64_MAX ? (int64_t)value : -1;
        has_any = true;
    }
    return has_any;
}

/* A number, or a text that is one, decimal or with 0x. */
static bool parse_number(hu_str text, uint64_t *out)
{
    uint64_t value = 0;

    if (text.n >= 2 && text.p[0] == '"' && text.p[text.n - 1] == '"')
        text = (hu_str){text.p + 1, text.n - 2};
    if (!hu_str_starts(text, HU_STR("0x")))
        return hu_parse_u64(text, out);
    for (size_t i = 2; i < text.n; i++) {
        const char ch = hu_char_lower(text.p[i]);

        if (i > 17 || !((ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f')))
            return false;
        value = value << 4 | (uint64_t)(ch <= '9' ? ch - '0' : ch - 'a' + 10);
    }
    *out = value;
    return text.n > 2;
}

static bool from_json(hu_str json, call *out)
{
    bool has_any = false;

    for (int i = 0; i < FIELD_COUNT; i++) {
        const hu_str text = hu_json_get(json, field_names[i]);
        uint64_t     value;

        if (!text.n || !parse_number(text, &value))
            continue;
        if (i == COMM)
            out->comm = value;
        out->values[i] = i == COMM ? 0 : value <= INT64_MAX ? (int64_t)value : -1;
        has_any = true;
    }
    return has_any;
}

static bool is_named(const nsight_nccl *c, uint32_t name, const char *word)
{
    return hu_str_equal(hu_builder_text(c->r->b, name), hu_str_of(word));
}

/* NCCL says what one rank gives to a gather, or gets of a scatter; sizes of collectives are those of all ranks together. */
static int64_t whole_bytes(const nsight_nccl *c, const call *k, int64_t ranks)
{
    static const char *const parts[] = {"ncclAllGather", "ncclReduceScatter", "ncclAlltoAll",
                                        "ncclAllToAll",  "ncclGather",        "ncclScatter"};
    int64_t                  bytes = k->values[BYTES];

    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (is_named(c, k->name, parts[i]) && (ranks <= 0 || __builtin_mul_overflow(bytes, ranks, &bytes)))
            return 0;
    return bytes > 0 ? bytes : 0;
}

/* The detail of a range; `is_exchange`: sends and receives under no name of their own. */
static uint32_t describe(nsight_nccl *c, const call *k, bool is_exchange)
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
    const int64_t        peer = k->values[PEER] >= 0 ? k->values[PEER] : k->values[ROOT];
    char                 text[32];

    d.bytes = whole_bytes(c, k, d.group_size);
    if (k->values[COMM] == 0) {
        snprintf(text, sizeof text, "nccl 0x%llx", (unsigned long long)k->comm);
        d.group = hu_builder_intern(c->r->b, hu_str_of(text));
    }
    if (peer >= 0 && peer <= INT32_MAX && is_named(c, k->name, "ncclSend"))
        d.target_rank = (int32_t)peer;
    else if (peer >= 0 && peer <= INT32_MAX && is_named(c, k->name, "ncclRecv"))
        d.source_rank = (int32_t)peer;
    extra.collective = hu_builder_collective_detail(c->r->b, &d);
    op.extra = hu_builder_op_extra(c->r->b, &extra);
    return hu_builder_op_detail(c->r->b, &op);
}

/* NULL: no memory. */
static group *group_at(nsight_nccl *c, int64_t thread)
{
    uint32_t *place = hu_map_put(&c->group_of, (uint64_t)thread);

    if (place && *place == HU_MAP_NONE && hu_vec_push(c->r->arena, &c->groups, ((group){.thread = thread})))
        *place = (uint32_t)c->groups.n - 1;
    return place && *place != HU_MAP_NONE ? &c->groups.at[*place] : NULL;
}

static void join(nsight_nccl *c, group *g, const call *k)
{
    const bool sends = is_named(c, k->name, "ncclSend"), receives = is_named(c, k->name, "ncclRecv");

    if (g->n == 0) {
        g->first = *k;
        g->is_exchange = sends || receives;
    }
    g->is_mixed |= g->n > 0 && (k->comm != g->first.comm || !(sends || receives) || !g->is_exchange);
    g->n++;
    if (sends)
        g->sent += k->values[BYTES] > 0 ? k->values[BYTES] : 0;
    else if (receives)
        g->received += k->values[BYTES] > 0 ? k->values[BYTES] : 0;
}

static uint32_t end_group(nsight_nccl *c, group *g)
{
    call k = g->first;

    g->depth = g->depth > 0 ? g->depth - 1 : 0;
    if (g->depth || g->n == 0 || g->is_mixed)
        return HU_NONE;
    if (g->n > 1)
        k.values[BYTES] = g->sent ? g->sent : g->received;
    return describe(c, &k, g->n > 1);
}

uint32_t nsight_nccl_take(nsight_nccl *c, int64_t thread, uint32_t name, hu_str bytes, hu_str json)
{
    call   k = {.name = name};
    group *g;

    if (!hu_str_starts(hu_builder_text(c->r->b, name), HU_STR("nccl")))
        return HU_NONE;
    g = group_at(c, thread);
    if (!g) {
        hu_builder_fail(c->r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return HU_NONE;
    }
    if (is_named(c, name, "ncclGroupStart")) {
        g->depth++;
        if (g->depth == 1)
            *g = (group){.thread = thread, .depth = 1};
        return HU_NONE;
    }
    if (is_named(c, name, "ncclGroupEnd"))
        return end_group(c, g);
    for (int i = 0; i < FIELD_COUNT; i++)
        k.values[i] = -1;
    if (!from_bytes(c, bytes, &k) && !from_json(json, &k))
        return HU_NONE;
    if (k.values[RANKS] > 0 && k.values[RANKS] < INT32_MAX && k.values[COMM] == 0) {
        uint32_t *place = hu_map_put(&c->size_of, k.comm);

        if (place)
            *place = (uint32_t)k.values[RANKS];
    }
    if (k.values[BYTES] < 0)
        return HU_NONE; /* it makes or ends a communicator */
    if (g->depth == 0)
        return describe(c, &k, false);
    join(c, g, &k);
    return HU_NONE;
}
