/* SPDX-License-Identifier: Apache-2.0
 * help.h - help, manual pages and completions, written from the rows of the commands. */
#ifndef HU_CLI_HELP_H
#define HU_CLI_HELP_H

#include "cli/command.h"

/* So many options are shown without headings; where there are more, every row needs one. */
enum { HU_HELP_FEW = 12 };

/* A line of help with what it means. */
typedef struct {
    const char *text, *about;
} hu_help_line;

extern const hu_help_line hu_help_first_steps[], hu_help_environment[]; /* end with {NULL, NULL} */

/* "record a job": the heading of a group of commands. */
const char *hu_help_group(hu_command_group group);

/* The heading of rows[i] if it is the first shown row under it, else NULL; few options have one heading. */
const char *hu_help_heading(const hu_option *rows, size_t n, size_t i);

/* Is the row shown under that heading? */
bool hu_help_is_under(const hu_option *rows, size_t n, const hu_option *row, const char *heading);

/* To standard output, as text: of a command, or of all (NULL).  Returns an exit status. */
int hu_help_print(const hu_command *command);

/* The manual page of a command, or of the program (NULL), for groff -man; nothing in it depends on the day. */
void hu_man_write(const hu_command *command, hu_out *out);

typedef enum { HU_SHELL_BASH, HU_SHELL_ZSH, HU_SHELL_FISH } hu_shell;

/* The file that teaches a shell the commands, their options and the words that these take. */
void hu_completions_write(hu_shell shell, hu_out *out);

#endif
