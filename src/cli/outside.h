/* SPDX-License-Identifier: Apache-2.0
 * outside.h - lines about processes that were not recorded from inside. */
#ifndef HU_CLI_OUTSIDE_H
#define HU_CLI_OUTSIDE_H

#include "record/outsiders.h"

/* How many, their CPU time, then one line for each reason, most CPU time first. */
void hu_outside_say(const hu_outsider *rows, size_t n);

#endif
