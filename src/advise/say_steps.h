/* SPDX-License-Identifier: Apache-2.0
 * say_steps.h - what a reader has to know of how long a step takes. */
#ifndef HU_ADVISE_SAY_STEPS_H
#define HU_ADVISE_SAY_STEPS_H

#include "analyze/digest.h"

enum { HU_STEPS_WORDS_BYTES = 320 };

typedef struct {
    char t[HU_STEPS_WORDS_BYTES];
} hu_steps_words;

/* Where host marks and GPU work give two lengths of a step: which one counts, and why.  "" where they agree. */
hu_steps_words hu_say_period(const hu_steps *steps);

/* What a serving engine's steps are, with counts and periods: "3 prefill of 45.2 ms, 120 decode of 8.10 ms".  "" without. */
hu_steps_words hu_say_phases(const hu_steps *steps);

/* That the last step is left out because no next mark tells its end.  "" where it is not. */
hu_steps_words hu_say_open(const hu_steps *steps);

/* How many pauses between steps are left out, for how long, and what they are.  "" without. */
hu_steps_words hu_say_pauses(const hu_steps *steps);

/* That a few steps take much longer than the others, and what they do meanwhile, as a sentence.  "" where none does. */
hu_steps_words hu_say_slow(const hu_digest *d);

/* That much of the capture is in no step, and the GPU mostly idle there, as a sentence.  "" where it is not. */
hu_steps_words hu_say_rest(const hu_digest *d);

/* What to do when the GPU only ran what was launched before the steps (hu_steps.is_backlog). */
const char *hu_say_backlog(void);

#endif
