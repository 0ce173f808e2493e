/* SPDX-License-Identifier: Apache-2.0
 * pci.h - GPUs on the PCI bus, whether a driver shows them or not; and the way from a device up to the CPU. */
#ifndef HU_DOCTOR_PCI_H
#define HU_DOCTOR_PCI_H

#include "doctor/doctor.h"

enum { HU_PCI_NVIDIA = 0x10de, HU_PCI_AMD = 0x1002, HU_PCI_INTEL = 0x8086 };
enum { HU_PCI_VGA = 0x0300, HU_PCI_3D = 0x0302, HU_PCI_DISPLAY = 0x0380, HU_PCI_ACCELERATOR = 0x1200 };
enum { HU_PCI_ADDRESS = 32, HU_PCI_HOPS = 16 };

typedef struct {
    const char *address; /* "0000:3b:00.0" */
    const char *folder;  /* "/sys/bus/pci/devices/0000:3b:00.0" */
    const char *driver;  /* "nvidia"; "" none is bound */
    int64_t     vendor, class;
    bool        is_given_away; /* to a virtual machine */
} hu_bus_gpu;

/* All of them, in order of their addresses: display, 3D and accelerator controllers of NVIDIA, AMD and Intel. */
const hu_bus_gpu *hu_bus_gpus(hu_doctor *d, size_t *n);

/* How many of this vendor are not given away. */
size_t hu_bus_count(hu_doctor *d, int64_t vendor);

/* "0000:3b:00.0" of NVML's "00000000:3B:00.0". */
void hu_bus_address(const char *nvml, char out[HU_PCI_ADDRESS]);

/*
 * Addresses from the device's own to the one below the root complex, as the link `folder` says; returns how many, 0 not
 * known.  `folder`: of a device, or of its class: "/sys/class/infiniband/mlx5_0/device".
 */
size_t hu_bus_way(hu_doctor *d, const char *folder, const char *hops[HU_PCI_HOPS]);

/* Is this a virtual machine?  Of x86 only: what a hypervisor shows of PCI is not what the board has. */
bool hu_bus_is_virtual(hu_doctor *d);

#endif
