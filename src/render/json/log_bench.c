/* SPDX-License-Identifier: Apache-2.0
 * log_bench.c - tests of collectives for programs (docs/formats/nccl-tests.md). */
#include <math.h>

#include "render/log_bench.h"

static void write_place(hu_json_out *j, const hu_bench_row *row, const char *key, unsigned place)
{
    hu_json_open(j, key, '{');
    hu_json_ns(j, "time_ns", row->ns[place]);
    hu_json_fixed(j, "alg_gbps", row->algbw[place], 3);
    hu_json_fixed(j, "bus_gbps", row->busbw[place], 3);
    hu_json_fixed(j, "wrong", row->wrong[place], 0);
    hu_json_close(j, '}');
}

static void write_rows(hu_json_out *j, const hu_log_bench *t)
{
    hu_json_open(j, "sizes", '[');
    for (size_t i = 0; i < t->rows.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_int(j, "bytes", t->rows.at[i].bytes);
        hu_json_int(j, "line", (int64_t)t->rows.at[i].line);
        write_place(j, &t->rows.at[i], "out_of_place", HU_BENCH_OUT);
        write_place(j, &t->rows.at[i], "in_place", HU_BENCH_IN);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_fit(hu_json_out *j, const hu_fit *fit)
{
    hu_json_open(j, "lines", '[');
    for (size_t i = 0; i < fit->n; i++) {
        const hu_fit_piece *p = &fit->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_fixed(j, "from_bus_bytes", p->from_bytes, 0);
        hu_json_fixed(j, "to_bus_bytes", p->to_bytes, 0);
        hu_json_fixed(j, "alpha_ns", p->alpha_ns, 1);
        hu_json_fixed(j, "beta_gbps", p->ns_per_byte > 0 ? 1 / p->ns_per_byte : (double)NAN, 3);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_fixed(j, "fit_error", fit->n ? fit->error : (double)NAN, 6);
}

static void write_size(hu_json_out *j, const char *key, int64_t bytes)
{
    if (bytes)
        hu_json_int(j, key, bytes);
    else
        hu_json_null(j, key);
}

static const char *links_of(const hu_bench_answer *a)
{
    if (a->peak <= 0)
        return "";
    return a->n_ports ? "ports of a node" : a->links ? a->links : "NCCL's topology";
}

static void write_test(hu_json_out *j, const hu_bench_answer *a)
{
    const hu_log_bench *t = a->test;
    char                words[HU_BENCH_WORDS];

    hu_bench_sentence(a, words);
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", t->name);
    hu_json_str(j, "words", hu_str_of(words));
    hu_json_str(j, "version", t->version);
    hu_json_str(j, "failure", t->failure);
    hu_json_int(j, "pass", t->pass);
    hu_json_int(j, "ranks", t->ranks);
    hu_json_bool(j, "several_hosts", t->several_hosts);
    hu_json_str(j, "device", t->device);
    hu_json_str(j, "type", t->type);
    hu_json_str(j, "redop", t->redop);
    hu_json_fixed(j, "factor", a->factor, 6);
    hu_json_fixed(j, "best_gbps", a->best, 3);
    write_size(j, "best_at_bytes", a->best_at);
    hu_json_bool(j, "is_flat", a->is_flat);
    hu_json_fixed(j, "growth", a->growth, 6);
    write_size(j, "from_bytes", a->from);
    write_size(j, "half_bytes", a->half);
    hu_json_ns(j, "latency_ns", a->latency);
    hu_json_fixed(j, "beta_gbps", a->beta, 3);
    write_fit(j, &a->fit);
    hu_json_fixed(j, "peak_gbps", a->peak > 0 ? a->peak : (double)NAN, 3);
    hu_json_str(j, "links", hu_str_of(links_of(a)));
    hu_json_bool(j, "is_checked", a->is_checked);
    hu_json_fixed(j, "wrong", a->wrong, 0);
    write_size(j, "out_of_bounds", t->out_of_bounds < 0 ? 0 : t->out_of_bounds);
    hu_json_fixed(j, "average_gbps", t->average, 4);
    hu_json_int(j, "torn_rows", t->n_torn);
    write_rows(j, t);
    hu_json_close(j, '}');
}

static void write_prints(hu_json_out *j, const hu_stats *s)
{
    if (s->n == 0) {
        hu_json_null(j, "bus_prints");
        return;
    }
    hu_json_open(j, "bus_prints", '{');
    hu_json_int(j, "count", (int64_t)s->n);
    hu_json_fixed(j, "median_gbit_per_s", s->median / 1e9, 4);
    hu_json_fixed(j, "least_gbit_per_s", (double)s->min / 1e9, 4);
    hu_json_fixed(j, "most_gbit_per_s", (double)s->max / 1e9, 4);
    hu_json_close(j, '}');
}

void hu_bench_json(const hu_log_report *r, hu_json_out *j)
{
    write_prints(j, &r->answer->bus);
    hu_json_open(j, "tests", '[');
    for (size_t i = 0; i < r->answer->benches.n; i++)
        write_test(j, &r->answer->benches.at[i]);
    hu_json_close(j, ']');
}
