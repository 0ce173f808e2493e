/* SPDX-License-Identifier: Apache-2.0
 * nccl_tests_json.h - what nccl-tests writes with -J (docs/formats/nccl-tests.md). */
#ifndef HU_INGEST_NCCL_TESTS_JSON_H
#define HU_INGEST_NCCL_TESTS_JSON_H

#include "base/input.h"
#include "trace/step_log.h"

/* Does it begin like that? */
bool hu_tests_json_probe(hu_str head);

/* Adds its table.  Of a file that ends early, the rows that are there.  Returns 0, HU_ENOMEM, HU_ELIMIT or HU_EIO. */
int hu_tests_json_read(hu_input *in, hu_arena *arena, hu_log_benches *out, hu_error *err);

#endif
