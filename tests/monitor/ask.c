/* SPDX-License-Identifier: Apache-2.0
 * ask.c - asks a libnvidia-ml, by the declarations of its vendor, for the key of a scenario; a line of what it answers for each.
 *
 *     ask LIBRARY < lines "GPU KEY"       prints "CODE VALUE"
 */
#include <nvml.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *library;

/* A call by its name; what is not exported is FUNCTION_NOT_FOUND. */
#define ASK(call, ...)                                                            \
    ({                                                                            \
        typeof(call) *call_ = (typeof(call) *)dlsym(library, #call); /* NOLINT */ \
        call_ ? call_(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND;               \
    })

static bool is(const char *key, const char *name)
{
    return strcmp(key, name) == 0;
}

static nvmlReturn_t ask_metric(nvmlDevice_t d, unsigned id, double *out)
{
    static nvmlGpmMetricsGet_t get;
    nvmlReturn_t               code;

    memset(&get, 0, sizeof get);
    get.version = NVML_GPM_METRICS_GET_VERSION;
    get.numMetrics = 1;
    get.metrics[0].metricId = id;
    if (ASK(nvmlGpmSampleAlloc, &get.sample1) || ASK(nvmlGpmSampleAlloc, &get.sample2) ||
        ASK(nvmlGpmSampleGet, d, get.sample1))
        return NVML_ERROR_UNKNOWN;
    nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL);
    code = ASK(nvmlGpmSampleGet, d, get.sample2);
    if (!code)
        code = ASK(nvmlGpmMetricsGet, &get);
    if (!code)
        code = get.metrics[0].nvmlReturn;
    *out = get.metrics[0].value;
    ASK(nvmlGpmSampleFree, get.sample1);
    ASK(nvmlGpmSampleFree, get.sample2);
    return code;
}

static nvmlReturn_t ask_field(nvmlDevice_t d, unsigned id, double *out)
{
    nvmlFieldValue_t   f = {.fieldId = id, .scopeId = 0xffffffff};
    const nvmlReturn_t code = ASK(nvmlDeviceGetFieldValues, d, 1, &f);

    *out = f.valueType == NVML_VALUE_TYPE_UNSIGNED_INT ? f.value.uiVal
           : f.valueType == NVML_VALUE_TYPE_DOUBLE     ? f.value.dVal
                                                       : (double)f.value.ullVal;
    return code ? code : f.nvmlReturn;
}

static nvmlReturn_t ask(nvmlDevice_t d, const char *key, double *out)
{
    unsigned           one = 0, two = 0, three = 0, four = 0;
    unsigned long long wide = 0;
    nvmlUtilization_t  use = {0};
    nvmlMemory_v2_t    memory = {.version = nvmlMemory_v2};
    nvmlReturn_t       code = NVML_ERROR_NOT_FOUND;

    if (strncmp(key, "nvmlDeviceGetUtilizationRates.", 30) == 0) {
        code = ASK(nvmlDeviceGetUtilizationRates, d, &use);
        *out = is(key + 30, "gpu") ? use.gpu : use.memory;
    } else if (strncmp(key, "nvmlDeviceGetMemoryInfo.", 24) == 0) {
        code = ASK(nvmlDeviceGetMemoryInfo_v2, d, &memory);
        *out = (double)(is(key + 24, "total")  ? memory.total
                        : is(key + 24, "used") ? memory.used
                        : is(key + 24, "free") ? memory.free
                                               : memory.reserved);
    } else if (is(key, "nvmlDeviceGetPowerUsage")) {
        code = ASK(nvmlDeviceGetPowerUsage, d, &one);
        *out = one;
    } else if (is(key, "nvmlDeviceGetTotalEnergyConsumption")) {
        code = ASK(nvmlDeviceGetTotalEnergyConsumption, d, &wide);
        *out = (double)wide;
    } else if (is(key, "nvmlDeviceGetClockInfo.NVML_CLOCK_MEM")) {
        code = ASK(nvmlDeviceGetClockInfo, d, NVML_CLOCK_MEM, &one);
        *out = one;
    } else if (is(key, "nvmlDeviceGetRemappedRows.uncRows")) {
        code = ASK(nvmlDeviceGetRemappedRows, d, &one, &two, &three, &four);
        *out = two;
    } else if (is(key, "nvmlDeviceGetTotalEccErrors.UNCORRECTED.AGGREGATE")) {
        code = ASK(nvmlDeviceGetTotalEccErrors, d, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, &wide);
        *out = (double)wide;
    } else if (is(key, "processes")) { /* the size first, then with some room, as long as it is too small */
        nvmlProcessInfo_t *infos = NULL;

        for (unsigned room = 0;
             (code = ASK(nvmlDeviceGetComputeRunningProcesses_v3, d, &room, infos)) == NVML_ERROR_INSUFFICIENT_SIZE;) {
            free(infos);
            infos = malloc(room * sizeof *infos);
            *out = room;
        }
        free(infos);
    } else if (strncmp(key, "field#", 6) == 0) {
        code = ask_field(d, (unsigned)atoi(key + 6), out);
    } else if (strncmp(key, "metric#", 7) == 0) {
        code = ask_metric(d, (unsigned)atoi(key + 7), out);
    }
    return code;
}

int main(int argc, char **argv)
{
    char         key[160];
    unsigned     gpu;
    nvmlDevice_t d;

    library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library || ASK(nvmlInit_v2)) {
        fprintf(stderr, "%s\n", library ? "nvmlInit_v2 failed" : dlerror());
        return 1;
    }
    while (scanf("%u %159s", &gpu, key) == 2) {
        double       value = 0;
        nvmlReturn_t code = ASK(nvmlDeviceGetHandleByIndex_v2, gpu, &d);

        if (!code)
            code = ask(d, key, &value);
        printf("%d %.17g\n", (int)code, value);
    }
    return 0;
}
