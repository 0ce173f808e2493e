/* SPDX-License-Identifier: Apache-2.0
 * main.c - finds the command's row and runs it. */
#include "cli/about.h"
#include "cli/help.h"

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
        hu_help_print(NULL);
        return HU_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return hu_about_print(argc - 2, argv + 2);
    c = hu_command_find(strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? "help" : argv[1]);
    if (!c)
        return hu_command_fail_unknown(argv[1]);
    if (asks_for_help(c, argc - 2, argv + 2)) /* whatever else may be wrong */
        return hu_help_print(c);
    return hu_command_call(c, argc - 2, argv + 2);
}
