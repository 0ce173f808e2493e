/* SPDX-License-Identifier: Apache-2.0
 * report_flight.h - `holdup report` of Flight Recorder dumps: another question, so another answer. */
#ifndef HU_CLI_REPORT_FLIGHT_H
#define HU_CLI_REPORT_FLIGHT_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Reads the dumps and prints why the job hangs; `other` is an option that does not fit, or NULL.  Returns an exit status. */
int hu_report_flight(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

#endif
