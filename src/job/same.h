/* SPDX-License-Identifier: Apache-2.0
 * same.h - a file that was named twice, or by a link, is one rank and not two. */
#ifndef HU_JOB_SAME_H
#define HU_JOB_SAME_H

#include "job/inputs.h"

/* Drops what is a file before it.  Names that say different ranks stay: somebody meant them.  Returns 0 or HU_ENOMEM. */
int hu_inputs_drop_same(hu_inputs *inputs, hu_arena *arena, hu_error *err);

#endif
