/* SPDX-License-Identifier: Apache-2.0
 * wait_file.h - the file `waits` of a session: in which call threads were found waiting (wait_samples.h). */
#ifndef HU_RECORD_WAIT_FILE_H
#define HU_RECORD_WAIT_FILE_H

#include <stdint.h>

#define HU_WAIT_MAGIC 0x3153544941575548ull /* "HUWAITS1" */

typedef struct {
    uint64_t magic;
    uint32_t version, row_bytes;
} hu_wait_head;

typedef enum {
    HU_WAIT_ROW_SEEN = 1, /* a thread was found waiting */
    HU_WAIT_ROW_TEXT,     /* `text` is the number of a text of `object` bytes, which are the next rows */
    HU_WAIT_ROW_RUNTIME,  /* process `pid` schedules its own threads: `class` is a hu_wait_runtime */
} hu_wait_row_type;

typedef enum { HU_WAIT_RUNTIME_NONE, HU_WAIT_RUNTIME_GO } hu_wait_runtime;

/* Times are CLOCK_MONOTONIC. */
typedef struct {
    int64_t  first_ns, last_ns; /* it was seen in this wait, and did not run in between */
    int64_t  from_ns, to_ns;    /* halfway to the looks before and after */
    uint64_t object;            /* the address of a futex; 0 none */
    uint32_t pid, tid;
    uint32_t text; /* the file that it waits for; 0 none */
    uint16_t call; /* row of wait_calls.h */
    uint8_t  type; /* hu_wait_row_type */
    uint8_t class; /* hu_os_class */
    uint32_t unused[2];
} hu_wait_row;

_Static_assert(sizeof(hu_wait_row) == 64, "rows stay aligned");

#endif
