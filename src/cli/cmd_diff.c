/* SPDX-License-Identifier: Apache-2.0
 * cmd_diff.c - `holdup diff`: what changed between two runs. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/diff_logs.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/report_results.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "job/spread.h"
#include "render/diff.h"

typedef struct {
    hu_shared shared;
} options;

/* Returns 0 or HU_ENOMEM. */
static int list_missing(const hu_unread_list *from, hu_arena *arena, hu_unread_list *into, hu_error *err)
{
    for (size_t i = 0; i < from->n; i++)
        if (hu_unread_add(into, arena, from->at[i].file, from->at[i].error, err) < 0)
            return err->code;
    return 0;
}

/* Lists the files of each argument, and says what it is where it is one file.  Why one cannot be listed is in its error. */
static void look(const hu_cli_call *call, hu_diff_run run[2])
{
    const options *o = call->options;
    hu_error       unused;

    for (int k = 0; k < 2; k++) {
        hu_diff_run     *one = &run[k];
        const hu_glance *seen;

        if (hu_spread_inputs(NULL, &call->argv[k], 1, false, &o->shared.limits, call->arena, &one->inputs, &one->error) < 0)
            one->inputs.n = 0;
        seen = one->inputs.glances ? hu_glances_at(one->inputs.glances, call->argv[k], &unused) : NULL;
        one->kind = seen ? seen->kind : HU_INPUT_RANK;
    }
}

/* Returns 0 or an exit status; the job is empty then. */
static int read_run(const hu_cli_call *call, int k, const hu_diff_run *run, hu_job *job, hu_diff_report *r)
{
    const options       *o = call->options;
    const hu_job_options how = {.limits = hu_limits_with_storms(o->shared.limits),
                                .replays = true,
                                .digest = {.steps = o->shared.steps, .frames = 5}};
    hu_error             err = run->error;
    int                  rc;

    r->name[k] = hu_str_of(call->argv[k]);
    if (err.code < 0 || hu_command_check_outputs(call, &run->inputs, &err) < 0)
        return hu_command_fail(&err);
    if ((rc = hu_read_job(&run->inputs, how, o->shared.quiet, call->arena, job)) != 0)
        return rc;
    r->n_read += job->n;
    if (list_missing(&job->unread, call->arena, &r->unread, &err) < 0 ||
        list_missing(&job->partial, call->arena, &r->partial, &err) < 0)
        return hu_command_fail(&err);
    return 0;
}

static int write_answer(const options *o, const hu_diff_report *r, hu_error *err)
{
    hu_out *out = hu_output_open(o->shared.output, err);

    if (!out)
        return err->code;
    if (o->shared.json)
        hu_diff_json(r, out);
    else
        hu_diff_text(r, hu_terminal_width(STDOUT_FILENO, o->shared.output), out);
    return hu_out_close(out, err);
}

/* Both were read. */
static int compare(const hu_cli_call *call, const hu_job *job, hu_diff_report *r)
{
    const options *o = call->options;
    hu_difference *x = hu_arena_calloc(call->arena, 1, sizeof *x);
    hu_error       err = {0};

    r->x = x;
    if (!x)
        hu_fail_memory(&err);
    else if (hu_difference_measure(&job[0], &job[1], call->arena, x, &err) == 0)
        write_answer(o, r, &err);
    return err.code < 0 ? hu_command_fail(&err) : hu_strict_status(o->shared.strict, &r->unread, &r->partial, 0);
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    hu_job         job[2] = {{0}, {0}};
    hu_diff_report r = {0};
    hu_diff_run    runs[2] = {0};
    hu_inputs      named = {.at = (const char **)call->argv, .n = 2};
    hu_error       err = {0};
    int            status;

    if (hu_command_check_outputs(call, &named, &err) < 0)
        return hu_command_fail(&err);
    look(call, runs);
    if (runs[0].kind == HU_INPUT_RESULTS || runs[1].kind == HU_INPUT_RESULTS)
        return hu_diff_results(&o->shared, call->argv, runs, call->arena);
    status = hu_diff_logs(&o->shared, call->argv, runs, call->arena);
    if (status >= 0)
        return status;
    status = read_run(call, 0, &runs[0], &job[0], &r);
    if (status == 0)
        status = read_run(call, 1, &runs[1], &job[1], &r);
    if (status == 0)
        status = compare(call, job, &r);
    for (size_t k = 0; k < HU_COUNT(job); k++)
        hu_job_free(&job[k]);
    return status;
}

const hu_command hu_command_diff = {
    .name = "diff",
    .group = HU_GROUP_COMPARE,
    .summary = "show what changed between two runs",
    .usage = "[options] A B",
    .about = "Compares two runs of one job: before and after a change.  A and B are each the\n"
             "trace of one rank or the directory of all of them; of several ranks the slowest\n"
             "is compared.  Prints the verdict of each, the change of a step and of what it\n"
             "consists of, the operators and kernels that changed most, and which findings\n"
             "are gone or new; of memory, what both recorded.  What was recorded in different\n"
             "ways is not compared, and the answer says why.  Two memory snapshots and two logs\n"
             "(of training runs or of nccl-tests) are compared by what both have, two files of\n"
             "what a monitor sampled (nvidia-smi, dcgm-exporter, ...) by the means of each GPU.\n"
             "Of two files of one benchmark (pytest-benchmark, Google Benchmark, hyperfine, asv,\n"
             "TorchBench, TorchDynamo): what got slower beyond its own spread\n"
             "(docs/formats/results.md).",
    .examples = "  holdup diff before.json.gz after.json.gz\n"
                "  holdup diff before/ after/ --json\n"
                "  holdup diff monday.log tuesday.log\n"
                "  holdup diff smi-before.csv smi-after.csv",
    .wants = "runs",
    .example = "holdup diff before/ after/",
    .least = 2,
    .most = 2,
    .words = HU_WORDS_PATHS,
    .shared = HU_SHARED_STEPS | HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .closer = (const hu_option_help[]){{"steps", "compare only steps A to B of each run"}, {NULL, NULL}},
    .options_size = sizeof(options),
    .run = run,
};
