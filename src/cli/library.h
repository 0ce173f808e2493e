/* SPDX-License-Identifier: Apache-2.0
 * library.h - where the files are that the program needs beside itself. */
#ifndef HU_CLI_LIBRARY_H
#define HU_CLI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* libholdup-inject.so: HOLDUP_LIBRARY, beside the program as it is built, or where it is installed.  False: nowhere. */
bool hu_library_find(char *out, size_t room);

/* The module for one MPI (job/mpi_module.h), which `mpirun holdup report` opens, in the same places.  False: nowhere. */
bool hu_library_mpi(const char *file, char *out, size_t room);

/* The folder that holds the Python package holdup, for PYTHONPATH.  False: nowhere. */
bool hu_library_python(char *out, size_t room);

/* docs/index.md, which leads to all pages.  False: nowhere. */
bool hu_library_docs(char *out, size_t room);

#endif
