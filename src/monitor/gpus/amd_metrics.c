/* SPDX-License-Identifier: Apache-2.0
 * amd_metrics.c - where fields are in each revision of the table.
 *
 * Revisions do not extend one another: fields are inserted in the middle, and 1.6 changed while it was developed.  So a
 * revision counts as known only with the size that it has in the released header.  Of older tables (1.1 to 1.3, 2.x) only
 * what has a unit in the header is read; the driver's other files have the rest.  What a chip lacks is filled with 0xff.
 */
#include "monitor/gpus/amd_metrics.h"

#include <math.h>

enum { NONE = 0, HEAD = 4, GROUP_BITS = 16 };

/* Offsets of fields; NONE: not in this revision, or without a unit. */
typedef struct {
    uint8_t  format, content;
    uint16_t size;
    uint16_t hotspot, memory, watts, busy, memory_busy; /* 16 bits: °C, °C, W, %, % */
    uint16_t energy;                                    /* 64 bits: 2^-16 J */
    uint16_t lanes, transfers;                          /* 16 bits; transfers in 0.1 GT/s */
    uint16_t replays;                                   /* 64 bits */
    uint16_t ticks;                                     /* 32 bits; residencies of 32 bits follow it */
    uint16_t throttled;                                 /* 64 bits */
} layout;

static const layout layouts[] = {
    {.format = 1, .content = 1, .size = 96, .lanes = 74, .transfers = 76},
    {.format = 1, .content = 2, .size = 104, .lanes = 74, .transfers = 76},
    {.format = 1, .content = 3, .size = 120, .lanes = 74, .transfers = 76, .throttled = 112},
    {1, 4, 288, 4, 6, 10, 12, 14, 24, 48, 50, 88, NONE, NONE},
    {1, 5, 360, 4, 6, 10, 12, 14, 88, 112, 114, 152, NONE, NONE},
    {1, 6, 1664, 4, 6, 10, 12, 14, 16, 60, 62, 104, 32, NONE},
    {1, 7, 2208, 4, 6, 10, 12, 14, 24, 68, 70, 112, 40, NONE},
    {1, 8, 3872, 4, 6, 10, 12, 14, 24, 68, 70, 112, 40, NONE},
    {.format = 2, .content = 2, .size = 128, .throttled = 120},
    {.format = 2, .content = 3, .size = 152, .throttled = 120},
    {.format = 2, .content = 4, .size = 168, .throttled = 120},
};

/* Bytes of the table are in the order of the machine, which is the little end first wherever such a GPU can be. */
static uint64_t bits_at(const unsigned char *table, size_t at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i > 0; i--)
        value = value << 8 | table[at + i - 1];
    return value;
}

/* The field times its unit; NaN where there is none. */
static double field(const unsigned char *table, size_t at, size_t bytes, double unit)
{
    const uint64_t none = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    const uint64_t value = at ? bits_at(table, at, bytes) : none;

    return value == none ? NAN : (double)value * unit;
}

/* A share that is none is a sensor that is wrong. */
static double share(double percent)
{
    return percent <= 100 ? percent / 100 : NAN;
}

static const layout *find(const unsigned char *table, size_t n)
{
    if (n < HEAD)
        return NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];

        if (table[2] == l->format && table[3] == l->content)
            return bits_at(table, 0, 2) == l->size && n >= l->size ? l : NULL;
    }
    return NULL;
}

bool hu_amd_metrics_decode(const unsigned char *table, size_t n, hu_amd_metrics *out)
{
    const layout *l = find(table, n);

    if (!l)
        return false;
    *out = (hu_amd_metrics){.watts = field(table, l->watts, 2, 1),
                            .busy = share(field(table, l->busy, 2, 1)),
                            .memory_busy = share(field(table, l->memory_busy, 2, 1)),
                            .hotspot = field(table, l->hotspot, 2, 1),
                            .memory = field(table, l->memory, 2, 1),
                            .joules = field(table, l->energy, 8, 0x1p-16),
                            .pcie_lanes = field(table, l->lanes, 2, 1),
                            .pcie_transfers = field(table, l->transfers, 2, 1e8),
                            .pcie_replays = field(table, l->replays, 8, 1)};
    if (l->throttled) {
        const uint64_t status = bits_at(table, l->throttled, 8);

        out->has_throttled = status != UINT64_MAX;
        for (unsigned i = 0; out->has_throttled && i < 4; i++)
            out->throttled |= (unsigned)((status >> GROUP_BITS * i & 0xffff) != 0) << i;
    }
    if (l->ticks) {
        out->ticks = (uint32_t)bits_at(table, l->ticks, 4);
        out->has_residency = out->ticks != UINT32_MAX;
        for (size_t i = 0; i < HU_AMD_RESIDENCIES; i++)
            out->residency[i] = (uint32_t)bits_at(table, l->ticks + 4 + 4 * i, 4);
    }
    return true;
}
