/* SPDX-License-Identifier: Apache-2.0
 * command.h - one row for each command: what it is called, takes, excludes and needs.  cli/runner.c does what the row says
 * and then calls run(), so that a command's file holds what is its own. */
#ifndef HU_CLI_COMMAND_H
#define HU_CLI_COMMAND_H

#include <signal.h>

#include "base/out.h"
#include "job/crew.h"
#include "job/inputs.h"
#include "cli/shared_options.h"

/* The question that a command answers; `holdup help` lists them so. */
#define HU_COMMAND_GROUPS(G)                           \
    G(HU_GROUP_RECORD, "record a job")                 \
    G(HU_GROUP_EXPLAIN, "explain where the time goes") \
    G(HU_GROUP_COMPARE, "predict, compare and check")  \
    G(HU_GROUP_INSIDE, "look inside a trace")          \
    G(HU_GROUP_CONTROL, "control a running recording") \
    G(HU_GROUP_WATCH, "watch a node")                  \
    G(HU_GROUP_HELP, "more help")

typedef enum {
#define G(id, text) id,
    HU_COMMAND_GROUPS(G)
#undef G
        HU_GROUP_COUNT
} hu_command_group;

enum {
    HU_NEEDS_INPUTS = 1 << 0,      /* its words are files and directories: hu_cli_call.inputs */
    HU_NEEDS_CREW = 1 << 1,        /* processes of one mpirun answer together; the first one prints */
    HU_NEEDS_FRONT = 1 << 2,       /* options end at the first word, which begins another command line */
    HU_NEEDS_BESIDE = 1 << 4,      /* with what lies in directories beside traces, for a crew; alone the command adds it */
    HU_NEEDS_NO_TRACE = 1 << 5,    /* directories without anything to read are no error, but the inputs' unread */
    HU_NEEDS_LONGER_LIFE = 1 << 3, /* there is more to do than to print: a closed pipe is an error of output, not the end */
};

/* What the words behind the options are, for completions. */
typedef enum {
    HU_WORDS_NONE,
    HU_WORDS_PATHS,
    HU_WORDS_COMMAND, /* a program and its arguments */
    HU_WORDS_HELP,    /* a command of ours */
} hu_command_words;

/* Two options by name; a list of them ends with {NULL, NULL}. */
typedef struct {
    const char *one, *other;
} hu_option_pair;

/* An option that prints a list and ends the command. */
typedef struct {
    size_t offset; /* of the bool that asks for it */
    void (*write)(hu_out *out);
    void (*write_csv)(hu_out *out), (*write_json)(hu_out *out); /* with --csv, --json; NULL: as without */
} hu_listing;

/* What an option of the shared table means in this command, in closer words. */
typedef struct {
    const char *name, *help;
} hu_option_help;

typedef struct hu_command hu_command;

/* One command line, as its command sees it. */
typedef struct {
    const hu_command *command;
    hu_arena         *arena; /* until the command ends */
    hu_crew          *crew;  /* NULL: alone */
    char            **argv;  /* the words that are no options */
    int               n;
    hu_inputs         inputs;  /* HU_NEEDS_INPUTS */
    const char       *source;  /* the inputs as another command line would name them (cli/paste.h); NULL: too many */
    void             *options; /* the command's struct, filled */
} hu_cli_call;

struct hu_command {
    const char           *name;
    hu_command_group      group;
    const char           *summary;  /* one line in the list of commands */
    const char           *usage;    /* behind "holdup NAME" */
    const char           *about;    /* a paragraph for --help */
    const char           *examples; /* lines of two blanks and a command each; NULL: none */
    const char           *wants;    /* what its words are, for the error: "a trace", "runs" */
    const char           *example;  /* a command line for the same error */
    int                   least;    /* words */
    int                   most;     /* 0: any number; -1: none */
    hu_command_words      words;
    uint32_t              needs;  /* HU_NEEDS_* */
    uint32_t              shared; /* HU_SHARED_* */
    const hu_option      *options;
    size_t                n_options;
    const hu_option_help *closer;       /* ends with {NULL, NULL}; NULL: none, as of the lists below */
    size_t                options_size; /* of its struct, which begins with hu_shared; 0: hu_shared alone */
    const void           *defaults;     /* such a struct, but for limits; NULL: zeros */
    const hu_option_pair *excludes;     /* not both */
    const hu_option_pair *requires;     /* one only with the other */
    const hu_listing *lists;            /* ends with {0, NULL} */
    size_t (*hidden)(hu_option *out);   /* more rows, which are parsed and not shown; NULL: none */
    int (*check)(hu_cli_call *call,
                 hu_error    *err);   /* what else is wrong before anything is read; may take words; may be NULL */
    int (*run)(hu_cli_call *call); /* returns an exit status */
};

extern const hu_command *const hu_commands[]; /* in the order of --help; NULL ends the list */

/* All rows of a command, shared and hidden ones too: at most HU_OPTIONS_MOST. */
size_t hu_command_rows(const hu_command *command, hu_option *out);

/* Does what the row says and calls run(); argv is what is behind the command's name.  Returns an exit status. */
int hu_command_call(const hu_command *command, int argc, char **argv);

/* The error of too few or too many words. */
int hu_command_fail_words(const hu_cli_call *call, hu_error *err);

/* For a command that reads its inputs by itself: hu_outputs_check of all options that name files to write. */
int hu_command_check_outputs(const hu_cli_call *call, const hu_inputs *inputs, hu_error *err);

/* What SIGPIPE did when the program was started: a command that we start gets it back. */
extern struct sigaction hu_command_sigpipe;

/* Whoever prints ends with its reader, whatever a parent said of the signal. */
void hu_command_end_with_reader(void);

/* From now on a pipe that nobody reads is an error of output (EPIPE); without it, it ends the program. */
void hu_command_outlive_reader(void);

/* One line on stderr; what it quotes of names and paths cannot steer the terminal. */
__attribute__((format(printf, 1, 2))) void hu_command_say(const char *format, ...);

/* Prints an error as one line on stderr; returns the exit status that belongs to it. */
int hu_command_fail(const hu_error *err);

/* The command of that name, or NULL. */
const hu_command *hu_command_find(const char *name);

/* Says that there is no such command, and which was meant; returns the exit status. */
int hu_command_fail_unknown(const char *name);

#endif
