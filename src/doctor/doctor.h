/* SPDX-License-Identifier: Apache-2.0
 * doctor.h - `holdup doctor`: checks of a node, and of a job's place on it, before it runs.
 *
 * A check is a row: what it asks, why that matters, and a function that looks and says what it found.  It changes nothing,
 * reads only through hu_doctor_* below, so that a captured tree (--root) can be looked at as a node can, and says "not
 * checked" with the reason where it cannot look: never "ok".
 */
#ifndef HU_DOCTOR_DOCTOR_H
#define HU_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Worse ones have higher numbers; NOT_CHECKED is none of them: it is counted apart. */
typedef enum {
    HU_VERDICT_NOT_CHECKED,
    HU_VERDICT_NONE, /* does not apply here: no GPU, no InfiniBand, not in a job; not shown but with --all */
    HU_VERDICT_OK,
    HU_VERDICT_NOTE,
    HU_VERDICT_WARNING,
    HU_VERDICT_FAILURE,
} hu_verdict_of_check;

/* When a check is asked: bits. */
enum {
    HU_CHECK_OF_NODE = 1 << 0, /* by default */
    HU_CHECK_OF_JOB = 1 << 1,  /* with --job: what this process would have, were it the job's */
    HU_CHECK_IN_PROLOG =
        1 << 2, /* also with --prolog: it takes milliseconds, and its failure means that no job should start */
};

typedef struct hu_doctor hu_doctor;

typedef struct hu_check {
    const char *id;    /* "cuda-driver": stable, for --json, --skip and the documentation */
    const char *title; /* "CUDA runtime and driver" */
    unsigned    when;
    const char *why; /* one sentence: what happens to a job if this is wrong */
    const char *fix; /* what to do about a warning or a failure, a command where there is one; a finding may say it closer */
    void (*look)(hu_doctor *d, const struct hu_check *check); /* says at least one thing */
} hu_check;

/* One table for each topic, in the order of the report; a table ends with a row without id. */
extern const hu_check hu_checks_driver[], hu_checks_gpu[], hu_checks_links[], hu_checks_processor[], hu_checks_memory[],
    hu_checks_storage[], hu_checks_network[], hu_checks_clock[], hu_checks_rights[], hu_checks_environment[],
    hu_checks_libraries[];

/*
 * What a look found.  `subject`: of several alike, which ("GPU 3", "mlx5_0 port 1"); NULL: the node.  The text is evidence: a
 * path or variable, and its value ("/proc/sys/kernel/numa_balancing is 1").  `fix`: closer than the check's; NULL: as that.
 */
__attribute__((format(printf, 6, 7))) void hu_doctor_say(hu_doctor *d, const hu_check *check, hu_verdict_of_check verdict,
                                                         const char *subject, const char *fix, const char *format, ...);

/* -- what a check reads ----------------------------------------------------------------------------------------------- */

/* How a look at a file went. */
typedef enum { HU_LOOK_OK, HU_LOOK_ABSENT, HU_LOOK_DENIED, HU_LOOK_BROKEN } hu_look;

/* A file below the root, up to 64 KiB of it, as a text of the arena without white space at its end. */
hu_look hu_doctor_read(hu_doctor *d, const char *path, const char **text);

/* The same of a number: the first one of the text. */
hu_look hu_doctor_read_number(hu_doctor *d, const char *path, int64_t *number);

/* Names in a folder below the root, sorted, without "." and ".."; at most 4,096. */
hu_look hu_doctor_list(hu_doctor *d, const char *path, const char *const **names, size_t *n);

/* Where a link below the root points. */
hu_look hu_doctor_link(hu_doctor *d, const char *path, const char **target);

/* A variable of the job's environment: of this process, or as it was captured; NULL: not set.  All: "NAME=VALUE", NULL ends. */
const char  *hu_doctor_variable(hu_doctor *d, const char *name);
char *const *hu_doctor_environment(hu_doctor *d);

/* Is this a captured tree?  Then what only a system call knows comes from its file "holdup/facts" (facts.h), or is not known. */
bool hu_doctor_is_capture(const hu_doctor *d);

hu_arena *hu_doctor_arena(hu_doctor *d);

#endif
