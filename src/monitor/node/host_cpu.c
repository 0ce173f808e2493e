/* SPDX-License-Identifier: Apache-2.0
 * host_cpu.c - a source: processors of the node: time by mode, load, clocks, heat.
 *
 * All of it is counters or slow, and /proc/stat costs a millisecond on a large machine (it sums up all interrupts of all
 * processors), so nothing is read in the fast group.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { CLOCKS_MOST = 16, PACKAGES_MOST = 16, PACKAGE_CPUS_MOST = 4096 };

static bool host_cpu_open(const hu_source_options *options, void **state, hu_readings *out)
{
    (void)out;
    return hu_folder_open(options->root, ".", "proc/stat", state);
}

/* Columns of proc(5), but guest time, which user time holds already. */
static bool put_modes(hu_str line, hu_readings *out)
{
    static const char *const modes[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
    const double             ticks = (double)sysconf(_SC_CLK_TCK);
    bool                     any = false;

    for (size_t i = 0; i < HU_COUNT(modes); i++) {
        uint64_t t;

        if (!hu_parse_u64(hu_cut_word(&line), &t))
            break;
        hu_put(out, HU_METRIC_CPU_SECONDS, (double)t / ticks, modes[i]);
        any = true;
    }
    return any;
}

static bool put_stat(const hu_folder *h, hu_readings *out)
{
    static const struct {
        const char *key;
        hu_metric   metric;
    } keys[] = {{"ctxt", HU_METRIC_CONTEXT_SWITCHES},
                {"btime", HU_METRIC_BOOT_TIME},
                {"procs_running", HU_METRIC_PROCS_RUNNING},
                {"procs_blocked", HU_METRIC_PROCS_BLOCKED}};
    hu_lines lines;
    hu_str   line;
    unsigned cpus = 0;
    bool     any = false;

    if (!hu_lines_open(&lines, h->fd, "proc/stat"))
        return false;
    while (hu_lines_next(&lines, &line)) {
        const hu_str key = hu_cut_word(&line);
        uint64_t     value;

        if (hu_str_equal(key, HU_STR("cpu")))
            any |= put_modes(line, out);
        else if (hu_str_starts(key, HU_STR("cpu")))
            cpus++;
        for (size_t i = 0; i < HU_COUNT(keys); i++)
            if (hu_str_equal(key, hu_str_of(keys[i].key)) && hu_parse_u64(hu_cut_word(&line), &value))
                hu_put_plain(out, keys[i].metric, (double)value);
    }
    if (cpus)
        hu_put_plain(out, HU_METRIC_CPUS, cpus);
    return any;
}

static void put_load(const hu_folder *h, hu_readings *out)
{
    static const hu_metric metrics[] = {HU_METRIC_LOAD1, HU_METRIC_LOAD5, HU_METRIC_LOAD15};
    char                   text[128];
    hu_str                 rest = hu_files_text(h->fd, "proc/loadavg", text, sizeof text);

    for (size_t i = 0; i < HU_COUNT(metrics); i++) {
        double value;

        if (!hu_parse_f64(hu_cut_word(&rest), &value))
            return;
        hu_put_plain(out, metrics[i], value);
    }
}

/* Of a few processors: since Linux 5.18 this wakes none of them up, but each file is a read of its own. */
static void put_clocks(const hu_folder *h, hu_readings *out)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    const long step = cpus > CLOCKS_MOST ? cpus / CLOCKS_MOST : 1;
    double     now = 0, most = 0;
    int        n = 0;

    for (long i = 0, tried = 0; i < cpus && tried < CLOCKS_MOST; i += step, tried++) {
        char     name[96];
        uint64_t khz, limit;

        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq", i);
        if (!hu_files_number(h->fd, name, &khz))
            continue;
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%ld/cpufreq/cpuinfo_max_freq", i);
        if (!hu_files_number(h->fd, name, &limit))
            continue;
        now += (double)khz * 1e3;
        most += (double)limit * 1e3;
        n++;
    }
    if (n) {
        hu_put_plain(out, HU_METRIC_CPU_FREQUENCY, now / n);
        hu_put_plain(out, HU_METRIC_CPU_FREQUENCY_MAX, most / n);
    }
}

/* The count of a package is the same on each of its processors: one of them is asked. */
static void put_throttles(const hu_folder *h, hu_readings *out)
{
    bool seen[PACKAGES_MOST] = {false};

    for (int cpu = 0, packages = 0; cpu < PACKAGE_CPUS_MOST && packages < PACKAGES_MOST; cpu++) {
        char     name[96], package[HU_NUMBER_BYTES];
        uint64_t id, count;

        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        if (!hu_files_number(h->fd, name, &id))
            return;
        if (id >= PACKAGES_MOST || seen[id])
            continue;
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", cpu);
        if (!hu_files_number(h->fd, name, &count))
            return; /* no processor of Intel's */
        seen[id] = true;
        packages++;
        hu_format_u64(package, id);
        hu_put(out, HU_METRIC_CPU_THROTTLES, (double)count, package);
    }
}

static bool host_cpu_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;

    if (group == HU_SAMPLE_MEDIUM) {
        put_load(h, out);
        return put_stat(h, out);
    }
    if (group == HU_SAMPLE_SLOW) {
        put_clocks(h, out);
        put_throttles(h, out);
    }
    return true;
}

const hu_source hu_source_host_cpu = {"host_cpu", HU_SAMPLER_HOST, host_cpu_open, host_cpu_sample, hu_folder_close};
