/* SPDX-License-Identifier: Apache-2.0
 * progress.h - a bar on stderr, when that is a terminal and it takes longer than a second. */
#ifndef HU_CLI_PROGRESS_H
#define HU_CLI_PROGRESS_H

#include "base/input.h"

typedef struct hu_progress_bar hu_progress_bar;

/* NULL when nobody looks, which is fine for hu_progress_stop. */
hu_progress_bar *hu_progress_start(hu_progress *progress, bool is_quiet);

/* Wipes the bar. */
void hu_progress_stop(hu_progress_bar *bar);

#endif
