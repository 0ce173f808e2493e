/* SPDX-License-Identifier: Apache-2.0
 * format.h - one format that holdup reads: a row of the table in formats.c. */
#ifndef HU_INGEST_FORMAT_H
#define HU_INGEST_FORMAT_H

#include "base/input.h"
#include "trace/builder.h"

typedef struct {
    const char *name;     /* stable, as --json prints it */
    const char *what;     /* one line for people */
    const char *suffixes; /* for help only: the content decides */

    /* Does this look like mine?  `head` is the beginning, decompressed, up to 256 KiB; it may be the whole file. */
    bool (*probe)(hu_str head);

    /*
     * Reads all of `in` into `b`.  Returns 0 or a negative code with *err filled.  A file that breaks off gives
     * everything before the break and hu_builder_truncated, not a failure, unless nothing was readable.
     */
    int (*import)(hu_input *in, hu_builder *b, hu_error *err);
} hu_format;

/* All formats in probing order; NULL ends the list. */
extern const hu_format *const hu_formats[];

/* The first row that recognises the beginning, or NULL. */
const hu_format *hu_format_find(hu_str head);

#endif
