/* SPDX-License-Identifier: Apache-2.0
 * nvml_standin.c - a libnvidia-ml for the monitor, which does what a text file says; own declarations, no header of the vendor.
 *
 * NVML_SCENARIO names the file.  It is read again whenever it has changed, so that a test is in charge of what happens when.
 * Lines, where GPU may be left out for all of them:
 *   gpus N                              how many there are (default 1)
 *   driver VERSION                      (default 580.95.05)
 *   code CALL CODE [GPU]                this call returns CODE
 *   hang CALL                           this call never returns
 *   delay CALL SECONDS                  this call takes so long
 *   value CALL VALUE [STEP [GPU]]       what this call says first, and how much more each time; without it the call has a
 *                                       value of its own
 *   field ID VALUE [TYPE [GPU]]         a field value (TYPE of NVML; default 3: 64 bits); others are not supported
 *   link LINK SENT RECEIVED             counters of an NVLink (fields 202 and 204)
 *   gpm GI ID VALUE                     a performance metric; GI -1: of the whole GPU
 *   part GPU GI CI UUID PROFILE         a MIG device, which makes its GPU a divided one
 *   processes GPU N FIRST               numbers of processes that compute, from FIRST on
 *   served GPU N FIRST                  the same of processes that an MPS server computes for; not of -DOLD
 *   used PID PERCENT                    a process's use of GPU 0
 *   xid GPU NUMBER TIMES                events, once for each time that the file changes
 *   setup 1                             how GPUs are set up, too (ECC, NVLinks, ...): without it, that is not supported
 * NVML_STARTED names a file that exists once the library was started.  -DOLD leaves out what a driver of branch 450 does not have.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OK = 0,
    UNINITIALIZED = 1,
    BAD_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    TIMEOUT = 10,
    BAD_VERSION = 25
};
enum { GPUS = 8, LINES = 512, PARTS = 8, EVENTS = 4096, MAGIC = 0x6770, PART_MAGIC = 0x7061 };

typedef struct {
    int magic, index;
} gpu;

typedef struct {
    int  magic, index, gi, ci;
    char uuid[96], profile[32];
} part;

static gpu         gpus[GPUS];
static part        parts[GPUS * PARTS];
static int         n_parts, n_lines, is_started;
static char        lines[LINES][160];
static struct stat seen;
static struct event {
    gpu               *device;
    unsigned long long type, data;
#ifndef OLD
    unsigned gi, ci;
#endif
} events[EVENTS];
static int                n_events, next_event;
static unsigned long long calls[LINES]; /* of a "value" line */

static void take_line(const char *line)
{
    part               p = {.magic = PART_MAGIC};
    int                device, times;
    unsigned long long xid;

    if (sscanf(line, "part %d %d %d %95s %31s", &p.index, &p.gi, &p.ci, p.uuid, p.profile) == 5 && n_parts < GPUS * PARTS)
        parts[n_parts++] = p;
    if (sscanf(line, "xid %d %llu %d", &device, &xid, &times) == 3)
        for (; times > 0 && n_events < EVENTS; times--)
            events[n_events++] = (struct event){.device = &gpus[device], .type = 8, .data = xid};
}

static void read_scenario(void)
{
    const char *path = getenv("NVML_SCENARIO");
    struct stat now;
    FILE       *f;

    if (!path || stat(path, &now) < 0 ||
        (now.st_ino == seen.st_ino && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
         now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_size == seen.st_size))
        return;
    f = fopen(path, "r");
    if (!f)
        return;
    seen = now;
    n_lines = n_parts = n_events = next_event = 0;
    memset(calls, 0, sizeof calls);
    for (int i = 0; i < GPUS; i++)
        gpus[i] = (gpu){MAGIC, i};
    while (n_lines < LINES && fgets(lines[n_lines], sizeof *lines, f))
        take_line(lines[n_lines++]);
    fclose(f);
}

/* CODE of this call and GPU (-1: of none). */
static int code_of(const char *call, int device)
{
    char name[80];
    int  code, which;

    for (int i = 0; i < n_lines; i++) {
        which = -1;
        if (sscanf(lines[i], "code %79s %d %d", name, &code, &which) >= 2 && strcmp(name, call) == 0 &&
            (which < 0 || which == device))
            return code;
        if (sscanf(lines[i], "delay %79s %d", name, &code) == 2 && strcmp(name, call) == 0)
            sleep((unsigned)code);
        if (sscanf(lines[i], "hang %79s", name) == 1 && strcmp(name, call) == 0)
            for (;;)
                pause();
    }
    return OK;
}

static unsigned long long value_of(const char *call, int device, unsigned long long otherwise)
{
    char               name[80];
    unsigned long long value, step;
    int                which;

    for (int i = 0; i < n_lines; i++) {
        step = 0;
        which = -1;
        if (sscanf(lines[i], "value %79s %llu %llu %d", name, &value, &step, &which) >= 2 && strcmp(name, call) == 0 &&
            (which < 0 || which == device))
            return value + step * calls[i]++;
    }
    return otherwise;
}

static int number(const char *key, int otherwise)
{
    char format[32];
    int  value;

    snprintf(format, sizeof format, "%s %%d", key);
    for (int i = 0; i < n_lines; i++)
        if (sscanf(lines[i], format, &value) == 1)
            return value;
    return otherwise;
}

static int index_of(const void *device)
{
    const gpu *g = device;

    return g && (g->magic == MAGIC || g->magic == PART_MAGIC) ? g->index : -2;
}

static int is_part(const void *device)
{
    return ((const part *)device)->magic == PART_MAGIC;
}

static int is_divided(int index)
{
    for (int i = 0; i < n_parts; i++)
        if (parts[i].index == index)
            return 1;
    return 0;
}

/* Every call begins with this: the file, the order of calls, the code of the scenario. */
#define BEGIN(device)                 \
    int code;                         \
    read_scenario();                  \
    if (!is_started)                  \
        return UNINITIALIZED;         \
    code = code_of(__func__, device); \
    if (code)                         \
    return code
#define OF_GPU(d)        \
    BEGIN(index_of(d));  \
    if (index_of(d) < 0) \
    return BAD_ARGUMENT
/* What only a whole GPU has, and where MIG takes it away. */
#define OF_WHOLE(d) \
    OF_GPU(d);      \
    if (is_part(d)) \
    return BAD_ARGUMENT
#define OF_UNDIVIDED(d)          \
    OF_WHOLE(d);                 \
    if (is_divided(index_of(d))) \
    return NOT_SUPPORTED

int nvmlInit_v2(void)
{
    int code;

    if (getenv("NVML_STARTED"))
        fclose(fopen(getenv("NVML_STARTED"), "w"));
    read_scenario();
    code = code_of(__func__, -1);
    is_started += code == OK;
    return code;
}

int nvmlShutdown(void)
{
    is_started -= is_started > 0;
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    char version[80] = "580.95.05";

    BEGIN(-1);
    for (int i = 0; i < n_lines; i++)
        sscanf(lines[i], "driver %79s", version);
    snprintf(text, room, "%s", version);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    BEGIN(-1);
    *n = (unsigned)number("gpus", 1);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **out)
{
    BEGIN((int)index);
    if (index >= (unsigned)number("gpus", 1))
        return BAD_ARGUMENT;
    *out = &gpus[index];
    return OK;
}

int nvmlDeviceGetName(void *d, char *text, unsigned room)
{
    OF_GPU(d);
    if (is_part(d))
        snprintf(text, room, "Stand-in 80GB MIG %s", ((part *)d)->profile);
    else
        snprintf(text, room, "Stand-in 80GB");
    return OK;
}

int nvmlDeviceGetUUID(void *d, char *text, unsigned room)
{
    OF_GPU(d);
    if (is_part(d))
        snprintf(text, room, "%s", ((part *)d)->uuid);
    else
        snprintf(text, room, "GPU-%d", index_of(d));
    return OK;
}

struct pci {
    char     old[16];
    unsigned number[5];
    char     text[32];
};

int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out)
{
    OF_WHOLE(d);
    snprintf(out->text, sizeof out->text, "00000000:%02X:00.0", 0x1a + index_of(d));
    return OK;
}

/* How GPUs are set up: the doctor asks. */
#define OF_SETUP(d)          \
    OF_WHOLE(d);             \
    if (!number("setup", 0)) \
    return NOT_SUPPORTED

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    BEGIN(-1);
    *version = (int)value_of(__func__, -1, 13000);
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(void *d, int *major, int *minor)
{
    OF_SETUP(d);
    *major = (int)value_of(__func__, index_of(d), 90) / 10;
    *minor = 0;
    return OK;
}

int nvmlDeviceGetEccMode(void *d, unsigned *now, unsigned *next)
{
    OF_SETUP(d);
    *now = (unsigned)value_of(__func__, index_of(d), 1);
    *next = 1;
    return OK;
}

int nvmlDeviceGetComputeMode(void *d, unsigned *mode)
{
    OF_SETUP(d);
    *mode = (unsigned)value_of(__func__, index_of(d), 0);
    return OK;
}

int nvmlDeviceGetApplicationsClock(void *d, unsigned which, unsigned *mhz)
{
    OF_SETUP(d);
    *mhz = which == 1 ? (unsigned)value_of(__func__, index_of(d), 1980) : 1;
    return OK;
}

int nvmlDeviceGetDefaultApplicationsClock(void *d, unsigned which, unsigned *mhz)
{
    OF_SETUP(d);
    *mhz = which == 1 ? 1980 : 1;
    return OK;
}

int nvmlDeviceGetBAR1MemoryInfo(void *d, unsigned long long out[3])
{
    OF_SETUP(d);
    out[0] = value_of(__func__, index_of(d), 137438953472);
    out[1] = out[2] = out[0] / 2;
    return OK;
}

/* Links from the number of the scenario on are down. */
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *is_active)
{
    OF_SETUP(d);
    if (link >= 18)
        return BAD_ARGUMENT;
    *is_active = link < value_of(__func__, index_of(d), 18);
    return OK;
}

int nvmlDeviceGetP2PStatus(void *one, void *other, unsigned which, unsigned *status)
{
    OF_SETUP(one);
    if (which || index_of(other) < 0)
        return BAD_ARGUMENT;
    *status = (unsigned)value_of(__func__, index_of(one), 0);
    return OK;
}

#define ONE(name, otherwise)                                         \
    int name(void *d, unsigned *out)                                 \
    {                                                                \
        OF_WHOLE(d);                                                 \
        *out = (unsigned)value_of(__func__, index_of(d), otherwise); \
        return OK;                                                   \
    }

ONE(nvmlDeviceGetMinorNumber, 5)
ONE(nvmlDeviceGetPowerUsage, 500250)
ONE(nvmlDeviceGetEnforcedPowerLimit, 650000)
ONE(nvmlDeviceGetPowerManagementDefaultLimit, 700000)
ONE(nvmlDeviceGetPersistenceMode, 1)
ONE(nvmlDeviceGetCurrPcieLinkGeneration, 4)
ONE(nvmlDeviceGetMaxPcieLinkGeneration, 5)
ONE(nvmlDeviceGetCurrPcieLinkWidth, 8)
ONE(nvmlDeviceGetMaxPcieLinkWidth, 16)
ONE(nvmlDeviceGetPcieReplayCounter, 3)
ONE(nvmlDeviceGetRetiredPagesPendingStatus, 0)

int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *least, unsigned *most)
{
    OF_WHOLE(d);
    *least = 200000;
    *most = 700000;
    return OK;
}

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next)
{
    OF_WHOLE(d);
    *now = *next = (unsigned)is_divided(index_of(d));
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *n)
{
    OF_WHOLE(d);
    *n = is_divided(index_of(d)) ? 7 : 0;
    return OK;
}

/* Numbers of parts have holes, as after one was destroyed: the first is number 1. */
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned which, part **out)
{
    unsigned k = 1;

    OF_WHOLE(d);
    for (int i = 0; i < n_parts; i++)
        if (parts[i].index == index_of(d) && k++ == which) {
            *out = &parts[i];
            return OK;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(void *d, unsigned *id)
{
    OF_GPU(d);
    if (!is_part(d))
        return BAD_ARGUMENT;
    *id = (unsigned)((part *)d)->gi;
    return OK;
}

int nvmlDeviceGetComputeInstanceId(void *d, unsigned *id)
{
    OF_GPU(d);
    if (!is_part(d))
        return BAD_ARGUMENT;
    *id = (unsigned)((part *)d)->ci;
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *d, unsigned out[2])
{
    OF_UNDIVIDED(d);
    out[0] = (unsigned)value_of(__func__, index_of(d), 90);
    out[1] = 40;
    return OK;
}

int nvmlDeviceGetEncoderUtilization(void *d, unsigned *percent, unsigned *us)
{
    OF_UNDIVIDED(d);
    *percent = 12;
    *us = 100000;
    return OK;
}

int nvmlDeviceGetDecoderUtilization(void *d, unsigned *percent, unsigned *us)
{
    OF_UNDIVIDED(d);
    *percent = (unsigned)value_of(__func__, index_of(d), 34);
    *us = 100000;
    return OK;
}

int nvmlDeviceGetClockInfo(void *d, unsigned which, unsigned *mhz)
{
    OF_WHOLE(d);
    *mhz = which == 1 ? 1500 : which == 2 ? 2600 : 1;
    return OK;
}

int nvmlDeviceGetMaxClockInfo(void *d, unsigned which, unsigned *mhz)
{
    OF_WHOLE(d);
    *mhz = which == 1 ? 1980 : which == 2 ? 2619 : 1;
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj)
{
    OF_WHOLE(d);
    *mj = value_of(__func__, index_of(d), 7000000);
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *d, unsigned long long out[3])
{
    OF_GPU(d);
    out[0] = 80000000000;
    out[1] = 68000000000;
    out[2] = 12000000000;
    return OK;
}

int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *celsius)
{
    OF_WHOLE(d);
    if (sensor)
        return BAD_ARGUMENT;
    *celsius = (unsigned)value_of(__func__, index_of(d), 61);
    return OK;
}

int nvmlDeviceGetTotalEccErrors(void *d, unsigned type, unsigned since, unsigned long long *n)
{
    OF_WHOLE(d);
    if (type > 1 || since > 1)
        return BAD_ARGUMENT;
    *n = 1 + type + 10 * since;
    return OK;
}

int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
    OF_UNDIVIDED(d);
    *corrected = 6;
    *uncorrected = 7;
    *pending = 1;
    *failed = 0;
    return OK;
}

int nvmlDeviceGetRetiredPages(void *d, unsigned cause, unsigned *n, unsigned long long *address)
{
    const unsigned count = cause ? 2 : 5;

    OF_WHOLE(d);
    if (*n < count) {
        *n = count;
        return TOO_SMALL;
    }
    *n = count;
    return address ? OK : BAD_ARGUMENT;
}

#ifdef OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *bits)
#else
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *bits)
#endif
{
    OF_WHOLE(d);
    *bits = value_of(__func__, index_of(d), 0x4 | 0x40);
    return OK;
}

struct process {
    unsigned           pid;
    unsigned long long bytes;
#ifndef OLD
    unsigned gi, ci;
#endif
};

/* One more than asked for has come when there was no room: the next question is too short too. */
static int list(const char *word, void *d, unsigned *n, struct process *out)
{
    unsigned        count = 0, first = 0;
    static unsigned grown;
    char            name[16];
    int             device;

    for (int i = 0; i < n_lines; i++)
        if (sscanf(lines[i], "%15s %d %u %u", name, &device, &count, &first) == 4 && strcmp(name, word) == 0 &&
            device == index_of(d))
            break;
        else
            count = 0;
    if (*n < count + (count > 64 ? grown : 0)) {
        *n = count + grown;
        grown = 20 * (unsigned)(grown == 0);
        return TOO_SMALL;
    }
    for (unsigned i = 0; i < count; i++)
        out[i] = (struct process){.pid = first + i};
    *n = count;
    return OK;
}

#ifdef OLD
int nvmlDeviceGetComputeRunningProcesses(void *d, unsigned *n, struct process *out)
{
    OF_GPU(d);
    return list("processes", d, n, out);
}
#else
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *out)
{
    OF_GPU(d);
    return list("processes", d, n, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *n, struct process *out)
{
    OF_GPU(d);
    return list("served", d, n, out);
}
#endif

#define ALL_LINKS 0xffffffffu

struct field {
    unsigned  id, scope;
    long long at, latency;
    int       type, code;
    union {
        double             real;
        unsigned           u32;
        unsigned long long u64;
    } value;
};

static void fill(struct field *f, int device)
{
    double value;
    int    id, type, which, link;
    double sent, received;

    f->code = code_of("field", device);
    if (f->code)
        return;
    f->code = NOT_SUPPORTED;
    for (int i = 0; i < n_lines; i++) {
        type = 3;
        which = -1;
        if (sscanf(lines[i], "field %d %lf %d %d", &id, &value, &type, &which) >= 2 && (unsigned)id == f->id &&
            (which < 0 || which == device)) {
            f->code = (id == 138 || id == 139) && f->scope != ALL_LINKS ? BAD_ARGUMENT : OK;
            f->type = type;
            if (type == 0)
                f->value.real = value;
            else if (type == 1)
                f->value.u32 = (unsigned)value;
            else
                f->value.u64 = (unsigned long long)value;
        }
        if (sscanf(lines[i], "link %d %lf %lf", &link, &sent, &received) == 3 && (f->id == 202 || f->id == 204) &&
            f->scope == (unsigned)link) {
            f->code = OK;
            f->type = 3;
            f->value.u64 = (unsigned long long)(f->id == 202 ? sent : received);
        }
    }
}

int nvmlDeviceGetFieldValues(void *d, int n, struct field *f)
{
    OF_WHOLE(d);
    for (int i = 0; i < n; i++)
        fill(&f[i], index_of(d));
    return OK;
}

int nvmlEventSetCreate(void **out)
{
    BEGIN(-1);
    *out = events;
    return OK;
}

int nvmlEventSetFree(void *set)
{
    BEGIN(-1);
    return set == events ? OK : BAD_ARGUMENT;
}

int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set)
{
    OF_WHOLE(d);
    return types == 8 && set == events ? OK : BAD_ARGUMENT;
}

#ifdef OLD
int nvmlEventSetWait(void *set, struct event *out, unsigned ms)
#else
int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms)
#endif
{
    BEGIN(-1);
    if (set != events || ms)
        return BAD_ARGUMENT;
    if (next_event == n_events)
        return TIMEOUT;
    *out = events[next_event++];
    return OK;
}

#ifndef OLD
#define IS_VERSION(out, n) ((out)->version == (sizeof *(out) | (unsigned)(n) << 24))

struct memory_2 {
    unsigned           version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory_2 *out)
{
    OF_GPU(d);
    if (!IS_VERSION(out, 2))
        return BAD_VERSION;
    *out = is_part(d) ? (struct memory_2){out->version, 10000000000, 100000000, 8900000000, 1000000000}
                      : (struct memory_2){out->version, 80000000000, 600000000, 68400000000, 11000000000};
    return OK;
}

struct temperature {
    unsigned version, sensor;
    int      celsius;
};

int nvmlDeviceGetTemperatureV(void *d, struct temperature *out)
{
    OF_WHOLE(d);
    if (!IS_VERSION(out, 1) || out->sensor)
        return BAD_VERSION;
    out->celsius = (int)value_of(__func__, index_of(d), 62);
    return OK;
}

struct margin {
    unsigned version;
    int      celsius;
};

int nvmlDeviceGetMarginTemperature(void *d, struct margin *out)
{
    OF_WHOLE(d);
    if (!IS_VERSION(out, 1))
        return BAD_VERSION;
    out->celsius = 25;
    return OK;
}

/* The third version is that of branch 580 and later; value: the state, 10 for each step of health, 100 for its code. */
int nvmlDeviceGetGpuFabricInfoV(void *d, unsigned char *out)
{
    const unsigned long long value = value_of(__func__, index_of(d), 13);
    unsigned                 version, status = (unsigned)(value / 100);

    OF_WHOLE(d);
    memcpy(&version, out, sizeof version);
    if (version == (40 | 3u << 24) && number("driver", 580) >= 570)
        out[36] = (unsigned char)(value / 10 % 10);
    else if (version != (36 | 2u << 24))
        return BAD_VERSION;
    memcpy(out + 20, &status, sizeof status);
    out[28] = (unsigned char)(value % 10);
    return OK;
}

int nvmlDeviceGetGpuFabricInfo(void *d, unsigned char *out)
{
    const unsigned status = 0;

    OF_WHOLE(d);
    memcpy(out + 16, &status, sizeof status);
    out[24] = 2;
    return OK;
}

struct use {
    unsigned long long at;
    unsigned           pid, sm, memory, encoder, decoder, jpeg, flow;
};

struct uses {
    unsigned           version, n;
    unsigned long long since;
    struct use        *row;
};

int nvmlDeviceGetProcessesUtilizationInfo(void *d, struct uses *out)
{
    static unsigned long long now = 1000;
    unsigned                  n = 0, pid, percent;

    OF_UNDIVIDED(d);
    if (!IS_VERSION(out, 1))
        return BAD_VERSION;
    if (out->since >= now)
        return NOT_FOUND;
    now++;
    for (int i = 0; index_of(d) == 0 && i < n_lines; i++)
        if (sscanf(lines[i], "used %u %u", &pid, &percent) == 2 && n < out->n)
            out->row[n++] = (struct use){.at = now, .pid = pid, .sm = percent};
    out->n = n;
    return n ? OK : NOT_FOUND;
}

/* ---- performance metrics: samples know when they were taken, and which part of a GPU they are of ------------------- */

struct sample {
    struct timespec at;
    int             device, gi;
};

struct metric {
    unsigned    id;
    int         code;
    double      value;
    const char *name[3];
};

struct metrics {
    unsigned       version, n;
    struct sample *before, *after;
    struct metric  row[];
};

int nvmlGpmQueryDeviceSupport(void *d, unsigned out[2])
{
    OF_WHOLE(d);
    if (out[0] != 1)
        return BAD_VERSION;
    out[1] = 0;
    for (int i = 0; i < n_lines; i++)
        out[1] |= strncmp(lines[i], "gpm ", 4) == 0;
    return OK;
}

int nvmlGpmSampleAlloc(struct sample **out)
{
    BEGIN(-1);
    *out = calloc(1, sizeof **out);
    return OK;
}

int nvmlGpmSampleFree(struct sample *s)
{
    BEGIN(-1);
    free(s);
    return OK;
}

static int take_sample(const void *d, int gi, struct sample *s)
{
    clock_gettime(CLOCK_MONOTONIC, &s->at);
    s->device = index_of(d);
    s->gi = gi;
    return OK;
}

int nvmlGpmSampleGet(void *d, struct sample *s)
{
    OF_WHOLE(d);
    return take_sample(d, -1, s);
}

int nvmlGpmMigSampleGet(void *d, unsigned gi, struct sample *s)
{
    OF_WHOLE(d);
    return take_sample(d, (int)gi, s);
}

int nvmlGpmMetricsGet(struct metrics *m)
{
    long long apart;
    double    value;
    int       gi, id;

    BEGIN(-1);
    apart = (m->after->at.tv_sec - m->before->at.tv_sec) * 1000000000ll + (m->after->at.tv_nsec - m->before->at.tv_nsec);
    if (m->version != 1 || apart < 100000000 || m->before->device != m->after->device || m->before->gi != m->after->gi)
        return BAD_ARGUMENT;
    for (unsigned k = 0; k < m->n; k++) {
        m->row[k].code = NOT_SUPPORTED;
        for (int i = 0; i < n_lines; i++)
            if (sscanf(lines[i], "gpm %d %d %lf", &gi, &id, &value) == 3 && gi == m->after->gi &&
                (unsigned)id == m->row[k].id) {
                m->row[k].code = OK;
                m->row[k].value = value;
            }
    }
    return OK;
}
#endif
