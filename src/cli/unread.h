/* SPDX-License-Identifier: Apache-2.0
 * unread.h - what commands do alike about inputs that are missing or incomplete: say so, list it, exit with it. */
#ifndef HU_CLI_UNREAD_H
#define HU_CLI_UNREAD_H

#include "base/unread.h"

/* One line on stderr for each, unless `quiet`. */
void hu_unread_warn(const hu_unread_list *list, bool quiet);

/* `status`, or 4 where that is 0 and --strict asked for all of the data. */
int hu_strict_status(bool is_strict, const hu_unread_list *unread, const hu_unread_list *partial, int status);

#endif
