/* SPDX-License-Identifier: Apache-2.0
 * compare_read.c - inventories of many nodes, from reports, bundles and folders of them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/json.h"
#include "doctor/bundle.h"
#include "doctor/compare.h"
#include "doctor/tar.h"

enum { FILE_MOST = 16 << 20, PATH_MOST = 4096 }; /* a report is some 100 KB, a bundle at most 16 MB */

typedef struct {
    hu_comparison *c;
    hu_limits      limits;
} reader;

/* What a file is called without folders and suffixes: the node's name where it says none itself. */
static hu_str stem(const char *path)
{
    static const char *const suffixes[] = {".gz", ".tgz", ".zst", ".tar", ".json"};
    hu_str                   name = hu_str_of(path);

    while (name.n > 1 && name.p[name.n - 1] == '/')
        name.n--;
    name = hu_str_base_name(name);
    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (hu_str_ends(name, hu_str_of(suffixes[i])) && name.n > strlen(suffixes[i]))
            name.n -= strlen(suffixes[i]);
    return name;
}

/* What a report says of the node.  Texts live in `arena`. */
static int read_report(hu_str json, const char *file, hu_arena *arena, hu_compared_node *out, hu_error *err)
{
    const hu_str host = hu_json_get(json, HU_STR("host")), values = hu_json_get(json, HU_STR("values"));
    hu_json      j = hu_json_enter(values);
    hu_str       key, value;

    if (!values.p || values.n == 0 || values.p[0] != '{')
        return hu_fail(err, HU_EFORMAT, file, HU_NO_OFFSET,
                       "this is no report of a node; write one with holdup doctor --json, or with --bundle");
    if (host.p && host.p[0] == '"')
        out->name = hu_json_text(arena, host);
    while (hu_json_member(&j, &key, &value)) {
        const hu_compared_value v = {hu_arena_copy(arena, key), hu_json_text(arena, value)};

        if (out->values.n == HU_COMPARE_VALUES)
            return hu_fail(err, HU_ELIMIT, file, HU_NO_OFFSET, "this report has more than %d values; no node has as many",
                           HU_COMPARE_VALUES);
        if (!v.key.p || !v.value.p || !hu_vec_push(arena, &out->values, v))
            return hu_fail_memory(err);
    }
    return j.is_broken ? hu_fail(err, HU_EFORMAT, file, HU_NO_OFFSET, "this report ends early; copy it again") : 0;
}

/* Returns 0, also for a file that is no report (it is in `unread` then), or HU_ENOMEM. */
static int read_file(reader *r, const char *path, hu_str name, hu_error *err)
{
    hu_comparison         *c = r->c;
    const hu_input_options options = {.limits = r->limits};
    hu_arena              *scratch = hu_arena_new();
    hu_error               why = {0};
    hu_input              *in = scratch ? hu_input_open(path, &options, &why) : NULL;
    hu_str                 text = {NULL, 0};
    hu_compared_node       node = {0};
    int                    rc = in ? hu_input_read_whole(in, scratch, &text, &why) : why.code;

    if (!scratch)
        return hu_fail_memory(err);
    if (rc == 0 && hu_tar_probe(text) && !hu_tar_find(text, HU_STR(HU_BUNDLE_REPORT), &text))
        rc = hu_fail(&why, HU_EFORMAT, path, HU_NO_OFFSET,
                     "this archive holds no " HU_BUNDLE_REPORT "; write it with holdup doctor --bundle");
    if (rc == 0)
        rc = read_report(text, path, c->arena, &node, &why);
    if (rc == 0 && !node.name.n)
        node.name = hu_arena_copy(c->arena, name);
    if (rc == 0 && (!node.name.p || !hu_vec_push(c->arena, &c->nodes, node)))
        rc = hu_fail_memory(&why);
    hu_input_close(in);
    hu_arena_free(scratch);
    if (rc == HU_ENOMEM)
        return hu_fail_memory(err);
    return rc < 0 ? hu_unread_add_error(&c->unread, c->arena, path, &why, err) : 0;
}

static bool is_unpacked(const char *folder, char *report)
{
    struct stat st;

    return snprintf(report, PATH_MOST, "%s/" HU_BUNDLE_REPORT, folder) < PATH_MOST && stat(report, &st) == 0 &&
           S_ISREG(st.st_mode);
}

static bool is_report(const char *file)
{
    static const char *const suffixes[] = {".json", ".json.gz", ".json.zst", ".tar", ".tar.gz", ".tgz", ".tar.zst"};

    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (hu_str_ends(hu_str_of(file), hu_str_of(suffixes[i])))
            return true;
    return false;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Reports and bundles of a folder, and unpacked bundles: what is named otherwise, or no regular file, is somebody else's. */
static int read_folder(reader *r, const char *folder, hu_error *err)
{
    struct dirent **entries = NULL;
    const int       n = scandir(folder, &entries, is_visible, by_version);
    int             rc = 0;

    if (n < 0) {
        hu_error why = {0};

        hu_fail(&why, HU_EIO, folder, HU_NO_OFFSET, "cannot list this folder: %s", strerror(errno));
        return hu_unread_add_error(&r->c->unread, r->c->arena, folder, &why, err);
    }
    for (int i = 0; i < n; i++) {
        char        path[PATH_MOST], report[PATH_MOST];
        struct stat st;

        if (rc == 0 && snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path &&
            stat(path, &st) == 0) {
            if (S_ISREG(st.st_mode) && is_report(path))
                rc = read_file(r, path, stem(path), err);
            else if (S_ISDIR(st.st_mode) && is_unpacked(path, report))
                rc = read_file(r, report, stem(path), err);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const hu_compared_node *x = a, *y = b;

    return strverscmp(x->name.p, y->name.p);
}

int hu_compare_read(hu_comparison *c, char *const *paths, int n, const hu_limits *limits, hu_error *err)
{
    reader r = {.c = c, .limits = *limits};
    int    rc = 0;

    if (r.limits.event_bytes > FILE_MOST)
        r.limits.event_bytes = FILE_MOST;
    for (int i = 0; i < n && rc == 0; i++) {
        char        report[PATH_MOST];
        struct stat st;
        const bool  is_folder = stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode);

        if (is_folder && !is_unpacked(paths[i], report))
            rc = read_folder(&r, paths[i], err);
        else
            rc = read_file(&r, is_folder ? report : paths[i], stem(paths[i]), err);
    }
    if (rc == 0 && c->nodes.n < 2) {
        if (c->unread.n)
            return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "%.*s: %.*s", HU_FMT(c->unread.at[0].file),
                           HU_FMT(c->unread.at[0].error));
        return hu_fail(err, HU_EEMPTY, n == 1 ? paths[0] : NULL, HU_NO_OFFSET,
                       "%zu node%s to compare and two are needed; write one report per node with holdup doctor --json",
                       c->nodes.n, c->nodes.n == 1 ? "" : "s");
    }
    if (rc == 0)
        qsort(c->nodes.at, c->nodes.n, sizeof *c->nodes.at, by_name);
    return rc;
}
