/* SPDX-License-Identifier: Apache-2.0
 * redact.h - leaves secrets out of texts that somebody else may read: command lines, calls, paths, variables.
 *
 * The same code runs inside of recorded programs, so that no secret reaches a file, and where files are read.  It takes no
 * memory and no lock, knows no locale, and may be called in a signal handler.  secrets.h holds its patterns; docs/run.md
 * says what it does and what it cannot do.  Three stars stand for what is left out; a text that went through once comes
 * out the same a second time.
 */
#ifndef HU_PROTOCOL_REDACT_H
#define HU_PROTOCOL_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What one argument of a command says about the next.  All zero before the first. */
typedef struct {
    uint32_t options;    /* rows of hu_secret_options whose program was named */
    bool     hides_next; /* the next word is a secret: it follows --password ... */
    bool     is_weak;    /* ... unless it is "true" and the like, */
    bool     is_count;   /* ... or a number */
    bool     is_naming;  /* the next word is a name, the one behind it the value */
    char     user_sign;  /* the next word is NAME, this sign or ':', PASSWORD; 0: it is not */
    uint8_t  login;      /* 1: the next word is a secret if it is a long one; 2: so is the one behind, of an option */
} hu_redactor;

/* Does a name speak of a secret: TOKEN, KEY, SECRET, PASSWORD, AUTH ... as a word of it? */
bool hu_redact_is_secret(hu_str name);

/*
 * A text of any kind (a shell's command, a path, an address, a header) without its secrets, into `out`, which has `room`
 * bytes and need not end in NUL.  Returns the bytes written; what does not fit is cut.
 */
size_t hu_redact_text(hu_str text, char *out, size_t room);

/* The same for one argument of a command, or for one NAME=VALUE: those are called in order, with the same `r`. */
size_t hu_redact_argument(hu_redactor *r, hu_str argument, char *out, size_t room);

/* The same for arguments that each end in NUL (the last one may not); so do those in `out`. */
size_t hu_redact_arguments(hu_str arguments, char *out, size_t room);

#endif
