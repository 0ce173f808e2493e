/* SPDX-License-Identifier: Apache-2.0
 * diagnosis.h - what all checks together found: run once by `holdup doctor`, read by its reports. */
#ifndef HU_DOCTOR_DIAGNOSIS_H
#define HU_DOCTOR_DIAGNOSIS_H

#include "base/error.h"
#include "base/out.h"
#include "doctor/doctor.h"

enum { HU_VERDICT_COUNT = HU_VERDICT_FAILURE + 1, HU_PROLOG_MS = 900 };

/* What a check read, as it read it: for a bundle that --root reads back.  Called in the process that looks. */
typedef enum { HU_SEEN_FILE, HU_SEEN_FOLDER, HU_SEEN_LINK, HU_SEEN_FACT, HU_SEEN_PATH } hu_seen;

typedef struct {
    /* `name`: a path, or the key of a fact; `bytes`: what is in it, of a folder its names with a newline behind each. */
    void (*saw)(void *context, hu_seen kind, const char *name, hu_look how, hu_str bytes);
    void *context;
} hu_witness;

/* What is asked for. */
typedef struct {
    const char        *root; /* of a captured tree; NULL: this machine */
    unsigned           when; /* HU_CHECK_*: checks that have one of these */
    const char *const *only; /* ids or topics; none: all */
    size_t             n_only;
    const char *const *skip;
    size_t             n_skip;
    const char *const *paths;
    size_t             n_paths;
    int                budget_ms; /* for all looks together; 0: none */
    hu_witness         witness;   /* saw may be NULL */
} hu_doctor_how;

/* One thing that a look said. */
typedef struct {
    hu_verdict_of_check verdict;
    const char         *subject; /* NULL: the node */
    const char         *fix;     /* never NULL; the check's, where the look had none */
    const char         *text;    /* evidence, or why it was not checked */
} hu_answer;

/* One check and all that it said: at least one answer. */
typedef struct {
    const hu_check     *check;
    const char         *topic;
    hu_verdict_of_check verdict; /* the worst; NOT_CHECKED is worse than OK here: part of it was not seen */
    HU_VEC(hu_answer) answers;
} hu_examined;

typedef struct {
    const char *key, *value;
} hu_node_value;

typedef struct {
    const char *host;                /* "" where a captured tree does not say */
    const char *time;                /* of the looks, in UTC, as 2026-11-24T02:15:00Z; "" as above */
    const char *scope;               /* "node", "job", "prolog" */
    const char *root;                /* NULL: this machine */
    HU_VEC(hu_examined) checks;      /* in the order of the report */
    HU_VEC(hu_node_value) values;    /* sorted by key */
    size_t counts[HU_VERDICT_COUNT]; /* of checks */
} hu_diagnosis;

/* A topic: the table of a file check_*.c. */
typedef struct {
    const char     *name;
    const hu_check *checks; /* ends with a row without id */
} hu_topic_of_checks;

extern const hu_topic_of_checks hu_doctor_topics[]; /* ends with one without a name */

/* Runs the checks that are asked for.  All texts live in `arena`.  Returns 0, HU_EIO (no such root) or HU_ENOMEM; a look
   that fails is an answer, not an error. */
int hu_diagnosis_make(const hu_doctor_how *how, hu_arena *arena, hu_diagnosis *out, hu_error *err);

/* Is there a check, or a topic, of that name? */
bool hu_doctor_has(const char *name);

/* "ok", "warning": as --json has it. */
const char *hu_verdict_name(hu_verdict_of_check verdict);

/* How a text for people is written. */
typedef struct {
    size_t width;
    bool   color, all, failures_only;
} hu_diagnosis_style;

void hu_diagnosis_write_text(const hu_diagnosis *d, const hu_diagnosis_style *style, hu_out *out);
void hu_diagnosis_write_json(const hu_diagnosis *d, hu_out *out);

/* --list: every check there is. */
void hu_checks_write_text(size_t width, hu_out *out);
void hu_checks_write_json(hu_out *out);

#endif
