/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - `holdup export`: a trace in the files that other viewers read. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/names.h"
#include "analyze/steps.h"
#include "cli/command.h"
#include "job/inputs.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/unread.h"
#include "render/export/export.h"
#include "base/units.h"

typedef struct {
    hu_shared               shared;
    const hu_export_format *format;
    int                     weight; /* into `weights`; -1 not asked for */
    bool                    list;
} options;

static const char *const weights[] = {"host", "gpu", "cpu", NULL};

static const hu_export_format *find_format(const char *name)
{
    for (size_t i = 0; hu_export_formats[i]; i++)
        if (strcmp(hu_export_formats[i]->name, name) == 0)
            return hu_export_formats[i];
    return NULL;
}

static size_t format_words(const char **out, size_t room)
{
    size_t n = 0;

    for (; hu_export_formats[n] && n < room; n++)
        out[n] = hu_export_formats[n]->name;
    return n;
}

static int parse_format(void *field, const char *text, hu_error *err)
{
    const hu_export_format **format = field;
    const char              *names[16], *near;

    *format = find_format(text);
    if (*format)
        return 0;
    near = hu_options_suggest(text, names, format_words(names, HU_COUNT(names)));
    if (near)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown format \"%.64s\"; did you mean %s?", text, near);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown format \"%.64s\"; --list-formats lists them", text);
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"format", 0, HU_OPTION_SPECIAL, "NAME",
     "write perfetto, chrome, speedscope, folded, pprof or csv (default: by the file name of -o)", AT(format),
     .parse = parse_format, .words = format_words, .lost_letter = 'f'},
    {"weight", 0, HU_OPTION_CHOICE, "host|gpu|cpu",
     "weigh folded stacks by the host's self time (default), device time or CPU samples", AT(weight), weights,
     .lost_letter = 'w'},
    {"list-formats", 0, HU_OPTION_FLAG, NULL, "list all formats", AT(list)},
};

static void write_formats(hu_out *out)
{
    for (size_t i = 0; hu_export_formats[i]; i++)
        hu_out_printf(out, "%-11s %-16s %s\n", hu_export_formats[i]->name, hu_export_formats[i]->suffix,
                      hu_export_formats[i]->what);
}

/* The format with the longest suffix that `path` ends in, or NULL. */
static const hu_export_format *format_of_path(const char *path)
{
    const hu_export_format *best = NULL;

    for (size_t i = 0; path && hu_export_formats[i]; i++)
        if (hu_str_ends(hu_str_of(path), hu_str_of(hu_export_formats[i]->suffix)) &&
            (!best || strlen(hu_export_formats[i]->suffix) > strlen(best->suffix)))
            best = hu_export_formats[i];
    return best;
}

/* "trace.json.gz" as a file of this format: "trace.pftrace"; of a pipe "trace". */
static void suggest_name(const char *input, const hu_export_format *format, char *out, size_t room)
{
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input, *dot = strstr(name, ".json");
    const int   n = (int)(dot ? dot - name : (ptrdiff_t)strlen(name));

    if (strcmp(name, "-") == 0 || n == 0)
        snprintf(out, room, "trace%s", format->suffix);
    else
        snprintf(out, room, "%.*s%s", n > 100 ? 100 : n, name, format->suffix);
}

/* "-o a.xyz" names no format, and nothing else does. */
static int fail_format(const char *path, hu_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *dot = path ? strrchr(slash ? slash : path, '.') : NULL;

    if (dot)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "unknown ending \"%.64s\"; choose a format with --format NAME; --list-formats lists them", dot);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "export needs a format: --format perfetto; --list-formats lists them");
}

/* What can be known to be wrong before a trace is read. */
static int check(hu_cli_call *call, hu_error *err)
{
    options *o = call->options;

    if (!o->format)
        o->format = format_of_path(o->shared.output);
    if (!o->format)
        return fail_format(o->shared.output, err);
    if (o->weight >= 0 && o->format != &hu_export_folded)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--weight needs --format folded, not %s", o->format->name);
    return 0;
}

static int check_terminal(const options *o, const hu_inputs *inputs, hu_error *err)
{
    char name[256];

    if (o->shared.output || !o->format->is_binary || !isatty(STDOUT_FILENO))
        return 0;
    suggest_name(inputs->at[0], o->format, name, sizeof name);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s is binary and would garble this terminal; add -o %s",
                   o->format->name, name);
}

/* reading */

/* Ranks in their order, files without a rank behind them as they were named. */
static void sort_by_rank(hu_trace **traces, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        hu_trace      *t = traces[i];
        const uint64_t rank = (uint64_t)hu_trace_get_info(t)->rank; /* -1 is the largest */
        size_t         k = i;

        for (; k > 0 && (uint64_t)hu_trace_get_info(traces[k - 1])->rank > rank; k--)
            traces[k] = traces[k - 1];
        traces[k] = t;
    }
}

/* From the beginning of the first step to the end of the last one, its device work included. */
static int find_window(const hu_trace *trace, const hu_step_range *range, hu_interval *out, hu_error *err)
{
    hu_arena      *arena = hu_arena_new(), *scratch = hu_arena_new();
    const uint8_t *names = arena && scratch ? hu_names_classify(trace, scratch) : NULL;
    hu_steps       steps = {0};
    int            rc = names ? hu_steps_measure(trace, names, range, arena, scratch, &steps, err) : hu_fail_memory(err);

    if (rc == 0 && steps.n == 0)
        rc = hu_fail(err, HU_EUSAGE, hu_trace_get_info(trace)->file.p, HU_NO_OFFSET, "has no steps; leave --steps out");
    for (size_t i = 0; rc == 0 && i < steps.n; i++) {
        const hu_step *s = &steps.at[i];
        const int64_t  start = s->start_ns < s->host_start_ns ? s->start_ns : s->host_start_ns;
        const int64_t  end = s->end_ns > s->host_end_ns ? s->end_ns : s->host_end_ns;

        out->start_ns = i == 0 || start < out->start_ns ? start : out->start_ns;
        out->end_ns = i == 0 || end > out->end_ns ? end : out->end_ns;
    }
    hu_arena_free(arena);
    hu_arena_free(scratch);
    return rc;
}

/* writing */

static void say_written(const options *o, const hu_export *e)
{
    char        bytes[HU_UNIT_BYTES], count[HU_UNIT_BYTES];
    struct stat st;

    if (o->shared.quiet || !o->shared.output)
        return;
    hu_units_bytes(bytes, stat(o->shared.output, &st) == 0 ? (double)st.st_size : 0.0);
    hu_units_short_count(count, (double)hu_export_count(e));
    hu_command_say("wrote %s (%s, %s slices); %s", o->shared.output, bytes, count, o->format->next);
}

/* An empty file of stacks is valid, and draws nothing. */
static void say_empty(const options *o)
{
    static const char *const work[] = {"self time of host slices", "GPU work under host slices", "CPU samples"};

    if (!o->shared.quiet)
        hu_command_say("no stacks were written: the trace has no %s%s", work[o->weight < 0 ? 0 : o->weight],
                       o->shared.steps.is_limited ? " in these steps" : "");
}

static int write_file(const options *o, const hu_export *e)
{
    hu_error err = {0};
    hu_out  *out = hu_output_open(o->shared.output, &err);
    bool     is_empty;
    int      rc;

    if (!out)
        return hu_command_fail(&err);
    rc = o->format->write(e, out, &err);
    if (rc < 0) {
        hu_out_abandon(out);
        return hu_command_fail(&err);
    }
    is_empty = o->format == &hu_export_folded && hu_out_bytes(out) == 0;
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    say_written(o, e);
    if (is_empty)
        say_empty(o);
    return 0;
}

static int write_traces(const options *o, hu_trace *const *traces, size_t n, hu_arena *arena)
{
    hu_export_part *parts = hu_arena_calloc(arena, n, sizeof *parts);
    hu_error        err = {0};

    if (!parts)
        hu_fail_memory(&err);
    for (size_t i = 0; !err.code && i < n; i++) {
        parts[i] = hu_export_all(traces[i]);
        if (o->shared.steps.is_limited)
            find_window(traces[i], &o->shared.steps, &parts[i].window, &err);
    }
    return err.code ? hu_command_fail(&err) : write_file(o, &(hu_export){parts, n, o->weight == 1, o->weight == 2});
}

static int run(hu_cli_call *call)
{
    options  *o = call->options;
    hu_error  err = {0};
    hu_traces traces;
    int       status = check_terminal(o, &call->inputs, &err) < 0
                           ? hu_command_fail(&err)
                           : hu_read_traces(&call->inputs, o->shared.limits, o->shared.quiet, call->arena, &traces);

    if (status)
        return status;
    sort_by_rank(traces.at, traces.n);
    status = write_traces(o, traces.at, traces.n, call->arena);
    hu_traces_free(&traces);
    return hu_strict_status(o->shared.strict, &traces.unread, &traces.partial, status);
}

const hu_command hu_command_export = {
    .name = "export",
    .group = HU_GROUP_INSIDE,
    .summary = "convert a trace for Perfetto, speedscope, pprof or flame graphs",
    .usage = "[options] FILE|DIRECTORY|- ... --format NAME [-o OUT]",
    .about = "Converts traces to the file formats of other viewers.\n"
             "Several files, or a directory, are the ranks of one job and become one file.",
    .examples = "  holdup export --list-formats\n"
                "  holdup export trace.json.gz -o trace.pftrace\n"
                "  holdup export run/ --steps 3..5 --format chrome -o steps.json\n"
                "  holdup export trace.json --format folded --weight gpu | flamegraph.pl >g.svg",
    .wants = "a trace",
    .example = "holdup export trace.json.gz -o trace.pftrace",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_STEPS | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &(const options){.weight = -1},
    .lists = (const hu_listing[]){{offsetof(options, list), write_formats}, {0, NULL}},
    .check = check,
    .run = run,
};
