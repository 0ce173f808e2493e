/* SPDX-License-Identifier: Apache-2.0
 * cupti_v2.c - CUPTI's second interface, of 13.3 and later: several subscribers, each with records of its own choice.
 *
 * The two interfaces exclude one another in a process: whoever comes second with the other one is refused (39).  So this one
 * is for programs in which nobody uses the first: PyTorch's Kineto does, and does not ask again once it was refused.  A
 * subscriber of the second interface that is there already (PyTorch's monitor) is joined.
 *
 * In 13.3 a subscriber that shares CUPTI may not bring its own clock.  Ours are ticks, so there we are alone or not at all;
 * we do not even try to share, as whether CUPTI is shared may be said only once.
 * All functions are those of the subscriber: the others return errors or, of dropped records, a wrong 0.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "inject/cuda.h"
#include "inject/cupti_fields.h"
#include "base/banned.h"

enum { SINCE = 130300, FILTERS_SINCE = 130400, CLOCK_WHEN_SHARED_SINCE = 130400 };
enum { /* attributes */
       USER_DEFINED_RECORDS = 11,
       SUBSCRIBERS = 12, /* 0: one, 1: several, 2: nobody has said */
       WHOLE_GRAPHS = 20,
       THREAD_ID_TYPE = 21,
       CLOCK = 22,
};
enum { FLUSH_FORCED = 1, MOST_FIELDS = 32, NAME_BYTES = 64, MOST_KIND = 128 };

/* callbacks */

static uint64_t on_time(void)
{
    return hu_ticks();
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *most_records, hu_cupti_request *request)
{
    (void)request;
    hu_buffers_request(buffer, bytes, most_records);
}

/* What a kind's records look like never changes, as we choose its fields once. */
static void learn(const hu_cupti_completion *info)
{
    static uint8_t is_known[MOST_KIND];

    if (!info || info->bytes < sizeof *info || !info->layouts)
        return;
    for (uint32_t kind = 0; kind < info->n_layouts && kind < MOST_KIND; kind++) {
        const hu_cupti_layout *layout = info->layouts[kind];

        if (layout && layout->entries && !__atomic_load_n(&is_known[kind], __ATOMIC_ACQUIRE)) {
            hu_cupti_use_layout(kind, layout);
            __atomic_store_n(&is_known[kind], 1, __ATOMIC_RELEASE);
        }
    }
}

static void on_complete(uint8_t *buffer, size_t bytes, size_t valid_bytes, hu_cupti_completion *info)
{
    (void)bytes;
    learn(info);
    (void)hu_buffers_complete(buffer, valid_bytes);
}

/* attaching */

static bool has_functions(const hu_cupti *c)
{
    return c->subscribe_2 && c->unsubscribe && c->set_attribute_2 && c->get_attribute_2 && c->register_callbacks_2 &&
           c->enable_2 && c->enable_and_dump_2 && c->disable_2 && c->next_record_2 && c->dropped_2;
}

static uint8_t subscribers(void)
{
    uint8_t value = 2;
    size_t  bytes = sizeof value;

    return hu_the_cupti.get_attribute_2(NULL, SUBSCRIBERS, &bytes, &value) == HU_CUPTI_OK ? value : 2;
}

bool hu_cupti_v2_fits(void)
{
    const hu_cupti *c = &hu_the_cupti;

    if (c->version < SINCE || !has_functions(c) || hu_cuda_others_were_seen())
        return false;
    return subscribers() == 1 || !dlsym(RTLD_DEFAULT, "libkineto_init");
}

static int set(int attribute, const char *name, size_t bytes, void *value)
{
    return hu_cupti_said(name, hu_the_cupti.set_attribute_2(hu_the_cupti.subscriber, attribute, &bytes, value));
}

static void unsubscribe(void)
{
    if (hu_the_cupti.subscriber)
        (void)hu_the_cupti.unsubscribe(hu_the_cupti.subscriber);
    hu_the_cupti.subscriber = NULL;
}

static int subscribe(bool is_shared)
{
    hu_cuda_facts        *facts = hu_cuda_get_facts();
    char                  other[NAME_BYTES] = "";
    hu_cupti_subscription how = {sizeof how, "holdup", other, sizeof other, is_shared, {0}};
    hu_cupti_on_time     *clock = on_time;
    int                   code;

    code = hu_cupti_said("cuptiSubscribe_v2",
                         hu_the_cupti.subscribe_2(&hu_the_cupti.subscriber, hu_cupti_on_call_made, NULL, &how));
    if (code != HU_CUPTI_OK) {
        hu_the_cupti.subscriber = NULL;
        if (facts && !facts->other[0])
            snprintf(facts->other, sizeof facts->other, "%.*s", NAME_BYTES - 1, other);
        return code;
    }
    code = set(CLOCK, "CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK", sizeof clock, &clock);
    if (code != HU_CUPTI_OK)
        unsubscribe();
    return code;
}

static int attach(void)
{
    const bool is_joined = subscribers() == 1;
    uint32_t   thread_id = HU_CUPTI_THREAD_ID_SYSTEM;
    uint8_t    yes = 1;
    const bool is_shared = is_joined || hu_the_cupti.version >= CLOCK_WHEN_SHARED_SINCE;
    int        code = subscribe(is_shared);

    if (code != HU_CUPTI_OK && is_shared && !is_joined)
        code = subscribe(false);
    if (code != HU_CUPTI_OK)
        return code;
    code = set(USER_DEFINED_RECORDS, "CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS", sizeof yes, &yes);
    if (code == HU_CUPTI_OK)
        code = set(THREAD_ID_TYPE, "CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE", sizeof thread_id, &thread_id);
    if (code == HU_CUPTI_OK && hu_cupti_wants_kind(OF_GRAPH))
        (void)set(WHOLE_GRAPHS, "", sizeof yes, &yes); /* the first subscriber says; else its nodes come, or no graphs */
    if (code == HU_CUPTI_OK)
        code = hu_cupti_said("cuptiActivityRegisterCallbacks_v2",
                             hu_the_cupti.register_callbacks_2(hu_the_cupti.subscriber, on_request, on_complete));
    if (code != HU_CUPTI_OK) {
        unsubscribe();
        return code;
    }
    if (hu_the_control->cuda & HU_CUDA_ONLY_RANGE)
        hu_cupti_watch_calls(hu_the_cupti.subscriber, true);
    return HU_CUPTI_OK;
}

/* recording */

/* Of the driver's calls those that we want, of the runtime's all that are no noise.  13.3 cannot tell them apart: there the
 * decoder leaves out the others. */
static size_t choose_calls(int kind, uint32_t *cbids)
{
    size_t n = 0;

    for (uint32_t cbid = 1; cbid < HU_CUPTI_MOST_CBIDS; cbid++)
        if (kind == OF_DRIVER_CALL ? hu_cupti_wants_driver_call(cbid) : hu_cupti_is_noise(cbid))
            cbids[n++] = cbid;
    return n;
}

static int enable(int kind, bool dumps)
{
    const bool            is_of_calls = kind == OF_DRIVER_CALL || kind == OF_RUNTIME_CALL;
    uint32_t              cbids[HU_CUPTI_MOST_CBIDS];
    int                   numbers[MOST_FIELDS];
    hu_cupti_calls        calls = {sizeof calls, cbids, 0, kind == OF_DRIVER_CALL};
    hu_cupti_call_options options = {sizeof options, &calls};
    hu_cupti_selection    chosen = {offsetof(hu_cupti_selection, options), {sizeof chosen.fields, 0, numbers}, NULL};

    chosen.fields.n = hu_cupti_choose(kind, numbers, MOST_FIELDS);
    if (hu_the_cupti.version >= FILTERS_SINCE)
        chosen.bytes = sizeof chosen;
    if (hu_the_cupti.version >= FILTERS_SINCE && is_of_calls && hu_the_cupti.callback_name) {
        calls.n = choose_calls(kind, cbids);
        chosen.options = calls.n ? &options : NULL;
    }
    return (dumps ? hu_the_cupti.enable_and_dump_2 : hu_the_cupti.enable_2)(hu_the_cupti.subscriber, kind, &chosen);
}

static int change(int kind, bool is_on)
{
    return is_on ? enable(kind, false) : hu_the_cupti.disable_2(hu_the_cupti.subscriber, kind, NULL);
}

static const uint8_t described[] = {OF_DEVICE, OF_CONTEXT, OF_STREAM};

static int record(bool is_on)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();

    for (const uint8_t *kind = hu_cupti_kinds; *kind; kind++) {
        const int code = hu_cupti_wants_kind(*kind) ? change(*kind, is_on) : HU_CUPTI_OK;

        if (!is_on || code == HU_CUPTI_OK)
            continue;
        if (*kind == OF_KERNEL)
            return hu_cupti_said("cuptiActivityEnable_v2", code);
        if (facts)
            facts->missed_kinds |= UINT64_C(1) << *kind;
    }
    (void)change(OF_DRIVER_CALL, is_on);
    if (!(hu_the_control->cuda & HU_CUDA_ONLY_RANGE))
        hu_cupti_watch_calls(hu_the_cupti.subscriber, is_on);
    for (size_t i = 0; i < sizeof described; i++)
        (void)change(described[i], is_on);
    return HU_CUPTI_OK;
}

static void describe(void)
{
    for (size_t i = 0; i < sizeof described; i++)
        (void)enable(described[i], true);
}

static void flush(bool is_whole)
{
    (void)hu_the_cupti.flush_all(is_whole ? FLUSH_FORCED : 0);
}

static uint64_t dropped(void)
{
    size_t n = 0;

    return hu_the_cupti.dropped_2(hu_the_cupti.subscriber, NULL, 0, &n) == HU_CUPTI_OK ? n : 0;
}

/* Somebody asks for the first interface, and would be refused while we are here.  We do not come back. */
static void make_way(const char *function)
{
    hu_cuda_leave(function);
    unsubscribe();
}

static bool release(void)
{
    make_way("cuptiSubscribe");
    return true;
}

const hu_cupti_back_end hu_cupti_v2 = {attach, record, flush, dropped, describe, release, make_way};
