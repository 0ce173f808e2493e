/* SPDX-License-Identifier: Apache-2.0
 * runner.c - what every command does alike: parse, check, expand, compare outputs with inputs, and only then run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/help.h"
#include "cli/join.h"
#include "cli/nsys_export.h"
#include "cli/outputs.h"
#include "cli/paste.h"
#include "job/spread.h"

size_t hu_command_rows(const hu_command *c, hu_option *out)
{
    size_t n = c->n_options, shared;

    if (n) /* memcpy takes no NULL */
        memcpy(out, c->options, n * sizeof *out);
    shared = n;
    n += hu_shared_rows(c->shared, out + n);
    for (; shared < n; shared++)
        for (const hu_option_help *h = c->closer; h && h->name; h++)
            if (strcmp(h->name, out[shared].name) == 0)
                out[shared].help = h->help;
    return n + (c->hidden ? c->hidden(out + n) : 0);
}

/* A command line on its way to run(). */
typedef struct {
    hu_cli_call     call;
    hu_nsys_exports exports;
    hu_option       rows[HU_OPTIONS_MOST];
    size_t          n_rows;
    bool            given[HU_OPTIONS_MOST];
} line;

static void *field_of(const hu_cli_call *call, const hu_option *o)
{
    return (char *)call->options + o->offset;
}

static bool make_options(line *l)
{
    const hu_command *c = l->call.command;
    const size_t      size = c->options_size ? c->options_size : sizeof(hu_shared);
    hu_shared        *shared = hu_arena_calloc(l->call.arena, 1, size);

    if (!shared)
        return false;
    if (c->defaults)
        memcpy(shared, c->defaults, size);
    shared->limits = hu_limits_default();
    l->call.options = shared;
    l->n_rows = hu_command_rows(c, l->rows);
    return true;
}

static int parse(line *l, int argc, char **argv, hu_error *err)
{
    const hu_option_table table = {l->rows, l->n_rows, l->call.options, l->given};
    int                   n;

    if (l->call.command->needs & HU_NEEDS_FRONT) {
        n = hu_options_parse_front(&table, argc, argv, err);
        l->call.argv = argv + (n < 0 ? 0 : n);
        l->call.n = n < 0 ? 0 : argc - n;
    } else {
        n = hu_options_parse(&table, argc, argv, err);
        l->call.argv = argv;
        l->call.n = n < 0 ? 0 : n;
    }
    return n < 0 ? n : 0;
}

/* A flag that was switched off again is not given. */
static const hu_option *find_given(const line *l, const char *name)
{
    for (size_t i = 0; i < l->n_rows; i++) {
        const hu_option *o = &l->rows[i];

        if (strcmp(o->name, name) != 0 || !l->given[i])
            continue;
        if ((o->type == HU_OPTION_FLAG || o->type == HU_OPTION_SWITCH) && !*(const bool *)field_of(&l->call, o))
            return NULL;
        return o;
    }
    return NULL;
}

static const char *argument_of(const line *l, const char *name)
{
    for (size_t i = 0; i < l->n_rows; i++)
        if (strcmp(l->rows[i].name, name) == 0)
            return l->rows[i].argument;
    return NULL;
}

static int check_pairs(const line *l, hu_error *err)
{
    for (const hu_option_pair *p = l->call.command->excludes; p && p->one; p++)
        if (find_given(l, p->one) && find_given(l, p->other))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s and --%s cannot be used together", p->one, p->other);
    for (const hu_option_pair *p = l->call.command->requires; p && p->one; p++) {
        const char *argument = argument_of(l, p->other);

        if (find_given(l, p->one) && !find_given(l, p->other))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs --%s%s%s", p->one, p->other, argument ? " " : "",
                           argument ? argument : "");
    }
    return 0;
}

int hu_command_fail_words(const hu_cli_call *call, hu_error *err)
{
    const hu_command *c = call->command;

    if (c->most < 0 || (c->most && call->n > c->most && c->least == 0))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s does not take \"%.64s\"; see `holdup %s --help`", c->name,
                       call->argv[c->most < 0 ? 0 : c->most], c->name);
    if (c->most && c->least == c->most)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s needs %d %s: %s", c->name, c->least, c->wants, c->example);
    if (c->most)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s needs %d to %d %s: %s", c->name, c->least, c->most, c->wants,
                       c->example);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s needs %s: %s", c->name, c->wants, c->example);
}

static int check_words(const hu_cli_call *call, hu_error *err)
{
    const hu_command *c = call->command;
    const int         most = c->most < 0 ? 0 : c->most;

    return call->n < c->least || (c->most && call->n > most) ? hu_command_fail_words(call, err) : 0;
}

int hu_command_check_outputs(const hu_cli_call *call, const hu_inputs *inputs, hu_error *err)
{
    hu_option   rows[HU_OPTIONS_MOST];
    hu_output   outputs[HU_OPTIONS_MOST];
    const char *words = NULL;
    size_t      n = 0;

    for (size_t i = 0, n_rows = hu_command_rows(call->command, rows); i < n_rows; i++) {
        if (rows[i].value == HU_VALUE_WRITE || rows[i].value == HU_VALUE_OUTPUT)
            outputs[n++] = (hu_output){rows[i].name, *(const char *const *)field_of(call, &rows[i])};
        else if (rows[i].value == HU_VALUE_READ && !words)
            words = *(const char *const *)field_of(call, &rows[i]);
    }
    return call->crew ? hu_spread_outputs(call->crew, outputs, n, inputs, err)
                      : hu_outputs_check(outputs, n, inputs, words, err);
}

/* The list that was asked for, or NULL. */
static const hu_listing *find_list(const hu_cli_call *call)
{
    for (const hu_listing *l = call->command->lists; l && l->write; l++)
        if (*(const bool *)((const char *)call->options + l->offset))
            return l;
    return NULL;
}

static int write_list(const hu_cli_call *call, const hu_listing *list)
{
    const hu_shared *shared = call->options;
    hu_error         err = {0};
    hu_out          *out;

    if (!hu_crew_is_first(call->crew))
        return 0;
    out = hu_output_open(shared->output, &err);
    if (!out)
        return hu_command_fail(&err);
    if (shared->json && list->write_json)
        list->write_json(out);
    else if (shared->csv && list->write_csv)
        list->write_csv(out);
    else
        list->write(out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : 0;
}

/* A list reads nothing, but what it is written to may be one of the inputs that were named. */
static int prepare_list(line *l, hu_error *err)
{
    hu_cli_call *call = &l->call;
    hu_inputs    named;
    hu_error     unused;

    if (check_pairs(l, err) < 0)
        return err->code;
    if (!call->n ||
        hu_inputs_expand(call->argv, call->n, &((const hu_shared *)call->options)->limits, call->arena, &named, &unused) < 0)
        named = (hu_inputs){.at = (const char **)call->argv, .n = (size_t)call->n};
    return hu_command_check_outputs(call, &named, err);
}

static void say_same(const hu_inputs *inputs, bool quiet)
{
    if (inputs->n_same && !quiet)
        hu_command_say("%s: the same file as one before it%s, read once", inputs->same,
                       inputs->n_same > 1 ? ", as are others" : "");
}

/* What can be known to be wrong before anything is read. */
static int prepare(line *l, hu_error *err)
{
    hu_cli_call      *call = &l->call;
    const hu_command *c = call->command;
    const hu_shared  *shared = call->options;

    if (check_words(call, err) < 0 || check_pairs(l, err) < 0 || (c->check && c->check(call, err) < 0))
        return err->code;
    if (!(c->needs & HU_NEEDS_INPUTS))
        return 0;
    call->source = hu_paste_inputs(call->argv, (size_t)call->n, call->arena);
    if (hu_spread_inputs(call->crew, call->argv, call->n, (c->needs & HU_NEEDS_BESIDE) != 0, &shared->limits, call->arena,
                         &call->inputs, err) < 0) {
        const hu_error why = *err;

        if (!(c->needs & HU_NEEDS_NO_TRACE) || why.code != HU_EEMPTY)
            return err->code;
        call->inputs = (hu_inputs){.glances = call->inputs.glances};
        if (hu_unread_add_error(&call->inputs.unread, call->arena, call->argv[0], &why, err) < 0)
            return err->code;
    }
    if (hu_command_check_outputs(call, &call->inputs, err) < 0)
        return err->code;
    say_same(&call->inputs, shared->quiet);
    if (!call->crew)
        hu_nsys_export_inputs(&call->inputs, shared->quiet, call->arena, &l->exports);
    return 0;
}

/* The option is said to whoever counts threads as the variable would be, before any of ours is started. */
static int use_threads(const hu_shared *shared, hu_error *err)
{
    char text[HU_NUMBER_BYTES];

    snprintf(text, sizeof text, "%lld", (long long)shared->threads);
    if (shared->threads && setenv("HOLDUP_THREADS", text, 1) != 0)
        return hu_fail_memory(err);
    return 0;
}

static int go(line *l, int argc, char **argv)
{
    hu_error          err = {0};
    const hu_listing *list;

    if (!make_options(l)) {
        hu_fail_memory(&err);
        return hu_crew_fail(l->call.crew, &err);
    }
    if (parse(l, argc, argv, &err) < 0 || use_threads(l->call.options, &err) < 0)
        return hu_crew_fail(l->call.crew, &err);
    if (((const hu_shared *)l->call.options)->help)
        return hu_crew_is_first(l->call.crew) ? hu_help_print(l->call.command) : 0;
    if ((list = find_list(&l->call)))
        return prepare_list(l, &err) < 0 ? hu_crew_fail(l->call.crew, &err) : write_list(&l->call, list);
    return prepare(l, &err) < 0 ? hu_crew_fail(l->call.crew, &err) : l->call.command->run(&l->call);
}

int hu_command_call(const hu_command *command, int argc, char **argv)
{
    hu_arena *arena = hu_arena_new();
    line     *l = arena ? hu_arena_calloc(arena, 1, sizeof *l) : NULL;
    hu_error  err = {0};
    int       status;

    if (!l) {
        hu_arena_free(arena);
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    l->call.command = command;
    l->call.arena = arena;
    if (command->needs & HU_NEEDS_LONGER_LIFE)
        hu_command_outlive_reader();
    if ((command->needs & HU_NEEDS_CREW) && !hu_crew_join(argc, argv, arena, &l->call.crew)) {
        hu_arena_free(arena);
        return 0;
    }
    status = hu_crew_leave(l->call.crew, go(l, argc, argv));
    hu_nsys_exports_remove(&l->exports);
    hu_arena_free(arena);
    return status;
}
