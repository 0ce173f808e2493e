/* SPDX-License-Identifier: Apache-2.0
 * collectives_text.c - the measurement as a text of 80 columns. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "doctor/collectives.h"

enum { HOST_WIDTH = 24, CELL = 6, LEAST_WIDTH = 80, WIDEST_MATRIX = 11, SLOWEST = 5 };

static const double HALF = 0.5, DISTURBED = 0.02;

static void pad(hu_out *out, const char *text, size_t width)
{
    const size_t n = hu_units_width(hu_str_of(text));

    for (size_t i = n; i < width; i++)
        hu_out_text(out, " ");
    hu_out_text(out, text);
}

static void put_time(hu_out *out, double ns, size_t width)
{
    char text[HU_UNIT_BYTES];

    hu_units_time(text, ns);
    pad(out, text, width);
}

static void put_bytes(hu_out *out, int64_t bytes, size_t width)
{
    char text[HU_UNIT_BYTES];

    hu_units_bytes(text, (double)bytes);
    pad(out, text, width);
}

/* GB/s with three digits that mean something. */
static void put_rate(hu_out *out, double gbps, size_t width)
{
    char text[HU_NUMBER_BYTES];

    hu_format_fixed(text, gbps, gbps < 1 ? 3 : gbps < 100 ? 2 : 1);
    pad(out, isnan(gbps) ? "–" : text, width);
}

__attribute__((format(printf, 3, 4))) static void say(hu_out *out, size_t width, const char *format, ...)
{
    char    text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_out_text(out, "  ");
    hu_units_wrap(out, hu_str_of(text), 2, 2, width);
    hu_out_text(out, "\n");
}

static void write_links(const hu_machine *m, hu_out *out)
{
    char text[HU_NUMBER_BYTES];

    for (size_t i = 0; i < HU_LINKS_OF_PLACE; i++) {
        const hu_link_found *l = &m->place->links[i];

        if (!l->name[0])
            continue;
        hu_format_f64(text, l->gbps, true);
        hu_out_printf(out, "  %s %s Gb/s", l->name, text);
    }
}

static void write_machines(const hu_collectives *c, size_t width, hu_out *out)
{
    hu_out_text(out, "\n  host                      ranks  first   CPUs  fastest links\n");
    for (size_t i = 0; i < c->n_machines; i++) {
        const hu_machine *m = &c->machines[i];
        size_t            n;

        hu_out_text(out, "  ");
        n = hu_units_clip(out, hu_str_of(m->host), HOST_WIDTH);
        for (; n < HOST_WIDTH; n++)
            hu_out_text(out, " ");
        hu_out_printf(out, "%7d%7d%7d", m->n, m->first, m->cpus);
        write_links(m, out);
        hu_out_text(out, "\n");
    }
    for (size_t i = 0; i < c->n_machines; i++)
        if (c->machines[i].is_crowded)
            say(out, width, "%.64s: %d ranks share %d CPU%s: times are those of the scheduler", c->machines[i].host,
                c->machines[i].n, c->machines[i].cpus, hu_plural(c->machines[i].cpus));
    if (!c->is_crowded && c->queued_share > DISTURBED) {
        char text[HU_UNIT_BYTES];

        hu_units_percent(text, c->queued_share);
        say(out, width,
            "A rank waited for a CPU in %s %% of the time that it could run: other programs disturb these times.", text);
    }
}

/* Why a size has no time. */
static void write_missing(const hu_timing *t, hu_out *out)
{
    char text[HU_UNIT_BYTES];

    if (t->lacks_memory) {
        hu_out_text(out, "   not measured: needs more than half of the memory that is free\n");
        return;
    }
    if (t->foreseen_s <= 0) {
        hu_out_text(out, "   not measured: --seconds is up\n");
        return;
    }
    hu_units_time(text, t->foreseen_s * 1e9);
    hu_out_printf(out, "   not measured: needs about %s, and --seconds is up\n", text);
}

static void write_timing(const hu_series *s, const hu_timing *t, hu_out *out)
{
    put_bytes(out, t->bytes, 11);
    if (!t->samples) {
        write_missing(t, out);
        return;
    }
    put_time(out, t->median_ns, 11);
    put_time(out, t->low_ns, 11);
    hu_out_text(out, " …");
    put_time(out, t->high_ns, 10);
    hu_out_text(out, t->samples < HU_INTERVAL_SAMPLES ? "*" : " ");
    put_time(out, t->p95_ns, 10);
    put_rate(out, hu_timing_alg_gbps(t), 9);
    put_rate(out, hu_timing_alg_gbps(t) * s->factor, 9);
    hu_out_text(out, "\n");
    if (t->wrong_rank >= 0)
        hu_out_printf(out, "  WRONG: rank %lld got other values than it should\n", (long long)t->wrong_rank);
}

/* "12 µs [11 … 13]" */
static void write_interval(hu_out *out, const char *value, const char *low, const char *high, bool is_known)
{
    hu_out_text(out, value);
    if (is_known)
        hu_out_printf(out, " [%s … %s]", low, high);
}

static void write_line(const hu_series *s, hu_out *out)
{
    char                value[HU_UNIT_BYTES], low[HU_UNIT_BYTES], high[HU_UNIT_BYTES];
    const hu_fit_piece *last = &s->fit.at[s->fit.n - 1];

    hu_out_text(out, "  line: ");
    hu_units_time(value, s->fit.at[0].alpha_ns);
    hu_units_time(low, s->alpha_low);
    hu_units_time(high, s->alpha_high);
    if (s->fit.at[0].alpha_ns > 0)
        write_interval(out, value, low, high, !isnan(s->alpha_low));
    else
        hu_out_text(out, "no latency to be seen");
    if (last->ns_per_byte > 0) {
        hu_format_fixed(value, 1 / last->ns_per_byte, 3);
        hu_format_fixed(low, s->beta_low, 3);
        hu_format_fixed(high, s->beta_high, 3);
        hu_out_text(out, s->fit.n > 1 ? ", large ones + bus bytes / " : " + bus bytes / ");
        write_interval(out, value, low, high, !isnan(s->beta_low));
        hu_out_text(out, " GB/s");
    }
    hu_units_percent(value, s->fit.error);
    hu_out_printf(out, "\n        (times lie %s %% beside it)\n", value);
}

static void write_series(const hu_collectives *c, const hu_series *s, hu_out *out)
{
    char deviation[HU_UNIT_BYTES];
    bool has_few = false;

    if (s->a >= 0)
        hu_out_printf(out, "\nmessages of ranks %d and %d (%s)\n", s->a, s->b, s->role);
    else
        hu_out_printf(out, "\n%s\n", hu_comm_kind_words(s->kind));
    hu_out_text(out, "       size     median      95 % interval          p95   algGB/s  busGB/s\n");
    for (size_t i = 0; i < s->n; i++) {
        write_timing(s, &s->at[i], out);
        has_few |= s->at[i].samples && s->at[i].samples < HU_INTERVAL_SAMPLES;
    }
    if (has_few)
        hu_out_printf(out, "  * of fewer than %d samples: the lowest and the highest\n", HU_INTERVAL_SAMPLES);
    hu_units_percent(deviation, s->fit.error);
    if (hu_series_has_line(c, s))
        write_line(s, out);
    else if (s->fit.n && !(c->is_crowded && s->a < 0))
        hu_out_printf(out, "  line: none; times lie %s %% beside the best one\n", deviation);
}

static const hu_pair *pair_of(const hu_collectives *c, int a, int b)
{
    for (size_t i = 0; i < c->n_pairs; i++)
        if ((c->pairs[i].a == a && c->pairs[i].b == b) || (c->pairs[i].a == b && c->pairs[i].b == a))
            return &c->pairs[i];
    return NULL;
}

static double rate_of(const hu_collectives *c, const hu_pair *p)
{
    return (double)c->pair_bytes / p->ns;
}

/* Ranks 0 ... of a machine, or the first one of each machine. */
static int place_at(const hu_collectives *c, int i)
{
    return c->pairs_are_machines ? c->machines[i].first : i;
}

static void write_matrix(const hu_collectives *c, int n, hu_out *out)
{
    hu_out_text(out, "  rank  ");
    for (int k = 0; k < n; k++)
        hu_out_printf(out, "%*d", CELL, place_at(c, k));
    hu_out_text(out, "\n");
    for (int i = 0; i < n; i++) {
        hu_out_printf(out, "  %4d  ", place_at(c, i));
        for (int k = 0; k < n; k++) {
            const hu_pair *p = i == k ? NULL : pair_of(c, place_at(c, i), place_at(c, k));

            if (!p)
                pad(out, "", CELL);
            else
                put_rate(out, rate_of(c, p), CELL);
        }
        hu_out_text(out, "\n");
    }
}

/* The slowest few, where a matrix is too wide. */
static void write_slowest(const hu_collectives *c, hu_out *out)
{
    double below = INFINITY;

    for (int row = 0; row < SLOWEST; row++) {
        const hu_pair *slow = NULL;

        for (size_t i = 0; i < c->n_pairs; i++)
            if (c->pairs[i].ns < below && (!slow || c->pairs[i].ns > slow->ns))
                slow = &c->pairs[i];
        if (!slow)
            return;
        below = slow->ns;
        hu_out_printf(out, "  ranks %d and %d:", slow->a, slow->b);
        put_rate(out, rate_of(c, slow), 8);
        hu_out_text(out, " GB/s\n");
    }
}

static void write_judgement(const hu_collectives *c, size_t width, hu_out *out)
{
    char text[HU_UNIT_BYTES];
    bool any = false;

    if (c->pairs_are_machines && c->disturbed_rank >= 0) {
        hu_units_percent(text, (double)c->queued_shares[c->disturbed_rank]);
        say(out, width,
            "No pair is judged: rank %d on %.64s waited for a CPU in %s %% of the time that it could run. Look at what else "
            "runs there.",
            c->disturbed_rank, c->places[c->disturbed_rank].host, text);
        return;
    }
    if (!c->is_judged) {
        say(out, width, "No pair is judged: %s.",
            !c->pairs_are_machines ? "all ranks are on one machine, and its pairs differ for good reasons"
            : !c->pairs_are_all    ? "only neighbours were measured"
                                   : "that takes three machines");
        return;
    }
    if (c->odd_rank >= 0) {
        say(out, width,
            "Slow in all of its pairs, measured twice: %.64s (rank %d). Unless it is farther away, look at its port, cable "
            "and interface, and run `holdup doctor` on it.",
            c->places[c->odd_rank].host, c->odd_rank);
        return;
    }
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (!c->pairs[i].is_odd)
            continue;
        any = true;
        say(out, width,
            "Slow, measured twice: %.64s (rank %d) and %.64s (rank %d), but neither with others: look at the path between "
            "them.",
            c->places[c->pairs[i].a].host, c->pairs[i].a, c->places[c->pairs[i].b].host, c->pairs[i].b);
    }
    if (!any)
        say(out, width, "No machine and no pair is the odd one.");
}

static void write_pairs(const hu_collectives *c, size_t width, hu_out *out)
{
    const int n = c->pairs_are_machines ? (int)c->n_machines : c->size;

    hu_out_text(out, "\nGB/s between ");
    hu_out_text(out, c->pairs_are_machines ? "machines (the first rank of each)" : "ranks");
    hu_out_text(out, ", messages of ");
    put_bytes(out, c->pair_bytes, 0);
    hu_out_text(out, c->pairs_are_all ? "\n" : ", neighbours\n");
    if (n <= WIDEST_MATRIX && c->pairs_are_all)
        write_matrix(c, n, out);
    else
        write_slowest(c, out);
    write_judgement(c, width, out);
}

/* The best rate that was seen between two machines; NaN: none. */
static double best_rate(const hu_collectives *c)
{
    double best = (double)NAN;

    for (size_t i = 0; i < c->n_series; i++) {
        const hu_series *s = &c->series[i];

        if (s->kind != HU_COMM_EXCHANGE || strcmp(s->role, "neighbours on one machine") == 0)
            continue;
        for (size_t k = 0; k < s->n; k++)
            if (s->at[k].samples)
                best = fmax(best, hu_timing_alg_gbps(&s->at[k]));
    }
    return best;
}

/* What the links of the first machine promise. */
static void write_promise(const hu_collectives *c, size_t width, hu_out *out)
{
    const hu_link_found *l = c->machines[0].place->links, *fast = l[0].gbps >= l[1].gbps ? &l[0] : &l[1];
    const double         best = best_rate(c);
    char                 seen[HU_NUMBER_BYTES], promised[HU_NUMBER_BYTES], share[HU_UNIT_BYTES];

    hu_out_text(out, "\n");
    if (c->n_machines == 1) {
        say(out, width,
            "One machine: its memory or loopback carried this, no link to another machine. Nothing to compare with.");
        return;
    }
    if (fast->gbps <= 0 || isnan(best)) {
        say(out, width,
            "The kernel of %.64s tells the speed of no active link (a virtual machine?): nothing to compare with.",
            c->machines[0].host);
        return;
    }
    hu_format_fixed(seen, best, 2);
    hu_format_fixed(promised, fast->gbps / 8, 2);
    hu_units_percent(share, best / (fast->gbps / 8));
    say(out, width, "Best pair: %s GB/s, %s %% of the %s GB/s of %s.%s", seen, share, promised, fast->name,
        best < HALF * fast->gbps / 8
            ? " MPI may use another link, or one rank cannot fill it: several ranks per machine tell."
            : "");
}

void hu_collectives_text(const hu_collectives *c, size_t width, hu_out *out)
{
    char took[HU_UNIT_BYTES];

    width = width < LEAST_WIDTH ? LEAST_WIDTH : width;
    hu_units_time(took, c->took_s * 1e9);
    hu_out_printf(out, "Collectives of %d ranks on %zu machine%s, %s, took %s\n", c->size, c->n_machines,
                  hu_plural((int64_t)c->n_machines), c->library, took);
    hu_out_text(out, "Times are those of the slowest rank; sizes and GB/s as nccl-tests counts them.\n");
    write_machines(c, width, out);
    for (size_t i = 0; i < c->n_series; i++)
        write_series(c, &c->series[i], out);
    if (c->n_pairs)
        write_pairs(c, width, out);
    write_promise(c, width, out);
    hu_out_text(out, hu_collectives_wrong(c) ? "\nWRONG RESULTS: see above. Do not train on this.\n"
                                             : "\nAll results were checked, and right.\n");
}
