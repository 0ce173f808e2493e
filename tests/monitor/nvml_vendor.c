/* SPDX-License-Identifier: Apache-2.0
 * nvml_vendor.c - a libnvidia-ml with the declarations of its vendor, which plays a scenario (scenario.h).
 *
 * It knows what a structure holds and what a number means only by the names of nvml.h; names.h, which a test writes from that
 * header, says what else is declared there.  What it answers must not be used where it answers a failure: there it scribbles.
 */
#include <nvml.h>

#include "names.h"
#include "scenario.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MOST = 100000, GROWS_MOST = 3, SETS_MOST = 16, MIG_MOST = 64, GPM_LEAST_US = 100000, TEXT_MOST = 4096 };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unsigned        users;
static pid_t           home;
static const device    whole = {.gpu = SYSTEM, .mig = NO_MIG};

static void leave(pthread_mutex_t **m)
{
    pthread_mutex_unlock(*m);
}

/* ---- handles ------------------------------------------------------------------------------------------------------ */

static nvmlDevice_t handle_of(device d)
{
    return (nvmlDevice_t)(((uintptr_t)d.gpu + 1) << 8 | (uintptr_t)(d.mig + 1)); /* NOLINT(performance-no-int-to-ptr) */
}

static long gpus(void)
{
    long double n = 0;

    return scenario_number(whole, "gpus", &n) == 0 ? (long)n : 0;
}

static bool device_of(nvmlDevice_t h, device *out)
{
    *out = (device){.gpu = (long)((uintptr_t)h >> 8) - 1, .mig = (int)((uintptr_t)h & 255) - 1};
    return out->gpu >= 0 && out->gpu < gpus();
}

/* The kernel has another driver than this library comes from: line "- only CUDA". */
static bool is_other(void)
{
    char only[32];

    return scenario_text(whole, "only", only, sizeof only) == 0 && strcmp(only, HEADER_CUDA) != 0;
}

static nvmlReturn_t enter(const char *call, bool has_device, nvmlDevice_t h, device *d)
{
    int code;

    *d = whole;
    if (!users || home != getpid()) {
        scenario_complain(call, users ? "in a child of the process that called nvmlInit" : "before nvmlInit");
        return NVML_ERROR_UNINITIALIZED;
    }
    if (has_device && !device_of(h, d)) {
        code = scenario_call(call, SYSTEM);
        scenario_complain(call, "not a device");
        return code ? (nvmlReturn_t)code : NVML_ERROR_INVALID_ARGUMENT;
    }
    code = scenario_call(call, d->gpu);
    return code || !is_other() ? (nvmlReturn_t)code : NVML_ERROR_LIB_RM_VERSION_MISMATCH;
}

#define GUARD                                                               \
    pthread_mutex_t *guard __attribute__((cleanup(leave), unused)) = &lock; \
    pthread_mutex_lock(&lock)

#define ENTER(call, has, h, any)                      \
    GUARD;                                            \
    device       d;                                   \
    nvmlReturn_t code = enter(#call, (has), (h), &d); \
    if (!code && !(any))                              \
        code = NVML_ERROR_INVALID_ARGUMENT;           \
    if (code)                                         \
    return code

#define WHOLE(v) ((v) < 0 ? (unsigned long long)(long long)(v) : (unsigned long long)(v))

/* Sets code, and the place or rubbish. */
#define NUMBER(place, key)                               \
    do {                                                 \
        long double v_ = 0;                              \
        const int   c_ = scenario_number(d, (key), &v_); \
        if (c_)                                          \
            memset(&(place), 0x7e, sizeof(place));       \
        else                                             \
            (place) = (typeof(place))WHOLE(v_);          \
        code = code ? code : (nvmlReturn_t)c_;           \
    } while (0)

#define GET(call, key, type)                     \
    nvmlReturn_t call(nvmlDevice_t h, type *out) \
    {                                            \
        ENTER(call, true, h, out);               \
        NUMBER(*out, key);                       \
        return code;                             \
    }
#define GET_TWO(call, key, type, first, second)             \
    nvmlReturn_t call(nvmlDevice_t h, type *one, type *two) \
    {                                                       \
        ENTER(call, true, h, one);                          \
        NUMBER(*one, key "." first);                        \
        if (two)                                            \
            NUMBER(*two, key "." second);                   \
        return code;                                        \
    }
#define GET_TEXT(call, key)                                           \
    nvmlReturn_t call(nvmlDevice_t h, char *out, unsigned int length) \
    {                                                                 \
        ENTER(call, true, h, out);                                    \
        memset(out, 0x7e, length);                                    \
        return (nvmlReturn_t)scenario_text(d, key, out, length);      \
    }
/* Of an argument that the header names; the key is made of both. */
#define GET_BY(call, key, by, names, type)                       \
    nvmlReturn_t call(nvmlDevice_t h, by which, type *out)       \
    {                                                            \
        char name[160];                                          \
        ENTER(call, true, h, out);                               \
        snprintf(name, sizeof name, "%s.%s", key, names(which)); \
        NUMBER(*out, name);                                      \
        return code;                                             \
    }
#define GET_LINK(call, key, type)                                    \
    nvmlReturn_t call(nvmlDevice_t h, unsigned int which, type *out) \
    {                                                                \
        char name[160];                                              \
        ENTER(call, true, h, out);                                   \
        snprintf(name, sizeof name, "%s.%u", key, which);            \
        NUMBER(*out, name);                                          \
        return code;                                                 \
    }

#define NAME(constant) \
    case constant:     \
        return #constant

/* ---- the system --------------------------------------------------------------------------------------------------- */

static nvmlReturn_t init(const char *call)
{
    GUARD;
    nvmlReturn_t code = (nvmlReturn_t)scenario_call(call, SYSTEM);

    if (!code && is_other())
        code = NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    if (!code) {
        users++;
        home = getpid();
    }
    return code;
}

nvmlReturn_t nvmlInit_v2(void)
{
    return init("nvmlInit_v2");
}

nvmlReturn_t nvmlInit(void)
{
    return init("nvmlInit");
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return init("nvmlInitWithFlags");
}

nvmlReturn_t nvmlShutdown(void)
{
    ENTER(nvmlShutdown, false, NULL, true);
    users--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const texts[] = {"Success", "Uninitialized", "Invalid Argument", "Not Supported"};

    return result < sizeof texts / sizeof *texts ? texts[result] : "Some Error";
}

static nvmlReturn_t system_text(const char *call, const char *key, char *out, unsigned int length)
{
    GUARD;
    const int code = scenario_call(call, SYSTEM);

    return (nvmlReturn_t)(code ? code : scenario_text(whole, key, out, length));
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return users ? system_text("nvmlSystemGetDriverVersion", "nvmlSystemGetDriverVersion", version, length)
                 : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return system_text("nvmlSystemGetNVMLVersion", "nvmlSystemGetNVMLVersion", version, length);
}

#define GET_SYSTEM(call, key, type)    \
    nvmlReturn_t call(type *out)       \
    {                                  \
        ENTER(call, false, NULL, out); \
        NUMBER(*out, key);             \
        return code;                   \
    }

GET_SYSTEM(nvmlSystemGetCudaDriverVersion, "nvmlSystemGetCudaDriverVersion", int)
GET_SYSTEM(nvmlSystemGetCudaDriverVersion_v2, "nvmlSystemGetCudaDriverVersion", int)
GET_SYSTEM(nvmlDeviceGetCount, "gpus", unsigned int)
GET_SYSTEM(nvmlDeviceGetCount_v2, "gpus", unsigned int)
GET_SYSTEM(nvmlGetExcludedDeviceCount, "nvmlGetExcludedDeviceCount", unsigned int)
GET_SYSTEM(nvmlUnitGetCount, "nvmlUnitGetCount", unsigned int)

static nvmlReturn_t by_index(const char *call, unsigned int index, nvmlDevice_t *out)
{
    GUARD;
    device       d;
    nvmlReturn_t code = enter(call, false, NULL, &d);

    if (code || !out)
        return code ? code : NVML_ERROR_INVALID_ARGUMENT;
    if (index >= gpus())
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = handle_of((device){index, NO_MIG});
    return (nvmlReturn_t)scenario_call("nvmlDeviceGetHandle", index);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *out)
{
    return by_index("nvmlDeviceGetHandleByIndex", index, out);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *out)
{
    return by_index("nvmlDeviceGetHandleByIndex_v2", index, out);
}

static nvmlReturn_t by_text(const char *call, const char *key, const char *text, nvmlDevice_t *out)
{
    GUARD;
    device       d;
    nvmlReturn_t code = enter(call, false, NULL, &d);
    char         other[TEXT_MOST];

    if (code || !out || !text)
        return code ? code : NVML_ERROR_INVALID_ARGUMENT;
    for (d.gpu = 0; d.gpu < gpus(); d.gpu++)
        for (d.mig = NO_MIG; d.mig < MIG_MOST; d.mig++)
            if (scenario_text(d, key, other, sizeof other) == 0 && strcasecmp(text, other) == 0) {
                *out = handle_of(d);
                return (nvmlReturn_t)scenario_call("nvmlDeviceGetHandle", d.gpu);
            }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    return by_text("nvmlDeviceGetHandleByUUID", "nvmlDeviceGetUUID", uuid, out);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out)
{
    return by_text("nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetPciInfo.busId", bus, out);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *out)
{
    return by_text("nvmlDeviceGetHandleBySerial", "nvmlDeviceGetSerial", serial, out);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    ENTER(nvmlSystemGetProcessName, false, NULL, name);
    snprintf(name, length, "program %u", pid);
    return NVML_SUCCESS;
}

/* ---- identity ----------------------------------------------------------------------------------------------------- */

GET_TEXT(nvmlDeviceGetName, "nvmlDeviceGetName")
GET_TEXT(nvmlDeviceGetUUID, "nvmlDeviceGetUUID")
GET_TEXT(nvmlDeviceGetSerial, "nvmlDeviceGetSerial")
GET_TEXT(nvmlDeviceGetVbiosVersion, "nvmlDeviceGetVbiosVersion")
GET_TEXT(nvmlDeviceGetBoardPartNumber, "nvmlDeviceGetBoardPartNumber")
GET_TEXT(nvmlDeviceGetInforomImageVersion, "nvmlDeviceGetInforomImageVersion")
GET(nvmlDeviceGetMinorNumber, "nvmlDeviceGetMinorNumber", unsigned int)
GET(nvmlDeviceGetIndex, "nvmlDeviceGetIndex", unsigned int)
GET(nvmlDeviceGetBrand, "nvmlDeviceGetBrand", nvmlBrandType_t)
GET(nvmlDeviceGetArchitecture, "nvmlDeviceGetArchitecture", nvmlDeviceArchitecture_t)
GET(nvmlDeviceGetBoardId, "nvmlDeviceGetBoardId", unsigned int)
GET(nvmlDeviceGetMultiGpuBoard, "nvmlDeviceGetMultiGpuBoard", unsigned int)
GET(nvmlDeviceGetNumGpuCores, "nvmlDeviceGetNumGpuCores", unsigned int)
GET(nvmlDeviceGetMemoryBusWidth, "nvmlDeviceGetMemoryBusWidth", unsigned int)
GET(nvmlDeviceGetPersistenceMode, "nvmlDeviceGetPersistenceMode", nvmlEnableState_t)
GET(nvmlDeviceGetDisplayMode, "nvmlDeviceGetDisplayMode", nvmlEnableState_t)
GET(nvmlDeviceGetDisplayActive, "nvmlDeviceGetDisplayActive", nvmlEnableState_t)
GET(nvmlDeviceGetComputeMode, "nvmlDeviceGetComputeMode", nvmlComputeMode_t)
GET(nvmlDeviceGetVirtualizationMode, "nvmlDeviceGetVirtualizationMode", nvmlGpuVirtualizationMode_t)
GET_TWO(nvmlDeviceGetCudaComputeCapability, "nvmlDeviceGetCudaComputeCapability", int, "major", "minor")
#ifdef HAVE_nvmlDeviceGetNumaNodeId
GET(nvmlDeviceGetNumaNodeId, "nvmlDeviceGetNumaNodeId", unsigned int)
#endif

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t h, nvmlPciInfo_t *pci)
{
    ENTER(nvmlDeviceGetPciInfo_v3, true, h, pci);
    memset(pci, 0x7e, sizeof *pci);
    code = (nvmlReturn_t)scenario_text(d, "nvmlDeviceGetPciInfo.busId", pci->busId, sizeof pci->busId);
    if (code)
        return code;
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%s", pci->busId + 4); /* a domain of 16 bits */
    if (sscanf(pci->busId, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3)
        return NVML_ERROR_UNKNOWN;
    NUMBER(pci->pciDeviceId, "nvmlDeviceGetPciInfo.pciDeviceId");
    NUMBER(pci->pciSubSystemId, "nvmlDeviceGetPciInfo.pciSubSystemId");
    return NVML_SUCCESS;
}

#ifdef HAVE_nvmlDeviceGetPciInfoExt
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t h, nvmlPciInfoExt_t *pci)
{
    ENTER(nvmlDeviceGetPciInfoExt, true, h, pci);
    if (pci->version != nvmlPciInfoExt_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    code = (nvmlReturn_t)scenario_text(d, "nvmlDeviceGetPciInfo.busId", pci->busId, sizeof pci->busId);
    if (code)
        return code;
    if (sscanf(pci->busId, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3)
        return NVML_ERROR_UNKNOWN;
    NUMBER(pci->pciDeviceId, "nvmlDeviceGetPciInfo.pciDeviceId");
    NUMBER(pci->pciSubSystemId, "nvmlDeviceGetPciInfo.pciSubSystemId");
    return code;
}
#endif

/* ---- what changes ------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t h, nvmlUtilization_t *out)
{
    ENTER(nvmlDeviceGetUtilizationRates, true, h, out);
    NUMBER(out->gpu, "nvmlDeviceGetUtilizationRates.gpu");
    NUMBER(out->memory, "nvmlDeviceGetUtilizationRates.memory");
    return code;
}

GET_TWO(nvmlDeviceGetEncoderUtilization, "nvmlDeviceGetEncoderUtilization", unsigned int, "utilization", "samplingPeriodUs")
GET_TWO(nvmlDeviceGetDecoderUtilization, "nvmlDeviceGetDecoderUtilization", unsigned int, "utilization", "samplingPeriodUs")
#ifdef HAVE_nvmlDeviceGetJpgUtilization
GET_TWO(nvmlDeviceGetJpgUtilization, "nvmlDeviceGetJpgUtilization", unsigned int, "utilization", "samplingPeriodUs")
GET_TWO(nvmlDeviceGetOfaUtilization, "nvmlDeviceGetOfaUtilization", unsigned int, "utilization", "samplingPeriodUs")
#endif

static const char *clock_name(nvmlClockType_t type)
{
    switch (type) {
        NAME(NVML_CLOCK_GRAPHICS);
        NAME(NVML_CLOCK_SM);
        NAME(NVML_CLOCK_MEM);
        NAME(NVML_CLOCK_VIDEO);
    default:
        return "unknown";
    }
}

GET_BY(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", nvmlClockType_t, clock_name, unsigned int)
GET_BY(nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", nvmlClockType_t, clock_name, unsigned int)
GET_BY(nvmlDeviceGetApplicationsClock, "nvmlDeviceGetApplicationsClock", nvmlClockType_t, clock_name, unsigned int)
GET_BY(nvmlDeviceGetDefaultApplicationsClock, "nvmlDeviceGetDefaultApplicationsClock", nvmlClockType_t, clock_name,
       unsigned int)
GET_BY(nvmlDeviceGetMaxCustomerBoostClock, "nvmlDeviceGetMaxCustomerBoostClock", nvmlClockType_t, clock_name, unsigned int)
GET(nvmlDeviceGetPerformanceState, "nvmlDeviceGetPerformanceState", nvmlPstates_t)
GET(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksEventReasons", unsigned long long)
GET(nvmlDeviceGetSupportedClocksThrottleReasons, "nvmlDeviceGetSupportedClocksEventReasons", unsigned long long)
#ifdef HAVE_nvmlDeviceGetCurrentClocksEventReasons
GET(nvmlDeviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons", unsigned long long)
GET(nvmlDeviceGetSupportedClocksEventReasons, "nvmlDeviceGetSupportedClocksEventReasons", unsigned long long)
#endif

static const char *policy_name(nvmlPerfPolicyType_t type)
{
    switch (type) {
        NAME(NVML_PERF_POLICY_POWER);
        NAME(NVML_PERF_POLICY_THERMAL);
        NAME(NVML_PERF_POLICY_SYNC_BOOST);
        NAME(NVML_PERF_POLICY_BOARD_LIMIT);
        NAME(NVML_PERF_POLICY_LOW_UTILIZATION);
        NAME(NVML_PERF_POLICY_RELIABILITY);
        NAME(NVML_PERF_POLICY_TOTAL_APP_CLOCKS);
        NAME(NVML_PERF_POLICY_TOTAL_BASE_CLOCKS);
    default:
        return "unknown";
    }
}

nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t h, nvmlPerfPolicyType_t policy, nvmlViolationTime_t *out)
{
    char key[160];

    ENTER(nvmlDeviceGetViolationStatus, true, h, out);
    snprintf(key, sizeof key, "nvmlDeviceGetViolationStatus.%s", policy_name(policy));
    out->referenceTime = (unsigned long long)scenario_now_us();
    NUMBER(out->violationTime, key);
    return code;
}

GET(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", unsigned int)
GET(nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption", unsigned long long)
GET(nvmlDeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", unsigned int)
GET(nvmlDeviceGetPowerManagementLimit, "nvmlDeviceGetPowerManagementLimit", unsigned int)
GET(nvmlDeviceGetPowerManagementDefaultLimit, "nvmlDeviceGetPowerManagementDefaultLimit", unsigned int)
GET(nvmlDeviceGetPowerManagementMode, "nvmlDeviceGetPowerManagementMode", nvmlEnableState_t)
GET_TWO(nvmlDeviceGetPowerManagementLimitConstraints, "nvmlDeviceGetPowerManagementLimitConstraints", unsigned int,
        "minLimit", "maxLimit")

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t h, nvmlTemperatureSensors_t sensor, unsigned int *out)
{
    ENTER(nvmlDeviceGetTemperature, true, h, out && sensor == NVML_TEMPERATURE_GPU);
    NUMBER(*out, "nvmlDeviceGetTemperature");
    return code;
}

#ifdef HAVE_nvmlDeviceGetTemperatureV
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t h, nvmlTemperature_t *out)
{
    ENTER(nvmlDeviceGetTemperatureV, true, h, out);
    if (out->version != nvmlTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (out->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    NUMBER(out->temperature, "nvmlDeviceGetTemperature");
    return code;
}
#endif

#ifdef HAVE_nvmlDeviceGetMarginTemperature
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t h, nvmlMarginTemperature_t *out)
{
    ENTER(nvmlDeviceGetMarginTemperature, true, h, out);
    if (out->version != nvmlMarginTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NUMBER(out->marginTemperature, "nvmlDeviceGetMarginTemperature");
    return code;
}
#endif

static const char *threshold_name(nvmlTemperatureThresholds_t type)
{
    switch (type) {
        NAME(NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
        NAME(NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
        NAME(NVML_TEMPERATURE_THRESHOLD_MEM_MAX);
        NAME(NVML_TEMPERATURE_THRESHOLD_GPU_MAX);
    default:
        return "unknown";
    }
}

GET_BY(nvmlDeviceGetTemperatureThreshold, "nvmlDeviceGetTemperatureThreshold", nvmlTemperatureThresholds_t, threshold_name,
       unsigned int)
GET(nvmlDeviceGetFanSpeed, "nvmlDeviceGetFanSpeed.0", unsigned int)
GET(nvmlDeviceGetNumFans, "nvmlDeviceGetNumFans", unsigned int)
GET_LINK(nvmlDeviceGetFanSpeed_v2, "nvmlDeviceGetFanSpeed", unsigned int)

/* ---- memory ------------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t h, nvmlMemory_v2_t *out)
{
    ENTER(nvmlDeviceGetMemoryInfo_v2, true, h, out);
    if (out->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NUMBER(out->total, "nvmlDeviceGetMemoryInfo.total");
    NUMBER(out->reserved, "nvmlDeviceGetMemoryInfo.reserved");
    NUMBER(out->free, "nvmlDeviceGetMemoryInfo.free");
    NUMBER(out->used, "nvmlDeviceGetMemoryInfo.used");
    return code;
}

/* Here what is reserved counts as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t h, nvmlMemory_t *out)
{
    unsigned long long reserved;

    ENTER(nvmlDeviceGetMemoryInfo, true, h, out);
    NUMBER(out->total, "nvmlDeviceGetMemoryInfo.total");
    NUMBER(reserved, "nvmlDeviceGetMemoryInfo.reserved");
    NUMBER(out->free, "nvmlDeviceGetMemoryInfo.free");
    NUMBER(out->used, "nvmlDeviceGetMemoryInfo.used");
    if (!code)
        out->used += reserved;
    return code;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t h, nvmlBAR1Memory_t *out)
{
    ENTER(nvmlDeviceGetBAR1MemoryInfo, true, h, out);
    NUMBER(out->bar1Total, "nvmlDeviceGetBAR1MemoryInfo.bar1Total");
    NUMBER(out->bar1Free, "nvmlDeviceGetBAR1MemoryInfo.bar1Free");
    NUMBER(out->bar1Used, "nvmlDeviceGetBAR1MemoryInfo.bar1Used");
    return code;
}

GET_TWO(nvmlDeviceGetEccMode, "nvmlDeviceGetEccMode", nvmlEnableState_t, "current", "pending")

static void ecc_key(char *key, size_t n, const char *call, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter)
{
    snprintf(key, n, "%s.%s.%s", call, error == NVML_MEMORY_ERROR_TYPE_CORRECTED ? "CORRECTED" : "UNCORRECTED",
             counter == NVML_VOLATILE_ECC ? "VOLATILE" : "AGGREGATE");
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t h, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter,
                                         unsigned long long *out)
{
    char key[160];

    ENTER(nvmlDeviceGetTotalEccErrors, true, h, out);
    ecc_key(key, sizeof key, "nvmlDeviceGetTotalEccErrors", error, counter);
    NUMBER(*out, key);
    return code;
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t h, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter,
                                             nvmlMemoryLocation_t place, unsigned long long *out)
{
    char key[200];

    ENTER(nvmlDeviceGetMemoryErrorCounter, true, h, out);
    ecc_key(key, sizeof key - 20, "nvmlDeviceGetMemoryErrorCounter", error, counter);
    snprintf(key + strlen(key), 20, ".%d", (int)place);
    NUMBER(*out, key);
    return code;
}

#ifdef HAVE_nvmlDeviceGetSramEccErrorStatus
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t h, nvmlEccSramErrorStatus_t *out)
{
    ENTER(nvmlDeviceGetSramEccErrorStatus, true, h, out);
    if (out->version != nvmlEccSramErrorStatus_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
#define SRAM(field) NUMBER(out->field, "nvmlDeviceGetSramEccErrorStatus." #field)
    SRAM(aggregateUncParity);
    SRAM(aggregateUncSecDed);
    SRAM(aggregateCor);
    SRAM(volatileUncParity);
    SRAM(volatileUncSecDed);
    SRAM(volatileCor);
    SRAM(aggregateUncBucketL2);
    SRAM(aggregateUncBucketSm);
    SRAM(aggregateUncBucketPcie);
    SRAM(aggregateUncBucketMcu);
    SRAM(aggregateUncBucketOther);
    SRAM(bThresholdExceeded);
    return code;
}
#endif

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t h, unsigned int *corr, unsigned int *unc, unsigned int *pending,
                                       unsigned int *failed)
{
    ENTER(nvmlDeviceGetRemappedRows, true, h, corr && unc && pending && failed);
    NUMBER(*corr, "nvmlDeviceGetRemappedRows.corrRows");
    NUMBER(*unc, "nvmlDeviceGetRemappedRows.uncRows");
    NUMBER(*pending, "nvmlDeviceGetRemappedRows.isPending");
    NUMBER(*failed, "nvmlDeviceGetRemappedRows.failureOccurred");
    return code;
}

static nvmlReturn_t retired(device d, nvmlPageRetirementCause_t cause, unsigned int *count, unsigned long long *addresses)
{
    const unsigned room = *count;
    nvmlReturn_t   code = NVML_SUCCESS;

    NUMBER(*count, cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR
                       ? "nvmlDeviceGetRetiredPages.DOUBLE_BIT"
                       : "nvmlDeviceGetRetiredPages.MULTIPLE_SINGLE_BIT");
    if (!code && room < *count)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; !code && addresses && i < *count; i++)
        addresses[i] = 4096ull * i;
    return code;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t h, nvmlPageRetirementCause_t cause, unsigned int *count,
                                       unsigned long long *addresses)
{
    ENTER(nvmlDeviceGetRetiredPages, true, h, count);
    return retired(d, cause, count, addresses);
}

nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t h, nvmlPageRetirementCause_t cause, unsigned int *count,
                                          unsigned long long *addresses, unsigned long long *times)
{
    ENTER(nvmlDeviceGetRetiredPages_v2, true, h, count);
    code = retired(d, cause, count, addresses);
    for (unsigned i = 0; !code && times && i < *count; i++)
        times[i] = 1700000000ull + i;
    return code;
}

GET(nvmlDeviceGetRetiredPagesPendingStatus, "nvmlDeviceGetRetiredPagesPendingStatus", nvmlEnableState_t)

/* ---- links -------------------------------------------------------------------------------------------------------- */

GET(nvmlDeviceGetMaxPcieLinkGeneration, "nvmlDeviceGetMaxPcieLinkGeneration", unsigned int)
GET(nvmlDeviceGetMaxPcieLinkWidth, "nvmlDeviceGetMaxPcieLinkWidth", unsigned int)
GET(nvmlDeviceGetCurrPcieLinkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", unsigned int)
GET(nvmlDeviceGetCurrPcieLinkWidth, "nvmlDeviceGetCurrPcieLinkWidth", unsigned int)
GET(nvmlDeviceGetPcieReplayCounter, "nvmlDeviceGetPcieReplayCounter", unsigned int)
#ifdef HAVE_nvmlDeviceGetGpuMaxPcieLinkGeneration
GET(nvmlDeviceGetGpuMaxPcieLinkGeneration, "nvmlDeviceGetGpuMaxPcieLinkGeneration", unsigned int)
#endif

static const char *pcie_name(nvmlPcieUtilCounter_t type)
{
    return type == NVML_PCIE_UTIL_TX_BYTES   ? "NVML_PCIE_UTIL_TX_BYTES"
           : type == NVML_PCIE_UTIL_RX_BYTES ? "NVML_PCIE_UTIL_RX_BYTES"
                                             : "unknown";
}

GET_BY(nvmlDeviceGetPcieThroughput, "nvmlDeviceGetPcieThroughput", nvmlPcieUtilCounter_t, pcie_name, unsigned int)
GET_LINK(nvmlDeviceGetNvLinkState, "nvmlDeviceGetNvLinkState", nvmlEnableState_t)
GET_LINK(nvmlDeviceGetNvLinkVersion, "nvmlDeviceGetNvLinkVersion", unsigned int)
GET_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, "nvmlDeviceGetNvLinkRemoteDeviceType", nvmlIntNvLinkDeviceType_t)

static const char *link_error_name(nvmlNvLinkErrorCounter_t type)
{
    switch (type) {
        NAME(NVML_NVLINK_ERROR_DL_REPLAY);
        NAME(NVML_NVLINK_ERROR_DL_RECOVERY);
        NAME(NVML_NVLINK_ERROR_DL_CRC_FLIT);
        NAME(NVML_NVLINK_ERROR_DL_CRC_DATA);
        NAME(NVML_NVLINK_ERROR_DL_ECC_DATA);
    default:
        return "unknown";
    }
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t h, unsigned int link, nvmlNvLinkErrorCounter_t type,
                                             unsigned long long *out)
{
    char key[160];

    ENTER(nvmlDeviceGetNvLinkErrorCounter, true, h, out);
    snprintf(key, sizeof key, "nvmlDeviceGetNvLinkErrorCounter.%u.%s", link, link_error_name(type));
    NUMBER(*out, key);
    return code;
}

#ifdef HAVE_nvmlDeviceGetGpuFabricInfo
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t h, nvmlGpuFabricInfo_t *out)
{
    ENTER(nvmlDeviceGetGpuFabricInfo, true, h, out);
    memset(out, 0x7e, sizeof *out);
    NUMBER(out->state, "nvmlDeviceGetGpuFabricInfo.state");
    NUMBER(out->status, "nvmlDeviceGetGpuFabricInfo.status");
    return code;
}
#endif

#ifdef HAVE_nvmlDeviceGetGpuFabricInfoV
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t h, nvmlGpuFabricInfoV_t *out)
{
    ENTER(nvmlDeviceGetGpuFabricInfoV, true, h, out);
#ifdef nvmlGpuFabricInfo_v3
    if (out->version == nvmlGpuFabricInfo_v2) {
        nvmlGpuFabricInfo_v2_t *older = (nvmlGpuFabricInfo_v2_t *)out;

        NUMBER(older->state, "nvmlDeviceGetGpuFabricInfo.state");
        NUMBER(older->status, "nvmlDeviceGetGpuFabricInfo.status");
        NUMBER(older->cliqueId, "nvmlDeviceGetGpuFabricInfo.cliqueId");
        NUMBER(older->healthMask, "nvmlDeviceGetGpuFabricInfo.healthMask");
        return code;
    }
    if (out->version != nvmlGpuFabricInfo_v3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NUMBER(out->healthSummary, "nvmlDeviceGetGpuFabricInfo.healthSummary");
#else
    if (out->version != nvmlGpuFabricInfo_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
#endif
    NUMBER(out->state, "nvmlDeviceGetGpuFabricInfo.state");
    NUMBER(out->status, "nvmlDeviceGetGpuFabricInfo.status");
    NUMBER(out->cliqueId, "nvmlDeviceGetGpuFabricInfo.cliqueId");
    NUMBER(out->healthMask, "nvmlDeviceGetGpuFabricInfo.healthMask");
    return code;
}
#endif

/* ---- fields, samples ---------------------------------------------------------------------------------------------- */

/* The line for a field: of all names that the header has for the number, and of its scope first. */
static bool field_key(device d, unsigned id, unsigned scope, char *key, size_t n)
{
    bool is_known = false;

    for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++) {
        if (field_names[i].number != id)
            continue;
        is_known = true;
        snprintf(key, n, "field.%s/%u", field_names[i].name, scope);
        if (scenario_has(d, key))
            return true;
        snprintf(key, n, "field.%s", field_names[i].name);
        if (scenario_has(d, key))
            return true;
    }
    return is_known;
}

static void put_value(nvmlFieldValue_t *f, long double v, nvmlValueType_t type)
{
    f->valueType = type;
    if (type == NVML_VALUE_TYPE_DOUBLE)
        f->value.dVal = (double)v;
    else if (type == NVML_VALUE_TYPE_UNSIGNED_INT)
        f->value.uiVal = (unsigned int)WHOLE(v);
    else if (type == NVML_VALUE_TYPE_UNSIGNED_LONG)
        f->value.ulVal = (unsigned long)WHOLE(v);
    else if (type == NVML_VALUE_TYPE_SIGNED_LONG_LONG)
        f->value.sllVal = (long long)v;
    else
        f->value.ullVal = WHOLE(v);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t h, int count, nvmlFieldValue_t *values)
{
    ENTER(nvmlDeviceGetFieldValues, true, h, values && count > 0);
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *f = &values[i];
        long double       v = 0, type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        char              key[200], other[220];

        f->timestamp = scenario_now_us();
        f->latencyUsec = 3;
        memset(&f->value, 0x7e, sizeof f->value);
        if (!field_key(d, f->fieldId, f->scopeId, key, sizeof key)) {
            f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
            continue;
        }
        f->nvmlReturn = (nvmlReturn_t)scenario_number(d, key, &v);
        snprintf(other, sizeof other, "type%s", strchr(key, '.'));
        if (scenario_has(d, other))
            scenario_number(d, other, &type);
        if (f->nvmlReturn == NVML_SUCCESS)
            put_value(f, v, (nvmlValueType_t)type);
    }
    return NVML_SUCCESS;
}

static const char *sample_name(nvmlSamplingType_t type)
{
    switch (type) {
        NAME(NVML_TOTAL_POWER_SAMPLES);
        NAME(NVML_GPU_UTILIZATION_SAMPLES);
        NAME(NVML_MEMORY_UTILIZATION_SAMPLES);
        NAME(NVML_ENC_UTILIZATION_SAMPLES);
        NAME(NVML_DEC_UTILIZATION_SAMPLES);
        NAME(NVML_PROCESSOR_CLK_SAMPLES);
        NAME(NVML_MEMORY_CLK_SAMPLES);
    default:
        return "unknown";
    }
}

/* Ten a second, of the last two seconds; they all hold the number of the scenario. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t h, nvmlSamplingType_t type, unsigned long long last, nvmlValueType_t *kind,
                                  unsigned int *count, nvmlSample_t *samples)
{
    const unsigned long long now = (unsigned long long)scenario_now_us() / 100000 * 100000;
    char                     key[160];
    unsigned                 n = 0, value;

    ENTER(nvmlDeviceGetSamples, true, h, count);
    snprintf(key, sizeof key, "nvmlDeviceGetSamples.%s", sample_name(type));
    NUMBER(value, key);
    if (code)
        return code;
    if (kind)
        *kind = NVML_VALUE_TYPE_UNSIGNED_INT;
    for (unsigned long long at = now - 2000000; at <= now; at += 100000)
        if (at > last && samples && n < *count) {
            samples[n].timeStamp = at;
            samples[n++].sampleValue.uiVal = value;
        }
    if (!samples)
        n = 120;
    *count = n;
    return n ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned           pid, gi, ci;
    unsigned long long used;
} process;

/* Lines "compute.0 PID BYTES [GI CI]", and "compute.many COUNT" with "compute.first PID"; "compute.grow N" after each call for the size. */
static process *list(device d, const char *kind, unsigned *n)
{
    static process  all[LIST_MOST];
    static unsigned grown;
    long double     many = 0, first = 0, grow = 0;
    char            key[64], text[TEXT_MOST];

    *n = 0;
    for (unsigned i = 0; i < LIST_MOST; i++) {
        process p = {.gi = 0xffffffff, .ci = 0xffffffff};

        snprintf(key, sizeof key, "%s.%u", kind, i);
        if (scenario_text(d, key, text, sizeof text) != 0 ||
            sscanf(text, "%u %llu %u %u", &p.pid, &p.used, &p.gi, &p.ci) < 2)
            break;
        all[(*n)++] = p;
    }
    snprintf(key, sizeof key, "%s.grow", kind);
    scenario_number(d, key, &grow);
    snprintf(key, sizeof key, "%s.many", kind);
    scenario_number(d, key, &many);
    snprintf(key, sizeof key, "%s.first", kind);
    scenario_number(d, key, &first);
    if (grow > 0 && grown < GROWS_MOST)
        many += grow * ++grown;
    else if (grow > 0)
        many += grow * grown;
    for (unsigned i = 0; i < (unsigned)many && *n < LIST_MOST; i++)
        all[(*n)++] = (process){.pid = (unsigned)first + i, .used = (i + 1ull) << 20, .gi = 0xffffffff, .ci = 0xffffffff};
    return all;
}

/* Answers the size if there is no room.  A MIG device has lines of its own. */
#define PROCESSES(call, kind, type, put)                                \
    nvmlReturn_t call(nvmlDevice_t h, unsigned int *count, type *infos) \
    {                                                                   \
        unsigned n;                                                     \
        ENTER(call, true, h, count && (infos || !*count));              \
        const process *p = list(d, kind, &n);                           \
        const unsigned room = *count;                                   \
        *count = n;                                                     \
        if (room < n)                                                   \
            return NVML_ERROR_INSUFFICIENT_SIZE;                        \
        for (unsigned i = 0; i < n; i++) {                              \
            memset(&infos[i], 0x7e, sizeof infos[i]);                   \
            infos[i].pid = p[i].pid;                                    \
            infos[i].usedGpuMemory = p[i].used;                         \
            put                                                         \
        }                                                               \
        return NVML_SUCCESS;                                            \
    }
#define PUT_INSTANCES                 \
    infos[i].gpuInstanceId = p[i].gi; \
    infos[i].computeInstanceId = p[i].ci;

PROCESSES(nvmlDeviceGetComputeRunningProcesses, "compute", nvmlProcessInfo_v1_t, )
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "compute", nvmlProcessInfo_v2_t, PUT_INSTANCES)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute", nvmlProcessInfo_t, PUT_INSTANCES)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, "graphics", nvmlProcessInfo_v1_t, )
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", nvmlProcessInfo_v2_t, PUT_INSTANCES)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", nvmlProcessInfo_t, PUT_INSTANCES)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, "mps", nvmlProcessInfo_v1_t, )
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps", nvmlProcessInfo_v2_t, PUT_INSTANCES)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps", nvmlProcessInfo_t, PUT_INSTANCES)

/* Lines "utilization.0 PID SM MEMORY ENCODER DECODER", sampled now. */
static bool busy(device d, unsigned i, unsigned v[5])
{
    char key[64], text[TEXT_MOST];

    snprintf(key, sizeof key, "utilization.%u", i);
    return scenario_text(d, key, text, sizeof text) == 0 &&
           sscanf(text, "%u %u %u %u %u", &v[0], &v[1], &v[2], &v[3], &v[4]) == 5;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t h, nvmlProcessUtilizationSample_t *out, unsigned int *count,
                                             unsigned long long last)
{
    unsigned n = 0, v[5];

    ENTER(nvmlDeviceGetProcessUtilization, true, h, count);
    while (busy(d, n, v))
        n++;
    if (!out || *count < n) {
        *count = n;
        return n ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_ERROR_NOT_FOUND;
    }
    *count = 0;
    for (unsigned i = 0; i < n && busy(d, i, v); i++) {
        const unsigned long long at = (unsigned long long)scenario_now_us();

        if (at > last)
            out[(*count)++] = (nvmlProcessUtilizationSample_t){
                .pid = v[0], .timeStamp = at, .smUtil = v[1], .memUtil = v[2], .encUtil = v[3], .decUtil = v[4]};
    }
    return *count ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

#ifdef HAVE_nvmlDeviceGetProcessesUtilizationInfo
nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t h, nvmlProcessesUtilizationInfo_t *out)
{
    unsigned n = 0, v[5];

    ENTER(nvmlDeviceGetProcessesUtilizationInfo, true, h, out);
    if (out->version != nvmlProcessesUtilizationInfo_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    while (busy(d, n, v))
        n++;
    if (!out->procUtilArray || out->processSamplesCount < n) {
        out->processSamplesCount = n;
        return n ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_ERROR_NOT_FOUND;
    }
    out->processSamplesCount = n;
    for (unsigned i = 0; i < n && busy(d, i, v); i++)
        out->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){.timeStamp = (unsigned long long)scenario_now_us(),
                                                                  .pid = v[0],
                                                                  .smUtil = v[1],
                                                                  .memUtil = v[2],
                                                                  .encUtil = v[3],
                                                                  .decUtil = v[4]};
    return n ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
#endif

/* ---- MIG ---------------------------------------------------------------------------------------------------------- */

GET_TWO(nvmlDeviceGetMigMode, "nvmlDeviceGetMigMode", unsigned int, "currentMode", "pendingMode")
GET(nvmlDeviceGetMaxMigDeviceCount, "nvmlDeviceGetMaxMigDeviceCount", unsigned int)
GET(nvmlDeviceGetGpuInstanceId, "nvmlDeviceGetGpuInstanceId", unsigned int)
GET(nvmlDeviceGetComputeInstanceId, "nvmlDeviceGetComputeInstanceId", unsigned int)

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t h, unsigned int *out)
{
    ENTER(nvmlDeviceIsMigDeviceHandle, true, h, out);
    *out = d.mig != NO_MIG;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t h, unsigned int index, nvmlDevice_t *out)
{
    ENTER(nvmlDeviceGetMigDeviceHandleByIndex, true, h, out);
    if (index >= MIG_MOST)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = handle_of((device){d.gpu, (int)index});
    return d.mig == NO_MIG && scenario_has((device){d.gpu, (int)index}, "nvmlDeviceGetUUID") ? NVML_SUCCESS
                                                                                             : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t h, nvmlDevice_t *out)
{
    ENTER(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, true, h, out);
    *out = handle_of((device){d.gpu, NO_MIG});
    return d.mig == NO_MIG ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t h, nvmlDeviceAttributes_t *out)
{
    ENTER(nvmlDeviceGetAttributes_v2, true, h, out);
#define ATTRIBUTE(field) NUMBER(out->field, "nvmlDeviceGetAttributes." #field)
    ATTRIBUTE(multiprocessorCount);
    ATTRIBUTE(sharedCopyEngineCount);
    ATTRIBUTE(sharedDecoderCount);
    ATTRIBUTE(sharedEncoderCount);
    ATTRIBUTE(sharedJpegCount);
    ATTRIBUTE(sharedOfaCount);
    ATTRIBUTE(gpuInstanceSliceCount);
    ATTRIBUTE(computeInstanceSliceCount);
    ATTRIBUTE(memorySizeMB);
    return code;
}

/* ---- GPM ---------------------------------------------------------------------------------------------------------- */

struct nvmlGpmSample_st {
    long long at_us; /* 0: nothing sampled yet */
    device    d;
    long      gi;
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t h, nvmlGpmSupport_t *out)
{
    ENTER(nvmlGpmQueryDeviceSupport, true, h, out);
    if (out->version != NVML_GPM_SUPPORT_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NUMBER(out->isSupportedDevice, "nvmlGpmQueryDeviceSupport.isSupportedDevice");
    return code;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *out)
{
    ENTER(nvmlGpmSampleAlloc, false, NULL, out);
    *out = calloc(1, sizeof **out);
    return *out ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    ENTER(nvmlGpmSampleFree, false, NULL, sample);
    free(sample);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t h, nvmlGpmSample_t sample)
{
    ENTER(nvmlGpmSampleGet, true, h, sample && d.mig == NO_MIG);
    if (!scenario_has(d, "nvmlGpmQueryDeviceSupport.isSupportedDevice"))
        return NVML_ERROR_NOT_SUPPORTED;
    *sample = (struct nvmlGpmSample_st){scenario_now_us(), d, -1};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t h, unsigned int gi, nvmlGpmSample_t sample)
{
    ENTER(nvmlGpmMigSampleGet, true, h, sample && d.mig == NO_MIG);
    if (!scenario_has(d, "nvmlGpmQueryDeviceSupport.isSupportedDevice"))
        return NVML_ERROR_NOT_SUPPORTED;
    *sample = (struct nvmlGpmSample_st){scenario_now_us(), d, (long)gi};
    return NVML_SUCCESS;
}

/* Lines "gpm.NVML_GPM_METRIC_SM_UTIL" of a GPU, "gpm3.NVML..." of GPU instance 3. */
static void answer_metric(nvmlGpmMetric_t *m, const struct nvmlGpmSample_st *sample)
{
    long double v = 0;
    char        key[200];

    memset(&m->value, 0x7e, sizeof m->value);
    memset(&m->metricInfo, 0, sizeof m->metricInfo);
    m->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof metric_names / sizeof *metric_names; i++)
        if (metric_names[i].number == m->metricId) {
            if (sample->gi < 0)
                snprintf(key, sizeof key, "gpm.%s", metric_names[i].name);
            else
                snprintf(key, sizeof key, "gpm%ld.%s", sample->gi, metric_names[i].name);
            m->nvmlReturn = (nvmlReturn_t)scenario_number(sample->d, key, &v);
            if (m->nvmlReturn == NVML_SUCCESS)
                m->value = (double)v;
            return;
        }
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    const struct nvmlGpmSample_st *one, *two;

    ENTER(nvmlGpmMetricsGet, false, NULL, get && get->sample1 && get->sample2 && get->numMetrics);
    if (get->version != NVML_GPM_METRICS_GET_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (get->numMetrics > NVML_GPM_METRIC_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    one = get->sample1;
    two = get->sample2;
    if (!one->at_us || !two->at_us || one->d.gpu != two->d.gpu || one->gi != two->gi || two->at_us <= one->at_us) {
        scenario_complain("nvmlGpmMetricsGet", "samples that are no pair");
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (two->at_us - one->at_us < GPM_LEAST_US) {
        char why[64];

        snprintf(why, sizeof why, "samples are %lld us apart, not 100000", two->at_us - one->at_us);
        scenario_complain("nvmlGpmMetricsGet", why);
    }
    code = (nvmlReturn_t)scenario_call("nvmlGpmMetricsGet of a GPU", one->d.gpu);
    for (unsigned i = 0; !code && i < get->numMetrics; i++)
        answer_metric(&get->metrics[i], one);
    return code;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

typedef struct {
    bool               is_used;
    unsigned long long types[256], seen; /* by GPU; the last event that was told or that was before it listened */
} event_set;

static event_set sets[SETS_MOST];

static event_set *set_of(const char *call, nvmlEventSet_t set)
{
    event_set *s = (event_set *)(void *)set;

    if (s >= sets && s < sets + SETS_MOST && s->is_used)
        return s;
    scenario_complain(call, "not an event set");
    return NULL;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *out)
{
    ENTER(nvmlEventSetCreate, false, NULL, out);
    for (size_t i = 0; i < SETS_MOST; i++)
        if (!sets[i].is_used) {
            scenario_event e;

            sets[i] = (event_set){.is_used = true};
            while (scenario_next_event(sets[i].seen, &e))
                sets[i].seen = e.number;
            *out = (nvmlEventSet_t)(void *)&sets[i];
            return NVML_SUCCESS;
        }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    ENTER(nvmlEventSetFree, false, NULL, set);
    event_set *s = set_of("nvmlEventSetFree", set);

    if (s)
        s->is_used = false;
    return s ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

GET(nvmlDeviceGetSupportedEventTypes, "nvmlDeviceGetSupportedEventTypes", unsigned long long)

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t h, unsigned long long types, nvmlEventSet_t set)
{
    unsigned long long can = 0;

    ENTER(nvmlDeviceRegisterEvents, true, h, set);
    event_set *s = set_of("nvmlDeviceRegisterEvents", set);

    NUMBER(can, "nvmlDeviceGetSupportedEventTypes");
    if (code || (types & ~can))
        return NVML_ERROR_NOT_SUPPORTED;
    if (s && d.gpu < 256)
        s->types[d.gpu] |= types;
    return s ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* What the set has not told yet; TIMEOUT: nothing. */
static nvmlReturn_t next_event(event_set *s, nvmlEventData_t *data)
{
    GUARD;
    scenario_event e;

    while (scenario_next_event(s->seen, &e)) {
        s->seen = e.number;
        if (e.gpu < 0 || e.gpu >= gpus() || e.gpu >= 256 || !(s->types[e.gpu] & e.type))
            continue;
        *data = (nvmlEventData_t){.device = handle_of((device){e.gpu, NO_MIG}),
                                  .eventType = e.type,
                                  .eventData = e.data,
                                  .gpuInstanceId = 0xffffffff,
                                  .computeInstanceId = 0xffffffff};
        return NVML_SUCCESS;
    }
    return NVML_ERROR_TIMEOUT;
}

static nvmlReturn_t begin_wait(const char *call, nvmlEventSet_t set, event_set **out)
{
    GUARD;
    device             d;
    const nvmlReturn_t code = enter(call, false, NULL, &d);

    *out = code ? NULL : set_of(call, set);
    return code || *out ? code : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t wait_event(const char *call, nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
    const long long until = scenario_now_us() + 1000LL * ms;
    event_set      *s;
    nvmlReturn_t    code = begin_wait(call, set, &s);

    while (!code) {
        code = next_event(s, data);
        if (code != NVML_ERROR_TIMEOUT || scenario_now_us() >= until)
            return code;
        code = NVML_SUCCESS;
        usleep(5000);
    }
    return code;
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
    return wait_event("nvmlEventSetWait", set, data, ms);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
    return wait_event("nvmlEventSetWait_v2", set, data, ms);
}
