/* SPDX-License-Identifier: Apache-2.0
 * source.h - where bytes come from: a file, a pipe, memory, or a decoder in front of another source. */
#ifndef HU_BASE_SOURCE_H
#define HU_BASE_SOURCE_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/str.h"

typedef struct hu_source hu_source;

struct hu_source {
    /* Up to `room` bytes into `to`: > 0 how many, 0 at the end, a negative code on failure (err filled). */
    int64_t (*read)(hu_source *source, void *to, size_t room, hu_error *err);
    void (*close)(hu_source *source);
    const char        *name; /* for messages; outlives the source */
    const atomic_bool *stop; /* the reader may be told to give up; NULL when it never is */
    /* The same from byte `offset` of the file on, from several threads at once; NULL: it can only be read in order. */
    int64_t (*read_at)(hu_source *source, void *to, size_t room, uint64_t offset, hu_error *err);
    uint64_t bytes; /* of the file, where it has `read_at`; it may have grown since */
};

/* path "-" is standard input.  NULL on failure. */
hu_source *hu_source_open_file(const char *path, const atomic_bool *stop, hu_error *err);

/* Bytes that were taken from standard input for a look: whoever opens it next gets them first.  False: no memory. */
bool hu_source_give_back(hu_str bytes);

/* Borrows the bytes.  NULL when there is no memory. */
hu_source *hu_source_open_memory(hu_str bytes, const char *name);

/* Gives back what was taken from `inner` for a look, then `inner` itself, which it owns.  NULL when there is no memory. */
hu_source *hu_source_open_replay(hu_source *inner, const void *head, size_t n);

/* Decoders own `inner`, also on failure.  Several members or frames in a row are one stream. */
hu_source *hu_source_open_gzip(hu_source *inner, hu_error *err);
hu_source *hu_source_open_zstd(hu_source *inner, hu_error *err);

#endif
