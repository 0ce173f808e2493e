/* SPDX-License-Identifier: Apache-2.0
 * results_rounds.c - benchmarks whose file has every round, of which the quartiles are computed here.
 *
 *     Google Benchmark   {"context", "benchmarks": [{"run_name", "run_type": "iteration", "real_time", "time_unit"}, …]}
 *     hyperfine          {"results": [{"command", "median", "times": [seconds, …]}]}
 *
 * Trap: Google Benchmark has an entry for each repetition, and with only aggregates none of them but the median.
 */
#include <math.h>
#include <stdlib.h>

#include "ingest/results_parts.h"

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double middle(const double *at, size_t n)
{
    return n == 0 ? (double)NAN : n % 2 ? at[n / 2] : (at[n / 2 - 1] + at[n / 2]) / 2;
}

void hu_result_take_rounds(hu_result *r, double *rounds, size_t n)
{
    if (n == 0)
        return;
    qsort(rounds, n, sizeof *rounds, by_value);
    r->median = middle(rounds, n);
    r->q1 = n > 1 ? middle(rounds, n / 2) : rounds[0];
    r->q3 = n > 1 ? middle(rounds + (n + 1) / 2, n / 2) : rounds[0];
    r->least = rounds[0];
    r->most = rounds[n - 1];
    r->rounds = (int64_t)n;
}

static double unit_ns(hu_str unit)
{
    return hu_str_equal(unit, HU_STR("us"))   ? 1e3
           : hu_str_equal(unit, HU_STR("ms")) ? 1e6
           : hu_str_equal(unit, HU_STR("s"))  ? 1e9
                                              : 1;
}

static hu_str run_name(const hu_value *one)
{
    const hu_str name = hu_value_text(hu_value_get(one, "run_name"));

    return name.n ? name : hu_value_text(hu_value_get(one, "name"));
}

static bool has_word(const hu_value *one, const char *key, const char *word)
{
    return hu_str_equal(hu_value_text(hu_value_get(one, key)), hu_str_of(word));
}

/* Repetitions of a benchmark, and what was computed of them, follow one another. */
bool hu_results_take_google(const hu_value *root, hu_arena *arena, hu_results *out)
{
    const hu_value *list = hu_value_get(root, "benchmarks");
    const size_t    n = hu_value_count(list);
    double         *rounds = hu_arena_alloc(arena, (n + 1) * sizeof *rounds);

    out->tool = HU_STR("Google Benchmark");
    out->about = hu_value_text(hu_value_get(hu_value_get(root, "context"), "date"));
    for (size_t i = 0, end; rounds && i < n; i = end) {
        const hu_str name = run_name(hu_value_at(list, i));
        hu_result    r = hu_result_new();
        size_t       n_rounds = 0;

        r.kind = HU_RESULT_TIME;
        for (end = i; end < n && hu_str_equal(run_name(hu_value_at(list, end)), name); end++) {
            const hu_value *one = hu_value_at(list, end);
            const double    ns = hu_results_number(hu_value_get(one, "real_time")) *
                              unit_ns(hu_value_text(hu_value_get(one, "time_unit")));

            if (has_word(one, "aggregate_name", "median"))
                r.median = ns;
            else if (!hu_value_get(one, "aggregate_name") && !hu_value_get(one, "error_message") && ns >= 0)
                rounds[n_rounds++] = ns;
        }
        hu_result_take_rounds(&r, rounds, n_rounds);
        if (!hu_results_add(out, name, r, arena))
            return false;
    }
    return rounds != NULL;
}

bool hu_results_take_hyperfine(const hu_value *root, hu_arena *arena, hu_results *out)
{
    const hu_value *list = hu_value_get(root, "results");

    out->tool = HU_STR("hyperfine");
    for (size_t i = 0; i < hu_value_count(list); i++) {
        const hu_value *one = hu_value_at(list, i), *times = hu_value_get(one, "times");
        const size_t    n = hu_value_count(times);
        double         *rounds = hu_arena_alloc(arena, (n + 1) * sizeof *rounds);
        hu_result       r = hu_result_new();
        size_t          n_rounds = 0;

        if (!rounds)
            return false;
        r.kind = HU_RESULT_TIME;
        r.median = hu_results_number(hu_value_get(one, "median")) * 1e9;
        for (size_t k = 0; k < n; k++) {
            const double ns = hu_results_number(hu_value_at(times, k)) * 1e9;

            if (ns >= 0)
                rounds[n_rounds++] = ns;
        }
        hu_result_take_rounds(&r, rounds, n_rounds);
        if (!hu_results_add(out, hu_value_text(hu_value_get(one, "command")), r, arena))
            return false;
    }
    return true;
}
