/* SPDX-License-Identifier: Apache-2.0
 * browser.h - shows a page to the user, or says how to get at it where there is no screen. */
#ifndef HU_CLI_BROWSER_H
#define HU_CLI_BROWSER_H

#include <stdbool.h>

/* Is there a screen that a browser could be on? */
bool hu_browser_has_display(void);

/* A file or an address.  Says on stderr what the user has to do when it cannot be shown from here. */
void hu_browser_open(const char *target);

#endif
