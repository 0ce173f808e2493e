/* SPDX-License-Identifier: Apache-2.0
 * kernel_short.h - names of kernels that fit into a column: "gemm bf16 128×128", "elementwise copy f32". */
#ifndef HU_ANALYZE_KERNEL_SHORT_H
#define HU_ANALYZE_KERNEL_SHORT_H

#include "base/arena.h"

enum { HU_KERNEL_SHORT_WIDTH = 48, HU_KERNEL_SHORT_BYTES = 256 };

/* What the name says of operation, type and tile, at most HU_KERNEL_SHORT_WIDTH characters; in `out`, or part of `name`. */
hu_str hu_kernel_short(hu_str name, char out[HU_KERNEL_SHORT_BYTES]);

/*
 * The same for the kernels of one report: where two would read alike, each gets the word in which it differs behind it, else
 * a number, which goes by the order of names.  In `arena`; NULL: no memory.
 */
hu_str *hu_kernel_shorts(const hu_str *names, size_t n, hu_arena *arena);

#endif
