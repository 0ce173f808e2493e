/* SPDX-License-Identifier: Apache-2.0
 * chrome_event.h - one Chrome trace event as text positions: what the scanner finds and the importer understands. */
#ifndef HU_INGEST_CHROME_EVENT_H
#define HU_INGEST_CHROME_EVENT_H

#include <stdint.h>

#include "base/cpu.h"
#include "base/str.h"

/* The places that values go to.  Event members first, then arguments; each name once. */
/* clang-format off */
enum {
    CHROME_PH, CHROME_CAT, CHROME_NAME, CHROME_PID, CHROME_TID, CHROME_TS, CHROME_DUR, CHROME_ARGS, CHROME_ID,
    CHROME_ID2, CHROME_SCOPE, CHROME_BIND,
    CHROME_EXTERNAL_ID, CHROME_RECORD_FUNCTION_ID, CHROME_EVENT_INDEX, CHROME_SEQUENCE, CHROME_FORWARD_THREAD,
    CHROME_INPUT_DIMS, CHROME_INPUT_TYPES, CHROME_INPUT_STRIDES, CHROME_CONCRETE_INPUTS, CHROME_CALL_STACK,
    CHROME_MODULE_HIERARCHY, CHROME_KERNEL_FILE, CHROME_KERNEL_BACKEND,
    CHROME_CORRELATION, CHROME_XLA_CORRELATION, CHROME_STEP_NUMBER,
    CHROME_DEVICE, CHROME_CONTEXT, CHROME_STREAM, CHROME_QUEUE, CHROME_QUEUED, CHROME_REGISTERS,
    CHROME_SHARED_MEMORY, CHROME_BLOCKS_PER_SM, CHROME_WARPS_PER_SM, CHROME_GRID, CHROME_BLOCK, CHROME_OCCUPANCY,
    CHROME_GRAPH_ID, CHROME_GRAPH_NODE_ID, CHROME_PRIORITY, CHROME_KIND, CHROME_BYTES, CHROME_BANDWIDTH,
    CHROME_FROM_DEVICE, CHROME_IN_DEVICE, CHROME_TO_DEVICE, CHROME_CALLBACK_ID,
    CHROME_SYNC_KIND, CHROME_WAIT_STREAM, CHROME_WAIT_RECORD, CHROME_WAIT_EVENT,
    CHROME_PYTHON_ID, CHROME_PYTHON_PARENT, CHROME_PYTHON_MODULE,
    CHROME_DEVICE_TYPE, CHROME_DEVICE_ID, CHROME_ADDRESS, CHROME_ALLOC_BYTES, CHROME_TOTAL_ALLOCATED,
    CHROME_TOTAL_RESERVED,
    CHROME_COLLECTIVE, CHROME_DTYPE, CHROME_IN_ELEMENTS, CHROME_OUT_ELEMENTS, CHROME_GROUP_SIZE, CHROME_IN_SPLIT,
    CHROME_OUT_SPLIT, CHROME_GROUP_NAME, CHROME_GROUP_DESCRIPTION, CHROME_GROUP_RANKS, CHROME_SOURCE_RANK,
    CHROME_TARGET_RANK, CHROME_COMM_SEQUENCE, CHROME_COMM_ID, CHROME_RANK_START, CHROME_RANK_STRIDE, CHROME_IS_ASYNC,
    CHROME_RECORDED, CHROME_NCCL_COMM, CHROME_NCCL_BYTES, CHROME_NCCL_PEER, CHROME_NCCL_ROOT, CHROME_NCCL_RANKS,
    CHROME_CLASS, CHROME_PATH, CHROME_COMM, CHROME_PEER, CHROME_SOURCE, CHROME_ROOT, CHROME_TAG, CHROME_COUNT,
    CHROME_CALLS,
    CHROME_OBJECT, CHROME_OBJECT_NAME, CHROME_MUTEX, CHROME_CALLER, CHROME_HOLDER, CHROME_HOW, CHROME_ERROR,
    CHROME_UNFINISHED, CHROME_FD,
    CHROME_REGION, CHROME_THREADS, CHROME_WORK_NS, CHROME_PLACE, CHROME_WORKSHARING, CHROME_LINE,
    CHROME_ARG_NAME, CHROME_LABELS,
    CHROME_IGNORED,
    CHROME_PLACES
};
/* clang-format on */

typedef enum {
    CHROME_INT,       /* number: a whole number that fits int64 (or, for ts and dur, nanoseconds) */
    CHROME_REAL,      /* text: a number with a point or an exponent, or too large */
    CHROME_STRING,    /* text: between the quotes, escapes not resolved */
    CHROME_CONTAINER, /* text: an array or object, brackets included */
    CHROME_WORD,      /* text: true, false, null, and what sloppy writers leave: NaN, Infinity, N/A */
    CHROME_DOUBLE,    /* real: from formats that hold binary numbers; no text */
} chrome_type;

typedef struct {
    const char *p;
    uint32_t    n;
    uint8_t     type;  /* chrome_type */
    uint8_t     found; /* STRING_ESCAPES, STRING_CONTROLS */
    uint32_t    stamp; /* the value is present when this equals the event's stamp */
    union {
        int64_t number; /* CHROME_INT */
        double  real;   /* CHROME_DOUBLE */
    };
} chrome_value;

typedef struct {
    chrome_value at[CHROME_PLACES];
    uint32_t     stamp;
    uint32_t     duplicates; /* members that came twice; the last one counts */
    uint32_t     odd_words;  /* bare words that are not true, false or null */
    bool         too_deep;   /* the event nests deeper than the limit */
    /* numeric arguments that nobody lists, for counters: name and value, as many as fit */
    struct {
        hu_str key, value;
    } extra[8];
    uint32_t n_extra;
} chrome_event;

static inline bool chrome_has(const chrome_event *e, int place)
{
    return e->at[place].stamp == e->stamp;
}

/* One spelling: the text with its closing quote, padded so that a wide load stays inside. */
typedef struct {
    char    text[64];
    uint8_t n; /* closing quote included */
    uint8_t place;
    uint8_t is_arg;
} chrome_key;

enum { CHROME_KEY_SLOTS = 512, CHROME_CLASSES = 32, CHROME_MOST_KEYS = 160, CHROME_NO_KEY = 255 };

/* The keys that came next the last two times, the latest first. */
typedef uint8_t chrome_guess[2];

/*
 * What the scanner remembers between events.  `next` predicts, for each class of events and each key, the key that
 * follows; a prediction that holds costs one comparison instead of a search and a look-up.  Two are kept, because
 * optional arguments come and go.
 */
typedef struct {
    uint8_t      slots[2][CHROME_KEY_SLOTS]; /* [is_arg]: hash to index of a key */
    chrome_guess next[CHROME_CLASSES][CHROME_MOST_KEYS + 2];
    int64_t      nesting; /* limit */
    const char  *stop;    /* where a scan that failed gave up */
} chrome_scanner;

extern const chrome_key chrome_keys[];
extern const size_t     chrome_key_count;

/* At '{', with a look-ahead of 512 bytes or the end of the text: is the next thing a member that events have? */
bool chrome_is_event_start(const char *p);

void chrome_scanner_init(chrome_scanner *scanner, int64_t nesting);

/*
 * Reads the event whose opening brace is at p; `end` is the end of the text, behind which lie HU_INPUT_PAD zeros.
 * Returns behind its closing brace, or NULL: then scanner->stop == end says that the text ends before the event does,
 * and any other place says where it stops being an event.
 */
typedef const char *chrome_scan_event(chrome_scanner *scanner, const char *p, const char *end, chrome_event *out);

/* The variant for an instruction set; the plain one when this build has no such variant. */
chrome_scan_event *chrome_scan_for(hu_cpu cpu);

chrome_scan_event chrome_scan_event_scalar, chrome_scan_event_neon, chrome_scan_event_avx2, chrome_scan_event_avx512;

#endif
