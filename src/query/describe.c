/* SPDX-License-Identifier: Apache-2.0
 * describe.c - what the tables, columns and functions of SQL are: as text, as CSV, as JSON. */
#include "base/csv_text.h"
#include "base/json_out.h"
#include "query/functions.h"
#include "query/query.h"
#include "query/schema.h"

void hu_query_write_schema(hu_out *out)
{
    for (size_t t = 0; t < hu_sql_n_tables; t++) {
        hu_out_printf(out, "%s%s: %s\n", t ? "\n" : "", hu_sql_tables[t].name, hu_sql_tables[t].about);
        for (int i = 0; i < hu_sql_tables[t].n_columns; i++) {
            const hu_sql_column *c = &hu_sql_tables[t].columns[i];

            hu_out_printf(out, "  %-15s %-7s %-5s %s\n", c->name, c->type, c->unit, c->help);
        }
    }
    hu_out_text(out, "\nfunctions in addition to SQLite's:\n");
    for (const hu_sql_function *f = hu_sql_functions; f->name; f++)
        hu_out_printf(out, "  %s(%s)\n      %s\n", f->name, f->arguments, f->help);
}

void hu_query_write_schema_csv(hu_out *out)
{
    hu_out_text(out, "table,column,type,unit,help\r\n");
    for (size_t t = 0; t < hu_sql_n_tables; t++)
        for (int i = 0; i < hu_sql_tables[t].n_columns; i++) {
            const hu_sql_column *c = &hu_sql_tables[t].columns[i];

            hu_out_printf(out, "%s,%s,%s,%s,", hu_sql_tables[t].name, c->name, c->type, c->unit);
            hu_csv_text(out, hu_str_of(c->help));
            hu_out_text(out, "\r\n");
        }
}

static void json_table(hu_json_out *j, const hu_sql_table *t)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", hu_str_of(t->name));
    hu_json_str(j, "about", hu_str_of(t->about));
    hu_json_open(j, "columns", '[');
    for (int i = 0; i < t->n_columns; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", hu_str_of(t->columns[i].name));
        hu_json_str(j, "type", hu_str_of(t->columns[i].type));
        hu_json_str(j, "unit", hu_str_of(t->columns[i].unit));
        hu_json_str(j, "help", hu_str_of(t->columns[i].help));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_query_write_schema_json(hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_open(&j, "tables", '[');
    for (size_t t = 0; t < hu_sql_n_tables; t++)
        json_table(&j, &hu_sql_tables[t]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "functions", '[');
    for (const hu_sql_function *f = hu_sql_functions; f->name; f++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", hu_str_of(f->name));
        hu_json_str(&j, "arguments", hu_str_of(f->arguments));
        hu_json_str(&j, "help", hu_str_of(f->help));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}

size_t hu_query_tables_with(const char *column, const char **out, size_t most)
{
    size_t n = 0;

    for (size_t t = 0; t < hu_sql_n_tables; t++)
        for (int c = 0; c < hu_sql_tables[t].n_columns && n < most; c++)
            if (strcmp(hu_sql_tables[t].columns[c].name, column) == 0)
                out[n++] = hu_sql_tables[t].name;
    return n;
}

size_t hu_query_words(bool tables_only, const char **out, size_t most)
{
    size_t n = 0;

    for (size_t t = 0; t < hu_sql_n_tables; t++) {
        if (n < most)
            out[n++] = hu_sql_tables[t].name;
        for (int c = 0; !tables_only && c < hu_sql_tables[t].n_columns && n < most; c++)
            out[n++] = hu_sql_tables[t].columns[c].name;
    }
    return n;
}
