/* SPDX-License-Identifier: Apache-2.0
 * pipeline_lengths.h - do microbatches differ in length? */
#ifndef HU_GRAPH_PIPELINE_LENGTHS_H
#define HU_GRAPH_PIPELINE_LENGTHS_H

#include "base/map.h"
#include "graph/pipeline.h"

/* Forward (x) and backward (y) time of the same microbatch, of one chunk on one worker: sums in ns. */
typedef struct {
    double n, x, y, xx, yy, xy;
} hu_pipeline_place;

typedef struct {
    const hu_pipeline *p;
    hu_arena          *arena;
    hu_map             of; /* worker and chunk -> index in `places` */
    HU_VEC(hu_pipeline_place) places;
    double n;            /* passes forward that have their backward pass */
    double correlation;  /* Pearson's, of deviations from the mean of a place; NaN: not known */
    double deviation_ns; /* of forward passes from it */
} hu_pipeline_lengths;

/* Over n steps of the pipeline, which is borrowed.  `out` lives in `arena`.  False when there is no memory. */
bool hu_pipeline_lengths_measure(const hu_pipeline *p, const size_t *kept, size_t n, hu_arena *arena,
                                 hu_pipeline_lengths *out);

/* What operation i of a step costs if all passes of its worker, chunk and direction take the same. */
double hu_pipeline_level_ns(const hu_pipeline_lengths *l, const hu_pipeline_step *s, uint32_t i);

#endif
