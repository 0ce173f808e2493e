/* SPDX-License-Identifier: Apache-2.0
 * log_difference.h - the answer of `holdup diff` for two logs, as text and as JSON. */
#ifndef HU_RENDER_LOG_DIFFERENCE_H
#define HU_RENDER_LOG_DIFFERENCE_H

#include "analyze/log_difference.h"
#include "base/out.h"

void hu_log_difference_text(const hu_log_difference *x, const hu_str name[2], size_t width, hu_out *out);
void hu_log_difference_json(const hu_log_difference *x, const hu_str name[2], hu_out *out);

#endif
