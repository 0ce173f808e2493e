/* SPDX-License-Identifier: Apache-2.0
 * standin.c - a libnvidia-ml that plays a scene: two GPUs, of which the first runs into its power cap.
 *
 * What it says depends on how often it was asked, not on the time, so a busy machine sees the same scene.  Own declarations:
 * no header of the vendor.  NVML_PLAY is words with commas between them:
 *   asked=FILE     the number of looks so far, for a job that waits for them
 *   calm=N         looks before the clocks fall (default 5)
 *   pid=N          a process that computes on GPU 0;  pidfile=FILE: the number is in there
 *   fail=CALL:CODE this call returns CODE
 *   hang=CALL:N    this call never returns from its N-th time on
 *   lost=N         GPU 0 is lost from look N on
 *   xid=N          an error 79 comes at look N
 *   mig            GPU 0 is divided
 *   gpus=N         how many GPUs there are (default 2)
 * -DOLD leaves out what a driver of branch 450 does not have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, TIMEOUT = 10, LOST = 15 };

typedef struct {
    int index;
} gpu;

static gpu gpus[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static int looks[8];

static int find(const char *key, char *value, size_t room)
{
    const char  *at = getenv("NVML_PLAY");
    const size_t n = strlen(key);

    while (at && *at) {
        const size_t length = strcspn(at, ",");

        if (strncmp(at, key, n) == 0 && (at[n] == '=' || at[n] == ',' || at[n] == '\0')) {
            snprintf(value, room, "%.*s", at[n] == '=' ? (int)(length - n - 1) : 0, at + n + 1);
            return 1;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

static int number(const char *key, int otherwise)
{
    char value[64];

    return find(key, value, sizeof value) ? atoi(value) : otherwise;
}

/* CODE of "fail=CALL:CODE" for this call, in any of several such words; may not come back. */
static int fate(const char *call)
{
    static struct {
        const char *call;
        int         n;
    } times[64];
    const char  *at = getenv("NVML_PLAY");
    const size_t n = strlen(call);
    int          i = 0;

    while (i < 63 && times[i].call && times[i].call != call)
        i++;
    times[i].call = call;
    times[i].n++;
    for (; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        if (strncmp(at, "fail=", 5) == 0 && strncmp(at + 5, call, n) == 0 && at[5 + n] == ':')
            return atoi(at + 6 + n);
        if (strncmp(at, "hang=", 5) == 0 && strncmp(at + 5, call, n) == 0 && at[5 + n] == ':' &&
            times[i].n >= atoi(at + 6 + n))
            for (;;)
                pause();
    }
    return OK;
}

#define FATE                         \
    const int code = fate(__func__); \
    if (code)                        \
    return code
#define NOT_LOST(d)                                                            \
    if ((d)->index == 0 && number("lost", 0) && looks[0] >= number("lost", 0)) \
    return LOST

static int is_capped(const gpu *d)
{
    return d->index == 0 && looks[0] > number("calm", 5);
}

int nvmlInit_v2(void)
{
    FATE;
    return OK;
}

int nvmlShutdown(void)
{
    FATE;
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    FATE;
    snprintf(text, room, "580.95.05");
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    FATE;
    *n = (unsigned)number("gpus", 2);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **out)
{
    FATE;
    if (index >= (unsigned)number("gpus", 2))
        return BAD_ARGUMENT;
    *out = &gpus[index];
    return OK;
}

int nvmlDeviceGetName(gpu *d, char *text, unsigned room)
{
    FATE;
    (void)d;
    snprintf(text, room, "NVIDIA H100 80GB HBM3");
    return OK;
}

int nvmlDeviceGetUUID(gpu *d, char *text, unsigned room)
{
    FATE;
    snprintf(text, room, "GPU-%08x-1111-2222-3333-444444444444", 0xabc0 + d->index);
    return OK;
}

struct pci {
    char     old[16];
    unsigned number[5];
    char     text[32];
};

int nvmlDeviceGetPciInfo_v3(gpu *d, struct pci *out)
{
    FATE;
    snprintf(out->text, sizeof out->text, "00000000:%02X:00.0", 0x1b + d->index);
    return OK;
}

int nvmlDeviceGetMigMode(gpu *d, unsigned *now, unsigned *next)
{
    char unused[8];

    FATE;
    *now = *next = d->index == 0 && find("mig", unused, sizeof unused);
    return OK;
}

int nvmlDeviceGetMaxClockInfo(gpu *d, unsigned which, unsigned *mhz)
{
    FATE;
    (void)d;
    *mhz = which == 1 ? 1980 : 2619;
    return OK;
}

int nvmlDeviceGetEnforcedPowerLimit(gpu *d, unsigned *mw)
{
    FATE;
    (void)d;
    *mw = 700000;
    return OK;
}

/* Tells a job how often GPU 0 was looked at. */
static void tell(int n)
{
    char  path[4096], temporary[4200];
    FILE *f;

    if (!find("asked", path, sizeof path))
        return;
    snprintf(temporary, sizeof temporary, "%s.new", path);
    f = fopen(temporary, "w");
    if (f) {
        fprintf(f, "%d\n", n);
        fclose(f);
        rename(temporary, path);
    }
}

int nvmlDeviceGetUtilizationRates(gpu *d, unsigned out[2])
{
    looks[d->index]++;
    if (d->index == 0)
        tell(looks[0]);
    NOT_LOST(d);
    FATE;
    out[0] = d->index == 0 ? 97 : 0;
    out[1] = d->index == 0 ? 41 : 0;
    return OK;
}

int nvmlDeviceGetClockInfo(gpu *d, unsigned which, unsigned *mhz)
{
    NOT_LOST(d);
    FATE;
    *mhz = which == 2 ? 2619 : is_capped(d) ? 1320 : 1980;
    return OK;
}

int nvmlDeviceGetPowerUsage(gpu *d, unsigned *mw)
{
    NOT_LOST(d);
    FATE;
    *mw = d->index ? 71250 : is_capped(d) ? 699500 : 512250;
    return OK;
}

/* 60 J between two looks. */
int nvmlDeviceGetTotalEnergyConsumption(gpu *d, unsigned long long *mj)
{
    NOT_LOST(d);
    FATE;
    *mj = 123456789000ull + 60000ull * (unsigned)looks[d->index];
    return OK;
}

#ifndef OLD
struct memory_2 {
    unsigned           version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(gpu *d, struct memory_2 *out)
{
    NOT_LOST(d);
    FATE;
    if (out->version != (sizeof *out | 2u << 24))
        return 25;
    *out = (struct memory_2){out->version, 85899345920ull, 600000000, 0, 4321000000};
    return OK;
}
#endif

int nvmlDeviceGetMemoryInfo(gpu *d, unsigned long long out[3])
{
    NOT_LOST(d);
    FATE;
    out[0] = 85899345920ull;
    out[2] = 4921000000;
    return OK;
}

int nvmlDeviceGetTemperature(gpu *d, unsigned sensor, unsigned *celsius)
{
    NOT_LOST(d);
    FATE;
    if (sensor)
        return BAD_ARGUMENT;
    *celsius = is_capped(d) ? 83 : 64;
    return OK;
}

#ifdef OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(gpu *d, unsigned long long *bits)
#else
int nvmlDeviceGetCurrentClocksEventReasons(gpu *d, unsigned long long *bits)
#endif
{
    NOT_LOST(d);
    FATE;
    *bits = d->index ? 0x1 : is_capped(d) ? 0x4 : 0;
    return OK;
}

static unsigned played_pid(void)
{
    char  path[4096];
    int   pid = number("pid", 0);
    FILE *f = find("pidfile", path, sizeof path) ? fopen(path, "r") : NULL;

    if (f) {
        if (fscanf(f, "%d", &pid) != 1)
            pid = 0;
        fclose(f);
    }
    return (unsigned)pid;
}

#ifdef OLD
struct process {
    unsigned           pid;
    unsigned long long bytes;
};

int nvmlDeviceGetComputeRunningProcesses(gpu *d, unsigned *n, struct process *out)
#else
struct process {
    unsigned           pid;
    unsigned long long bytes;
    unsigned           gi, ci;
};

int nvmlDeviceGetComputeRunningProcesses_v3(gpu *d, unsigned *n, struct process *out)
#endif
{
    const unsigned pid = played_pid();

    NOT_LOST(d);
    FATE;
    *n = 0;
    if (d->index == 0 && pid) {
        out[0].pid = pid;
        out[1].pid = 4000000;
        *n = 2;
    }
    return OK;
}

struct event {
    gpu               *device;
    unsigned long long type, data;
    unsigned           gi, ci;
};

int nvmlEventSetCreate(void **out)
{
    FATE;
    *out = gpus;
    return OK;
}

int nvmlEventSetFree(void *set)
{
    FATE;
    return set == gpus ? OK : BAD_ARGUMENT;
}

int nvmlDeviceRegisterEvents(gpu *d, unsigned long long types, void *set)
{
    FATE;
    (void)d;
    return types == 8 && set == gpus ? OK : BAD_ARGUMENT;
}

int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms)
{
    static int told, rounds;

    FATE;
    (void)ms;
    tell(++rounds); /* each round ends here, whatever other calls say */
    if (set != gpus || told || !number("xid", 0) || looks[0] < number("xid", 0))
        return TIMEOUT;
    told = 1;
    *out = (struct event){&gpus[0], 8, 79, 0, 0};
    return OK;
}
