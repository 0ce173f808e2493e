/* SPDX-License-Identifier: Apache-2.0
 * nvml_setup.c - one call for each number; one that fails leaves -1. */
#include "gpu/nvml_setup.h"

#include "gpu/nvml_calls.h"
#include "gpu/nvml_fields.h"

enum { CLOCK_SM = 1, PEER_READ = 0, MHZ_MOST = 100000, CUDA_MOST = 1000000, CAPABILITY_MOST = 99 };

int hu_nvml_cuda(hu_nvml *n)
{
    int version = -1;

    return n->cuda && n->cuda(&version) == SUCCESS && version > 0 && version < CUDA_MOST ? version : -1;
}

static int clock_of(int (*call)(void *device, unsigned which, unsigned *mhz), void *device)
{
    unsigned mhz = 0;

    return call && call(device, CLOCK_SM, &mhz) == SUCCESS && mhz > 0 && mhz < MHZ_MOST ? (int)mhz : -1;
}

static void count_links(const hu_nvml *n, void *device, hu_nvml_setup *out)
{
    out->links = out->links_active = 0;
    out->i_down = -1;
    for (unsigned i = 0; n->link && i < HU_NVML_LINKS; i++) {
        unsigned  is_active = 0;
        const int rc = n->link(device, i, &is_active);

        if (rc == BAD_ARGUMENT)
            return;
        if (rc != SUCCESS)
            continue;
        out->links++;
        out->links_active += is_active == 1;
        if (is_active != 1 && out->i_down < 0)
            out->i_down = (int)i;
    }
}

void hu_nvml_get_setup(hu_nvml *n, const hu_nvml_device *d, hu_nvml_setup *out)
{
    unsigned now = 0, next = 0, mode = 0;
    int      major = 0, minor = 0;
    bar_1    bar = {0};

    *out = (hu_nvml_setup){.capability = -1, .ecc_now = -1, .ecc_next = -1, .compute_mode = -1, .bar_bytes = -1};
    if (n->capability && n->capability(d->handle, &major, &minor) == SUCCESS && major > 0 && major <= CAPABILITY_MOST &&
        minor >= 0 && minor <= 9)
        out->capability = 10 * major + minor;
    if (n->ecc_mode && n->ecc_mode(d->handle, &now, &next) == SUCCESS && now <= 1 && next <= 1) {
        out->ecc_now = (int)now;
        out->ecc_next = (int)next;
    }
    if (n->compute_mode && n->compute_mode(d->handle, &mode) == SUCCESS && mode <= HU_COMPUTE_EXCLUSIVE)
        out->compute_mode = (int)mode;
    out->chosen_mhz = clock_of(n->chosen_clock, d->handle);
    out->default_mhz = clock_of(n->default_clock, d->handle);
    if (n->bar && n->bar(d->handle, &bar) == SUCCESS && bar.total > 0 && bar.total < INT64_MAX)
        out->bar_bytes = (int64_t)bar.total;
    count_links(n, d->handle, out);
}

int hu_nvml_peer(hu_nvml *n, const hu_nvml_device *one, const hu_nvml_device *other)
{
    unsigned status = 0;

    if (!n->peer || n->peer(one->handle, other->handle, PEER_READ, &status) != SUCCESS || status > HU_PEER_NOT_SUPPORTED)
        return -1;
    return (int)status;
}
