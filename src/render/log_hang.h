/* SPDX-License-Identifier: Apache-2.0
 * log_hang.h - timeouts of collectives, which the watchdog of PyTorch printed into a log. */
#ifndef HU_RENDER_LOG_HANG_H
#define HU_RENDER_LOG_HANG_H

#include "base/json_out.h"
#include "render/step_log.h"

/* Who waits in what, and who did not reach it: where hang.call of the answer is not NULL. */
void hu_hang_sentence(const hu_log_report *r, hu_log_hint *hint);

void hu_hang_text(const hu_log_report *r, hu_out *out);
void hu_hang_json(const hu_log_report *r, hu_json_out *j);

#endif
