/* SPDX-License-Identifier: Apache-2.0
 * nvml_fields.c - each element of an answer has a code of its own. */
#include "gpu/nvml_fields.h"

#include "gpu/nvml_calls.h"

enum { ALL_LINKS = UINT32_MAX, LINK_SENT = 202, LINK_RECEIVED = 204, FIRST_LINK_BRANCH = 560 };
enum { REAL, U32, LONG, U64, I64, I32, U16 }; /* types of values */

static const struct {
    uint32_t number;
    unsigned first, last;
} known[] = {
#define F(id, number, first, last) {number, first, last},
    HU_NVML_FIELDS(F)
#undef F
};
_Static_assert(HU_NVML_FIELD_COUNT <= 64, "a bit for each");

static bool is_known(const hu_nvml *n, hu_nvml_field f)
{
    if (known[f].first && n->branch < known[f].first)
        return false; /* and where the branch is not known */
    return !known[f].last || n->branch <= known[f].last;
}

static bool is_per_link(uint32_t number)
{
    return number == 138 || number == 139;
}

/* False: it has no type that we know, or all of its bits, which drivers say where they do not know. */
static bool number_of(const field_value *v, hu_nvml_field_value *out)
{
    out->is_wide = v->type == LONG || v->type == U64 || v->type == I64;
    switch (v->type) {
    case REAL:
        out->value = v->value.real;
        return true;
    case U32:
        out->value = v->value.u32;
        return v->value.u32 != UINT32_MAX;
    case LONG:
    case U64:
        out->value = (double)v->value.u64;
        return v->value.u64 != UINT64_MAX;
    case I64:
        out->value = (double)v->value.i64;
        return true;
    case I32:
        out->value = v->value.i32;
        return true;
    case U16:
        out->value = v->value.u16;
        return true;
    default:
        return false;
    }
}

hu_nvml_class hu_nvml_get_fields(hu_nvml *n, hu_nvml_device *d, const hu_nvml_field *which, size_t count,
                                 hu_nvml_field_value *out, int *code)
{
    field_value v[HU_NVML_FIELD_COUNT];
    size_t      at[HU_NVML_FIELD_COUNT], asked = 0;

    *code = SUCCESS;
    for (size_t i = 0; i < count; i++) {
        out[i] = (hu_nvml_field_value){0};
        if (!n->fields || d->denied_fields >> which[i] & 1 || !is_known(n, which[i]))
            continue;
        v[asked] = (field_value){.id = known[which[i]].number, .code = UNKNOWN};
        v[asked].scope = is_per_link(v[asked].id) ? ALL_LINKS : 0;
        at[asked++] = i;
    }
    if (!asked)
        return HU_NVML_OK;
    *code = n->fields(d->handle, (int)asked, v);
    if (*code != SUCCESS) {
        const hu_nvml_class class = hu_nvml_class_of(*code);

        if (class == HU_NVML_NEVER)
            for (size_t i = 0; i < asked; i++)
                d->denied_fields |= UINT64_C(1) << which[at[i]];
        return class == HU_NVML_LOST ? class : HU_NVML_OK;
    }
    for (size_t i = 0; i < asked; i++) {
        hu_nvml_field_value *o = &out[at[i]];

        switch (hu_nvml_class_of(v[i].code)) {
        case HU_NVML_OK:
            o->has = number_of(&v[i], o);
            break;
        case HU_NVML_NEVER:
            d->denied_fields |= UINT64_C(1) << which[at[i]];
            break;
        case HU_NVML_LOST:
            *code = v[i].code;
            return HU_NVML_LOST;
        case HU_NVML_LATER:
            break;
        }
    }
    return HU_NVML_OK;
}

hu_nvml_class hu_nvml_get_links(hu_nvml *n, const hu_nvml_device *d, hu_nvml_links *links, double *sent, double *received,
                                int *code)
{
    field_value v[2 * HU_NVML_LINKS];
    bool        has_any = false;

    *sent = *received = 0;
    *code = FUNCTION_NOT_FOUND;
    if (links->is_denied || !n->fields || n->branch < FIRST_LINK_BRANCH)
        return HU_NVML_NEVER;
    for (uint32_t i = 0; i < 2 * HU_NVML_LINKS; i++)
        v[i] = (field_value){.id = i % 2 ? LINK_RECEIVED : LINK_SENT, .scope = i / 2, .code = UNKNOWN};
    *code = n->fields(d->handle, 2 * HU_NVML_LINKS, v);
    if (*code != SUCCESS) {
        links->is_denied = hu_nvml_class_of(*code) == HU_NVML_NEVER;
        return hu_nvml_class_of(*code);
    }
    for (int i = 0; i < 2 * HU_NVML_LINKS; i++) {
        uint64_t *last = i % 2 ? &links->received[i / 2] : &links->sent[i / 2];

        if (hu_nvml_class_of(v[i].code) == HU_NVML_LOST) {
            *code = v[i].code;
            return HU_NVML_LOST;
        }
        if (v[i].code == SUCCESS && (v[i].type == U64 || v[i].type == LONG || v[i].type == I64)) {
            has_any = true;
            *last = v[i].value.u64;
        }
        *(i % 2 ? received : sent) += (double)*last;
    }
    links->is_denied = !has_any;
    return has_any ? HU_NVML_OK : HU_NVML_NEVER;
}
