/* SPDX-License-Identifier: Apache-2.0
 * host.h - what several checks of the host ask: where its cgroups are, which mount a folder is on, how large a job is
 * here. */
#ifndef HU_DOCTOR_HOST_H
#define HU_DOCTOR_HOST_H

#include "doctor/doctor.h"

/* "64 MiB", "1.5 GiB", in the arena. */
const char *hu_host_size(hu_doctor *d, int64_t bytes);

/* The number behind `name` at the beginning of a line of a text such as /proc/meminfo, from 0 to 2^50, so that it may be
   multiplied by 1,024; false, and *number as it was: there is none. */
bool hu_host_field(const char *text, const char *name, int64_t *number);

/* The words behind `name` at the beginning of a line, in the arena; NULL: there is no such line. */
const char *hu_host_words(hu_doctor *d, const char *text, const char *name);

/* "not checked" with the reason why `path` gave nothing. */
void hu_host_say_unread(hu_doctor *d, const hu_check *check, hu_look how, const char *path);

/* Has this process the capability of that number (capabilities(7)), by CapEff of /proc/self/status? */
bool hu_host_has_capability(hu_doctor *d, int number);

/*
 * Folders of this process' cgroup for a controller ("cpu", "memory"), the closest first, up to where the hierarchy is
 * mounted; at most `room`.  *is_v2: whose files they have.
 */
size_t hu_host_cgroups(hu_doctor *d, const char *controller, const char **folders, size_t room, bool *is_v2);

/* The mount that a folder is on. */
typedef struct {
    const char *point, *type, *source;
    const char *options; /* of the mount and of the file system, with commas */
    const char *device;  /* "8:1" */
} hu_mount;

bool hu_host_mount_of(hu_doctor *d, const char *path, hu_mount *out);

/* Is this one of the words of a list with commas? */
bool hu_host_option(const char *options, const char *word);

/* A GPU on the PCI bus. */
typedef struct {
    const char *address; /* "0000:17:00.0" */
    int         vendor;  /* 0x10de: NVIDIA, 0x1002: AMD, 0x8086: Intel */
    int64_t     node;    /* of NUMA; -1: the firmware does not say */
} hu_pci_gpu;

/* Sorted by address.  Cards of servers only: what can only show pictures (ASPEED, Matrox) is none. */
size_t hu_host_gpus(hu_doctor *d, const hu_pci_gpu **gpus);

/* A port of InfiniBand, RoCE or the like. */
typedef struct {
    const char *device, *port; /* "mlx5_0", "1" */
    const char *folder;        /* .../ports/1 */
    const char *state;         /* "4: ACTIVE" */
    const char *physical;      /* "5: LinkUp" */
    const char *layer;         /* "InfiniBand", "Ethernet" */
    const char *board;         /* board_id; "" where there is none */
    const char *driver;        /* "mlx5_core" */
    int64_t     gbps;          /* 0: not known */
    bool        is_active;
} hu_ib_port;

size_t hu_host_ib_ports(hu_doctor *d, const hu_ib_port **ports);

/* Is there one that is active and carries data of jobs: InfiniBand, or an Ethernet of 100 Gb/s or more? */
bool hu_host_has_fast_fabric(hu_doctor *d);

/* Processes of the job on this node, by what the launcher told this process; 1 where none did. */
int64_t hu_host_local_ranks(hu_doctor *d);

/* Does the launcher say that the job has several nodes? */
bool hu_host_has_many_nodes(hu_doctor *d);

#endif
