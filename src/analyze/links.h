/* SPDX-License-Identifier: Apache-2.0
 * links.h - what the GPUs of one machine can send each other at most, by their maker's documents. */
#ifndef HU_ANALYZE_LINKS_H
#define HU_ANALYZE_LINKS_H

#include <stdint.h>

#include "base/str.h"

/*
 * 1e9 bytes per second and direction, out of one device to the `group_size` - 1 others of its machine, at the least that its
 * boards are wired for; 0 for a device that is not in the table, and for one that may or may not have a bridge.  *what:
 * "NVLink 4".
 */
double hu_links_gbps(hu_str device, int64_t group_size, const char **what);

#endif
