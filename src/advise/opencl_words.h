/* SPDX-License-Identifier: Apache-2.0
 * opencl_words.h - what is said of a program that uses OpenCL alone: its means are not CUDA's, nor PyTorch's. */
#ifndef HU_ADVISE_OPENCL_WORDS_H
#define HU_ADVISE_OPENCL_WORDS_H

#include "advise/findings.h"

/* Gives findings the fixes of OpenCL, where the rule's own name what such a program does not have. */
void hu_opencl_words(hu_findings *f, const hu_digest *d);

#endif
