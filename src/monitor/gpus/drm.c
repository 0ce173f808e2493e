/* SPDX-License-Identifier: Apache-2.0
 * drm.c - walks /sys/class/drm and /sys/bus/pci/devices. */
#include "monitor/gpus/drm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"

enum { SENSORS_MOST = 16, DISPLAY_CLASS = 0x03, ACCELERATOR_CLASS = 0x12, AMD = 0x1002 };

/* The last part of where a link leads. */
static bool link_name(int folder, const char *name, char *out, size_t room)
{
    char          target[512];
    const ssize_t n = readlinkat(folder, name, target, sizeof target);

    if (n <= 0)
        return false;
    hu_str_copy(out, room, hu_str_base_name((hu_str){target, (size_t)n}));
    return out[0] != '\0';
}

/* "card12", and not "card12-DP-1", which is a connector. */
static bool card_number(const char *name, int *out)
{
    uint64_t number;

    if (strncmp(name, "card", 4) != 0 || !hu_parse_u64(hu_str_of(name + 4), &number) || number > 4096)
        return false;
    *out = (int)number;
    return true;
}

/* Sensors of the whole device have the driver's name; i915 has others for each graphics engine ("i915_gt0"). */
static int find_hwmon(int device, const char *driver)
{
    hu_names    names;
    const char *name;
    int         folder = -1;

    if (!hu_names_open(&names, device, "hwmon"))
        return -1;
    while (folder < 0 && (name = hu_names_next(&names)) != NULL) {
        char path[320], text[64];

        snprintf(path, sizeof path, "%s/name", name);
        if (hu_str_equal(hu_files_text(names.fd, path, text, sizeof text), hu_str_of(driver)))
            folder = hu_files_folder(names.fd, name);
    }
    hu_names_close(&names);
    return folder;
}

static bool is_listed(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

static bool open_card(int drm, const char *name, uint32_t vendor, const char *const *drivers, hu_drm_card *c)
{
    uint64_t its_vendor, id = 0;

    *c = (hu_drm_card){.card = -1, .device = -1, .hwmon = -1};
    if (!card_number(name, &c->number) || (c->card = hu_files_folder(drm, name)) < 0)
        return false;
    c->device = hu_files_folder(c->card, "device");
    if (c->device < 0 || !hu_files_number(c->device, "vendor", &its_vendor) || its_vendor != vendor ||
        !link_name(c->card, "device", c->bus, sizeof c->bus) ||
        !link_name(c->device, "driver", c->driver, sizeof c->driver) || !is_listed(c->driver, drivers))
        return false;
    for (char *at = c->bus; *at; at++)
        *at = hu_char_lower(*at);
    hu_files_number(c->device, "device", &id);
    c->id = (uint32_t)id;
    c->hwmon = find_hwmon(c->device, c->driver);
    return true;
}

void hu_drm_card_close(hu_drm_card *c)
{
    if (c->hwmon >= 0)
        close(c->hwmon);
    if (c->device >= 0)
        close(c->device);
    if (c->card >= 0)
        close(c->card);
    c->hwmon = c->device = c->card = -1;
}

static int by_bus(const void *a, const void *b)
{
    return strcmp(((const hu_drm_card *)a)->bus, ((const hu_drm_card *)b)->bus);
}

size_t hu_drm_cards(int root, uint32_t vendor, const char *const *drivers, hu_drm_card *out, size_t room)
{
    hu_names    names;
    const char *name;
    size_t      n = 0;

    if (!hu_names_open(&names, root, "sys/class/drm"))
        return 0;
    while (n < room && (name = hu_names_next(&names)) != NULL) {
        if (open_card(names.fd, name, vendor, drivers, &out[n]))
            n++;
        else
            hu_drm_card_close(&out[n]);
    }
    hu_names_close(&names);
    qsort(out, n, sizeof *out, by_bus);
    return n;
}

/* A card that went and came back has another folder under the same name. */
static bool is_same_card(const hu_drm_card *a, const hu_drm_card *b)
{
    struct stat x, y;

    return strcmp(a->bus, b->bus) == 0 && fstat(a->device, &x) == 0 && fstat(b->device, &y) == 0 && x.st_ino == y.st_ino;
}

bool hu_drm_cards_changed(int root, uint32_t vendor, const char *const *drivers, const hu_drm_card *cards, size_t n)
{
    hu_drm_card  now[HU_DRM_CARDS_MOST];
    const size_t n_now = hu_drm_cards(root, vendor, drivers, now, HU_DRM_CARDS_MOST);
    bool         same = n_now == n;

    for (size_t i = 0; i < n_now; i++) {
        same = same && is_same_card(&cards[i], &now[i]);
        hu_drm_card_close(&now[i]);
    }
    return !same && n_now > 0;
}

bool hu_drm_card_sleeps(const hu_drm_card *c)
{
    char text[32];

    return hu_str_equal(hu_files_text(c->device, "power/runtime_status", text, sizeof text), HU_STR("suspended"));
}

bool hu_drm_card_gone(const hu_drm_card *c)
{
    uint64_t      vendor;
    unsigned char head[4];

    if (!hu_files_number(c->device, "vendor", &vendor))
        return true;
    return !hu_drm_card_sleeps(c) && hu_files_bytes(c->device, "config", (char *)head, sizeof head) == sizeof head &&
           (head[0] & head[1] & head[2] & head[3]) == 0xff;
}

/* One that is handed to a virtual machine, or a part of one that can be (SR-IOV), is not meant to be seen here. */
static bool is_given_away(int devices, const char *name)
{
    char path[320], driver[32];

    snprintf(path, sizeof path, "%s/physfn", name);
    if (faccessat(devices, path, F_OK, 0) == 0)
        return true;
    snprintf(path, sizeof path, "%s/driver", name);
    return link_name(devices, path, driver, sizeof driver) &&
           (strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "pci-stub") == 0 || strcmp(driver, "pciback") == 0);
}

/* Display controllers of all kinds; AMD's boards without a display are "processing accelerators". */
size_t hu_pci_gpus(int root, uint32_t vendor)
{
    hu_names    names;
    const char *name;
    size_t      n = 0;

    if (!hu_names_open(&names, root, "sys/bus/pci/devices"))
        return 0;
    while ((name = hu_names_next(&names)) != NULL) {
        char     path[320];
        uint64_t value;

        snprintf(path, sizeof path, "%s/vendor", name);
        if (!hu_files_number(names.fd, path, &value) || value != vendor || is_given_away(names.fd, name))
            continue;
        snprintf(path, sizeof path, "%s/class", name);
        if (hu_files_number(names.fd, path, &value))
            n += value >> 16 == DISPLAY_CLASS || (vendor == AMD && value >> 16 == ACCELERATOR_CLASS);
    }
    return n;
}

int hu_drm_sensor(const hu_drm_card *c, const char *kind, const char *label)
{
    for (int i = 1; c->hwmon >= 0 && i <= SENSORS_MOST; i++) {
        char name[64], text[64];

        snprintf(name, sizeof name, "%s%d_label", kind, i);
        if (hu_str_equal(hu_files_text(c->hwmon, name, text, sizeof text), hu_str_of(label)))
            return i;
    }
    return 0;
}

bool hu_drm_sensor_read(const hu_drm_card *c, const char *kind, int number, const char *what, double *out)
{
    char    name[64];
    int64_t value;

    if (c->hwmon < 0 || number <= 0)
        return false;
    snprintf(name, sizeof name, "%s%d_%s", kind, number, what);
    if (!hu_files_signed(c->hwmon, name, &value))
        return false;
    *out = (double)value;
    return true;
}
