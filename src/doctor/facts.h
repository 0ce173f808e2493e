/* SPDX-License-Identifier: Apache-2.0
 * facts.h - what only a system call knows, by key: asked of this machine, or read from ROOT/holdup/facts.
 *
 * That file has a fact on each line, key, blank, value; what it does not have is not known.  Keys:
 *
 *   hostname            node01                     gethostname(2)
 *   time                2026-11-24T02:15:00Z       of the looks
 *   uname.release       6.8.0-45-generic           uname(2)
 *   uname.machine       x86_64
 *   user.id             1000                       geteuid(2)
 *   cwd                 /home/kim/job              getcwd(3)
 *   cpus.allowed        0-7,16-23                  sched_getaffinity(2) of this process
 *   limit.memlock       65536 65536                getrlimit(2), soft and hard, in bytes or pieces; "unlimited"
 *   limit.nofile        1024 1048576               also limit.nproc, limit.core, limit.stack, limit.as
 *   clock.state         0                          adjtimex(2): what it returns; 5 is TIME_ERROR
 *   clock.status        8193                       STA_* bits; 64: unsynchronised
 *   clock.max_error_us  1600                       maxerror
 *   filesystem:PATH     ef53 4096 100 50 40 10 5 0 statfs(2): magic number (hexadecimal), block size, blocks, free, free for
 *                                                  users, inodes, free inodes, flags; "error: WHY" where it failed
 *   device:PATH         c 195:0 666 0:0 rw         stat(2), access(2): kind (c, b, f, d, s, p, l), number, mode, owner,
 *                                                  what this process may do ("rw", "r-", "-w", "--"); "absent"
 *   address:NAME        10.0.0.1 fd00::1           getaddrinfo(3): may use the network; "error: WHY" where it failed
 */
#ifndef HU_DOCTOR_FACTS_H
#define HU_DOCTOR_FACTS_H

#include "doctor/doctor.h"

/* The value, in the arena; NULL: not known. */
const char *hu_fact(hu_doctor *d, const char *key);

/* The same as a whole number. */
bool hu_fact_number(hu_doctor *d, const char *key, int64_t *number);

/* limit.NAME; INT64_MAX: unlimited. */
bool hu_fact_limit(hu_doctor *d, const char *name, int64_t *soft, int64_t *hard);

/* filesystem:PATH; sizes in bytes do not overflow. */
typedef struct {
    uint64_t magic;
    int64_t  block_bytes, blocks, free_blocks, blocks_for_users, inodes, free_inodes;
    uint64_t flags; /* ST_* of statvfs(3): 1 is read-only */
} hu_filesystem_fact;

bool hu_fact_filesystem(hu_doctor *d, const char *path, hu_filesystem_fact *out);

/* CPUs of a list such as 0-7,16-23, which cpus.allowed, /sys/devices/system/node/node0/cpulist and others have: how many
   there are, or -1 where it is none. */
int64_t hu_cpu_list_count(const char *list);

/* Is this CPU in it? */
bool hu_cpu_list_has(const char *list, int64_t cpu);

#endif
