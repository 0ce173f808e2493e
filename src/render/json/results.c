/* SPDX-License-Identifier: Apache-2.0
 * results.c - results of benchmarks and memory over time, for programs (docs/formats/results.md). */
#include "render/results.h"

#include <math.h>

static void put_count(hu_json_out *j, const char *key, int64_t n)
{
    if (n < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, n);
}

static void put_row(hu_json_out *j, const hu_result *r)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", r->name);
    hu_json_str(j, "unit", hu_str_of(hu_result_units[r->kind]));
    hu_results_put(j, "median", r->median);
    hu_results_put(j, "q1", r->q1);
    hu_results_put(j, "q3", r->q3);
    hu_results_put(j, "min", r->least);
    hu_results_put(j, "max", r->most);
    put_count(j, "rounds", r->rounds);
    put_count(j, "outliers", r->outliers);
    hu_json_close(j, '}');
}

static void put_memory(hu_json_out *j, const hu_memory_curve *m)
{
    const hu_memory_call *call = hu_results_call_at_peak(m);

    if (m->n_samples == 0) {
        hu_json_null(j, "memory");
        return;
    }
    hu_json_open(j, "memory", '{');
    hu_json_str(j, "command", m->command);
    hu_json_int(j, "samples", m->n_samples);
    hu_json_fixed(j, "seconds", (double)(m->last_ns - m->first_ns) / 1e9, 4);
    hu_json_fixed(j, "first_bytes", m->first, 0);
    hu_json_fixed(j, "last_bytes", m->last, 0);
    hu_json_fixed(j, "peak_bytes", m->peak, 0);
    hu_json_fixed(j, "peak_after_s", (double)(m->peak_ns - m->first_ns) / 1e9, 4);
    hu_json_str(j, "peak_in", call ? call->name : HU_STR(""));
    hu_json_int(j, "children", m->n_children);
    hu_json_fixed(j, "child_peak_bytes", m->n_children ? m->child_peak : (double)NAN, 0);
    hu_json_open(j, "calls", '[');
    for (size_t i = 0; i < m->calls.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "function", m->calls.at[i].name);
        hu_json_int(j, "depth", m->calls.at[i].depth);
        hu_json_fixed(j, "before_bytes", m->calls.at[i].from, 0);
        hu_json_fixed(j, "after_bytes", m->calls.at[i].to, 0);
        hu_json_fixed(j, "seconds", (double)(m->calls.at[i].to_ns - m->calls.at[i].from_ns) / 1e9, 4);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_results_json(const hu_results *files, size_t n, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("results"));
    hu_json_open(&j, "files", '[');
    for (size_t i = 0; i < n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "file", files[i].file);
        hu_json_str(&j, "tool", files[i].tool);
        hu_json_str(&j, "about", files[i].about);
        hu_json_int(&j, "without_result", files[i].n_failed);
        hu_json_int(&j, "lines_left_out", files[i].n_bad);
        hu_json_open(&j, "benchmarks", '[');
        for (size_t k = 0; k < files[i].rows.n; k++)
            put_row(&j, &files[i].rows.at[k]);
        hu_json_close(&j, ']');
        put_memory(&j, &files[i].memory);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
