/* SPDX-License-Identifier: Apache-2.0
 * cuda_others.c - another part of the program that uses CUPTI, such as torch.profiler: it goes first, and loses nothing.
 *
 * CUPTI's first interface has one subscriber and one pair of buffer callbacks in a process, and says nothing when another
 * one takes them.  As we are preloaded, a library that is linked to CUPTI calls our functions of these names, and we call
 * the real ones: so we see who it is, when it enables kinds and when it has disabled them all.  Meanwhile ours are disabled
 * (cuda.c).  Our callbacks stay registered and pass on what is theirs: a buffer goes back to whoever gave it.
 *
 * Who finds CUPTI's functions by dlsym, or holds a copy of CUPTI linked statically, is not seen.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "inject/cuda.h"
#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

enum { KINDS = 128, PATH_BYTES = 1024 };

static hu_cupti_on_request  *their_request;
static hu_cupti_on_complete *their_complete;
static uint8_t               is_enabled[KINDS]; /* by them */
static uint32_t              n_enabled;
static bool                  has_subscribed;

bool hu_cuda_is_other_recording(void)
{
    return __atomic_load_n(&n_enabled, __ATOMIC_ACQUIRE) > 0;
}

bool hu_cuda_others_subscribed(void)
{
    return has_subscribed;
}

bool hu_cuda_others_were_seen(void)
{
    return has_subscribed || their_request || hu_cuda_is_other_recording();
}

bool hu_cuda_others_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    hu_cupti_on_request *const request = their_request;

    if (!request || !hu_cuda_is_other_recording())
        return false;
    request(buffer, bytes, most_records);
    return true;
}

void hu_cuda_others_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    hu_cupti_on_complete *const complete = their_complete;

    if (complete)
        complete(context, stream, buffer, bytes, valid_bytes);
}

/* The function of that name that the caller would have called. */
static void *find(void **known, const char *name)
{
    char  path[PATH_BYTES];
    void *library, *function = __atomic_load_n(known, __ATOMIC_RELAXED);

    if (function)
        return function;
    function = dlsym(RTLD_NEXT, name);
    if (!function && (library = hu_cuda_mapped("libcupti.so", path, sizeof path)))
        function = dlsym(library, name);
    __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return function;
}

static void note_other(const void *caller)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();
    Dl_info        where;

    if (facts && !facts->other[0] && dladdr(caller, &where) && where.dli_fname)
        snprintf(facts->other, sizeof facts->other, "%s", where.dli_fname);
}

static void set_enabled(int kind, bool is_on)
{
    if (kind < 0 || kind >= KINDS || __atomic_exchange_n(&is_enabled[kind], is_on, __ATOMIC_ACQ_REL) == is_on)
        return;
    if (is_on)
        __atomic_fetch_add(&n_enabled, 1, __ATOMIC_ACQ_REL);
    else
        __atomic_fetch_sub(&n_enabled, 1, __ATOMIC_ACQ_REL);
}

/* Of what we use, not all can be shared with a user of the first interface. */
static void make_way(const char *function, const void *caller)
{
    const hu_cupti_back_end *back_end = hu_cuda_back_end();

    if (!back_end || !back_end->make_way)
        return;
    note_other(caller);
    back_end->make_way(function);
}

EXPORT int cuptiSubscribe(void **subscriber, hu_cupti_on_call *callback, void *user);
EXPORT int cuptiActivityRegisterCallbacks(hu_cupti_on_request *request, hu_cupti_on_complete *complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiFinalize(void);

int cuptiSubscribe(void **subscriber, hu_cupti_on_call *callback, void *user)
{
    static void *known;
    int (*real)(void **, hu_cupti_on_call *, void *) = NULL;
    const hu_cupti_back_end *back_end = hu_cuda_back_end();
    int                      rc;

    *(void **)&real = find(&known, "cuptiSubscribe");
    if (back_end)
        (void)back_end->release();
    rc = real ? real(subscriber, callback, user) : HU_CUPTI_UNKNOWN;
    if (rc == HU_CUPTI_OK) {
        has_subscribed = true;
        note_other(__builtin_return_address(0));
    }
    return rc;
}

int cuptiActivityRegisterCallbacks(hu_cupti_on_request *request, hu_cupti_on_complete *complete)
{
    static void *known;
    int (*real)(hu_cupti_on_request *, hu_cupti_on_complete *) = NULL;

    *(void **)&real = find(&known, "cuptiActivityRegisterCallbacks");
    make_way("cuptiActivityRegisterCallbacks", __builtin_return_address(0));
    note_other(__builtin_return_address(0));
    their_request = request;
    their_complete = complete;
    if (hu_cuda_back_end() && request && complete)
        return HU_CUPTI_OK;
    return real ? real(request, complete) : HU_CUPTI_UNKNOWN;
}

/* Ours are disabled before the first of theirs is enabled, and their buffers are back. */
int cuptiActivityEnable(int kind)
{
    static void *known;
    int (*real)(int) = NULL;
    int rc;

    *(void **)&real = find(&known, "cuptiActivityEnable");
    make_way("cuptiActivityEnable", __builtin_return_address(0));
    set_enabled(kind, true);
    hu_cuda_yield();
    rc = real ? real(kind) : HU_CUPTI_UNKNOWN;
    if (rc != HU_CUPTI_OK)
        set_enabled(kind, false);
    return rc;
}

int cuptiActivityDisable(int kind)
{
    static void *known;
    int (*real)(int) = NULL;
    int rc;

    *(void **)&real = find(&known, "cuptiActivityDisable");
    rc = real ? real(kind) : HU_CUPTI_UNKNOWN;
    set_enabled(kind, false);
    return rc;
}

/* CUPTI is detached from the process: nothing of ours is left in it. */
int cuptiFinalize(void)
{
    static void *known;
    int (*real)(void) = NULL;

    *(void **)&real = find(&known, "cuptiFinalize");
    hu_cuda_leave("cuptiFinalize");
    return real ? real() : HU_CUPTI_UNKNOWN;
}
