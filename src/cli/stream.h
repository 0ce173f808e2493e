/* SPDX-License-Identifier: Apache-2.0
 * stream.h - a body that is written while it is sent, by a thread of its own, through a pipe. */
#ifndef HU_CLI_STREAM_H
#define HU_CLI_STREAM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/out.h"
#include "cli/lent.h"

typedef struct hu_stream hu_stream;

/* What all streams of a server share. */
typedef struct {
    int        stop;    /* a descriptor that becomes readable when all is to end */
    atomic_int writers; /* that still run, and read what they were given */
} hu_streams;

/* Writes the body.  It ends early when hu_out_has_failed: nobody wants the rest. */
typedef int hu_stream_write(void *context, hu_out *out, hu_error *err);

/* `context` is part of what is lent, which the stream gives back.  Nothing runs yet.  NULL, and it is back: no memory. */
hu_stream *hu_stream_new(hu_streams *streams, hu_stream_write *write, void *context, const hu_lent *lent);

/* Waits for up to `most` bytes; the first call starts the writer.  0: that was all; -1: it failed, or all is to end. */
ssize_t hu_stream_read(hu_stream *stream, void *bytes, size_t most);

/* Nobody reads it any more: its writer ends soon, and frees it; this does not wait. */
void hu_stream_end(hu_stream *stream);

#endif
