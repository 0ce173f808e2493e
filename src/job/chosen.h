/* SPDX-License-Identifier: Apache-2.0
 * chosen.h - of very many ranks those that are replayed together: they are read once more, for their graphs. */
#ifndef HU_JOB_CHOSEN_H
#define HU_JOB_CHOSEN_H

#include "across/late_ranks.h"
#include "job/filling.h"

enum { HU_CHOSEN_RANKS = 16 };

typedef struct {
    hu_arena *arenas[HU_CHOSEN_RANKS]; /* in which their graphs live */
} hu_chosen;

/*
 * The ranks that the others wait for most, the slowest one, and as many besides at equal distances; graphs[0..n) of them are
 * filled in, as far as their files can be read here again.  Free it with hu_chosen_free, when the graphs have served.
 */
void hu_chosen_read(const hu_filling *w, const hu_late_ranks *late, size_t n, const hu_graph **graphs, hu_chosen *out);

void hu_chosen_free(hu_chosen *chosen);

#endif
