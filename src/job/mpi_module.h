/* SPDX-License-Identifier: Apache-2.0
 * mpi_module.h - all that the program and libholdup-mpi.so agree on; the program itself is not linked with MPI. */
#ifndef HU_JOB_MPI_MODULE_H
#define HU_JOB_MPI_MODULE_H

#include <stddef.h>

enum { HU_MPI_MODULE_VERSION = 1 };

#define HU_MPI_MODULE_FILE   "libholdup-mpi.so"
#define HU_MPI_MODULE_SYMBOL "hu_mpi_module_v1"

/* Everything is called from one thread.  What MPI itself finds wrong ends the job, with MPI's own words. */
typedef struct {
    int version;
    /* Joins the others.  `threads`: processors of this machine for each of the job's processes on it.  0, or not. */
    int (*start)(int *rank, int *size, int *threads);
    /* Both wait without keeping a processor busy. */
    void (*send)(const void *bytes, size_t n, int to);
    void (*receive)(void *bytes, size_t n, int from);
    void (*finish)(void);
    void (*stop_all)(int status); /* ends all processes of the job */
} hu_mpi_module;

#endif
