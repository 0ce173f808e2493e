/* SPDX-License-Identifier: Apache-2.0
 * demangle.h - names of C++ functions as their compilers wrote them, back in the words of the language. */
#ifndef HU_BASE_DEMANGLE_H
#define HU_BASE_DEMANGLE_H

#include "base/str.h"

enum { HU_DEMANGLE_BYTES = 32768 };

/*
 * "_ZN2ck11kernel_gemmIfEEvv" -> "void ck::kernel_gemm<float>()", in `out`.  Empty where the name is none, is longer than
 * the room, or holds what templates of kernels do not (most expressions).
 */
hu_str hu_demangle(hu_str name, char out[HU_DEMANGLE_BYTES]);

#endif
