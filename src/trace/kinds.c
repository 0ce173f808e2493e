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
