/* SPDX-License-Identifier: Apache-2.0
 * flight_recorder.h - one dump of PyTorch's Flight Recorder (docs/formats/flight-recorder.md). */
#ifndef HU_INGEST_FLIGHT_RECORDER_H
#define HU_INGEST_FLIGHT_RECORDER_H

#include "base/input.h"
#include "trace/flight.h"

/* Does this beginning of a file look like a dump? */
bool hu_flight_recorder_probe(hu_str head);

/*
 * Reads a dump, pickle or JSON; a pickle executes nothing.  What it holds lives in out->arena, which the caller frees with
 * hu_flight_recorder_free, also after a failure.  The rank comes from the dump, else from the end of the file's name.
 * Returns 0, HU_ENOMEM, HU_EFORMAT (malformed, or no rank), HU_ELIMIT or HU_EIO.
 */
int  hu_flight_recorder_read(hu_input *in, hu_flight_dump *out, hu_error *err);
void hu_flight_recorder_free(hu_flight_dump *dump);

/* The number at the end of a name without its suffixes: 3 of "nccl_trace_rank_3.json.gz"; -1: none. */
int64_t hu_flight_recorder_rank(const char *path);

#endif
