/* SPDX-License-Identifier: Apache-2.0
 * price_memo.h - replays that were made: the same edits of the same graph give the same step. */
#ifndef HU_GRAPH_PRICE_MEMO_H
#define HU_GRAPH_PRICE_MEMO_H

#include "graph/edit.h"

/* What a replay depends on besides its graph.  Edits in the order in which they are made. */
typedef struct {
    const hu_edit *edits;
    size_t         n;
    hu_anchor      anchor;
    int64_t        gap_more_ns;
} hu_price_question;

typedef struct hu_price_memo hu_price_memo;

/* Lives in `arena`, as what it will know.  NULL: no memory. */
hu_price_memo *hu_price_memo_new(hu_arena *arena);

/* The mean step in ns; NaN: not known. */
double hu_price_memo_get(const hu_price_memo *m, const hu_price_question *q);

/* Copies the question.  Without memory the arena lacks it, and it will be replayed again. */
void hu_price_memo_put(hu_price_memo *m, const hu_price_question *q, double step_ns);

/* Takes over what another memo of the same graph knows. */
void hu_price_memo_join(hu_price_memo *m, const hu_price_memo *other);

#endif
