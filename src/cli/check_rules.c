/* SPDX-License-Identifier: Apache-2.0
 * check_rules.c - what each rule found, where, and what to do about it. */
#include "cli/check_rules.h"

#include <stdio.h>
#include <unistd.h>

#include "analyze/sheet.h"
#include "base/units.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "render/sheet.h"

enum { SHOWN_ROWS = 5, INDENT = 2 };

/* The next name of a list; false at its end. */
static bool next_name(hu_str *list, hu_str *name)
{
    const char *comma = list->n ? memchr(list->p, ',', list->n) : NULL;

    *name = (hu_str){list->p, comma ? (size_t)(comma - list->p) : list->n};
    if (list->n == 0)
        return false;
    *list = (hu_str){list->p + name->n + (comma != NULL), list->n - name->n - (comma != NULL)};
    return true;
}

int hu_check_rules_parse(const char *names, hu_error *err)
{
    hu_str list = hu_str_of(names), name;
    char   known[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < hu_sheet_n_rules && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, ", %s", hu_sheet_rules[i].key);
    if (list.n == 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--rules wants nsys (all rules)%s", known);
    while (next_name(&list, &name))
        if (!hu_str_equal(name, HU_STR("nsys")) && !hu_sheet_find(hu_sheet_rules, hu_sheet_n_rules, name))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown rule \"%.*s\"; there are nsys (all of them)%s",
                           HU_FMT(name), known);
    return 0;
}

static bool is_wanted(const char *names, const hu_sheet_report *rule)
{
    hu_str list = hu_str_of(names), name;

    while (next_name(&list, &name))
        if (hu_str_equal(name, HU_STR("nsys")) || hu_str_equal(name, hu_str_of(rule->key)))
            return true;
    return false;
}

static void write_words(hu_out *out, const char *head, const char *words, size_t width)
{
    hu_out_printf(out, "  %s", head);
    hu_units_wrap(out, hu_str_of(words), INDENT + strlen(head), INDENT + strlen(head), width);
    hu_out_text(out, "\n");
}

static void write_rule(hu_out *out, const hu_sheet *sheet, size_t width)
{
    char count[HU_UNIT_BYTES], line[400];

    if (sheet->n == 0) {
        hu_out_printf(out, "pass    %s\n", sheet->report->key);
        write_words(out, "", sheet->report->none, width);
        return;
    }
    hu_units_count(count, (int64_t)sheet->n);
    snprintf(line, sizeof line, "%s: %s", count, sheet->report->found);
    hu_out_printf(out, "found   %s\n", sheet->report->key);
    write_words(out, "", line, width);
    hu_sheet_write_text(out, sheet, SHOWN_ROWS, width);
    write_words(out, "fix: ", sheet->report->advice, width);
}

static void write_json(hu_json_out *j, const hu_sheet *sheet)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", hu_str_of(sheet->report->key));
    hu_json_str(j, "title", hu_str_of(sheet->report->title));
    hu_json_int(j, "found", (int64_t)sheet->n);
    hu_json_str(j, "what", hu_str_of(sheet->n ? sheet->report->found : sheet->report->none));
    if (sheet->n)
        hu_json_str(j, "fix", hu_str_of(sheet->report->advice));
    else
        hu_json_null(j, "fix");
    hu_sheet_write_json_as(j, "rows", sheet);
    hu_json_close(j, '}');
}

/* Returns how many rules found something, or a negative error. */
static int write_rules(const char *names, const hu_shared *shared, const hu_traces *traces, hu_out *out, hu_error *err)
{
    const size_t width = hu_terminal_width(STDOUT_FILENO, shared->output);
    hu_json_out  j = {.out = out, .is_empty = true};
    int          found = 0, asked = 0;

    if (shared->json) {
        hu_json_open(&j, NULL, '{');
        hu_json_open(&j, "rules", '[');
    }
    for (size_t i = 0; i < hu_sheet_n_rules; i++) {
        hu_arena *arena;
        hu_sheet  sheet;

        if (!is_wanted(names, &hu_sheet_rules[i]))
            continue;
        arena = hu_arena_new();
        if (!arena || !hu_sheet_measure(&hu_sheet_rules[i], traces->at, traces->n, 0, NULL, arena, &sheet)) {
            hu_arena_free(arena);
            return hu_fail_memory(err);
        }
        asked++;
        found += sheet.n > 0;
        if (shared->json) {
            write_json(&j, &sheet);
        } else {
            write_rule(out, &sheet, width);
            hu_out_text(out, "\n");
        }
        hu_arena_free(arena);
    }
    if (shared->json) {
        hu_json_close(&j, ']');
        hu_json_int(&j, "found", found);
        hu_json_close(&j, '}');
    } else {
        hu_out_printf(out, "%d of %d rules found something\n", found, asked);
    }
    return found;
}

int hu_check_rules_run(const char *names, const hu_shared *shared, const hu_inputs *inputs, hu_arena *arena)
{
    hu_traces traces;
    hu_error  err = {0};
    hu_out   *out;
    int       found, rc, status = hu_read_traces(inputs, shared->limits, shared->quiet, arena, &traces);

    if (status)
        return status;
    out = hu_output_open(shared->output, &err);
    if (!out) {
        hu_traces_free(&traces);
        return hu_command_fail(&err);
    }
    found = write_rules(names, shared, &traces, out, &err);
    hu_traces_free(&traces);
    if (found < 0) {
        hu_out_abandon(out);
        return hu_command_fail(&err);
    }
    rc = hu_out_close(out, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    return hu_strict_status(shared->strict, &traces.unread, &traces.partial, found ? HU_EXIT_BREACHED : HU_EXIT_OK);
}
