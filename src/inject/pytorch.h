/* SPDX-License-Identifier: Apache-2.0
 * pytorch.h - PyTorch's operators out of the texts of its NVTX ranges, and the table that the hook of --pytorch calls. */
#ifndef HU_INJECT_PYTORCH_H
#define HU_INJECT_PYTORCH_H

#include <stdbool.h>
#include <stdint.h>

#include "holdup_annotate.h"

typedef struct {
    uint32_t name, shapes; /* ids of texts; shapes 0: none */
    int64_t  sequence;     /* -1: none */
} hu_pytorch_operator;

/*
 * "aten::mm, seq = 3, op_id = 7, sizes = [[2, 3], []], input_op_ids = [...]": what the observer of libtorch pushes
 * (torch/csrc/profiler/util.cpp, getNvtxStr).  While the hook has the observer on, a text without any of these counts as an
 * operator if it is called like one ("aten::empty").  False: it is none.
 */
bool hu_pytorch_read(const char *text, hu_pytorch_operator *out);

/* The operator begins; it ends as a range does. */
void hu_pytorch_write(const hu_pytorch_operator *o);

/* annotate.c: what holdup_annotate_v1 returns, without saying that the program marks something. */
const holdup_annotate_api *hu_annotate_table(void);

/* The program marks steps of its own: from now on the hook's do not count. */
void hu_pytorch_give_way(void);

/* What holdup_pytorch_v1 returns, for python/hook/holdup_torch.py alone: both are of one version. */
typedef struct {
    uint32_t size, version;
    uint32_t wants;                     /* HU_TORCH_WANTS_* */
    uint32_t (*is_open)(void);          /* are operators recorded now, in this process? */
    void (*observe)(uint32_t on);       /* the observer of libtorch is on from now on, in this thread; off */
    void (*step)(int64_t number);       /* a step begins, and the one before ends */
    void (*step_end)(uint32_t is_none); /* is_none: what began was no step */
    void (*say)(uint32_t state, const char *version, const char *why); /* hu_torch_facts */
    void (*made_way)(void);
    uint32_t                  *line; /* id of the line of the program's code that operators belong to from now on; 0: none */
    const holdup_annotate_api *marks; /* for ranges and counters; who only has it has marked nothing yet */
} hu_pytorch_api;

enum { HU_PYTORCH_VERSION = 1 };

#endif
