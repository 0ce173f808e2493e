/* SPDX-License-Identifier: Apache-2.0
 * fitting.h - files beside the traces, held against them: for beside.c and its parts alone. */
#ifndef HU_JOB_FITTING_H
#define HU_JOB_FITTING_H

#include "advise/say.h"
#include "job/beside.h"

typedef struct {
    hu_beside    *b;
    const hu_job *job;
    hu_arena     *arena;
    hu_error     *err;
    int           rc;
} hu_fitting;

__attribute__((format(printf, 3, 4))) void hu_fit_doubt(hu_fitting *f, hu_str file, const char *format, ...);

/* From the first to the last step on the wall clock; false where there are none, or another clock. */
bool hu_fit_wall(const hu_job *job, int64_t *from, int64_t *to);

/* "117 days", "3 hours": how far apart two files are. */
hu_said hu_fit_say_apart(int64_t ns);

/* Against the rank that the verdict speaks of. */
void hu_fit_log(hu_fitting *f, hu_beside_log *log, const hu_digest *shown);

/*
 * What logs that fit say of what the findings of that rank are about becomes evidence of theirs; `of`: NULL where nobody
 * asked.
 */
void hu_fit_evidence(const hu_beside *b, hu_findings *of);

#endif
