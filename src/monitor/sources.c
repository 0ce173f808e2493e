/* SPDX-License-Identifier: Apache-2.0
 * sources.c - the table of sources; a new one is a file and a row here. */
#include "monitor/source.h"

extern const hu_source hu_source_amd;
extern const hu_source hu_source_cgroup_limits;
extern const hu_source hu_source_dcgm;
extern const hu_source hu_source_host_clock;
extern const hu_source hu_source_host_cpu;
extern const hu_source hu_source_host_disk;
extern const hu_source hu_source_host_memory;
extern const hu_source hu_source_host_network;
extern const hu_source hu_source_host_nfs;
extern const hu_source hu_source_host_power;
extern const hu_source hu_source_host_pressure;
extern const hu_source hu_source_infiniband;
extern const hu_source hu_source_intel;
extern const hu_source hu_source_nvidia;
extern const hu_source hu_source_demo_gpu, hu_source_demo_jobs, hu_source_demo_live;
extern const hu_source hu_source_jobs;
extern const hu_source hu_source_live;

/* clang-format off */
const hu_source *const hu_sources[] = {
    &hu_source_nvidia, /* before others of its sampler: it may take long to begin, and they speak for it (keeper.c) */
    &hu_source_dcgm, /* behind it: it looks at what that one found */
    &hu_source_amd,
    &hu_source_intel,
    &hu_source_host_cpu,
    &hu_source_host_memory,
    &hu_source_host_pressure,
    &hu_source_host_disk,
    &hu_source_host_nfs,
    &hu_source_host_network,
    &hu_source_infiniband,
    &hu_source_host_power,
    &hu_source_host_clock,
    &hu_source_cgroup_limits,
    &hu_source_demo_gpu,
    &hu_source_demo_jobs,
    &hu_source_demo_live,
    &hu_source_jobs,
    &hu_source_live,
    NULL,
};
/* clang-format on */

size_t hu_sources_count(void)
{
    return sizeof hu_sources / sizeof *hu_sources - 1;
}

int64_t hu_source_period_ns(const hu_source_options *options, hu_sample_group group)
{
    const int medium = options->medium_factor ? options->medium_factor : HU_MEDIUM_FACTOR;
    const int slow = options->slow_factor ? options->slow_factor : HU_SLOW_FACTOR;

    return options->period_ns * (group == HU_SAMPLE_FAST ? 1 : group == HU_SAMPLE_MEDIUM ? medium : slow);
}

bool hu_source_is_asked(const hu_source *s, const hu_source_options *options)
{
    const bool is_demo = s == &hu_source_demo_gpu || s == &hu_source_demo_jobs || s == &hu_source_demo_live;

    if (s == &hu_source_dcgm && !options->dcgm)
        return false;
    return options->scenario ? is_demo || s->sampler == HU_SAMPLER_HOST : !is_demo;
}
