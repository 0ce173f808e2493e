/* SPDX-License-Identifier: Apache-2.0
 * many_commands.h - a queue of thousands of short commands: what fewer of them save at most. */
#ifndef HU_ADVISE_MANY_COMMANDS_H
#define HU_ADVISE_MANY_COMMANDS_H

#include "advise/gates.h"

/*
 * Of a job of OpenCL whose replay cannot explain when its short commands start: the interval of `launch-bound` goes from
 * nothing to a step that holds the device's work alone, without what each command takes to start.  Says so in *h.
 */
void hu_many_commands_widen(const hu_scene *c, hu_hint *h, hu_price *p);

#endif
