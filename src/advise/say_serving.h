/* SPDX-License-Identifier: Apache-2.0
 * say_serving.h - what holds up the passes of a serving engine, by phase. */
#ifndef HU_ADVISE_SAY_SERVING_H
#define HU_ADVISE_SAY_SERVING_H

#include "analyze/digest.h"

enum { HU_SERVING_WORDS = 2, HU_SERVING_ROOM = 700 };

/*
 * Sentences about one class, the weightier first; returns how many.  Prices are bounds: time that the GPU rests before a
 * pass is what its preparation can save at most.
 */
size_t hu_say_serving(const hu_serving_class *c, char out[HU_SERVING_WORDS][HU_SERVING_ROOM]);

#endif
