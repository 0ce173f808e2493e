/* SPDX-License-Identifier: Apache-2.0
 * input.h - a path, a pipe or memory as a stream of decompressed spans that a scanner can walk without copying. */
#ifndef HU_BASE_INPUT_H
#define HU_BASE_INPUT_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"

/* This many readable zero bytes lie behind every span, so that wide loads need no bounds check. */
enum { HU_INPUT_PAD = 128 };

typedef struct hu_input hu_input;

typedef struct {
    const char *p;
    size_t      n;
    uint64_t    offset;  /* of p[0] in the decompressed stream */
    bool        is_last; /* nothing follows */
    size_t      slot;    /* of the chunk that it ends with, see hu_input_look_ahead */
} hu_span;

/* Shared by several inputs; whoever draws a progress bar reads it from another thread. */
typedef struct {
    _Atomic uint64_t done_bytes;  /* of the files as they lie on disk */
    uint64_t         total_bytes; /* 0 when unknown */
} hu_progress;

typedef struct {
    hu_limits    limits;
    int          threads;     /* that read, unpack and look ahead, the caller's included; 0 is 1 */
    hu_progress *progress;    /* or NULL */
    size_t       chunk_bytes; /* for tests: the size of all chunks; 0: as it is fastest */
} hu_input_options;

/*
 * Opens a path ("-": standard input); the compression is recognised by its magic bytes.  Of a file that holds several
 * processes FILE#pid=N means one of them, unless a file has that very name.  NULL on failure; err may be
 * NULL.
 */
hu_input *hu_input_open(const char *path, const hu_input_options *options, hu_error *err);

/* The same for bytes in memory, which are borrowed. */
hu_input *hu_input_open_memory(hu_str bytes, const char *name, const hu_input_options *options, hu_error *err);

void hu_input_close(hu_input *in);

const char *hu_input_name(const hu_input *in);

/* The file on disk, for a reader that wants to find its own way in it; NULL for pipes, memory and what is compressed. */
const char *hu_input_path(const hu_input *in);

/* The process that the path asked for; 0: all. */
int64_t hu_input_part(const hu_input *in);

/* The length of a path without its #pid=N, and N; *pid is 0 where it has none. */
size_t hu_input_split(const char *path, int64_t *pid);

const hu_limits *hu_input_limits(const hu_input *in);

/* "", "gzip" or "zstd". */
const char *hu_input_compression(const hu_input *in);

/* The first span, for recognising the format; at least 64 KiB unless the data is shorter.  Does not consume it. */
hu_str hu_input_head(const hu_input *in);

/* Before anything was consumed: is the first span the whole stream, which ended as it should? */
bool hu_input_is_whole(const hu_input *in);

/*
 * The next span.  It begins with the last `keep` bytes of the previous one, so that what was cut by its end lies in
 * one piece now.  Returns 0, HU_ENOMEM, or HU_ELIMIT when more than limits.event_bytes would have to be kept or the
 * decompression ratio is absurd.  After is_last, or a failure, do not call again.
 *
 * A stream that breaks looks like one that ends; hu_input_status tells them apart.
 */
int hu_input_next(hu_input *in, size_t keep, hu_span *out, hu_error *err);

/*
 * Looks at the text of a chunk before the reader comes to it, from the second chunk on; in any of the input's threads, at
 * several chunks at once.  `chunk->slot` is its place for what was found, below hu_input_slots(): the place is looked
 * at again only after the reader has asked for the chunk behind it.  HU_INPUT_PAD zeros lie behind the text.
 */
typedef void hu_input_looker(void *context, const hu_span *chunk);

/* To be said before the second hu_input_next. */
void   hu_input_look_ahead(hu_input *in, hu_input_looker *look, void *context);
size_t hu_input_slots(const hu_input *in);

/* As the options had it. */
int hu_input_threads(const hu_input *in);

/* Ends the threads, so that what they look for may go.  Nothing can be read afterwards. */
void hu_input_stop(hu_input *in);

/*
 * All of the stream in one piece, which lives in `arena`; for formats that cannot be read from front to back.  Returns
 * 0 or a
 * negative code; a stream that breaks is an error here.
 */
int hu_input_read_whole(hu_input *in, hu_arena *arena, hu_str *out, hu_error *err);

/* 0 when the stream ended as it should; else why it broke, with everything before the break delivered. */
int hu_input_status(const hu_input *in, hu_error *err);

#endif
