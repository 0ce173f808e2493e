/* SPDX-License-Identifier: Apache-2.0
 * naming.c - expands the template for one file, and counts up where a file of that name is there already.
 *
 * Files of one session stay together: where it makes several, the number goes to their folder.  A session of one rank
 * shares its folder with sessions of other ranks; there the number goes to the file.
 */
#include "record/naming.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/template.h"

enum { SECOND_NS = 1000000000, MOST_NUMBERS = 100000 };

#define ENDING         ".pftrace"
#define PARTIAL_ENDING ".partial.pftrace"

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* The folders of a path, as `mkdir -p` makes them. */
static int make_folders(char *path, hu_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int rc;

        *slash = '\0';
        rc = mkdir(path, 0777);
        if (rc < 0 && errno != EEXIST)
            hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot be created: %s", strerror(errno));
        else
            rc = 0;
        *slash = '/';
        if (rc < 0)
            return HU_EIO;
    }
    return 0;
}

/* Relative names begin where the run was started, not where it is finished. */
static int from_folder(const hu_naming *n, const char *name, char *out, hu_error *err)
{
    char here[sizeof n->facts->folder];
    int  length;

    if (name[0] == '/' || n->output || !n->facts->folder[0] ||
        (getcwd(here, sizeof here) && strcmp(here, n->facts->folder) == 0))
        length = snprintf(out, HU_TEMPLATE_BYTES, "%s", name);
    else
        length = snprintf(out, HU_TEMPLATE_BYTES, "%s/%s", n->facts->folder, name);
    return length < HU_TEMPLATE_BYTES ? 0 : hu_fail(err, HU_EUSAGE, name, HU_NO_OFFSET, "name too long");
}

static void text_of(hu_str s, char *out, size_t room)
{
    snprintf(out, room, "%.*s", HU_FMT(s));
}

/* "a/rank.pftrace" of a process above the ranks becomes "a/launcher.pftrace". */
static void name_launcher(char *path)
{
    char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if ((size_t)(name - path) + sizeof "launcher" ENDING <= HU_TEMPLATE_BYTES)
        memcpy(name, "launcher" ENDING, sizeof "launcher" ENDING);
}

static int expand_as(const hu_naming *n, const hu_pftrace_file *file, int32_t number, bool is_pattern, char *out,
                     hu_error *err)
{
    const hu_rank_id *outer = &n->facts->rank;
    const char       *given = n->output ? n->output : n->facts->output;
    const bool        has_ranks = file->rank >= 0 || file->is_launcher || file->is_one_of_many;
    char template[HU_TEMPLATE_BYTES], name[HU_TEMPLATE_BYTES], program[64], job[64];
    /* clang-format off */
    hu_template_facts f = {
        .host = n->facts->host, .command = n->facts->name[0] ? n->facts->name : program,
        .job_id = outer->job_id[0] ? outer->job_id : job, .step_id = outer->step_id,
        .pid = file->is_one_of_many || !n->facts->pid ? (int32_t)file->pid : n->facts->pid,
        .rank = file->rank, .local_rank = file->local_rank,
        .world_size = file->world_size >= 0 ? file->world_size : outer->world_size,
        .node = file->node >= 0 ? file->node : outer->node, .started_s = n->facts->started_ns / SECOND_NS,
        .number = number, .is_pattern = is_pattern, .numbers_folder = file->is_one_of_many,
        .environment = n->environment};
    int rc;

    text_of(file->program, program, sizeof program);
    text_of(file->job_id, job, sizeof job);
    rc = hu_template_complete(given, has_ranks, template, err);
    if (rc == 0)
        rc = hu_template_expand(template, &f, name, err);
    if (rc == 0)
        rc = from_folder(n, name, out, err);
    if (rc == 0 && file->is_launcher)
        name_launcher(out);
    return rc;
}

static int expand(const hu_naming *n, const hu_pftrace_file *file, int32_t number, char *out, hu_error *err)
{
    return expand_as(n, file, number, false, out, err);
}

/* The file of `holdup run` itself, as far as its own environment tells. */
static hu_pftrace_file own_file(const hu_facts *facts)
{
    const hu_rank_id *r = &facts->rank;

    return (hu_pftrace_file){.rank = r->rank,
                             .local_rank = r->local_rank,
                             .world_size = r->world_size,
                             .node = r->node,
                             .pid = (uint32_t)facts->pid};
}

static void to_partial(char *path)
{
    const size_t n = strlen(path);
    const size_t cut = n > strlen(ENDING) && strcmp(path + n - strlen(ENDING), ENDING) == 0 ? n - strlen(ENDING) : n;

    if (cut + sizeof PARTIAL_ENDING <= HU_TEMPLATE_BYTES)
        memcpy(path + cut, PARTIAL_ENDING, sizeof PARTIAL_ENDING);
}

/* The first number whose name is free; of several files, whose folder is new, but for number 1: a user may have made it. */
static int find_free(hu_naming *n, const hu_pftrace_file *file, char *out, hu_error *err)
{
    for (int32_t number = n->number ? n->number : 1; number < MOST_NUMBERS; number++) {
        char *slash;
        bool  is_free;

        if (expand(n, file, number, out, err) < 0)
            return err->code;
        slash = n->number || number == 1 || !file->is_one_of_many ? NULL : strrchr(out, '/');
        if (slash)
            *slash = '\0';
        is_free = n->forces || !exists(out);
        if (slash)
            *slash = '/';
        if (is_free) {
            n->number = n->number ? n->number : number;
            return 0;
        }
    }
    /* clang-format on */
    return hu_fail(err, HU_EUSAGE, out, HU_NO_OFFSET, "exists, and so do all numbered names after it; use --force");
}

int hu_naming_refuse_taken(const hu_naming *n, hu_error *err)
{
    const hu_pftrace_file file = own_file(n->facts);
    char                  path[HU_TEMPLATE_BYTES];

    if (n->forces || n->facts->rank.restart > 0 || !hu_template_is_one_name(n->output ? n->output : n->facts->output))
        return 0;
    if (expand(n, &file, 1, path, err) < 0)
        return err->code;
    if (!exists(path))
        return 0;
    return hu_fail(err, HU_EUSAGE, path, HU_NO_OFFSET,
                   "already exists; choose another file, or replace it with --force (%%n in the name takes a free number)");
}

bool hu_naming_of_all(const hu_naming *n, char *out, size_t room)
{
    const hu_pftrace_file file = own_file(n->facts);
    char                  path[HU_TEMPLATE_BYTES], *slash;
    hu_error              ignored = {0};

    if (expand_as(n, &file, n->number ? n->number : 1, true, path, &ignored) < 0 || !strchr(path, '*'))
        return false;
    slash = strrchr(path, '/');
    if (slash && strcmp(slash, "/rank*" ENDING) == 0)
        slash[1] = '\0';
    return (size_t)snprintf(out, room, "%s", path) < room;
}

int hu_naming_file(void *context, const hu_pftrace_file *file, char *out, size_t room, hu_error *err)
{
    hu_naming *n = context;
    char       path[HU_TEMPLATE_BYTES], partial[HU_TEMPLATE_BYTES];
    hu_str     copy;
    int        rc = expand(n, file, 1, partial, err);

    if (rc < 0)
        return rc;
    to_partial(partial);
    if (n->is_partial) {
        memcpy(path, partial, sizeof path);
    } else {
        rc = find_free(n, file, path, err);
        copy = hu_arena_copy(n->arena, hu_str_of(partial));
        if (copy.p)
            (void)hu_vec_push(n->arena, &n->partials, copy.p);
    }
    if (rc < 0 || make_folders(path, err) < 0)
        return err->code;
    if ((size_t)snprintf(out, room, "%s", path) >= room)
        return hu_fail(err, HU_EUSAGE, path, HU_NO_OFFSET, "name too long");
    return 0;
}

void hu_naming_remove_partials(const hu_naming *naming)
{
    for (size_t i = 0; i < naming->partials.n; i++)
        unlink(naming->partials.at[i]);
}
