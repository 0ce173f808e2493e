/* SPDX-License-Identifier: Apache-2.0
 * paste.c - a command that is printed to be pasted must be whole: nothing of it is shortened. */
#include "cli/paste.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_WORDS = 3, QUOTE_BYTES = 4 };

const char *hu_paste_word(const char *word, hu_arena *arena)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    char             *out, *to;

    if (word[0] && strspn(word, plain) == strlen(word))
        return word;
    out = to = hu_arena_alloc(arena, strlen(word) * QUOTE_BYTES + 3);
    if (!out)
        return NULL;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(to, "'\\''", QUOTE_BYTES);
            to += QUOTE_BYTES;
        } else {
            *to++ = *word;
        }
    }
    memcpy(to, "'", 2);
    return out;
}

/* Of a file's path the part before its name; "." where there is none. */
static hu_str directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash ? HU_STR(".") : slash == path ? HU_STR("/") : (hu_str){path, (size_t)(slash - path)};
}

/* The one directory that holds all of them, or NULL. */
static const char *shared_directory(char *const *words, size_t n, hu_arena *arena)
{
    const hu_str first = directory_of(words[0]);
    struct stat  st;

    for (size_t i = 0; i < n; i++)
        if (!hu_str_equal(directory_of(words[i]), first) || stat(words[i], &st) != 0 || !S_ISREG(st.st_mode))
            return NULL;
    return hu_arena_copy(arena, first).p; /* ends with a NUL */
}

const char *hu_paste_inputs(char *const *words, size_t n, hu_arena *arena)
{
    const char *word[MOST_WORDS], *directory;
    size_t      bytes = 1;
    char       *out;

    if (n > MOST_WORDS) {
        directory = shared_directory(words, n, arena);
        return directory ? hu_paste_word(directory, arena) : NULL;
    }
    for (size_t i = 0; i < n; i++) {
        word[i] = hu_paste_word(words[i], arena);
        if (!word[i])
            return NULL;
        bytes += strlen(word[i]) + 1;
    }
    out = hu_arena_calloc(arena, 1, bytes);
    for (size_t i = 0; out && i < n; i++)
        snprintf(out + strlen(out), bytes - strlen(out), "%s%s", i ? " " : "", word[i]);
    return out;
}
