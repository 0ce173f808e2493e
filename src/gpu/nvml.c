/* SPDX-License-Identifier: Apache-2.0
 * nvml.c - the library: loads it, binds its functions, sorts its codes, describes its GPUs. */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/nvml_calls.h"

enum { PATH_ROOM = 4352, BRANCH_MOST = 9999 };

bool hu_nvml_has_driver(const char *root)
{
    static const char *const signs[] = {"/proc/driver/nvidia/version", "/sys/module/nvidia"};
    char                     path[PATH_ROOM];
    bool                     has = false;

    for (size_t i = 0; !has && i < sizeof signs / sizeof *signs; i++) {
        snprintf(path, sizeof path, "%s%s", root, signs[i]);
        has = access(path, F_OK) == 0;
    }
    return has;
}

static void bind_name(const hu_nvml *n, void *to, const char *newest, const char *older)
{
    void *symbol = dlsym(n->library, newest);

    if (!symbol && older)
        symbol = dlsym(n->library, older);
    memcpy(to, &symbol, sizeof symbol);
}

static void *load(const char *library)
{
    static const char *const places[] = {"libnvidia-ml.so.1",
                                         "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                         "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
                                         "/usr/lib64/libnvidia-ml.so.1",
                                         "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                                         "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                         "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
                                         "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
    void                    *found = NULL;

    if (library)
        return dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++)
        found = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return found;
}

/* "580.95.05" is of branch 580: what ids of fields mean depends on it. */
static unsigned branch_of(hu_nvml *n)
{
    char          text[HU_NVML_TEXT];
    char         *end;
    unsigned long branch;

    hu_nvml_driver(n, text);
    branch = strtoul(text, &end, 10);
    return end > text && *end == '.' && branch <= BRANCH_MOST ? (unsigned)branch : 0;
}

hu_nvml *hu_nvml_open(const char *library, int *code)
{
    hu_nvml *n = calloc(1, sizeof *n);

    *code = NO_LIBRARY;
    if (!n)
        return NULL;
    n->library = load(library);
    if (!n->library) {
        free(n);
        return NULL;
    }
#define F(member, parameters, newest, older) bind_name(n, &n->member, newest, older);
    FUNCTIONS(F)
#undef F
    *code = n->init && n->count && n->handle ? n->init() : TOO_OLD;
    if (*code != SUCCESS) {
        dlclose(n->library);
        free(n);
        return NULL;
    }
    n->branch = branch_of(n);
    return n;
}

void hu_nvml_close(hu_nvml *n)
{
    if (!n)
        return;
    if (n->set && n->free_set)
        n->free_set(n->set);
    if (n->shutdown)
        n->shutdown();
    dlclose(n->library);
    free(n);
}

hu_nvml_class hu_nvml_class_of(int code)
{
    switch (code) {
    case SUCCESS:
        return HU_NVML_OK;
    case NOT_SUPPORTED:
    case NO_PERMISSION:
    case FUNCTION_NOT_FOUND:
    case OPERATING_SYSTEM:
    case ARGUMENT_VERSION:
    case DEPRECATED:
        return HU_NVML_NEVER;
    case UNINITIALIZED:
    case GPU_IS_LOST:
    case RESET_REQUIRED:
    case DRIVER_NOT_LOADED:
    case VERSION_MISMATCH:
    case IRQ_ISSUE:
    case GPU_NOT_FOUND:
        return HU_NVML_LOST;
    default:
        return HU_NVML_LATER;
    }
}

bool hu_nvml_is_driver_gone(int code)
{
    return code == UNINITIALIZED || code == DRIVER_NOT_LOADED || code == VERSION_MISMATCH;
}

const char *hu_nvml_words(int code)
{
    static _Thread_local char number[32];

    switch (code) {
    case NO_LIBRARY:
        return "libnvidia-ml.so.1 cannot be loaded";
    case TOO_OLD:
        return "libnvidia-ml.so.1 is too old";
    case UNINITIALIZED:
        return "the library is not started";
    case NOT_SUPPORTED:
        return "not supported";
    case NO_PERMISSION:
        return "no permission";
    case DRIVER_NOT_LOADED:
        return "driver not loaded";
    case IRQ_ISSUE:
        return "interrupt problem of the driver";
    case GPU_IS_LOST:
        return "GPU is lost";
    case RESET_REQUIRED:
        return "GPU needs a reset";
    case OPERATING_SYSTEM:
        return "blocked by the operating system or a control group";
    case VERSION_MISMATCH:
        return "library and driver are of different versions";
    case GPU_NOT_FOUND:
        return "no such GPU";
    case UNKNOWN:
        return "unknown error";
    default:
        snprintf(number, sizeof number, "error %d", code);
        return number;
    }
}

void hu_nvml_driver(hu_nvml *n, char out[HU_NVML_TEXT])
{
    if (!n->driver || n->driver(out, HU_NVML_TEXT) != SUCCESS)
        out[0] = '\0';
    out[HU_NVML_TEXT - 1] = '\0';
}

int hu_nvml_count(hu_nvml *n, int *code)
{
    unsigned count = 0;

    *code = n->count(&count);
    if (*code != SUCCESS)
        return -1;
    return count < HU_GPU_MOST ? (int)count : HU_GPU_MOST;
}

/* Name and UUID, of a GPU or a part of one. */
static void name(const hu_nvml *n, hu_nvml_device *d)
{
    if (!n->name || n->name(d->handle, d->name, sizeof d->name) != SUCCESS)
        d->name[0] = '\0';
    if (!n->uuid || n->uuid(d->handle, d->uuid, sizeof d->uuid) != SUCCESS)
        d->uuid[0] = '\0';
    d->name[sizeof d->name - 1] = d->uuid[sizeof d->uuid - 1] = '\0';
}

bool hu_nvml_describe(hu_nvml *n, unsigned index, hu_nvml_device *out, int *code)
{
    pci_3    pci = {0};
    memory_1 memory = {0};
    unsigned minor = 0, now = 0, next = 0;

    *out = (hu_nvml_device){.minor = -1};
    *code = n->handle(index, &out->handle);
    if (*code != SUCCESS)
        return false;
    name(n, out);
    if (n->pci && n->pci(out->handle, &pci) == SUCCESS)
        memcpy(out->bus, pci.text, sizeof out->bus);
    out->bus[sizeof out->bus - 1] = '\0';
    if (n->minor && n->minor(out->handle, &minor) == SUCCESS && minor <= INT16_MAX)
        out->minor = (int)minor;
    out->is_mig = n->mig && n->mig(out->handle, &now, &next) == SUCCESS && now == 1;
    if (!n->most_clock || n->most_clock(out->handle, 1, &out->most_sm_mhz) != SUCCESS)
        out->most_sm_mhz = 0;
    if (!n->most_clock || n->most_clock(out->handle, 2, &out->most_memory_mhz) != SUCCESS)
        out->most_memory_mhz = 0;
    if (!n->power_limit || n->power_limit(out->handle, &out->power_limit_mw) != SUCCESS)
        out->power_limit_mw = 0;
    if (n->memory_v1 && n->memory_v1(out->handle, &memory) == SUCCESS)
        out->memory_bytes = memory.total;
    return true;
}

/* ---- parts of divided GPUs --------------------------------------------------------------------------------------- */

unsigned hu_nvml_parts_most(hu_nvml *n, const hu_nvml_device *d)
{
    unsigned most = 0;

    if (!n->mig_most || n->mig_most(d->handle, &most) != SUCCESS)
        return 0;
    return most < HU_NVML_PARTS ? most : HU_NVML_PARTS;
}

bool hu_nvml_part(hu_nvml *n, const hu_nvml_device *d, unsigned i, hu_nvml_device *out, unsigned *gpu_instance,
                  unsigned *compute_instance, int *code)
{
    *out = (hu_nvml_device){.minor = -1, .is_mig = true};
    *gpu_instance = *compute_instance = 0;
    *code = n->mig_handle && n->mig_gpu_instance ? n->mig_handle(d->handle, i, &out->handle) : FUNCTION_NOT_FOUND;
    if (*code == SUCCESS)
        *code = n->mig_gpu_instance(out->handle, gpu_instance);
    if (*code != SUCCESS)
        return false;
    if (!n->mig_compute_instance || n->mig_compute_instance(out->handle, compute_instance) != SUCCESS)
        *compute_instance = 0;
    name(n, out);
    return out->uuid[0] != '\0';
}
