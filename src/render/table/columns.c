/* SPDX-License-Identifier: Apache-2.0
 * columns.c - finding and ordering. */
#include "render/table/columns.h"

#include <math.h>

const char *hu_columns_type(const hu_column *column)
{
    static const char *const words[] = {
        [HU_CELL_TEXT] = "text",     [HU_CELL_NS] = "ns",       [HU_CELL_COUNT] = "count",     [HU_CELL_ID] = "id",
        [HU_CELL_NUMBER] = "number", [HU_CELL_BYTES] = "bytes", [HU_CELL_PERCENT] = "percent", [HU_CELL_BOOL] = "bool"};

    return words[column->type];
}

const char *hu_columns_unit(const hu_column *column)
{
    if (column->unit)
        return column->unit;
    switch (column->type) {
    case HU_CELL_NS:
    case HU_CELL_BYTES:
        return hu_columns_type(column);
    case HU_CELL_PERCENT:
        return "%";
    default:
        return "";
    }
}

const hu_column *hu_columns_find(const hu_table *table, hu_str key)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].key && hu_str_equal(hu_str_of(table->columns[i].key), key))
            return &table->columns[i];
    return NULL;
}

static bool comes_after(const hu_column *c, const hu_rank *rank, uint32_t a, uint32_t b)
{
    hu_cell x = {0}, y = {0};

    c->get(rank, a, &x);
    c->get(rank, b, &y);
    if (c->type == HU_CELL_TEXT)
        return hu_str_compare(x.text, y.text) > 0;
    return isnan(x.number) ? !isnan(y.number) : y.number > x.number;
}

/* Bottom-up merge sort: stable, and tables may have many thousand rows. */
static void merge_sort(const hu_column *c, const hu_rank *rank, uint32_t *at, uint32_t *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            const size_t middle = from + width < n ? from + width : n;
            const size_t end = from + 2 * width < n ? from + 2 * width : n;
            size_t       i = from, j = middle;

            for (size_t k = from; k < end; k++)
                spare[k] = i < middle && (j >= end || !comes_after(c, rank, at[i], at[j])) ? at[i++] : at[j++];
        }
        memcpy(at, spare, n * sizeof *at);
    }
}

const uint32_t *hu_columns_order(const hu_table *table, const hu_rank *rank, size_t n, const char *sort, hu_arena *arena)
{
    const hu_column *by = sort && !table->is_ordered ? hu_columns_find(table, hu_str_of(sort)) : NULL;
    uint32_t        *order = hu_arena_calloc(arena, 2 * n + 1, sizeof *order);

    if (!order)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (by)
        merge_sort(by, rank, order, order + n, n);
    return order;
}
