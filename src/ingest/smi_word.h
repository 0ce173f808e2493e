/* SPDX-License-Identifier: Apache-2.0
 * smi_word.h - words of a line of `nvidia-smi dmon` and `pmon`, which blanks or, with --format csv, commas separate. */
#ifndef HU_INGEST_SMI_WORD_H
#define HU_INGEST_SMI_WORD_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/* The next word from *at on, which moves behind it; false: there is none. */
static inline bool hu_smi_word(hu_str line, size_t *at, hu_str *word)
{
    size_t from;

    while (*at < line.n && strchr(" \t,\r", line.p[*at]))
        ++*at;
    for (from = *at; *at < line.n && !strchr(" \t,\r", line.p[*at]); ++*at)
        continue;
    *word = (hu_str){line.p + from, *at - from};
    return word->n > 0;
}

#endif
