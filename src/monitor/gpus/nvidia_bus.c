/* SPDX-License-Identifier: Apache-2.0
 * nvidia_bus.c - NVIDIA's display and 3D controllers in sysfs. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/gpus/nvidia.h"

/* A device may be given away under its old name: all are looked into at every tenth scan. */
enum { SCANS = 10, VENDOR = 0x10de, DISPLAY = 0x0300, THREE_D = 0x0302, CLASS_SHIFT = 8 };

/* A number of a device's file: "0x10de\n"; 0 there is none. */
static unsigned long number_in(int folder, const char *device, const char *name)
{
    char    path[300], text[32];
    int     file;
    ssize_t n;

    snprintf(path, sizeof path, "%s/%s", device, name);
    file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = '\0';
    return strtoul(text, NULL, 16);
}

/* One that is handed to a virtual machine is not this node's. */
static bool is_given_away(int folder, const char *device)
{
    char        path[300], to[256];
    const char *name;
    ssize_t     n;

    snprintf(path, sizeof path, "%s/driver", device);
    n = readlinkat(folder, path, to, sizeof to - 1);
    if (n <= 0)
        return false;
    to[n] = '\0';
    name = strrchr(to, '/');
    name = name ? name + 1 : to;
    return strcmp(name, "vfio-pci") == 0 || strcmp(name, "pci-stub") == 0;
}

static int by_address(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Order of names does not matter: the sum of their hashes. */
static uint64_t names_of(DIR *folder)
{
    const struct dirent *e;
    uint64_t             sum = 1;

    while ((e = readdir(folder))) {
        uint64_t h = UINT64_C(14695981039346656037);

        for (const char *c = e->d_name; *c; c++)
            h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
        sum += h;
    }
    return sum;
}

void hu_nv_bus_scan(hu_nv_bus *b)
{
    char           path[600];
    DIR           *folder;
    struct dirent *e;
    uint64_t       names;

    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", b->root);
    folder = opendir(path);
    if (!folder) {
        b->n = 0;
        b->names = 0;
        return;
    }
    names = names_of(folder);
    if (names != b->names || ++b->scans == SCANS) {
        b->scans = 0;
        b->names = names;
        b->n = 0;
        rewinddir(folder);
        while ((e = readdir(folder)) && b->n < HU_NV_PCI_MOST) {
            const int at = dirfd(folder);
            unsigned long class;

            if (e->d_name[0] == '.' || strlen(e->d_name) >= HU_NV_BUS_TEXT || number_in(at, e->d_name, "vendor") != VENDOR)
                continue;
            class = number_in(at, e->d_name, "class") >> CLASS_SHIFT;
            if ((class == DISPLAY || class == THREE_D) && !is_given_away(at, e->d_name))
                snprintf(b->at[b->n++], HU_NV_BUS_TEXT, "%s", e->d_name);
        }
        qsort(b->at, b->n, sizeof *b->at, by_address);
    }
    closedir(folder);
}

bool hu_nv_bus_has(const hu_nv_bus *b, const char *address)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->at[i], address) == 0)
            return true;
    return false;
}

void hu_nv_bus_address(const char *nvml, char out[HU_NV_BUS_TEXT])
{
    size_t n = 0;

    for (size_t digits = strcspn(nvml, ":"); digits > 4 && *nvml == '0' && nvml[digits]; digits--) /* sysfs: four, or more */
        nvml++;
    for (; nvml[n] && n < HU_NV_BUS_TEXT - 1; n++)
        out[n] = (char)tolower((unsigned char)nvml[n]);
    out[n] = '\0';
}
