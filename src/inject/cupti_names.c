/* SPDX-License-Identifier: Apache-2.0
 * cupti_names.c - names as PyTorch's profiler writes them, each looked up once.
 *
 * CUPTI itself says what its function numbers are called.  "cudaLaunchKernel_v7000" is "cudaLaunchKernel", and "_ptsz" and
 * "_ptds" (the default stream of each thread) are no other function; "_v2" of a function of the driver is a part of its
 * name.
 */
#include <stdio.h>
#include <string.h>

#include "inject/cuda.h"
#include "base/banned.h"

enum { UNKNOWN_YET = 0, IS_LEFT_OUT = UINT32_MAX, NAME_BYTES = 96 };

static uint32_t calls[2][HU_CUPTI_MOST_CBIDS]; /* ids of texts, by domain */

/* Beginnings of the names of the driver's functions that matter; the runtime's own calls of them are inside of its own. */
static const char *const driver_calls[] = {
    "cuLaunch",          "cuGraphLaunch",       "cuMemcpy",        "cuMemset",   "cuStreamSynchronize", "cuStreamWaitEvent",
    "cuCtxSynchronize",  "cuEventSynchronize",  "cuEventRecord",   "cuMemAlloc", "cuMemFree",           "cuMemHostAlloc",
    "cuMemHostRegister", "cuMemHostUnregister", "cuMemCreate",     "cuMemMap",   "cuMemUnmap",          "cuModuleLoad",
    "cuModuleUnload",    "cuLibraryLoad",       "cuLibraryUnload", "cuProfiler",
};

/* Calls of the runtime that take no time and say nothing. */
static const char *const noise[] = {
    "cudaGetDevice",
    "cudaSetDevice",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "__cudaPushCallConfiguration",
    "__cudaPopCallConfiguration",
};

static size_t without(const char *name, size_t n, const char *end)
{
    const size_t m = strlen(end);

    return n > m && memcmp(name + n - m, end, m) == 0 ? n - m : n;
}

static size_t length_of(const char *name)
{
    const size_t n = strnlen(name, NAME_BYTES);
    size_t       at = n;

    while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    if (n - at >= 4 && at >= 2 && name[at - 1] == 'v' && name[at - 2] == '_')
        at -= 2;
    else
        at = n;
    at = without(name, at, "_ptsz");
    return without(name, at, "_ptds");
}

static const char *name_of(uint32_t domain, uint32_t cbid)
{
    const char *name = NULL;

    if (!hu_the_cupti.callback_name || hu_the_cupti.callback_name(domain, cbid, &name) != HU_CUPTI_OK)
        return NULL;
    return name && name[0] ? name : NULL;
}

bool hu_cupti_wants_driver_call(uint32_t cbid)
{
    const char *name = name_of(HU_CUPTI_OF_DRIVER, cbid);

    for (size_t i = 0; name && i < sizeof driver_calls / sizeof *driver_calls; i++)
        if (strncmp(name, driver_calls[i], strlen(driver_calls[i])) == 0)
            return true;
    return false;
}

bool hu_cupti_is_noise(uint32_t cbid)
{
    const char  *name = name_of(HU_CUPTI_OF_RUNTIME, cbid);
    const size_t n = name ? length_of(name) : 0;

    for (size_t i = 0; name && i < sizeof noise / sizeof *noise; i++)
        if (strlen(noise[i]) == n && memcmp(noise[i], name, n) == 0)
            return true;
    return false;
}

static uint32_t find_name(uint32_t domain, uint32_t cbid)
{
    const bool  is_driver = domain == HU_CUPTI_OF_DRIVER;
    const char *name = name_of(domain, cbid);
    char        text[48];

    if (name)
        return (is_driver ? !hu_cupti_wants_driver_call(cbid) : hu_cupti_is_noise(cbid))
                   ? IS_LEFT_OUT
                   : hu_string_as_is(name, length_of(name));
    snprintf(text, sizeof text, "%s call %u", is_driver ? "CUDA driver" : "CUDA runtime", cbid);
    return hu_string_as_is(text, strlen(text));
}

uint32_t hu_cupti_call_name(uint32_t domain, uint32_t cbid)
{
    uint32_t *known = cbid < HU_CUPTI_MOST_CBIDS ? &calls[domain == HU_CUPTI_OF_RUNTIME][cbid] : NULL;
    uint32_t  id = known ? *known : UNKNOWN_YET;

    if (id == UNKNOWN_YET)
        id = find_name(domain, cbid);
    if (known)
        *known = id;
    return id == IS_LEFT_OUT ? 0 : id;
}

static const char *memory_word(unsigned kind)
{
    static const char *const words[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};

    return words[kind < sizeof words / sizeof *words ? kind : 0];
}

uint32_t hu_cupti_copy_name(unsigned copy, unsigned from, unsigned to)
{
    static const char *const words[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    char                     text[NAME_BYTES];

    snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", words[copy < sizeof words / sizeof *words ? copy : 0],
             memory_word(from), memory_word(to));
    return hu_string_as_is(text, strlen(text));
}

uint32_t hu_cupti_fill_name(unsigned memory)
{
    char text[NAME_BYTES];

    snprintf(text, sizeof text, "Memset (%s)", memory_word(memory));
    return hu_string_as_is(text, strlen(text));
}

uint32_t hu_cupti_cost_name(uint32_t cost)
{
    static const char *const words[] = {"Unknown",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full",
                                        "Activity Buffer Request",
                                        "UVM Activity Init"};
    const uint32_t           high = cost >> 16;
    const char              *word = cost == 1 ? "Driver Compiler" : words[high < sizeof words / sizeof *words ? high : 0];

    return hu_string_as_is(word, strlen(word));
}

uint32_t hu_cupti_wait_name(uint32_t wait)
{
    static const char *const words[] = {NULL, "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};

    return wait > 0 && wait < sizeof words / sizeof *words ? hu_string_as_is(words[wait], strlen(words[wait])) : 0;
}
