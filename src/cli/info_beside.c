/* SPDX-License-Identifier: Apache-2.0
 * info_beside.c - a few facts about each, by which one tells whether files are of one run. */
#include "cli/info_beside.h"

#include <stdio.h>

#include "base/units.h"
#include "ingest/flight_recorder.h"
#include "ingest/ncu.h"
#include "ingest/node_order.h"
#include "ingest/results.h"
#include "ingest/profile.h"
#include "job/beside.h"

enum { LABEL = 12 };

typedef struct {
    const hu_info_how *how;
    hu_out            *out;
    hu_json_out        j;
} writer;

static void text(writer *w, const char *key, const char *label, hu_str value)
{
    if (w->how->json) {
        hu_json_str(&w->j, key, value);
    } else if (value.n) {
        hu_out_printf(w->out, "%-*s", LABEL, label);
        hu_units_clip(w->out, value, w->how->width - LABEL);
        hu_out_text(w->out, "\n");
    }
}

static void count(writer *w, const char *key, const char *label, int64_t value)
{
    if (w->how->json)
        hu_json_int(&w->j, key, value);
    else
        hu_out_printf(w->out, "%-*s%lld\n", LABEL, label, (long long)value);
}

static void write_counters(writer *w, const hu_counters *c, const hu_kernel_groups *g)
{
    const hu_counted *first = c->kernels.n ? &c->kernels.at[0] : NULL;

    text(w, "format", "format", HU_STR("counters of single kernels"));
    text(w, "tool", "tool", HU_STR("Nsight Compute"));
    text(w, "device", "device", first ? first->device : HU_STR(""));
    text(w, "compute_capability", "CC", first ? first->cc : HU_STR(""));
    count(w, "launches", "launches", (int64_t)c->kernels.n);
    count(w, "kernels", "kernels", (int64_t)g->n);
    if (c->is_cut)
        text(w, "truncated", "truncated", HU_STR("the file is cut"));
}

static void write_dump(writer *w, const hu_flight_dump *d)
{
    text(w, "format", "format", HU_STR("Flight Recorder dump"));
    text(w, "tool", "tool", HU_STR("PyTorch"));
    text(w, "version", "version", d->version);
    count(w, "rank", "rank", d->rank);
    count(w, "calls", "calls", (int64_t)d->entries.n);
    count(w, "groups", "groups", (int64_t)d->groups.n);
    for (size_t i = 0; i < d->groups.n; i++)
        if (hu_str_equal(d->groups.at[i].about, HU_STR("default_pg")))
            count(w, "world_size", "world", (int64_t)d->groups.at[i].n);
}

static void write_ras(writer *w, const hu_ras_status *s)
{
    int64_t ranks = 0;

    for (size_t i = 0; i < s->comms.n; i++)
        ranks = s->comms.at[i].size > ranks ? s->comms.at[i].size : ranks;
    text(w, "format", "format", HU_STR("answer of NCCL's RAS subsystem"));
    text(w, "tool", "tool", HU_STR("NCCL RAS"));
    text(w, "version", "version", s->version);
    count(w, "communicators", "comms", s->n_comms);
    if (ranks)
        count(w, "ranks", "ranks", ranks);
    if (s->is_cut)
        text(w, "truncated", "truncated", HU_STR("the file is cut"));
}

static void write_profile(writer *w, const hu_profile_sums *s)
{
    text(w, "format", "format", HU_STR("profile that sums stacks"));
    text(w, "writer", "written as", hu_str_of(s->format));
    text(w, "tool", "tool", s->tool);
    text(w, "measure", "measure", s->measure);
    count(w, "stacks", "stacks", s->n_stacks);
    count(w, "functions", "functions", (int64_t)s->functions.n);
}

static int read_node(const char *path, const hu_limits *limits, hu_node_log *out, hu_error *err)
{
    const int rc = hu_node_log_read_path(out, path, limits, err);

    return rc < 0 || hu_node_order(out) ? rc : hu_fail_memory(err);
}

/* Rows: of each GPU, the samples of the quantity that has most. */
static size_t count_looks(const hu_node_log *l)
{
    const hu_node_sample *at = l->samples.at;
    size_t                sum = 0, most = 0;

    for (size_t i = 0, end; i < l->samples.n; i = end) {
        for (end = i; end < l->samples.n && at[end].gpu == at[i].gpu && at[end].quantity == at[i].quantity; end++)
            continue;
        most = end - i > most ? end - i : most;
        if (end == l->samples.n || at[end].gpu != at[i].gpu) {
            sum += most;
            most = 0;
        }
    }
    return sum;
}

static void write_node(writer *w, const hu_node_log *l)
{
    char seconds[HU_NUMBER_BYTES];

    hu_format_fixed(seconds, (double)(l->last_ns - l->first_ns) / 1e9, 1);
    text(w, "format", "format", HU_STR("what a monitor sampled of GPUs and processors"));
    count(w, "gpus", "GPUs", (int64_t)l->gpus.n);
    count(w, "samples", "samples", (int64_t)(count_looks(l) + l->zone_samples.n));
    text(w, "seconds", "seconds", hu_str_of(seconds));
    if (l->topologies.n)
        count(w, "topologies", "topologies", (int64_t)l->topologies.n);
}

static void write_log(writer *w, const hu_beside_log *l)
{
    const hu_log_nccl *nccl = &l->log.nccl;
    char               step[HU_UNIT_BYTES];
    const bool         has_calls = l->log.inspector.n_files > 0;

    text(w, "format", "format",
         l->log.steps.n      ? HU_STR("log of a training run")
         : has_calls         ? HU_STR("calls of NCCL's Inspector")
         : l->log.benches.n  ? HU_STR("results of a test of collectives")
         : l->log.rates.at.n ? HU_STR("log with throughput, without times of steps")
         : nccl->n_lines     ? HU_STR("log with lines of NCCL, and none of steps")
                             : HU_STR("log without times of steps"));
    text(w, "tool", "tool",
         l->log.writer.n              ? l->log.writer
         : nccl->n_lines || has_calls ? HU_STR("NCCL")
                                      : HU_STR("unknown"));
    count(w, "lines", "lines", (int64_t)l->log.n_lines);
    count(w, "steps", "steps", l->says.n_steps);
    hu_units_time(step, l->says.step.median);
    if (l->says.step.n && !l->says.has_no_unit)
        text(w, "median_step", "median step", hu_str_of(step));
    count(w, "nccl_lines", "NCCL lines", (int64_t)nccl->n_lines);
    if (l->log.timeouts.n)
        count(w, "timeouts", "timeouts", (int64_t)l->log.timeouts.n);
    if (nccl->ranks)
        count(w, "ranks", "ranks", nccl->ranks);
}

static void write_sums(writer *w, const hu_nsys_sums *s)
{
    text(w, "format", "format", HU_STR("tables of sums"));
    text(w, "tool", "tool", HU_STR("nsys stats"));
    count(w, "tables", "tables", (int64_t)s->tables.n);
    if (s->is_cut)
        text(w, "truncated", "truncated", HU_STR("a table is cut"));
}

static void write_results(writer *w, const hu_results *f)
{
    char peak[HU_UNIT_BYTES];

    text(w, "format", "format", HU_STR("results of a program that was timed or weighed"));
    text(w, "tool", "tool", f->tool);
    if (f->memory.n_samples) {
        count(w, "samples", "samples", f->memory.n_samples);
        hu_units_bytes(peak, f->memory.peak);
        text(w, "peak", "peak", hu_str_of(peak));
    } else {
        count(w, "benchmarks", "benchmarks", (int64_t)f->rows.n);
    }
}

/* Of logs and sums.  Returns 0 or the error. */
static int read_printed(hu_input_kind kind, const hu_inputs *one, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                        hu_error *err)
{
    hu_unread_list unread = {0};
    const int      rc = kind == HU_INPUT_LOG ? hu_beside_logs_read(one, NULL, limits, arena, out, &unread, err)
                                             : hu_beside_sums_read(one, limits, arena, out, &unread, err);

    if (rc == 0 && unread.n)
        return hu_fail(err, HU_EFORMAT, one->at[0], HU_NO_OFFSET, "%.*s", HU_FMT(unread.at[0].error));
    return rc;
}

int hu_info_beside(hu_input_kind kind, const char *path, const hu_info_how *how, hu_out *out, hu_error *err)
{
    writer           w = {.how = how, .out = out, .j = {.out = out, .is_empty = true}};
    const hu_inputs  one = {.at = &path, .n = 1};
    hu_arena        *arena = hu_arena_new();
    hu_counters      counters = {0};
    hu_kernel_groups groups = {0};
    hu_dumps         dumps = {0};
    hu_ras_files     ras = {0};
    hu_node_log      node = {.arena = arena};
    hu_beside        printed = {0};
    hu_results       results = {0};
    hu_profile_sums  stacks = {0};
    int              rc = arena ? 0 : hu_fail_memory(err);

    if (rc == 0 && kind == HU_INPUT_DUMP)
        rc = hu_dumps_read(&one, how->limits, arena, &dumps, err);
    else if (rc == 0 && kind == HU_INPUT_RAS)
        rc = hu_ras_files_read(&one, how->limits, arena, &ras, NULL, err);
    else if (rc == 0 && kind == HU_INPUT_NODE)
        rc = read_node(path, how->limits, &node, err);
    else if (rc == 0 && (kind == HU_INPUT_LOG || kind == HU_INPUT_SUMS))
        rc = read_printed(kind, &one, how->limits, arena, &printed, err);
    else if (rc == 0 && kind == HU_INPUT_RESULTS)
        rc = hu_results_read_path(path, how->limits, arena, &results, err);
    else if (rc == 0 && kind == HU_INPUT_PROFILE)
        rc = hu_profile_read_path(path, how->limits, arena, &stacks, err);
    else if (rc == 0 && (rc = hu_counters_read(&one, how->limits, arena, &counters, err)) == 0)
        rc = hu_kernel_group_all(&counters, arena, &groups, err);
    if (rc == 0) {
        if (how->json)
            hu_json_open(&w.j, NULL, '{');
        text(&w, "file", "file", hu_str_of(path));
        if (kind == HU_INPUT_DUMP)
            write_dump(&w, &dumps.at[0]);
        else if (kind == HU_INPUT_RAS)
            write_ras(&w, &ras.at[0]);
        else if (kind == HU_INPUT_NODE)
            write_node(&w, &node);
        else if (kind == HU_INPUT_LOG)
            write_log(&w, &printed.logs[0]);
        else if (kind == HU_INPUT_SUMS)
            write_sums(&w, &printed.sums[0].sums);
        else if (kind == HU_INPUT_RESULTS)
            write_results(&w, &results);
        else if (kind == HU_INPUT_PROFILE)
            write_profile(&w, &stacks);
        else
            write_counters(&w, &counters, &groups);
        if (how->json) {
            hu_json_unread(&w.j, "unread", &(hu_unread_list){0});
            hu_json_close(&w.j, '}');
        }
    }
    hu_dumps_free(&dumps);
    hu_ras_files_free(&ras);
    hu_arena_free(arena);
    return rc;
}
