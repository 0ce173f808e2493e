/* SPDX-License-Identifier: Apache-2.0
 * cmd_scale.c - `holdup scale`: why more devices are not as many times faster. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "job/spread.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "render/scale.h"

typedef struct {
    hu_shared   shared;
    bool        weak, strong, markdown;
    const char *svg, *html;
} options;

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"weak", 0, HU_OPTION_FLAG, NULL, "assume the same batch on each GPU in all runs", AT(weak), .heading = "input"},
    {"strong", 0, HU_OPTION_FLAG, NULL, "assume the same batch of the whole job in all runs", AT(strong),
     .heading = "input"},
    {"markdown", 0, HU_OPTION_FLAG, NULL, "write Markdown, for a pull request", AT(markdown), .heading = "output"},
    {"svg", 0, HU_OPTION_TEXT, "FILE", "also draw speed-up over GPUs, as SVG", AT(svg), .value = HU_VALUE_WRITE,
     .heading = "output"},
    {"html", 0, HU_OPTION_TEXT, "FILE", "also write an offline page with chart and tables", AT(html),
     .value = HU_VALUE_WRITE, .heading = "output"},
};

/* Who is waited for in the run, in words that outlive its digests. */
static void name_straggler(const hu_job *job, hu_scale_run *out)
{
    const hu_straggler *s = &job->stragglers.at[0];
    size_t              n;
    int64_t             rank;

    if (job->stragglers.n == 0 || s->late.share_pct < 100.0 / (double)job->n + 10) /* they wait for each other in turn */
        return;
    rank = job->digests[s->late.digest]->info.rank;
    n = (size_t)snprintf(out->waited_for, sizeof out->waited_for, "rank %lld",
                         (long long)(rank >= 0 ? rank : (int64_t)s->late.digest));
    if (s->cause < HU_CLASS_COUNT)
        snprintf(out->waited_for + n, sizeof out->waited_for - n, " (%s)", hu_class_words(s->cause));
}

/* A step on a network that costs nothing, where all ranks could be replayed together. */
static double ideal_ns(const hu_joint_replay *joint, double step_ns)
{
    for (size_t i = 0; joint && joint->is_replayed && joint->is_trusted && i < joint->n_prices; i++)
        if (joint->price[i].edit == HU_EDIT_NETWORK && joint->price[i].gain_pct >= 0)
            return step_ns * (1 - joint->price[i].gain_pct / 100);
    return (double)NAN;
}

/* Adds what is missing of one run to what is missing of all.  Returns 0 or HU_ENOMEM. */
static int list_missing(const hu_unread_list *from, hu_arena *arena, hu_unread_list *into, hu_error *err)
{
    for (size_t i = 0; i < from->n; i++)
        if (hu_unread_add(into, arena, from->at[i].file, from->at[i].error, err) < 0)
            return err->code;
    return 0;
}

/* One argument: a run.  Returns 0 or an exit status, or HU_READ_SENT. */
static int read_run(const hu_cli_call *call, char *path, hu_scaling *s, hu_scale_run *words, hu_scale_report *r)
{
    const options       *o = call->options;
    hu_crew             *crew = call->crew;
    hu_arena            *arena = call->arena;
    const hu_job_options how = {.crew = crew,
                                .limits = hu_limits_with_storms(o->shared.limits),
                                .replays = true,
                                .digest = {.steps = o->shared.steps, .frames = 5}};
    hu_scaling_run      *run = &s->run[s->n];
    hu_error             err = {0};
    hu_inputs            inputs;
    hu_job               job;
    int                  rc;

    if (hu_spread_inputs(crew, &path, 1, false, &o->shared.limits, arena, &inputs, &err) < 0 ||
        hu_command_check_outputs(call, &inputs, &err) < 0)
        return hu_crew_fail(crew, &err);
    if ((rc = hu_read_job(&inputs, how, o->shared.quiet, arena, &job)) != 0)
        return rc;
    r->n_read += job.n;
    if (list_missing(&job.unread, arena, &r->unread, &err) < 0 || list_missing(&job.partial, arena, &r->partial, &err) < 0) {
        hu_job_free(&job);
        return hu_command_fail(&err);
    }
    if (!hu_scaling_run_measure(job.digests, job.n, job.rendezvous, run)) {
        hu_job_free(&job);
        hu_fail(&err, HU_EFORMAT, path, HU_NO_OFFSET, "has no step to compare; record some steps of the job");
        return hu_command_fail(&err);
    }
    run->ideal_ns = ideal_ns(job.joint, run->step_ns);
    run->id = s->n;
    words[s->n] = (hu_scale_run){.name = hu_str_of(path)};
    name_straggler(&job, &words[s->n]);
    s->n++;
    hu_job_free(&job);
    return 0;
}

/* A picture beside the answer, where one is wanted. */
static int write_file(const options *o, const char *path, void (*draw)(const hu_scale_report *, hu_out *),
                      const hu_scale_report *r, hu_error *err)
{
    hu_out *out;
    int     rc;

    if (!path)
        return 0;
    if (!(out = hu_out_open_file(path, err)))
        return err->code;
    draw(r, out);
    rc = hu_out_close(out, err);
    if (rc == 0 && !o->shared.quiet)
        hu_command_say("wrote %s", path);
    return rc;
}

static int write_answer(const options *o, const hu_scale_report *r, hu_error *err)
{
    hu_out *out;

    if (write_file(o, o->svg, hu_scale_svg, r, err) < 0 || write_file(o, o->html, hu_scale_html, r, err) < 0)
        return err->code;
    out = hu_output_open(o->shared.output, err); /* last: printing may end it all */
    if (!out)
        return err->code;
    if (o->shared.json)
        hu_scale_json(r, out);
    else if (o->markdown)
        hu_scale_markdown(r, out);
    else
        hu_scale_text(r, hu_terminal_width(STDOUT_FILENO, o->shared.output), out);
    return hu_out_close(out, err);
}

static int run(hu_cli_call *call)
{
    const options  *o = call->options;
    hu_scaling     *s = hu_arena_calloc(call->arena, 1, sizeof *s);
    hu_scale_run   *words = hu_arena_calloc(call->arena, HU_SCALING_RUNS, sizeof *words);
    hu_scale_report r = {.scaling = s, .runs = words};
    hu_error        err = {0};

    if (!s || !words) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    for (int i = 0; i < call->n; i++) {
        const int status = read_run(call, call->argv[i], s, words, &r);

        if (status && status != HU_READ_SENT)
            return status;
    }
    if (!hu_crew_is_first(call->crew))
        return 0;
    hu_scaling_measure(s, o->weak ? HU_SCALING_WEAK : o->strong ? HU_SCALING_STRONG : HU_SCALING_AUTO);
    if (s->run[0].gpus == s->run[s->n - 1].gpus) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "all runs have %lld GPUs; scale compares runs on different numbers "
                "of GPUs",
                (long long)s->run[0].gpus);
        return hu_command_fail(&err);
    }
    if (write_answer(o, &r, &err) < 0)
        return hu_command_fail(&err);
    return hu_strict_status(o->shared.strict, &r.unread, &r.partial, 0);
}

const hu_command hu_command_scale = {
    .name = "scale",
    .group = HU_GROUP_COMPARE,
    .summary = "show where scaling efficiency is lost as GPUs are added",
    .usage = "[options] RUN RUN ...",
    .about = "Compares runs of one job on different numbers of GPUs.  Each RUN is the trace\n"
             "of one rank or the directory of all of them.  Prints the efficiency lost against\n"
             "the smallest run, in points by cause that add up exactly, and predicts a run on\n"
             "twice as many GPUs.  mpirun divides the files of a run as for report.",
    .examples = "  holdup scale 1gpu.json.gz 2gpus/ 4gpus/ 8gpus/\n"
                "  holdup scale 1node/ 2nodes/ --strong --markdown",
    .wants = "runs",
    .example = "holdup scale 1gpu.json 2gpu/ 4gpu/",
    .least = 2,
    .most = HU_SCALING_RUNS,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_CREW,
    .shared = HU_SHARED_STEPS | HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .closer = (const hu_option_help[]){{"steps", "compare only steps A to B of each run"}, {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .excludes = (const hu_option_pair[]){{"weak", "strong"}, {"json", "markdown"}, {NULL, NULL}},
    .run = run,
};
