/* SPDX-License-Identifier: Apache-2.0
 * doctor.h - `holdup doctor`: checks of a node, and of a job's place on it, before it runs.
 *
 * A check is a row: what it asks, why that matters, and a function that looks and says what it found.  It changes nothing,
 * reads only through hu_doctor_* below and facts.h, so that a captured tree (--root) can be looked at as a node can, and
 * says "not checked" with the reason where it cannot look: never "ok".
 *
 * Looks run in a process of their own (looker.h), one after another: one that hangs or crashes is "not checked", and the
 * next one goes on in a new process.  So a look may block, and what it keeps in memory may be gone at the next look.
 */
#ifndef HU_DOCTOR_DOCTOR_H
#define HU_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

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
    int limit_ms; /* how long a look may take; 0: HU_LOOK_MS; --prolog gives all of them together one second */
} hu_check;

enum { HU_LOOK_MS = 5000 };

/* One table for each topic, in the order of the report; a table ends with a row without id. */
extern const hu_check hu_checks_driver[], hu_checks_gpu[], hu_checks_links[], hu_checks_processor[], hu_checks_memory[],
    hu_checks_storage[], hu_checks_network[], hu_checks_clock[], hu_checks_rights[], hu_checks_environment[],
    hu_checks_libraries[], hu_checks_values[];

/*
 * What a look found.  `subject`: of several alike, which ("GPU 3", "mlx5_0 port 1"); NULL: the node.  The text is evidence:
 * a path or variable, and its value ("/proc/sys/kernel/numa_balancing is 1"); of NOT_CHECKED the reason, in words that
 * several checks share ("no NVIDIA driver", "needs root: /proc/iomem").  `fix`: closer than the check's; NULL: as that.
 */
__attribute__((format(printf, 6, 7))) void hu_doctor_say(hu_doctor *d, const hu_check *check, hu_verdict_of_check verdict,
                                                         const char *subject, const char *fix, const char *format, ...);

/*
 * A value of the node for `--json` and for comparing nodes: "sysctl.vm.swappiness" is "10".  Only what should be the same on
 * nodes of the same kind: no load, no serial number.
 */
void hu_doctor_value(hu_doctor *d, const char *key, const char *value);

/* -- what a check reads ----------------------------------------------------------------------------------------------- */

/* How a look at a file went.  BROKEN: no regular file, a link that leads nowhere, an error of the disk. */
typedef enum { HU_LOOK_OK, HU_LOOK_ABSENT, HU_LOOK_DENIED, HU_LOOK_BROKEN } hu_look;

enum { HU_LOOK_BYTES = 4 << 20, HU_LOOK_NAMES = 4096 };

/* A file below the root, up to HU_LOOK_BYTES of it, as a text of the arena without white space at its end.  *text is ""
   where the look was not OK.  Of devices only /dev/kmsg is read: what it has now, without waiting. */
hu_look hu_doctor_read(hu_doctor *d, const char *path, const char **text);

/* The same of bytes that are no text. */
hu_look hu_doctor_read_bytes(hu_doctor *d, const char *path, hu_str *bytes);

/* The same of a number: the first one of the text, decimal, or hexadecimal after 0x.  BROKEN: there is none. */
hu_look hu_doctor_read_number(hu_doctor *d, const char *path, int64_t *number);

/* Names in a folder below the root, sorted (2 before 10), without "." and ".."; at most HU_LOOK_NAMES. */
hu_look hu_doctor_list(hu_doctor *d, const char *path, const char *const **names, size_t *n);

/* Where a link below the root points: its text, not resolved. */
hu_look hu_doctor_link(hu_doctor *d, const char *path, const char **target);

/* Is there such a path, whatever it is?  Links are followed. */
bool hu_doctor_exists(hu_doctor *d, const char *path);

/* A text of the arena, for paths; "" when there is no memory. */
__attribute__((format(printf, 2, 3))) const char *hu_doctor_format(hu_doctor *d, const char *format, ...);

/* A variable of the job's environment: of this process, or as it was captured (holdup/environment, a NAME=VALUE per line);
   NULL: not set.  All: "NAME=VALUE", NULL ends. */
const char        *hu_doctor_variable(hu_doctor *d, const char *name);
const char *const *hu_doctor_environment(hu_doctor *d);

/* False: a captured tree without variables.  Then a check of variables has nothing to look at, and none is not "ok". */
bool hu_doctor_has_environment(hu_doctor *d);

/* Is this a captured tree?  Then what only a system call knows comes from its file "holdup/facts" (facts.h), or is not
   known. */
bool hu_doctor_is_capture(const hu_doctor *d);

/* With --job?  Then this process is where the job would be. */
bool hu_doctor_is_job(const hu_doctor *d);

/* Folders that --path named: where data are read and results are written. */
const char *const *hu_doctor_paths(const hu_doctor *d, size_t *n);

hu_arena *hu_doctor_arena(hu_doctor *d);

#endif
