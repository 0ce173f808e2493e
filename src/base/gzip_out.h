/* SPDX-License-Identifier: Apache-2.0
 * gzip_out.h - writes a gzip stream through a hu_out, as it comes. */
#ifndef HU_BASE_GZIP_OUT_H
#define HU_BASE_GZIP_OUT_H

#include "base/arena.h"
#include "base/out.h"

typedef struct hu_gzip_out hu_gzip_out;

/* Lives in `arena`; NULL, with *err filled, when there is no memory or no ISA-L. */
hu_gzip_out *hu_gzip_out_open(hu_out *out, hu_arena *arena, hu_error *err);

void hu_gzip_out_write(hu_gzip_out *z, const void *bytes, size_t n);

/* The end of the stream; `out` stays open. */
void hu_gzip_out_close(hu_gzip_out *z);

#endif
