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
#include "inject/cuda.h"
#include "inject/cupti_fields.h"
#include "base/banned.h"

enum { FLUSH_FORCED = 1 };

static void *subscriber;

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

/* attaching */

/* Another part of the program may have subscribed (PyTorch does when it is imported); that is no reason to yield as long as
 * it enables nothing, which we see.  A tool that we did not see has come before us. */
static int subscribe(void)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();
    const int      code = hu_the_cupti.subscribe(&subscriber, hu_cupti_on_call_made, NULL);

    if (code == HU_CUPTI_OTHER_SUBSCRIBER && hu_cuda_others_subscribed()) {
        subscriber = NULL;
        if (facts)
            facts->shared = 1;
        return HU_CUPTI_OK;
    }
    return hu_cupti_said("cuptiSubscribe", code);
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
    int       code = subscribe();

    if (code != HU_CUPTI_OK)
        return code;
    if (c->set_thread_id_type)
        code = hu_cupti_said("cuptiSetThreadIdType", c->set_thread_id_type(HU_CUPTI_THREAD_ID_SYSTEM));
    if (code == HU_CUPTI_OK)
        code = hu_cupti_said("cuptiActivityRegisterTimestampCallback", c->register_time(on_time));
    if (code != HU_CUPTI_OK)
        return give_up(code);
    if (c->set_attribute)
        (void)c->set_attribute(HU_CUPTI_ATTRIBUTE_ZEROED, &bytes, &is_zeroed);
    code = hu_cupti_said("cuptiActivityRegisterCallbacks", c->register_callbacks(on_request, on_complete));
    if (code != HU_CUPTI_OK)
        return give_up(code);
    hu_cupti_use_version(c->version);
    if (hu_the_control->cuda & HU_CUDA_ONLY_RANGE)
        hu_cupti_watch_calls(subscriber, true);
    return HU_CUPTI_OK;
}

/* recording */

static void change_driver_calls(bool is_on)
{
    if (!hu_the_cupti.enable_driver || !hu_the_cupti.callback_name) {
        (void)(is_on ? hu_the_cupti.enable : hu_the_cupti.disable)(OF_DRIVER_CALL);
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
    static const int kinds[] = {OF_DEVICE, OF_CONTEXT, OF_STREAM};

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
    hu_cuda_facts *facts = hu_cuda_get_facts();
    int            code;

    for (const uint8_t *kind = hu_cupti_kinds; *kind; kind++) {
        if (!hu_cupti_wants_kind(*kind))
            continue;
        code = is_on ? hu_the_cupti.enable(*kind) : hu_the_cupti.disable(*kind);
        if (!is_on || code == HU_CUPTI_OK)
            continue;
        if (*kind == OF_KERNEL)
            return hu_cupti_said("cuptiActivityEnable", code); /* without kernels the rest is worth nothing */
        if (facts)
            facts->missed_kinds |= UINT64_C(1) << *kind;
    }
    change_descriptions(is_on, false);
    change_driver_calls(is_on);
    if (!(hu_the_control->cuda & HU_CUDA_ONLY_RANGE))
        hu_cupti_watch_calls(subscriber, is_on);
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
    if (!subscriber || (hu_the_control->cuda & HU_CUDA_ONLY_RANGE) || !hu_the_cupti.unsubscribe)
        return !subscriber;
    if (hu_the_cupti.unsubscribe(subscriber) != HU_CUPTI_OK)
        return false;
    subscriber = NULL;
    return true;
}

const hu_cupti_back_end hu_cupti_v1 = {attach, record, flush, dropped, describe, release, NULL};
