/* SPDX-License-Identifier: Apache-2.0
 * kinds.c - the names behind kinds.h, and those of the classes of calls of the system. */
#include "trace/kinds.h"

const char *hu_kind_name(unsigned kind)
{
    static const char *const names[] = {
#define K(id, name, place) [HU_KIND_##id] = (name),
        HU_KINDS(K)
#undef K
    };

    return kind < HU_KIND_COUNT ? names[kind] : "unknown";
}

const char *hu_kind_help(unsigned kind)
{
    static const char *const help[HU_KIND_COUNT] = {
        [HU_KIND_CPU_OP] = "an operator of the framework on a host thread, with all that it calls",
        [HU_KIND_PYTHON] = "a frame of the Python stack, or a module",
        [HU_KIND_USER] = "a named interval, set by the user or the framework: record_function, NVTX, steps",
        [HU_KIND_RUNTIME] = "a call of the GPU's runtime or driver on the host: launches, copies, waits, memory",
        [HU_KIND_OVERHEAD] = "the profiler's own work",
        [HU_KIND_KERNEL] = "code on the GPU that computes",
        [HU_KIND_COLLECTIVE] = "collective and send/receive kernels",
        [HU_KIND_MEMCPY] = "copies from, to and within device memory",
        [HU_KIND_MEMSET] = "fills of device memory",
    };

    return kind < HU_KIND_COUNT && help[kind] ? help[kind] : "";
}

static const struct {
    const char *key, *words;
} classes[] = {
#define C(id, key, words) [HU_HOST_##id] = {key, words},
    HU_HOST_CLASSES(C)
#undef C
};

const char *hu_host_class_key(unsigned class)
{
    return classes[class < HU_HOST_CLASS_COUNT ? class : HU_HOST_OTHER].key;
}

const char *hu_host_class_words(unsigned class)
{
    return classes[class < HU_HOST_CLASS_COUNT ? class : HU_HOST_OTHER].words;
}

const char *hu_wakeup_key(unsigned how)
{
    static const char *const keys[] = {
#define W(id, key) [HU_WAKEUP_##id] = (key),
        HU_WAKEUPS(W)
#undef W
    };

    return keys[how < HU_WAKEUP_HOWS ? how : HU_WAKEUP_OTHER];
}
