/* SPDX-License-Identifier: Apache-2.0
 * nccl_calls.h - what NCCL says of its calls in payloads of its NVTX ranges, whoever recorded them. */
#ifndef HU_INGEST_NCCL_CALLS_H
#define HU_INGEST_NCCL_CALLS_H

#include "base/arena.h"
#include "trace/builder.h"

typedef enum { NCCL_COMM, NCCL_BYTES, NCCL_PEER, NCCL_ROOT, NCCL_RANKS, NCCL_FIELD_COUNT } nccl_field;

/* One call; a field that is not there is -1. */
typedef struct {
    uint64_t comm;
    int64_t  values[NCCL_FIELD_COUNT]; /* of NCCL_COMM: 0, where it is there */
    uint32_t name;
} nccl_call;

typedef struct nccl_calls nccl_calls;

extern const hu_str nccl_field_names[NCCL_FIELD_COUNT];

nccl_calls *nccl_calls_new(hu_builder *b, hu_arena *arena); /* NULL: no memory */

/* Nothing said yet. */
nccl_call nccl_call_of(uint32_t name);

/* Takes a field's value. */
void nccl_call_set(nccl_call *call, nccl_field field, uint64_t value);

/*
 * The detail of a range of `thread`, in the order in which ranges begin; HU_NONE: it is none of NCCL's, or says nothing of
 * itself.  `says`: the range had any of the fields.  What goes wrong is the builder's to know.
 */
uint32_t nccl_calls_take(nccl_calls *c, uint64_t thread, const nccl_call *call, bool says);

#endif
