/* SPDX-License-Identifier: Apache-2.0
 * operation_rows.c - what spreadsheets, pandas and pyarrow write: a line of names, then a line for each operation.
 *
 * Traps: fields may stand in quotes, with the quotes inside of them doubled; lines may end in CR LF; the text may begin
 * with a byte order mark; an absent number is an empty field or nan; a column of whole numbers that once held an absent
 * one is written as 3.0.  Times are read as decimals, so that seconds since 1970 keep their nanoseconds.
 */
#include "ingest/operation_rows.h"

#include <math.h>

#include "base/number.h"

enum { MOST_COLUMNS = 256, LONGEST_LINE = 1 << 20 };

/* Beyond 73 years on either side a time is in another unit than was told. */
static const int64_t FARTHEST_NS = INT64_C(1) << 61;

/* clang-format off */
typedef enum {
    C_DP, C_STAGE, C_STEP, C_KIND, C_START, C_DURATION, C_END, C_RANK, C_SEQUENCE, C_CHUNK, C_MODEL_CHUNK, C_MICROBATCH,
    C_COUNT, C_OTHER = C_COUNT
} column;
/* clang-format on */

static const struct {
    const char *name;
    column      column;
    /* clang-format off */
} names[] = {
    {"dp_rank", C_DP},     {"stage", C_STAGE},       {"step", C_STEP},   {"optype", C_KIND},      {"start_ts", C_START},
    {"duration", C_DURATION}, {"end_ts", C_END},     {"rank", C_RANK},   {"seq_id", C_SEQUENCE},  {"mc", C_CHUNK},
    {"gmc", C_MODEL_CHUNK},   {"mb_id", C_MICROBATCH},
};
/* clang-format on */

typedef struct {
    hu_input      *in;
    hu_arena      *arena;
    hu_error      *err;
    hu_operations *out;
    size_t         before; /* rows of files that were read earlier */
    int            power;
    char           separator;
    column         columns[MOST_COLUMNS];
    size_t         n_columns;
    uint64_t       line, offset; /* of the line at hand: its number from 1, its first byte */
} reader;

static int wrong(reader *r, const char *what, hu_str field, const char *advice)
{
    return hu_fail(r->err, HU_EFORMAT, hu_input_name(r->in), (int64_t)r->offset, "line %llu: %s \"%.*s\"; %s",
                   (unsigned long long)r->line, what, field.n > 60 ? 60 : (int)field.n, field.p, advice);
}

/*
 * Takes the next field of *rest.  Quotes around it go; doubled quotes inside stay, because no word that matters has any.
 * False when the line is at its end, or *open says that a quote was not closed.
 */
static bool next_field(hu_str *rest, char separator, hu_str *field, bool *more, bool *open)
{
    const char *p = rest->p, *end = rest->p + rest->n, *q;

    if (!*more)
        return false;
    if (p < end && *p == '"') {
        for (q = p + 1; q < end && (*q != '"' || (q + 1 < end && q[1] == '"')); q++)
            q += *q == '"';
        if (q >= end) {
            *open = true;
            return false;
        }
        *field = (hu_str){p + 1, (size_t)(q - p - 1)};
        q++;
    } else {
        q = memchr(p, separator, (size_t)(end - p));
        q = q ? q : end;
        *field = (hu_str){p, (size_t)(q - p)};
    }
    *more = q < end && *q == separator;
    if (q < end && *q != separator) { /* text behind a closing quote */
        *open = true;
        return false;
    }
    q += *more;
    *rest = (hu_str){q, (size_t)(end - q)};
    return true;
}

static bool is_absent(hu_str s)
{
    return s.n == 0 || hu_str_equal(s, HU_STR("nan")) || hu_str_equal(s, HU_STR("NaN")) || hu_str_equal(s, HU_STR("<NA>")) ||
           hu_str_equal(s, HU_STR("None")) || hu_str_equal(s, HU_STR("null"));
}

static int missing_column(reader *r)
{
    static const char *const advice = "the first line must name dp_rank, stage, step, optype, start_ts and duration";
    bool                     has[C_COUNT + 1] = {false};

    for (size_t i = 0; i < r->n_columns; i++) {
        if (r->columns[i] != C_OTHER && has[r->columns[i]])
            return hu_fail(r->err, HU_EFORMAT, hu_input_name(r->in), 0, "line 1: two columns have the same name; keep one");
        has[r->columns[i]] = true;
    }
    has[C_DURATION] |= has[C_END];
    for (column c = C_DP; c <= C_DURATION; c++)
        if (!has[c])
            return hu_fail(r->err, HU_EFORMAT, hu_input_name(r->in), 0, "line 1: no column %s; %s", names[c].name, advice);
    return 0;
}

static int read_header(reader *r, hu_str line)
{
    hu_str field;
    bool   more = true, open = false;

    if (hu_str_starts(line, HU_STR("\xef\xbb\xbf")))
        line = (hu_str){line.p + 3, line.n - 3};
    r->separator = line.n && memchr(line.p, '\t', line.n) ? '\t' : ',';
    while (next_field(&line, r->separator, &field, &more, &open)) {
        field = hu_str_trim(field);
        if (r->n_columns == MOST_COLUMNS)
            return hu_fail(r->err, HU_ELIMIT, hu_input_name(r->in), 0,
                           "line 1: more than %d columns; drop those that are not about operations", MOST_COLUMNS);
        r->columns[r->n_columns] = C_OTHER;
        for (size_t i = 0; i < HU_COUNT(names); i++)
            if (hu_str_equal(field, hu_str_of(names[i].name)))
                r->columns[r->n_columns] = names[i].column;
        r->n_columns++;
    }
    if (open)
        return hu_fail(r->err, HU_EFORMAT, hu_input_name(r->in), 0, "line 1: unclosed quote; fix the column names");
    return missing_column(r);
}

/* A whole number, also as 3.0. */
static bool read_whole(hu_str s, int64_t *out)
{
    double value;

    if (hu_parse_i64(s, out))
        return true;
    if (!hu_parse_f64(s, &value) || value != floor(value) || fabs(value) > 9e15)
        return false;
    *out = (int64_t)value;
    return true;
}

/* Numbers that may be absent, or -1, which says the same. */
static int read_optional(reader *r, hu_str field, const char *name, int64_t most, int32_t *out)
{
    int64_t value = -1;

    if (!is_absent(field) && !read_whole(field, &value))
        return wrong(r, name, field, "is not a whole number; leave it empty where it is unknown");
    if (value > most)
        return wrong(r, name, field, "is implausibly large; is it the right column?");
    *out = value < 0 ? -1 : (int32_t)value;
    return 0;
}

static int read_place(reader *r, hu_str field, const char *name, int64_t end, uint32_t *out)
{
    int64_t value;

    if (!read_whole(field, &value) || value < 0)
        return wrong(r, name, field, "must be a whole number of at least 0");
    if (value >= end)
        return hu_fail(r->err, HU_ELIMIT, hu_input_name(r->in), (int64_t)r->offset,
                       "line %llu: %s %lld exceeds the maximum of %lld; is it the right column?",
                       (unsigned long long)r->line, name, (long long)value, (long long)end);
    *out = (uint32_t)value;
    return 0;
}

static int read_time(reader *r, hu_str field, const char *name, int64_t *out)
{
    if (!hu_parse_scaled(field, r->power, out))
        return wrong(r, name, field, "is not a time; drop the row, or see --unit");
    if (*out > FARTHEST_NS || *out < -FARTHEST_NS)
        return wrong(r, name, field, "is more than 73 years; set the unit of times with --unit");
    return 0;
}

static void count_unknown(reader *r, hu_str kind)
{
    if (r->out->unknown_rows++)
        return;
    if (kind.n >= sizeof r->out->unknown_kind)
        kind.n = sizeof r->out->unknown_kind - 1;
    if (kind.n)
        memcpy(r->out->unknown_kind, kind.p, kind.n);
    r->out->unknown_kind[kind.n] = '\0';
}

static int read_column(reader *r, column c, hu_str field, hu_operation *op, int64_t *end_ns)
{
    int64_t whole;

    switch (c) {
    case C_DP:
        return read_place(r, field, "dp_rank", HU_OPERATIONS_DP, &op->dp);
    case C_STAGE:
        return read_place(r, field, "stage", HU_OPERATIONS_STAGES, &op->stage);
    case C_STEP:
        if (!read_whole(field, &whole))
            return wrong(r, "step", field, "must be a whole number");
        op->step = whole;
        return 0;
    case C_KIND:
        op->kind = (uint8_t)hu_operation_find(field);
        if (op->kind == HU_OPERATION_COUNT)
            count_unknown(r, field);
        return 0;
    case C_START:
        return read_time(r, field, "start_ts", &op->start_ns);
    case C_DURATION:
        return read_time(r, field, "duration", &op->duration_ns);
    case C_END:
        return read_time(r, field, "end_ts", end_ns);
    case C_RANK:
        return read_optional(r, field, "rank", INT32_MAX, &op->rank);
    case C_SEQUENCE:
        return read_optional(r, field, "seq_id", INT32_MAX, &op->sequence);
    case C_CHUNK:
        return read_optional(r, field, "mc", HU_OPERATIONS_CHUNKS - 1, &op->chunk);
    case C_MODEL_CHUNK:
        return read_optional(r, field, "gmc", HU_OPERATIONS_CHUNKS * HU_OPERATIONS_STAGES - 1, &op->model_chunk);
    case C_MICROBATCH:
        return read_optional(r, field, "mb_id", INT32_MAX, &op->microbatch);
    default:
        return 0;
    }
}

static int read_row(reader *r, hu_str line)
{
    hu_operation op = {.rank = -1,
                       .sequence = -1,
                       .chunk = -1,
                       .model_chunk = -1,
                       .microbatch = -1,
                       .line = (uint32_t)r->line,
                       .duration_ns = INT64_MIN,
                       .kind = HU_OPERATION_COUNT};
    const hu_str whole = line;
    int64_t      end_ns = INT64_MIN;
    size_t       n = 0;
    hu_str       field;
    bool         more = true, open = false;
    int          rc;

    for (; next_field(&line, r->separator, &field, &more, &open); n++) {
        if (n == r->n_columns)
            return wrong(r, "more fields than the first line names:", whole, "quote fields that contain a separator");
        if ((rc = read_column(r, r->columns[n], hu_str_trim(field), &op, &end_ns)) < 0)
            return rc;
    }
    if (open)
        return wrong(r, "unclosed quote:", whole, "fields cannot contain line ends");
    if (n < r->n_columns)
        return wrong(r, "fewer fields than the first line names:", whole, "write the row again, or drop it");
    if (op.kind == HU_OPERATION_COUNT)
        return 0;
    if (op.duration_ns == INT64_MIN)
        op.duration_ns = end_ns - op.start_ns;
    if (op.duration_ns < 0)
        return wrong(r, "an operation ends before it starts:", whole, "fix its times, or drop the row");
    if ((int64_t)r->out->n >= hu_input_limits(r->in)->events || r->out->n >= UINT32_MAX / 2)
        return hu_fail(r->err, HU_ELIMIT, hu_input_name(r->in), (int64_t)r->offset,
                       "more than %lld rows; raise it with --limit events=N", (long long)hu_input_limits(r->in)->events);
    return hu_vec_push(r->arena, r->out, op) ? 0 : hu_fail_memory(r->err);
}

static int read_line(reader *r, hu_str line)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (++r->line > 1 && line.n == 0) /* empty lines mean nothing */
        return 0;
    return r->line == 1 ? read_header(r, line) : read_row(r, line);
}

/* What is left without a line end: a whole row, or the beginning of one. */
static int read_rest(reader *r, hu_str rest)
{
    const size_t n = r->out->n;
    int          rc;

    if ((rest.n == 0 && r->line > 0) || hu_input_status(r->in, NULL) < 0)
        return 0;
    if (rest.n == 0)
        return hu_fail(r->err, HU_EEMPTY, hu_input_name(r->in), 0, "the file is empty; was the job's table written?");
    rc = read_line(r, rest);
    if (rc == HU_EFORMAT && n > r->before) {
        r->out->is_cut = true;
        if (r->err)
            *r->err = (hu_error){0};
        return 0;
    }
    return rc;
}

static int finish(reader *r)
{
    hu_error broken = {0};

    if (hu_input_status(r->in, &broken) < 0) {
        if (r->out->n == r->before) {
            if (r->err)
                *r->err = broken;
            return broken.code;
        }
        r->out->is_cut = true;
    }
    if (r->out->n == r->before && r->out->unknown_rows)
        return hu_fail(r->err, HU_EEMPTY, hu_input_name(r->in), HU_NO_OFFSET,
                       "no row is of a known kind, the first is \"%s\"; docs/stragglers.md lists the kinds",
                       r->out->unknown_kind);
    if (r->out->n == r->before)
        return hu_fail(r->err, HU_EEMPTY, hu_input_name(r->in), HU_NO_OFFSET,
                       "no rows after the column names; was the job's table written completely?");
    return 0;
}

int hu_operation_rows_read(hu_input *in, int power, hu_arena *arena, hu_operations *out, hu_error *err)
{
    reader  r = {.in = in, .arena = arena, .err = err, .out = out, .before = out->n, .power = power};
    hu_span span = {0};
    size_t  keep = 0;
    int     rc;

    if (hu_str_starts(hu_input_head(in), HU_STR("PAR1")))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), 0,
                       "this is a Parquet file; write it as CSV first: python3 -c "
                       "\"import pandas as p; p.read_parquet('IN').to_csv('OUT', index=False)\"");
    do {
        const char *p, *end, *newline;

        if ((rc = hu_input_next(in, keep, &span, err)) < 0)
            return rc;
        for (p = span.p, end = p + span.n; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
            r.offset = span.offset + (uint64_t)(p - span.p);
            if ((rc = read_line(&r, (hu_str){p, (size_t)(newline - p)})) < 0)
                return rc;
        }
        keep = (size_t)(end - p);
        r.offset = span.offset + (uint64_t)(p - span.p);
        if (keep > LONGEST_LINE)
            return hu_fail(err, HU_ELIMIT, hu_input_name(in), (int64_t)r.offset,
                           "line %llu: longer than %d KiB; is this a "
                           "table of operations",
                           (unsigned long long)r.line + 1, LONGEST_LINE / 1024);
        if (span.is_last && (rc = read_rest(&r, (hu_str){p, keep})) < 0)
            return rc;
    } while (!span.is_last);
    return finish(&r);
}
