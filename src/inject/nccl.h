/* SPDX-License-Identifier: Apache-2.0
 * nccl.h - the NCCL door: between nccl.c, which records, and nccl_layouts.c, which knows where NCCL puts things. */
#ifndef HU_INJECT_NCCL_H
#define HU_INJECT_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/nccl_events.h"

enum { HU_NCCL_FIRST_VERSION = 1, HU_NCCL_LAST_VERSION = 6 };

/* How a value lies in a descriptor.  Numbers of version 1 that stand for words become the words of later versions. */
typedef enum {
    HU_NCCL_IN_U8,
    HU_NCCL_IN_I32,
    HU_NCCL_IN_U32,
    HU_NCCL_IN_U64,
    HU_NCCL_IN_TEXT,
    HU_NCCL_IN_FUNCTION8,
    HU_NCCL_IN_DATATYPE8,
    HU_NCCL_IN_ALGORITHM8,
    HU_NCCL_IN_PROTOCOL8,
} hu_nccl_form;

typedef struct {
    uint8_t  field; /* hu_nccl_field; HU_NCCL_NO_FIELD: the function, which names the record */
    uint8_t  form;
    uint16_t at;
} hu_nccl_place;

typedef struct {
    const hu_nccl_place *places;
    size_t               n;
} hu_nccl_layout;

/* Behind the head (type, parent, rank) of a descriptor; n 0: this version has no such event, or it says nothing more. */
hu_nccl_layout hu_nccl_layout_of(int version, hu_nccl_kind kind);

/* What comes with a change of state. */
hu_nccl_layout hu_nccl_state_layout(int version, int state);

/* Kinds that a version has, and the one by which a door that is closed learns that it was opened. */
uint32_t hu_nccl_kinds_of(int version);
uint32_t hu_nccl_sentinel_of(int version);

/* A value as it is recorded: texts by their id. */
uint64_t hu_nccl_value_at(const void *descriptor, const hu_nccl_place *place);

void hu_nccl_gate_changed(void);
void hu_nccl_forked(void); /* in the child */

#endif
