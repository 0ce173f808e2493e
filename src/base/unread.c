/* SPDX-License-Identifier: Apache-2.0
 * unread.c - the list, and the sentence that every face prints. */
#include "base/unread.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { NAMED = 4 };

int hu_unread_add(hu_unread_list *list, hu_arena *arena, hu_str file, hu_str error, hu_error *err)
{
    const hu_unread one = {hu_arena_copy(arena, file), hu_arena_copy(arena, error)};

    return one.file.p && one.error.p && hu_vec_push(arena, list, one) ? 0 : hu_fail_memory(err);
}

int hu_unread_add_error(hu_unread_list *list, hu_arena *arena, const char *path, const hu_error *why, hu_error *err)
{
    char text[sizeof why->text + 48];

    if (why->offset > 0)
        snprintf(text, sizeof text, "at byte %lld: %s", (long long)why->offset, why->text);
    else
        snprintf(text, sizeof text, "%s", why->text);
    return hu_unread_add(list, arena, hu_str_of(why->file[0] ? why->file : path), hu_str_of(text), err);
}

static void say(const hu_unread_list *list, size_t all, const char *what, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%zu of %zu input%s %s", list->n, all, hu_plural((int64_t)all), what);

    for (size_t i = 0; i < list->n && i < NAMED && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s %.*s: %.*s", i ? ";" : ":", HU_FMT(list->at[i].file),
                              HU_FMT(list->at[i].error));
    if (list->n > NAMED && n < room)
        snprintf(out + n, room - n, "; and %zu more", list->n - NAMED);
}

void hu_unread_say(const hu_unread_list *list, size_t n_read, char *out, size_t room)
{
    out[0] = '\0';
    if (list->n)
        say(list, list->n + n_read, "could not be read", out, room);
}

void hu_unread_say_partial(const hu_unread_list *list, size_t n_read, char *out, size_t room)
{
    out[0] = '\0';
    if (list->n)
        say(list, n_read, list->n == 1 ? "is incomplete" : "are incomplete", out, room);
}
