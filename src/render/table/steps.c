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

    out->text = s->is_warm_up ? HU_STR("warm-up") : s->is_incomplete ? HU_STR("incomplete") : HU_STR("");
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
STEP(role_kernel, t->role_ns[HU_ROLE_KERNEL])
STEP(role_memcpy, t->role_ns[HU_ROLE_MEMCPY])
STEP(role_memset, t->role_ns[HU_ROLE_MEMSET])
STEP(role_communication, t->role_ns[HU_ROLE_COMMUNICATION])
STEP(role_runtime, t->role_ns[HU_ROLE_RUNTIME])
STEP(role_data_loader, t->role_ns[HU_ROLE_DATA_LOADER])
STEP(role_cpu_exec, t->role_ns[HU_ROLE_CPU_EXEC])
STEP(role_other, t->role_ns[HU_ROLE_OTHER])

static const hu_column columns[] = {
    {"number", "step", HU_CELL_COUNT, 5, NULL, number},
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, start},
    {"duration_ns", "duration", HU_CELL_NS, 9, NULL, duration},
    {"gpu_busy_pct", "busy%", HU_CELL_PERCENT, 5, hu_has_device, busy},
    {"compute_ns", "compute", HU_CELL_NS, 8, hu_has_device, compute},
    {"exposed_comm_ns", "exp comm", HU_CELL_NS, 8, hu_has_device, comm},
    {"exposed_copy_ns", "exp copy", HU_CELL_NS, 8, hu_has_device, copy},
    {"idle_ns", "idle", HU_CELL_NS, 8, hu_has_device, idle},
    {"device_slices", NULL, HU_CELL_COUNT, 0, NULL, device_slices},
    {"kernel_ns", NULL, HU_CELL_NS, 0, NULL, role_kernel},
    {"memcpy_ns", NULL, HU_CELL_NS, 0, NULL, role_memcpy},
    {"memset_ns", NULL, HU_CELL_NS, 0, NULL, role_memset},
    {"communication_ns", "comm", HU_CELL_NS, 9, hu_has_no_device, role_communication},
    {"runtime_ns", NULL, HU_CELL_NS, 0, NULL, role_runtime},
    {"data_loader_ns", "loader", HU_CELL_NS, 9, hu_has_no_device, role_data_loader},
    {"cpu_exec_ns", "cpu exec", HU_CELL_NS, 9, hu_has_no_device, role_cpu_exec},
    {"other_ns", "other", HU_CELL_NS, 9, hu_has_no_device, role_other},
    {"is_warm_up", NULL, HU_CELL_BOOL, 0, NULL, warm_up},
    {"is_incomplete", NULL, HU_CELL_BOOL, 0, NULL, incomplete},
    {"name", NULL, HU_CELL_TEXT, 0, NULL, name},
    {"note", "note", HU_CELL_TEXT, 0, NULL, note},
};

const hu_table hu_table_steps = {"list", "Steps", "no time was recorded", columns, HU_COUNT(columns), rows};

static const hu_column role_columns[] = {
    {"number", "step", HU_CELL_COUNT, 5, NULL, number},
    {"duration_ns", "duration", HU_CELL_NS, 8, NULL, duration},
    {"kernel_ns", "kernel", HU_CELL_NS, 8, NULL, role_kernel},
    {"memcpy_ns", "memcpy", HU_CELL_NS, 8, NULL, role_memcpy},
    {"memset_ns", "memset", HU_CELL_NS, 8, NULL, role_memset, true},
    {"communication_ns", "comm", HU_CELL_NS, 8, NULL, role_communication},
    {"runtime_ns", "runtime", HU_CELL_NS, 8, NULL, role_runtime},
    {"data_loader_ns", "loader", HU_CELL_NS, 8, NULL, role_data_loader},
    {"cpu_exec_ns", "cpu", HU_CELL_NS, 8, NULL, role_cpu_exec},
    {"other_ns", "other", HU_CELL_NS, 8, NULL, role_other, true},
};

static const hu_table role_table = {"categories",           "TensorBoard's categories; each instant counts once",
                                    "no time was recorded", role_columns,
                                    HU_COUNT(role_columns), rows};

static const hu_table *const tables[] = {&hu_table_steps, &role_table};

HU_FACT(count, d->steps.source == HU_STEPS_NONE ? 0 : d->steps.n)
HU_FACT(counted, hu_digest_step_count(d))
HU_FACT_TEXT(source, hu_str_of(hu_step_source_name(d->steps.source)))
HU_FACT_TEXT(what, d->steps.what)
HU_FACT(confidence, d->steps.confidence)
HU_FACT(mean, d->steps.duration.mean)
HU_FACT(stddev, d->steps.duration.stddev)
HU_FACT(median, d->steps.duration.median)
HU_FACT(p10, d->steps.duration.p10)
HU_FACT(p90, d->steps.duration.p90)

static const hu_column facts[] = {
    {"count", "steps", HU_CELL_COUNT, 0, NULL, count},
    {"counted", "counted in the means", HU_CELL_COUNT, 0, NULL, counted},
    {"source", "known from", HU_CELL_TEXT, 0, NULL, source},
    {"what", "named", HU_CELL_TEXT, 0, NULL, what},
    {"source_confidence", NULL, HU_CELL_NUMBER, 0, NULL, confidence},
    {"mean_ns", "mean", HU_CELL_NS, 0, NULL, mean},
    {"stddev_ns", "standard deviation", HU_CELL_NS, 0, NULL, stddev},
    {"median_ns", "median", HU_CELL_NS, 0, NULL, median},
    {"p10_ns", "10 % are below", HU_CELL_NS, 0, NULL, p10},
    {"p90_ns", "90 % are below", HU_CELL_NS, 0, NULL, p90},
};

/* clang-format off */
const hu_view hu_view_steps = {
    .word = "steps", .key = "steps", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
        .n_tables = HU_COUNT(tables),
    .about = "each step: busy, compute, exposed parts, TensorBoard's categories",
};
/* clang-format on */
