/* SPDX-License-Identifier: Apache-2.0
 * unread.c - the one place that warns of inputs and turns them into an exit status. */
#include "cli/unread.h"

#include "cli/command.h"

void hu_unread_warn(const hu_unread_list *list, bool quiet)
{
    for (size_t i = 0; !quiet && i < list->n; i++)
        hu_command_say("%.*s: %.*s", HU_FMT(list->at[i].file), HU_FMT(list->at[i].error));
}

int hu_strict_status(bool is_strict, const hu_unread_list *unread, const hu_unread_list *partial, int status)
{
    return status == HU_EXIT_OK && is_strict && (unread->n || partial->n) ? HU_EXIT_PARTIAL : status;
}
