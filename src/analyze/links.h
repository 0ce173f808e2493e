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

typedef struct {
    double      gbps;    /* 1e9 bytes per second and direction, out of one device; 0 not known */
    const char *what;    /* NULL: its links are not in the table */
    bool        is_part; /* fewer devices than a board has: nobody knows which board, and which links are theirs */
    bool        is_mesh; /* to one other there is but a share */
    bool        reduces; /* the switch adds up (NVLS) */
} hu_links_board;

/* Of as many devices as a whole board has: these are joined in one way only. */
hu_links_board hu_links_whole(hu_str device, int64_t group_size);

#endif
