/* SPDX-License-Identifier: Apache-2.0
 * utf8.h - decode one character at a time; what is not UTF-8 is seen, never trusted. */
#ifndef HU_BASE_UTF8_H
#define HU_BASE_UTF8_H

#include <stdint.h>

#include "base/str.h"

#define HU_UTF8_BAD UINT32_MAX

/*
 * Takes the next character off the front of *s and returns its code point, or HU_UTF8_BAD for one byte that begins
 * no valid character (overlong forms, surrogates and values above U+10FFFF included).  *s must not be empty.
 */
uint32_t hu_utf8_next(hu_str *s);

bool hu_utf8_is_valid(hu_str s);

/* Writes one to four bytes for a code point that is valid; returns how many. */
size_t hu_utf8_put(char out[4], uint32_t code);

/* Nothing in the first 4 KiB that no text has; not of UTF-16, nor of what is empty. */
bool hu_looks_like_text(hu_str head);

#endif
