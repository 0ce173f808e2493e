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

void hu_help_command(const hu_command *command)
{
    printf("holdup %s %s\n\n%s\n\noptions\n", command->name, command->usage, command->about);
    for (size_t i = 0; i < command->n_options; i++)
        option_line(&command->options[i]);
    printf("      --help            this text\n");
}

void hu_help_all(void)
{
    printf("holdup %s - what is holding up your GPU job?\n\n"
           "usage  holdup COMMAND [options] ...\n\ncommands\n",
           HU_VERSION);
    for (size_t i = 0; hu_commands[i]; i++)
        printf("  %-10s %s\n", hu_commands[i]->name, hu_commands[i]->summary);
    printf("  %-10s %s\n", "help", "this text, or `holdup help COMMAND`");
    printf("\nfirst steps\n"
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
