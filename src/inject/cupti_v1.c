/* SPDX-License-Identifier: Apache-2.0
 * cupti_v1.c - CUPTI's first interface, of 11.8 to 13.x: one subscriber, one pair of buffer callbacks for the process.
 *
 * The order matters: whoever subscribes first has CUPTI, so that comes first and yields to another tool; what threads and
 * times are called must be said before anything is enabled.  Times are our own ticks, so GPU work lies on the clock of
 * everything else that is recorded: CUPTI asks for them in calls and translates what the GPU wrote.
 *
 * Only the calls of the driver that launch, copy, allocate, load or wait are enabled, where CUPTI can (12.5 and later); an
 * older one gives all of them, and the decoder leaves out the others.
 */
#include <stdio.h>

#include "inject/cuda.h"
#include "base/banned.h"

/* K(name, number, is it enabled) */
/* clang-format off */
#define KINDS(K)                                                                             \
    K(MEMCPY, 1, true) K(MEMSET, 2, true) K(RUNTIME, 5, true) K(CONCURRENT_KERNEL, 10, true) \
    K(OVERHEAD, 17, true) K(MEMCPY2, 22, true) K(CUDA_EVENT, 36, hu_the_cupti.version >= 20) \
    K(SYNCHRONIZATION, 38, true) K(MEMORY2, 49, wants(HU_CUDA_WANTS_MEMORY))                 \
    K(GRAPH_TRACE, 51, wants(HU_CUDA_WHOLE_GRAPHS))                                          \
    K(GRAPH_HOST_NODE, 56, hu_the_cupti.version >= 130100)                                   \
    K(HOST_LAUNCH, 58, hu_the_cupti.version >= 130100)
/* clang-format on */

enum { KIND_DRIVER = 4, KIND_DEVICE = 8, KIND_CONTEXT = 9, KIND_KERNEL = 10, KIND_STREAM = 37 };
enum { RUNTIME_RESET = 164, RUNTIME_START = 171, RUNTIME_STOP = 172 }; /* functions whose calls we look at */
enum { DRIVER_START = 308, DRIVER_STOP = 309, DRIVER_RESET = 389, DRIVER_RESET_2 = 545 };
enum { FLUSH_FORCED = 1 };

static void *subscriber;

static bool wants(uint32_t option)
{
    return (hu_the_control->cuda & option) != 0;
}

/* A code, and who gave it. */
static int said(const char *function, int code)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();

    if (code != HU_CUPTI_OK && facts)
        snprintf(facts->what, sizeof facts->what, "%s", function);
    return code;
}

/* callbacks */

static uint64_t on_time(void)
{
    return hu_ticks();
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    if (!hu_cuda_others_request(buffer, bytes, most_records))
        hu_buffers_request(buffer, bytes, most_records);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    if (!hu_buffers_complete(buffer, valid_bytes))
        hu_cuda_others_complete(context, stream, buffer, bytes, valid_bytes);
}

static void on_call(void *user, uint32_t domain, uint32_t cbid, const hu_cupti_call *call)
{
    const bool is_driver = domain == HU_CUPTI_OF_DRIVER;

    (void)user;
    if (!call || !hu_cuda_is_ours())
        return;
    hu_thread.inside++;
    if (cbid == (is_driver ? DRIVER_START : RUNTIME_START) && call->site == HU_CUPTI_EXITS)
        hu_cuda_profiler(true);
    else if (cbid == (is_driver ? DRIVER_STOP : RUNTIME_STOP) && call->site == HU_CUPTI_ENTERS)
        hu_cuda_profiler(false);
    else if ((is_driver ? cbid == DRIVER_RESET || cbid == DRIVER_RESET_2 : cbid == RUNTIME_RESET) &&
             call->site == HU_CUPTI_ENTERS)
        hu_cuda_flush(true);
    hu_thread.inside--;
}

/* attaching */

static void watch_calls(void)
{
    static const struct {
        uint32_t domain, cbid;
    } calls[] = {
        {HU_CUPTI_OF_RUNTIME, RUNTIME_RESET}, {HU_CUPTI_OF_RUNTIME, RUNTIME_START}, {HU_CUPTI_OF_RUNTIME, RUNTIME_STOP},
        {HU_CUPTI_OF_DRIVER, DRIVER_START},   {HU_CUPTI_OF_DRIVER, DRIVER_STOP},    {HU_CUPTI_OF_DRIVER, DRIVER_RESET},
        {HU_CUPTI_OF_DRIVER, DRIVER_RESET_2},
    };

    for (size_t i = 0; subscriber && hu_the_cupti.enable_callback && i < sizeof calls / sizeof *calls; i++)
        (void)hu_the_cupti.enable_callback(1, subscriber, calls[i].domain, calls[i].cbid);
}

/* Another part of the program may have subscribed (PyTorch does when it is imported); that is no reason to yield as long as
 * it enables nothing, which we see.  A tool that we did not see has come before us. */
static int subscribe(void)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();
    const int      code = hu_the_cupti.subscribe(&subscriber, on_call, NULL);

    if (code == HU_CUPTI_OTHER_SUBSCRIBER && hu_cuda_others_subscribed()) {
        subscriber = NULL;
        if (facts)
            facts->shared = 1;
        return HU_CUPTI_OK;
    }
    return said("cuptiSubscribe", code);
}

static int give_up(int code)
{
    if (subscriber && hu_the_cupti.unsubscribe)
        (void)hu_the_cupti.unsubscribe(subscriber);
    subscriber = NULL;
    return code;
}

static int attach(void)
{
    uint8_t   is_zeroed = 1;
    size_t    bytes = sizeof is_zeroed;
    hu_cupti *c = &hu_the_cupti;
    int       code = said("cuptiGetVersion", c->get_version(&c->version));

    if (code == HU_CUPTI_OK && c->version == 0)
        code = said("cuptiGetVersion", HU_CUPTI_UNKNOWN);
    if (code != HU_CUPTI_OK)
        return code;
    code = subscribe();
    if (code != HU_CUPTI_OK)
        return code;
    if (c->set_thread_id_type)
        code = said("cuptiSetThreadIdType", c->set_thread_id_type(HU_CUPTI_THREAD_ID_SYSTEM));
    if (code == HU_CUPTI_OK)
        code = said("cuptiActivityRegisterTimestampCallback", c->register_time(on_time));
    if (code != HU_CUPTI_OK)
        return give_up(code);
    if (c->set_attribute)
        (void)c->set_attribute(HU_CUPTI_ATTRIBUTE_ZEROED, &bytes, &is_zeroed);
    code = said("cuptiActivityRegisterCallbacks", c->register_callbacks(on_request, on_complete));
    if (code != HU_CUPTI_OK)
        return give_up(code);
    watch_calls();
    return HU_CUPTI_OK;
}

/* recording */

static void change_driver_calls(bool is_on)
{
    if (!hu_the_cupti.enable_driver || !hu_the_cupti.callback_name) {
        (void)(is_on ? hu_the_cupti.enable : hu_the_cupti.disable)(KIND_DRIVER);
        return;
    }
    for (uint32_t cbid = 1; cbid < HU_CUPTI_MOST_CBIDS; cbid++)
        if (hu_cupti_wants_driver_call(cbid))
            (void)hu_the_cupti.enable_driver(cbid, is_on);
}

static void silence_noise(void)
{
    for (uint32_t cbid = 1; hu_the_cupti.enable_runtime && cbid < HU_CUPTI_MOST_CBIDS; cbid++)
        if (hu_cupti_is_noise(cbid))
            (void)hu_the_cupti.enable_runtime(cbid, 0);
}

/* What devices, contexts and streams are.  `dumps`: also of those that are there already, which asks the driver and so must
 * wait until it is initialised. */
static void change_descriptions(bool is_on, bool dumps)
{
    static const int kinds[] = {KIND_DEVICE, KIND_CONTEXT, KIND_STREAM};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!is_on)
            (void)hu_the_cupti.disable(kinds[i]);
        else if (dumps && hu_the_cupti.enable_and_dump)
            (void)hu_the_cupti.enable_and_dump(kinds[i]);
        else
            (void)hu_the_cupti.enable(kinds[i]);
}

static int record(bool is_on)
{
    static const struct {
        const char *name;
        int         number;
    } kinds[] = {
#define K(name, number, is_enabled) {#name, number},
        KINDS(K)
#undef K
    };
    const bool is_enabled[] = {
#define K(name, number, is_enabled) is_enabled,
        KINDS(K)
#undef K
    };
    hu_cuda_facts *facts = hu_cuda_get_facts();
    int            code;

    if (is_on) {
        code = said("cuptiActivityEnable", hu_the_cupti.enable(KIND_KERNEL));
        if (code != HU_CUPTI_OK)
            return code; /* without kernels the rest is worth nothing */
    }
    change_descriptions(is_on, false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_enabled[i] || (is_on && kinds[i].number == KIND_KERNEL))
            continue;
        code = (is_on ? hu_the_cupti.enable : hu_the_cupti.disable)(kinds[i].number);
        if (is_on && code != HU_CUPTI_OK && facts)
            facts->missed_kinds |= UINT64_C(1) << kinds[i].number;
    }
    change_driver_calls(is_on);
    if (is_on)
        silence_noise();
    return HU_CUPTI_OK;
}

static void describe(void)
{
    change_descriptions(true, true);
}

static void flush(bool is_whole)
{
    (void)hu_the_cupti.flush_all(is_whole ? FLUSH_FORCED : 0);
}

static uint64_t dropped(void)
{
    size_t n = 0;

    return hu_the_cupti.dropped(NULL, 0, &n) == HU_CUPTI_OK ? n : 0;
}

/* Callbacks are worth less than another one's recording, unless they say what is to be recorded. */
static bool release(void)
{
    if (!subscriber || wants(HU_CUDA_ONLY_RANGE) || !hu_the_cupti.unsubscribe)
        return !subscriber;
    if (hu_the_cupti.unsubscribe(subscriber) != HU_CUPTI_OK)
        return false;
    subscriber = NULL;
    return true;
}

const hu_cupti_back_end hu_cupti_v1 = {"V1", attach, record, flush, dropped, describe, release};
