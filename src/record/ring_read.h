/* SPDX-License-Identifier: Apache-2.0
 * ring_read.h - what one process recorded: its ring file and its drain file, joined.
 *
 * Whatever is in the files is not trusted.  Blocks are joined by thread, sequence and place, so that nothing comes twice,
 * and what was torn when the process died is skipped and counted.  Memory: 24 bytes for each 16 KiB of records, the
 * texts, and one block.
 */
#ifndef HU_RECORD_RING_READ_H
#define HU_RECORD_RING_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "protocol/format.h"

typedef struct hu_ring_file hu_ring_file;

typedef struct {
    uint32_t thread, tid;
    uint32_t call;       /* hu_os_call + 1 that it is inside of; 0: none */
    uint64_t call_since; /* ticks */
    uint64_t object;     /* that it waits for; 0: none */
    uint64_t caller;     /* where it was called; 0: not known */
    uint32_t holder;     /* the number of the thread that had the lock; 0: not known */
    uint64_t n_slots;    /* records at most */
    size_t   first, n;   /* its blocks, in the order of the file's list */
} hu_ring_thread;

/* What is not in the records. */
typedef struct {
    uint64_t torn;      /* places where a record was begun and not completed */
    uint64_t odd;       /* records of no known type, or that belong to nothing */
    uint64_t gaps;      /* places of a block that are in neither file */
    uint64_t cut_bytes; /* behind the last whole piece of the drain file */
} hu_ring_damage;

/* One event: its record and the HU_RECORD_MOREs behind it.  Valid until the next call. */
typedef struct {
    const hu_record *record, *more;
    uint32_t         n_more;
} hu_ring_event;

typedef struct {
    hu_ring_file   *file;
    size_t          block, end; /* next, and behind the last, in the file's list */
    hu_block       *loaded;
    uint64_t        covered[(HU_BLOCK_RECORDS + 63) / 64];
    uint32_t        at, n;
    bool            is_open; /* of a process that lives: a zero is not there yet */
    hu_ring_damage *damage;  /* is counted into; NULL: not */
} hu_ring_cursor;

/*
 * Opens PATH.ring, and PATH.drain where there is one.  `is_live`: its process may still write.  The file is gone after
 * hu_ring_close, and so is all that it gave away.  HU_EFORMAT: no ring file, or one of another version.
 */
int  hu_ring_open(const char *ring_path, bool is_live, hu_ring_file **out, hu_error *err);
void hu_ring_close(hu_ring_file *file);

const hu_ring_head   *hu_ring_get_head(const hu_ring_file *file);
const hu_ring_thread *hu_ring_threads(const hu_ring_file *file, size_t *n); /* by number */

/* A text by id; "" for one that is not there.  Ids are below hu_ring_texts. */
hu_str   hu_ring_text(const hu_ring_file *file, uint32_t id);
uint32_t hu_ring_texts(const hu_ring_file *file);

/* What is known without reading records. */
uint64_t hu_ring_cut_bytes(const hu_ring_file *file);

/* The records of a thread, in the order in which it took them.  False: no more, or reading failed (hu_ring_status). */
void hu_ring_start(hu_ring_file *file, const hu_ring_thread *thread, hu_ring_damage *damage, hu_ring_cursor *out);
bool hu_ring_next(hu_ring_cursor *cursor, hu_ring_event *out);
int  hu_ring_status(const hu_ring_file *file, hu_error *err);

/* Ticks of the last event of any thread: from the last block of each.  0: there is none. */
uint64_t hu_ring_last_ticks(hu_ring_file *file);

/* Reads the head alone: which process it is.  Errors as above. */
int hu_ring_read_head(const char *ring_path, hu_ring_head *out, hu_error *err);

#endif
