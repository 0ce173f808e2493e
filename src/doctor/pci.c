/* SPDX-License-Identifier: Apache-2.0
 * pci.c - looked at once in a process; what changes on the bus while doctor runs is seen at the next call. */
#include "doctor/pci.h"

#include <ctype.h>
#include <string.h>

#define DEVICES "/sys/bus/pci/devices"

enum { CLASS_SHIFT = 8, GPUS_MOST = 128 };

static bool is_gpu(int64_t vendor, int64_t class)
{
    if (vendor == HU_PCI_NVIDIA)
        return class == HU_PCI_VGA || class == HU_PCI_3D;
    return (vendor == HU_PCI_AMD || vendor == HU_PCI_INTEL) &&
           (class == HU_PCI_VGA || class == HU_PCI_DISPLAY || class == HU_PCI_ACCELERATOR);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const hu_bus_gpu *hu_bus_gpus(hu_doctor *d, size_t *n)
{
    static hu_bus_gpu  gpus[GPUS_MOST];
    static size_t      found;
    static bool        is_done;
    const char *const *names;
    size_t             n_names = 0;

    if (!is_done && hu_doctor_list(d, DEVICES, &names, &n_names) == HU_LOOK_OK)
        for (size_t i = 0; i < n_names && found < GPUS_MOST; i++) {
            hu_bus_gpu  g = {.address = names[i], .folder = hu_doctor_format(d, DEVICES "/%s", names[i]), .driver = ""};
            const char *driver;

            if (hu_doctor_read_number(d, hu_doctor_format(d, "%s/vendor", g.folder), &g.vendor) != HU_LOOK_OK ||
                hu_doctor_read_number(d, hu_doctor_format(d, "%s/class", g.folder), &g.class) != HU_LOOK_OK)
                continue;
            g.class >>= CLASS_SHIFT;
            if (!is_gpu(g.vendor, g.class))
                continue;
            if (hu_doctor_link(d, hu_doctor_format(d, "%s/driver", g.folder), &driver) == HU_LOOK_OK)
                g.driver = last_part(driver);
            g.is_given_away = strcmp(g.driver, "vfio-pci") == 0 || strcmp(g.driver, "pci-stub") == 0;
            gpus[found++] = g;
        }
    is_done = true;
    *n = found;
    return gpus;
}

size_t hu_bus_count(hu_doctor *d, int64_t vendor)
{
    size_t            n, count = 0;
    const hu_bus_gpu *gpus = hu_bus_gpus(d, &n);

    for (size_t i = 0; i < n; i++)
        count += gpus[i].vendor == vendor && !gpus[i].is_given_away;
    return count;
}

void hu_bus_address(const char *nvml, char out[HU_PCI_ADDRESS])
{
    size_t n = 0;

    for (size_t digits = strcspn(nvml, ":"); digits > 4 && *nvml == '0' && nvml[digits]; digits--) /* sysfs: four, or more */
        nvml++;
    for (; nvml[n] && n < HU_PCI_ADDRESS - 1; n++)
        out[n] = (char)tolower((unsigned char)nvml[n]);
    out[n] = '\0';
}

/* "0000:3b:00.0": of a link's parts, those that are functions of the bus. */
static bool is_address(const char *part, size_t n)
{
    size_t colons = 0, dots = 0;

    for (size_t i = 0; i < n; i++) {
        colons += part[i] == ':';
        dots += part[i] == '.';
        if (!isxdigit((unsigned char)part[i]) && part[i] != ':' && part[i] != '.')
            return false;
    }
    return colons == 2 && dots == 1;
}

size_t hu_bus_way(hu_doctor *d, const char *folder, const char *hops[HU_PCI_HOPS])
{
    const char *target, *part;
    size_t      n = 0;

    if (hu_doctor_link(d, folder, &target) != HU_LOOK_OK)
        return 0;
    for (const char *end = target + strlen(target); end > target && n < HU_PCI_HOPS; end = part - 1) {
        for (part = end; part > target && part[-1] != '/'; part--)
            ;
        if (is_address(part, (size_t)(end - part)))
            hops[n++] = hu_doctor_format(d, "%.*s", (int)(end - part), part);
        if (part == target)
            break;
    }
    return n;
}

bool hu_bus_is_virtual(hu_doctor *d)
{
    const char *cpus;

    hu_doctor_read(d, "/proc/cpuinfo", &cpus);
    return strstr(cpus, " hypervisor") != NULL;
}
