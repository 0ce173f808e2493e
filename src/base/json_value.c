/* SPDX-License-Identifier: Apache-2.0
 * json_value.c - members and elements of json.h, kept. */
#include "base/json_value.h"

#include "base/json.h"
#include "base/number.h"

typedef struct {
    const char      *file, *begin;
    const hu_limits *limits;
    hu_arena        *arena;
    hu_error        *err;
    int64_t          n_values;
} reader;

static const hu_value *read_value(reader *r, hu_str text, int64_t depth);

static void scalar(reader *r, hu_str text, hu_value *v)
{
    if (text.p[0] == '"') {
        v->type = HU_VALUE_TEXT;
        v->text = hu_json_text(r->arena, text);
    } else if (hu_parse_i64(text, &v->integer)) {
        v->type = HU_VALUE_INT;
    } else if (hu_parse_f64(text, &v->real)) {
        v->type = HU_VALUE_REAL;
    } else if (hu_str_equal(text, HU_STR("true")) || hu_str_equal(text, HU_STR("false"))) {
        v->type = HU_VALUE_BOOL;
        v->integer = text.p[0] == 't';
    }
}

static const hu_value *fail(reader *r, hu_str at, const char *words)
{
    hu_fail(r->err, HU_EFORMAT, r->file, at.p ? (int64_t)(at.p - r->begin) : HU_NO_OFFSET, "%s", words);
    return NULL;
}

static const hu_value *container(reader *r, hu_str text, int64_t depth, hu_value *v)
{
    const bool is_dict = text.p[0] == '{';
    HU_VEC(const hu_value *) items = {0};
    hu_json j = hu_json_enter(text);
    hu_str  key, value;

    while (is_dict ? hu_json_member(&j, &key, &value) : hu_json_element(&j, &value)) {
        const hu_value *item;
        hu_value       *name;

        if (is_dict) {
            name = hu_arena_calloc(r->arena, 1, sizeof *name);
            if (!name || !hu_vec_push(r->arena, &items, name)) {
                hu_fail_memory(r->err);
                return NULL;
            }
            name->type = HU_VALUE_TEXT;
            name->text = key; /* keys that matter have no escapes */
        }
        item = read_value(r, value, depth + 1);
        if (!item)
            return NULL;
        if (!hu_vec_push(r->arena, &items, item)) {
            hu_fail_memory(r->err);
            return NULL;
        }
    }
    if (j.is_broken || j.p >= j.end)
        return fail(r, (hu_str){j.p, 0}, "the text ends early or is no JSON; was the dump written to its end?");
    if (items.n > UINT32_MAX / 2)
        return fail(r, text, "a list of too many items");
    v->type = is_dict ? HU_VALUE_DICT : HU_VALUE_LIST;
    v->items = items.at;
    v->n = (uint32_t)items.n;
    return v;
}

static const hu_value *read_value(reader *r, hu_str text, int64_t depth)
{
    hu_value *v = hu_arena_calloc(r->arena, 1, sizeof *v);

    if (!v) {
        hu_fail_memory(r->err);
        return NULL;
    }
    if (++r->n_values > r->limits->events || depth > r->limits->nesting) {
        hu_fail(r->err, HU_ELIMIT, r->file, (int64_t)(text.p - r->begin), "%s; raise it with --limit",
                depth > r->limits->nesting ? "too many levels" : "too many values");
        return NULL;
    }
    if (text.n && (text.p[0] == '{' || text.p[0] == '['))
        return container(r, text, depth, v);
    if (text.n)
        scalar(r, text, v);
    if (v->type == HU_VALUE_TEXT && !v->text.p) {
        hu_fail_memory(r->err);
        return NULL;
    }
    return v;
}

const hu_value *hu_json_value_read(hu_str text, const char *file, const hu_limits *limits, hu_arena *arena, hu_error *err)
{
    reader r = {.file = file, .begin = text.p, .limits = limits, .arena = arena, .err = err};

    while (text.n && (unsigned char)text.p[0] <= ' ')
        text = (hu_str){text.p + 1, text.n - 1};
    return read_value(&r, text, 0);
}
