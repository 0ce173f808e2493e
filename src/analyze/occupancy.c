/* SPDX-License-Identifier: Apache-2.0
 * occupancy.c - NVIDIA's occupancy calculation: the scarcest of warps, blocks, registers and shared memory decides.
 *
 * Source of the limits: "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide; registers are
 * given to warps in units of 256, warps in groups of four, and from 8.0 on each block costs 1 KiB of shared memory for the
 * system.  tests/test_analyses.py compares the result with the occupancy that CUPTI wrote into real traces.
 */
#include "analyze/occupancy.h"

static const struct {
    int major, minor;
    int warps, blocks;
    int shared_bytes; /* of one multiprocessor */
} limits[] = {
    {6, 0, 64, 32, 64 << 10},  {6, 1, 64, 32, 96 << 10},   {7, 0, 64, 32, 96 << 10},   {7, 5, 32, 16, 64 << 10},
    {8, 0, 64, 32, 164 << 10}, {8, 6, 48, 16, 100 << 10},  {8, 7, 48, 16, 164 << 10},  {8, 9, 48, 24, 100 << 10},
    {9, 0, 64, 32, 228 << 10}, {10, 0, 64, 32, 228 << 10}, {10, 3, 64, 32, 228 << 10}, {12, 0, 48, 24, 100 << 10},
};

enum { WARP = 32, REGISTERS = 64 << 10, REGISTER_UNIT = 256, WARP_GROUP = 4, SYSTEM_SHARED = 1 << 10 };

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int by_registers(int warps, int registers, int most_warps)
{
    int64_t per_warp, fit;

    if (registers <= 0)
        return most_warps;
    per_warp = round_up((int64_t)registers * WARP, REGISTER_UNIT);
    fit = REGISTERS / per_warp / WARP_GROUP * WARP_GROUP;
    return (int)(fit / warps);
}

int hu_occupancy_blocks(const hu_device *device, int threads, int registers, int64_t shared_bytes)
{
    const int warps = (threads + WARP - 1) / WARP;

    for (size_t i = 0; threads > 0 && i < HU_COUNT(limits); i++) {
        int64_t shared = shared_bytes, fit;

        if (limits[i].major != device->major || limits[i].minor != device->minor)
            continue;
        fit = limits[i].warps / warps < limits[i].blocks ? limits[i].warps / warps : limits[i].blocks;
        if (by_registers(warps, registers, limits[i].warps) < fit)
            fit = by_registers(warps, registers, limits[i].warps);
        if (device->major >= 8)
            shared = round_up(shared, 128) + SYSTEM_SHARED;
        else
            shared = round_up(shared, 256);
        if (shared > 0 && limits[i].shared_bytes / shared < fit)
            fit = limits[i].shared_bytes / shared;
        return (int)fit;
    }
    return 0;
}
