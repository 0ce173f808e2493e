/* SPDX-License-Identifier: Apache-2.0
 * template.h - names of output files: nsys' letters, and those of a rank.
 *
 *     %h host   %p pid   %c command   %t start, UTC   %j job   %s its step   %r rank   %l local rank   %w world size
 *     %N node
 *     %n number that makes the name a new one   %q{NAME} environment   %q{NAME:-x} or x   %% percent
 *
 * Values are cut down to letters, digits, '.', '_' and '-'.  What is not known takes the separator before it along, so
 * that "holdup-%j-%c" without a job is "holdup-train".
 */
#ifndef HU_RECORD_TEMPLATE_H
#define HU_RECORD_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HU_TEMPLATE_BYTES = 1024 }; /* of a template and of a path */

typedef struct {
    const char  *host, *command;   /* command without its folder */
    const char  *job_id, *step_id; /* "" when there is none */
    int32_t      pid;
    int32_t      rank, local_rank, world_size, node; /* -1: not known */
    int64_t      started_s;                          /* since 1970 */
    int32_t      number;                             /* 1, or 2 ... when files of lower numbers are there already */
    bool         is_pattern;                         /* "*" for what differs between the ranks of a run */
    bool         numbers_folder;                     /* without %n a number goes to the last folder, not to the file */
    char *const *environment;                        /* NULL: variables are as if not set */
} hu_template_facts;

/*
 * The template to expand: `given` (NULL or "": the default) with a name where it is a folder (it ends with '/', or is
 * one), with the rank where there are ranks and it says nothing that tells them apart, and with ".pftrace".
 * HU_EUSAGE when it is too long.
 */
int hu_template_complete(const char *given, bool has_ranks, char *out, hu_error *err);

/* HU_EUSAGE: a letter that is none, a variable that is not set or whose value would lead to another folder. */
int hu_template_check(const char *text, char *const *environment, hu_error *err);

/* `out` has room for HU_TEMPLATE_BYTES. */
int hu_template_expand(const char *text, const hu_template_facts *facts, char *out, hu_error *err);

/* One file, always the same: no letters, and no folder. */
bool hu_template_is_one_name(const char *given);

/* As much of the folder of `text` as does not depend on anything: "." or "runs" of "runs/%j/rank%r". */
void hu_template_folder(const char *text, char *out);

#endif
