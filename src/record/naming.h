/* SPDX-License-Identifier: Apache-2.0
 * naming.h - where the files of a session go: its template, the facts of the run and of each rank, and a free name. */
#ifndef HU_RECORD_NAMING_H
#define HU_RECORD_NAMING_H

#include "record/facts.h"
#include "record/to_pftrace.h"

/* All but the last three are the caller's. */
typedef struct {
    const hu_facts *facts;
    const char     *output;      /* template as the user gave it; NULL: the one of the facts */
    char *const    *environment; /* for %q */
    bool            forces;      /* replaces files that are there */
    bool            is_partial;  /* ".partial.pftrace", which is replaced each time: the run goes on */
    hu_arena       *arena;
    int32_t         number;        /* of the first file, which the others of the session share; 0: none yet */
    HU_VEC(const char *) partials; /* what earlier partial files of the same names were called */
} hu_naming;

/*
 * Before a run: HU_EUSAGE when its output is one name that is taken.  What a template makes, and a name that other ranks of
 * the same run take in the meantime, gets a number at the end instead.
 */
int hu_naming_refuse_taken(const hu_naming *naming, hu_error *err);

/*
 * The files of all ranks of a run as a pattern for a shell, "run-rank*.pftrace", or their folder where it is theirs.  False:
 * nothing in the names tells the ranks apart.
 */
bool hu_naming_of_all(const hu_naming *naming, char *out, size_t room);

/* For hu_pftrace_options: `context` is a hu_naming.  Makes the folders.  HU_EUSAGE, HU_EIO. */
int hu_naming_file(void *context, const hu_pftrace_file *file, char *out, size_t room, hu_error *err);

/* All is written: what was saved while the run went on is not needed any more. */
void hu_naming_remove_partials(const hu_naming *naming);

#endif
