/* SPDX-License-Identifier: Apache-2.0
 * parts.h - files that hold several processes with GPU work: each of them is a rank of its own. */
#ifndef HU_INGEST_PARTS_H
#define HU_INGEST_PARTS_H

#include "base/arena.h"

typedef struct {
    const int64_t *at; /* process ids, in order; lives in the arena */
    size_t         n;  /* 0: the file is one rank, or it cannot be read, which its reader will tell */
} hu_parts;

/* False when there is no memory. */
bool hu_parts_find(const char *path, hu_arena *arena, hu_parts *out);

#endif
