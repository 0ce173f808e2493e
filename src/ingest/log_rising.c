/* SPDX-License-Identifier: Apache-2.0
 * log_rising.c - by the times of day: steps that grow fill them, times since the start add up to far more. */
#include "ingest/log_rising.h"

enum { LEAST_STEPS = 12 };

static const double LEAST_PASSED = 20e9; /* ns, of clocks that tell seconds */
static const double MOST_APART = 1.5;    /* times, that two measures of one time may differ */

/* The times of day say that as much passed as all these steps took. */
static bool do_fill_the_clock(const hu_log_step *steps, size_t n)
{
    const double passed = (double)(steps[n - 1].at_ns - steps[0].at_ns);
    double       sum = 0;

    if (!steps[0].at_ns || !steps[n - 1].at_ns || passed < LEAST_PASSED)
        return false;
    for (size_t i = 1; i < n; i++)
        sum += (double)steps[i].ns * (double)(steps[i].iteration - steps[i - 1].iteration);
    return !steps[0].is_bare && sum < MOST_APART * passed && passed < MOST_APART * sum;
}

bool hu_log_is_rising(const hu_step_log *log, size_t first)
{
    const hu_log_step *steps = log->steps.at;

    if (log->steps.n - first < LEAST_STEPS)
        return false;
    for (size_t i = first + 1; i < log->steps.n; i++)
        if (steps[i].ns <= steps[i - 1].ns)
            return false;
    return !do_fill_the_clock(steps + first, log->steps.n - first);
}
