/* SPDX-License-Identifier: Apache-2.0
 * cuda_devices.c - what is known of the devices that the process calls 0, 1, 2 ...
 *
 * Which board that is says its UUID alone: CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and containers number them anew.  CUPTI's
 * record of a device has it; where none came, the driver that the program has mapped is asked.  cuDeviceGetUuid gives the
 * board's, also where it is divided (MIG); the function of that name with _v2 would give the part's.
 *
 * Everything here is called by the thread that decodes, and by no other.
 */
#include <dlfcn.h>
#include <string.h>

#include "inject/cuda.h"
#include "base/banned.h"

enum { PATH_BYTES = 1024, OK = 0 };

hu_gpu_device *hu_cuda_device(hu_cuda_facts *facts, uint32_t id)
{
    const uint32_t n = facts->n_devices < HU_GPU_DEVICES_MAX ? facts->n_devices : HU_GPU_DEVICES_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (facts->devices[i].id == id)
            return &facts->devices[i];
    if (n == HU_GPU_DEVICES_MAX)
        return NULL;
    facts->devices[n] = (hu_gpu_device){.id = id};
    __atomic_store_n(&facts->n_devices, n + 1, __ATOMIC_RELEASE);
    return &facts->devices[n];
}

static bool has_uuid(const hu_gpu_device *d)
{
    static const uint8_t none[HU_GPU_UUID_BYTES];

    return memcmp(d->uuid, none, sizeof none) != 0;
}

/* False: it is not to be had. */
static bool ask(void *driver, uint32_t id, uint8_t out[HU_GPU_UUID_BYTES])
{
    int (*get)(int *device, int number) = NULL;
    int (*get_uuid)(uint8_t * uuid, int device) = NULL;
    int device;

    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&get_uuid = dlsym(driver, "cuDeviceGetUuid");
    return get && get_uuid && get(&device, (int)id) == OK && get_uuid(out, device) == OK;
}

void hu_cuda_ask_uuids(hu_cuda_facts *facts)
{
    static uint64_t asked; /* bits of devices */
    const uint64_t  unasked = facts->used & ~asked;
    char            path[PATH_BYTES];
    void           *driver = unasked ? hu_cuda_mapped("libcuda.so.1", path, sizeof path) : NULL;

    for (uint32_t id = 0; driver && id < 64; id++) {
        hu_gpu_device *d = unasked >> id & 1 ? hu_cuda_device(facts, id) : NULL;
        uint8_t        uuid[HU_GPU_UUID_BYTES];

        if (d && !has_uuid(d) && ask(driver, id, uuid))
            memcpy(d->uuid, uuid, sizeof uuid);
    }
    asked |= driver ? unasked : 0;
    if (driver)
        dlclose(driver);
}
