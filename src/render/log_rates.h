/* SPDX-License-Identifier: Apache-2.0
 * log_rates.h - throughput of a log that tells no times of steps, and of an inference server: as text and as JSON. */
#ifndef HU_RENDER_LOG_RATES_H
#define HU_RENDER_LOG_RATES_H

#include "base/json_out.h"
#include "render/step_log.h"

/* Is it what the log tells, for want of times? */
bool hu_rates_are_shown(const hu_log_report *r);

/* "tokens/s" */
const char *hu_rates_unit(const hu_rates_answer *a);

void hu_rates_hints(const hu_log_report *r, hu_log_hint *out, size_t *n);
void hu_rates_text(const hu_log_report *r, hu_out *out);
void hu_rates_json(const hu_log_report *r, hu_json_out *j);

#endif
