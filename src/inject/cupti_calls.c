/* SPDX-License-Identifier: Apache-2.0
 * cupti_calls.c - what both interfaces of CUPTI are asked for: kinds of records, and calls of the program that we look at.
 */
#include <stdio.h>

#include "inject/cuda.h"
#include "inject/cupti_fields.h"
#include "inject/live.h"
#include "base/banned.h"

enum { RUNTIME_RESET = 164, RUNTIME_START = 171, RUNTIME_STOP = 172 }; /* functions whose calls we look at */
/* That wait for the device; those of a copy last as long as the copy, and are none. */
static const uint16_t runtime_waits[] = {126, 131, 137, 165, 239}, driver_waits[] = {17, 121, 126, 440, 800};
enum { WAITS = sizeof runtime_waits / sizeof *runtime_waits };

enum { DRIVER_START = 308, DRIVER_STOP = 309, DRIVER_RESET = 389, DRIVER_RESET_2 = 545 };

const uint8_t hu_cupti_kinds[] = {OF_KERNEL,    OF_COPY,        OF_FILL, OF_RUNTIME_CALL, OF_COST,
                                  OF_PEER_COPY, OF_EVENT,       OF_WAIT, OF_MEMORY,       OF_GRAPH,
                                  OF_HOST_NODE, OF_HOST_LAUNCH, 0};

bool hu_cupti_wants_kind(int kind)
{
    switch (kind) {
    case OF_MEMORY:
        return (hu_the_control->cuda & HU_CUDA_WANTS_MEMORY) != 0;
    case OF_GRAPH:
        return (hu_the_control->cuda & HU_CUDA_WHOLE_GRAPHS) != 0;
    case OF_EVENT:
        return hu_the_cupti.version >= 20;
    case OF_HOST_NODE:
    case OF_HOST_LAUNCH:
        return hu_the_cupti.version >= 130100;
    default:
        return true;
    }
}

int hu_cupti_said(const char *function, int code)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();

    if (code != HU_CUPTI_OK && facts)
        snprintf(facts->what, sizeof facts->what, "%s", function);
    return code;
}

static bool is_wait(bool is_driver, uint32_t cbid)
{
    for (size_t i = 0; i < WAITS; i++)
        if ((is_driver ? driver_waits : runtime_waits)[i] == cbid)
            return true;
    return false;
}

void hu_cupti_on_call_made(void *user, uint32_t domain, uint32_t cbid, const hu_cupti_call *call)
{
    const bool is_driver = domain == HU_CUPTI_OF_DRIVER;

    (void)user;
    if (!call || !hu_cuda_back_end())
        return;
    hu_thread.inside++;
    if (cbid == (is_driver ? DRIVER_START : RUNTIME_START) && call->site == HU_CUPTI_EXITS)
        hu_cuda_profiler(true);
    else if (cbid == (is_driver ? DRIVER_STOP : RUNTIME_STOP) && call->site == HU_CUPTI_ENTERS)
        hu_cuda_profiler(false);
    else if ((is_driver ? cbid == DRIVER_RESET || cbid == DRIVER_RESET_2 : cbid == RUNTIME_RESET) &&
             call->site == HU_CUPTI_ENTERS)
        hu_cuda_flush(true);
    else if (is_wait(is_driver, cbid) && call->site == HU_CUPTI_ENTERS)
        hu_live_enter(HU_LIVE_DEVICE);
    else if (is_wait(is_driver, cbid))
        hu_live_leave();
    hu_thread.inside--;
}

/* Only where a monitor asks: these calls are many.  A door that opened before that is left as it is. */
static void watch_waits(void *subscriber, bool is_on)
{
    static bool is_watched;
    bool        is_one = false;

    if (!subscriber || !hu_the_cupti.enable_callback || !(is_on ? hu_live_on() : is_watched))
        return;
    for (size_t i = 0; i < WAITS; i++) {
        is_one |= hu_the_cupti.enable_callback(is_on, subscriber, HU_CUPTI_OF_RUNTIME, runtime_waits[i]) == HU_CUPTI_OK;
        is_one |= hu_the_cupti.enable_callback(is_on, subscriber, HU_CUPTI_OF_DRIVER, driver_waits[i]) == HU_CUPTI_OK;
    }
    is_watched = is_on && is_one;
    if (is_watched) {
        hu_live_shows(1u << HU_LIVE_DEVICE);
        hu_live_measures(1u << HU_LIVE_DEVICE);
    } else {
        hu_live_hides(1u << HU_LIVE_DEVICE);
    }
}

void hu_cupti_watch_calls(void *subscriber, bool is_on)
{
    static const struct {
        uint32_t domain, cbid;
    } calls[] = {
        {HU_CUPTI_OF_RUNTIME, RUNTIME_RESET}, {HU_CUPTI_OF_RUNTIME, RUNTIME_START}, {HU_CUPTI_OF_RUNTIME, RUNTIME_STOP},
        {HU_CUPTI_OF_DRIVER, DRIVER_START},   {HU_CUPTI_OF_DRIVER, DRIVER_STOP},    {HU_CUPTI_OF_DRIVER, DRIVER_RESET},
        {HU_CUPTI_OF_DRIVER, DRIVER_RESET_2},
    };

    for (size_t i = 0; subscriber && hu_the_cupti.enable_callback && i < sizeof calls / sizeof *calls; i++)
        (void)hu_the_cupti.enable_callback(is_on, subscriber, calls[i].domain, calls[i].cbid);
    watch_waits(subscriber, is_on);
}
