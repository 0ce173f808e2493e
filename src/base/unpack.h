/* SPDX-License-Identifier: Apache-2.0
 * unpack.h - small pieces that are compressed inside of a file, in memory and in one go. */
#ifndef HU_BASE_UNPACK_H
#define HU_BASE_UNPACK_H

#include "base/arena.h"
#include "base/error.h"

typedef enum { HU_UNPACK_ZLIB, HU_UNPACK_ZSTD } hu_unpack_method;

/*
 * Overwrites *out, whose room is used again.  Returns 0; HU_EFORMAT when the data breaks off or is damaged, with all
 * before that in *out; HU_ELIMIT when it makes more than `most` bytes; HU_ENOMEM; HU_EIO, with *err filled, where the
 * library is missing.
 */
typedef HU_VEC(char) hu_unpacked;
int hu_unpack(hu_unpack_method method, hu_str packed, size_t most, hu_arena *arena, hu_unpacked *out, hu_error *err);

#endif
