/* SPDX-License-Identifier: Apache-2.0
 * merge.h - nodes of a thread on which nothing else depends, as one node for each kind of them; private to this folder. */
#ifndef HU_GRAPH_MERGE_H
#define HU_GRAPH_MERGE_H

#include "graph/build.h"

enum { HU_MERGE_KINDS = 24 }; /* of nodes in one chunk */

/* One thread's nodes while they are put behind each other: those of the chunk that is open are of one kind each. */
typedef struct {
    hu_building    *b;
    const hu_track *track;
    uint32_t        first; /* node: the chunk's; nodes from here to the last but one are folded */
    int64_t         begin_ns;
    size_t          anchor;  /* among b->anchors: the first that may lie in what comes */
    uint32_t        stretch; /* of the track, the same */
    hu_merged       sums[HU_MERGE_KINDS];
    uint64_t        key[HU_MERGE_KINDS];
} hu_merge;

/*
 * Is the window to be merged?  Only a capture without steps and without a device, of more slices than `most`.  Then the
 * anchors are found.  False: no memory.
 */
bool hu_merge_prepare(hu_building *b, size_t most);

/* From here on nodes are of this thread. */
void hu_merge_begin(hu_merge *m, hu_building *b, const hu_track *track);

/* Adds a node; the one before it is final now, and may be merged.  False: no memory. */
bool hu_merge_push(hu_merge *m, const hu_node *node);

/* The thread has no more nodes: the last one is final too. */
bool hu_merge_end(hu_merge *m);

#endif
