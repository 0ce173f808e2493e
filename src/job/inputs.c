/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - a run is often a directory: every file in it that is named like a trace is one rank. */
#include "job/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/input.h"
#include "ingest/parts.h"
#include "ingest/rocprof_set.h"
#include "job/folders.h"
#include "job/same.h"
#include "job/sorted.h"
#include "protocol/format.h"

static bool is_trace(const char *file)
{
    static const char *const packed[] = {".gz", ".zst"}, *const suffixes[] = {".json", ".pftrace", ".perfetto-trace",
                                                                              ".sqlite", ".xplane.pb"};
    hu_str name = hu_str_of(file), prefix;

    for (size_t i = 0; i < HU_COUNT(packed); i++)
        if (hu_str_ends(name, hu_str_of(packed[i]))) {
            name.n -= strlen(packed[i]);
            break;
        }
    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (hu_str_ends(name, hu_str_of(suffixes[i])))
            return true;
    return hu_rocprof_set_file(name, &prefix) != HU_ROCPROF_NONE;
}

bool hu_inputs_is_trace(const char *path)
{
    return is_trace(hu_str_base_name(hu_str_of(path)).p);
}

static bool may_be_session(const char *file)
{
    return hu_str_starts(hu_str_of(file), HU_STR(".holdup-"));
}

static int is_input(const struct dirent *entry)
{
    return is_trace(entry->d_name) || may_be_session(entry->d_name);
}

/* Numbers in names by value, so that rank10 comes after rank9. */
static int by_version(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

typedef HU_VEC(const char *) path_list;

static bool add(hu_arena *arena, path_list *list, const char *folder, const char *name)
{
    const size_t a = folder ? strlen(folder) : 0, b = strlen(name);
    char        *p = hu_arena_alloc(arena, a + b + 2);

    if (!p)
        return false;
    if (folder) {
        memcpy(p, folder, a);
        p[a] = '/';
        memcpy(p + a + 1, name, b + 1);
    } else {
        memcpy(p, name, b + 1);
    }
    return hu_vec_push(arena, list, p);
}

/* Of two files that rocprofv3 wrote of one process, the first one stands for both.  Tables always, since each is read with
   those beside it; other forms where a directory was named. */
static bool stands_for(const char *a, const char *b, bool in_folder)
{
    int64_t               pid;
    size_t                table;
    hu_str                of_a, of_b, packed;
    const hu_rocprof_file x = hu_rocprof_set_file((hu_str){a, hu_input_split(a, &pid)}, &of_a);
    const hu_rocprof_file y = hu_rocprof_set_file(hu_str_of(b), &of_b);

    if (!x || !y || !hu_str_equal(of_a, of_b))
        return false;
    if (x == HU_ROCPROF_TABLE && y == HU_ROCPROF_TABLE) /* the table of kernels has the name that says most */
        return !hu_rocprof_set_table(hu_str_of(b), &of_b, &table, &packed) ||
               strcmp(hu_rocprof_tables[table], "kernel_trace.csv") != 0;
    return in_folder && x < y;
}

enum { LOOKED_BACK = 64 }; /* sorted names: files of one process are neighbours */

/* Drops the last path, or the one that it stands for, from `from` on.  False: the last one was dropped. */
static bool keep_one(path_list *list, size_t from, bool in_folder)
{
    const char *last = list->at[list->n - 1];

    for (size_t i = list->n - 1, looked = 0; i-- > from && looked < LOOKED_BACK; looked++) {
        if (stands_for(list->at[i], last, in_folder)) {
            list->n--;
            return false;
        }
        if (stands_for(last, list->at[i], in_folder)) {
            memmove(&list->at[i], &list->at[i + 1], (list->n - i - 1) * sizeof *list->at);
            list->n--;
        }
    }
    return true;
}

/* A file of several processes with GPU work is as many ranks.  `seen`: what is known of it; NULL: nothing. */
static bool add_file(hu_arena *arena, path_list *list, size_t from, const char *folder, const char *name,
                     const hu_glance *seen)
{
    hu_parts    parts;
    const char *file;

    if (!add(arena, list, folder, name))
        return false;
    if (!keep_one(list, from, folder != NULL) || (seen && !seen->is_database))
        return true;
    file = list->at[list->n - 1];
    if (!hu_parts_find(file, arena, &parts))
        return false;
    list->n -= parts.n > 0;
    for (size_t i = 0; i < parts.n; i++) {
        const size_t room = strlen(file) + 32;
        char        *part = hu_arena_alloc(arena, room);

        if (!part || !hu_vec_push(arena, list, part))
            return false;
        snprintf(part, room, "%s#pid=%lld", file, (long long)parts.at[i]);
    }
    return true;
}

/* A session of `holdup run` that was killed, or still goes on. */
static bool is_session(const char *path)
{
    char        control[4096];
    struct stat st;

    return snprintf(control, sizeof control, "%s/control", path) < (int)sizeof control && stat(control, &st) == 0 &&
           st.st_size == (off_t)HU_CONTROL_BYTES;
}

static int fail_session(const char *path, hu_error *err)
{
    return hu_fail(err, HU_EEMPTY, path, HU_NO_OFFSET,
                   "this is a recording whose trace was not written; `holdup finish %s` writes it", path);
}

/* A pipe, a socket or a device that somebody named like a trace would be waited for. */
static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 || S_ISREG(st.st_mode); /* what has gone is told when it is read */
}

/* What a listing found. */
typedef struct {
    hu_glances *glances;
    path_list  *list;
    size_t      from;     /* of the list, what this directory brought */
    path_list   strays;   /* JSON that is no trace */
    size_t      n_traces; /* that were listed, or cannot be read: no execution traces */
} found;

static bool is_json(const char *name)
{
    return hu_str_has(hu_str_of(name), HU_STR(".json"));
}

static int add_named_trace(const char *path, const char *name, hu_arena *arena, found *f, hu_error *err)
{
    path_list        child = {0};
    const hu_glance *seen;
    const char      *file;

    if (!add(arena, &child, path, name))
        return hu_fail_memory(err);
    file = child.at[0];
    if (!is_file(file))
        return 0;
    if (!(seen = hu_glances_at(f->glances, file, err)))
        return err->code;
    if (is_json(name) && seen->is_stray)
        return hu_vec_push(arena, &f->strays, file) ? 0 : hu_fail_memory(err);
    f->n_traces += !(is_json(name) && seen->is_execution);
    return add_file(arena, f->list, f->from, path, name, seen) ? 0 : hu_fail_memory(err);
}

/* A trace is an input; the session of a rank whose trace was not written is one that cannot be read. */
static int add_entry(const char *path, const char *name, hu_arena *arena, found *f, hu_unread_list *unread, hu_error *err)
{
    path_list child = {0};
    hu_error  why = {0};

    if (is_trace(name))
        return add_named_trace(path, name, arena, f, err);
    if (!add(arena, &child, path, name))
        return hu_fail_memory(err);
    if (!is_session(child.at[0]))
        return 0;
    fail_session(child.at[0], &why);
    return hu_unread_add_error(unread, arena, child.at[0], &why, err);
}

/* Where a directory holds no trace, what else there is of a run. */
static int add_others(const char *path, hu_glances *glances, hu_arena *arena, path_list *list, hu_error *err)
{
    hu_inputs others;

    if (hu_inputs_beside_of(path, glances, arena, &others, err) < 0)
        return err->code;
    for (size_t i = 0; i < others.n; i++)
        if (!hu_vec_push(arena, list, others.at[i]))
            return hu_fail_memory(err);
    return 0;
}

/* JAX writes HOST.trace.json.gz and perfetto_trace.json.gz beside HOST.xplane.pb, of the same run: no ranks of their own. */
static bool is_copy(struct dirent **entries, int n, const char *name)
{
    static const hu_str end = {".trace.json.gz", 14};
    const hu_str        file = hu_str_of(name);
    const bool          is_perfetto = hu_str_equal(file, HU_STR("perfetto_trace.json.gz"));

    if (!hu_str_ends(file, end) && !is_perfetto)
        return false;
    for (int i = 0; i < n; i++) {
        const hu_str other = hu_str_of(entries[i]->d_name);

        if (is_perfetto && hu_str_ends(other, HU_STR(".xplane.pb")))
            return true;
        if (other.n == file.n - end.n + 10 && hu_str_ends(other, HU_STR(".xplane.pb")) &&
            memcmp(other.p, file.p, file.n - end.n) == 0)
            return true;
    }
    return false;
}

/* Names of a directory without copies, which only those who have an xplane.pb have.  False: no memory. */
static bool list_names(struct dirent **entries, int n, hu_arena *arena, path_list *names)
{
    bool has_xplanes = false;

    for (int i = 0; i < n; i++)
        has_xplanes |= hu_str_ends(hu_str_of(entries[i]->d_name), HU_STR(".xplane.pb"));
    for (int i = 0; i < n; i++)
        if (!(has_xplanes && is_copy(entries, n, entries[i]->d_name)) && !hu_vec_push(arena, names, entries[i]->d_name))
            return false;
    return true;
}

/* All that are named like traces, at once. */
static int look_at_all(const char *path, const path_list *names, hu_arena *arena, hu_glances *glances, hu_error *err)
{
    path_list files = {0};

    for (size_t i = 0; i < names->n; i++)
        if (is_trace(names->at[i]) && !add(arena, &files, path, names->at[i]))
            return hu_fail_memory(err);
    return hu_glances_take(glances, files.at, files.n, err);
}

/* The traces in a directory, and sessions whose trace was not written. */
static int add_traces(const char *path, hu_arena *arena, found *f, hu_unread_list *unread, hu_error *err)
{
    struct dirent **entries;
    const int       n = scandir(path, &entries, is_input, by_version);
    path_list       names = {0};
    int             rc;

    if (n < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot list the directory: %s", strerror(errno));
    rc = list_names(entries, n, arena, &names) ? look_at_all(path, &names, arena, f->glances, err) : hu_fail_memory(err);
    for (size_t i = 0; i < names.n && rc == 0; i++)
        rc = add_entry(path, names.at[i], arena, f, unread, err);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return rc;
}

/* Where there is nothing else, what is no trace is read all the same, so that each says why it is none. */
static int add_strays(const found *f, hu_arena *arena, hu_error *err)
{
    for (size_t i = 0; i < f->strays.n; i++)
        if (!hu_vec_push(arena, f->list, f->strays.at[i]))
            return hu_fail_memory(err);
    return 0;
}

static int add_folder(const char *path, hu_glances *glances, hu_arena *arena, path_list *list, hu_unread_list *unread,
                      hu_error *err)
{
    const size_t n_before = list->n, n_unread = unread->n;
    found        f = {.glances = glances, .list = list, .from = n_before}, in_below = {.glances = glances, .list = list};
    hu_folders   folders = {0};
    int          rc = add_traces(path, arena, &f, unread, err);

    if (rc < 0 || f.n_traces || unread->n > n_unread)
        return rc;
    if ((rc = hu_folders_find(path, glances, arena, &folders, err)) < 0)
        return rc;
    if (folders.n > 1) /* which may be of different runs */
        list->n = n_before;
    in_below.from = list->n;
    if (folders.n == 1)
        rc = add_traces(folders.at[0], arena, &in_below, unread, err);
    else if (folders.n == 0 && list->n == n_before)
        rc = add_others(path, glances, arena, list, err);
    if (rc == 0 && list->n == n_before && unread->n == n_unread && folders.n == 0)
        rc = add_strays(&f, arena, err);
    if (rc < 0 || list->n > n_before || unread->n > n_unread)
        return rc;
    return is_session(path) ? fail_session(path, err) : hu_folders_fail(path, &folders, glances, arena, err);
}

/* Bytes on disk of all of them; 0 when one is not a file. */
static uint64_t count_bytes(const hu_inputs *inputs)
{
    uint64_t    bytes = 0;
    struct stat st;

    for (size_t i = 0; i < inputs->n; i++) {
        int64_t pid;

        hu_input_split(inputs->at[i], &pid);
        if (pid || stat(inputs->at[i], &st) < 0 || !S_ISREG(st.st_mode))
            return 0;
        bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

int hu_inputs_expand(char **paths, int n, const hu_limits *limits, hu_arena *arena, hu_inputs *out, hu_error *err)
{
    path_list   list = {0};
    hu_error    why = {0}, first = {0};
    struct stat st;

    *out = (hu_inputs){.glances = hu_glances_new(arena, limits)};
    if (!out->glances)
        return hu_fail_memory(err);
    for (int i = 0; i < n; i++) {
        if (strcmp(paths[i], "-") == 0 || stat(paths[i], &st) < 0 || !S_ISDIR(st.st_mode)) {
            if (!add_file(arena, &list, 0, NULL, paths[i], NULL))
                return hu_fail_memory(err);
        } else if (add_folder(paths[i], out->glances, arena, &list, &out->unread, &why) < 0) {
            if (why.code == HU_ENOMEM || hu_unread_add_error(&out->unread, arena, paths[i], &why, err) < 0)
                return hu_fail_memory(err);
            first = first.code ? first : why;
        }
    }
    if (list.n == 0 && first.code) {
        *err = first;
        return first.code;
    }
    if (list.n == 0)
        return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "%.*s: %.*s", HU_FMT(out->unread.at[0].file),
                       HU_FMT(out->unread.at[0].error));
    out->at = list.at;
    out->n = list.n;
    if (hu_inputs_drop_same(out, arena, err) < 0)
        return err->code;
    out->bytes = count_bytes(out);
    return 0;
}
