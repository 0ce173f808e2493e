/* SPDX-License-Identifier: Apache-2.0
 * command.h - one row for each command. */
#ifndef HU_CLI_COMMAND_H
#define HU_CLI_COMMAND_H

#include <signal.h>

#include "cli/options.h"

typedef struct {
    const char      *name;
    const char      *summary; /* one line in the list of commands */
    const char      *usage;   /* behind "holdup NAME" */
    const char      *about;   /* a paragraph for --help, with examples */
    const hu_option *options;
    size_t           n_options;
    /* argv: what is behind the command's name.  Returns an exit status. */
    int (*run)(int argc, char **argv);
    bool outlives_reader; /* there is more to do than to print: a closed pipe is an error of output, not the end */
    bool starts_another;  /* options behind the first word are not ours, --help among them */
} hu_command;

extern const hu_command *const hu_commands[]; /* in the order of --help; NULL ends the list */

/* What SIGPIPE did when the program was started: a command that we start gets it back. */
extern struct sigaction hu_command_sigpipe;

/* From now on a pipe that nobody reads is an error of output (EPIPE); without it, it ends the program. */
void hu_command_outlive_reader(void);

/* One line on stderr; what it quotes of names and paths cannot steer the terminal. */
__attribute__((format(printf, 1, 2))) void hu_command_say(const char *format, ...);

/* Prints an error as one line on stderr; returns the exit status that belongs to it. */
int hu_command_fail(const hu_error *err);

/* What both ways of asking for help print. */
void hu_help_command(const hu_command *command);
void hu_help_all(void);

#endif
