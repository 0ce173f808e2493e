/* SPDX-License-Identifier: Apache-2.0
 * terms.c - what people read for the words by which programs know causes, classes and kinds. */
#include "render/table/terms.h"

#define TERM(id, key, words)         {key, words},
#define KIND(id, key, words, counts) {key, words},

const hu_term hu_terms_idle_causes[] = {HU_IDLE_CAUSES(TERM){0}};
const hu_term hu_terms_host_classes[] = {HU_HOST_CLASSES(TERM){0}};
const hu_term hu_terms_parallel_kinds[] = {HU_PARALLEL_KINDS(KIND){0}};
const hu_term hu_terms_memory_categories[] = {{"before_capture", "before the capture"}, {0}}; /* the others are words */
