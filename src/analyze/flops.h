/* SPDX-License-Identifier: Apache-2.0
 * flops.h - what one call of an operator must compute and move at least, from the shapes of its arguments.
 *
 * One multiplication or one addition is one FLOP; a product of matrices is 2MNK.  Bytes count each tensor that is read
 * once and each that is written once: the least that any kernel can move when nothing is in a cache beforehand.  What
 * the shapes do not tell is unknown, not estimated.  docs/roofline.md lists formulas and where they come from.
 */
#ifndef HU_ANALYZE_FLOPS_H
#define HU_ANALYZE_FLOPS_H

#include "analyze/shapes.h"

/* clang-format off */
#define HU_WORKS(W)                                                                    \
    W(GEMM, "gemm")                                                                    \
    W(CONV, "conv")                                                                    \
    W(ATTENTION, "attention")                                                          \
    W(NORM, "norm")                                                                    \
    W(SOFTMAX, "softmax")                                                              \
    W(ELEMENTWISE, "elementwise")                                                      \
    W(REDUCTION, "reduction")                                                          \
    W(EMBEDDING, "embedding")           /* table look-ups, gather, scatter          */ \
    W(COPY, "copy")                                                                    \
    W(OPTIMIZER, "optimizer")                                                          \
    W(GENERATED, "generated")           /* by a compiler: only bytes can be known   */
/* clang-format on */

typedef enum {
#define W(id, name) HU_WORK_##id,
    HU_WORKS(W)
#undef W
        HU_WORK_COUNT
} hu_work_kind;

typedef struct {
    hu_work_kind kind;
    bool         on_matrix_unit; /* tensor or matrix cores can do it; else the vector units */
    hu_dtype     dtype;          /* what the unit computes in; FP32 may become TF32 by the kernel's name */
    double       flops;          /* executed; NaN unknown */
    double       model_flops;    /* without what a backward pass computes a second time; NaN unknown */
    double       masked_flops;   /* left out above because a causal mask hides it */
    double       bytes;          /* read and written at least */
} hu_work;

typedef struct hu_op_model hu_op_model;

/* What names add to the shapes; all 0 when nothing is known. */
typedef struct {
    bool     is_in_place; /* the operator's name ends in "_" */
    hu_dtype list_dtype;  /* of the tensors in lists; UNKNOWN */
    int      list_bytes;  /* of one element in lists; 0 */
} hu_work_hint;

/* The model for an operator, NULL when there is none.  In-place names ("aten::add_") have that of their base. */
const hu_op_model *hu_flops_find(hu_str op);

/* Fills *out.  False when these arguments do not determine it: wrong ranks, unknown types, counts beyond int64. */
bool hu_flops_measure(const hu_op_model *model, const hu_args *args, hu_work_hint hint, hu_work *out);

const char *hu_work_kind_name(hu_work_kind kind);

#endif
