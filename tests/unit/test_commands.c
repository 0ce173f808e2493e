/* SPDX-License-Identifier: Apache-2.0
 * test_commands.c - the rows of all commands, held against each other: what a person learns of one is true of all. */
#include <ctype.h>

#include "cli/help.h"
#include "testing.h"

/* The rows of each command, as the parser sees them. */
static void each_row(void (*look)(const hu_command *c, const hu_option *o, void *context), void *context)
{
    for (size_t i = 0; hu_commands[i]; i++) {
        hu_option    rows[HU_OPTIONS_MOST];
        const size_t n = hu_command_rows(hu_commands[i], rows);

        assert_true(n <= HU_OPTIONS_MOST);
        for (size_t k = 0; k < n; k++)
            look(hu_commands[i], &rows[k], context);
    }
}

typedef struct {
    const char *option[128], *command[128];
} letters;

static void take_letter(const hu_command *c, const hu_option *o, void *context)
{
    letters     *l = context;
    const size_t at = (unsigned char)o->letter;

    if (!o->letter)
        return;
    if (l->option[at] && strcmp(l->option[at], o->name) != 0)
        fail_msg("-%c is --%s of %s and --%s of %s", o->letter, l->option[at], l->command[at], o->name, c->name);
    l->option[at] = o->name;
    l->command[at] = c->name;
}

static void test_a_letter_means_one_thing(void **state)
{
    static const struct {
        char        letter;
        const char *option;
    } decided[] = {{'o', "output"},      {'q', "quiet"},    {'j', "json"},         {'n', "top"},
                   {'v', "view"},        {'s', "steps"},    {'f', "force"},        {'c', "capture-range"},
                   {'e', "edit"},        {'t', "trace"},    {'w', "show-output"},  {'a', "all"},
                   {'k', "keep"},        {'g', "group-by"}, {'b', "batch-size"},   {'m', "merge"},
                   {'y', "delay"},       {'d', "duration"}, {'p', "nvtx-capture"}, {'x', "stop-on-exit"},
                   {'Y', "start-later"}, {'h', "help"}};
    letters l = {0};

    (void)state;
    each_row(take_letter, &l);
    for (size_t i = 0; i < HU_COUNT(decided); i++)
        assert_string_equal(l.option[(unsigned char)decided[i].letter], decided[i].option);
}

/* A letter that was given up leads to the option that had it, and is no other option of the same command. */
static void look_lost(const hu_command *c, const hu_option *o, void *context)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(c, rows);

    (void)context;
    for (size_t i = 0; o->lost_letter && i < n; i++)
        if (rows[i].letter == o->lost_letter)
            fail_msg("%s: -%c is --%s, and a letter that --%s lost", c->name, o->lost_letter, rows[i].name, o->name);
}

static void test_lost_letters_are_free(void **state)
{
    (void)state;
    each_row(look_lost, NULL);
}

static void look_row(const hu_command *c, const hu_option *o, void *context)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(c, rows), fields = c->options_size ? c->options_size : sizeof(hu_shared);
    size_t       same = 0;

    (void)context;
    assert_true(o->offset < fields);
    for (size_t i = 0; i < n; i++)
        same += strcmp(rows[i].name, o->name) == 0;
    if (same != 1)
        fail_msg("%s has --%s %zu times", c->name, o->name, same);
    if ((o->type == HU_OPTION_FLAG || o->type == HU_OPTION_SWITCH) != (o->argument == NULL))
        fail_msg("%s --%s: a flag has no argument, and everything else has one", c->name, o->name);
    if ((o->type == HU_OPTION_SPECIAL || o->type == HU_OPTION_MAYBE) != (o->parse != NULL) ||
        (o->type == HU_OPTION_CHOICE) != (o->choices != NULL))
        fail_msg("%s --%s lacks what its type needs", c->name, o->name);
    if ((o->value == HU_VALUE_READ || o->value == HU_VALUE_WRITE) && o->type != HU_OPTION_TEXT)
        fail_msg("%s --%s: only a text names a file", c->name, o->name);
}

static void test_rows_are_whole(void **state)
{
    (void)state;
    each_row(look_row, NULL);
}

static void test_long_helps_have_headings(void **state)
{
    (void)state;
    for (size_t i = 0; hu_commands[i]; i++) {
        hu_option    rows[HU_OPTIONS_MOST];
        const size_t n = hu_command_rows(hu_commands[i], rows);
        size_t       shown = 0;

        for (size_t k = 0; k < n; k++)
            shown += rows[k].help != NULL;
        for (size_t k = 0; k < n && shown > HU_HELP_FEW; k++)
            if (rows[k].help && !rows[k].heading)
                fail_msg("%s --%s has no heading", hu_commands[i]->name, rows[k].name);
    }
}

static bool has_option(const hu_command *c, const char *name)
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(c, rows);
    bool         has = false;

    for (size_t i = 0; i < n; i++)
        has |= strcmp(rows[i].name, name) == 0;
    return has;
}

static void test_pairs_name_options(void **state)
{
    (void)state;
    for (size_t i = 0; hu_commands[i]; i++) {
        const hu_command     *c = hu_commands[i];
        const hu_option_pair *lists[] = {c->excludes, c->requires};

        for (size_t k = 0; k < HU_COUNT(lists); k++)
            for (const hu_option_pair *p = lists[k]; p && p->one; p++)
                assert_true(has_option(c, p->one) && has_option(c, p->other));
        for (const hu_option_help *h = c->closer; h && h->name; h++)
            assert_true(has_option(c, h->name));
    }
}

static void test_commands_say_what_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; hu_commands[i]; i++) {
        const hu_command *c = hu_commands[i];

        assert_true(c->name && c->summary && c->usage && c->about && c->run && c->group < HU_GROUP_COUNT);
        assert_true(strlen(c->summary) <= 67); /* beside its name in 80 columns */
        if (c->least || c->words == HU_WORDS_COMMAND)
            assert_true(c->wants && c->example && strncmp(c->example, "holdup ", 7) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_letter_means_one_thing),
        cmocka_unit_test(test_lost_letters_are_free),
        cmocka_unit_test(test_rows_are_whole),
        cmocka_unit_test(test_pairs_name_options),
        cmocka_unit_test(test_commands_say_what_they_are),
        cmocka_unit_test(test_long_helps_have_headings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
