/* SPDX-License-Identifier: Apache-2.0
 * imbalance.c - what a team of threads would save with equal work.
 *
 * Where OpenMP told nothing (else uneven_teams.c): in its regions each of n threads is busy for a part of the time.  With
 * the same work in equal parts a region takes the mean of these parts, or the work divided by the CPUs where these are
 * fewer.
 */
#include "advise/imbalance.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say_thread.h"
#include "advise/uneven_teams.h"
#include "analyze/omp_team.h"
#include "analyze/thread_states.h"

enum { FEWEST_SAMPLES = 20, FUNCTION = 72 };

static const double LEAST_GAIN = 3; /* percent of the run: less may be how a region begins and ends */
static const double UNEVEN = 1.1;   /* times the mean work, that the longest thread has */
static const double DOUBT = 0.15;   /* of the gain: equal parts may be had, or not quite */
static const double MOSTLY = 0.5;

/* What samples tell of threads that say nothing themselves (libgomp). */
static bool find_sampled(hu_simulation *s, double step_ns, hu_finding *out)
{
    const hu_trace   *trace = s->ask.trace;
    const int64_t     cpus = hu_trace_get_info(trace)->cpus;
    const uint32_t    track = hu_graph_main_track(&s->graph);
    const hu_interval window = track == HU_NONE ? (hu_interval){0, 0} : hu_thread_life(trace, track);
    const double      whole = (double)(window.end_ns - window.start_ns);
    hu_hint           h = {.rule = HU_RULE_IMBALANCE};
    hu_omp_team       t;
    hu_str            function;
    double            even, more, gain, others;
    bool              is_guess;

    if (s->graph.n_ops || !s->graph.is_whole || whole <= 0 || !hu_omp_team_measure(&s->ask, track, window, &t) ||
        t.threads < 2 || t.samples < FEWEST_SAMPLES)
        return false;
    even = (double)t.busy_ns / (double)t.threads;
    if (cpus > 0 && cpus < t.threads)
        even = fmax(even, (double)t.work_ns / (double)cpus);
    more = (double)t.longest_ns - (double)t.work_ns / (double)t.threads;
    gain = 100 * fmin((double)t.region_ns - even, more) /
           whole; /* who waits for a CPU is waited for, too: no unequal work */
    if (gain < LEAST_GAIN || (double)t.longest_ns * (double)t.threads < UNEVEN * (double)t.work_ns)
        return false;
    function = hu_str_cut(hu_trace_text(trace, t.function), FUNCTION);
    others = (double)(t.work_ns - t.longest_ns) / (double)(t.threads - 1);
    hu_hint_say(&h,
                "%lld OpenMP threads have unequal work%s%.*s: the thread %s computes for %s, %s %s. The others wait for it.",
                (long long)t.threads, function.n ? ", most of it in " : "", HU_FMT(function),
                hu_say_thread(&s->ask.tracks[t.longest], trace).t, hu_say_time((double)t.longest_ns).t,
                t.threads == 2 ? "the other for" : "the others on average for", hu_say_time(others).t);
    hu_hint_show(&h, "parallel regions take %s of the run; with the same work in equal parts they take %s",
                 hu_say_time((double)t.region_ns).t, hu_say_time(even).t);
    is_guess = !t.is_chained && (double)t.alone_ns >= MOSTLY * (double)t.region_ns;
    if (is_guess)
        hu_hint_show(&h, "the samples name the functions of the main thread, not their callers: build with "
                         "-fno-omit-frame-pointer");
    *out = (hu_finding){.rule = HU_RULE_IMBALANCE,
                        .n_evidence = h.n_evidence,
                        .gain_pct = gain,
                        .low_pct = (is_guess ? 0 : 1 - DOUBT) * gain,
                        .high_pct = (1 + DOUBT) * gain,
                        .free_pct = fmin(100, (1 + DOUBT) * gain),
                        .before_ns = step_ns,
                        .after_ns = step_ns * (1 - gain / 100),
                        .least_share = 1,
                        .edit = {.kind = HU_EDIT_KINDS},
                        .confidence = is_guess ? HU_CONFIDENCE_LOW : HU_CONFIDENCE_MEDIUM};
    hu_price_limit(out->gain_pct, out->free_pct, &out->low_pct, &out->high_pct);
    memcpy(out->statement, h.statement, sizeof out->statement);
    memcpy(out->evidence, h.evidence, sizeof h.evidence);
    return true;
}

bool hu_imbalance_find(hu_simulation *s, const hu_findings *f, hu_finding *out)
{
    const uint32_t main = hu_graph_main_track(&s->graph);
    hu_omp_regions told;

    if (main == HU_NONE || !hu_omp_regions_measure(&s->ask, main, s->scratch, &told))
        return false;
    return told.regions || told.short_regions || told.n_phases ? hu_uneven_teams_find(s, main, &told, f, out)
                                                               : find_sampled(s, f->replayed_ns, out);
}
