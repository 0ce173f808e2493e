/* SPDX-License-Identifier: Apache-2.0
 * scenario.h - what a stand-in of libnvidia-ml answers, from the file that HOLDUP_TEST_NVML names; read again when it changes.
 *
 *     # a line each; later lines win
 *     - gpus 2                                     of the system
 *     0 nvmlDeviceGetUtilizationRates.gpu 61       of GPU 0: a call without its version, and the field it fills
 *     * nvmlDeviceGetName GPU number {gpu}         of all GPUs that have no line of their own
 *     1/0 nvmlDeviceGetUUID MIG-a\x22b             of the first MIG device of GPU 1; \n, \\ and \xHH in texts
 *     0 nvmlDeviceGetPowerUsage !4                 this value alone: the call answers 4
 *     fail nvmlInit 9 from=3 to=5                  a call fails, by how often it was called (from 1)
 *     fail * 15 gpu=1 every=1000 for=300           all calls of a GPU fail, in the first 300 ms of each second
 *     hang nvmlDeviceGetPowerUsage gpu=0           the call never returns
 *     event 3 1 8 79                               number (rising), GPU, type, data
 *     - only 13.5                                  libraries by headers of other versions answer LIB_RM_VERSION_MISMATCH
 *
 * A number is a sum of terms: 61, ms and s (Unix time), calls (how often it was asked for), each with *FACTOR.  A value
 * that no line names is NOT_SUPPORTED.
 *
 * HOLDUP_TEST_NVML_LOG names a file that gets a line for each call when it comes first, and for each use against the header.
 */
#ifndef TEST_MONITOR_SCENARIO_H
#define TEST_MONITOR_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

enum { SYSTEM = -1, NO_MIG = -1, EVERY_GPU = -2, ANSWER_NONE = 3 /* NOT_SUPPORTED */ };

typedef struct {
    long gpu; /* SYSTEM: none */
    int  mig; /* NO_MIG: the GPU itself */
} device;

/* 0, or the code that the call or the value answers. */
int  scenario_number(device d, const char *key, long double *out);
int  scenario_text(device d, const char *key, char *out, size_t n); /* 7: longer than n */
bool scenario_has(device d, const char *key);

/* Counts a call, and hangs or answers a code if the scenario says so.  Reads the scenario again if it changed. */
int scenario_call(const char *call, long gpu);

typedef struct {
    unsigned long long number, type, data;
    long               gpu;
} scenario_event;

/* The event with the lowest number above `after`. */
bool scenario_next_event(unsigned long long after, scenario_event *out);

void scenario_complain(const char *call, const char *why);

long long scenario_now_us(void); /* Unix time */

#endif
