/* SPDX-License-Identifier: Apache-2.0
 * drm.h - GPUs as the kernel's graphics drivers show them (/sys/class/drm), and their sensors (hwmon). */
#ifndef HU_MONITOR_GPUS_DRM_H
#define HU_MONITOR_GPUS_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HU_DRM_CARDS_MOST = 32, HU_DRM_BUS_ROOM = 32 };

typedef struct {
    int      card, device, hwmon; /* folders; hwmon is -1 where there are no sensors */
    int      number;              /* of "cardN" */
    uint32_t id;                  /* of the device, by its vendor */
    char     bus[HU_DRM_BUS_ROOM], driver[16];
} hu_drm_card;

/*
 * Cards of a vendor (0x1002) by one of its drivers (NULL ends the list), in the order of their PCI addresses, at most
 * `room`.  Each has descriptors: hu_drm_card_close.
 */
size_t hu_drm_cards(int root, uint32_t vendor, const char *const *drivers, hu_drm_card *out, size_t room);
void   hu_drm_card_close(hu_drm_card *c);

/* Did cards come or go since those n were found?  Not where there are none at all: a driver that is being reset has none. */
bool hu_drm_cards_changed(int root, uint32_t vendor, const char *const *drivers, const hu_drm_card *cards, size_t n);

/* Is it powered down?  To read its sensors would wake it up. */
bool hu_drm_card_sleeps(const hu_drm_card *c);

/* Has it left the bus?  Its folder is gone, or its configuration reads as ones, as that of nothing does. */
bool hu_drm_card_gone(const hu_drm_card *c);

/* How many GPUs of the vendor are on the PCI bus, with a driver or not, but for those given to virtual machines. */
size_t hu_pci_gpus(int root, uint32_t vendor);

/* The number of the sensor of a kind ("temp", "freq") whose label is `label`; 0: there is none. */
int hu_drm_sensor(const hu_drm_card *c, const char *kind, const char *label);

/* What it measures: hu_drm_sensor_read(c, "temp", 2, "input", &milli). */
bool hu_drm_sensor_read(const hu_drm_card *c, const char *kind, int number, const char *what, double *out);

#endif
