/* SPDX-License-Identifier: Apache-2.0
 * log_rates.h - how even throughput is, and where it changed, of lines that tell no time. */
#ifndef HU_ANALYZE_LOG_RATES_H
#define HU_ANALYZE_LOG_RATES_H

#include "analyze/step_log.h"

/* False: no memory. */
bool hu_log_rates_measure(const hu_log_rates *rates, hu_arena *arena, hu_rates_answer *out);

#endif
