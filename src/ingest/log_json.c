/* SPDX-License-Identifier: Apache-2.0
 * log_json.c - the first one that knows the beginning reads it. */
#include "ingest/log_json.h"

#include "ingest/autotuning.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_tests_json.h"

bool hu_log_json_probe(hu_str head)
{
    return hu_autotuning_probe(head) || hu_inspector_probe(head) || hu_tests_json_probe(head);
}

int hu_log_json_read(hu_input *in, hu_arena *arena, hu_step_log *out, hu_error *err)
{
    const hu_str head = hu_input_head(in);

    if (hu_inspector_probe(head))
        return hu_inspector_read(in, arena, &out->inspector, &out->n_lines, err);
    if (hu_tests_json_probe(head))
        return hu_tests_json_read(in, arena, &out->benches, err);
    return hu_autotuning_read(in, arena, &out->tuning, err);
}
