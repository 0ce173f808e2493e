/* SPDX-License-Identifier: Apache-2.0
 * describe.c - what the columns and facts of every view are: for people as CSV, for programs as JSON. */
#include "render/table/describe.h"

#include "base/json_out.h"
#include "base/csv_text.h"
#include "render/table/views.h"

/* Calls `one` for each view, those of other tools last. */
static void each_view(void (*one)(void *context, const hu_view *view), void *context)
{
    for (size_t i = 0; hu_views[i]; i++)
        one(context, hu_views[i]);
    for (size_t i = 0; hu_compat_views[i]; i++)
        one(context, hu_compat_views[i]);
}

static void csv_columns(hu_out *out, const char *view, const char *table, const hu_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const hu_column *c = &columns[i];
        const char *cells[] = {view, table, c->key, hu_columns_type(c), hu_columns_unit(c), c->head, c->help, c->source};

        for (size_t k = 0; k < HU_COUNT(cells); k++) {
            hu_out_text(out, k ? "," : "");
            hu_csv_text(out, hu_str_of(cells[k] ? cells[k] : ""));
        }
        hu_out_text(out, "\r\n");
    }
}

static void csv_view(void *context, const hu_view *v)
{
    csv_columns(context, v->word, "facts", v->facts, v->n_facts);
    for (size_t t = 0; t < v->n_tables; t++)
        csv_columns(context, v->word, v->tables[t]->key, v->tables[t]->columns, v->tables[t]->n_columns);
}

void hu_describe_csv(hu_out *out)
{
    hu_out_text(out, "view,table,key,type,unit,heading,help,source\r\n");
    each_view(csv_view, out);
}

static void text_or_null(hu_json_out *j, const char *key, const char *text)
{
    if (text)
        hu_json_str(j, key, hu_str_of(text));
    else
        hu_json_null(j, key);
}

static void json_columns(hu_json_out *j, const char *key, const hu_column *columns, size_t n)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        const hu_column *c = &columns[i];

        hu_json_open(j, NULL, '{');
        text_or_null(j, "key", c->key);
        hu_json_str(j, "type", hu_str_of(hu_columns_type(c)));
        hu_json_str(j, "unit", hu_str_of(hu_columns_unit(c)));
        text_or_null(j, "heading", c->head);
        hu_json_str(j, "help", hu_str_of(c->help));
        text_or_null(j, "source", c->source);
        text_or_null(j, "values", c->values);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static bool is_compat(const hu_view *v)
{
    for (size_t i = 0; hu_compat_views[i]; i++)
        if (hu_compat_views[i] == v)
            return true;
    return false;
}

static void json_view(void *context, const hu_view *v)
{
    hu_json_out *j = context;

    hu_json_open(j, NULL, '{');
    hu_json_str(j, "view", hu_str_of(v->word));
    hu_json_str(j, "key", hu_str_of(v->key));
    hu_json_str(j, "about", hu_str_of(v->about));
    hu_json_bool(j, "is_list", v->is_list);
    hu_json_bool(j, "is_alone", v->is_alone);
    hu_json_bool(j, "is_compat", is_compat(v));
    hu_json_bool(j, "is_job", hu_view_is_job(v));
    json_columns(j, "facts", v->facts, v->n_facts);
    hu_json_open(j, "tables", '[');
    for (size_t t = 0; t < v->n_tables; t++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "key", hu_str_of(v->tables[t]->key));
        hu_json_str(j, "title", hu_str_of(v->tables[t]->title));
        hu_json_str(j, "about", hu_str_of(v->tables[t]->about));
        hu_json_bool(j, "is_series", v->tables[t]->is_series);
        json_columns(j, "columns", v->tables[t]->columns, v->tables[t]->n_columns);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_describe_json(hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '[');
    each_view(json_view, &j);
    hu_json_close(&j, ']');
}
