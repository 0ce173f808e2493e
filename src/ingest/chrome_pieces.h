/* SPDX-License-Identifier: Apache-2.0
 * chrome_pieces.h - parts of a Chrome trace, scanned ahead of the reader by other threads. */
#ifndef HU_INGEST_CHROME_PIECES_H
#define HU_INGEST_CHROME_PIECES_H

#include "ingest/chrome_reader.h"

typedef struct chrome_pieces chrome_pieces;

/* From now on the threads of `reader->in` scan its chunks ahead.  NULL: it has none, or there is no memory; nothing is lost
   but time. */
chrome_pieces *chrome_pieces_new(const chrome_reader *reader, chrome_scan_event *scan);

/* Ends the threads of the input.  NULL is fine. */
void chrome_pieces_free(chrome_pieces *pieces);

/* The event in `span` from which on its last chunk was scanned; NULL: that was in vain. */
const char *chrome_pieces_begin(const chrome_pieces *pieces, const hu_span *span);

/*
 * Hands over what was scanned from there on, as chrome_take_event would have done one event after the other, to whoever has
 * come to that very event.  Returns where to go on.
 */
const char *chrome_pieces_take(chrome_pieces *pieces, const hu_span *span, chrome_reader *reader);

#endif
