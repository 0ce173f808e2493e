/* SPDX-License-Identifier: Apache-2.0
 * cmd_query.c - `holdup query`: SQL over traces, as a table for people, CSV or JSON. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "job/inputs.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/text_file.h"
#include "cli/unread.h"
#include "cli/terminal.h"
#include "query/query.h"
#include "base/csv_text.h"
#include "render/report.h"
#include "base/units.h"

typedef struct {
    hu_shared   shared;
    bool        schema;
    const char *file;
    hu_str      sql; /* the statement */
} options;

static const hu_option rows[] = {
    {"file", 0, HU_OPTION_TEXT, "FILE", "read the statement from FILE", offsetof(options, file), .value = HU_VALUE_READ,
     .lost_letter = 'f'},
    {"schema", 0, HU_OPTION_FLAG, NULL, "print tables, columns and functions", offsetof(options, schema),
     .lost_letter = 's'},
};

enum { HELD_ROWS = 500, MOST_COLUMNS = 64, LEAST_WIDTH = 6, REAL_DECIMALS = 4 };

/* What a sink needs; the text table holds its first rows back until it knows how wide they are. */
typedef struct {
    const options *o;
    hu_out        *out;
    hu_arena      *arena;
    const hu_str  *names;
    int            n;
    hu_json_out    json;
    int64_t        n_rows;
    size_t         width[MOST_COLUMNS];
    bool           is_number[MOST_COLUMNS];
    HU_VEC(hu_str) held; /* n cells for each row */
    bool is_laid_out, no_memory;
} face;

/* CSV */

static bool csv_head(void *context, const hu_str *names, int n)
{
    face *f = context;

    for (int i = 0; i < n; i++) {
        hu_out_text(f->out, i ? "," : "");
        hu_csv_text(f->out, names[i]);
    }
    hu_out_text(f->out, "\r\n");
    return true;
}

static bool csv_row(void *context, const hu_sql_value *v, int n)
{
    face *f = context;

    for (int i = 0; i < n; i++) {
        hu_out_text(f->out, i ? "," : "");
        if (v[i].type == HU_SQL_TEXT)
            hu_csv_text(f->out, v[i].text);
        else if (v[i].type == HU_SQL_INTEGER)
            hu_out_i64(f->out, v[i].integer);
        else if (v[i].type == HU_SQL_REAL)
            hu_out_fixed(f->out, v[i].real, REAL_DECIMALS);
    }
    hu_out_text(f->out, "\r\n");
    return true;
}

/* JSON */

static bool json_head(void *context, const hu_str *names, int n)
{
    face *f = context;

    f->names = names;
    f->n = n;
    f->json = (hu_json_out){.out = f->out, .is_empty = true};
    hu_json_open(&f->json, NULL, '[');
    return true;
}

static bool json_row(void *context, const hu_sql_value *v, int n)
{
    face *f = context;

    hu_json_open(&f->json, NULL, '{');
    for (int i = 0; i < n; i++) {
        const char *key = f->names[i].p; /* SQLite ends its names with a NUL */

        if (v[i].type == HU_SQL_TEXT)
            hu_json_str(&f->json, key, v[i].text);
        else if (v[i].type == HU_SQL_INTEGER)
            hu_json_int(&f->json, key, v[i].integer);
        else if (v[i].type == HU_SQL_REAL)
            hu_json_fixed(&f->json, key, v[i].real, REAL_DECIMALS);
        else
            hu_json_null(&f->json, key);
    }
    hu_json_close(&f->json, '}');
    return true;
}

/* text */

static void pad(hu_out *out, size_t used, size_t width)
{
    for (; used < width; used++)
        hu_out_text(out, " ");
}

static void write_cells(face *f, const hu_str *cells)
{
    for (int i = 0; i < f->n; i++) {
        const size_t length = hu_units_width(cells[i]);
        const bool   is_last = i + 1 == f->n;

        hu_out_text(f->out, i ? "  " : "");
        if (f->is_number[i])
            pad(f->out, length, f->width[i]);
        hu_units_clip(f->out, cells[i], f->is_number[i] && length > f->width[i] ? length : f->width[i]);
        if (!f->is_number[i] && !is_last)
            pad(f->out, length, f->width[i]);
    }
    hu_out_text(f->out, "\n");
}

/* Takes from the widest text until the line fits.  Numbers are never cut: a line of many is longer. */
static void lay_out(face *f)
{
    for (;;) {
        size_t total = 0, most = LEAST_WIDTH;
        int    widest = -1;

        for (int i = 0; i < f->n; i++) {
            total += f->width[i] + (i ? 2 : 0);
            if (!f->is_number[i] && f->width[i] > most) {
                widest = i;
                most = f->width[i];
            }
        }
        if (total <= hu_terminal_width(STDOUT_FILENO, f->o->shared.output) || widest < 0)
            break;
        f->width[widest]--;
    }
    f->is_laid_out = true;
    write_cells(f, f->names);
    for (size_t i = 0; i + (size_t)f->n <= f->held.n; i += (size_t)f->n)
        write_cells(f, f->held.at + i);
    f->held.n = 0;
}

static bool text_head(void *context, const hu_str *names, int n)
{
    face   *f = context;
    hu_str *kept = hu_arena_calloc(f->arena, (size_t)n + 1, sizeof *kept);

    if (!kept || n > MOST_COLUMNS) {
        f->no_memory = true;
        return false;
    }
    for (int i = 0; i < n; i++) {
        kept[i] = hu_arena_copy(f->arena, names[i]);
        f->width[i] = hu_units_width(names[i]);
        f->no_memory |= !kept[i].p;
    }
    f->names = kept;
    f->n = n;
    return !f->no_memory;
}

static hu_str cell_of(const hu_sql_value *v, char *text)
{
    switch (v->type) {
    case HU_SQL_TEXT:
        return v->text;
    case HU_SQL_INTEGER:
        snprintf(text, HU_UNIT_BYTES, "%lld", (long long)v->integer);
        break;
    case HU_SQL_REAL:
        hu_format_fixed(text, v->real, REAL_DECIMALS);
        break;
    default:
        return HU_STR("–");
    }
    return hu_str_of(text);
}

static bool text_row(void *context, const hu_sql_value *v, int n)
{
    face  *f = context;
    char   text[MOST_COLUMNS][HU_UNIT_BYTES];
    hu_str cells[MOST_COLUMNS];

    f->n_rows++;
    for (int i = 0; i < n; i++) {
        cells[i] = cell_of(&v[i], text[i]);
        if (f->is_laid_out)
            continue;
        f->is_number[i] |= v[i].type == HU_SQL_INTEGER || v[i].type == HU_SQL_REAL;
        if (hu_units_width(cells[i]) > f->width[i])
            f->width[i] = hu_units_width(cells[i]);
    }
    if (f->is_laid_out) {
        write_cells(f, cells);
        return true;
    }
    for (int i = 0; i < n; i++) {
        const hu_str kept = hu_arena_copy(f->arena, cells[i]);

        if (!kept.p || !hu_vec_push(f->arena, &f->held, kept)) {
            f->no_memory = true;
            return false;
        }
    }
    if (f->n_rows == HELD_ROWS)
        lay_out(f);
    return true;
}

/* the command */

enum { MOST_OWNERS = 4 };

/* SQLite says which word it does not know; the closest one that it does know helps more. */
static void add_hint(hu_error *err)
{
    static const char *const marks[] = {"no such column: ", "no such table: ", "no such function: "};
    const char              *words[400], *near;
    char                     word[64] = "", text[sizeof err->text], more[200] = "";
    const bool               is_table = strstr(err->text, marks[1]) != NULL;
    size_t                   n;

    for (size_t i = 0; i < HU_COUNT(marks); i++) {
        const char *at = strstr(err->text, marks[i]);
        const char *dot = at ? strrchr(at, '.') : NULL;

        if (at)
            snprintf(word, sizeof word, "%s", dot ? dot + 1 : at + strlen(marks[i]));
    }
    if (strncmp(err->text, "traces are", 10) == 0)
        return;
    n = is_table ? 0 : hu_query_tables_with(word, words, HU_COUNT(words));
    for (size_t i = 0; i < n && i < MOST_OWNERS; i++)
        snprintf(more + strlen(more), sizeof more - strlen(more), "%s%s", i ? ", " : "there is one in ", words[i]);
    if (n > 0)
        snprintf(more + strlen(more), sizeof more - strlen(more), "%s; ", n > MOST_OWNERS ? " …" : "");
    near = word[0] && n == 0 ? hu_options_suggest(word, words, hu_query_words(is_table, words, HU_COUNT(words))) : NULL;
    if (near)
        snprintf(more, sizeof more, "did you mean %s? ", near);
    snprintf(text, sizeof text, "%.300s; %sholdup query --schema lists tables and columns", err->text, more);
    memcpy(err->text, text, sizeof text);
}

static int answer(const options *o, const hu_traces *traces, hu_str sql, hu_out *out, hu_arena *arena, hu_error *err)
{
    face          f = {.o = o, .out = out, .arena = arena};
    hu_query_sink sink = {&f, text_head, text_row};
    hu_query     *q = hu_query_open(traces->at, traces->n, &traces->unread, err);
    int           rc;

    if (!q)
        return err->code;
    if (o->shared.json)
        sink = (hu_query_sink){&f, json_head, json_row};
    else if (o->shared.csv)
        sink = (hu_query_sink){&f, csv_head, csv_row};
    rc = hu_query_run(q, sql, &sink, err);
    if (rc == HU_EUSAGE)
        add_hint(err);
    if (rc == 0 && o->shared.json)
        hu_json_close(&f.json, ']');
    if (rc == 0 && f.no_memory)
        rc = f.n == 0 && !o->shared.json && !o->shared.csv
                 ? hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "more than %d columns; use --csv for so many", MOST_COLUMNS)
                 : hu_fail_memory(err);
    if (rc == 0 && !o->shared.json && !o->shared.csv && !f.is_laid_out)
        lay_out(&f);
    if (rc == 0 && !o->shared.json && !o->shared.csv && f.n_rows == 0)
        hu_out_text(out, "(0 rows)\n");
    hu_query_close(q);
    return rc;
}

static int write_answer(const options *o, const hu_traces *traces, hu_arena *arena)
{
    hu_error err = {0};
    hu_out  *out = hu_output_open(o->shared.output, &err);
    int      rc;

    if (!out)
        return hu_command_fail(&err);
    rc = answer(o, traces, o->sql, out, arena, &err);
    if (rc < 0) {
        hu_out_abandon(out);
        return hu_command_fail(&err);
    }
    rc = hu_out_close(out, &err);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    hu_traces      traces;
    int            status = hu_read_traces(&call->inputs, o->shared.limits, o->shared.quiet, call->arena, &traces);

    if (status)
        return status;
    status = write_answer(o, &traces, call->arena);
    hu_traces_free(&traces);
    return hu_strict_status(o->shared.strict, &traces.unread, &traces.partial, status);
}

enum { MOST_SQL = 1 << 20 };

/* The statement is in a file, or the last word. */
static int take_statement(hu_cli_call *call, hu_error *err)
{
    options *o = call->options;

    if (!o->file && call->n < 2)
        return hu_command_fail_words(call, err);
    o->sql = o->file ? hu_text_file_read(o->file, MOST_SQL, call->arena, err) : hu_str_of(call->argv[--call->n]);
    return err->code;
}

const hu_command hu_command_query = {
    .name = "query",
    .group = HU_GROUP_INSIDE,
    .summary = "run SQL over traces, for questions that report does not answer",
    .usage = "[options] FILE|DIRECTORY|- ... 'SELECT ...'",
    .about = "Presents traces as SQL tables (slice, op, call, kernel, memcpy, collective, step,\n"
             "memory and more) and runs one SELECT over them, without changing or copying the\n"
             "data.  Times are whole nanoseconds; unknown values are NULL.",
    .examples = "  holdup query --schema\n"
                "  holdup query trace.json.gz 'select name, count(*), sum(dur_ns) from kernel\n"
                "                              group by name order by 3 desc limit 10'\n"
                "  holdup query run/ --csv --file question.sql",
    .wants = "a trace and a statement",
    .example = "holdup query trace.json.gz 'select name, dur_ns from kernel'",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_JSON | HU_SHARED_CSV | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .closer = (const hu_option_help[]){{"json", "write rows as an array of JSON objects"},
                                       {"csv", "write rows as CSV"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .excludes = (const hu_option_pair[]){{"json", "csv"}, {NULL, NULL}},
    .lists = (const hu_listing[]){{offsetof(options, schema), hu_query_write_schema, hu_query_write_schema_csv,
                                   hu_query_write_schema_json},
                                  {0, NULL}},
    .check = take_statement,
    .run = run,
};
