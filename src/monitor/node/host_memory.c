/* SPDX-License-Identifier: Apache-2.0
 * host_memory.c - a source: memory of the node (/proc/meminfo), swapping and killed processes (/proc/vmstat). */
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

typedef struct {
    const char *key;
    hu_metric   metric;
    bool        is_pages; /* of vmstat: pages, which become bytes */
} row;

/* Without a unit a value of meminfo is a count of huge pages. */
static const row meminfo_rows[] = {
    {"MemTotal", HU_METRIC_MEMORY_TOTAL, false},
    {"MemFree", HU_METRIC_MEMORY_FREE, false},
    {"MemAvailable", HU_METRIC_MEMORY_AVAILABLE, false},
    {"Buffers", HU_METRIC_MEMORY_BUFFERS, false},
    {"Cached", HU_METRIC_MEMORY_CACHED, false},
    {"Shmem", HU_METRIC_MEMORY_SHARED, false},
    {"AnonPages", HU_METRIC_MEMORY_ANONYMOUS, false},
    {"Dirty", HU_METRIC_MEMORY_DIRTY, false},
    {"Writeback", HU_METRIC_MEMORY_WRITEBACK, false},
    {"Unevictable", HU_METRIC_MEMORY_UNEVICTABLE, false},
    {"SUnreclaim", HU_METRIC_MEMORY_SLAB, false},
    {"SwapTotal", HU_METRIC_SWAP_TOTAL, false},
    {"SwapFree", HU_METRIC_SWAP_FREE, false},
};

static const row vmstat_rows[] = {
    {"oom_kill", HU_METRIC_OOM_KILLS, false},
    {"pswpin", HU_METRIC_SWAPPED_IN, true},
    {"pswpout", HU_METRIC_SWAPPED_OUT, true},
    {"pgmajfault", HU_METRIC_MAJOR_FAULTS, false},
};

static bool host_memory_open(const hu_source_options *options, void **state, hu_readings *out)
{
    (void)out;
    return hu_folder_open(options->root, ".", "proc/meminfo", state);
}

static bool put_meminfo(const hu_folder *h, hu_readings *out)
{
    uint64_t pages = 0, free_pages = 0, page_kib = 0;
    bool     has_pages = false, has_free = false, any = false;
    hu_lines lines;
    hu_str   line;

    if (!hu_lines_open(&lines, h->fd, "proc/meminfo"))
        return false;
    while (hu_lines_next(&lines, &line)) {
        const hu_str key = hu_cut(&line, ':');
        uint64_t     value;

        if (!hu_parse_u64(hu_cut_word(&line), &value))
            continue;
        if (hu_str_equal(key, HU_STR("HugePages_Total"))) {
            pages = value;
            has_pages = true;
        } else if (hu_str_equal(key, HU_STR("HugePages_Free"))) {
            free_pages = value;
            has_free = true;
        } else if (hu_str_equal(key, HU_STR("Hugepagesize"))) {
            page_kib = value;
        }
        if (!hu_str_equal(hu_cut_word(&line), HU_STR("kB")))
            continue;
        for (size_t i = 0; i < HU_COUNT(meminfo_rows); i++)
            if (hu_str_equal(key, hu_str_of(meminfo_rows[i].key))) {
                hu_put_plain(out, meminfo_rows[i].metric, (double)value * 1024);
                any = true;
            }
    }
    if (page_kib && has_pages)
        hu_put_plain(out, HU_METRIC_HUGEPAGES_TOTAL, (double)pages * (double)page_kib * 1024);
    if (page_kib && has_free)
        hu_put_plain(out, HU_METRIC_HUGEPAGES_FREE, (double)free_pages * (double)page_kib * 1024);
    return any;
}

static void put_vmstat(const hu_folder *h, hu_readings *out)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    hu_lines     lines;
    hu_str       line;

    if (!hu_lines_open(&lines, h->fd, "proc/vmstat"))
        return;
    while (hu_lines_next(&lines, &line)) {
        const hu_str key = hu_cut_word(&line);
        uint64_t     value;

        for (size_t i = 0; i < HU_COUNT(vmstat_rows); i++)
            if (hu_str_equal(key, hu_str_of(vmstat_rows[i].key)) && hu_parse_u64(hu_cut_word(&line), &value))
                hu_put_plain(out, vmstat_rows[i].metric, (double)value * (vmstat_rows[i].is_pages ? page : 1));
    }
}

static bool host_memory_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;

    if (group != HU_SAMPLE_MEDIUM)
        return true;
    put_vmstat(h, out);
    return put_meminfo(h, out);
}

const hu_source hu_source_host_memory = {"host_memory", HU_SAMPLER_HOST, host_memory_open, host_memory_sample,
                                         hu_folder_close};
