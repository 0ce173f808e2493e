/* SPDX-License-Identifier: Apache-2.0
 * vtab.h - the tables of schema.h as virtual tables of a SQLite connection. */
#ifndef HU_QUERY_VTAB_H
#define HU_QUERY_VTAB_H

#include "query/schema.h"

/* What one table is made from; must outlive the connection. */
typedef struct {
    const hu_sql_table  *table;
    const hu_sql_source *sources;
    size_t               n_sources;
} hu_sql_binding;

/* Makes the table visible under its name.  Returns SQLite's code. */
int hu_sql_bind(sqlite3 *db, hu_sql_binding *binding);

#endif
