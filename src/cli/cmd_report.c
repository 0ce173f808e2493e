/* SPDX-License-Identifier: Apache-2.0
 * cmd_report.c - `holdup report`: reads traces, asks every question, draws one face. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/outputs.h"
#include "job/inputs.h"
#include "cli/reading.h"
#include "cli/report.h"
#include "job/spread.h"
#include "cli/unread.h"
#include "render/report.h"
#include "base/units.h"

enum { PLAIN_WIDTH = 80, MOST_WIDTH = 160 };

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

typedef struct {
    bool          json, csv, quiet, strict, merge, to_stderr;
    const char   *output, *html, *sort;
    hu_show       show;
    hu_part       part;
    bool          list, full, open;
    int           group_by, color, compat;
    int64_t       top, frames, batch;
    const char   *unit;
    hu_step_range steps;
    hu_limits     limits;
} options;

static const char *const groups[] = {"name", "shapes", "stack", "module", NULL}; /* as hu_grouping */
static const char *const tools[] = {"none", "hta", "tracelens", NULL};           /* as hu_compat */
static const char *const colors[] = {"auto", "always", "never", NULL};

static int unknown_view(const char *text, hu_error *err)
{
    const char *words[64] = {"all", "overview", "health", "list"}, *near;
    size_t      n = 4;

    for (size_t i = 0; hu_views[i] && n < HU_COUNT(words); i++)
        words[n++] = hu_views[i]->word;
    near = hu_options_suggest(text, words, n);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no view \"%.64s\"; %s%s", text,
                   near ? "did you mean " : "holdup report --view list names them", near ? near : "");
}

/* "all", "overview", "health", "list", a view of hu_views, or a part of one */
static int parse_view(void *field, const char *text, hu_error *err)
{
    options     *o = field;
    const hu_str word = hu_str_of(text);

    o->list = hu_str_equal(word, HU_STR("list"));
    o->part = (hu_part){0};
    if (o->list || hu_str_equal(word, HU_STR("all")))
        o->show = HU_SHOW_ALL;
    else if (hu_str_equal(word, HU_STR("overview")))
        o->show = HU_SHOW_OVERVIEW;
    else if (hu_str_equal(word, HU_STR("health")))
        o->show = HU_SHOW_HEALTH;
    else if (hu_views_find(word, &o->part))
        o->show = HU_SHOW_VIEW;
    else
        return unknown_view(text, err);
    return 0;
}

static const hu_option rows[] = {
    {"view", 'v', HU_OPTION_SPECIAL, "VIEW", "what to show: overview, ops, kernels, idle, memory …; --view list names all",
     0, NULL, parse_view},
    {"steps", 's', HU_OPTION_SPECIAL, "A..B", "only these steps, by the number of their ProfilerStep, or from 0",
     offsetof(options, steps), NULL, hu_inputs_parse_steps},
    {"group-by", 'g', HU_OPTION_CHOICE, "WHAT", "operators by name (default), and by shapes, stack or module",
     offsetof(options, group_by), groups, NULL},
    {"frames", 0, HU_OPTION_COUNT, "N", "innermost Python frames that make a stack (5)", offsetof(options, frames), NULL,
     NULL},
    {"compat", 0, HU_OPTION_CHOICE, "TOOL",
     "the numbers of hta (HolisticTraceAnalysis) or tracelens, with their rounding and filters", offsetof(options, compat),
     tools, NULL},
    {"batch-size", 'b', HU_OPTION_COUNT, "N", "samples in a step of the whole job: says throughput, now and mended",
     offsetof(options, batch), NULL, NULL},
    {"unit", 0, HU_OPTION_TEXT, "WORD", "what --batch-size counts: samples (default), tokens, images",
     offsetof(options, unit), NULL, NULL},
    {"merge", 'm', HU_OPTION_FLAG, NULL, "one table over all ranks instead of one for each", offsetof(options, merge), NULL,
     NULL},
    {"sort", 0, HU_OPTION_TEXT, "COLUMN", "order tables by a column, named as in --csv: host_self_ns, calls, name …",
     offsetof(options, sort), NULL, NULL},
    {"top", 'n', HU_OPTION_COUNT, "N", "rows of each table", offsetof(options, top), NULL, NULL},
    {"json", 'j', HU_OPTION_FLAG, NULL, "everything as JSON (docs/report.schema.json)", offsetof(options, json), NULL, NULL},
    {"csv", 'c', HU_OPTION_FLAG, NULL, "the table of --view as CSV", offsetof(options, csv), NULL, NULL},
    {"html", 0, HU_OPTION_TEXT, "FILE", "also write a page that opens offline in any browser", offsetof(options, html), NULL,
     NULL},
    {"full", 0, HU_OPTION_FLAG, NULL, "the page holds every slice of every rank; else up to 2 million of them",
     offsetof(options, full), NULL, NULL},
    {"open", 0, HU_OPTION_FLAG, NULL, "show the page of --html in a browser", offsetof(options, open), NULL, NULL},
    {"output", 'o', HU_OPTION_TEXT, "FILE", "write to a file instead of standard output", offsetof(options, output), NULL,
     NULL},
    {"color", 0, HU_OPTION_CHOICE, "WHEN", "auto, always or never", offsetof(options, color), colors, NULL},
    {"quiet", 'q', HU_OPTION_FLAG, NULL, "no progress and no warnings", offsetof(options, quiet), NULL, NULL},
    HU_STRICT_OPTION(options, strict),
    {"limit", 0, HU_OPTION_SPECIAL, "NAME=N",
     "raise or lower a limit against hostile files: events, nesting, event_bytes, string_bytes, inflate_ratio",
     offsetof(options, limits), NULL, hu_inputs_parse_limit},
};

/* Open MPI's mpirun gives its processes terminals, wherever its own output goes. */
static bool is_terminal(int fd)
{
    return isatty(fd) && !getenv("OMPI_COMM_WORLD_RANK");
}

static int descriptor(const options *o)
{
    return o->to_stderr ? STDERR_FILENO : STDOUT_FILENO;
}

static size_t terminal_width(int fd)
{
    struct winsize size;

    if (!is_terminal(fd) || ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return PLAIN_WIDTH;
    return size.ws_col < MOST_WIDTH ? size.ws_col : MOST_WIDTH;
}

static bool wants_color(const options *o)
{
    const char *no = getenv("NO_COLOR");

    if (o->color != COLOR_AUTO)
        return o->color == COLOR_ALWAYS;
    return !o->output && is_terminal(descriptor(o)) && !(no && no[0]);
}

static int write_report(const options *o, const hu_report *r, hu_error *err)
{
    hu_out *out = o->output ? hu_out_open_file(o->output, err) : hu_out_open_fd(descriptor(o));
    int     rc = 0;

    if (!out)
        return o->output ? err->code : hu_fail_memory(err);
    if (o->json)
        rc = hu_json_write(r, out, err);
    else if (o->csv)
        rc = hu_csv_write(r, out, err);
    else
        hu_text_write(r, out);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    return hu_out_close(out, err);
}

/* "wrote report.html (2.1 MB, 412k slices)" */
static void say_page(const char *path, const hu_report *r, uint64_t bytes)
{
    char   size[HU_UNIT_BYTES], slices[HU_UNIT_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < r->job->n; i++)
        n += r->job->ranks[i].timeline.n;
    hu_units_bytes(size, (double)bytes);
    hu_units_short_count(slices, (double)n);
    hu_command_say("wrote %s (%s, %s slices)", path, size, slices);
}

static int write_page(const options *o, const hu_report *r, uint64_t *bytes, hu_error *err)
{
    hu_out *out = hu_out_open_file(o->html, err);
    int     rc;

    if (!out)
        return err->code;
    rc = hu_html_write(r, out, err);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    *bytes = hu_out_bytes(out);
    return hu_out_close(out, err);
}

/* The page first, since printing may end the program; the word about it last, where it is seen. */
static int write_faces(const options *o, const hu_report *r, hu_error *err)
{
    hu_error  why = {0};
    uint64_t  bytes = 0;
    const int page = o->html ? write_page(o, r, &bytes, &why) : 0, rc = write_report(o, r, err);

    if (page < 0) {
        *err = why;
        return page;
    }
    if (rc == 0 && o->html && !o->quiet)
        say_page(o->html, r, bytes);
    if (rc == 0 && o->open)
        hu_browser_open(o->html);
    return rc;
}

static int check_sort(const options *o, hu_error *err)
{
    const char *keys[512], *near;

    if (!o->sort || hu_views_have_column(&o->part, hu_str_of(o->sort)))
        return 0;
    near = hu_options_suggest(o->sort, keys, hu_views_columns(&o->part, keys, HU_COUNT(keys)));
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no column \"%.64s\"; %s%s", o->sort,
                   near ? "did you mean " : "the heading of --csv lists them", near ? near : "");
}

/* " word.part", on a new line where this one would pass the width of a terminal. */
static void list_part(hu_out *out, size_t *column, const char *word, const char *part)
{
    const size_t width = strlen(word) + strlen(part) + 2;

    if (*column + width > PLAIN_WIDTH) {
        hu_out_text(out, "\n           ");
        *column = 11;
    }
    hu_out_printf(out, " %s.%s", word, part);
    *column += width;
}

/* A view on one line, its parts below. */
static void list_view(hu_out *out, const hu_view *v)
{
    size_t column = PLAIN_WIDTH;

    hu_out_printf(out, "%-11s %s", v->word, v->about);
    if (v->n_tables > 1 || (v->n_facts && !v->is_list)) {
        if (v->n_facts)
            list_part(out, &column, v->word, "facts");
        for (size_t t = 0; t < v->n_tables; t++)
            list_part(out, &column, v->word, v->tables[t]->key);
    }
    hu_out_text(out, "\n");
}

/* Every view and its parts. */
static int list_views(void)
{
    hu_out  *out = hu_out_open_fd(STDOUT_FILENO);
    hu_error err = {0};

    if (!out) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    hu_out_printf(out, "%-11s %s\n", "all", "overview, operators, kernels, copies and health in short (default)");
    hu_out_printf(out, "%-11s %s\n", "overview", "what holds the job up, and where the time of a step goes");
    hu_out_printf(out, "%-11s %s\n", "health", "what was read, what was lost, what the capture left out");
    for (size_t i = 0; hu_views[i]; i++)
        list_view(out, hu_views[i]);
    for (size_t i = 0; hu_compat_views[i]; i++)
        list_view(out, hu_compat_views[i]);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : 0;
}

/* Prices are for those who see them: a single other table does not wait for them. */
static bool wants_replays(const options *o)
{
    return o->json || o->html || o->show == HU_SHOW_ALL || o->show == HU_SHOW_OVERVIEW ||
           (o->part.view && hu_str_equal(hu_str_of(o->part.view->word), HU_STR("why")));
}

static int report(const options *o, const hu_inputs *inputs, const char *arguments, hu_crew *crew, hu_arena *arena)
{
    const hu_job_options how = {.crew = crew,
                                .limits = o->limits,
                                .replays = wants_replays(o),
                                .draws = o->html,
                                .draws_all = o->full,
                                .digest = {o->steps, (hu_grouping)o->group_by, (int)o->frames, (hu_compat)o->compat, 1}};
    hu_job               job;
    hu_rank              merged = {0};
    hu_report            r = {.job = &job,
                              .show = o->show,
                              .part = o->part,
                              .top = o->top,
                              .sort = o->sort,
                              .scratch = arena,
                              .batch = o->batch,
                              .unit = o->unit ? o->unit : "samples",
                              .color = wants_color(o),
                              .arguments = arguments,
                              .width = o->output ? PLAIN_WIDTH : terminal_width(descriptor(o))};
    hu_error             err = {0};
    int                  rc = hu_read_job(inputs, how, o->quiet, arena, &job);

    if (rc)
        return rc == HU_READ_SENT ? 0 : rc;
    if (o->merge) {
        merged.digest = hu_digest_merge(job.digests, job.n, &err);
        r.merged = &merged;
    }
    rc = o->merge && !merged.digest ? err.code : write_faces(o, &r, &err);
    hu_digest_free(merged.digest);
    hu_job_free(&job);
    if (rc < 0)
        return hu_command_fail(&err);
    return hu_strict_status(o->strict, &job.unread, &job.partial, 0);
}

/* `--compat hta` shows the view hta, and `--view hta.kernels` needs its numbers. */
static void match_compat(options *o)
{
    for (int i = 0; hu_compat_views[i]; i++)
        if (o->part.view == hu_compat_views[i])
            o->compat = HU_COMPAT_HTA + i;
    if (o->compat && o->part.view != hu_compat_views[o->compat - HU_COMPAT_HTA]) {
        o->show = HU_SHOW_VIEW;
        o->part = (hu_part){.view = hu_compat_views[o->compat - HU_COMPAT_HTA]};
    }
}

int hu_report_paths(char **paths, size_t n, bool is_whole)
{
    const options o = {.limits = hu_limits_default(),
                       .frames = 5,
                       .quiet = true,
                       .to_stderr = true,
                       .show = is_whole ? HU_SHOW_ALL : HU_SHOW_OVERVIEW};
    hu_arena     *arena = hu_arena_new();
    hu_error      err = {0};
    hu_inputs     inputs;
    int           status;

    if (!arena) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    status = hu_inputs_expand(paths, (int)n, arena, &inputs, &err) < 0
                 ? hu_command_fail(&err)
                 : report(&o, &inputs, n == 1 ? paths[0] : "FILES", NULL, arena);
    hu_arena_free(arena);
    return status;
}

static int run(int argc, char **argv)
{
    options   o = {.limits = hu_limits_default(), .frames = 5};
    hu_error  err = {0};
    hu_arena *arena = hu_arena_new();
    hu_crew  *crew;
    hu_inputs inputs;
    int       n, status;

    if (!arena) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    if (!hu_crew_join(argc, argv, arena, &crew)) {
        hu_arena_free(arena);
        return 0;
    }
    n = hu_options_parse(rows, HU_COUNT(rows), argc, argv, &o, &err);
    if (n >= 0 && o.list) {
        status = hu_crew_leave(crew, hu_crew_is_first(crew) ? list_views() : 0);
        hu_arena_free(arena);
        return status;
    }
    if (n == 0)
        n = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "report wants a trace: holdup report trace.json.gz");
    if (n > 0 && (o.full || o.open) && !o.html)
        n = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s is about the page; add --html FILE",
                    o.full ? "full" : "open");
    if (n > 0 && o.json && o.csv)
        n = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--json and --csv exclude each other");
    if (n > 0)
        match_compat(&o);
    if (n > 0 && o.compat && o.merge)
        n = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--compat and --merge exclude each other");
    if (n > 0 && check_sort(&o, &err) < 0)
        n = err.code;
    if (n > 0 && (hu_spread_inputs(crew, argv, n, arena, &inputs, &err) < 0 ||
                  hu_spread_outputs(crew, (hu_output[]){{"output", o.output}, {"html", o.html}}, 2, &inputs, &err) < 0))
        n = err.code;
    status = n < 0 ? hu_crew_fail(crew, &err) : report(&o, &inputs, n == 1 ? argv[0] : "FILES", crew, arena);
    status = hu_crew_leave(crew, status);
    hu_arena_free(arena);
    return status;
}

const hu_command hu_command_report = {
    .name = "report",
    .summary = "where the time of a job goes, why, and what a fix would save",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Reads traces of torch.profiler (.json, .json.gz, .json.zst, or - for standard\n"
             "input) and prints where the time of a step goes, what holds it up and what each\n"
             "fix would save, which operators, kernels and copies it goes to, and how far the\n"
             "trace can be trusted.  Several files, or a directory, are the ranks of one job;\n"
             "mpirun divides them over processes and machines (docs/many-ranks.md).\n\n"
             "  holdup report trace.json.gz\n"
             "  holdup report trace.json.gz --view kernels --top 20\n"
             "  holdup report trace.json.gz --view ops --group-by shapes --sort host_self_ns\n"
             "  holdup report run/ --html report.html\n"
             "  mpirun -n 4 holdup report run/\n"
             "  holdup report trace.json.gz --json | jq '.ranks[0].gpu.busy_ns'",
    .options = rows,
    .n_options = HU_COUNT(rows),
    .run = run,
};
