/* SPDX-License-Identifier: Apache-2.0
 * cmd_info.c - `holdup info`: what is in a file, without asking any question about it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/info_beside.h"
#include "cli/inventory.h"
#include "job/inputs.h"
#include "cli/outputs.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "ingest/format.h"
#include "ingest/open.h"
#include "job/partial.h"
#include "render/report.h"
#include "base/units.h"

typedef hu_shared options;

static void write_json(hu_builder *b, hu_out *out)
{
    hu_json_out          j = {.out = out, .is_empty = true};
    const hu_trace_info *info = hu_builder_info(b);
    const hu_quality    *q = hu_builder_quality(b);
    int64_t              kinds[HU_KIND_COUNT];
    size_t               n;
    const hu_device     *devices = hu_builder_devices(b, &n);

    hu_builder_count_kinds(b, kinds);
    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "file", info->file);
    hu_json_str(&j, "format", info->format);
    hu_json_str(&j, "tool", info->tool);
    hu_json_str(&j, "compression", info->compression);
    hu_json_int(&j, "bytes", info->bytes);
    hu_json_int(&j, "schema_version", info->schema_version);
    hu_json_int(&j, "base_time_ns", info->base_ns);
    hu_json_int(&j, "rank", info->rank);
    hu_json_int(&j, "world_size", info->world_size);
    hu_json_str(&j, "backend", info->backend);
    hu_json_str(&j, "host", info->host);
    hu_json_open(&j, "devices", '[');
    for (size_t i = 0; i < n; i++)
        hu_json_str(&j, NULL, hu_builder_text(b, devices[i].name));
    hu_json_close(&j, ']');
    hu_json_int(&j, "threads", (int64_t)hu_builder_track_count(b, HU_TRACK_HOST));
    hu_json_int(&j, "streams", (int64_t)hu_builder_track_count(b, HU_TRACK_STREAM));
    hu_json_int(&j, "steps", (int64_t)hu_builder_step_count(b));
    hu_json_open(&j, "captured", '{');
    hu_json_bool(&j, "shapes", info->has_shapes);
    hu_json_bool(&j, "stacks", info->has_stacks);
    hu_json_bool(&j, "memory", info->has_memory);
    hu_json_bool(&j, "flops", info->has_flops);
    hu_json_bool(&j, "modules", info->has_modules);
    hu_json_close(&j, '}');
    hu_json_open(&j, "events", '{');
    hu_json_int(&j, "total", q->events);
    hu_json_int(&j, "lost", hu_quality_lost(q));
    hu_json_int(&j, "duration_sum_ns", q->duration_sum_ns);
    hu_json_phases(&j, q);
    hu_json_open(&j, "by_kind", '{');
    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        if (kinds[k])
            hu_json_int(&j, hu_kind_name(k), kinds[k]);
    hu_json_close(&j, '}');
    hu_json_close(&j, '}');
    hu_json_bool(&j, "is_truncated", q->is_truncated);
    hu_json_unread(&j, "unread", &(hu_unread_list){0});
    hu_json_close(&j, '}');
}

typedef struct {
    const options *o;
    hu_arena      *arena;
    hu_out        *out;
    size_t         width;   /* of a line of text */
    bool           is_list; /* JSON of more than one thing is an array */
    size_t         n_told;
    hu_unread_list unread, partial;
} answer;

enum { LABEL = 12 };

static void line(const answer *a, const char *label, hu_str value)
{
    if (!value.n)
        return;
    hu_out_printf(a->out, "%-*s", LABEL, label);
    hu_units_clip(a->out, value, a->width - LABEL);
    hu_out_text(a->out, "\n");
}

/* Of a path that is too long, the end says more. */
static void file_line(const answer *a, hu_str path)
{
    const size_t room = a->width - LABEL;
    hu_str       end = path;

    while (hu_units_width(end) + 1 > room && end.n && end.n > 1)
        hu_utf8_next(&end);
    hu_out_printf(a->out, "%-*s%s", LABEL, "file", hu_units_width(path) > room ? "…" : "");
    hu_units_clip(a->out, hu_units_width(path) > room ? end : path, room);
    hu_out_text(a->out, "\n");
}

static void count_line(const answer *a, const char *label, int64_t n)
{
    char text[HU_UNIT_BYTES];

    hu_units_count(text, n);
    line(a, label, hu_str_of(text));
}

/* Equal neighbours once, with a count: a machine with eight of them is common. */
static void device_lines(const hu_builder *b, hu_out *out)
{
    size_t           n;
    const hu_device *d = hu_builder_devices(b, &n);

    for (size_t i = 0, next; i < n; i = next) {
        const hu_str name = hu_builder_text(b, d[i].name);

        for (next = i + 1; next < n && d[next].name == d[i].name; next++)
            ;
        hu_out_printf(out, "%-12s%zu × ", "devices", next - i);
        hu_units_clip(out, name.n ? name : HU_STR("unnamed"), 50);
        hu_out_text(out, "\n");
    }
}

/* What the format of this name holds, for people. */
static const char *format_words(hu_str name)
{
    for (size_t i = 0; hu_formats[i]; i++)
        if (hu_str_equal(name, hu_str_of(hu_formats[i]->name)))
            return hu_formats[i]->what;
    return "unknown";
}

static void captured_line(const answer *a, const hu_trace_info *info)
{
    const struct {
        bool        is_there;
        const char *name;
    } what[] = {{info->has_shapes, "shapes"},
                {info->has_stacks, "stacks"},
                {info->has_memory, "memory"},
                {info->has_flops, "flops"},
                {info->has_modules, "modules"}};
    char   text[64] = "";
    size_t n = 0;

    for (size_t i = 0; i < HU_COUNT(what); i++)
        if (what[i].is_there)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", what[i].name);
    line(a, "captured", n ? hu_str_of(text) : HU_STR("no shapes, stacks, memory or FLOPs"));
}

static void write_text(const answer *a, hu_builder *b)
{
    hu_out              *out = a->out;
    const hu_trace_info *info = hu_builder_info(b);
    const hu_quality    *q = hu_builder_quality(b);
    int64_t              kinds[HU_KIND_COUNT];
    char                 text[HU_UNIT_BYTES];

    hu_builder_count_kinds(b, kinds);
    file_line(a, info->file);
    line(a, "tool", info->tool.n ? info->tool : HU_STR("unknown"));
    line(a, "format", hu_str_of(format_words(info->format)));
    hu_units_bytes(text, (double)info->bytes);
    hu_out_printf(out, "%-12s%s%s%s\n", "size", text, info->compression.n ? ", decompressed from " : "",
                  info->compression.p);
    if (info->rank >= 0 && info->world_size >= 0)
        hu_out_printf(out, "%-12s%lld of %lld\n", "rank", (long long)info->rank, (long long)info->world_size);
    else if (info->rank >= 0)
        hu_out_printf(out, "%-12s%lld\n", "rank", (long long)info->rank);
    line(a, "backend", info->backend);
    line(a, "host", info->host);
    device_lines(b, out);
    count_line(a, "threads", (int64_t)hu_builder_track_count(b, HU_TRACK_HOST));
    count_line(a, "streams", (int64_t)hu_builder_track_count(b, HU_TRACK_STREAM));
    count_line(a, "steps", (int64_t)hu_builder_step_count(b));
    captured_line(a, info);
    count_line(a, "events", q->events);
    for (hu_kind k = 0; k < HU_KIND_COUNT; k++) {
        if (kinds[k]) {
            hu_units_count(text, kinds[k]);
            hu_out_printf(out, "%12s  %s\n", text, hu_kind_name(k));
        }
    }
    if (hu_quality_lost(q))
        count_line(a, "lost", hu_quality_lost(q));
    if (q->is_truncated)
        hu_out_printf(out, "%-12sthe file is cut at byte %lld\n", "truncated", (long long)q->truncated_at);
}

/* Before each thing that is told of. */
static void begin_next(answer *a)
{
    if (a->o->json && a->is_list)
        hu_out_text(a->out, a->n_told ? ",\n" : "[\n");
    else if (!a->o->json && a->n_told)
        hu_out_text(a->out, "\n");
    a->n_told++;
}

/* In the place of what would have been said about it. */
static void write_unread(const answer *a, const hu_unread_list *one)
{
    hu_json_out j = {.out = a->out, .is_empty = true};

    if (!a->o->json) {
        file_line(a, one->at[0].file);
        hu_out_printf(a->out, "%-*s", LABEL, "unread");
        hu_units_wrap(a->out, one->at[0].error, LABEL, LABEL, a->width);
        hu_out_text(a->out, "\n");
        return;
    }
    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "file", one->at[0].file);
    hu_json_unread(&j, "unread", one);
    hu_json_close(&j, '}');
}

/* Returns 0, also for what cannot be read, or HU_ENOMEM. */
static int info_of(answer *a, const char *path, hu_input_kind kind, int *status, hu_error *err)
{
    hu_input_options  input = {.limits = a->o->limits, .threads = hu_thread_count()};
    hu_error          why = {0};
    const hu_info_how how = {&a->o->limits, a->o->json, a->width};
    const bool        is_beside = kind != HU_INPUT_RANK && kind != HU_INPUT_EXECUTION; /* whose refusal names the way */
    hu_builder       *b = is_beside ? NULL : hu_open_builder(path, &input, &why);
    int               rc;

    if (is_beside && hu_info_beside(kind, path, &how, a->out, &why) == 0)
        return 0;
    if (!b) {
        *status = hu_command_fail(&why);
        rc = hu_unread_add_error(&a->unread, a->arena, path, &why, err);
        if (rc == 0)
            write_unread(a, &(hu_unread_list){.at = &a->unread.at[a->unread.n - 1], .n = 1});
        return rc;
    }
    if (a->o->json)
        write_json(b, a->out);
    else
        write_text(a, b);
    rc = hu_partial_add(&a->partial, a->arena, hu_builder_info(b)->file, hu_builder_quality(b), err);
    hu_builder_free(b);
    return rc;
}

/* All that was named: directories in which there is nothing come last. */
static int write_all(answer *a, const hu_inputs *inputs, int *status, hu_error *err)
{
    const hu_glance **seen = hu_glances_each(inputs->glances, inputs->at, inputs->n, err);

    if (!seen)
        return err->code;
    for (size_t i = 0; i < inputs->n; i++) {
        begin_next(a);
        if (info_of(a, inputs->at[i], seen[i]->kind, status, err) < 0)
            return err->code;
    }
    hu_unread_warn(&inputs->unread, false);
    for (size_t i = 0; i < inputs->unread.n; i++) {
        const hu_unread *u = &inputs->unread.at[i];

        begin_next(a);
        *status = hu_error_exit_status(HU_EEMPTY);
        if (hu_unread_add(&a->unread, a->arena, u->file, u->error, err) < 0)
            return err->code;
        write_unread(a, &(hu_unread_list){.at = &inputs->unread.at[i], .n = 1});
    }
    return 0;
}

/* A directory is what it holds, read or not. */
static int write_folders(answer *a, char **paths, size_t n, hu_glances *glances, hu_error *err)
{
    struct stat st;

    for (size_t i = 0; i < n; i++) {
        hu_inventory inventory;

        if (stat(paths[i], &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        if (hu_inventory_take(paths[i], glances, a->arena, &inventory, err) < 0)
            return err->code;
        begin_next(a);
        if (a->o->json)
            hu_inventory_json(&inventory, a->out);
        else
            hu_inventory_text(&inventory, a->width, a->out);
    }
    return 0;
}

static bool has_folder(char **paths, size_t n)
{
    struct stat st;

    for (size_t i = 0; i < n; i++)
        if (stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode))
            return true;
    return false;
}

static int info(const options *o, const hu_cli_call *call)
{
    const hu_inputs *inputs = &call->inputs;
    hu_arena        *arena = call->arena;

    hu_error err = {0};
    answer   a = {.o = o,
                  .arena = arena,
                  .width = hu_terminal_width(STDOUT_FILENO, o->output),
                  .is_list = inputs->n + inputs->unread.n > 1 || has_folder(call->argv, (size_t)call->n),
                  .out = hu_output_open(o->output, &err)};
    int      status = 0, strict;

    if (!a.out)
        return hu_command_fail(&err);
    if (write_folders(&a, call->argv, (size_t)call->n, inputs->glances, &err) < 0 ||
        write_all(&a, inputs, &status, &err) < 0) {
        hu_out_abandon(a.out);
        return hu_command_fail(&err);
    }
    if (o->json && a.is_list)
        hu_out_text(a.out, "]\n");
    if (hu_out_close(a.out, &err) < 0)
        return hu_command_fail(&err);
    if (a.unread.n == inputs->n + inputs->unread.n)
        return status; /* nothing was read, which is more than incomplete */
    strict = hu_strict_status(o->strict, &a.unread, &a.partial, 0);
    return strict ? strict : status;
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    hu_error       err = {0};

    if (hu_standard_input_prepare(&call->inputs, &o->limits, &err) < 0)
        return hu_command_fail(&err);
    return info(o, call);
}

const hu_command hu_command_info = {
    .name = "info",
    .group = HU_GROUP_INSIDE,
    .summary = "show what a file holds: tool, devices, ranks, steps, event kinds",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Reads each file once and prints what it is and what it holds, without analysing it:\n"
             "traces, memory snapshots, reports of Nsight Compute, Flight Recorder dumps, answers of\n"
             "RAS, samples of monitors, logs of training runs.  Of a directory it first counts all files\n"
             "in it and below by what they are, and says of those that holdup does not read why.  JSON is\n"
             "an object for one file, and an array for a directory or several files.",
    .examples = "  holdup info trace.json.gz\n"
                "  holdup info run/ --json",
    .wants = "a trace",
    .example = "holdup info trace.json.gz",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS | HU_NEEDS_NO_TRACE,
    .shared = HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .run = run,
};
