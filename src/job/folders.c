/* SPDX-License-Identifier: Apache-2.0
 * folders.c - by the names of files below, and by what was seen of them. */
#include "job/folders.h"

#include <stdio.h>
#include <string.h>

#include "job/below.h"
#include "job/inputs.h"

static bool is_in(const hu_folders *folders, const char *folder, size_t n)
{
    for (size_t i = 0; i < folders->n && i < HU_FOLDERS_NAMED; i++)
        if (strlen(folders->at[i]) == n && memcmp(folders->at[i], folder, n) == 0)
            return true;
    return false;
}

int hu_folders_find(const char *path, hu_glances *glances, hu_arena *arena, hu_folders *out, hu_error *err)
{
    hu_below below;

    *out = (hu_folders){0};
    if (hu_below_find(path, arena, &below, err) < 0)
        return err->code;
    for (size_t i = 0; i < below.files.n; i++) {
        const char      *file = below.files.at[i].path;
        const size_t     n = (size_t)(strrchr(file, '/') ? strrchr(file, '/') - file : 0);
        hu_str           folder;
        const hu_glance *seen;

        if (below.files.at[i].depth == 0 || !hu_inputs_is_trace(file) || is_in(out, file, n))
            continue;
        if (!(seen = hu_glances_at(glances, file, err)))
            return err->code;
        if (!hu_glance_may_have_events(seen))
            continue;
        folder = hu_arena_copy(arena, (hu_str){file, n});
        if (!folder.p)
            return hu_fail_memory(err);
        if (out->n < HU_FOLDERS_NAMED)
            out->at[out->n] = folder.p;
        out->n++;
    }
    return 0;
}

/* Sources and notes quote what some formats are known by. */
static bool may_quote(const hu_glance *seen)
{
    return !seen->is_empty && !seen->is_json && !seen->has_zeros && !hu_glance_is_of(seen, "perf-script");
}

/* Read by what it holds, and only when it is named: other files end like it. */
static bool is_read_if_named(const char *path, const hu_glances *glances)
{
    const hu_glance seen = hu_inputs_is_trace(path) ? (hu_glance){0} : hu_glance_briefly(glances, path);

    return seen.is_open && !seen.impostor && !may_quote(&seen) &&
           (seen.format ? hu_glance_may_have_events(&seen) : seen.is_execution);
}

/* Such files in the place of directories. */
static int find_nameable(const char *path, const hu_glances *glances, hu_arena *arena, hu_folders *out, hu_error *err)
{
    hu_below below;

    if (hu_below_find(path, arena, &below, err) < 0)
        return err->code;
    for (size_t i = 0; i < below.files.n; i++)
        if (is_read_if_named(below.files.at[i].path, glances)) {
            if (out->n < HU_FOLDERS_NAMED)
                out->at[out->n] = below.files.at[i].path;
            out->n++;
        }
    return 0;
}

static void list_paths(const hu_folders *paths, char *out, size_t room)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < paths->n && i < HU_FOLDERS_NAMED && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%.120s", i ? ", " : "", paths->at[i]);
}

int hu_folders_fail(const char *path, const hu_folders *folders, const hu_glances *glances, hu_arena *arena, hu_error *err)
{
    hu_folders files = {0};
    char       names[600];

    if (folders->n) {
        list_paths(folders, names, sizeof names);
        return hu_fail(err, HU_EEMPTY, path, HU_NO_OFFSET,
                       "no traces in this directory itself; traces are in %s%s: pass one, or several for several ranks",
                       names, folders->n > HU_FOLDERS_NAMED ? ", …" : "");
    }
    if (find_nameable(path, glances, arena, &files, err) < 0)
        return err->code;
    if (files.n == 0)
        return hu_fail(
            err, HU_EEMPTY, path, HU_NO_OFFSET,
            "no file in this directory ends in .json, .pftrace, .perfetto-trace, .sqlite, .xplane.pb, _results.db or "
            "_trace.csv, with or without .gz or .zst; pass the trace files");
    list_paths(&files, names, sizeof names);
    return hu_fail(err, HU_EEMPTY, path, HU_NO_OFFSET,
                   "of a directory no files with such names are read, but they are when they are named: pass %s%s", names,
                   files.n > HU_FOLDERS_NAMED ? ", …" : "");
}
