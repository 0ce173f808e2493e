/* SPDX-License-Identifier: Apache-2.0
 * operations.c - the words for operations and their order. */
#include "trace/operations.h"

#include <stdlib.h>

static const struct {
    const char *name, *type;
    bool        is_transfer;
} kinds[HU_OPERATION_COUNT] = {
#define O(id, name, type, is_transfer) {name, type, is_transfer},
    HU_OPERATIONS(O)
#undef O
};

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const hu_operation *x = a, *y = b;
    int                 c;

    if ((c = compare(x->step, y->step)) || (c = compare(x->dp, y->dp)) || (c = compare(x->stage, y->stage)) ||
        (c = compare(x->start_ns, y->start_ns)) || (c = compare(x->sequence, y->sequence)) ||
        (c = compare(x->kind, y->kind)))
        return c;
    return compare(x->line, y->line);
}

void hu_operations_sort(hu_operations *table)
{
    if (table->n)
        qsort(table->at, table->n, sizeof *table->at, by_place);
}

hu_operation_kind hu_operation_find(hu_str name)
{
    for (hu_operation_kind k = 0; k < HU_OPERATION_COUNT; k++)
        if (hu_str_equal(name, hu_str_of(kinds[k].name)))
            return k;
    return HU_OPERATION_COUNT;
}

const char *hu_operation_name(hu_operation_kind kind)
{
    return kinds[kind].name;
}

const char *hu_operation_type(hu_operation_kind kind)
{
    return kinds[kind].type;
}

bool hu_operation_is_transfer(hu_operation_kind kind)
{
    return kinds[kind].is_transfer;
}
