/* SPDX-License-Identifier: Apache-2.0
 * words.h - which of many short words occurs in a text, in one pass over the text. */
#ifndef HU_BASE_WORDS_H
#define HU_BASE_WORDS_H

#include <stdint.h>

#include "base/str.h"

enum { HU_WORDS_MOST = 160 };

typedef struct {
    const char *const *words;
    uint8_t            length[HU_WORDS_MOST];
    char               second[HU_WORDS_MOST];   /* the byte behind the first; of words of one byte that itself */
    uint8_t            by_first[HU_WORDS_MOST]; /* word numbers by their first byte */
    uint16_t           first[257];              /* where each byte's words begin in by_first */
    uint32_t           may[3][256]; /* by place and byte there: sets of words that have it, word i in set i % 32 */
} hu_words;

/* Up to HU_WORDS_MOST words of 1 to 255 bytes; they must outlive *out. */
void hu_words_init(hu_words *out, const char *const *words, size_t n);

/* The smallest number of a word that occurs in `text`, or -1. */
int hu_words_find(const hu_words *words, hu_str text);

#endif
