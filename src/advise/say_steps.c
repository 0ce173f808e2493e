/* SPDX-License-Identifier: Apache-2.0
 * say_steps.c - two measurements of a step that differ are a fact about the job or the capture, and are said. */
#include "advise/say_steps.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"

static const double SAME = 0.03; /* of the longer one: they differ by less in any capture */

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

const char *hu_say_backlog(void)
{
    return "the GPU still ran what was launched before these steps, and nothing of their own was recorded; call "
           "torch.cuda.synchronize() before the first recorded step, or record more steps";
}
