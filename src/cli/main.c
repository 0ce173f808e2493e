/* SPDX-License-Identifier: Apache-2.0
 * main.c - finds the command's row and runs it. */
#include <signal.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/command.h"

int hu_command_fail(const hu_error *err)
{
    fflush(stdout);
    if (err->file[0] && err->offset > 0)
        fprintf(stderr, "holdup: %s: at byte %lld: %s\n", err->file, (long long)err->offset, err->text);
    else if (err->file[0])
        fprintf(stderr, "holdup: %s: %s\n", err->file, err->text);
    else
        fprintf(stderr, "holdup: %s\n", err->text);
    return hu_error_exit_status(err->code);
}

static const hu_command *find(const char *name)
{
    for (size_t i = 0; hu_commands[i]; i++)
        if (strcmp(hu_commands[i]->name, name) == 0)
            return hu_commands[i];
    return NULL;
}

static int fail_unknown(const char *name)
{
    const char *names[32], *near;
    size_t      n = 0;
    hu_error    err;

    for (; hu_commands[n] && n + 1 < HU_COUNT(names); n++)
        names[n] = hu_commands[n]->name;
    names[n++] = "help";
    near = hu_options_suggest(name, names, n);
    if (near)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; did you mean `holdup %s`", name, near);
    else
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; `holdup help` lists them", name);
    return hu_command_fail(&err);
}

static int help(const char *name)
{
    const hu_command *c = name ? find(name) : NULL;

    if (name && !c)
        return fail_unknown(name);
    if (c)
        hu_help_command(c);
    else
        hu_help_all();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 3;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const hu_command *c;

    signal(SIGPIPE, SIG_IGN);       /* a reader that leaves early is an output error, not a crash */
    if (argc < 2) {
        hu_help_all();
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("holdup %s\n", HU_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    c = find(argv[1]);
    if (!c)
        return fail_unknown(argv[1]);
    if (asks_for_help(argc - 2, argv + 2))
        return help(c->name);
    return c->run(argc - 2, argv + 2);
}
