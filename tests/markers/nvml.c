/* SPDX-License-Identifier: Apache-2.0
 * nvml.c - stands in for libnvidia-ml.so.1: two GPUs.  The first one knows everything, its figures rise with each sample; the
 * second is an old one that knows only its name and the first form of memory. */
#include <stddef.h>
#include <string.h>

enum { NOT_SUPPORTED = 3, INVALID = 2 };

static int      gpus[2];
static unsigned samples;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
int nvmlDeviceGetName(void *gpu, char *text, unsigned n);
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned n);
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned use[2]);
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long memory[3]);
int nvmlDeviceGetMemoryInfo_v2(void *gpu, unsigned long long memory[5]);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts);
int nvmlDeviceGetTemperature(void *gpu, unsigned sensor, unsigned *degrees);
int nvmlDeviceGetClockInfo(void *gpu, unsigned clock, unsigned *mhz);
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoules);
int nvmlDeviceGetCurrentClocksEventReasons(void *gpu, unsigned long long *reasons);

int nvmlInit_v2(void)
{
    return 0;
}
int nvmlShutdown(void)
{
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    *handle = index < 2 ? &gpus[index] : NULL;
    return index < 2 ? 0 : INVALID;
}

int nvmlDeviceGetName(void *gpu, char *text, unsigned n)
{
    strncpy(text, gpu == &gpus[0] ? "New One" : "Old One", n);
    return 0;
}

int nvmlDeviceGetUUID(void *gpu, char *text, unsigned n)
{
    if (gpu != &gpus[0])
        return NOT_SUPPORTED;
    strncpy(text, "GPU-1", n);
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *gpu, unsigned use[2])
{
    if (gpu != &gpus[0])
        return NOT_SUPPORTED;
    samples++;
    use[0] = samples % 2 ? 20 : 60;
    use[1] = 10;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long memory[3])
{
    (void)gpu;
    memory[0] = 16000000000ull;
    memory[1] = 12000000000ull;
    memory[2] = 4000000000ull;
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *gpu, unsigned long long memory[5])
{
    unsigned version;

    memcpy(&version, memory, sizeof version);
    if (gpu != &gpus[0] || version != 0x02000028)
        return NOT_SUPPORTED;
    memory[1] = 80000000000ull;
    memory[2] = 1000000000ull;
    memory[3] = 49000000000ull;
    memory[4] = 30000000000ull;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts)
{
    *milliwatts = 300500;
    return gpu == &gpus[0] ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(void *gpu, unsigned sensor, unsigned *degrees)
{
    *degrees = 55;
    return gpu == &gpus[0] && sensor == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(void *gpu, unsigned clock, unsigned *mhz)
{
    *mhz = 1980;
    return gpu == &gpus[0] && clock == 1 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoules)
{
    *millijoules = 1000000 + 2500ull * samples;
    return gpu == &gpus[0] ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *gpu, unsigned long long *reasons)
{
    *reasons = 0x4 | 0x1;
    return gpu == &gpus[0] ? 0 : NOT_SUPPORTED;
}
