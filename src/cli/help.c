/* SPDX-License-Identifier: Apache-2.0
 * help.c - help is drawn from the tables that are parsed, so it cannot be wrong about them. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/help.h"
#include "cli/library.h"
#include "cli/outputs.h"
#include "cli/terminal.h"

enum { LABEL = 24, MOST_WIDTH = 110 };

/* Of a line of prose; the last column stays free. */
static size_t width(void)
{
    const size_t all = hu_terminal_width(STDOUT_FILENO, NULL) - 1;

    return all < MOST_WIDTH ? all : MOST_WIDTH;
}

static void option_line(const hu_option *o, hu_out *out)
{
    char label[120];
    int  n = o->letter ? snprintf(label, sizeof label, "  -%c, --%s", o->letter, o->name)
                       : snprintf(label, sizeof label, "      --%s", o->name);

    if (o->argument)
        n += snprintf(label + n, sizeof label - (size_t)n, "%s%s", o->type == HU_OPTION_MAYBE ? "" : " ", o->argument);
    hu_out_text(out, label);
    hu_out_printf(out, "%s%*s", n >= LABEL ? "\n" : "", n >= LABEL ? LABEL : LABEL - n, "");
    hu_units_wrap(out, hu_str_of(o->help), LABEL, LABEL, width());
    hu_out_text(out, "\n");
}

const hu_help_line hu_help_first_steps[] = {
    {"holdup run -- python train.py", "record a job, and print what holds it up"},
    {"holdup report trace.json.gz", "show where the time goes, and why"},
    {"holdup report run/ --html page.html", "report all ranks of a run, as a page too"},
    {"holdup info trace.json.gz", "show what a file holds"},
    {"holdup query trace.json.gz 'select…'", "run SQL over a trace"},
    {NULL, NULL},
};

const hu_help_line hu_help_environment[] = {
    {"HOLDUP_THREADS=N", "use N threads, as --threads does"},
    {"HOLDUP_CPU=SET", "scan by scalar, neon, avx2 or avx512 instructions"},
    {"NO_COLOR=1", "print without colours, as with TERM=dumb"},
    {"COLUMNS=N", "set the width of text, also in files and pipes"},
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

/* Running text, whose lines are those of this width. */
static void paragraph(const char *text, hu_out *out)
{
    char flowing[2048];

    snprintf(flowing, sizeof flowing, "%s", text);
    for (char *c = flowing; *c; c++)
        *c = (char)(*c == '\n' ? ' ' : *c);
    hu_units_wrap(out, hu_str_of(flowing), 0, 0, width());
    hu_out_text(out, "\n");
}

static void write_command(const hu_command *command, hu_out *out)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(command, rows);

    hu_out_printf(out, "holdup %s %s\n\n", command->name, command->usage);
    paragraph(command->about, out);
    if (command->examples)
        hu_out_printf(out, "\n%s\n", command->examples);
    for (size_t i = 0; i < n; i++) {
        const char *heading = hu_help_heading(rows, n, i);

        if (!heading)
            continue;
        hu_out_printf(out, "\n%s\n", heading);
        for (size_t k = i; k < n; k++)
            if (hu_help_is_under(rows, n, &rows[k], heading))
                option_line(&rows[k], out);
    }
}

static void lines(hu_out *out, const char *heading, const hu_help_line *line, int label)
{
    hu_out_printf(out, "%s\n", heading);
    for (; line->text; line++)
        hu_out_printf(out, "  %s%*s %s\n", line->text, (label - (int)hu_units_width(hu_str_of(line->text))), "",
                      line->about);
    hu_out_printf(out, "\n");
}

/* All pages, where they were installed with the program. */
static void pages(hu_out *out)
{
    char path[PATH_MAX];

    hu_out_text(out, "pages\n  ");
    if (!hu_library_docs(path, sizeof path)) {
        hu_out_text(out, "docs/index.md of the source, share/doc/holdup/docs where it is installed\n\n");
        return;
    }
    hu_units_clip(out, hu_str_of(path), sizeof path);
    hu_out_text(out, "\n\n");
}

static void write_all(hu_out *out)
{
    hu_out_printf(out,
                  "holdup %s - what is holding up your GPU job?\n\n"
                  "usage  holdup COMMAND [options] ...\n"
                  "       holdup help COMMAND, or holdup COMMAND --help\n"
                  "       holdup --version [--json]\n\n",
                  HU_VERSION);
    for (hu_command_group g = 0; g < HU_GROUP_COUNT; g++) {
        hu_out_printf(out, "%s\n", hu_help_group(g));
        for (size_t i = 0; hu_commands[i]; i++)
            if (hu_commands[i]->group == g)
                hu_out_printf(out, "  %-10s %s\n", hu_commands[i]->name, hu_commands[i]->summary);
        hu_out_printf(out, "\n");
    }
    lines(out, "first steps", hu_help_first_steps, 36);
    lines(out, "environment", hu_help_environment, 18);
    pages(out);
    hu_out_printf(out, "exit status\n");
#define E(name, status, label, text) hu_out_printf(out, "  %-10s %s\n", label, text);
    HU_EXIT_STATUSES(E)
#undef E
}

int hu_help_print(const hu_command *command)
{
    hu_error err = {0};
    hu_out  *out = hu_output_open(NULL, &err);

    if (!out)
        return hu_command_fail(&err);
    if (command)
        write_command(command, out);
    else
        write_all(out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : HU_EXIT_OK; /* help on a full disk is no success */
}
