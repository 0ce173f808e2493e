/* SPDX-License-Identifier: Apache-2.0
 * headers.c - a libnvidia-ml with the declarations of its vendor: structures are filled by the names of their fields.
 *
 * Compiled against an nvml.h that a test fetches.  -DFIRST defines the first versions of calls instead of the newest, and
 * -DNVML_NO_UNVERSIONED_FUNC_DEFS must come with it.  NVML_ASKED names a file that counts the looks, NVML_PIDFILE one that
 * holds the number of a process that computes.
 */
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int gpu;

#define DEVICE ((nvmlDevice_t)(void *)&gpu)
#define SET    ((nvmlEventSet_t)(void *)&asked)

static int asked;

nvmlReturn_t nvmlInit_v2(void)
{
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    snprintf(version, length, "535.261.03");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    *deviceCount = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    *device = DEVICE;
    return index ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    snprintf(name, length, "Header GPU");
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    snprintf(uuid, length, "GPU-by-header");
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    memset(pci, 0x7f, sizeof *pci);
    snprintf(pci->busId, sizeof pci->busId, "00000007:08:09.0");
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode)
{
    *currentMode = NVML_DEVICE_MIG_ENABLE;
    *pendingMode = NVML_DEVICE_MIG_DISABLE;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    *clock = type == NVML_CLOCK_SM ? 2001 : type == NVML_CLOCK_MEM ? 3001 : 1;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
    *limit = 401000;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    FILE *f = getenv("NVML_ASKED") ? fopen(getenv("NVML_ASKED"), "w") : NULL;

    if (f) {
        fprintf(f, "%*d\n", 8, ++asked);
        fclose(f);
    }
    utilization->gpu = 61;
    utilization->memory = 62;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    *clock = type == NVML_CLOCK_SM ? 1501 : type == NVML_CLOCK_MEM ? 2501 : 1;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
    *power = 333250;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy)
{
    *energy = 5000000000000ull + 1500ull * (unsigned)asked;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    memory->total = 8000000001;
    memory->free = 1;
    memory->used = 6000000001;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

#ifndef FIRST
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = 8000000001;
    memory->reserved = 2;
    memory->free = 1;
    memory->used = 7000000001;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
#endif

#if defined nvmlTemperature_v1 && !defined FIRST
nvmlReturn_t                               nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    if (temperature->version != nvmlTemperature_v1 || temperature->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    temperature->temperature = 71;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
#else
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp)
{
    *temp = sensorType == NVML_TEMPERATURE_GPU ? 71 : 1;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
#endif

#define REASONS                                                                       \
    (nvmlClocksThrottleReasonSwPowerCap | nvmlClocksThrottleReasonHwThermalSlowdown | \
     nvmlClocksThrottleReasonHwPowerBrakeSlowdown)

#if defined nvmlClocksEventReasonAll && !defined FIRST
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
#else
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
#endif
{
    *reasons = REASONS;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

#ifdef FIRST
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *n, nvmlProcessInfo_v1_t *infos)
#else
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *n, nvmlProcessInfo_t *infos)
#endif
{
    FILE    *f = getenv("NVML_PIDFILE") ? fopen(getenv("NVML_PIDFILE"), "r") : NULL;
    unsigned pid = 4000000;

    if (f && fscanf(f, "%u", &pid) != 1)
        pid = 4000000;
    if (f)
        fclose(f);
    if (*n < 2)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memset(infos, 0x7f, 2 * sizeof *infos);
    infos[0].pid = 4000000;
    infos[1].pid = pid;
    *n = 2;
    return device == DEVICE ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    *set = SET;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    return set == SET ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static unsigned long long told_of;

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes, nvmlEventSet_t set)
{
    told_of = eventTypes;
    return device == DEVICE && set == SET ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    static int is_told;

    (void)timeoutms;
    if (set != SET || asked < 8 || is_told)
        return NVML_ERROR_TIMEOUT;
    is_told = 1;
    memset(data, 0x7f, sizeof *data);
    data->device = DEVICE;
    data->eventType = told_of & nvmlEventTypeXidCriticalError;
    data->eventData = 94;
    return NVML_SUCCESS;
}
