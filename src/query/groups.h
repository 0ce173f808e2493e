/* SPDX-License-Identifier: Apache-2.0
 * groups.h - the rows of a table by name, so that GROUP BY name needs no sorting of texts. */
#ifndef HU_QUERY_GROUPS_H
#define HU_QUERY_GROUPS_H

#include "query/vtab.h"

/* The rows of one trace that have one name, ascending. */
typedef struct {
    hu_str          name;
    const uint32_t *row;
    uint32_t        n, source;
} hu_sql_run;

/* Runs in the order of their names' bytes, as SQLite sorts them, or in the opposite one; those of one name by trace. */
typedef struct {
    hu_sql_run *at;
    size_t      n;
} hu_sql_groups;

/* Of a table whose rows are slices.  False when there is no memory. */
bool hu_sql_groups_make(const hu_sql_binding *binding, bool descending, hu_arena *arena, hu_sql_groups *out);

#endif
