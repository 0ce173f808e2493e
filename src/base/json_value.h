/* SPDX-License-Identifier: Apache-2.0
 * json_value.h - small JSON texts as the same plain values that a pickle has. */
#ifndef HU_BASE_JSON_VALUE_H
#define HU_BASE_JSON_VALUE_H

#include "base/pickle.h"

/*
 * The whole text as values in `arena`.  NULL with *err filled: it ends early, it is malformed, or a limit is passed
 * (limits->events values, limits->nesting levels).
 */
const hu_value *hu_json_value_read(hu_str text, const char *file, const hu_limits *limits, hu_arena *arena, hu_error *err);

#endif
