/* SPDX-License-Identifier: Apache-2.0
 * about.h - `holdup --version`: what this program is, and what it finds here. */
#ifndef HU_CLI_ABOUT_H
#define HU_CLI_ABOUT_H

/* argv is what is behind --version: nothing, or --json.  Returns an exit status. */
int hu_about_print(int argc, char **argv);

#endif
