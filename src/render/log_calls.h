/* SPDX-License-Identifier: Apache-2.0
 * log_calls.h - which rank is behind in NCCL's collectives, or called another one: as text and as JSON. */
#ifndef HU_RENDER_LOG_CALLS_H
#define HU_RENDER_LOG_CALLS_H

#include "base/json_out.h"
#include "render/step_log.h"

void hu_calls_hints(const hu_log_report *r, hu_log_hint *out, size_t *n);

/* Below NCCL's other facts; nothing where no collective was logged. */
void hu_calls_text(const hu_log_report *r, hu_out *out);
void hu_calls_json(const hu_log_report *r, hu_json_out *j);

#endif
