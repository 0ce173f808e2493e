/* SPDX-License-Identifier: Apache-2.0
 * collect.h - the supervisor's side of a session that runs: finds processes, drains their rings, notices their deaths. */
#ifndef HU_RECORD_COLLECT_H
#define HU_RECORD_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "protocol/format.h"

/* A process image.  pid: its number here; 0: it has none, as far as is known. */
typedef void hu_collect_look(void *context, const hu_ring_head *head, pid_t pid);

typedef struct {
    hu_collect_look *ended; /* called for each that has ended, before it is forgotten; NULL: nobody wants to know */
    void            *context;
    uint64_t         max_bytes; /* of all that is drained; 0: no limit.  What comes then is dropped, and counted */
} hu_collect_options;

typedef struct hu_collector hu_collector;

typedef struct {
    uint32_t processes, alive; /* images that were seen; that still run */
    uint64_t drained, dropped; /* records; dropped because of max_bytes */
    uint64_t bytes;            /* of drain files */
    bool     is_disk_full;     /* the last try to write failed */
} hu_collect_state;

/* `session` is the directory.  NULL on failure. */
hu_collector *hu_collect_open(const char *session, const hu_collect_options *options, hu_error *err);

/*
 * Copies full blocks to the drain files and gives them back to the programs.  Never blocks but on the disk.  Returns in
 * how many ms the next round should be (1 ... 20): the fuller the rings are, the sooner.
 */
int hu_collect_round(hu_collector *c);

/* Calls `look` for each image that has not ended. */
void hu_collect_each(const hu_collector *c, hu_collect_look *look, void *context);

/* What came to its eyes so far. */
void hu_collect_get(const hu_collector *c, hu_collect_state *out);

/*
 * The last round: what programs still write afterwards stays in their rings, where readers find it.  Frees.  0, or
 * HU_EIO when the disk was full to the end: nothing is lost by that, it is in the rings.  NULL is fine.
 */
int hu_collect_close(hu_collector *c, hu_error *err);

#endif
