/* SPDX-License-Identifier: Apache-2.0
 * mpi_module.h - all that the program and its modules for MPI agree on; the program itself is not linked with MPI.
 *
 * Open MPI and MPICH give the same names other values, so there is a module for each that was found when this was built. */
#ifndef HU_JOB_MPI_MODULE_H
#define HU_JOB_MPI_MODULE_H

#include <stddef.h>

enum { HU_MPI_MODULE_VERSION = 3 };

#define HU_MPI_MODULE_FILE       "libholdup-mpi.so"   /* Open MPI */
#define HU_MPI_MODULE_FILE_MPICH "libholdup-mpich.so" /* MPICH, and what has its ABI */
#define HU_MPI_MODULE_SYMBOL     "hu_mpi_calls"

/* Everything is called from one thread.  What MPI itself finds wrong ends the job, with MPI's own words. */
typedef struct {
    int version;
    /* Joins the others.  `threads`: processors of this machine for each of the job's processes on it.  0, or not. */
    int (*start)(int *rank, int *size, int *threads);
    /* From now on this process may run on all processors that the job's processes on this machine had: the others have
       nothing to do but to wait for it. */
    void (*take_processors)(void);
    /* Both wait without keeping a processor busy. */
    void (*send)(const void *bytes, size_t n, int to);
    void (*receive)(void *bytes, size_t n, int from);
    void (*finish)(void);
    void (*stop_all)(int status); /* ends all processes of the job */

    /* What `holdup doctor --collectives` measures: MPI's own calls, which spin as a job's do.  Counts are of floats; those
       of all_gather, reduce_scatter and all_to_all are what each rank has for, or gets from, each other one. */
    void (*barrier)(void);
    void (*all_reduce)(const float *in, float *out, size_t n);
    void (*all_gather)(const float *in, float *out, size_t n);
    void (*reduce_scatter)(const float *in, float *out, size_t n);
    void (*all_to_all)(const float *in, float *out, size_t n);
    void (*put)(const void *bytes, size_t n, int to); /* MPI_Send and MPI_Recv, at most 2^31 - 1 bytes */
    void (*get)(void *bytes, size_t n, int from);
    void (*maximum)(double *values, size_t n); /* of all ranks, for all of them */
    void (*library)(char *out, size_t room);   /* its name and version, one line */
} hu_mpi_module;

#endif
