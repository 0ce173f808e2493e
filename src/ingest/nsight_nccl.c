/* SPDX-License-Identifier: Apache-2.0
 * nsight_nccl.c - what NCCL says of its calls in payloads of its NVTX ranges, as Nsight Systems exports them.
 *
 * A payload is bytes behind a header of 32, laid out as the tables of schemas say, or JSON with the same names. */
#include "base/json.h"
#include "base/number.h"
#include "ingest/nccl_calls.h"
#include "ingest/nsight.h"

enum { HEADER_BYTES = 32, SCHEMA_AT = 8, TYPE_INT = 5, TYPE_UINT64 = 18, TYPE_SIZE = 22, NO_PLACE = UINT16_MAX };

/* Where a schema has each field, and how long it is. */
typedef struct {
    uint16_t at[NCCL_FIELD_COUNT]; /* behind the header; NO_PLACE */
    uint8_t  bytes[NCCL_FIELD_COUNT];
} schema;

struct nsight_nccl {
    nsight_reader *r;
    nccl_calls    *calls;
    hu_map         schema_of; /* by id */
    HU_VEC(schema) schemas;
};

static schema *schema_at(nsight_nccl *c, uint64_t id)
{
    uint32_t *place = hu_map_put(&c->schema_of, id);
    schema    none = {0};

    if (!place)
        return NULL;
    for (int i = 0; i < NCCL_FIELD_COUNT; i++)
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

        for (int i = 0; i < NCCL_FIELD_COUNT; i++) {
            if (!hu_str_equal(name, nccl_field_names[i]) || at < 0 || at >= NO_PLACE ||
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

    if (!c || !hu_map_init(&c->schema_of, r->arena, 16) || !(c->calls = nccl_calls_new(r->b, r->arena)))
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

static bool from_bytes(const nsight_nccl *c, hu_str bytes, nccl_call *out)
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
    for (int i = 0; i < NCCL_FIELD_COUNT; i++) {
        uint64_t value;

        if (s->at[i] == NO_PLACE || HEADER_BYTES + (size_t)s->at[i] + s->bytes[i] > bytes.n)
            continue;
        value = number_at(bytes, HEADER_BYTES + (size_t)s->at[i], s->bytes[i]);
        nccl_call_set(out, (nccl_field)i, value);
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

static bool from_json(hu_str json, nccl_call *out)
{
    bool has_any = false;

    for (int i = 0; i < NCCL_FIELD_COUNT; i++) {
        const hu_str text = hu_json_get(json, nccl_field_names[i]);
        uint64_t     value;

        if (!text.n || !parse_number(text, &value))
            continue;
        nccl_call_set(out, (nccl_field)i, value);
        has_any = true;
    }
    return has_any;
}

uint32_t nsight_nccl_take(nsight_nccl *c, int64_t thread, uint32_t name, hu_str bytes, hu_str json)
{
    nccl_call  k = nccl_call_of(name);
    const bool says = from_bytes(c, bytes, &k) || from_json(json, &k);

    return nccl_calls_take(c->calls, (uint64_t)thread, &k, says);
}
