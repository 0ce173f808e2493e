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
    char                *text;    /* grows to the longest name with escapes */
    size_t               text_room;
    bool                 saw_kineto;
    struct chrome_async *async; /* NULL: none was seen, or there are slices */
    nccl_calls          *nccl;  /* NULL: no range of NCCL's was seen */
    bool                 has_shapes, has_stacks, has_memory, has_flops, has_modules;
} chrome_reader;

/* Hands r->event to the builder, or counts why not. */
void chrome_take_event(chrome_reader *r);

/* The kind that the category of r->event says. */
hu_kind chrome_take_kind(chrome_reader *r);

/* Of r->event: the id of a text value; a thread or process; when it was.  False: there is no time. */
uint32_t      chrome_take_text(chrome_reader *r, int place);
hu_builder_id chrome_take_row(chrome_reader *r, int place);
bool          chrome_take_time(chrome_reader *r, int64_t *ns);

/* r->event as a slice without its length, for readers that find the end themselves.  False: counted, without a time. */
bool chrome_take_slice(chrome_reader *r, hu_builder_slice *out);

/* chrome_states.c: r->event is a state of a thread: taken.  False: it is a slice. */
bool chrome_states_take(chrome_reader *r, const hu_builder_slice *slice);

/* chrome_async.c: r->event begins or ends an asynchronous operation. */
void chrome_async_note(chrome_reader *r, bool is_end);

/* At the end of a trace without any slice: the operations that ended become slices of no known kind.  False: none is. */
bool chrome_async_finish(chrome_reader *r);

/* One member of the top object that is not the event array; `value` is its JSON text. */
void chrome_take_metadata(chrome_reader *r, hu_str key, hu_str value);

/* What follows from all metadata together, once the document has ended. */
void chrome_finish_metadata(chrome_reader *r);

#endif
