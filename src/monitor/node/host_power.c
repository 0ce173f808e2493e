/* SPDX-License-Identifier: Apache-2.0
 * host_power.c - a source: energy of processors and memory (RAPL, /sys/class/powercap) and their temperature (hwmon).
 *
 * A counter of RAPL wraps at a number of its own after minutes to hours; here it goes on.  Since Linux 5.10 only root reads
 * it (its steps betrayed what others compute).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { ZONES_MOST = 32, NAME_ROOM = 64, CHIPS_MOST = 64, SENSORS_MOST = 8 };

typedef struct {
    char     folder[NAME_ROOM];   /* "intel-rapl:0:1" */
    char     name[2 * NAME_ROOM]; /* "package-0/dram" */
    uint64_t range, last;         /* microjoules */
    double   wrapped;             /* joules of full turns */
    bool     has_last;
} zone;

typedef struct {
    int    root;
    size_t n;
    bool   is_denied; /* the counters are there, and may not be read */
    zone   zones[ZONES_MOST];
} host_power;

static bool read_in(int root, const char *folder, const char *file, uint64_t *out)
{
    char path[256];

    snprintf(path, sizeof path, "sys/class/powercap/%s/%s", folder, file);
    return hu_files_number(root, path, out);
}

static hu_str read_zone_name(int root, const char *folder, char *text, size_t room)
{
    char path[256];

    snprintf(path, sizeof path, "sys/class/powercap/%s/name", folder);
    return hu_files_text(root, path, text, room);
}

/* "intel-rapl:N" is a package or the whole platform, "intel-rapl:N:M" a part of one; intel-rapl-mmio repeats them. */
static void add_zone(host_power *h, const char *folder)
{
    static const char prefix[] = "intel-rapl:";
    const char       *colon;
    char              own[NAME_ROOM], above[NAME_ROOM], parent[NAME_ROOM] = "";
    zone             *z = &h->zones[h->n];
    hu_str            name;

    if (h->n == ZONES_MOST || strncmp(folder, prefix, sizeof prefix - 1) != 0 || strlen(folder) >= sizeof z->folder)
        return;
    name = read_zone_name(h->root, folder, own, sizeof own);
    *z = (zone){0};
    if (name.n == 0 || !read_in(h->root, folder, "max_energy_range_uj", &z->range) || z->range == 0)
        return;
    colon = strchr(folder + sizeof prefix - 1, ':');
    if (colon) {
        hu_str_copy(parent, sizeof parent, (hu_str){folder, (size_t)(colon - folder)});
        hu_str_copy(z->name, NAME_ROOM, read_zone_name(h->root, parent, above, sizeof above));
        snprintf(z->name + strlen(z->name), sizeof z->name - strlen(z->name), "/%.*s", HU_FMT(name));
    } else {
        hu_str_copy(z->name, sizeof z->name, name);
    }
    snprintf(z->folder, sizeof z->folder, "%s", folder);
    h->n++;
}

static bool has_temperatures(int root)
{
    return faccessat(root, "sys/class/hwmon", F_OK, 0) == 0;
}

static bool host_power_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const int   root = hu_files_root(options->root);
    host_power *h = root >= 0 ? calloc(1, sizeof *h) : NULL;
    hu_names    names;
    uint64_t    energy;

    (void)out;
    if (!h) {
        if (root >= 0)
            close(root);
        return false;
    }
    h->root = root;
    if (hu_names_open(&names, root, "sys/class/powercap"))
        for (const char *name = hu_names_next(&names); name; name = hu_names_next(&names))
            add_zone(h, name);
    if (h->n && !read_in(root, h->zones[0].folder, "energy_uj", &energy)) {
        h->is_denied = errno == EACCES;
        h->n = 0;
    }
    if (h->n == 0 && !h->is_denied && !has_temperatures(root)) {
        close(root);
        free(h);
        return false;
    }
    *state = h;
    return true;
}

static void host_power_close(void *state)
{
    const host_power *h = state;

    close(h->root);
    free(state);
}

static void put_zone(const host_power *h, zone *z, hu_readings *out)
{
    uint64_t now;

    if (!read_in(h->root, z->folder, "energy_uj", &now))
        return;
    if (z->has_last && now < z->last)
        z->wrapped += (double)z->range / 1e6;
    z->last = now;
    z->has_last = true;
    hu_put(out, HU_METRIC_CPU_ENERGY, z->wrapped + (double)now / 1e6, z->name);
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
        for (size_t i = 0; i < h->n; i++)
            put_zone(h, &h->zones[i], out);
    if (group == HU_SAMPLE_SLOW) {
        put_temperatures(h, out);
        if (h->is_denied)
            hu_put_problem(out, "host_power", "energy of the processors (RAPL) is not sampled: only root may read it",
                           "run the monitor as root or give it CAP_DAC_READ_SEARCH");
    }
    return true;
}

const hu_source hu_source_host_power = {"host_power", HU_SAMPLER_HOST, host_power_open, host_power_sample, host_power_close};
