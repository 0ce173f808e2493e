/* SPDX-License-Identifier: Apache-2.0
 * shapes.h - the arguments of one operator call, from the JSON texts that a profiler records with record_shapes.
 *
 * "Input Dims" is a list with one entry per argument: [2, 3] a tensor, [] a scalar or a tensor without dimensions,
 * [[2, 3], [4]] a list of tensors.  "Input type" names each ("float", "Scalar", "TensorList", ""), "Concrete Inputs"
 * holds the values of scalars and of lists of scalars as text.  Texts are borrowed, nothing is allocated.
 */
#ifndef HU_ANALYZE_SHAPES_H
#define HU_ANALYZE_SHAPES_H

#include <stdint.h>

#include "base/str.h"

enum {
    HU_ARG_MAX = 32, /* more arguments are dropped, and said so */
    HU_DIM_MAX = 8,  /* a tensor of more dimensions keeps only its element count */
};

/* id, name, bytes of an element, is it floating point */
#define HU_DTYPES(D)          \
    D(UNKNOWN, "", 0, 0)      \
    D(FP64, "fp64", 8, 1)     \
    D(FP32, "fp32", 4, 1)     \
    D(TF32, "tf32", 4, 1)     \
    D(FP16, "fp16", 2, 1)     \
    D(BF16, "bf16", 2, 1)     \
    D(FP8, "fp8", 1, 1)       \
    D(INT64, "int64", 8, 0)   \
    D(INT32, "int32", 4, 0)   \
    D(INT16, "int16", 2, 0)   \
    D(INT8, "int8", 1, 0)     \
    D(BOOL, "bool", 1, 0)     \
    D(C64, "complex64", 8, 1) \
    D(C128, "complex128", 16, 1)

typedef enum {
#define D(id, name, bytes, is_float) HU_DTYPE_##id,
    HU_DTYPES(D)
#undef D
        HU_DTYPE_COUNT
} hu_dtype;

typedef struct {
    bool     is_tensor; /* its type is that of a tensor: [] is then one element */
    bool     is_list;   /* a list of tensors: sums over its members */
    hu_dtype dtype;     /* UNKNOWN for lists, whose members' types are not recorded */
    uint8_t  rank;      /* of one tensor; HU_DIM_MAX + 1: more than fit */
    int64_t  dim[HU_DIM_MAX];
    int64_t  elements; /* -1: broken, negative or beyond int64 */
    int64_t  tensors;  /* of a list; 1 for a tensor */
    hu_str   concrete; /* "" none */
} hu_arg;

typedef struct {
    hu_arg at[HU_ARG_MAX];
    size_t n;
    bool   is_cut; /* there were more, or the text is broken */
} hu_args;

/* Fills *out from JSON texts, each of which may be empty.  False when there are no dims at all. */
bool hu_args_parse(hu_str dims, hu_str types, hu_str concrete, hu_args *out);

const char *hu_dtype_name(hu_dtype dtype);
int         hu_dtype_bytes(hu_dtype dtype); /* of one element; 0 unknown */
bool        hu_dtype_is_float(hu_dtype dtype);

/* A tensor (not a list) whose element count is known. */
static inline bool hu_arg_is_tensor(const hu_args *a, size_t i)
{
    return i < a->n && a->at[i].is_tensor && a->at[i].elements >= 0;
}

/* Elements times their size; -1 when either is unknown or the product leaves int64. */
int64_t hu_arg_bytes(const hu_arg *a);

/* "True" and "1" of an argument's text. */
bool hu_arg_is_true(const hu_args *a, size_t i);

/* One integer of an argument's text; false when it holds none. */
bool hu_arg_int(const hu_args *a, size_t i, int64_t *out);

/* Integers of "[1, 2]" into out[0..max); their number, -1 when the text is no such list or longer. */
int hu_arg_ints(const hu_args *a, size_t i, int64_t *out, int max);

/* a * b, or -1 when one is negative or the product leaves int64. */
static inline int64_t hu_times(int64_t a, int64_t b)
{
    int64_t product;

    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static inline int64_t hu_plus(int64_t a, int64_t b)
{
    int64_t sum;

    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

#endif
