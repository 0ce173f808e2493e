/* SPDX-License-Identifier: Apache-2.0
 * late_causes.c - why a rank is late, from what the replays of all know.
 *
 * The critical path of the rank that is waited for is not waiting itself, so what it holds more of than those of the others
 * is what the others wait for.  A difference and no proof: two causes of one rank are not told apart in time.
 */
#include "advise/late_causes.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Of one class, over all ranks but one. */
static double median_of_others(hu_findings *const *all, size_t n, size_t but, hu_class c)
{
    enum { MOST = 256 };
    double       values[MOST];
    const size_t every = n / MOST + 1;
    size_t       k = 0;

    for (size_t i = 0; i < n && k < MOST; i += every)
        if (i != but && all[i] && all[i]->is_replayed)
            values[k++] = all[i]->by_class[c];
    qsort(values, k, sizeof *values, by_value);
    return k ? values[k / 2] : 0;
}

static void find_cause(hu_straggler *s, hu_findings *const *all, size_t n)
{
    const hu_findings *f = all[s->late.digest];

    s->cause = HU_CLASS_COUNT;
    for (hu_class c = 0; f && f->is_replayed && c < HU_CLASS_COUNT; c++) {
        const double more = f->by_class[c] - median_of_others(all, n, s->late.digest, c);

        if (c == HU_CLASS_COMM || c == HU_CLASS_HOST_COMM || more <= s->cause_step_ns)
            continue;
        s->cause = c;
        s->cause_step_ns = more;
    }
    if (s->cause_step_ns < s->late.lost_step_ns / 10) {
        s->cause = HU_CLASS_COUNT;
        s->cause_step_ns = 0;
    }
}

void hu_stragglers_ask(size_t digest, double lost_step_ns, hu_findings *const *all, size_t n, hu_straggler *out)
{
    *out = (hu_straggler){.late = {.digest = digest, .lost_step_ns = lost_step_ns}};
    find_cause(out, all, n);
}

void hu_stragglers_measure(const hu_late_ranks *late, hu_findings *const *all, size_t n, hu_stragglers *out)
{
    *out = (hu_stragglers){.n = late->n, .wait_step_ns = late->wait_step_ns, .by_messages = late->by_messages};
    for (size_t i = 0; i < late->n; i++) {
        out->at[i].late = late->at[i];
        find_cause(&out->at[i], all, n);
    }
}
