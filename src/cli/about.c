/* SPDX-License-Identifier: Apache-2.0
 * about.c - the version alone on the first line, which scripts read; below it what a report of a bug needs. */
#include "cli/about.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/json_out.h"
#include "base/late.h"
#include "cli/build_facts.h"
#include "cli/command.h"
#include "cli/library.h"
#include "cli/outputs.h"
#include "protocol/format.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

static const struct {
    const char *name, *file; /* NULL: the recorder's library */
} parts[] = {{"recorder", NULL}, {"Open MPI", "libholdup-mpi.so"}, {"MPICH", "libholdup-mpich.so"}};

static const char *c_library(char *out, size_t room)
{
#ifdef __GLIBC__
    snprintf(out, room, "glibc %s (built with %d.%d)", gnu_get_libc_version(), __GLIBC__, __GLIBC_MINOR__);
#else
    snprintf(out, room, "not glibc");
#endif
    return out;
}

/* Where a part of holdup is; false: it is not there. */
static bool find_part(size_t i, char *out, size_t room)
{
    return parts[i].file ? hu_library_mpi(parts[i].file, out, room) : hu_library_find(out, room);
}

/* "SQLite", "libzstd" of "libzstd, which reads .zst,". */
static hu_str short_name(const hu_late *library)
{
    return (hu_str){library->what, strcspn(library->what, ",")};
}

static void text_libraries(hu_out *out)
{
    hu_out_text(out, "libraries, opened when a command needs them\n");
    for (const hu_late_version *row = hu_late_all; row->library; row++) {
        char        version[HU_LATE_VERSION_BYTES];
        const char *path;
        hu_error    err = {0};
        hu_str      name = short_name(row->library);

        if (hu_late_ask(row, version, &path, &err) < 0)
            hu_out_printf(out, "  %-14.*s cannot be loaded: %s\n", HU_FMT(name), row->library->file);
        else
            hu_out_printf(out, "  %-14.*s %s%s%s\n", HU_FMT(name), version, version[0] ? "  " : "",
                          row->library->ours ? "in the program"
                          : path             ? path
                                             : row->library->file);
    }
}

static void text_parts(hu_out *out)
{
    char path[PATH_MAX];

    hu_out_text(out, "parts\n");
    for (size_t i = 0; i < HU_COUNT(parts); i++)
        hu_out_printf(out, "  %-14s %s\n", parts[i].name, find_part(i, path, sizeof path) ? path : "not found");
}

static void write_text(hu_out *out)
{
    const bool is_known = strcmp(hu_build_commit, HU_BUILD_NO_COMMIT) != 0;
    char       libc[64];

    hu_out_printf(out, "holdup %s\n", HU_VERSION);
    hu_out_printf(out, "commit     %s\n",
                  is_known ? hu_build_commit : "not known: built from sources that are in no repository");
    hu_out_printf(out, "build      %s; %s\n", hu_build_compiler, hu_build_options);
    hu_out_printf(out, "C library  %s\n", c_library(libc, sizeof libc));
    hu_out_printf(out, "processor  %s; scans with %s (it has %s)\n", hu_build_machine, hu_cpu_name(hu_cpu_chosen()),
                  hu_cpu_name(hu_cpu_best()));
    hu_out_printf(out, "sessions   format %d\n", HU_FORMAT_VERSION);
    text_libraries(out);
    text_parts(out);
}

static void json_libraries(hu_json_out *j)
{
    hu_json_open(j, "libraries", '[');
    for (const hu_late_version *row = hu_late_all; row->library; row++) {
        char        version[HU_LATE_VERSION_BYTES];
        const char *path;
        hu_error    err = {0};
        const bool  is_there = hu_late_ask(row, version, &path, &err) == 0;

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", short_name(row->library));
        hu_json_str(j, "file", hu_str_of(row->library->file));
        hu_json_bool(j, "found", is_there);
        hu_json_bool(j, "linked", row->library->ours != NULL);
        hu_json_str(j, "version", hu_str_of(version));
        hu_json_str(j, "path", hu_str_of(path ? path : ""));
        hu_json_str(j, "problem", hu_str_of(is_there ? "" : err.text));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_json(hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};
    char        text[PATH_MAX];

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "version", HU_STR(HU_VERSION));
    hu_json_str(&j, "commit", hu_str_of(strcmp(hu_build_commit, HU_BUILD_NO_COMMIT) ? hu_build_commit : ""));
    hu_json_str(&j, "compiler", hu_str_of(hu_build_compiler));
    hu_json_str(&j, "options", hu_str_of(hu_build_options));
    hu_json_str(&j, "c_library", hu_str_of(c_library(text, sizeof text)));
    hu_json_str(&j, "machine", hu_str_of(hu_build_machine));
    hu_json_str(&j, "scans_with", hu_str_of(hu_cpu_name(hu_cpu_chosen())));
    hu_json_str(&j, "best", hu_str_of(hu_cpu_name(hu_cpu_best())));
    hu_json_int(&j, "session_format", HU_FORMAT_VERSION);
    json_libraries(&j);
    hu_json_open(&j, "parts", '[');
    for (size_t i = 0; i < HU_COUNT(parts); i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", hu_str_of(parts[i].name));
        hu_json_str(&j, "path", hu_str_of(find_part(i, text, sizeof text) ? text : ""));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}

int hu_about_print(int argc, char **argv)
{
    const bool is_json = argc == 1 && strcmp(argv[0], "--json") == 0;
    hu_error   err = {0};
    hu_out    *out;

    if (argc > 0 && !is_json) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--version takes --json or nothing, not \"%.64s\"", argv[0]);
        return hu_command_fail(&err);
    }
    if (!(out = hu_output_open(NULL, &err)))
        return hu_command_fail(&err);
    if (is_json)
        write_json(out);
    else
        write_text(out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : HU_EXIT_OK;
}
