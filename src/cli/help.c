/* SPDX-License-Identifier: Apache-2.0
 * help.c - help is drawn from the tables that are parsed, so it cannot be wrong about them. */
#include <stdio.h>

#include "base/str.h"
#include "cli/command.h"

enum { WIDTH = 79, LABEL = 24 };

/* Words from column LABEL on, wrapped. */
static void wrapped(const char *text)
{
    size_t column = LABEL;

    while (*text) {
        const size_t n = strcspn(text, " ");

        if (column > LABEL && column + 1 + n > WIDTH) {
            printf("\n%*s", LABEL, "");
            column = LABEL;
        }
        column += (size_t)printf("%s%.*s", column > LABEL ? " " : "", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void option_line(const hu_option *o)
{
    int n = o->letter ? printf("  -%c, --%s", o->letter, o->name) : printf("      --%s", o->name);

    if (o->argument)
        n += printf(" %s", o->argument);
    if (n >= LABEL)
        printf("\n%*s", LABEL, "");
    else
        printf("%*s", LABEL - n, "");
    wrapped(o->help);
}

/* Each heading at its first row, with all of its rows. */
static void grouped(const hu_option *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_first = rows[i].help != NULL;

        for (size_t k = 0; k < i && is_first; k++)
            is_first = !rows[k].help || strcmp(rows[k].heading, rows[i].heading) != 0;
        if (!is_first)
            continue;
        printf("\n%s\n", rows[i].heading);
        for (size_t k = i; k < n; k++)
            if (rows[k].help && strcmp(rows[k].heading, rows[i].heading) == 0)
                option_line(&rows[k]);
    }
}

void hu_help_command(const hu_command *command)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(command, rows);
    size_t       shown = 0;

    printf("holdup %s %s\n\n%s\n", command->name, command->usage, command->about);
    if (command->examples)
        printf("\n%s\n", command->examples);
    for (size_t i = 0; i < n; i++)
        shown += rows[i].help != NULL;
    if (shown > HU_HELP_FEW) {
        grouped(rows, n);
        return;
    }
    printf("\noptions\n");
    for (size_t i = 0; i < n; i++)
        if (rows[i].help)
            option_line(&rows[i]);
}

static void list_commands(void)
{
#define G(id, text) text,
    static const char *const groups[HU_GROUP_COUNT] = {HU_COMMAND_GROUPS(G)};
#undef G

    for (hu_command_group g = 0; g < HU_GROUP_COUNT; g++) {
        printf("%s\n", groups[g]);
        for (size_t i = 0; hu_commands[i]; i++)
            if (hu_commands[i]->group == g)
                printf("  %-10s %s\n", hu_commands[i]->name, hu_commands[i]->summary);
        printf("\n");
    }
}

void hu_help_all(void)
{
    printf("holdup %s - what is holding up your GPU job?\n\n"
           "usage  holdup COMMAND [options] ...\n"
           "       holdup help COMMAND, or holdup COMMAND --help\n\n",
           HU_VERSION);
    list_commands();
    printf("first steps\n"
           "  holdup run -- python train.py        record a job, and say what holds it up\n"
           "  holdup report trace.json.gz          where the time goes, and why\n"
           "  holdup report run/ --html page.html  all ranks of a run, and a page to look at\n"
           "  holdup info trace.json.gz            what is in this file\n"
           "  holdup query trace.json.gz 'select…' SQL over the trace\n"
           "\nenvironment\n"
           "  HOLDUP_THREADS=N   use N threads            NO_COLOR=1   no colours\n"
           "  HOLDUP_CPU=scalar|neon|avx2|avx512          lower the instruction set\n"
           "\nexit status\n");
#define E(name, status, label, text) printf("  %-10s %s\n", label, text);
    HU_EXIT_STATUSES(E)
#undef E
}
