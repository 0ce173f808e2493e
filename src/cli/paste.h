/* SPDX-License-Identifier: Apache-2.0
 * paste.h - words that a shell takes back as they are. */
#ifndef HU_CLI_PASTE_H
#define HU_CLI_PASTE_H

#include "base/arena.h"

/* The word, in quotes where a shell would read it differently; lives as long as `word` and `arena`.  NULL: no memory. */
const char *hu_paste_word(const char *word, hu_arena *arena);

/*
 * The inputs of a command line for another one: all of up to three words, of more files the directory that holds them.
 * Lives as long as the words and `arena`.  NULL when several directories hold them, one of them is no file, or no memory.
 */
const char *hu_paste_inputs(char *const *words, size_t n, hu_arena *arena);

#endif
