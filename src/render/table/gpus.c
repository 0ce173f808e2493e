/* SPDX-License-Identifier: Apache-2.0
 * gpus.c - what was sampled of the GPUs during a run. */
#include "render/table/cells.h"

/* NaN stays: not known. */
static double busy_share(const hu_gpu_clock *r)
{
    return r->seen_ns > 0 ? 100 * r->busy_ns / r->seen_ns : HU_ABSENT;
}

static double known(int64_t n)
{
    return n < 0 ? HU_ABSENT : (double)n;
}

HU_NUMBER(device, gpu_clocks, known(r->device))
HU_NUMBER(number, gpu_clocks, r->number)
HU_PLAIN_TEXT_OF(name, d->gpu_clocks.at, r->name)
HU_PLAIN_TEXT_OF(uuid, d->gpu_clocks.at, r->uuid)
HU_PLAIN_TEXT_OF(bus, d->gpu_clocks.at, r->bus)
HU_PLAIN_TEXT_OF(driver, d->gpu_clocks.at, r->driver)
HU_NUMBER(ours, gpu_clocks, r->is_ours)
HU_NUMBER(mig, gpu_clocks, r->is_mig)
HU_NUMBER(others, gpu_clocks, known(r->others))
HU_NUMBER(seen, gpu_clocks, r->seen_ns)
HU_NUMBER(busy, gpu_clocks, busy_share(r))
HU_NUMBER(clock, gpu_clocks, r->sm_mhz)
HU_NUMBER(most_clock, gpu_clocks, r->most_sm_mhz)
HU_NUMBER(watts, gpu_clocks, r->watts)
HU_NUMBER(most_watts, gpu_clocks, r->most_watts)
HU_NUMBER(joules, gpu_clocks, r->joules)
HU_NUMBER(step_joules, gpu_clocks, r->step_joules)
HU_NUMBER(memory, gpu_clocks, r->memory_bytes)
HU_NUMBER(celsius, gpu_clocks, r->celsius)
HU_NUMBER(limited, gpu_clocks, 100 * hu_gpu_clock_limited(r))
HU_NUMBER(limited_clock, gpu_clocks, r->limited_mhz)
HU_PLAIN_TEXT_OF(limits, d->gpu_clocks.at, r->limits)
HU_NUMBER(xids, gpu_clocks, known(r->xid_count))
HU_NUMBER(xid, gpu_clocks, known(r->last_xid))
HU_PLAIN_TEXT_OF(problem, d->gpu_clocks.at, r->problem)
HU_ROWS(rows, gpu_clocks)

/* clang-format off */
static const hu_column columns[] = {
    {"device", "GPU", HU_CELL_ID, 4, NULL, device,
     .help = "Number that CUDA gives it, as in all rows of GPU work; null where it is not known: no GPU work was recorded, "
             "its UUID is not known, or processes of the job number the GPUs in different ways."},
    {"number", "nvidia-smi", HU_CELL_ID, 10, NULL, number,
     .help = "Number that the driver gives it."},
    {"busy_pct", "busy", HU_CELL_PERCENT, 7, NULL, busy,
     .help = "Share of the sampled time in which it worked: by the trace's GPU operations where it is known that they "
             "ran here, else by the driver's utilization; null where neither tells."},
    {"sm_mhz", "clock", HU_CELL_NUMBER, 7, NULL, clock, .unit = "MHz",
     .help = "Mean clock of its SMs in the busy time."},
    {"max_sm_mhz", "of", HU_CELL_NUMBER, 7, NULL, most_clock, .unit = "MHz",
     .help = "Highest clock of its SMs."},
    {"limited_pct", "lowered", HU_CELL_PERCENT, 8, NULL, limited,
     .help = "Share of the busy time in which the driver told a reason that lowers the clock; null where it tells none."},
    {"limited_sm_mhz", "clock then", HU_CELL_NUMBER, 10, NULL, limited_clock, .unit = "MHz", .is_wide = true,
     .help = "Mean clock of its SMs in that time."},
    {"watts", "power", HU_CELL_NUMBER, 7, NULL, watts, .unit = "W",
     .help = "Mean power of the board."},
    {"max_watts", "of", HU_CELL_NUMBER, 7, NULL, most_watts, .unit = "W", .is_wide = true,
     .help = "Its power limit."},
    {"joules", "energy", HU_CELL_NUMBER, 9, NULL, joules, .unit = "J",
     .help = "Energy of the board from the first sample to the last, by the driver's counter."},
    {"step_joules", "J per step", HU_CELL_NUMBER, 10, NULL, step_joules, .unit = "J",
     .help = "Energy of the board in a mean step; null with fewer than 10 samples in the steps that count."},
    {"memory_bytes", "memory", HU_CELL_BYTES, 9, NULL, memory,
     .help = "Most memory in use, by all processes on it."},
    {"celsius", "temp.", HU_CELL_NUMBER, 6, NULL, celsius, .unit = "C", .is_wide = true,
     .help = "Highest temperature, in degrees Celsius."},
    {"is_ours", "used", HU_CELL_BOOL, 5, NULL, ours, .is_wide = true,
     .help = "Whether the job worked on it, or its processes were seen on it; if not, it is one that the job may use."},
    {"other_processes", "others", HU_CELL_COUNT, 7, NULL, others, .is_wide = true,
     .help = "Processes seen on it that are not the job's: power, energy and memory are theirs too; null unknown."},
    {"is_mig", "MIG", HU_CELL_BOOL, 4, NULL, mig, .is_wide = true,
     .help = "Whether it is divided (MIG): clocks, power and energy are of all parts."},
    {"sampled_ns", "sampled", HU_CELL_NS, 9, NULL, seen, .is_wide = true,
     .help = "Time for which there are samples."},
    {"xid_count", "XIDs", HU_CELL_COUNT, 5, NULL, xids, .is_wide = true,
     .help = "Errors (XID) that the driver told of; null none."},
    {"last_xid", "last XID", HU_CELL_ID, 8, NULL, xid, .is_wide = true,
     .help = "Number of the last of them."},
    {"bus", "PCI", HU_CELL_TEXT, 16, NULL, bus, .is_wide = true,
     .help = "Its place on the PCI bus."},
    {"uuid", "UUID", HU_CELL_TEXT, 40, NULL, uuid, .is_wide = true,
     .help = "Its UUID."},
    {"driver", "driver", HU_CELL_TEXT, 10, NULL, driver, .is_wide = true,
     .help = "Version of the driver."},
    {"name", "name", HU_CELL_TEXT, 24, NULL, name, .is_wide = true,
     .help = "What it is called."},
    {"problem", "ended by", HU_CELL_TEXT, 12, NULL, problem, .is_wide = true,
     .help = "Why it stopped giving values; empty where it did not."},
    {"limits", "clock lowered by", HU_CELL_TEXT, 0, NULL, limits,
     .help = "What lowered its clock, with shares of the busy time; several may hold at once."},
};

static const hu_table gpus = {
    .key = "gpus", .title = "GPUs, sampled during the run",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "none: no NVIDIA driver was loaded, or --gpu-sample none",
    .about = "Clocks, power and use of the GPUs, which holdup run samples through NVML (--gpu-sample).",
};
/* clang-format on */

HU_FACT(n, (double)d->gpu_clocks.n)
HU_FACT(sum, hu_gpu_clocks_joules(&d->gpu_clocks))
HU_FACT(each, hu_gpu_clocks_step_joules(&d->gpu_clocks))

/* clang-format off */
static const hu_column facts[] = {
    {"gpu_count", "GPUs sampled", HU_CELL_COUNT, 0, NULL, n,
     .help = "Number of GPUs that were sampled."},
    {"joules", "energy of all", HU_CELL_NUMBER, 0, NULL, sum, .unit = "J",
     .help = "Sum of the energy of these GPUs; null where one does not tell."},
    {"step_joules", "energy per step", HU_CELL_NUMBER, 0, NULL, each, .unit = "J",
     .help = "Sum of their energy in a mean step; null where one does not tell."},
};
/* clang-format on */

static const hu_table *const tables[] = {&gpus};

static bool has(const hu_rank *rank)
{
    return rank->digest->gpu_clocks.n > 0;
}

/* clang-format off */
const hu_view hu_view_gpus = {
    .word = "gpus", .key = "gpus", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has,
    .about = "clocks of the GPUs and what lowered them, power, energy per step",
};
/* clang-format on */
