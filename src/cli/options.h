/* SPDX-License-Identifier: Apache-2.0
 * options.h - one row for each option; the parser and --help are drawn from it. */
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
} hu_option_type;

typedef struct hu_option {
    const char        *name;   /* without the dashes */
    char               letter; /* short form, '\0': none */
    hu_option_type     type;
    const char        *argument; /* how help shows its value; NULL for flags */
    const char        *help;     /* one sentence */
    size_t             offset;   /* of the field in the command's own struct */
    const char *const *choices;  /* HU_OPTION_CHOICE: ends with NULL */
    int (*parse)(void *field, const char *text, hu_error *err);
} hu_option;

/*
 * Parses argv[0..argc): options fill `fields`, the rest is moved to the front of argv.  Returns how many are left, or
 * HU_EUSAGE with a message that names the option and, for a typing error, the one that was probably meant.
 * "--" ends the options; "--name=value" and "--name value" are the same; "--no-NAME" clears a flag.
 */
int hu_options_parse(const hu_option *options, size_t n, int argc, char **argv, void *fields, hu_error *err);

/*
 * The same for a command that starts another one: options end at the first word that is none, whose index is returned
 * (argc: there is none).  argv is not changed.  After HU_EUSAGE *at is the index of the option that is wrong.
 */
int hu_options_parse_front(const hu_option *options, size_t n, int argc, char **argv, void *fields, int *at, hu_error *err);

/* The word of the list that is closest to `text`, or that alone begins with it; NULL when none is close. */
const char *hu_options_suggest(const char *text, const char *const *words, size_t n);

#endif
