/* SPDX-License-Identifier: Apache-2.0
 * xla_words.h - what is said of a program that XLA's profiler recorded: its means are those of JAX and TensorFlow. */
#ifndef HU_ADVISE_XLA_WORDS_H
#define HU_ADVISE_XLA_WORDS_H

#include "advise/findings.h"

/* Gives findings the fixes of JAX and TensorFlow, where the rule's own name PyTorch's. */
void hu_xla_words(hu_findings *f, const hu_digest *d);

#endif
