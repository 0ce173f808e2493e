/* SPDX-License-Identifier: Apache-2.0
 * json_check.h - may this text stand in a JSON document as it is? */
#ifndef HU_BASE_JSON_CHECK_H
#define HU_BASE_JSON_CHECK_H

#include "base/str.h"

/*
 * True when the text is exactly one value as RFC 8259 writes it, in valid UTF-8, and nests at most HU_JSON_DEEPEST
 * levels.  base/json.h reads far more than that.
 */
bool hu_json_is_value(hu_str text);

enum { HU_JSON_DEEPEST = 64 };

#endif
