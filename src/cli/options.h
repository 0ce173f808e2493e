/* SPDX-License-Identifier: Apache-2.0
 * options.h - one row for each option; parser, --help, manual pages and completions are drawn from it. */
#ifndef HU_CLI_OPTIONS_H
#define HU_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum {
    HU_OPTION_FLAG,    /* bool */
    HU_OPTION_SWITCH,  /* bool, of nsys' kind: --name, --name=false, --name true where more follows */
    HU_OPTION_TEXT,    /* const char * */
    HU_OPTION_COUNT,   /* int64_t, at least 1 */
    HU_OPTION_CHOICE,  /* int: index into `choices` */
    HU_OPTION_SPECIAL, /* parse() decides */
    HU_OPTION_MAYBE,   /* the same, where --name alone means parse(""): its value only follows a "=" */
} hu_option_type;

/* What a value names beyond its type. */
typedef enum {
    HU_VALUE_PLAIN,
    HU_VALUE_READ,   /* a file that is read: no output may overwrite it (HU_OPTION_TEXT) */
    HU_VALUE_WRITE,  /* a file that is written: it must not be one that is read (HU_OPTION_TEXT) */
    HU_VALUE_OUTPUT, /* the same, in place of standard output, which "-" means: stored as NULL */
    HU_VALUE_PATH,   /* a path, or a template of one */
    HU_VALUE_FOLDER, /* a directory */
} hu_option_value;

/* Puts words that an option takes into out[0..room), for completions; returns how many. */
typedef size_t hu_option_words(const char **out, size_t room);

typedef int hu_option_parse(void *field, const char *text, hu_error *err);

typedef struct hu_option {
    const char        *name;   /* without the dashes */
    char               letter; /* short form, '\0': none; a letter means one thing in all commands */
    hu_option_type     type;
    const char        *argument; /* how help shows its value; NULL for flags */
    const char        *help;     /* one sentence; NULL: parsed, and not shown */
    size_t             offset;   /* of the field in the command's own struct */
    const char *const *choices;  /* HU_OPTION_CHOICE: ends with NULL */
    hu_option_parse   *parse;
    const char        *heading;     /* under which a long help shows it */
    hu_option_parse   *parse_short; /* for the letter, where it is stricter than the name; NULL: parse */
    hu_option_words   *words;       /* that completions offer; NULL: `choices`, or none */
    hu_option_value    value;       /* what the value names */
    char               lost_letter; /* one that people try for it here; the error names the option instead */
} hu_option;

enum { HU_OPTIONS_MOST = 96 }; /* rows of one command */

/* The rows of a command line, the struct that they fill, and which of them were given (--no-NAME takes a flag back). */
typedef struct {
    const hu_option *rows;
    size_t           n;
    void            *fields;
    bool            *given; /* one for each row */
} hu_option_table;

/*
 * Parses argv[0..argc): options fill the fields, the rest is moved to the front of argv.  Returns how many are left, or
 * HU_EUSAGE with a message that names the option and, for a typing error, the one that was probably meant.
 * "--" ends the options; "--name=value" and "--name value" are the same; "--no-NAME" clears a flag.
 */
int hu_options_parse(const hu_option_table *table, int argc, char **argv, hu_error *err);

/*
 * The same for a command that starts another one: options end at the first word that is none, whose index is returned
 * (argc: there is none).  argv is not changed.
 */
int hu_options_parse_front(const hu_option_table *table, int argc, char **argv, hu_error *err);

/* "2", "0.5", "2s" as ns; what is not from `least` ("0.1") to `most` seconds is HU_EUSAGE. */
int hu_options_seconds(int64_t *ns, const char *text, const char *least, int most, hu_error *err);

/* The word of the list that is closest to `text`, or that alone begins with it; NULL when none is close. */
const char *hu_options_suggest(const char *text, const char *const *words, size_t n);

#endif
