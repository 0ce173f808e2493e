/* SPDX-License-Identifier: Apache-2.0
 * describe.h - what the columns and facts of every view are: for people as CSV, for programs as JSON. */
#ifndef HU_RENDER_TABLE_DESCRIBE_H
#define HU_RENDER_TABLE_DESCRIBE_H

#include "base/out.h"

/* A row for each column and fact: view, table, key, type, unit, heading, help, source.  Facts are the table "facts". */
void hu_describe_csv(hu_out *out);

/* The same by view and table, with what scripts/describe needs to make the schema and the tables of the documents. */
void hu_describe_json(hu_out *out);

#endif
