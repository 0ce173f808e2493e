/* SPDX-License-Identifier: Apache-2.0
 * log_end.h - why a job ended or hangs, as far as its log says. */
#ifndef HU_RENDER_LOG_END_H
#define HU_RENDER_LOG_END_H

#include "render/step_log.h"

void hu_end_hints(const hu_log_report *r, hu_log_hint *out, size_t *n);

#endif
