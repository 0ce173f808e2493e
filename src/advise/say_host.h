/* SPDX-License-Identifier: Apache-2.0
 * say_host.h - what the main thread of a recorded job waits for, as a sentence; for verdict.c alone. */
#ifndef HU_ADVISE_SAY_HOST_H
#define HU_ADVISE_SAY_HOST_H

#include "advise/topic.h"
#include "analyze/digest.h"

/* A job without a device: of `d` with host_time.is_recorded.  Returns which time the sentence names. */
hu_named hu_say_main_thread(const hu_digest *d, char *out, size_t room, size_t n_ranks);

/* CPU samples of many, none of whom is the job. */
void hu_say_samples(const hu_digest *d, char *out, size_t room);

/* Does the main thread wait, for more than other causes could explain? */
bool hu_say_is_waiting(const hu_digest *d);

/* Behind a sentence that says the device is idle for `idle_ns` of a step: what the main thread does then.  Adds nothing
   where that was not recorded, or is nothing in particular. */
void hu_say_idle_host(const hu_digest *d, double idle_ns, char *out, size_t room);

#endif
