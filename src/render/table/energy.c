/* SPDX-License-Identifier: Apache-2.0
 * energy.c - what the GPUs, processors and memory used, in a step, and while the GPU waited. */
#include "base/rapl.h"
#include "render/table/cells.h"

static double known(int64_t n)
{
    return n < 0 ? HU_ABSENT : (double)n;
}

HU_NUMBER(device, gpu_clocks, known(r->device))
HU_NUMBER(number, gpu_clocks, r->number)
HU_NUMBER(watts, gpu_clocks, r->watts)
HU_NUMBER(joules, gpu_clocks, r->joules)
HU_NUMBER(step_joules, gpu_clocks, r->step_joules)
HU_NUMBER(split_ns, gpu_clocks, r->use.ns)
HU_NUMBER(split_joules, gpu_clocks, r->use.joules)
HU_NUMBER(idle_pct, gpu_clocks, hu_share_pct(r->use.idle_ns, r->use.ns))
HU_NUMBER(idle_low, gpu_clocks, r->use.idle_low)
HU_NUMBER(idle_high, gpu_clocks, r->use.idle_high)
HU_NUMBER(comm_pct, gpu_clocks, hu_share_pct(r->use.exposed_ns, r->use.ns))
HU_NUMBER(comm_low, gpu_clocks, r->use.exposed_low)
HU_NUMBER(comm_high, gpu_clocks, r->use.exposed_high)
HU_NUMBER(idle_watts, gpu_clocks, r->use.idle_watts)
HU_PLAIN_TEXT_OF(uuid, d->gpu_clocks.at, r->uuid)
HU_ROWS(gpu_rows, gpu_clocks)

HU_PLAIN_TEXT_OF(zone, d->host_energy.at, r->name)
HU_PLAIN_TEXT_OF(kind, d->host_energy.at, hu_str_of(hu_rapl_kind_word((hu_rapl_kind)r->kind)))
HU_NUMBER(counts, host_energy, hu_energy_zone_counts(r))
HU_NUMBER(zone_watts, host_energy, r->watts)
HU_NUMBER(zone_joules, host_energy, r->joules)
HU_NUMBER(zone_step_joules, host_energy, r->step_joules)
HU_PLAIN_TEXT_OF(host, d->host_energy.at, r->host)
HU_ROWS(zone_rows, host_energy)

/* clang-format off */
#define BOUNDS " null where the GPU is shared or divided (MIG), or its work is not known."

static const hu_column gpu_columns[] = {
    {"device", "GPU", HU_CELL_ID, 4, NULL, device,
     .help = "Number that CUDA gives it; null where it is not known."},
    {"number", "nvidia-smi", HU_CELL_ID, 10, NULL, number,
     .help = "Number that the driver gives it."},
    {"watts", "power", HU_CELL_NUMBER, 7, NULL, watts, .unit = "W",
     .help = "Mean power of the board, over its samples of power."},
    {"joules", "energy", HU_CELL_NUMBER, 9, NULL, joules, .unit = "J",
     .help = "Energy of the board from the first sample to the last: the difference of the driver's counter."},
    {"step_joules", "J per step", HU_CELL_NUMBER, 10, NULL, step_joules, .unit = "J",
     .help = "Energy of the board in a mean step; null with fewer than 10 samples in the steps that count."},
    {"split_ns", "in", HU_CELL_NS, 9, NULL, split_ns, .is_wide = true,
     .help = "Time whose energy is split up: the counted steps that were sampled; without steps, from the first GPU work to "
             "the last."},
    {"split_joules", "of", HU_CELL_NUMBER, 9, NULL, split_joules, .unit = "J", .is_wide = true,
     .help = "Energy of that time."},
    {"idle_pct", "idle", HU_CELL_PERCENT, 7, NULL, idle_pct,
     .help = "Share of that time in which the trace has no work on this GPU."},
    {"idle_joules_low", "J at least", HU_CELL_NUMBER, 10, NULL, idle_low, .unit = "J",
     .help = "Least energy that went into the idle part of that time." BOUNDS},
    {"idle_joules_high", "at most", HU_CELL_NUMBER, 9, NULL, idle_high, .unit = "J",
     .help = "Most energy that went into the idle part of that time." BOUNDS},
    {"comm_pct", "comm", HU_CELL_PERCENT, 7, NULL, comm_pct, .is_wide = true,
     .help = "Share of that time that is exposed communication: |comm \xe2\x88\x96 compute| on this GPU."},
    {"comm_joules_low", "J at least", HU_CELL_NUMBER, 10, NULL, comm_low, .unit = "J", .is_wide = true,
     .help = "Least energy that went into exposed communication in that time." BOUNDS},
    {"comm_joules_high", "at most", HU_CELL_NUMBER, 9, NULL, comm_high, .unit = "J", .is_wide = true,
     .help = "Most energy that went into exposed communication in that time." BOUNDS},
    {"idle_watts", "idle power", HU_CELL_NUMBER, 10, NULL, idle_watts, .unit = "W", .is_wide = true,
     .help = "Least mean power between two changes of the counter in which the GPU had no work at all; null where no idle "
             "time was that long."},
    {"uuid", "UUID", HU_CELL_TEXT, 40, NULL, uuid, .is_wide = true,
     .help = "Its UUID."},
};

static const hu_table gpus = {
    .key = "gpus", .title = "Energy of GPUs", .columns = gpu_columns, .n_columns = HU_COUNT(gpu_columns), .rows = gpu_rows,
    .about = "One GPU that was sampled beside the recording, by the counter of its driver.",
    .empty = "no GPU was sampled",
};

#define KINDS "package|memory|platform|part"

static const hu_column zone_columns[] = {
    {"zone", "zone", HU_CELL_TEXT, 18, NULL, zone,
     .help = "Name that the kernel gives it: a package and its number, behind a slash a part of it; psys is the platform."},
    {"kind", "kind", HU_CELL_TEXT, 9, NULL, kind, .values = KINDS,
     .help = "package: a processor with its cores and caches; memory: the DRAM of a package; part: a part of a "
             "package; platform: the whole board."},
    {"is_counted", "in sum", HU_CELL_BOOL, 6, NULL, counts, .is_wide = true,
     .help = "Whether it is part of the sums: packages and memory are; parts and the platform would count twice."},
    {"watts", "power", HU_CELL_NUMBER, 8, NULL, zone_watts, .unit = "W",
     .help = "Mean power from the first sample to the last."},
    {"joules", "energy", HU_CELL_NUMBER, 10, NULL, zone_joules, .unit = "J",
     .help = "Energy from the first sample to the last, of all that runs on the node; null where the counter began anew."},
    {"step_joules", "J per step", HU_CELL_NUMBER, 10, NULL, zone_step_joules, .unit = "J",
     .help = "Energy in a mean step; null with fewer than 10 samples in the steps that count."},
    {"host", "node", HU_CELL_TEXT, 20, NULL, host, .is_wide = true,
     .help = "Node whose counter it is."},
};

static const hu_table zones = {
    .key = "zones", .title = "Energy of processors and memory", .columns = zone_columns, .n_columns = HU_COUNT(zone_columns),
    .rows = zone_rows,
    .about = "One energy counter of the node's processors (RAPL): it counts all that runs there, not the job alone.",
    .empty = "no counter of processors was sampled",
};
/* clang-format on */

HU_FACT(gpu_sum, hu_gpu_clocks_joules(&d->gpu_clocks))
HU_FACT(gpu_step, hu_gpu_clocks_step_joules(&d->gpu_clocks))
HU_FACT(cpu_sum, hu_host_energy_joules(&d->host_energy))
HU_FACT(cpu_step, hu_host_energy_step_joules(&d->host_energy))
HU_FACT_TEXT(rapl, d->host_energy.state < 0 ? HU_STR("not asked")
                                            : hu_str_of(hu_rapl_state_word((hu_rapl_state)d->host_energy.state)))

/* clang-format off */
static const hu_column facts[] = {
    {"gpu_joules", "energy of the GPUs", HU_CELL_NUMBER, 0, NULL, gpu_sum, .unit = "J",
     .help = "Sum over the GPUs, from the first sample to the last; null where one does not tell."},
    {"gpu_step_joules", "in a mean step", HU_CELL_NUMBER, 0, NULL, gpu_step, .unit = "J",
     .help = "The same in a mean step."},
    {"cpu_joules", "energy of processors and memory", HU_CELL_NUMBER, 0, NULL, cpu_sum, .unit = "J",
     .help = "Sum over packages and the memory beside them, from the first sample to the last; null where it is not known."},
    {"cpu_step_joules", "in a mean step", HU_CELL_NUMBER, 0, NULL, cpu_step, .unit = "J",
     .help = "The same in a mean step."},
    {"rapl", "counters of processors", HU_CELL_TEXT, 0, NULL, rapl, .values = "read|none|hidden|denied|failed|not asked",
     .help = "Whether the counters of processors (RAPL) were read; none: the machine has none, hidden: a container hides "
             "them, denied: only root may read them, failed: they give no number, not asked: the recording did not try."},
};
/* clang-format on */

static const hu_table *const tables[] = {&gpus, &zones};

static bool has(const hu_rank *rank)
{
    return rank->digest->gpu_clocks.n > 0 || rank->digest->host_energy.state >= 0;
}

/* clang-format off */
const hu_view hu_view_energy = {
    .word = "energy", .key = "energy", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has,
    .about = "joules of GPUs and processors: per step, while GPUs waited",
    .nothing = "no energy was sampled: holdup run samples GPUs (NVML) and, as root, processors (RAPL); report --with FILE "
               "lays a monitor's log beside a trace",
};
/* clang-format on */
