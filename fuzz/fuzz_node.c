/* SPDX-License-Identifier: Apache-2.0
 * fuzz_node.c - what the monitor reads of a node: the table of AMD's firmware, fdinfo of a graphics driver, and files of /proc
 * and /sys through the sources that read them.
 *
 * The first byte says which of these the rest is.  Whatever it says, a source ends its look, and puts only numbers.
 */
#undef NDEBUG /* its assertions are what it is for */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/gpus/amd_metrics.h"
#include "monitor/gpus/drm_clients.h"
#include "monitor/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const hu_source hu_source_cgroup_limits, hu_source_host_cpu, hu_source_host_disk, hu_source_host_memory,
    hu_source_host_network, hu_source_host_nfs, hu_source_host_pressure, hu_source_infiniband;

static const struct {
    const hu_source *source;
    const char      *file;
} places[] = {
    {&hu_source_host_cpu, "proc/stat"},
    {&hu_source_host_cpu, "proc/loadavg"},
    {&hu_source_host_memory, "proc/meminfo"},
    {&hu_source_host_memory, "proc/vmstat"},
    {&hu_source_host_pressure, "proc/pressure/cpu"},
    {&hu_source_host_disk, "proc/diskstats"},
    {&hu_source_host_disk, "proc/self/mountinfo"},
    {&hu_source_host_network, "proc/net/dev"},
    {&hu_source_host_network, "proc/net/snmp"},
    {&hu_source_infiniband, "sys/class/infiniband/x/ports/1/rate"},
    {&hu_source_cgroup_limits, "sys/fs/cgroup/cpu.stat"},
    {&hu_source_cgroup_limits, "sys/fs/cgroup/memory.events"},
    {&hu_source_host_nfs, "proc/self/mountstats"},
};

enum { PLACES = sizeof places / sizeof *places };

static char root[] = "/tmp/holdup-fuzz-node-XXXXXX";

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char  path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", root, name);
    file = fopen(path, "w");
    for (char *at = path + sizeof root; !file && (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    if (!file)
        file = fopen(path, "w");
    assert(file);
    if (size)
        fwrite(data, 1, size, file);
    fclose(file);
}

static void remove_tree(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        perror(root);
}

static void make_tree(void)
{
    static const char text[] = "some avg10=0.00 total=1\n", groups[] = "cpu memory\n", limit[] = "1 1\n";

    assert(mkdtemp(root));
    atexit(remove_tree);
    for (size_t i = 0; i < PLACES; i++)
        write_file(places[i].file, (const uint8_t *)text, sizeof text - 1);
    write_file("sys/fs/cgroup/cgroup.controllers", (const uint8_t *)groups, sizeof groups - 1);
    write_file("sys/fs/cgroup/cpu.max", (const uint8_t *)limit, sizeof limit - 1);
}

/* One look of each kind at the tree in which this file is the input. */
static void look(const hu_source *source, const char *file, const uint8_t *data, size_t size)
{
    const hu_source_options options = {.root = root, .period_ns = 1000000000};
    hu_readings             out = {0};
    hu_reading              one;
    void                   *state;
    size_t                  at = 0;

    write_file(file, data, size);
    if (source->open(&options, &state, &out)) {
        for (int group = 0; group < HU_SAMPLE_GROUPS; group++)
            source->sample(state, (hu_sample_group)group, &out);
        source->close(state);
    }
    while (hu_readings_next(&out, &at, &one))
        assert(isfinite(one.value));
    assert(at == out.head.bytes);
    hu_readings_free(&out);
    write_file(file, (const uint8_t *)"some total=1\n", 13);
}

static void decode(const uint8_t *data, size_t size)
{
    hu_amd_metrics m;

    if (!hu_amd_metrics_decode(data, size, &m))
        return;
    assert(size >= (size_t)(data[0] | data[1] << 8));
    assert(isnan(m.busy) || (m.busy >= 0 && m.busy <= 1));
    assert(isnan(m.memory_busy) || (m.memory_busy >= 0 && m.memory_busy <= 1));
}

static void parse(const uint8_t *data, size_t size)
{
    hu_drm_fdinfo f;

    if (!hu_drm_fdinfo_parse((hu_str){(const char *)data, size}, &f))
        return;
    assert(f.n <= HU_DRM_ENGINES_MOST && memchr(f.driver, '\0', sizeof f.driver) && memchr(f.bus, '\0', sizeof f.bus));
    for (size_t i = 0; i < f.n; i++)
        assert(memchr(f.engine[i].name, '\0', HU_DRM_NAME_ROOM) && f.engine[i].name[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool    is_made;
    const uint8_t  which = size ? data[0] : 0;
    unsigned char *copy;

    if (!is_made)
        make_tree();
    is_made = true;
    if (size == 0)
        return 0;
    copy = malloc(size - 1 ? size - 1 : 1); /* so that a byte too far is seen */
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (which == 0)
        decode(copy, size - 1);
    else if (which == 1)
        parse(copy, size - 1);
    else
        look(places[which % PLACES].source, places[which % PLACES].file, copy, size - 1);
    free(copy);
    return 0;
}
