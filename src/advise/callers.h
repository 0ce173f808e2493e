/* SPDX-License-Identifier: Apache-2.0
 * callers.h - from where in the program a kind of call is made, where the recording says so. */
#ifndef HU_ADVISE_CALLERS_H
#define HU_ADVISE_CALLERS_H

#include "advise/gates.h"

/* ", called from retry_loop": the function that makes most of such calls of the main process, by time; "" where no function
   makes most of them, or it was not recorded. */
typedef struct {
    char t[96];
} hu_said_caller;

hu_said_caller hu_scene_say_caller(const hu_scene *c, hu_str call);

#endif
