/* SPDX-License-Identifier: Apache-2.0
 * profile.h - profiles that sum stacks: speedscope, collapsed stacks, pprof (docs/formats/profile.md). */
#ifndef HU_INGEST_PROFILE_H
#define HU_INGEST_PROFILE_H

#include "base/input.h"
#include "trace/profile.h"

/* Is it one, by its beginning, and nothing that another reader takes? */
bool hu_profile_probe(hu_str head);

/* The same of each format alone. */
bool hu_profile_is_folded(hu_str head);
bool hu_profile_is_speedscope(hu_str head);
bool hu_profile_is_pprof(hu_str head);

/* Reads all of an open input.  Returns 0 or a negative code with *err filled: HU_EEMPTY where no stack has a weight. */
int hu_profile_read(hu_input *in, hu_arena *arena, hu_profile_sums *out, hu_error *err);
int hu_profile_read_path(const char *path, const hu_limits *limits, hu_arena *arena, hu_profile_sums *out, hu_error *err);

#endif
