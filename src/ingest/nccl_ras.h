/* SPDX-License-Identifier: Apache-2.0
 * nccl_ras.h - one answer of NCCL's RAS subsystem, as text or JSON (docs/formats/nccl-ras.md). */
#ifndef HU_INGEST_NCCL_RAS_H
#define HU_INGEST_NCCL_RAS_H

#include "base/input.h"
#include "trace/ras.h"

/* Does this beginning of a file look like one? */
bool hu_nccl_ras_probe(hu_str head);

/*
 * Reads an answer; what it holds lives in out->arena, which the caller frees with hu_nccl_ras_free, also after a failure.
 * Returns 0, HU_ENOMEM, HU_EFORMAT, HU_ELIMIT or HU_EIO.
 */
int  hu_nccl_ras_read(hu_input *in, hu_ras_status *out, hu_error *err);
void hu_nccl_ras_free(hu_ras_status *status);

#endif
