/* SPDX-License-Identifier: Apache-2.0
 * precision.c - a few texts stand for the types of all operators, so each is read once. */
#include "analyze/precision.h"

static hu_precision precision_of(hu_str types)
{
    static const char *const small[] = {"BFloat16", "Half", "Float8", "Float4", "signed char", "unsigned char"};

    for (size_t k = 0; k < HU_COUNT(small); k++)
        if (hu_str_has(types, hu_str_of(small[k])))
            return HU_PRECISION_LOW;
    return hu_str_has(types, HU_STR("float")) ? HU_PRECISION_FULL : HU_PRECISION_UNSAID;
}

const uint8_t *hu_precision_classify(const hu_trace *trace, hu_arena *arena)
{
    enum { NOT_READ = 0xff };
    const uint32_t n = hu_trace_string_count(trace);
    const size_t   rows = hu_trace_op_detail_count(trace);
    uint8_t       *of = hu_arena_alloc(arena, n + 1);

    if (!of)
        return NULL;
    memset(of, NOT_READ, n + 1);
    for (size_t i = 0; i < rows; i++) {
        const uint32_t types = hu_trace_op_detail(trace, (uint32_t)i)->types;

        if (of[types] == NOT_READ)
            of[types] = (uint8_t)precision_of(hu_trace_text(trace, types));
    }
    return of;
}
