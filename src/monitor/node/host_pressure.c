/* SPDX-License-Identifier: Apache-2.0
 * host_pressure.c - a source: time lost to a shortage of processors, memory, disks and interrupts
 * (Documentation/accounting/psi.rst of Linux). */
#include <errno.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

static const char *const resources[] = {"cpu", "memory", "io", "irq"};

static bool host_pressure_open(const hu_source_options *options, void **state, hu_readings *out)
{
    char text[256];

    if (!hu_folder_open(options->root, "proc/pressure", "cpu", state))
        return false;
    /* a kernel that can, but was not started with psi=1, has the files and cannot read them */
    if (hu_files_text(((const hu_folder *)*state)->fd, "cpu", text, sizeof text).n == 0) {
        if (errno == EOPNOTSUPP)
            hu_put_problem(out, "host_pressure", "the kernel keeps no account of pressure (PSI is off)",
                           "start the kernel with psi=1");
        hu_folder_close(*state);
        return false;
    }
    return true;
}

/* A line is "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS". */
static bool put_resource(const hu_folder *h, const char *resource, hu_readings *out)
{
    char   text[512];
    hu_str rest = hu_files_text(h->fd, resource, text, sizeof text);
    bool   any = false;

    while (rest.n) {
        hu_str       line = hu_cut(&rest, '\n');
        const hu_str kind = hu_cut_word(&line);
        const bool   is_some = hu_str_equal(kind, HU_STR("some"));

        if (!is_some && !hu_str_equal(kind, HU_STR("full")))
            continue;
        for (hu_str word = hu_cut_word(&line); word.n; word = hu_cut_word(&line)) {
            uint64_t us;

            if (!hu_str_starts(word, HU_STR("total=")) || !hu_parse_u64((hu_str){word.p + 6, word.n - 6}, &us))
                continue;
            hu_put(out, is_some ? HU_METRIC_PRESSURE_WAITING : HU_METRIC_PRESSURE_STALLED, (double)us / 1e6, resource);
            any = true;
            break; /* one to a line */
        }
    }
    return any;
}

static bool host_pressure_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;
    bool             any = false;

    if (group != HU_SAMPLE_MEDIUM)
        return true;
    for (size_t i = 0; i < HU_COUNT(resources); i++)
        any |= put_resource(h, resources[i], out);
    return any;
}

const hu_source hu_source_host_pressure = {"host_pressure", HU_SAMPLER_HOST, host_pressure_open, host_pressure_sample,
                                           hu_folder_close};
