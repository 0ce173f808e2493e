/* SPDX-License-Identifier: Apache-2.0
 * kinds.c - the names behind kinds.h. */
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
