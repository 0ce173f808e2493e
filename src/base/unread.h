/* SPDX-License-Identifier: Apache-2.0
 * unread.h - inputs that a command was given and could not read, or not to the end: part of every answer, as ranks are. */
#ifndef HU_BASE_UNREAD_H
#define HU_BASE_UNREAD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* An input and what is wrong with it; `error` does not repeat the name. */
typedef struct {
    hu_str file, error;
} hu_unread;

typedef struct {
    hu_unread *at;
    size_t     n, cap;
} hu_unread_list;

/* Appends a copy of both texts, in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_unread_add(hu_unread_list *list, hu_arena *arena, hu_str file, hu_str error, hu_error *err);

/* The same from an error: its text, with the byte where it is; `path` is the file unless the error names one. */
int hu_unread_add_error(hu_unread_list *list, hu_arena *arena, const char *path, const hu_error *why, hu_error *err);

enum { HU_UNREAD_TEXT = 4096 }; /* room for a sentence */

/*
 * "1 of 2 inputs could not be read: d/rank1.json: ...", the first few by name; "" when the list is empty.  `n_read` is how
 * many could be.
 */
void hu_unread_say(const hu_unread_list *list, size_t n_read, char *out, size_t room);

/* "1 of 2 inputs is incomplete: d/rank0.json: the file ends ...", of `n_read` that were read; "" when the list is empty. */
void hu_unread_say_partial(const hu_unread_list *list, size_t n_read, char *out, size_t room);

#endif
