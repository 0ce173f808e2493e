/* SPDX-License-Identifier: Apache-2.0
 * blind.h - where silence is no answer: what a trace lacks, so that having found no fix does not mean that there is none. */
#ifndef HU_ADVISE_BLIND_H
#define HU_ADVISE_BLIND_H

#include "analyze/digest.h"
#include "graph/graph.h"

enum { HU_BLIND_BYTES = 200 };

/*
 * Why nobody can tell what would save time, as half a sentence: "no GPU operation was recorded".  "" where silence is
 * one.
 */
typedef struct {
    char t[HU_BLIND_BYTES];
} hu_blind;

/* Were most GPU operations of the replayed time launched before it?  Then it does not show what the host costs the GPU. */
bool hu_blind_to_launches(const hu_graph *g);

hu_blind hu_blind_of(const hu_digest *d, const hu_graph *g);

#endif
