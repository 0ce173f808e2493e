/* SPDX-License-Identifier: Apache-2.0
 * wait_calls.h - the system calls in which threads wait, by their numbers on this machine.
 *
 * Names are those of the C library where it has the call (rt_sigsuspend is sigsuspend), so that what was seen from outside
 * and what was recorded inside are one row of every table.
 */
#ifndef HU_RECORD_WAIT_CALLS_H
#define HU_RECORD_WAIT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/os_calls.h"

enum { HU_WAIT_ARGUMENTS = 6 };

/* What the arguments of a call mean; see wait_calls.c. */
typedef enum {
    HU_WAIT_PLAIN,
    HU_WAIT_ON_FD,    /* the first argument is a descriptor, which says what is waited for */
    HU_WAIT_ON_FUTEX, /* the first is an address, the second tells waits from locks */
    HU_WAIT_IN_POLL,  /* on nothing, it sleeps: the number of descriptors is ... */
    HU_WAIT_IN_SELECT,
    HU_WAIT_IN_FCNTL, /* a lock, or nothing that waits */
} hu_wait_kind;

typedef struct {
    long        number;
    const char *name;
    uint8_t class; /* hu_os_class */
    uint8_t kind;  /* hu_wait_kind */
} hu_wait_call;

/* The row of a call of a 64-bit program; -1: none that is known to wait. */
int32_t hu_wait_call_find(long number);

/* NULL: there is no such row. */
const hu_wait_call *hu_wait_call_at(uint32_t row);

/* The class by the arguments, before a descriptor is looked at; HU_OS_CLASS_COUNT: it is not known to wait. */
hu_os_class hu_wait_call_class(const hu_wait_call *call, const uint64_t arguments[HU_WAIT_ARGUMENTS]);

/* Does a runtime that schedules its own threads (Go) park idle ones in it? */
bool hu_wait_call_parks(const hu_wait_call *call);

#endif
