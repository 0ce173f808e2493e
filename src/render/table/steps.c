/* SPDX-License-Identifier: Apache-2.0
 * steps.c - each step: the device's view, and the eight categories that TensorBoard showed.
 *
 * Steps and their times are two parallel lists, so the getters look at both.
 */
#include "render/table/cells.h"

HU_ROWS(rows, steps)

static void name(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    out->text = d->step_names[row].n               ? d->step_names[row]
                : d->steps.source == HU_STEPS_NONE ? HU_STR("capture")
                                                   : HU_STR("step");
}

static void note(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;
    const hu_step   *s = &d->steps.at[row];

    out->text = s->is_warm_up                        ? HU_STR("warm-up")
                : s->is_incomplete                   ? HU_STR("incomplete")
                : hu_step_is_slow(&d->slow_steps, s) ? HU_STR("slow")
                                                     : HU_STR("");
}

#define STEP(name, expression)                                      \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_digest    *d = rank->digest;                       \
        const hu_step      *s = &d->steps.at[row];                  \
        const hu_step_time *t = &d->breakdown.at[row];              \
                                                                    \
        (void)s;                                                    \
        (void)t;                                                    \
        out->number = (double)(expression);                         \
    }

HU_MOMENT(start, d->steps.at, r->start_ns)
STEP(number, s->number)
STEP(duration, t->step_ns)
STEP(busy, hu_has_device(rank) ? hu_share_pct(t->step_ns - t->idle_ns, t->step_ns) : HU_ABSENT)
STEP(compute, t->compute_ns)
STEP(comm, t->exposed_comm_ns)
STEP(copy, t->exposed_copy_ns)
STEP(idle, t->idle_ns)
STEP(device_slices, s->n_device)
STEP(warm_up, s->is_warm_up)
STEP(incomplete, s->is_incomplete)
STEP(period, s->period.end_ns - s->period.start_ns)
STEP(role_kernel, t->role_ns[HU_ROLE_KERNEL])
STEP(role_memcpy, t->role_ns[HU_ROLE_MEMCPY])
STEP(role_memset, t->role_ns[HU_ROLE_MEMSET])
STEP(role_communication, t->role_ns[HU_ROLE_COMMUNICATION])
STEP(role_runtime, t->role_ns[HU_ROLE_RUNTIME])
STEP(role_data_loader, t->role_ns[HU_ROLE_DATA_LOADER])
STEP(role_cpu_exec, t->role_ns[HU_ROLE_CPU_EXEC])
STEP(role_other, t->role_ns[HU_ROLE_OTHER])

/* clang-format off */
static const hu_column columns[] = {
    {"number", "step", HU_CELL_COUNT, 5, NULL, number, .values = "any",
     .help = "N of ProfilerStep#N or of another numbered mark, else counted from 0."},
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, start, .values = "any",
     .help = "Start, on the clock of the trace."},
    {"duration_ns", "duration", HU_CELL_NS, 9, NULL, duration, .values = "0..",
     .help = "Length: from max(host mark, end of the step before) to max(host mark, end of its last GPU operation)."},
    {"gpu_busy_pct", "busy%", HU_CELL_PERCENT, 5, hu_has_device, busy, .values = "0..100|null",
     .help = "Share of the step with GPU operations; null without a device."},
    {"compute_ns", "compute", HU_CELL_NS, 8, hu_has_device, compute, .values = "0..",
     .help = "Time in which a compute kernel runs; with exposed communication, exposed copies and idle it adds up to "
             "the step."},
    {"exposed_comm_ns", "exp comm", HU_CELL_NS, 8, hu_has_device, comm, .values = "0..",
     .help = "Exposed communication: communication kernels while no kernel computes."},
    {"exposed_copy_ns", "exp copy", HU_CELL_NS, 8, hu_has_device, copy, .values = "0..",
     .help = "Exposed copies: copies and memsets while neither compute nor communication runs."},
    {"idle_ns", "idle", HU_CELL_NS, 8, hu_has_device, idle, .values = "0..",
     .help = "Time without GPU operations."},
    {"device_slices", NULL, HU_CELL_COUNT, 0, NULL, device_slices, .values = "0..",
     .help = "Kernels, copies and memsets launched in the step."},
    {"kernel_ns", NULL, HU_CELL_NS, 0, NULL, role_kernel, .values = "0..", .source = "torch-tb-profiler: Kernel",
     .help = "Time given to compute kernels; each instant goes to the first of kernel, memcpy, memset, "
             "communication, runtime, data loader, CPU exec, other."},
    {"memcpy_ns", NULL, HU_CELL_NS, 0, NULL, role_memcpy, .values = "0..", .source = "torch-tb-profiler: Memcpy",
     .help = "Time given to memory copies, in the order of kernel_ns."},
    {"memset_ns", NULL, HU_CELL_NS, 0, NULL, role_memset, .values = "0..", .source = "torch-tb-profiler: Memset",
     .help = "Time given to memsets, in the order of kernel_ns."},
    {"communication_ns", "comm", HU_CELL_NS, 9, hu_has_no_device, role_communication, .values = "0..",
     .source = "torch-tb-profiler: Communication",
     .help = "Time given to communication kernels and the host's part of communication, in the order of kernel_ns."},
    {"runtime_ns", NULL, HU_CELL_NS, 0, NULL, role_runtime, .values = "0..", .source = "torch-tb-profiler: Runtime",
     .help = "Time given to runtime and driver calls, in the order of kernel_ns."},
    {"data_loader_ns", "loader", HU_CELL_NS, 9, hu_has_no_device, role_data_loader, .values = "0..",
     .source = "torch-tb-profiler: DataLoader",
     .help = "Time given to waits for the data loader, in the order of kernel_ns."},
    {"cpu_exec_ns", "cpu exec", HU_CELL_NS, 9, hu_has_no_device, role_cpu_exec, .values = "0..",
     .source = "torch-tb-profiler: CPU Exec",
     .help = "Time given to operators, annotations and Python on the host, in the order of kernel_ns."},
    {"other_ns", "other", HU_CELL_NS, 9, hu_has_no_device, role_other, .values = "0..",
     .source = "torch-tb-profiler: Other",
     .help = "Time in which nothing was recorded."},
    {"is_warm_up", NULL, HU_CELL_BOOL, 0, NULL, warm_up,
     .help = "Whether means leave the step out as a warm-up: a first step longer than 1.5 medians, if that does not come "
             "back."},
    {"is_incomplete", NULL, HU_CELL_BOOL, 0, NULL, incomplete,
     .help = "Whether means leave the step out as cut by the capture: a last step with less than 0.8 of the work of the one "
             "before, or whose mark ends before the step does and which no next mark follows, or only behind a pause; a "
             "serving engine's first pass."},
    {"period_ns", "period", HU_CELL_NS, 8, NULL, period, .is_wide = true, .values = "0..",
     .help = "From the end of the step before to its own: what the means are taken over."},
    {"name", NULL, HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the annotation; \"step\" without one, \"capture\" when the whole capture is one piece."},
    {"note", "note", HU_CELL_TEXT, 0, NULL, note, .values = "|warm-up|incomplete|slow",
     .help = "Why means leave the step out; or that it is one of the slow steps."},
};

const hu_table hu_table_steps = {
    .key = "list", .title = "Steps", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no time was recorded",
    .about = "Steps of the job; a step owns the GPU operations that it launched.",
};

static const hu_column role_columns[] = {
    {"number", "step", HU_CELL_COUNT, 5, NULL, number,
     .help = "N of ProfilerStep#N or of another numbered mark, else counted from 0."},
    {"duration_ns", "duration", HU_CELL_NS, 8, NULL, duration,
     .help = "Length of the step."},
    {"kernel_ns", "kernel", HU_CELL_NS, 8, NULL, role_kernel, .source = "torch-tb-profiler: Kernel",
     .help = "Time given to compute kernels."},
    {"memcpy_ns", "memcpy", HU_CELL_NS, 8, NULL, role_memcpy, .source = "torch-tb-profiler: Memcpy",
     .help = "Time given to memory copies."},
    {"memset_ns", "memset", HU_CELL_NS, 8, NULL, role_memset, .is_wide = true, .source = "torch-tb-profiler: Memset",
     .help = "Time given to memsets."},
    {"communication_ns", "comm", HU_CELL_NS, 8, NULL, role_communication, .source = "torch-tb-profiler: Communication",
     .help = "Time given to communication kernels and the host's part of communication."},
    {"runtime_ns", "runtime", HU_CELL_NS, 8, NULL, role_runtime, .source = "torch-tb-profiler: Runtime",
     .help = "Time given to runtime and driver calls."},
    {"data_loader_ns", "loader", HU_CELL_NS, 8, NULL, role_data_loader, .source = "torch-tb-profiler: DataLoader",
     .help = "Time given to waits for the data loader."},
    {"cpu_exec_ns", "cpu", HU_CELL_NS, 8, NULL, role_cpu_exec, .source = "torch-tb-profiler: CPU Exec",
     .help = "Time given to operators, annotations and Python on the host."},
    {"other_ns", "other", HU_CELL_NS, 8, NULL, role_other, .is_wide = true, .source = "torch-tb-profiler: Other",
     .help = "Time in which nothing was recorded."},
};

static const hu_table role_table = {
    .key = "categories", .title = "Each step by what it is busy with; each instant counts once",
    .columns = role_columns, .n_columns = HU_COUNT(role_columns), .rows = rows,
    .empty = "no time was recorded",
    .about = "Each step split by the categories of PyTorch's plugin for TensorBoard; each instant goes to the first that "
             "applies, from left to right.",
};
/* clang-format on */

static const hu_table *const tables[] = {&hu_table_steps, &role_table};

HU_FACT(count, d->steps.source == HU_STEPS_NONE ? 0 : d->steps.n)
HU_FACT(counted, hu_digest_step_count(d))
HU_FACT_TEXT(source, hu_str_of(hu_step_source_name(d->steps.source)))
HU_FACT_TEXT(what, d->steps.what)
HU_FACT(confidence, d->steps.confidence)
HU_FACT(mean, d->steps.duration.mean)
HU_FACT(by_marks, d->steps.source == HU_STEPS_NONE ? HU_ABSENT : d->steps.steady.by_marks_ns)
HU_FACT(by_ends, d->steps.source == HU_STEPS_NONE ? HU_ABSENT : d->steps.steady.by_ends_ns)
HU_FACT(backlog, d->steps.source == HU_STEPS_NONE ? HU_ABSENT : (double)d->steps.steady.backlog_ns)
#define PHASE(name, id)                     \
    HU_FACT(name##_n, d->steps.phase_n[id]) \
    HU_FACT(name##_mean, d->steps.phase_n[id] ? d->steps.phase_ns[id] : HU_ABSENT)

PHASE(prefill, HU_PHASE_PREFILL)
PHASE(decode, HU_PHASE_DECODE)
PHASE(mixed, HU_PHASE_MIXED)

static bool has_pauses(const hu_rank *rank)
{
    return rank->digest->steps.n_pauses > 0;
}

HU_FACT(pauses, d->steps.n_pauses)
HU_FACT(pauses_ns, d->steps.pauses_ns)
HU_FACT_TEXT(pause, d->steps.pause)
static bool has_slow(const hu_rank *rank)
{
    return rank->digest->slow_steps.n > 0;
}

HU_FACT(slow, d->slow_steps.n)
HU_FACT(slow_every, d->slow_steps.every)
HU_FACT(slow_ns, d->slow_steps.slow_ns)
HU_FACT(typical_ns, d->slow_steps.n ? d->slow_steps.typical_ns : HU_ABSENT)
HU_FACT_TEXT(slow_excess, d->slow_steps.n ? hu_str_of(hu_excess_name(d->slow_steps.excess)) : HU_STR(""))
HU_FACT_TEXT(slow_what, d->slow_steps.what)
HU_FACT(slow_what_ns, d->slow_steps.what_ns)
HU_FACT(rest, (double)d->breakdown.rest_ns)
HU_FACT(rest_busy, (double)d->breakdown.rest_busy_ns)
HU_FACT(stddev, d->steps.duration.stddev)
HU_FACT(median, d->steps.duration.median)
HU_FACT(p10, d->steps.duration.p10)
HU_FACT(p90, d->steps.duration.p90)

/* clang-format off */
static const hu_column facts[] = {
    {"count", "steps", HU_CELL_COUNT, 0, NULL, count, .values = "0..",
     .help = "Steps found, warm-up and incomplete ones included; 0 when nothing recurs."},
    {"counted", "counted in the means", HU_CELL_COUNT, 0, NULL, counted, .values = "0..",
     .help = "Steps that means are taken over."},
    {"source", "known from", HU_CELL_TEXT, 0, NULL, source, .values = "ProfilerStep|annotation|structure|none",
     .help = "How steps are known: ProfilerStep marks, another annotation, a period in the work itself (structure), or "
             "none."},
    {"what", "named", HU_CELL_TEXT, 0, NULL, what,
     .help = "Name of the mark or operation that begins each step; empty for none."},
    {"source_confidence", NULL, HU_CELL_NUMBER, 0, NULL, confidence, .values = "0..1", .unit = "0..1",
     .help = "1 for marks of the user, the share of positions that repeat for a period, 0 for none."},
    {"mean_ns", "mean", HU_CELL_NS, 0, NULL, mean, .values = "0..|null",
     .help = "Mean period of the counted steps, from the end of a step to that of the next; null when none counts."},
    {"by_marks_ns", "by host marks", HU_CELL_NS, 0, NULL, by_marks, .values = "0..|null",
     .help = "The same from one host mark to the next; null without steps."},
    {"by_ends_ns", "by GPU ends", HU_CELL_NS, 0, NULL, by_ends, .values = "0..|null",
     .help = "The same from the end of a step, the later of its mark and its GPU work, to that of the next; null without "
             "steps or GPU work."},
    {"prefill_steps", NULL, HU_CELL_COUNT, 0, NULL, prefill_n, .values = "0..",
     .help = "Counted steps in which a serving engine computes prompts alone; 0 of other jobs."},
    {"prefill_mean_ns", NULL, HU_CELL_NS, 0, NULL, prefill_mean, .values = "0..|null",
     .help = "Their mean period; null without."},
    {"decode_steps", NULL, HU_CELL_COUNT, 0, NULL, decode_n, .values = "0..",
     .help = "Counted steps in which a serving engine generates tokens alone; 0 of other jobs."},
    {"decode_mean_ns", NULL, HU_CELL_NS, 0, NULL, decode_mean, .values = "0..|null",
     .help = "Their mean period; null without."},
    {"mixed_steps", NULL, HU_CELL_COUNT, 0, NULL, mixed_n, .values = "0..",
     .help = "Counted steps of a serving engine that do both; 0 of other jobs."},
    {"mixed_mean_ns", NULL, HU_CELL_NS, 0, NULL, mixed_mean, .values = "0..|null",
     .help = "Their mean period; null without."},
    {"pauses", "pauses between steps", HU_CELL_COUNT, 0, has_pauses, pauses, .values = "0..",
     .help = "Rare long gaps between marks that are in no step: evaluations, for instance."},
    {"pauses_ns", "all pauses", HU_CELL_NS, 0, has_pauses, pauses_ns, .values = "0..",
     .help = "Time of all pauses, from the end of a step to the next mark."},
    {"pause", "mostly in", HU_CELL_TEXT, 0, has_pauses, pause,
     .help = "The range that takes most of the pauses; empty where none was recorded."},
    {"slow", "slow steps", HU_CELL_COUNT, 0, has_slow, slow, .values = "0..",
     .help = "Counted steps of more than 1.5 medians that stand apart from the others, if at most a third are such and "
             "they take a twentieth of all time."},
    {"slow_every", "one every so many steps", HU_CELL_COUNT, 0, has_slow, slow_every, .values = "0..",
     .help = "Their distance in steps, if it is always the same; else 0."},
    {"slow_ns", "their mean", HU_CELL_NS, 0, has_slow, slow_ns, .values = "0..",
     .help = "Their mean period; 0 without."},
    {"typical_ns", "mean of the others", HU_CELL_NS, 0, has_slow, typical_ns, .values = "0..|null",
     .help = "Mean period of all other counted steps; null without slow ones."},
    {"slow_excess", "the difference is", HU_CELL_TEXT, 0, has_slow, slow_excess,
     .values = "|unknown|range|compute|communication|copies|host",
     .help = "What takes most of the difference: a marked range, GPU compute, exposed communication or copies, or an "
             "operator, call or frame of the main thread; empty without slow steps."},
    {"slow_what", "mostly in", HU_CELL_TEXT, 0, has_slow, slow_what,
     .help = "Name of that range, operator, call or frame."},
    {"slow_what_ns", "which takes more by", HU_CELL_NS, 0, has_slow, slow_what_ns, .values = "0..",
     .help = "By how much more it takes in a slow step, mean."},
    {"rest_ns", "outside of steps", HU_CELL_NS, 0, NULL, rest, .values = "0..",
     .help = "Time of the capture that is in no step."},
    {"rest_busy_ns", NULL, HU_CELL_NS, 0, NULL, rest_busy, .values = "0..",
     .help = "How long the GPU works in that time."},
    {"backlog_ns", "GPU behind the last mark", HU_CELL_NS, 0, NULL, backlog, .values = "0..|null",
     .help = "How long after the last counted mark its GPU work ends; null without steps."},
    {"stddev_ns", "standard deviation", HU_CELL_NS, 0, NULL, stddev, .values = "0..|null",
     .help = "Sample standard deviation of their length; null for fewer than two."},
    {"median_ns", "median", HU_CELL_NS, 0, NULL, median, .values = "0..|null",
     .help = "Median length; null when none counts."},
    {"p10_ns", "10th percentile", HU_CELL_NS, 0, NULL, p10, .values = "0..|null",
     .help = "10th percentile of the length; null when none counts."},
    {"p90_ns", "90th percentile", HU_CELL_NS, 0, NULL, p90, .values = "0..|null",
     .help = "90th percentile of the length; null when none counts."},
};

const hu_view hu_view_steps = {
    .word = "steps", .is_alone = true, .key = "steps", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
        .n_tables = HU_COUNT(tables),
    .about = "each step: busy, compute, exposed parts, what it is busy with",
};
/* clang-format on */
