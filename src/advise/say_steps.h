/* SPDX-License-Identifier: Apache-2.0
 * say_steps.h - what a reader has to know of how long a step takes. */
#ifndef HU_ADVISE_SAY_STEPS_H
#define HU_ADVISE_SAY_STEPS_H

#include "analyze/steps.h"

enum { HU_STEPS_WORDS_BYTES = 256 };

typedef struct {
    char t[HU_STEPS_WORDS_BYTES];
} hu_steps_words;

/* Where host marks and GPU work give two lengths of a step: which one counts, and why.  "" where they agree. */
hu_steps_words hu_say_period(const hu_steps *steps);

/* What to do when the GPU only ran what was launched before the steps (hu_steps.is_backlog). */
const char *hu_say_backlog(void);

#endif
