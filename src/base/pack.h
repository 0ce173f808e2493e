/* SPDX-License-Identifier: Apache-2.0
 * pack.h - bytes made small and harmless: gzip, and base64 to put them into a text. */
#ifndef HU_BASE_PACK_H
#define HU_BASE_PACK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/out.h"

/* One gzip member, in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_pack_gzip(hu_str bytes, hu_arena *arena, hu_str *out, hu_error *err);

/* RFC 4648, with padding, on one line. */
void hu_pack_base64(hu_out *out, hu_str bytes);

#endif
