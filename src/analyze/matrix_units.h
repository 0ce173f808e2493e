/* SPDX-License-Identifier: Apache-2.0
 * matrix_units.h - which types a device's tensor (matrix) cores take: what a fix may ask of it. */
#ifndef HU_ANALYZE_MATRIX_UNITS_H
#define HU_ANALYZE_MATRIX_UNITS_H

#include "trace/trace.h"

typedef enum {
    HU_MATRIX_UNKNOWN,
    HU_MATRIX_NONE, /* it has none */
    HU_MATRIX_FP16, /* fp16 alone: Volta, Turing */
    HU_MATRIX_BF16, /* fp16 and bf16, no TF32 that a framework switches on: AMD CDNA */
    HU_MATRIX_TF32, /* fp16, bf16 and TF32: NVIDIA from Ampere on */
} hu_matrix_units;

/*
 * The same of the device that does most of a trace's work; where nothing describes it, by kernels made for one
 * generation.
 */
hu_matrix_units hu_matrix_units_of_trace(const hu_trace *trace);

#endif
