/* SPDX-License-Identifier: Apache-2.0
 * digest_wire.h - a digest as bytes and back, so that another process can report on it. */
#ifndef HU_ANALYZE_DIGEST_WIRE_H
#define HU_ANALYZE_DIGEST_WIRE_H

#include "analyze/digest.h"

/* All but `findings`, which are not the digest's own.  *out lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_digest_pack(const hu_digest *d, hu_arena *arena, hu_str *out, hu_error *err);

/* A digest of its own, to be freed with hu_digest_free.  NULL, and HU_ENOMEM or HU_EFORMAT in *err, on failure. */
hu_digest *hu_digest_unpack(hu_str bytes, hu_error *err);

#endif
