/* SPDX-License-Identifier: Apache-2.0
 * xid.h - errors that NVIDIA's driver reports by number (XID): what each is, whose fault, and what to do first.
 *
 * The one source of these facts: `holdup doctor` judges by them, docs/xid.md is made from them, and the rules of
 * packaging/prometheus name the same codes (tests/test_xid.py).  Facts: NVIDIA, "Analyzing Xid Errors with the Xid
 * Catalog", for A100 and later; words and severities are our own.
 */
#ifndef HU_GPU_XID_H
#define HU_GPU_XID_H

#include <stdbool.h>
#include <stddef.h>

/* What the error asks for. */
typedef enum {
    HU_XID_NOTE,        /* nothing, or it comes with another one that does */
    HU_XID_APPLICATION, /* look at the program: the GPU is most likely well */
    HU_XID_WARNING,     /* the job on it may be lost, or the GPU needs something when its jobs have ended */
    HU_XID_CRITICAL,    /* no job should start on this GPU before somebody did something */
} hu_xid_severity;

/* Whose fault it can be: bits, the likeliest is said first in `action`. */
enum { HU_XID_FAULT_PROGRAM = 1, HU_XID_FAULT_DRIVER = 2, HU_XID_FAULT_HARDWARE = 4 };

typedef struct {
    unsigned        code;
    const char     *name;
    hu_xid_severity severity;
    unsigned        fault;
    const char     *action;
} hu_xid;

enum { HU_XID_LAST = 172, HU_XID_BUS = 24 }; /* the last code of the catalog; room for an address */

extern const hu_xid hu_xids[]; /* by code */
extern const size_t hu_xids_n;

/* NULL: the catalog has no such code, or no GPU since A100 uses it. */
const hu_xid *hu_xid_find(unsigned long code);

/* "critical", "warning", "application", "note"; and "hardware or driver". */
const char *hu_xid_severity_word(hu_xid_severity severity);
const char *hu_xid_fault_words(unsigned fault);

/*
 * Of a text of the kernel's log: "NVRM: Xid (PCI:0000:3b:00): 79, ..." or, of old drivers, "NVRM: Xid (0000:3b:00):
 * 79, ...". False: it is none.  `bus` is in small letters, mostly without the function's number.
 */
bool hu_xid_of_text(const char *text, char bus[HU_XID_BUS], unsigned long *code);

#endif
