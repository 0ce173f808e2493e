/* SPDX-License-Identifier: Apache-2.0
 * uneven_teams.c - which loop is uneven, whether by the same thread each time, and what else its regions lose. */
#include "advise/uneven_teams.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say_thread.h"
#include "analyze/thread_states.h"

enum { FUNCTION = 72, PLACE = 64 };

static const double LEAST_GAIN = 3; /* percent: less may be how a region begins and ends */
static const double UNEVEN = 1.1;   /* times the mean work, that the thread with most has */
static const double ALWAYS = 0.8;   /* of the phases, in which the same thread has most work */
static const double MUCH = 0.1;     /* of the run, or of what the regions take: worth a word */

/* Where equal work saves most. */
static uint32_t worst_site(const hu_omp_regions *r)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < r->n_sites; i++)
        if (r->sites[i].saved_ns > r->sites[worst].saved_ns)
            worst = i;
    return worst;
}

typedef struct {
    int64_t  saved_ns, wall_ns, ready_ns; /* of all sites; ready: of all threads, for a CPU */
    uint32_t most;                        /* track that most often has most work at the worst site, */
    int64_t  n_most;                      /* and how often */
} sums;

static bool add_up(const hu_simulation *s, const hu_omp_regions *r, uint32_t site, sums *out)
{
    int64_t *often = hu_arena_calloc(s->scratch, s->ask.n_tracks + 1, sizeof *often);

    *out = (sums){0};
    if (!often)
        return false;
    for (size_t i = 0; i < r->n_phases; i++) {
        const hu_omp_phase *p = &r->phases[i];

        out->saved_ns += p->saved_ns;
        out->wall_ns += p->end_ns - p->start_ns;
        for (uint32_t k = 0; k < p->n; k++)
            out->ready_ns += r->members[p->first + k].ready_ns;
        if (p->site == site && ++often[p->longest] > out->n_most) {
            out->n_most = often[p->longest];
            out->most = p->longest;
        }
    }
    return true;
}

typedef struct {
    char t[160];
} said_place;

/* "The loop in solve (solve.c:12)", or "(a.out+0x1234)" */
static said_place say_place(const hu_trace *trace, const hu_omp_site *x)
{
    const hu_str function = hu_str_cut(hu_trace_text(trace, x->caller), FUNCTION);
    const hu_str place = hu_str_cut(hu_trace_text(trace, x->line ? x->line : x->place), PLACE);
    const hu_str kind = hu_trace_text(trace, x->worksharing);
    said_place   said;

    snprintf(said.t, sizeof said.t, "%s%s%.*s%s%.*s%s",
             hu_str_has(kind, HU_STR("loop"))         ? "loop"
             : hu_str_equal(kind, HU_STR("sections")) ? "sections"
                                                      : "parallel region",
             function.n ? " in " : "", HU_FMT(function), place.n ? " (" : "", HU_FMT(place), place.n ? ")" : "");
    return said;
}

static void show(const hu_simulation *s, uint32_t main, const hu_omp_regions *r, const hu_omp_site *x, const sums *a,
                 hu_hint *h)
{
    const hu_trace *trace = s->ask.trace;
    const double    all = (double)(hu_thread_life(trace, main).end_ns - hu_thread_life(trace, main).start_ns);
    const double    serial = all - (double)r->region_ns - (double)r->short_ns;
    const hu_str    place = hu_str_cut(hu_trace_text(trace, x->place), PLACE);
    const char     *plus = place.n ? memchr(place.p, '+', place.n) : NULL;
    const int       module = plus ? (int)(plus - place.p) : 0;

    hu_hint_show(h, "as OpenMP told: parallel regions take %s; with the same work in equal parts they take %s",
                 hu_say_time((double)a->wall_ns).t, hu_say_time((double)(a->wall_ns - a->saved_ns)).t);
    if (plus && !x->line)
        hu_hint_show(h, "its line, if built with -g: addr2line -e %.*s %.*s", module, place.p, (int)place.n - module - 1,
                     plus + 1);
    if ((double)a->n_most >= ALWAYS * (double)x->phases && x->phases > 1)
        hu_hint_show(h,
                     "the thread %s has most work in %lld of %lld: its part is larger, or it is slower (its memory is on "
                     "another NUMA node: write it first in a loop of the same schedule)",
                     hu_say_thread(&s->ask.tracks[a->most], trace).t, (long long)a->n_most, (long long)x->phases);
    else if (x->phases > 1)
        hu_hint_show(h, "not the same thread each time: at most %lld of %lld times", (long long)a->n_most,
                     (long long)x->phases);
    if ((double)a->ready_ns >= MUCH * (double)a->wall_ns)
        hu_hint_show(h, "its threads wait for a CPU for %s in all, which is left out: that is no unequal work",
                     hu_say_time((double)a->ready_ns).t);
    if (all > 0 && serial >= MUCH * all)
        hu_hint_show(h, "the main thread is in no parallel region for %.0f %% of the run, where no other thread helps it",
                     100 * serial / all);
    if (all > 0 && r->short_regions && (double)r->short_ns >= MUCH * all)
        hu_hint_show(h, "%lld other regions take %s each, a part of it to start and end them: fewer, larger ones have less",
                     (long long)r->short_regions, hu_say_time((double)r->short_ns / (double)r->short_regions).t);
    if (r->unknown)
        hu_hint_show(h, "%lld regions are left out: not all of their threads were recorded", (long long)r->unknown);
}

static void say_fix(const hu_trace *trace, const hu_omp_site *x, hu_finding *out)
{
    const hu_str kind = hu_trace_text(trace, x->worksharing);

    if (hu_str_equal(kind, HU_STR("dynamic loop")) || hu_str_equal(kind, HU_STR("guided loop")))
        snprintf(out->fix, sizeof out->fix,
                 "smaller chunks, the most expensive iterations first, or collapse(2): a few iterations are left for each "
                 "thread at the end");
}

bool hu_uneven_teams_find(hu_simulation *s, uint32_t main, const hu_omp_regions *r, const hu_findings *f, hu_finding *out)
{
    const uint32_t     site = worst_site(r);
    const hu_omp_site *x = r->n_sites ? &r->sites[site] : NULL;
    const hu_edit      edit = {.kind = HU_EDIT_TEAMS, .flavour = HU_EDIT_REALISTIC, .factor = INFINITY, .glob = HU_STR("")};
    hu_hint            h = {.rule = HU_RULE_IMBALANCE};
    hu_price           p;
    sums               a;

    if (!x || (double)x->longest_ns * (double)x->threads < UNEVEN * (double)x->work_ns || !add_up(s, r, site, &a))
        return false;
    hu_price_edits(s->pricer, &edit, 1, &p);
    if (!p.touched || !(p.gain_pct >= LEAST_GAIN))
        return false;
    hu_hint_say(
        &h,
        "The %lld OpenMP threads of the %s have unequal work: the one with most works for %s in all, the mean is %s. "
        "The others wait for it at the barrier.",
        (long long)x->threads, say_place(s->ask.trace, x).t, hu_say_time((double)x->longest_ns).t,
        hu_say_time((double)x->work_ns / (double)x->threads).t);
    show(s, main, r, x, &a, &h);
    *out = (hu_finding){.rule = HU_RULE_IMBALANCE,
                        .n_evidence = h.n_evidence,
                        .gain_pct = p.gain_pct,
                        .low_pct = p.low_pct,
                        .high_pct = p.high_pct,
                        .free_pct = p.free_pct,
                        .before_ns = p.before_ns,
                        .after_ns = p.after_ns,
                        .least_share = 1,
                        .edit = edit,
                        .confidence = f->is_trusted ? HU_CONFIDENCE_MEDIUM : HU_CONFIDENCE_LOW};
    memcpy(out->statement, h.statement, sizeof out->statement);
    memcpy(out->evidence, h.evidence, sizeof h.evidence);
    say_fix(s->ask.trace, x, out);
    if (!f->is_trusted) {
        out->low_pct = 0;
        out->high_pct = p.free_pct;
        out->gain_pct = out->after_ns = (double)NAN;
    }
    return true;
}
