/* SPDX-License-Identifier: Apache-2.0
 * bundle.h - `holdup doctor --bundle`: what the checks of a node read, as a tree that --root reads back and gives the same
 * findings.
 *
 * The tree holds no variables but those that checks ask for, no secrets, and no names of people and machines unless they are
 * kept (bundle_names.h).  It is an archive where its name ends in .tar.gz or .tgz, else a folder.
 */
#ifndef HU_DOCTOR_BUNDLE_H
#define HU_DOCTOR_BUNDLE_H

#include "doctor/diagnosis.h"

/* The report of the node, in the bundle: what --compare reads of it. */
#define HU_BUNDLE_REPORT "holdup/doctor.json"

/* Of all files together; a file that passes it is left out and named in holdup/left_out. */
enum { HU_BUNDLE_BYTES = 16 << 20, HU_BUNDLE_FILES = 65536 };

typedef struct hu_bundle hu_bundle;

typedef struct {
    size_t   files;
    uint64_t bytes;    /* of them */
    size_t   left_out; /* for their size */
} hu_bundle_sums;

/*
 * Begins one at `path`, which must not exist; `root`: of the tree that is looked at, NULL: this machine.  Everything
 * lives in `arena`.  NULL: *err says why.
 */
hu_bundle *hu_bundle_open(const char *path, const char *root, bool keeps_names, hu_arena *arena, hu_error *err);

/* Who sees what is read: for hu_doctor_how. */
hu_witness hu_bundle_witness(hu_bundle *b);

/* Adds the report, and puts the bundle in its place.  Returns 0 or a negative code; nothing is left of one that failed. */
int hu_bundle_close(hu_bundle *b, const hu_diagnosis *d, hu_bundle_sums *sums, hu_error *err);

/* Removes what there is of it.  NULL is fine. */
void hu_bundle_abandon(hu_bundle *b);

#endif
