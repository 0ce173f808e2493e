/* SPDX-License-Identifier: Apache-2.0
 * pipeline_build.h - what the files that build one step of a pipeline share. */
#ifndef HU_GRAPH_PIPELINE_BUILD_H
#define HU_GRAPH_PIPELINE_BUILD_H

#include "base/map.h"
#include "graph/pipeline.h"

enum { HU_PIPELINE_NONE = UINT32_MAX };

/* Stamps of one worker that are nearer than this are one moment. */
static const int64_t HU_PIPELINE_SAME_NS = 50000;

/* Stamps of different workers may contradict each other by this much; what is earlier was stamped wrongly. */
static const int64_t HU_PIPELINE_CLOCK_NS = 10000000;

/* One worker in one step: its operations by kind, in the order of their starts. */
typedef struct {
    uint32_t  dp, stage, worker; /* worker: index in hu_pipeline.workers */
    uint32_t  first, n;          /* its rows, from the step's first row on */
    uint32_t *list;              /* rows by kind */
    uint32_t  list_first[HU_OPERATION_COUNT + 1];
    uint32_t *computes, n_computes; /* forward and backward as they ran */
} hu_pipeline_part;

/* What a row carries to another worker. */
typedef enum {
    HU_CARGO_NONE,
    HU_CARGO_CARRIED, /* it has another end: the model goes on beyond it */
    HU_CARGO_MET,     /* and both ends are one group */
    HU_CARGO_LONE,    /* the row of its other end is missing, but not the pass behind that */
} hu_pipeline_cargo;

typedef struct {
    uint32_t from, to; /* rows; `to` waits for the end of `from` */
} hu_pipeline_wait;

/* What is filled for each step anew; the room stays. */
typedef struct {
    hu_pipeline        *p;
    const hu_operation *at; /* the step's rows */
    uint32_t            n;
    hu_arena           *arena; /* of all this */
    HU_VEC(hu_pipeline_part) parts;
    HU_VEC(hu_pipeline_wait) waits;
    HU_VEC(uint32_t) lists, computes; /* what the parts point into */
    HU_VEC(uint32_t) meets;           /* of each row: the first row of its group; itself when alone */
    HU_VEC(uint32_t) match;           /* of each send or receive: the pass that it serves */
    HU_VEC(uint8_t) cargo;            /* hu_pipeline_cargo of each row */
    HU_VEC(uint32_t) room;
    bool is_short; /* of memory */
} hu_pipeline_work;

static inline uint32_t hu_pipeline_count(const hu_pipeline_part *part, hu_operation_kind kind)
{
    return part->list_first[kind + 1] - part->list_first[kind];
}

static inline const uint32_t *hu_pipeline_list(const hu_pipeline_part *part, hu_operation_kind kind)
{
    return part->list + part->list_first[kind];
}

static inline int64_t hu_operation_end_ns(const hu_operation *o)
{
    return o->start_ns + o->duration_ns;
}

/* Where a pass of a microbatch lies in the model, counted in chunks from its input. */
static inline int64_t hu_pipeline_chunk(const hu_pipeline *p, const hu_operation *pass)
{
    return pass->model_chunk >= 0 ? pass->model_chunk
                                  : (int64_t)(pass->chunk < 0 ? 0 : pass->chunk) * p->n_stages + pass->stage;
}

static inline void hu_pipeline_wait_for(hu_pipeline_work *w, uint32_t from, uint32_t to)
{
    if (!hu_vec_push(w->arena, &w->waits, ((hu_pipeline_wait){from, to})))
        w->is_short = true;
}

/* Passes, exchanges of parameters and gradients, and what comes behind the last pass. */
void hu_pipeline_chains(hu_pipeline_work *w);

/* Sends and receives: which pass each serves, which two are one transfer, and what they wait for. */
void hu_pipeline_peers(hu_pipeline_work *w);

#endif
