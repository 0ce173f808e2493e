/* SPDX-License-Identifier: Apache-2.0
 * json.h - JSON text that lies in memory in one piece: members, elements and strings, without a tree.
 *
 * For small things (metadata, schemas, tests).  Trace events go through json_scan.h.  As tolerant as the field needs:
 * bare words such as NaN or N/A are values, control characters in strings are kept, bad escapes stay as they are.
 */
#ifndef HU_BASE_JSON_H
#define HU_BASE_JSON_H

#include "base/arena.h"

typedef struct {
    const char *p, *end;
    bool        is_broken; /* the text ended or went wrong in the middle */
} hu_json;

/* Starts on an object or an array; any other value has no members and no elements. */
hu_json hu_json_enter(hu_str value);

/* The next member or element; *key is the raw text between the quotes, *value the raw text of the value. */
bool hu_json_member(hu_json *j, hu_str *key, hu_str *value);
bool hu_json_element(hu_json *j, hu_str *value);

/* The raw value of one member of an object; p is NULL when there is none. */
hu_str hu_json_get(hu_str object, hu_str key);

/* The text of a string value with its escapes resolved, or the raw text of any other value; p NULL: no memory. */
hu_str hu_json_text(hu_arena *arena, hu_str value);

/* Resolves escapes; `out` has room for raw.n bytes.  Returns the length; adds to *bad what was no valid escape. */
size_t hu_json_unescape(hu_str raw, char *out, uint64_t *bad);

#endif
