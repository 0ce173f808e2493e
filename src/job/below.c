/* SPDX-License-Identifier: Apache-2.0
 * below.c - walks directories, within limits: a run's folder may lie in that of all data. */
#include "job/below.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 6, MOST_FILES = 20000 };

typedef struct {
    hu_arena *arena;
    hu_below *out;
} walk;

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Numbers in names by value, as everywhere. */
static int by_version(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static char *join(hu_arena *arena, const char *folder, const char *name)
{
    const size_t n = strlen(folder), room = n + strlen(name) + 2;
    char        *path = hu_arena_alloc(arena, room);

    if (path)
        snprintf(path, room, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

typedef HU_VEC(const char *) path_list;

/* Directories are kept for later: they come behind the files.  False: no memory. */
static bool take_entry(walk *w, const char *path, int depth, path_list *folders)
{
    struct stat st, link;

    if (stat(path, &st) < 0)
        return true;
    if (S_ISREG(st.st_mode))
        return hu_vec_push(w->arena, &w->out->files, ((hu_file_below){path, (uint64_t)st.st_size, depth}));
    if (!S_ISDIR(st.st_mode) || lstat(path, &link) < 0 || S_ISLNK(link.st_mode))
        return true;
    return hu_vec_push(w->arena, folders, path);
}

/* False: no memory. */
static bool enter(walk *w, const char *folder, int depth)
{
    struct dirent **entries;
    const int n = w->out->files.n < MOST_FILES && depth <= MOST_DEPTH ? scandir(folder, &entries, is_shown, by_version) : -1;
    path_list folders = {0};
    bool      has_memory = true;

    w->out->n_folders_left += n < 0;
    for (int i = 0; i < n; i++) {
        const char *path = has_memory ? join(w->arena, folder, entries[i]->d_name) : NULL;

        has_memory = path && take_entry(w, path, depth, &folders);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    for (size_t i = 0; has_memory && i < folders.n; i++)
        has_memory = enter(w, folders.at[i], depth + 1);
    return has_memory;
}

int hu_below_find(const char *folder, hu_arena *arena, hu_below *out, hu_error *err)
{
    walk w = {arena, out};

    *out = (hu_below){0};
    return enter(&w, folder, 0) ? 0 : hu_fail_memory(err);
}
