/* SPDX-License-Identifier: Apache-2.0
 * open.h - from a path to a trace. */
#ifndef HU_INGEST_OPEN_H
#define HU_INGEST_OPEN_H

#include "base/input.h"
#include "trace/builder.h"

/* Reads a file ("-": standard input) of any known format into a builder that is not frozen yet.  NULL on failure. */
hu_builder *hu_open_builder(const char *path, const hu_input_options *options, hu_error *err);

/* The same for an input that is open already, which is closed in any case. */
hu_builder *hu_open_input(hu_input *in, const hu_input_options *options, hu_error *err);

/* Reads and freezes.  NULL on failure. */
hu_trace *hu_open_trace(const char *path, const hu_input_options *options, hu_error *err);

#endif
