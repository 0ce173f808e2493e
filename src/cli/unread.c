/* SPDX-License-Identifier: Apache-2.0
 * unread.c - the one place that warns of inputs and turns them into an exit status. */
#include "cli/unread.h"

#include "cli/command.h"

void hu_unread_warn(const hu_unread_list *list, bool quiet)
{
    for (size_t i = 0; !quiet && i < list->n; i++)
        hu_command_say("%.*s: %.*s", HU_FMT(list->at[i].file), HU_FMT(list->at[i].error));
}

int hu_partial_add(hu_unread_list *list, hu_arena *arena, hu_str file, const hu_quality *q, hu_error *err)
{
    char words[sizeof q->truncated_why + 160];

    return hu_quality_say_partial(q, words, sizeof words) ? hu_unread_add(list, arena, file, hu_str_of(words), err) : 0;
}

int hu_strict_status(bool is_strict, const hu_unread_list *unread, const hu_unread_list *partial, int status)
{
    return status == HU_EXIT_OK && is_strict && (unread->n || partial->n) ? HU_EXIT_PARTIAL : status;
}
