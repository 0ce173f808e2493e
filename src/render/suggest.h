/* SPDX-License-Identifier: Apache-2.0
 * suggest.h - the command line of Nsight Compute for the kernels that matter in a trace. */
#ifndef HU_RENDER_SUGGEST_H
#define HU_RENDER_SUGGEST_H

#include "analyze/digest.h"
#include "base/out.h"

/*
 * Writes the command line for the `top` functions that take most time.  Returns 0, or HU_EEMPTY where there is no kernel
 * that ncu could profile.
 */
int hu_suggest_ncu(const hu_digest *digest, size_t top, hu_out *out, hu_error *err);

#endif
