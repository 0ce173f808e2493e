/* SPDX-License-Identifier: Apache-2.0
 * nvml.c - functions by name, the newest first; declarations are our own and cover what is called.
 *
 * Layouts were measured with the headers of 11 releases, API 12.0 to 13.5 (tests/test_nvml_headers.py compiles two of them):
 * the structures below are the same in all of them.  Traps:
 *  - a missing function is like one that is not supported;
 *  - the list of processes has rows of 16 bytes without a suffix, of 24 bytes from _v2 on;
 *  - ids of field values (nvmlDeviceGetFieldValues) mean other things on other drivers: none is used;
 *  - memory "used" of version 1 includes what the driver reserves: version 2 is asked first.
 */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    DRIVER_NOT_LOADED = 9,
    IRQ_ISSUE = 11,
    FUNCTION_NOT_FOUND = 13,
    GPU_IS_LOST = 15,
    RESET_REQUIRED = 16,
    OPERATING_SYSTEM = 17,
    VERSION_MISMATCH = 18,
    ARGUMENT_VERSION = 25,
    DEPRECATED = 26,
    UNKNOWN = 999,
};
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, EVENT_XID = 8 };
enum { MOST_CELSIUS = 200, MOST_PERCENT = 100, NO_LIBRARY = -1, TOO_OLD = -2 };

typedef struct {
    uint32_t gpu, memory;
} rates;

typedef struct {
    uint64_t total, free, used;
} memory_1;

typedef struct {
    uint32_t version;
    uint64_t total, reserved, free, used;
} memory_2;

typedef struct {
    uint32_t version, sensor;
    int32_t  celsius;
} temperature_1;

typedef struct {
    char     legacy[16];
    uint32_t domain, bus, device, id, subsystem;
    char     text[32];
} pci_3;

typedef struct {
    uint32_t pid;
    uint64_t bytes;
} process_1;

typedef struct {
    uint32_t pid;
    uint64_t bytes;
    uint32_t gpu_instance, compute_instance;
} process_2;

typedef struct {
    void    *device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
} event_2;

_Static_assert(sizeof(rates) == 8 && sizeof(memory_1) == 24 && sizeof(memory_2) == 40 && sizeof(temperature_1) == 12 &&
                   sizeof(pci_3) == 68 && sizeof(process_1) == 16 && sizeof(process_2) == 24 && sizeof(event_2) == 32,
               "as the library has them");

#define VERSION_OF(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

/* F(member, result and parameters, names, the newest first) */
/* clang-format off */
#define FUNCTIONS(F)                                                                                                        \
    F(init, (void), "nvmlInit_v2", "nvmlInit")                                                                              \
    F(shutdown, (void), "nvmlShutdown", NULL)                                                                               \
    F(driver, (char *text, unsigned room), "nvmlSystemGetDriverVersion", NULL)                                              \
    F(count, (unsigned *n), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                                                  \
    F(handle, (unsigned index, void **device), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")               \
    F(name, (void *device, char *text, unsigned room), "nvmlDeviceGetName", NULL)                                           \
    F(uuid, (void *device, char *text, unsigned room), "nvmlDeviceGetUUID", NULL)                                           \
    F(pci, (void *device, pci_3 *out), "nvmlDeviceGetPciInfo_v3", NULL)                                                     \
    F(mig, (void *device, unsigned *now, unsigned *next), "nvmlDeviceGetMigMode", NULL)                                     \
    F(most_clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetMaxClockInfo", NULL)                         \
    F(power_limit, (void *device, unsigned *mw), "nvmlDeviceGetEnforcedPowerLimit", NULL)                                   \
    F(use, (void *device, rates *out), "nvmlDeviceGetUtilizationRates", NULL)                                               \
    F(clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetClockInfo", NULL)                                 \
    F(power, (void *device, unsigned *mw), "nvmlDeviceGetPowerUsage", NULL)                                                 \
    F(energy, (void *device, unsigned long long *mj), "nvmlDeviceGetTotalEnergyConsumption", NULL)                          \
    F(memory_v2, (void *device, memory_2 *out), "nvmlDeviceGetMemoryInfo_v2", NULL)                                         \
    F(memory_v1, (void *device, memory_1 *out), "nvmlDeviceGetMemoryInfo", NULL)                                            \
    F(temperature_v, (void *device, temperature_1 *out), "nvmlDeviceGetTemperatureV", NULL)                                 \
    F(temperature, (void *device, unsigned sensor, unsigned *celsius), "nvmlDeviceGetTemperature", NULL)                    \
    F(reasons, (void *device, unsigned long long *bits), "nvmlDeviceGetCurrentClocksEventReasons",                          \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                                          \
    F(processes_v2, (void *device, unsigned *n, process_2 *out), "nvmlDeviceGetComputeRunningProcesses_v3",                 \
      "nvmlDeviceGetComputeRunningProcesses_v2")                                                                            \
    F(processes_v1, (void *device, unsigned *n, process_1 *out), "nvmlDeviceGetComputeRunningProcesses", NULL)              \
    F(new_set, (void **set), "nvmlEventSetCreate", NULL)                                                                    \
    F(free_set, (void *set), "nvmlEventSetFree", NULL)                                                                      \
    F(tell, (void *device, unsigned long long types, void *set), "nvmlDeviceRegisterEvents", NULL)                          \
    F(wait, (void *set, event_2 *out, unsigned ms), "nvmlEventSetWait_v2", NULL)
/* clang-format on */

struct hu_nvml {
    void *library, *set;
#define F(member, parameters, newest, older) int(*member) parameters;
    FUNCTIONS(F)
#undef F
};

bool hu_nvml_has_driver(void)
{
    return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/sys/module/nvidia", F_OK) == 0;
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
    static const char *const places[] = {"libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                         "/usr/lib64/libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                                         "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
    void                    *found = NULL;

    if (library)
        return dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++)
        found = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return found;
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

static hu_nvml_class class_of(int code)
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
    case GPU_IS_LOST:
    case RESET_REQUIRED:
    case DRIVER_NOT_LOADED:
    case VERSION_MISMATCH:
    case IRQ_ISSUE:
        return HU_NVML_LOST;
    default:
        return HU_NVML_LATER;
    }
}

const char *hu_nvml_words(int code)
{
    static _Thread_local char number[32];

    switch (code) {
    case NO_LIBRARY:
        return "libnvidia-ml.so.1 cannot be loaded";
    case TOO_OLD:
        return "libnvidia-ml.so.1 is too old";
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

int hu_nvml_count(hu_nvml *n)
{
    unsigned count = 0;

    if (n->count(&count) != SUCCESS)
        return -1;
    return count < HU_GPU_MOST ? (int)count : HU_GPU_MOST;
}

bool hu_nvml_describe(hu_nvml *n, unsigned index, hu_nvml_device *out, int *code)
{
    pci_3    pci = {0};
    memory_1 memory = {0};
    unsigned now = 0, next = 0;

    *out = (hu_nvml_device){0};
    *code = n->handle(index, &out->handle);
    if (*code != SUCCESS)
        return false;
    if (!n->name || n->name(out->handle, out->name, sizeof out->name) != SUCCESS)
        out->name[0] = '\0';
    if (!n->uuid || n->uuid(out->handle, out->uuid, sizeof out->uuid) != SUCCESS)
        out->uuid[0] = '\0';
    if (n->pci && n->pci(out->handle, &pci) == SUCCESS)
        memcpy(out->bus, pci.text, sizeof out->bus);
    out->name[sizeof out->name - 1] = out->uuid[sizeof out->uuid - 1] = out->bus[sizeof out->bus - 1] = '\0';
    out->is_mig = n->mig && n->mig(out->handle, &now, &next) == SUCCESS && now == 1;
    if (!n->most_clock || n->most_clock(out->handle, CLOCK_SM, &out->most_sm_mhz) != SUCCESS)
        out->most_sm_mhz = 0;
    if (!n->most_clock || n->most_clock(out->handle, CLOCK_MEMORY, &out->most_memory_mhz) != SUCCESS)
        out->most_memory_mhz = 0;
    if (!n->power_limit || n->power_limit(out->handle, &out->power_limit_mw) != SUCCESS)
        out->power_limit_mw = 0;
    if (n->memory_v1 && n->memory_v1(out->handle, &memory) == SUCCESS)
        out->memory_bytes = memory.total;
    return true;
}

/* one value each; FUNCTION_NOT_FOUND where the library has no such call */

static int get_use(hu_nvml *n, void *device, int64_t *value, int64_t *memory)
{
    rates     r = {0};
    const int rc = n->use ? n->use(device, &r) : FUNCTION_NOT_FOUND;

    *value = r.gpu;
    *memory = r.memory;
    return rc == SUCCESS && (r.gpu > MOST_PERCENT || r.memory > MOST_PERCENT) ? UNKNOWN : rc;
}

static int get_clock(hu_nvml *n, void *device, unsigned which, int64_t *value)
{
    unsigned  mhz = 0;
    const int rc = n->clock ? n->clock(device, which, &mhz) : FUNCTION_NOT_FOUND;

    *value = mhz;
    return rc;
}

static int get_power(hu_nvml *n, void *device, int64_t *value)
{
    unsigned  mw = 0;
    const int rc = n->power ? n->power(device, &mw) : FUNCTION_NOT_FOUND;

    *value = mw;
    return rc;
}

static int get_energy(hu_nvml *n, void *device, int64_t *value)
{
    unsigned long long mj = 0;
    const int          rc = n->energy ? n->energy(device, &mj) : FUNCTION_NOT_FOUND;

    *value = (int64_t)mj;
    return rc == SUCCESS && mj > INT64_MAX ? UNKNOWN : rc;
}

static int get_memory(hu_nvml *n, void *device, int64_t *value)
{
    memory_2 two = {.version = VERSION_OF(memory_2, 2)};
    memory_1 one = {0};
    int      rc = n->memory_v2 ? n->memory_v2(device, &two) : FUNCTION_NOT_FOUND;

    if (class_of(rc) == HU_NVML_NEVER) {
        rc = n->memory_v1 ? n->memory_v1(device, &one) : FUNCTION_NOT_FOUND;
        two.used = one.used;
    }
    *value = (int64_t)two.used;
    return rc == SUCCESS && two.used > INT64_MAX ? UNKNOWN : rc;
}

static int get_temperature(hu_nvml *n, void *device, int64_t *value)
{
    temperature_1 v = {.version = VERSION_OF(temperature_1, 1), .sensor = SENSOR_GPU};
    unsigned      old = 0;
    int           rc = n->temperature_v ? n->temperature_v(device, &v) : FUNCTION_NOT_FOUND;

    *value = v.celsius;
    if (class_of(rc) == HU_NVML_NEVER) {
        rc = n->temperature ? n->temperature(device, SENSOR_GPU, &old) : FUNCTION_NOT_FOUND;
        *value = old;
    }
    return rc == SUCCESS && *value > MOST_CELSIUS ? UNKNOWN : rc;
}

static int get_reasons(hu_nvml *n, void *device, int64_t *value)
{
    unsigned long long bits = 0;
    const int          rc = n->reasons ? n->reasons(device, &bits) : FUNCTION_NOT_FOUND;

    *value = (int64_t)bits;
    return rc == SUCCESS && bits > UINT32_MAX ? UNKNOWN : rc;
}

static int get(hu_nvml *n, void *device, hu_gpu_quantity which, int64_t *value, int64_t *second)
{
    switch (which) {
    case HU_GAUGE_BUSY:
        return get_use(n, device, value, second);
    case HU_GAUGE_SM_CLOCK:
        return get_clock(n, device, CLOCK_SM, value);
    case HU_GAUGE_MEMORY_CLOCK:
        return get_clock(n, device, CLOCK_MEMORY, value);
    case HU_GAUGE_POWER:
        return get_power(n, device, value);
    case HU_GAUGE_ENERGY:
        return get_energy(n, device, value);
    case HU_GAUGE_MEMORY:
        return get_memory(n, device, value);
    case HU_GAUGE_TEMPERATURE:
        return get_temperature(n, device, value);
    case HU_GAUGE_REASONS:
        return get_reasons(n, device, value);
    case HU_GAUGE_MEMORY_BUSY: /* comes with the other utilization */
    case HU_GAUGE_XID:         /* comes as an event */
    case HU_GPU_QUANTITY_COUNT:
        break;
    }
    return FUNCTION_NOT_FOUND;
}

hu_nvml_class hu_nvml_look(hu_nvml *n, hu_nvml_device *d, hu_nvml_values *out, int *code)
{
    *out = (hu_nvml_values){0};
    *code = SUCCESS;
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++) {
        int64_t value = 0, second = 0;
        int     rc;

        if (d->denied >> q & 1)
            continue;
        rc = get(n, d->handle, (hu_gpu_quantity)q, &value, &second);
        switch (class_of(rc)) {
        case HU_NVML_OK:
            out->has |= 1u << q;
            out->value[q] = value;
            break;
        case HU_NVML_NEVER:
            d->denied |= 1u << q;
            break;
        case HU_NVML_LOST:
            *code = rc;
            return HU_NVML_LOST;
        case HU_NVML_LATER:
            *code = rc;
            break;
        }
        if (q == HU_GAUGE_BUSY && (out->has >> q & 1)) {
            out->has |= 1u << HU_GAUGE_MEMORY_BUSY;
            out->value[HU_GAUGE_MEMORY_BUSY] = second;
        }
    }
    return HU_NVML_OK;
}

size_t hu_nvml_processes(hu_nvml *n, const hu_nvml_device *d, uint32_t out[HU_NVML_PIDS])
{
    process_2 two[HU_NVML_PIDS];
    process_1 one[HU_NVML_PIDS];
    unsigned  room = HU_NVML_PIDS;
    int       rc = n->processes_v2 ? n->processes_v2(d->handle, &room, two) : FUNCTION_NOT_FOUND;

    if (rc == SUCCESS) {
        room = room < HU_NVML_PIDS ? room : HU_NVML_PIDS;
        for (unsigned i = 0; i < room; i++)
            out[i] = two[i].pid;
        return room;
    }
    room = HU_NVML_PIDS;
    if (class_of(rc) != HU_NVML_NEVER || !n->processes_v1 || n->processes_v1(d->handle, &room, one) != SUCCESS)
        return 0;
    room = room < HU_NVML_PIDS ? room : HU_NVML_PIDS;
    for (unsigned i = 0; i < room; i++)
        out[i] = one[i].pid;
    return room;
}

void hu_nvml_listen(hu_nvml *n, const hu_nvml_device *d)
{
    if (!n->wait || !n->tell || !n->new_set || (!n->set && n->new_set(&n->set) != SUCCESS))
        return;
    n->tell(d->handle, EVENT_XID, n->set); /* who may not be told, is not */
}

bool hu_nvml_heard(hu_nvml *n, void **handle, uint64_t *xid)
{
    event_2 e = {0};

    if (!n->set || n->wait(n->set, &e, 0) != SUCCESS || e.type != EVENT_XID)
        return false;
    *handle = e.device;
    *xid = e.data;
    return true;
}
