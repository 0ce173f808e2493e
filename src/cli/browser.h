/* SPDX-License-Identifier: Apache-2.0
 * browser.h - shows a page to the user, or says how to get at it where there is no screen. */
#ifndef HU_CLI_BROWSER_H
#define HU_CLI_BROWSER_H

#include <limits.h>
#include <stdbool.h>

/* Is there a screen that a browser could be on? */
bool hu_browser_has_display(void);

/* A page in a file.  Says on stderr what the user has to do when it cannot be shown from here. */
void hu_browser_open(const char *file);

/* A file that leads a browser to an address. */
typedef struct {
    char path[PATH_MAX]; /* "": there is none */
} hu_browser_page;

/*
 * Shows an address that nobody else may know.  Arguments of programs can be read by all users of the machine, so the browser
 * is given a page that only this user can read and that leads there; hu_browser_forget removes it.  False: there is no
 * browser, or no such page can be made.
 */
bool hu_browser_visit(const char *address, hu_browser_page *page);
void hu_browser_forget(hu_browser_page *page);

#endif
