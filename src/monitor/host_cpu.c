/* SPDX-License-Identifier: Apache-2.0
 * host_cpu.c - a source: CPU time of the node (/proc/stat). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/source.h"

typedef struct {
    char path[512];
} host_cpu;

static bool host_cpu_open(const hu_source_options *options, void **state, hu_readings *out)
{
    host_cpu *h = calloc(1, sizeof *h);

    (void)out;
    if (!h)
        return false;
    snprintf(h->path, sizeof h->path, "%s/proc/stat", options->root);
    *state = h;
    return true;
}

/* Columns of proc(5), but guest time, which user time holds already. */
static bool host_cpu_sample(void *state, hu_sample_group group, hu_readings *out)
{
    static const char *const modes[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
    const host_cpu          *h = state;
    const double             ticks = (double)sysconf(_SC_CLK_TCK);
    unsigned long long       t[sizeof modes / sizeof *modes] = {0};
    FILE                    *file;
    int                      n;

    if (group != HU_GROUP_FAST)
        return true;
    file = fopen(h->path, "re");
    if (!file)
        return false;
    n = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    fclose(file);
    for (int i = 0; i < n; i++)
        hu_put(out, HU_METRIC_CPU_SECONDS, (double)t[i] / ticks, modes[i]);
    hu_put_plain(out, HU_METRIC_CPUS, (double)sysconf(_SC_NPROCESSORS_ONLN));
    return n > 0;
}

const hu_source hu_source_host_cpu = {"host_cpu", HU_SAMPLER_HOST, host_cpu_open, host_cpu_sample, free};
