/* SPDX-License-Identifier: Apache-2.0
 * variables.h - which variables of a job's environment are kept with its recording. */
#ifndef HU_RECORD_VARIABLES_H
#define HU_RECORD_VARIABLES_H

#include <stdbool.h>

#include "base/str.h"

/* Is the variable one that explains a job, and none whose name speaks of a secret? */
bool hu_variables_keep(hu_str name);

#endif
