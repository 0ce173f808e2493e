/* SPDX-License-Identifier: Apache-2.0
 * host_clock.c - a source: whether a time service keeps the clock right, by adjtimex(2), which is only asked. */
#include <sys/timex.h>

#include "monitor/source.h"

static bool host_clock_open(const hu_source_options *options, void **state, hu_readings *out)
{
    (void)options;
    (void)out;
    *state = NULL;
    return true;
}

static void host_clock_close(void *state)
{
    (void)state;
}

/* The kernel clears STA_UNSYNC when a service tells it the time, and sets it again once the error has grown to 16 s. */
static bool host_clock_sample(void *state, hu_sample_group group, hu_readings *out)
{
    struct timex t = {.modes = 0};
    int          clock_state;

    (void)state;
    if (group != HU_SAMPLE_SLOW)
        return true;
    clock_state = adjtimex(&t);
    if (clock_state < 0)
        return false;
    hu_put_plain(out, HU_METRIC_CLOCK_SYNCHRONIZED, clock_state != TIME_ERROR && !(t.status & STA_UNSYNC));
    hu_put_plain(out, HU_METRIC_CLOCK_MAX_ERROR, (double)t.maxerror / 1e6);
    hu_put_plain(out, HU_METRIC_CLOCK_OFFSET, (double)t.offset / (t.status & STA_NANO ? 1e9 : 1e6));
    return true;
}

const hu_source hu_source_host_clock = {"host_clock", HU_SAMPLER_HOST, host_clock_open, host_clock_sample, host_clock_close};
