/* SPDX-License-Identifier: Apache-2.0
 * rapl.h - energy counters of processors and memory (RAPL), as Linux shows those of Intel and AMD: /sys/class/powercap.
 *
 * A zone is a folder with a name, a counter in microjoules (energy_uj) and the number at which that begins anew
 * (max_energy_range_uj): Documentation/power/powercap/powercap.rst of the kernel.  Since Linux 5.10 only root reads the
 * counter, as its steps betrayed what others compute.
 */
#ifndef HU_BASE_RAPL_H
#define HU_BASE_RAPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"

#define HU_RAPL_FOLDER "/sys/class/powercap"

enum { HU_RAPL_ZONES = 32, HU_RAPL_NAME = 64, HU_RAPL_TRACK_BYTES = HU_RAPL_NAME + 16 };

/*
 * What a zone counts.  A package has its parts (core, uncore) in it, and the platform (psys) has the packages in it; memory
 * beside a package (dram) is in none of them (Intel SDM volume 3, "RAPL Domains").
 */
typedef enum { HU_RAPL_PACKAGE, HU_RAPL_MEMORY, HU_RAPL_PLATFORM, HU_RAPL_PART } hu_rapl_kind;

typedef enum {
    HU_RAPL_NONE,   /* this machine has none */
    HU_RAPL_HIDDEN, /* the names of zones are there and lead nowhere, as in a container that hides them */
    HU_RAPL_DENIED, /* the counters are there, and may not be read */
    HU_RAPL_FAILED, /* they are there, and give no number */
    HU_RAPL_READ
} hu_rapl_state;

typedef struct {
    char     folder[HU_RAPL_NAME]; /* "intel-rapl:0:1" */
    char     name[HU_RAPL_NAME];   /* "package-0/dram" */
    uint64_t range;                /* microjoules at which the counter begins anew */
    uint64_t last;                 /* what it said last */
    uint64_t turns;                /* times that it began anew since the first look */
    bool     has_last;
} hu_rapl_zone;

typedef struct {
    int           folder; /* descriptor; -1: there is none */
    hu_rapl_state state;
    size_t        n; /* zones that can be read */
    hu_rapl_zone  zone[HU_RAPL_ZONES];
} hu_rapl;

/* Finds the zones of a folder (HU_RAPL_FOLDER, or one below the folder `at` as openat(2) takes it). */
hu_rapl_state hu_rapl_open(int at, const char *folder, hu_rapl *out);
void          hu_rapl_close(hu_rapl *r);

/*
 * Microjoules of a zone: what its counter says and the turns that were seen, so that it only rises.  Look more than once a
 * turn, which lasts minutes at the least.  False: it gives no number now.
 */
bool hu_rapl_look(const hu_rapl *r, hu_rapl_zone *zone, uint64_t *uj);

/* By its name. */
hu_rapl_kind hu_rapl_kind_of(hu_str name);
const char  *hu_rapl_kind_word(hu_rapl_kind kind); /* "package", "memory", "platform", "part" */

/* "read", "none", "hidden", "denied", "failed", and back; HU_RAPL_NONE for another word. */
const char   *hu_rapl_state_word(hu_rapl_state state);
hu_rapl_state hu_rapl_state_of(hu_str word);

/* The counter track of a zone in a trace. */
static inline void hu_rapl_track(hu_str name, char out[HU_RAPL_TRACK_BYTES])
{
    snprintf(out, HU_RAPL_TRACK_BYTES, "RAPL %.*s (J)", (int)(name.n < HU_RAPL_NAME ? name.n : HU_RAPL_NAME), name.p);
}

#endif
