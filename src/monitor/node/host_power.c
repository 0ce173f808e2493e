/* SPDX-License-Identifier: Apache-2.0
 * host_power.c - a source: energy of processors and memory (RAPL, /sys/class/powercap) and their temperature (hwmon).
 *
 * A counter of RAPL wraps at a number of its own after minutes to hours; here it goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rapl.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { NAME_ROOM = 64, CHIPS_MOST = 64, SENSORS_MOST = 8 };

typedef struct {
    int     root;
    hu_rapl rapl;
} host_power;

static bool has_temperatures(int root)
{
    return faccessat(root, "sys/class/hwmon", F_OK, 0) == 0;
}

static bool host_power_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const int   root = hu_files_root(options->root);
    host_power *h = root >= 0 ? calloc(1, sizeof *h) : NULL;

    (void)out;
    if (!h) {
        if (root >= 0)
            close(root);
        return false;
    }
    h->root = root;
    hu_rapl_open(root, &HU_RAPL_FOLDER[1], &h->rapl);
    if (h->rapl.n == 0 && h->rapl.state != HU_RAPL_DENIED && !has_temperatures(root)) {
        hu_rapl_close(&h->rapl);
        close(root);
        free(h);
        return false;
    }
    *state = h;
    return true;
}

static void host_power_close(void *state)
{
    host_power *h = state;

    hu_rapl_close(&h->rapl);
    close(h->root);
    free(h);
}

static void put_zone(const host_power *h, hu_rapl_zone *z, hu_readings *out)
{
    uint64_t uj;

    if (hu_rapl_look(&h->rapl, z, &uj))
        hu_put(out, HU_METRIC_CPU_ENERGY, (double)uj / 1e6, z->name);
}

/* Drivers of processors' sensors; of Intel's, cores have one each as well: the package's is enough. */
static bool is_processor(hu_str driver)
{
    return hu_str_equal(driver, HU_STR("coretemp")) || hu_str_equal(driver, HU_STR("k10temp")) ||
           hu_str_equal(driver, HU_STR("zenpower"));
}

static bool is_package(hu_str label)
{
    return hu_str_starts(label, HU_STR("Package")) || hu_str_equal(label, HU_STR("Tctl")) ||
           hu_str_equal(label, HU_STR("Tdie"));
}

static void put_chip(int chip, const char *name, hu_readings *out)
{
    char         driver_text[NAME_ROOM], path[64], label_text[NAME_ROOM], label[NAME_ROOM];
    const hu_str driver = hu_files_text(chip, "name", driver_text, sizeof driver_text);
    int64_t      milli;

    if (!is_processor(driver))
        return;
    for (int i = 1; i <= SENSORS_MOST; i++) {
        snprintf(path, sizeof path, "temp%d_label", i);
        const hu_str text = hu_files_text(chip, path, label_text, sizeof label_text);

        snprintf(path, sizeof path, "temp%d_input", i);
        if (!is_package(text) || !hu_files_signed(chip, path, &milli))
            continue;
        hu_str_copy(label, sizeof label, text);
        hu_put(out, HU_METRIC_CPU_TEMPERATURE, (double)milli / 1e3, name, label);
    }
}

static void put_temperatures(const host_power *h, hu_readings *out)
{
    hu_names names;
    int      chips = 0;

    if (!hu_names_open(&names, h->root, "sys/class/hwmon"))
        return;
    for (const char *name = hu_names_next(&names); name && chips < CHIPS_MOST; name = hu_names_next(&names), chips++) {
        const int chip = hu_files_folder(names.fd, name);

        if (chip < 0)
            continue;
        put_chip(chip, name, out);
        close(chip);
    }
    hu_names_close(&names);
}

static bool host_power_sample(void *state, hu_sample_group group, hu_readings *out)
{
    host_power *h = state;

    if (group == HU_SAMPLE_MEDIUM)
        for (size_t i = 0; i < h->rapl.n; i++)
            put_zone(h, &h->rapl.zone[i], out);
    if (group == HU_SAMPLE_SLOW) {
        put_temperatures(h, out);
        if (h->rapl.state == HU_RAPL_DENIED)
            hu_put_problem(out, "host_power", "energy of the processors (RAPL) is not sampled: only root may read it",
                           "run the monitor as root or give it CAP_DAC_READ_SEARCH");
    }
    return true;
}

const hu_source hu_source_host_power = {"host_power", HU_SAMPLER_HOST, host_power_open, host_power_sample, host_power_close};
