/* SPDX-License-Identifier: Apache-2.0
 * outputs.c - who names an input as the output loses hours of recording, so all is compared before anything is read. */
#include "cli/outputs.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file; devices and pipes are not replaced by what is written to them. */
static bool look(const char *path, struct stat *out)
{
    return stat(path, out) == 0 && S_ISREG(out->st_mode);
}

/* The same of an input, which may be standard input. */
static bool look_input(const char *path, struct stat *out)
{
    return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, out) == 0 && S_ISREG(out->st_mode) : look(path, out);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Two names of one file, which need not be there yet: then the same name in the same folder. */
static bool name_one_file(const char *a, const char *b)
{
    const char *path[2] = {a, b}, *name[2];
    struct stat file[2], folder[2];
    char        text[PATH_MAX];

    if (look(a, &file[0]) && look(b, &file[1]))
        return is_same(&file[0], &file[1]);
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(path[i], '/');

        name[i] = slash ? slash + 1 : path[i];
        snprintf(text, sizeof text, "%.*s", slash ? (int)(slash + 1 - path[i]) : 1, slash ? path[i] : ".");
        if (lstat(path[i], &file[i]) == 0 || stat(text, &folder[i]) < 0)
            return false;
    }
    return strcmp(name[0], name[1]) == 0 && is_same(&folder[0], &folder[1]);
}

static int fail(const hu_output *o, const char *what, hu_error *err)
{
    return hu_fail(err, HU_EUSAGE, o->path, HU_NO_OFFSET, "is %s: --%s would overwrite it; choose another file", what,
                   o->option);
}

static int check_one(const hu_output *o, const hu_inputs *inputs, const char *words, hu_error *err)
{
    struct stat output, other;

    if (!look(o->path, &output))
        return 0;
    for (size_t i = 0; i < inputs->n; i++)
        if (look_input(inputs->at[i], &other) && is_same(&output, &other))
            return fail(o, "an input", err);
    if (words && look(words, &other) && is_same(&output, &other))
        return fail(o, "also an input", err);
    return 0;
}

int hu_outputs_check(const hu_output *outputs, size_t n, const hu_inputs *inputs, const char *words, hu_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!outputs[i].path)
            continue;
        if (check_one(&outputs[i], inputs, words, err) < 0)
            return err->code;
        for (size_t k = 0; k < i; k++)
            if (outputs[k].path && name_one_file(outputs[k].path, outputs[i].path))
                return hu_fail(err, HU_EUSAGE, outputs[i].path, HU_NO_OFFSET,
                               "is the output of --%s and of --%s: one would overwrite the other; choose two files",
                               outputs[k].option, outputs[i].option);
    }
    return 0;
}

int hu_spread_outputs(hu_crew *crew, const hu_output *outputs, size_t n, const hu_inputs *inputs, hu_error *err)
{
    const int rc = hu_crew_is_first(crew) ? hu_outputs_check(outputs, n, inputs, NULL, err) : 0;

    if (rc < 0 && crew) /* the others may see other files: this one alone knows */
        crew->give_up(crew, err);
    return rc;
}

hu_out *hu_output_open_or(const char *path, int fd, hu_error *err)
{
    hu_out *out = path ? hu_out_open_file(path, err) : hu_out_open_fd(fd);

    if (!out && !path)
        hu_fail_memory(err);
    return out;
}

hu_out *hu_output_open(const char *path, hu_error *err)
{
    return hu_output_open_or(path, STDOUT_FILENO, err);
}
