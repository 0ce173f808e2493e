/* SPDX-License-Identifier: Apache-2.0
 * relay.h - what a process found out about one file, as bytes for process 0. */
#ifndef HU_JOB_RELAY_H
#define HU_JOB_RELAY_H

#include "advise/findings.h"
#include "graph/graph.h"
#include "timeline/timeline.h"

/* What is known of one file; all but `error` may be missing. */
typedef struct {
    hu_digest   *digest;
    hu_findings *findings;
    hu_graph    *graph;    /* to be replayed with the others' */
    hu_timeline  timeline; /* without bytes where it is not drawn */
    hu_error     error;    /* why there is no digest */
} hu_relay;

/* *out lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_relay_pack(const hu_relay *r, hu_arena *arena, hu_str *out, hu_error *err);

/* Digest and findings own themselves; graph and timeline live in `arena`.  Returns 0, HU_ENOMEM or HU_EFORMAT. */
int hu_relay_unpack(hu_str bytes, hu_arena *arena, hu_relay *out, hu_error *err);

/* A request of process 0: which files of a share to draw, by number; `shown` is the one that the page opens with. */
typedef struct {
    size_t  *files;
    size_t   n;
    size_t   shown;
    uint64_t pictures; /* hu_filling.pictures */
} hu_relay_wish;

int hu_relay_pack_wish(const hu_relay_wish *w, hu_arena *arena, hu_str *out, hu_error *err);
int hu_relay_unpack_wish(hu_str bytes, hu_arena *arena, hu_relay_wish *out, hu_error *err);

#endif
