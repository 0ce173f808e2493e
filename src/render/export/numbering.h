/* SPDX-License-Identifier: Apache-2.0
 * numbering.h - one number for each process (or thread) where files call them alike, by text, or by 64 bits. */
#ifndef HU_RENDER_EXPORT_NUMBERING_H
#define HU_RENDER_EXPORT_NUMBERING_H

#include "base/map.h"

/*
 * An id keeps its number when that is 1 to 999,999,999 and nobody came with it before; else it gets the next free
 * number from 1,000,000,000 on, which no Linux system gives to a process, so that a reader sees that it is made up.
 */
typedef struct {
    hu_map   taken; /* numbers in use */
    hu_map   given; /* id of the file at hand -> its number */
    uint32_t made_up;
} hu_numbering;

enum { HU_NUMBERING_FIRST = 1000000000 };

/* False when there is no memory, as below. */
bool hu_numbering_init(hu_numbering *n, hu_arena *arena);

/* The ids that follow are of another file. */
bool hu_numbering_next_file(hu_numbering *n);

/* 0 when there is no memory. */
uint32_t hu_numbering_of(hu_numbering *n, int64_t id, bool is_text);

/* A number for something without an id. */
uint32_t hu_numbering_make_up(hu_numbering *n);

#endif
