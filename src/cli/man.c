/* SPDX-License-Identifier: Apache-2.0
 * man.c - manual pages in the macros of man(7), from the rows that the parser reads. */
#include <stdio.h>

#include "base/utf8.h"
#include "cli/help.h"

/* Text as roff takes it literally: what people copy stays ASCII, everything else is a named glyph. */
static void text(hu_out *out, const char *s)
{
    static const struct {
        char        byte;
        const char *roff;
    } names[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
                 {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}};

    for (hu_str left = hu_str_of(s); left.n;) {
        const char *name = NULL;

        for (size_t i = 0; i < HU_COUNT(names); i++)
            name = names[i].byte == *left.p ? names[i].roff : name;
        if ((unsigned char)*left.p >= 0x80) {
            hu_out_printf(out, "\\[u%04X]", (unsigned)hu_utf8_next(&left));
            continue;
        }
        if (name)
            hu_out_text(out, name);
        else
            hu_out_write(out, left.p, 1);
        left = (hu_str){left.p + 1, left.n - 1};
    }
}

/* Running text, whose lines begin with no request: a dot or a quote there would be one. */
static void flowing(hu_out *out, const char *s)
{
    for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        char         line[1024];
        const size_t n = strcspn(s, "\n");

        snprintf(line, sizeof line, "%.*s", (int)n, s);
        hu_out_text(out, line[0] == '.' ? "\\&" : "");
        text(out, line);
        hu_out_text(out, "\n");
    }
}

static void section(hu_out *out, const char *name)
{
    hu_out_printf(out, ".SH %s\n", name);
}

static void head(hu_out *out, const char *page, const char *summary)
{
    char title[64];
    int  n = 0;

    for (; page[n] && n + 1 < (int)sizeof title; n++)
        title[n] = (char)(page[n] >= 'a' && page[n] <= 'z' ? page[n] - 'a' + 'A' : page[n]);
    title[n] = '\0';
    hu_out_text(out, ".\\\" made by `holdup help --man`\n.TH ");
    text(out, title);
    hu_out_printf(out, " 1 \"\" \"holdup %s\" \"holdup\"\n", HU_VERSION);
    section(out, "NAME");
    text(out, page);
    hu_out_text(out, " \\- ");
    text(out, summary);
    hu_out_text(out, "\n");
}

/* A paragraph with a label: bold, then what the reader puts in its place in italics. */
static void label(hu_out *out, const char *bold, const char *italic)
{
    hu_out_text(out, ".TP\n\\fB");
    text(out, bold);
    hu_out_text(out, "\\fR");
    if (italic && italic[0]) {
        hu_out_text(out, italic[0] == '[' ? "\\fI" : " \\fI"); /* "[=LIST]" */
        text(out, italic);
        hu_out_text(out, "\\fR");
    }
    hu_out_text(out, "\n");
}

static void option(hu_out *out, const hu_option *o)
{
    char names[80];

    if (o->letter)
        snprintf(names, sizeof names, "-%c, --%s", o->letter, o->name);
    else
        snprintf(names, sizeof names, "--%s", o->name);
    label(out, names, o->argument);
    flowing(out, o->help);
}

static void options(hu_out *out, const hu_command *c)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(c, rows);

    section(out, "OPTIONS");
    for (size_t i = 0; i < n; i++) {
        const char *heading = hu_help_heading(rows, n, i);

        if (!heading)
            continue;
        if (strcmp(heading, "options") != 0)
            hu_out_printf(out, ".SS %s\n", heading);
        for (size_t k = i; k < n; k++)
            if (hu_help_is_under(rows, n, &rows[k], heading))
                option(out, &rows[k]);
    }
}

static void examples(hu_out *out, const char *lines)
{
    section(out, "EXAMPLES");
    hu_out_text(out, ".EX\n");
    flowing(out, lines);
    hu_out_text(out, ".EE\n");
}

/* Those of all commands, and those of this one ("run: …"); NULL: every one. */
static void statuses(hu_out *out, const hu_command *c)
{
    static const struct {
        const char *label, *text;
    } all[] = {
#define E(name, status, label, text) {label, text},
        HU_EXIT_STATUSES(E)
#undef E
    };

    section(out, "EXIT STATUS");
    for (size_t i = 0; i < HU_COUNT(all); i++) {
        const char  *colon = strstr(all[i].text, ": ");
        const size_t n = colon ? (size_t)(colon - all[i].text) : 0;
        bool         is_other = false;

        for (size_t k = 0; c && n && hu_commands[k]; k++)
            is_other |= hu_commands[k] != c && strlen(hu_commands[k]->name) == n &&
                        strncmp(hu_commands[k]->name, all[i].text, n) == 0;
        if (is_other)
            continue;
        label(out, all[i].label, NULL);
        flowing(out, all[i].text);
    }
}

static void environment(hu_out *out)
{
    section(out, "ENVIRONMENT");
    for (const hu_help_line *l = hu_help_environment; l->text; l++) {
        label(out, l->text, NULL);
        flowing(out, l->about);
    }
}

static void page_of_program(hu_out *out)
{
    head(out, "holdup", "what is holding up your GPU job?");
    section(out, "SYNOPSIS");
    hu_out_text(out, ".B holdup\n\\fICOMMAND\\fR [options] \\&...\n.br\n.B holdup \\-\\-version\n[\\-\\-json]\n");
    section(out, "DESCRIPTION");
    flowing(out,
            "Explains where the time of a GPU job goes, why, and what each fix would save: from traces that other tools\n"
            "recorded, or from a run that it records itself.\n");
    section(out, "COMMANDS");
    for (hu_command_group g = 0; g < HU_GROUP_COUNT; g++) {
        hu_out_printf(out, ".SS %s\n", hu_help_group(g));
        for (size_t i = 0; hu_commands[i]; i++) {
            if (hu_commands[i]->group != g)
                continue;
            label(out, hu_commands[i]->name, NULL);
            flowing(out, hu_commands[i]->summary);
        }
    }
    section(out, "EXAMPLES");
    for (const hu_help_line *l = hu_help_first_steps; l->text; l++) {
        label(out, l->text, NULL);
        flowing(out, l->about);
    }
    environment(out);
    statuses(out, NULL);
}

/* The program's page leads to all commands, theirs back to it. */
static void see_also(hu_out *out, const hu_command *c)
{
    section(out, "SEE ALSO");
    if (c) {
        hu_out_text(out, ".BR holdup (1)\n");
        return;
    }
    for (size_t i = 0; hu_commands[i]; i++) {
        hu_out_text(out, ".BR holdup\\-");
        text(out, hu_commands[i]->name);
        hu_out_printf(out, " (1)%s\n", hu_commands[i + 1] ? "," : "");
    }
}

void hu_man_write(const hu_command *c, hu_out *out)
{
    char page[64];

    if (!c) {
        page_of_program(out);
        see_also(out, NULL);
        return;
    }
    snprintf(page, sizeof page, "holdup-%s", c->name);
    head(out, page, c->summary);
    section(out, "SYNOPSIS");
    hu_out_text(out, ".B holdup ");
    text(out, c->name);
    hu_out_text(out, "\n");
    flowing(out, c->usage);
    section(out, "DESCRIPTION");
    flowing(out, c->about);
    options(out, c);
    if (c->examples)
        examples(out, c->examples);
    statuses(out, c);
    see_also(out, c);
}
