/* SPDX-License-Identifier: Apache-2.0
 * kernel_name.h - what the name of a device kernel says: a label for people, its family, its library, tensor cores. */
#ifndef HU_ANALYZE_KERNEL_NAME_H
#define HU_ANALYZE_KERNEL_NAME_H

#include "base/arena.h"
#include "base/words.h"

/* id, key in JSON and CSV, words */
#define HU_KERNEL_FAMILIES(F)                          \
    F(OTHER, "other", "other")                         \
    F(COMMUNICATION, "communication", "communication") \
    F(GEMM, "gemm", "matrix product")                  \
    F(ATTENTION, "attention", "attention")             \
    F(CONVOLUTION, "convolution", "convolution")       \
    F(NORMALIZATION, "normalization", "normalization") \
    F(SOFTMAX, "softmax", "softmax and loss")          \
    F(POOLING, "pooling", "pooling and resampling")    \
    F(OPTIMIZER, "optimizer", "optimizer")             \
    F(RANDOM, "random", "random numbers, dropout")     \
    F(INDEX, "index", "gather, scatter, embedding")    \
    F(SORT, "sort", "sort, scan, top-k")               \
    F(COPY, "copy", "copy, cast, layout")              \
    F(REDUCTION, "reduction", "reduction")             \
    F(FUSED, "fused", "generated, fused")              \
    F(ELEMENTWISE, "elementwise", "elementwise")       \
    F(FFT, "fft", "FFT")

typedef enum {
#define F(id, key, words) HU_FAMILY_##id,
    HU_KERNEL_FAMILIES(F)
#undef F
        HU_FAMILY_COUNT
} hu_kernel_family;

typedef enum { HU_TENSOR_NO, HU_TENSOR_YES, HU_TENSOR_UNKNOWN } hu_tensor_use;

typedef struct {
    hu_str           label; /* "vectorized_elementwise_kernel: CUDAFunctor_add" */
    hu_kernel_family family;
    hu_str           library; /* "cuBLAS", "cuDNN", "CUTLASS", "Triton", "PyTorch" …; "" unknown */
    hu_tensor_use    tensor;  /* does it run on tensor (matrix) cores, as far as the name tells */
    bool is_plain_fp32;       /* a product of fp32 on the vector units: tensor cores could do it in a lower precision */
} hu_kernel_name;

/* The rules, ready for many names. */
typedef struct {
    hu_words families, libraries, tensor, vector, other;
    hu_words frames, telling, hollow;
} hu_kernel_reader;

void hu_kernel_reader_init(hu_kernel_reader *reader);

/* Reads a name.  The label lives in `arena` or is part of `name`.  False when there is no memory. */
bool hu_kernel_name_read(const hu_kernel_reader *reader, hu_str name, bool is_comm, hu_arena *arena, hu_kernel_name *out);

const char *hu_kernel_family_key(hu_kernel_family family);
const char *hu_kernel_family_words(hu_kernel_family family);

/* Could an operator of this name use tensor cores, for itself or for what it calls? */
bool hu_kernel_name_is_eligible(hu_str op);

#endif
