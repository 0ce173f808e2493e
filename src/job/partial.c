/* SPDX-License-Identifier: Apache-2.0
 * partial.c - the sentence is the quality's own. */
#include "job/partial.h"

int hu_partial_add(hu_unread_list *list, hu_arena *arena, hu_str file, const hu_quality *q, hu_error *err)
{
    char words[sizeof q->truncated_why + 160];

    return hu_quality_say_partial(q, words, sizeof words) ? hu_unread_add(list, arena, file, hu_str_of(words), err) : 0;
}
