/* SPDX-License-Identifier: Apache-2.0
 * redact.h - what of a job's environment and arguments may be written into a file that people pass on. */
#ifndef HU_RECORD_REDACT_H
#define HU_RECORD_REDACT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Is the variable one that explains a job, and none that may hold a secret? */
bool hu_redact_keeps(hu_str name);

/* Does a name speak of a secret: TOKEN, KEY, SECRET, PASS, CREDENTIAL, AUTH ... as a word of it? */
bool hu_redact_is_secret(hu_str name);

/*
 * An argument without its secret: "--token=abc" and "API_KEY=abc" keep their names alone, "https://me:abc@host" its
 * host: three stars stand for the rest.  `previous` is the argument before it, or NULL: "--password abc" is two.  Returns
 * `argument` itself when there is nothing to hide, else a text in the arena; NULL when there is no memory.
 */
const char *hu_redact_argument(const char *argument, const char *previous, hu_arena *arena);

#endif
