/* SPDX-License-Identifier: Apache-2.0
 * results.c - forms of JSON with the results of benchmarks; others are in results_rounds.c and results_csv.c.
 *
 *     pytest-benchmark   {"machine_info", "benchmarks": [{"fullname", "stats": {"median", "q1", "q3", …}}]}   seconds
 *     asv                {"result_columns", "results": {"name": [[values], [[parameters]], …]}}   by columns
 *     TorchBench         {"name", "environ": {"pytorch_git_version"}, "metrics": {"name": value}}
 *
 * Traps: asv leaves out the columns at the end of a row that are empty, a benchmark with parameters has a value for each
 * combination, and what its numbers are is told by its name alone.
 */
#include <math.h>
#include <stdio.h>

#include "ingest/results_parts.h"

enum { PROBED = 65536, MOST_ROWS = 100000, MOST_NAME = 256, MOST_PARAMETERS = 8 };

bool hu_results_probe(hu_str head)
{
    const hu_str text = {head.p, head.n < PROBED ? head.n : PROBED};

    if (hu_mprof_probe(head) || hu_results_probe_dynamo(head))
        return true;
    if (text.n == 0 || text.p[0] != '{' || hu_str_has(text, HU_STR("\"traceEvents\"")))
        return false;
    if ((hu_str_has(text, HU_STR("\"library_build_type\"")) || hu_str_has(text, HU_STR("\"mhz_per_cpu\""))) &&
        hu_str_has(text, HU_STR("\"benchmarks\"")))
        return true;
    if (hu_str_has(text, HU_STR("\"results\"")) && hu_str_has(text, HU_STR("\"command\"")) &&
        hu_str_has(text, HU_STR("\"stddev\"")) && hu_str_has(text, HU_STR("\"times\"")))
        return true;
    return (hu_str_has(text, HU_STR("\"machine_info\"")) && hu_str_has(text, HU_STR("\"benchmarks\""))) ||
           hu_str_has(text, HU_STR("\"result_columns\"")) ||
           (hu_str_has(text, HU_STR("\"pytorch_git_version\"")) && hu_str_has(text, HU_STR("\"metrics\"")));
}

double hu_results_number(const hu_value *v)
{
    if (v && v->type == HU_VALUE_REAL && fabs(v->real) < 1e18)
        return v->real;
    return v && v->type == HU_VALUE_INT ? (double)v->integer : (double)NAN;
}

hu_result hu_result_new(void)
{
    const double nan = (double)NAN;

    return (hu_result){.median = nan, .q1 = nan, .q3 = nan, .least = nan, .most = nan, .rounds = -1, .outliers = -1};
}

bool hu_results_add(hu_results *out, hu_str name, hu_result r, hu_arena *arena)
{
    if (out->rows.n == MOST_ROWS)
        return true;
    if (isnan(r.median)) {
        out->n_failed++;
        return true;
    }
    r.name = hu_arena_copy(arena, (hu_str){name.p, name.n < MOST_NAME ? name.n : MOST_NAME});
    return r.name.p && hu_vec_push(arena, &out->rows, r);
}

/* pytest-benchmark */

static bool take_pytest(const hu_value *root, hu_arena *arena, hu_results *out)
{
    const hu_value *list = hu_value_get(root, "benchmarks");

    out->tool = HU_STR("pytest-benchmark");
    out->about = hu_value_text(hu_value_get(root, "datetime"));
    for (size_t i = 0; i < hu_value_count(list); i++) {
        const hu_value *one = hu_value_at(list, i), *stats = hu_value_get(one, "stats");
        const hu_str    whole = hu_value_text(hu_value_get(one, "fullname"));
        hu_result       r = hu_result_new();

        r.kind = HU_RESULT_TIME;
        r.median = hu_results_number(hu_value_get(stats, "median")) * 1e9;
        r.q1 = hu_results_number(hu_value_get(stats, "q1")) * 1e9;
        r.q3 = hu_results_number(hu_value_get(stats, "q3")) * 1e9;
        r.least = hu_results_number(hu_value_get(stats, "min")) * 1e9;
        r.most = hu_results_number(hu_value_get(stats, "max")) * 1e9;
        r.rounds = hu_value_int(hu_value_get(stats, "rounds"), -1);
        r.outliers = hu_value_int(hu_value_get(stats, "iqr_outliers"), -1);
        if (!hu_results_add(out, whole.n ? whole : hu_value_text(hu_value_get(one, "name")), r, arena))
            return false;
    }
    return true;
}

/* asv */

static size_t column_of(const hu_value *columns, const char *name)
{
    for (size_t i = 0; i < hu_value_count(columns); i++)
        if (hu_str_equal(hu_value_text(hu_value_at(columns, i)), hu_str_of(name)))
            return i;
    return SIZE_MAX;
}

/* Value `i` of a column, which may be a list or, in old files, one number. */
static double cell(const hu_value *row, size_t column, size_t i)
{
    const hu_value *v = hu_value_at(row, column);

    return hu_results_number(v && v->type == HU_VALUE_LIST ? hu_value_at(v, i) : i == 0 ? v : NULL);
}

/* "suite.Class.time_add": its last word says what it measures. */
static hu_result_kind kind_of(hu_str name)
{
    const char  *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
    const hu_str last = dot ? (hu_str){dot + 1, (size_t)(name.p + name.n - dot) - 1} : name;

    if (hu_str_starts_with(last, "time") || hu_str_starts_with(last, "timeraw"))
        return HU_RESULT_TIME;
    return hu_str_starts_with(last, "mem") || hu_str_starts_with(last, "peakmem") ? HU_RESULT_BYTES : HU_RESULT_NUMBER;
}

/* "name(a, b)" with the parameters of combination `i`, of which the last one changes first. */
static hu_str name_of(hu_str name, const hu_value *parameters, size_t i, char room[MOST_NAME])
{
    const size_t depth = hu_value_count(parameters);
    size_t       of[MOST_PARAMETERS], n;

    if (depth == 0 || depth > MOST_PARAMETERS)
        return name;
    for (size_t k = depth; k-- > 0;) {
        const size_t many = hu_value_count(hu_value_at(parameters, k));

        of[k] = many ? i % many : 0;
        i = many ? i / many : i;
    }
    n = (size_t)snprintf(room, MOST_NAME, "%.*s", (int)(name.n < 128 ? name.n : 128), name.p);
    for (size_t k = 0; k < depth && n + 2 < MOST_NAME; k++) {
        const hu_str text = hu_value_text(hu_value_at(hu_value_at(parameters, k), of[k]));

        n += (size_t)snprintf(room + n, MOST_NAME - n, "%s%.*s%s", k ? ", " : "(", (int)(text.n < 64 ? text.n : 64), text.p,
                              k + 1 == depth ? ")" : "");
    }
    return (hu_str){room, n < MOST_NAME ? n : MOST_NAME - 1};
}

static bool take_asv(const hu_value *root, hu_arena *arena, hu_results *out)
{
    const hu_value *columns = hu_value_get(root, "result_columns"), *results = hu_value_get(root, "results");
    const size_t    value = column_of(columns, "result"), parameters = column_of(columns, "params"),
                 q1 = column_of(columns, "stats_q_25"), q3 = column_of(columns, "stats_q_75"),
                 repeat = column_of(columns, "stats_repeat");

    out->tool = HU_STR("asv");
    out->about = hu_value_text(hu_value_get(root, "commit_hash"));
    for (size_t i = 0; results && results->type == HU_VALUE_DICT && i + 1 < results->n; i += 2) {
        const hu_str    name = hu_value_text(results->items[i]);
        const hu_value *row = results->items[i + 1], *list = hu_value_at(row, value);
        const size_t    n = list && list->type == HU_VALUE_LIST ? hu_value_count(list) : 1;

        for (size_t k = 0; k < n; k++) {
            hu_result    r = hu_result_new();
            char         room[MOST_NAME];
            const double by = (r.kind = kind_of(name)) == HU_RESULT_TIME ? 1e9 : 1, times = cell(row, repeat, k);

            r.median = cell(row, value, k) * by;
            r.q1 = cell(row, q1, k) * by;
            r.q3 = cell(row, q3, k) * by;
            r.rounds = times >= 0 && times < 1e15 ? (int64_t)times : -1;
            if (!hu_results_add(out, name_of(name, hu_value_at(row, parameters), k, room), r, arena))
                return false;
        }
    }
    return true;
}

/* TorchBench */

static bool take_torchbench(const hu_value *root, hu_arena *arena, hu_results *out)
{
    const hu_value *metrics = hu_value_get(root, "metrics");

    out->tool = HU_STR("TorchBench");
    out->about = hu_value_text(hu_value_get(hu_value_get(root, "environ"), "pytorch_git_version"));
    for (size_t i = 0; metrics && metrics->type == HU_VALUE_DICT && i + 1 < metrics->n; i += 2) {
        hu_result r = hu_result_new();

        r.kind = HU_RESULT_NUMBER;
        r.median = hu_results_number(metrics->items[i + 1]);
        if (!hu_results_add(out, hu_value_text(metrics->items[i]), r, arena))
            return false;
    }
    return true;
}

static int check_any(const hu_input *in, const hu_results *out, hu_error *err)
{
    if (out->rows.n == 0 && out->n_failed == 0)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET, "results of %.*s without a single benchmark",
                       HU_FMT(out->tool));
    return 0;
}

int hu_results_read(hu_input *in, hu_arena *arena, hu_results *out, hu_error *err)
{
    const hu_value *root;
    hu_str          bytes;
    bool            has_memory;
    int             rc;

    *out = (hu_results){.file = hu_str_of(hu_input_name(in)), .tool = HU_STR(""), .about = HU_STR("")};
    if (hu_mprof_probe(hu_input_head(in)))
        return hu_mprof_read(in, arena, out, err);
    rc = hu_input_read_whole(in, arena, &bytes, err);
    if (rc == 0 && hu_results_probe_dynamo(bytes)) {
        rc = hu_results_read_dynamo(bytes, arena, out, err);
        return rc < 0 ? rc : check_any(in, out, err);
    }
    root = rc == 0 ? hu_json_value_read(bytes, hu_input_name(in), hu_input_limits(in), arena, err) : NULL;
    if (!root)
        return rc < 0 ? rc : err ? err->code : HU_EFORMAT;
    has_memory = hu_value_get(root, "result_columns") ? take_asv(root, arena, out)
                 : hu_value_get(root, "machine_info") ? take_pytest(root, arena, out)
                 : hu_value_get(root, "benchmarks")   ? hu_results_take_google(root, arena, out)
                 : hu_value_get(root, "results")      ? hu_results_take_hyperfine(root, arena, out)
                                                      : take_torchbench(root, arena, out);
    if (!has_memory)
        return hu_fail_memory(err);
    return check_any(in, out, err);
}

int hu_results_read_path(const char *path, const hu_limits *limits, hu_arena *arena, hu_results *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_results_read(in, arena, out, err);
    out->file = hu_str_of(path);
    hu_input_close(in);
    return rc;
}
