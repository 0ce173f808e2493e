/* SPDX-License-Identifier: Apache-2.0
 * log_tuning.h - what DeepSpeed's autotuner found, as text and as JSON. */
#ifndef HU_RENDER_LOG_TUNING_H
#define HU_RENDER_LOG_TUNING_H

#include "base/json_out.h"
#include "render/step_log.h"

/* Is there anything of it? */
bool hu_tuning_is_there(const hu_log_tuning *t);

/* Its experiments by what was tuned for, the best first; those that were not measured come last.  NULL: no memory. */
const hu_log_experiment **hu_tuning_ranked(const hu_log_tuning *t, hu_arena *scratch);

/* What an experiment is ranked by; NaN not measured. */
double hu_tuning_value(const hu_log_tuning *t, const hu_log_experiment *e);

void hu_tuning_text(const hu_log_report *r, hu_out *out);
void hu_tuning_json(const hu_log_report *r, hu_json_out *j);

#endif
