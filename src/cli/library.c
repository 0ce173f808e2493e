/* SPDX-License-Identifier: Apache-2.0
 * library.c - beside the program, as it is built, or where it is installed with it. */
#include "cli/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static void program_folder(char *out, size_t room)
{
    const ssize_t n = readlink("/proc/self/exe", out, room - 1);
    char         *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

/* The first place that has the file, without "..", since programs inherit the name; "%" is the program's folder. */
static bool first_of(const char *const *places, size_t n, const char *file, char *out, size_t room)
{
    char folder[PATH_MAX - 128], path[PATH_MAX + 64], real[PATH_MAX];

    program_folder(folder, sizeof folder);
    for (size_t i = 0; i < n; i++) {
        const bool is_beside = places[i][0] == '%';

        snprintf(path, sizeof path, "%s%s%s", is_beside ? folder : "", places[i] + is_beside, file);
        if (access(path, R_OK) < 0 || !realpath(path, real) || strlen(real) - strlen(file) >= room)
            continue;
        snprintf(out, room, "%s", real);
        return strlen(real) < room;
    }
    return false;
}

static bool find_module(const char *file, char *out, size_t room)
{
    static const char *const places[] = {"%/", "%/../lib/holdup/", "%/../libexec/holdup/"}; /* the last: in a wheel */

    return first_of(places, HU_COUNT(places), file, out, room);
}

bool hu_library_find(char *out, size_t room)
{
    const char *own = getenv("HOLDUP_LIBRARY");

    if (own && own[0] == '/' && access(own, R_OK) == 0 && strlen(own) < room) {
        snprintf(out, room, "%s", own);
        return true;
    }
    return find_module("libholdup-inject.so", out, room);
}

bool hu_library_mpi(const char *file, char *out, size_t room)
{
    return find_module(file, out, room);
}

bool hu_library_python(char *out, size_t room)
{
    static const char        file[] = "/holdup/__init__.py";
    static const char *const places[] = {"%/../python", "%/../share/holdup/python", "%/../lib/holdup/python",
                                         "%/../libexec/holdup/python"};

    if (!first_of(places, HU_COUNT(places), file, out, room) || strlen(out) <= sizeof file)
        return false;
    out[strlen(out) - (sizeof file - 1)] = '\0';
    return true;
}

bool hu_library_docs(char *out, size_t room)
{
    static const char *const places[] = {"%/../docs/", "%/../share/doc/holdup/docs/"};

    return first_of(places, HU_COUNT(places), "index.md", out, room);
}
