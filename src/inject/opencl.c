/* SPDX-License-Identifier: Apache-2.0
 * opencl.c - the OpenCL door: the loader of OpenCL takes us for one of its layers, and each call goes through our table.
 *
 * Outside of a session, or where OpenCL is not to be recorded, the loader gets its own table back: there is no layer.
 *
 * The end.  A handler of exit() has our thread record what is complete.  It is registered when the loader initialises its
 * layers, so behind the handlers of what was loaded by then, and therefore runs before them; _exit() does the same.  What
 * is not complete then, the program did not wait for either: counted.  A forked child forgets all commands: they are its
 * parent's, and so is the device.
 */
#include "inject/opencl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "inject/sys.h"
#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

hu_cl_function *hu_cl_next[HU_CL_MOST];

static hu_cl_function *table[HU_CL_MOST];
static uint32_t        used_in; /* pid: the loader has called us there, or it enqueued something */
static bool            is_layer;

hu_opencl_facts *hu_cl_facts(void)
{
    return hu_the_process.head ? &hu_the_process.head->opencl : NULL;
}

bool hu_cl_is_recorded(void)
{
    return hu_gate_open(HU_DOOR_OPENCL) && hu_thread.inside == 0;
}

static void end(void)
{
    if (used_in == hu_sys_pid())
        hu_cl_thread_end();
}

void hu_opencl_exits(void)
{
    end();
}

void hu_opencl_forked(void)
{
    used_in = hu_sys_pid();
    hu_cl_thread_forked();
    hu_cl_commands_forked();
    hu_cl_queues_forked();
}

EXPORT int32_t clGetLayerInfo(uint32_t name, size_t room, void *value, size_t *bytes);
EXPORT int32_t clInitLayer(uint32_t n, hu_cl_function **target, uint32_t *n_ours, hu_cl_function ***ours);

int32_t clGetLayerInfo(uint32_t name, size_t room, void *value, size_t *bytes)
{
    static const char     text[] = "holdup";
    static const uint32_t version = HU_CL_LAYER_API_VERSION_100;
    const bool            is_name = name == HU_CL_LAYER_NAME;
    const size_t          n = is_name ? sizeof text : sizeof version;

    if ((!is_name && name != HU_CL_LAYER_API_VERSION) || (value && room < n))
        return HU_CL_INVALID_VALUE;
    if (value)
        memcpy(value, is_name ? (const void *)text : &version, n);
    if (bytes)
        *bytes = n;
    return HU_CL_SUCCESS;
}

/* Our thread may call it when the program has already closed it. */
static void keep_loaded(hu_cl_function *const *target)
{
    Dl_info     library;
    const void *at;

    memcpy(&at, &target[HU_CL_AT_GetEventInfo], sizeof at);
    if (at && dladdr(at, &library) && library.dli_fname)
        (void)dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int32_t clInitLayer(uint32_t n, hu_cl_function **target, uint32_t *n_ours, hu_cl_function ***ours)
{
    const size_t known = n < HU_CL_MOST ? n : HU_CL_MOST;

    if (!target || !n_ours || !ours)
        return HU_CL_INVALID_VALUE;
    *n_ours = n;
    *ours = target;
    if (is_layer || !(hu_the_control->wanted & HU_DOOR_OPENCL) || !hu_process_attach())
        return HU_CL_SUCCESS;
    if (n < HU_CL_TABLE) {
        hu_note("OpenCL is not recorded: its loader knows %u functions, and OpenCL 3.0 has %d; install a newer loader", n,
                HU_CL_TABLE);
        return HU_CL_SUCCESS;
    }
    is_layer = true;
    keep_loaded(target);
    memcpy(hu_cl_next, target, known * sizeof *target);
    memcpy(table, target, known * sizeof *target);
    hu_cl_calls_fill(table);
    hu_cl_queues_fill(table);
    used_in = hu_sys_pid();
    hu_process_entered(HU_DOOR_OPENCL);
    (void)atexit(end);
    *n_ours = (uint32_t)known;
    *ours = table;
    return HU_CL_SUCCESS;
}
