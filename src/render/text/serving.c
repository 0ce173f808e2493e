/* SPDX-License-Identifier: Apache-2.0
 * serving.c - the passes of a serving engine by phase, and what holds each up. */
#include "advise/say_serving.h"
#include "render/text/text.h"

void hu_text_serving(hu_text_page *p, const hu_rank *rank)
{
    const hu_serving *s = &rank->digest->serving;

    if (s->n == 0 || (s->n == 1 && s->at[0].phase == HU_PHASE_NONE))
        return;
    hu_text_titled_table(p, "SERVING passes of the engine", &hu_table_serving, rank, HU_TEXT_SHORT);
    for (size_t i = 0; i < s->n; i++) {
        char         words[HU_SERVING_WORDS][HU_SERVING_ROOM];
        const size_t n = hu_say_serving(&s->at[i], words);

        for (size_t k = 0; k < n; k++) {
            hu_out_text(p->out, "  ");
            hu_text_hanging(p, words[k], 2);
        }
    }
    hu_out_text(p->out, "\n");
}
