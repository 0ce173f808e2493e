/* SPDX-License-Identifier: Apache-2.0
 * no_mpi.c - looks for MPI as libraries do, in a program that has none; then calls it all the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int MPI_Initialized(int *flag) __attribute__((weak));
int MPI_Comm_rank(void *comm, int *rank) __attribute__((weak));

int main(int argc, char **argv)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_DEFAULT, "MPI_Init");

    printf("asked %d %d %d\n", MPI_Initialized != 0, MPI_Comm_rank != 0, dlsym(RTLD_DEFAULT, "MPI_Get_version") != 0);
    if (init)
        printf("called %d\n", init(&argc, &argv) != 0);
    return 0;
}
