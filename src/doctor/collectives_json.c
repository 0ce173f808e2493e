/* SPDX-License-Identifier: Apache-2.0
 * collectives_json.c - the measurement as JSON; what was not measured is null. */
#include <math.h>

#include "base/json_out.h"
#include "doctor/collectives.h"

static void write_machine(const hu_machine *m, hu_json_out *j)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "host", hu_str_of(m->host));
    hu_json_int(j, "ranks", m->n);
    hu_json_int(j, "first_rank", m->first);
    hu_json_int(j, "cpus", m->cpus);
    hu_json_bool(j, "is_crowded", m->is_crowded);
    hu_json_open(j, "links", '[');
    for (size_t i = 0; i < HU_LINKS_OF_PLACE; i++) {
        if (!m->place->links[i].name[0])
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", hu_str_of(m->place->links[i].name));
        hu_json_fixed(j, "gbits_per_s", m->place->links[i].gbps, 3);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_timing(const hu_series *s, const hu_timing *t, hu_json_out *j)
{
    const bool is_measured = t->samples > 0;

    hu_json_open(j, NULL, '{');
    hu_json_int(j, "bytes", t->bytes);
    hu_json_int(j, "samples", t->samples);
    hu_json_int(j, "calls_per_sample", t->calls);
    hu_json_fixed(j, "median_ns", t->median_ns, 1);
    hu_json_fixed(j, "low_ns", t->low_ns, 1);
    hu_json_fixed(j, "high_ns", t->high_ns, 1);
    hu_json_fixed(j, "p95_ns", t->p95_ns, 1);
    hu_json_fixed(j, "alg_gbps", hu_timing_alg_gbps(t), 4);
    hu_json_fixed(j, "bus_gbps", hu_timing_alg_gbps(t) * s->factor, 4);
    if (is_measured)
        hu_json_bool(j, "is_right", t->wrong_rank < 0);
    else
        hu_json_null(j, "is_right");
    if (is_measured)
        hu_json_null(j, "not_measured");
    else
        hu_json_str(j, "not_measured", t->lacks_memory ? HU_STR("memory") : HU_STR("time"));
    hu_json_close(j, '}');
}

static void write_fit(const hu_collectives *c, const hu_series *s, hu_json_out *j)
{
    const hu_fit_piece *first = &s->fit.at[0], *last = s->fit.n ? &s->fit.at[s->fit.n - 1] : NULL;

    if (!last) {
        hu_json_null(j, "fit");
        return;
    }
    hu_json_open(j, "fit", '{');
    hu_json_fixed(j, "alpha_ns", first->alpha_ns, 1);
    hu_json_fixed(j, "alpha_low_ns", s->alpha_low, 1);
    hu_json_fixed(j, "alpha_high_ns", s->alpha_high, 1);
    hu_json_fixed(j, "beta_gbps", last->ns_per_byte > 0 ? 1 / last->ns_per_byte : (double)NAN, 4);
    hu_json_fixed(j, "beta_low_gbps", s->beta_low, 4);
    hu_json_fixed(j, "beta_high_gbps", s->beta_high, 4);
    hu_json_int(j, "lines", (int64_t)s->fit.n);
    hu_json_fixed(j, "error", s->fit.error, 4);
    hu_json_bool(j, "is_line", hu_series_has_line(c, s));
    hu_json_close(j, '}');
}

static void write_series(const hu_collectives *c, const hu_series *s, hu_json_out *j)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "kind", s->a >= 0 ? HU_STR("point-to-point") : hu_str_of(hu_comm_kind_words(s->kind)));
    if (s->a >= 0) {
        hu_json_str(j, "role", hu_str_of(s->role));
        hu_json_open(j, "ranks", '[');
        hu_json_int(j, NULL, s->a);
        hu_json_int(j, NULL, s->b);
        hu_json_close(j, ']');
    }
    hu_json_fixed(j, "bus_factor", s->factor, 6);
    hu_json_open(j, "sizes", '[');
    for (size_t i = 0; i < s->n; i++)
        write_timing(s, &s->at[i], j);
    hu_json_close(j, ']');
    write_fit(c, s, j);
    hu_json_close(j, '}');
}

static void write_pairs(const hu_collectives *c, hu_json_out *j)
{
    double worst = (double)NAN;

    for (int r = 0; r < c->size && c->queued_shares; r++)
        worst = fmax(worst, (double)c->queued_shares[r]);
    hu_json_open(j, "pairs", '{');
    hu_json_str(j, "between", c->pairs_are_machines ? HU_STR("machines") : HU_STR("ranks"));
    hu_json_bool(j, "is_all", c->pairs_are_all);
    hu_json_bool(j, "is_judged", c->is_judged);
    if (c->odd_rank >= 0)
        hu_json_int(j, "odd_rank", c->odd_rank);
    else
        hu_json_null(j, "odd_rank");
    hu_json_fixed(j, "queued_share", worst, 4);
    hu_json_int(j, "latency_bytes", c->pair_latency_bytes);
    hu_json_int(j, "bytes", c->pair_bytes);
    hu_json_open(j, "at", '[');
    for (size_t i = 0; i < c->n_pairs; i++) {
        const hu_pair *p = &c->pairs[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "a", p->a);
        hu_json_int(j, "b", p->b);
        hu_json_fixed(j, "latency_ns", p->latency_ns, 1);
        hu_json_fixed(j, "ns", p->ns, 1);
        hu_json_fixed(j, "gbps", (double)c->pair_bytes / p->ns, 4);
        hu_json_bool(j, "is_odd", p->is_odd);
        hu_json_bool(j, "is_right", !p->is_wrong);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_collectives_json(const hu_collectives *c, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "library", hu_str_of(c->library));
    hu_json_int(&j, "ranks", c->size);
    hu_json_fixed(&j, "took_s", c->took_s, 3);
    hu_json_bool(&j, "is_crowded", c->is_crowded);
    hu_json_fixed(&j, "queued_share", c->queued_share, 4);
    hu_json_bool(&j, "is_right", !hu_collectives_wrong(c));
    hu_json_open(&j, "machines", '[');
    for (size_t i = 0; i < c->n_machines; i++)
        write_machine(&c->machines[i], &j);
    hu_json_close(&j, ']');
    hu_json_open(&j, "series", '[');
    for (size_t i = 0; i < c->n_series; i++)
        write_series(c, &c->series[i], &j);
    hu_json_close(&j, ']');
    write_pairs(c, &j);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
