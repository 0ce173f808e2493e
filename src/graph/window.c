/* SPDX-License-Identifier: Apache-2.0
 * window.c - which steps are replayed: the longest run of steps that count, the last of them when they are too many.
 * Without steps, all of the capture, or its beginning when it has too many pieces even where short ones are merged.
 *
 * Device work of a step may be launched in the one before, so that one is built too (the guard) but not measured.
 */
#include "analyze/thread_states.h"
#include "graph/build.h"

enum { FEWEST_STEPS = 3 };

static const int64_t LONGEST_NS = INT64_C(1) << 58; /* 9 years; so that sums of weights stay far from the end of int64 */

/* The longest run of steps that count, without a pause between them; the later one of two equals. */
static size_t longest_run(const hu_steps *steps, size_t *n)
{
    size_t best = 0, start = 0;

    *n = 0;
    for (size_t i = 0; i <= steps->n; i++) {
        const bool counts = i < steps->n && hu_step_counts(&steps->at[i]);

        if (counts && !steps->at[i].is_resumed)
            continue;
        if (i - start >= *n && i > start) {
            *n = i - start;
            best = start;
        }
        start = counts ? i : i + 1;
    }
    return best;
}

/* Of one thread, or with HU_NONE of all that hosts and devices do. */
static int64_t span_of(const hu_building *b, uint32_t track, int64_t *start_ns)
{
    int64_t last = INT64_MIN;

    *start_ns = INT64_MAX;
    if (track != HU_NONE && b->ask->tracks[track].n_stretches) { /* all its life, whatever it was seen to do */
        const hu_interval life = hu_thread_life(b->ask->trace, track);

        *start_ns = life.start_ns;
        return life.end_ns - life.start_ns;
    }
    for (size_t i = 0; i < b->ask->s.n; i++) {
        if (!hu_kind_in(b->ask->s.kind[i], HU_KINDS_HOST | HU_KINDS_DEVICE) ||
            (track != HU_NONE && b->ask->s.track[i] != track))
            continue;
        *start_ns = b->ask->s.start_ns[i] < *start_ns ? b->ask->s.start_ns[i] : *start_ns;
        last = hu_ask_end(b->ask, (uint32_t)i) > last ? hu_ask_end(b->ask, (uint32_t)i) : last;
    }
    return last > *start_ns ? last - *start_ns : 0;
}

/* Were calls of the system recorded, or lives of threads where there is no device?  Then there may be other processes, which
   outlive the main thread. */
bool hu_build_has_calls(const hu_building *b)
{
    if (b->ask->kinds & (HU_BIT(OS_CALL) | HU_BIT(MPI)))
        return true;
    return b->ask->n_work == 0 && hu_thread_has_lives(b->ask->trace);
}

bool hu_build_window(hu_building *b, size_t max_slices)
{
    const hu_steps *steps = b->ask->steps;
    const bool      is_recorded = hu_build_has_calls(b) && b->ask->n_work == 0 && steps->source == HU_STEPS_NONE;
    const uint32_t  only = is_recorded ? b->ask->main_track : HU_NONE;
    int64_t         start;
    const int64_t   span = span_of(b, only, &start);
    const int64_t   in_storms =
        hu_trace_get_quality(b->ask->trace)->count[HU_REASON_STORM]; /* they do not change the window */
    const double share = b->ask->s.n ? (double)max_slices / (double)(b->ask->s.n + (size_t)in_storms) : 1;
    size_t       n, first = longest_run(steps, &n);

    if (span <= 0 || span > LONGEST_NS || start > INT64_MAX / 2)
        return false;
    if (steps->source == HU_STEPS_NONE || n == 0) {
        b->g->is_whole = true;
        b->from_ns = start;
        b->to_ns = start + span;
        return true;
    }
    while (n > FEWEST_STEPS &&
           (double)(steps->at[first + n - 1].host_end_ns - steps->at[first].host_start_ns) > share * (double)span) {
        first++;
        n--;
    }
    b->g->n_marks = n + 1;
    b->g->is_first = steps->at[first].is_first;
    b->first_mark = first;
    b->from_ns = steps->at[first ? first - 1 : 0].host_start_ns;
    b->to_ns = steps->at[first + n - 1].host_end_ns;
    return true;
}

void hu_build_shorten(hu_building *b, double share)
{
    b->g->covered *= share;
    b->to_ns = b->from_ns + (int64_t)(share * (double)(b->to_ns - b->from_ns));
}
