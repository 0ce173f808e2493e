/* SPDX-License-Identifier: Apache-2.0
 * log_inspector.h - calls of NCCL's Inspector in words, as text and as JSON. */
#ifndef HU_RENDER_LOG_INSPECTOR_H
#define HU_RENDER_LOG_INSPECTOR_H

#include "base/json_out.h"
#include "render/step_log.h"

/* Adds to what a log hints at; *n is how many there are. */
void hu_inspector_hints(const hu_log_report *r, hu_log_hint *out, size_t *n);

void hu_inspector_text(const hu_log_report *r, hu_out *out);
void hu_inspector_json(const hu_log_report *r, hu_json_out *j);

#endif
