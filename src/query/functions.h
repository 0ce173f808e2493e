/* SPDX-License-Identifier: Apache-2.0
 * functions.h - what SQL lacks for traces: unions of intervals and quantiles. */
#ifndef HU_QUERY_FUNCTIONS_H
#define HU_QUERY_FUNCTIONS_H

#include "base/late/sqlite.h"

typedef struct {
    const char *name, *arguments;
    const char *help; /* one sentence */
} hu_sql_function;

extern const hu_sql_function hu_sql_functions[]; /* ends with a NULL name */

/* Returns SQLite's code. */
int hu_sql_add_functions(sqlite3 *db);

#endif
