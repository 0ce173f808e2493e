/* SPDX-License-Identifier: Apache-2.0
 * drm_clients.h - which processes use a GPU and how much, by what the driver says of their open files
 * (/proc/PID/fdinfo, Documentation/gpu/drm-usage-stats.rst of Linux).
 */
#ifndef HU_MONITOR_GPUS_DRM_CLIENTS_H
#define HU_MONITOR_GPUS_DRM_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "monitor/gpu_board.h"

enum { HU_DRM_ENGINES_MOST = 12, HU_DRM_NAME_ROOM = 24 };

/* A kind of engines.  A driver tells busy nanoseconds, or busy cycles of so many that passed. */
typedef struct {
    char     name[HU_DRM_NAME_ROOM];
    uint64_t ns, cycles, total_cycles;
    bool     has_ns, has_cycles, has_total;
} hu_drm_engine;

typedef struct {
    char          driver[HU_DRM_NAME_ROOM], bus[32]; /* bus: lower case; "" where it is not told */
    uint64_t      id;                                /* of the client: the same file may be open in many places */
    bool          has_id, has_vram;
    uint64_t      vram; /* bytes of device memory */
    size_t        n;
    hu_drm_engine engine[HU_DRM_ENGINES_MOST];
} hu_drm_fdinfo;

/* False: the file is none of a graphics driver. */
bool hu_drm_fdinfo_parse(hu_str text, hu_drm_fdinfo *out);

typedef struct hu_drm_clients hu_drm_clients;

/* Clients of the drivers in the list (NULL ends it); NULL: no memory. */
hu_drm_clients *hu_drm_clients_new(int root, const char *const *drivers);
void            hu_drm_clients_free(hu_drm_clients *c);

/* Looks for new ones in all processes: a bounded number of files, the rest at the next call. */
void hu_drm_clients_find(hu_drm_clients *c);

/* Reads those that are known, at the time `now_ns` (any clock that does not jump). */
void hu_drm_clients_read(hu_drm_clients *c, int64_t now_ns);

/* Were all processes of the machine looked at, so that what was not found is not there? */
bool hu_drm_clients_complete(const hu_drm_clients *c);

/* Is this process in the node's own PID namespace? */
bool hu_drm_clients_see_node(const hu_drm_clients *c);

/*
 * Adds the processes that use the GPU at `bus` to the row, and returns how busy they kept its compute and render engines
 * between the last two readings: of the busiest kind of engine, at most 1; NaN before there are two.  *vram: bytes of device
 * memory of all clients; NaN where the driver does not tell.
 */
double hu_drm_clients_sum(const hu_drm_clients *c, const char *bus, hu_board_gpu *gpu, double *vram);

/* Adds a process to the row, or its share to what is there; share less than 0: not known. */
void hu_board_add_pid(hu_board_gpu *gpu, uint32_t pid, double share);

#endif
