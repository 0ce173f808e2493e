/* SPDX-License-Identifier: Apache-2.0
 * chrome_reader.h - what the three parts of the Chrome importer share: document, events, metadata. */
#ifndef HU_INGEST_CHROME_READER_H
#define HU_INGEST_CHROME_READER_H

#include "base/arena.h"
#include "base/input.h"
#include "ingest/chrome_event.h"
#include "ingest/nccl_calls.h"
#include "trace/builder.h"

typedef struct {
    char    text[31]; /* a category that was seen last in this place of the cache */
    uint8_t n;        /* 0: empty */
    hu_kind kind;
} chrome_category;

typedef struct {
    hu_input       *in;
    hu_builder     *b;
    hu_arena       *arena; /* for texts whose escapes are resolved */
    chrome_scanner  scanner;
    chrome_event    event;
    chrome_category categories[16];
    HU_VEC(uint8_t) comm_by_name; /* by string id: 0 not asked yet, 1 no, 2 yes */
    char       *text;             /* grows to the longest name with escapes */
    size_t      text_room;
    bool        saw_kineto;
    nccl_calls *nccl; /* NULL: no range of NCCL's was seen */
    bool        has_shapes, has_stacks, has_memory, has_flops, has_modules;
} chrome_reader;

/* Hands r->event to the builder, or counts why not. */
void chrome_take_event(chrome_reader *r);

/* The kind that the category of r->event says. */
hu_kind chrome_take_kind(chrome_reader *r);

/* r->event as a slice without its length, for readers that find the end themselves.  False: counted, without a time. */
bool chrome_take_slice(chrome_reader *r, hu_builder_slice *out);

/* chrome_states.c: r->event is a state of a thread: taken.  False: it is a slice. */
bool chrome_states_take(chrome_reader *r, const hu_builder_slice *slice);

/* One member of the top object that is not the event array; `value` is its JSON text. */
void chrome_take_metadata(chrome_reader *r, hu_str key, hu_str value);

/* What follows from all metadata together, once the document has ended. */
void chrome_finish_metadata(chrome_reader *r);

#endif
