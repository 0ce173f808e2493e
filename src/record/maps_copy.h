/* SPDX-License-Identifier: Apache-2.0
 * maps_copy.h - what lies where in a process that has not said so itself. */
#ifndef HU_RECORD_MAPS_COPY_H
#define HU_RECORD_MAPS_COPY_H

#include <stdbool.h>
#include <sys/types.h>

/* Copies /proc/PID/maps to PATH.maps for PATH.ring, unless that is there.  Whatever fails, there is no file. */
void hu_maps_copy_of(pid_t pid, const char *ring_path);

#endif
