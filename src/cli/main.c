/* SPDX-License-Identifier: Apache-2.0
 * main.c - finds the command's row and runs it. */
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command.h"

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
    struct stat st;

    for (; hu_commands[n] && n + 1 < HU_COUNT(names); n++)
        names[n] = hu_commands[n]->name;
    names[n++] = "help";
    near = hu_options_suggest(name, names, n);
    if (stat(name, &st) == 0) /* most who type a file first want to know what is in it */
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.200s\"; did you mean `holdup report %.200s`", name,
                name);
    else if (near)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; did you mean `holdup %s`", name, near);
    else
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; `holdup help` lists them", name);
    return hu_command_fail(&err);
}

/* Help on a full disk is no success either. */
static int written(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? HU_EXIT_OK : HU_EXIT_UNREADABLE;
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
    return written();
}

static bool asks_for_help(const hu_command *c, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0 && !((c->needs & HU_NEEDS_FRONT) && argv[i][0] != '-'); i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const hu_command *c;

    hu_command_end_with_reader();
    if (argc < 2) {
        hu_help_all();
        return HU_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("holdup %s\n", HU_VERSION);
        return written();
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    c = find(argv[1]);
    if (!c)
        return fail_unknown(argv[1]);
    if (asks_for_help(c, argc - 2, argv + 2))
        return help(c->name);
    return hu_command_call(c, argc - 2, argv + 2);
}
