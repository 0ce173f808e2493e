/* SPDX-License-Identifier: Apache-2.0
 * log_probe.h - is a text a log of a job? */
#ifndef HU_INGEST_LOG_PROBE_H
#define HU_INGEST_LOG_PROBE_H

#include "base/input.h"

/*
 * Is there a line of a step, or one of NCCL's, in this input, which is used up by looking?  It may stand anywhere, so all of
 * a text may be read, unless another reader knows its beginning.  `any_text`: what no other reader knows will do.
 */
bool hu_log_probe(hu_input *in, bool any_text);

/* The same of its beginning, some hundred KiB: for what may also be another thing, and is not to be read twice. */
bool hu_log_probe_beginning(hu_input *in);

#endif
