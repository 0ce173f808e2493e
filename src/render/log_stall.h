/* SPDX-License-Identifier: Apache-2.0
 * log_stall.h - processes that waited for one another in vain: as text and as JSON. */
#ifndef HU_RENDER_LOG_STALL_H
#define HU_RENDER_LOG_STALL_H

#include "base/json_out.h"
#include "render/step_log.h"

void hu_stall_hints(const hu_log_report *r, hu_log_hint *out, size_t *n);
void hu_stall_json(const hu_log_report *r, hu_json_out *j);

#endif
