/* SPDX-License-Identifier: Apache-2.0
 * help.c - help is drawn from the tables that are parsed, so it cannot be wrong about them. */
#include <stdio.h>

#include "base/str.h"
#include "cli/help.h"
#include "base/units.h"

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

const hu_help_line hu_help_first_steps[] = {
    {"holdup run -- python train.py", "record a job, and say what holds it up"},
    {"holdup report trace.json.gz", "where the time goes, and why"},
    {"holdup report run/ --html page.html", "all ranks of a run, and a page to look at"},
    {"holdup info trace.json.gz", "what is in this file"},
    {"holdup query trace.json.gz 'select…'", "SQL over the trace"},
    {NULL, NULL},
};

const hu_help_line hu_help_environment[] = {
    {"HOLDUP_THREADS=N", "use N threads"},
    {"HOLDUP_CPU=SET", "lower the instruction set: scalar, neon, avx2 or avx512"},
    {"NO_COLOR=1", "no colours; nor with TERM=dumb"},
    {"COLUMNS=N", "width of text, also where it is not a terminal"},
    {NULL, NULL},
};

const char *hu_help_group(hu_command_group group)
{
#define G(id, text) text,
    static const char *const groups[HU_GROUP_COUNT] = {HU_COMMAND_GROUPS(G)};
#undef G

    return groups[group];
}

static const char *heading_of(const hu_option *rows, size_t n, const hu_option *row)
{
    size_t shown = 0;

    for (size_t i = 0; i < n; i++)
        shown += rows[i].help != NULL;
    return shown > HU_HELP_FEW && row->heading ? row->heading : "options";
}

bool hu_help_is_under(const hu_option *rows, size_t n, const hu_option *row, const char *heading)
{
    return row->help && strcmp(heading_of(rows, n, row), heading) == 0;
}

const char *hu_help_heading(const hu_option *rows, size_t n, size_t i)
{
    const char *heading = rows[i].help ? heading_of(rows, n, &rows[i]) : NULL;

    for (size_t k = 0; heading && k < i; k++)
        if (hu_help_is_under(rows, n, &rows[k], heading))
            return NULL;
    return heading;
}

void hu_help_command(const hu_command *command)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(command, rows);

    printf("holdup %s %s\n\n%s\n", command->name, command->usage, command->about);
    if (command->examples)
        printf("\n%s\n", command->examples);
    for (size_t i = 0; i < n; i++) {
        const char *heading = hu_help_heading(rows, n, i);

        if (!heading)
            continue;
        printf("\n%s\n", heading);
        for (size_t k = i; k < n; k++)
            if (hu_help_is_under(rows, n, &rows[k], heading))
                option_line(&rows[k]);
    }
}

static void lines(const char *heading, const hu_help_line *line, int width)
{
    printf("%s\n", heading);
    for (; line->text; line++)
        printf("  %s%*s %s\n", line->text, (int)(width - (int)hu_units_width(hu_str_of(line->text))), "", line->about);
    printf("\n");
}

void hu_help_all(void)
{
    printf("holdup %s - what is holding up your GPU job?\n\n"
           "usage  holdup COMMAND [options] ...\n"
           "       holdup help COMMAND, or holdup COMMAND --help\n\n",
           HU_VERSION);
    for (hu_command_group g = 0; g < HU_GROUP_COUNT; g++) {
        printf("%s\n", hu_help_group(g));
        for (size_t i = 0; hu_commands[i]; i++)
            if (hu_commands[i]->group == g)
                printf("  %-10s %s\n", hu_commands[i]->name, hu_commands[i]->summary);
        printf("\n");
    }
    lines("first steps", hu_help_first_steps, 36);
    lines("environment", hu_help_environment, 18);
    printf("exit status\n");
#define E(name, status, label, text) printf("  %-10s %s\n", label, text);
    HU_EXIT_STATUSES(E)
#undef E
}
