/* SPDX-License-Identifier: Apache-2.0
 * say_steps.c - two measurements of a step that differ are a fact about the job or the capture, and are said. */
#include "advise/say_steps.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"

enum { PAUSE_NAME = 40 }; /* bytes of it */

static const double LARGE_REST = 0.25; /* of the capture */
static const double MOSTLY = 0.5;      /* of that rest */
static const double SAME = 0.03;       /* of the longer one: they differ by less in any capture */

hu_steps_words hu_say_period(const hu_steps *steps)
{
    const hu_steady *s = &steps->steady;
    const double     more = fmax(s->by_marks_ns, s->by_ends_ns);
    hu_steps_words   said = {""};
    const char      *why;

    if (steps->source == HU_STEPS_NONE || !(fabs(s->by_marks_ns - s->by_ends_ns) > SAME * more))
        return said;
    if (s->is_by_marks && steps->n_counted == 1)
        why = "what the GPU still ran of the step before is no part of the only step";
    else if (steps->is_unlinked)
        why = "no GPU operation says which step launched it, so each counts to the one in which it begins";
    else if (s->is_by_marks)
        why = "at first the GPU works off a backlog from before these steps";
    else if (s->by_ends_ns > s->by_marks_ns && steps->n_counted == 1)
        why = "the host runs ahead of the GPU in the only step";
    else if (s->by_ends_ns > s->by_marks_ns)
        why = "the GPU falls behind the host";
    else
        why = "the GPU catches up with the host, and falls behind again";
    snprintf(said.t, sizeof said.t, "measured between %s, %s apart; %s are %s apart: %s",
             s->is_by_marks ? "host marks" : "ends of GPU work",
             hu_say_time(s->is_by_marks ? s->by_marks_ns : s->by_ends_ns).t,
             s->is_by_marks ? "ends of GPU work" : "host marks",
             hu_say_time(s->is_by_marks ? s->by_ends_ns : s->by_marks_ns).t, why);
    return said;
}

hu_steps_words hu_say_phases(const hu_steps *steps)
{
    static const char *const names[HU_ENGINE_PHASES] = {"other", "prefill", "decode", "mixed"};
    hu_steps_words           said = {""};
    size_t                   n = 0;

    if (!steps->is_engine || steps->phase_n[HU_PHASE_NONE] == (int64_t)steps->n_counted)
        return said;
    for (size_t k = 0; k < HU_ENGINE_PHASES; k++) {
        const size_t phase = (k + 1) % HU_ENGINE_PHASES; /* what has no name last */

        if (steps->phase_n[phase] && n < sizeof said.t)
            n += (size_t)snprintf(said.t + n, sizeof said.t - n, "%s%lld %s of %s", n ? ", " : "",
                                  (long long)steps->phase_n[phase], names[phase], hu_say_time(steps->phase_ns[phase]).t);
    }
    return said;
}

hu_steps_words hu_say_open(const hu_steps *steps)
{
    hu_steps_words said = {""};

    if (steps->n && steps->at[steps->n - 1].is_open)
        snprintf(said.t, sizeof said.t,
                 "without the last one: its mark ends before the step does, and no next mark tells when that was");
    return said;
}

/* Is a step next to a pause left out, because a part of it is not known? */
static bool has_open_side(const hu_steps *steps)
{
    for (size_t i = 1; i < steps->n; i++)
        if (steps->at[i].is_resumed && (steps->at[i - 1].is_open || steps->at[i].is_incomplete))
            return true;
    return false;
}

hu_steps_words hu_say_pauses(const hu_steps *steps)
{
    hu_steps_words said = {""};
    const char    *s = hu_plural((int64_t)steps->n_pauses);
    char           what[PAUSE_NAME + 16] = "nothing recorded tells why";

    if (!steps->n_pauses)
        return said;
    if (steps->pause.n)
        snprintf(what, sizeof what, "mostly \"%.*s\"", steps->pause.n < PAUSE_NAME ? (int)steps->pause.n : PAUSE_NAME,
                 steps->pause.p);
    snprintf(said.t, sizeof said.t, "without %zu pause%s between steps, %s of %s in all: %s%s", steps->n_pauses, s,
             hu_say_time((double)steps->pauses_ns).t,
             hu_say_time((double)(steps->at[steps->n - 1].ends.end_ns - steps->at[0].marks.start_ns)).t, what,
             has_open_side(steps) ? "; and without the step next to each, of which a part is not known" : "");
    return said;
}

/* "th" of 4th */
static const char *ordinal_end(int64_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};

    return n % 10 > 3 || (n % 100 >= 11 && n % 100 <= 13) ? "th" : ends[n % 10];
}

hu_steps_words hu_say_slow(const hu_digest *d)
{
    static const char *const device[HU_EXCESS_COUNT] = {[HU_EXCESS_COMPUTE] = "GPU compute",
                                                        [HU_EXCESS_COMM] = "exposed communication",
                                                        [HU_EXCESS_COPY] = "exposed copies"};
    const hu_slow_steps     *slow = &d->slow_steps;
    const size_t             others = d->steps.n_counted - slow->n;
    hu_steps_words           said = {""};
    char                     which[48], what[96];

    if (slow->n == 0)
        return said;
    if (slow->every)
        snprintf(which, sizeof which, " (every %lld%s)", (long long)slow->every, ordinal_end(slow->every));
    else
        snprintf(which, sizeof which, slow->n == 1 ? " (step %lld)" : " (the longest: step %lld)", (long long)slow->longest);
    if (slow->excess == HU_EXCESS_UNKNOWN)
        snprintf(what, sizeof what, "nothing recorded accounts for the difference");
    else
        snprintf(what, sizeof what, "%.*s%s account%s for %s of the difference",
                 slow->what.n < PAUSE_NAME ? (int)slow->what.n : PAUSE_NAME, slow->what.n ? slow->what.p : "",
                 device[slow->excess] ? device[slow->excess] : "", slow->excess == HU_EXCESS_COPY ? "" : "s",
                 hu_say_time(slow->what_ns).t);
    snprintf(said.t, sizeof said.t, " %zu of %zu steps%s take%s %s, the other%s %s: %s.", slow->n, d->steps.n_counted, which,
             slow->n == 1 ? "s" : "", hu_say_time(slow->slow_ns).t, hu_plural((int64_t)others),
             hu_say_time(slow->typical_ns).t, what);
    return said;
}

hu_steps_words hu_say_rest(const hu_digest *d)
{
    const hu_breakdown *b = &d->breakdown;
    hu_steps_words      said = {""};
    const int64_t       idle = b->rest_ns - b->rest_busy_ns;

    if (d->steps.source == HU_STEPS_NONE || d->steps.is_selected || !b->has_device ||
        (double)b->rest_ns < LARGE_REST * (double)b->capture_ns || (double)idle < MOSTLY * (double)b->rest_ns)
        return said;
    snprintf(said.t, sizeof said.t, " Outside of %s, in %s of %s captured, the GPU is idle for %s.",
             d->steps.source == HU_STEPS_STRUCTURE ? "what repeats" : "the steps", hu_say_time((double)b->rest_ns).t,
             hu_say_time((double)b->capture_ns).t, hu_say_pct(100 * (double)idle / (double)b->rest_ns).t);
    return said;
}

const char *hu_say_backlog(void)
{
    return "the GPU still ran what was launched before these steps, and nothing of their own was recorded; call "
           "torch.cuda.synchronize() before the first recorded step, or record more steps";
}
