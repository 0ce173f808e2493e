/* SPDX-License-Identifier: Apache-2.0
 * cuda.h - versions of CUDA: of the driver, of the runtime that a job's Python would use, and what goes together.
 *
 * A version is a number as CUDA's own calls have it: 12040 is 12.4.
 */
#ifndef HU_DOCTOR_CUDA_H
#define HU_DOCTOR_CUDA_H

#include "doctor/doctor.h"

enum { HU_CUDA_TEXT = 24 };

/* "12.4" of 12040. */
const char *hu_cuda_text(int version, char out[HU_CUDA_TEXT]);

/* 12040 of "12.4", "12.4.1", "12.4.127"; -1: it is none. */
int hu_cuda_of_text(const char *text);

/*
 * What the driver of this version ("550.54.15") came with: 12040; -1 not known.  `is_least`: the branch is newer than those
 * that are known, and supports at least this.  NVIDIA: CUDA Toolkit release notes, table of corresponding driver versions.
 */
int hu_cuda_of_driver(const char *driver, bool *is_least);

/* The oldest branch whose driver runs programs of this major version: 525 for 12 (NVIDIA: CUDA Compatibility); 0 not
   known. */
int hu_cuda_least_branch(int version);

/* The version of the kernel's module, of /proc/driver/nvidia/version; "" not known. */
const char *hu_cuda_driver_version(hu_doctor *d);

/* "550.54.15" of where the link `path` leads: libcuda.so.1 -> libcuda.so.550.54.15; "" not known. */
const char *hu_cuda_library_version(hu_doctor *d, const char *path);

/* -- what a job would load --------------------------------------------------------------------------------------------- */

/* The PyTorch that it would import; `where` is NULL where there is none. */
typedef struct {
    const char *where;   /* ".../torch/version.py" */
    const char *version; /* "2.15.0+cu132" */
    int         cuda;    /* 13020; -1: it was built without */
    const char *hip;     /* of ROCm; NULL: it was built without */
} hu_job_torch;

const hu_job_torch *hu_job_torch_of(hu_doctor *d);

/* The version of a package in one of those folders, "13.2.86" of nvidia_cuda_runtime-13.2.86.dist-info or
   nvidia_cuda_runtime_cu12-...; NULL: there is none.  `where`: its folder; may be NULL. */
const char *hu_job_package(hu_doctor *d, const char *name, const char **where);

/* Folders of a variable such as LD_LIBRARY_PATH, without empty ones. */
const char *const *hu_job_folders(hu_doctor *d, const char *variable, size_t *n);

#endif
