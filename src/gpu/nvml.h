/* SPDX-License-Identifier: Apache-2.0
 * nvml.h - NVIDIA's management library, as far as sampling needs it: loaded at run time, every call may be missing.
 *
 * A call may block for ever when the driver hangs; whoever uses this must be able to do without an answer (gpu_sampler.c).
 */
#ifndef HU_GPU_NVML_H
#define HU_GPU_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gpu_counters.h"

enum { HU_NVML_TEXT = 96, HU_NVML_PIDS = 256, HU_NVML_PARTS = 64 };

/* How a call went: three answers ask for three reactions. */
typedef enum {
    HU_NVML_OK,
    HU_NVML_NEVER, /* this GPU, driver or user has no such value: ask no more */
    HU_NVML_LATER, /* no value just now */
    HU_NVML_LOST,  /* the GPU or its driver is gone */
} hu_nvml_class;

typedef struct hu_nvml hu_nvml;

typedef struct {
    void    *handle;
    char     name[HU_NVML_TEXT], uuid[HU_NVML_TEXT], bus[32]; /* "" not known */
    uint32_t most_sm_mhz, most_memory_mhz, power_limit_mw;    /* 0 not known */
    uint64_t memory_bytes;                                    /* 0 not known */
    bool     is_mig;                                          /* divided: most values are not of one job */
    int      minor;                                           /* of its device node; -1 not known */
    uint64_t denied;                                          /* bits: questions that never have an answer here */
    uint64_t denied_fields;                                   /* the same of fields */
} hu_nvml_device;

/* Values of one look; what is not in `has` has none. */
typedef struct {
    uint32_t has; /* bits of hu_gpu_quantity */
    int64_t  value[HU_GPU_QUANTITY_COUNT];
} hu_nvml_values;

/*
 * Is there a driver?  Without one, the library must not be started: as root it makes device nodes.  `root` goes in front of
 * /proc and /sys: "" but in tests and containers.
 */
bool hu_nvml_has_driver(const char *root);

/*
 * Loads and starts `library` (NULL: the system's).  NULL on failure, and `code` is NVML's, or -1: no library, -2: it lacks
 * what cannot be done without.
 */
hu_nvml *hu_nvml_open(const char *library, int *code);
void     hu_nvml_close(hu_nvml *n); /* NULL is fine */

void hu_nvml_driver(hu_nvml *n, char out[HU_NVML_TEXT]); /* "" not known */

/* How many GPUs the driver has; -1 it does not say, and `code` says why. */
int hu_nvml_count(hu_nvml *n, int *code);

/* Fills `out`; false: it cannot be looked at, and `code` says why. */
bool hu_nvml_describe(hu_nvml *n, unsigned index, hu_nvml_device *out, int *code);

/* HU_NVML_LOST when the GPU has gone; else OK, with what there is. */
hu_nvml_class hu_nvml_look(hu_nvml *n, hu_nvml_device *d, hu_nvml_values *out, int *code);

/* Of how many parts (MIG devices) a divided GPU can be, at most; then the i-th: false where there is none, or no more. */
unsigned hu_nvml_parts_most(hu_nvml *n, const hu_nvml_device *d);
bool     hu_nvml_part(hu_nvml *n, const hu_nvml_device *d, unsigned i, hu_nvml_device *out, unsigned *gpu_instance,
                      unsigned *compute_instance, int *code);

/* Processes that compute on it, in this PID namespace or the machine's; at most HU_NVML_PIDS. */
size_t hu_nvml_processes(hu_nvml *n, const hu_nvml_device *d, uint32_t out[HU_NVML_PIDS]);

/* Asks to be told of errors (XID) of these; then the next one that came: false none. */
void hu_nvml_listen(hu_nvml *n, const hu_nvml_device *d);
bool hu_nvml_heard(hu_nvml *n, void **handle, uint64_t *xid);

/* The code of a list that is empty. */
enum { HU_NVML_NOT_FOUND = 6 };

/* What an answer of this code asks for; and whether it is the driver that is gone, with all of its GPUs. */
hu_nvml_class hu_nvml_class_of(int code);
bool          hu_nvml_is_driver_gone(int code);

/* Of NVML's codes: "GPU is lost"; a number where it has no name. */
const char *hu_nvml_words(int code);

#endif
