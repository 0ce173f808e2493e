/* SPDX-License-Identifier: Apache-2.0
 * lent.h - what a body that is being sent reads, until nobody reads it any more. */
#ifndef HU_CLI_LENT_H
#define HU_CLI_LENT_H

#include "base/arena.h"

typedef struct {
    hu_arena *arena;            /* freed with the body; NULL: none */
    void (*let_go)(void *held); /* then told; NULL: nobody */
    void *held;
} hu_lent;

static inline void hu_lent_return(const hu_lent *lent)
{
    hu_arena_free(lent->arena);
    if (lent->let_go)
        lent->let_go(lent->held);
}

#endif
