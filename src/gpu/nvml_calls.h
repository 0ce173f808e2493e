/* SPDX-License-Identifier: Apache-2.0
 * nvml_calls.h - for this folder alone: NVML's functions by name, the newest first, and the structures that they fill.
 *
 * Declarations are our own and cover what is called.  Layouts were measured with the headers of 11 releases, API 12.0 to
 * 13.5 (tests/test_nvml_headers.py compiles two of them): the structures below are the same in all of them.  Traps:
 *  - a missing function is like one that is not supported;
 *  - the list of processes has rows of 16 bytes without a suffix, of 24 bytes from _v2 on;
 *  - ids of field values mean other things on other drivers: nvml_fields.c has the branches in which each is known;
 *  - memory "used" of version 1 includes what the driver reserves: version 2 is asked first;
 *  - the structure of performance metrics grew from 3.9 to 19 KB with its list: it is allocated for what is asked.
 */
#ifndef HU_GPU_NVML_CALLS_H
#define HU_GPU_NVML_CALLS_H

#include <stdint.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    BAD_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    DRIVER_NOT_LOADED = 9,
    IRQ_ISSUE = 11,
    FUNCTION_NOT_FOUND = 13,
    GPU_IS_LOST = 15,
    RESET_REQUIRED = 16,
    OPERATING_SYSTEM = 17,
    VERSION_MISMATCH = 18,
    ARGUMENT_VERSION = 25,
    DEPRECATED = 26,
    GPU_NOT_FOUND = 28,
    UNKNOWN = 999,
};
enum { NO_LIBRARY = -1, TOO_OLD = -2 };
enum { MOST_CELSIUS = 200, MOST_PERCENT = 100, EVENT_XID = 8 };

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
    uint32_t version;
    int32_t  celsius;
} margin_1;

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
    uint32_t pid;
    uint64_t at_us;
    uint32_t sm, memory, encoder, decoder;
} process_use_0;

typedef struct {
    uint64_t at_us;
    uint32_t pid, sm, memory, encoder, decoder, jpeg, flow;
} process_use_1;

typedef struct {
    uint32_t       version, n;
    uint64_t       since_us;
    process_use_1 *row;
} process_uses_1;

typedef struct {
    uint64_t total, free, used;
} bar_1;

typedef struct {
    void    *device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
} event_2; /* the first version has no instances: it ends before them */

typedef struct {
    uint32_t id, scope;
    int64_t  at_us, latency_us;
    uint32_t type;
    int32_t  code;
    union {
        double   real;
        uint32_t u32;
        uint64_t u64;
        int64_t  i64;
        int32_t  i32;
        uint16_t u16;
    } value;
} field_value;

typedef struct {
    uint8_t  cluster[16];
    uint32_t status, clique;
    uint8_t  state;
} fabric_1;

typedef struct {
    uint32_t version;
    uint8_t  cluster[16];
    uint32_t status, clique;
    uint8_t  state;
    uint32_t health;
} fabric_2;

typedef struct {
    uint32_t version;
    uint8_t  cluster[16];
    uint32_t status, clique;
    uint8_t  state;
    uint32_t health;
    uint8_t  summary;
} fabric_3;

typedef struct {
    uint32_t    id;
    int32_t     code;
    double      value;
    const char *name[3];
} performance_value;

enum { PERFORMANCE_MOST = 16 };

typedef struct {
    uint32_t          version, n; /* version: 1, without a size */
    void             *before, *after;
    performance_value row[PERFORMANCE_MOST];
} performance_values;

typedef struct {
    uint32_t version, is_supported;
} performance_support;

_Static_assert(sizeof(rates) == 8 && sizeof(memory_1) == 24 && sizeof(bar_1) == 24 && sizeof(memory_2) == 40 &&
                   sizeof(temperature_1) == 12 && sizeof(margin_1) == 8 && sizeof(pci_3) == 68 && sizeof(process_1) == 16 &&
                   sizeof(process_2) == 24 && sizeof(process_use_0) == 32 && sizeof(process_use_1) == 40 &&
                   sizeof(process_uses_1) == 24 && sizeof(event_2) == 32 && sizeof(field_value) == 40 &&
                   sizeof(fabric_1) == 28 && sizeof(fabric_2) == 36 && sizeof(fabric_3) == 40 &&
                   sizeof(performance_value) == 40 && sizeof(performance_support) == 8,
               "as the library has them");

#define VERSION_OF(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

typedef unsigned long long wide;

/* F(member, parameters, names, the newest first).  Where older names take other structures they are rows of their own. */
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
    F(minor, (void *device, unsigned *minor), "nvmlDeviceGetMinorNumber", NULL)                                             \
    F(mig, (void *device, unsigned *now, unsigned *next), "nvmlDeviceGetMigMode", NULL)                                     \
    F(mig_most, (void *device, unsigned *n), "nvmlDeviceGetMaxMigDeviceCount", NULL)                                        \
    F(mig_handle, (void *device, unsigned i, void **part), "nvmlDeviceGetMigDeviceHandleByIndex", NULL)                     \
    F(mig_gpu_instance, (void *part, unsigned *id), "nvmlDeviceGetGpuInstanceId", NULL)                                     \
    F(mig_compute_instance, (void *part, unsigned *id), "nvmlDeviceGetComputeInstanceId", NULL)                             \
    F(most_clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetMaxClockInfo", NULL)                         \
    F(power_limit, (void *device, unsigned *mw), "nvmlDeviceGetEnforcedPowerLimit", NULL)                                   \
    F(power_default, (void *device, unsigned *mw), "nvmlDeviceGetPowerManagementDefaultLimit", NULL)                        \
    F(power_range, (void *device, unsigned *least, unsigned *most), "nvmlDeviceGetPowerManagementLimitConstraints", NULL)   \
    F(use, (void *device, rates *out), "nvmlDeviceGetUtilizationRates", NULL)                                               \
    F(encoder, (void *device, unsigned *percent, unsigned *us), "nvmlDeviceGetEncoderUtilization", NULL)                    \
    F(decoder, (void *device, unsigned *percent, unsigned *us), "nvmlDeviceGetDecoderUtilization", NULL)                    \
    F(clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetClockInfo", NULL)                                 \
    F(power, (void *device, unsigned *mw), "nvmlDeviceGetPowerUsage", NULL)                                                 \
    F(energy, (void *device, wide *mj), "nvmlDeviceGetTotalEnergyConsumption", NULL)                                        \
    F(memory_v2, (void *device, memory_2 *out), "nvmlDeviceGetMemoryInfo_v2", NULL)                                         \
    F(memory_v1, (void *device, memory_1 *out), "nvmlDeviceGetMemoryInfo", NULL)                                            \
    F(temperature_v, (void *device, temperature_1 *out), "nvmlDeviceGetTemperatureV", NULL)                                 \
    F(temperature, (void *device, unsigned sensor, unsigned *celsius), "nvmlDeviceGetTemperature", NULL)                    \
    F(margin, (void *device, margin_1 *out), "nvmlDeviceGetMarginTemperature", NULL)                                        \
    F(reasons, (void *device, wide *bits), "nvmlDeviceGetCurrentClocksEventReasons",                                        \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                                          \
    F(ecc, (void *device, unsigned type, unsigned since, wide *n), "nvmlDeviceGetTotalEccErrors", NULL)                     \
    F(rows, (void *device, unsigned *cor, unsigned *unc, unsigned *pending, unsigned *failed),                              \
      "nvmlDeviceGetRemappedRows", NULL)                                                                                    \
    F(pages, (void *device, unsigned cause, unsigned *n, wide *address), "nvmlDeviceGetRetiredPages", NULL)                 \
    F(pages_pending, (void *device, unsigned *is_pending), "nvmlDeviceGetRetiredPagesPendingStatus", NULL)                  \
    F(persistence, (void *device, unsigned *is_on), "nvmlDeviceGetPersistenceMode", NULL)                                   \
    F(pcie_generation, (void *device, unsigned *n), "nvmlDeviceGetCurrPcieLinkGeneration", NULL)                            \
    F(pcie_most_generation, (void *device, unsigned *n), "nvmlDeviceGetMaxPcieLinkGeneration", NULL)                        \
    F(pcie_width, (void *device, unsigned *n), "nvmlDeviceGetCurrPcieLinkWidth", NULL)                                      \
    F(pcie_most_width, (void *device, unsigned *n), "nvmlDeviceGetMaxPcieLinkWidth", NULL)                                  \
    F(pcie_replays, (void *device, unsigned *n), "nvmlDeviceGetPcieReplayCounter", NULL)                                    \
    F(fabric, (void *device, void *out), "nvmlDeviceGetGpuFabricInfoV", NULL)                                               \
    F(fabric_v1, (void *device, fabric_1 *out), "nvmlDeviceGetGpuFabricInfo", NULL)                                         \
    F(fields, (void *device, int n, field_value *row), "nvmlDeviceGetFieldValues", NULL)                                    \
    F(processes_v2, (void *device, unsigned *n, process_2 *out), "nvmlDeviceGetComputeRunningProcesses_v3",                 \
      "nvmlDeviceGetComputeRunningProcesses_v2")                                                                            \
    F(processes_v1, (void *device, unsigned *n, process_1 *out), "nvmlDeviceGetComputeRunningProcesses", NULL)              \
    F(served_v2, (void *device, unsigned *n, process_2 *out), "nvmlDeviceGetMPSComputeRunningProcesses_v3",                 \
      "nvmlDeviceGetMPSComputeRunningProcesses_v2")                                                                         \
    F(process_use_v1, (void *device, process_uses_1 *out), "nvmlDeviceGetProcessesUtilizationInfo", NULL)                   \
    F(process_use_v0, (void *device, process_use_0 *row, unsigned *n, wide since_us), "nvmlDeviceGetProcessUtilization",    \
      NULL)                                                                                                                 \
    F(performance, (void *device, performance_support *out), "nvmlGpmQueryDeviceSupport", NULL)                             \
    F(new_sample, (void **sample), "nvmlGpmSampleAlloc", NULL)                                                              \
    F(free_sample, (void *sample), "nvmlGpmSampleFree", NULL)                                                               \
    F(get_sample, (void *device, void *sample), "nvmlGpmSampleGet", NULL)                                                   \
    F(get_mig_sample, (void *device, unsigned gpu_instance, void *sample), "nvmlGpmMigSampleGet", NULL)                     \
    F(compare, (performance_values *v), "nvmlGpmMetricsGet", NULL)                                                          \
    F(cuda, (int *version), "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")                          \
    F(capability, (void *device, int *major, int *minor), "nvmlDeviceGetCudaComputeCapability", NULL)                       \
    F(ecc_mode, (void *device, unsigned *now, unsigned *next), "nvmlDeviceGetEccMode", NULL)                                \
    F(compute_mode, (void *device, unsigned *mode), "nvmlDeviceGetComputeMode", NULL)                                       \
    F(chosen_clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetApplicationsClock", NULL)                  \
    F(default_clock, (void *device, unsigned which, unsigned *mhz), "nvmlDeviceGetDefaultApplicationsClock", NULL)          \
    F(bar, (void *device, bar_1 *out), "nvmlDeviceGetBAR1MemoryInfo", NULL)                                                 \
    F(link, (void *device, unsigned link, unsigned *is_active), "nvmlDeviceGetNvLinkState", NULL)                           \
    F(peer, (void *one, void *other, unsigned which, unsigned *status), "nvmlDeviceGetP2PStatus", NULL)                     \
    F(new_set, (void **set), "nvmlEventSetCreate", NULL)                                                                    \
    F(free_set, (void *set), "nvmlEventSetFree", NULL)                                                                      \
    F(tell, (void *device, wide types, void *set), "nvmlDeviceRegisterEvents", NULL)                                        \
    F(wait, (void *set, event_2 *out, unsigned ms), "nvmlEventSetWait_v2", "nvmlEventSetWait")
/* clang-format on */

struct hu_nvml {
    void    *library, *set;
    unsigned branch; /* 580 of driver 580.95.05; 0 not known */
#define F(member, parameters, newest, older) int(*member) parameters;
    FUNCTIONS(F)
#undef F
};

#endif
