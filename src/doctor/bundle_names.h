/* SPDX-License-Identifier: Apache-2.0
 * bundle_names.h - what a bundle does not say: names of people and machines, addresses, secrets, other variables. */
#ifndef HU_DOCTOR_BUNDLE_NAMES_H
#define HU_DOCTOR_BUNDLE_NAMES_H

#include "base/arena.h"

typedef struct {
    hu_str from, to;
} hu_alias;

/* Names, and what stands for them; none of both with --keep-names. */
typedef struct {
    bool keeps_names;
    HU_VEC(hu_alias) people, machines;
} hu_names;

/*
 * Learns them: machines from `host` and MASTER_ADDR, people from USER, LOGNAME, SUDO_USER and HOME; "root", and what every
 * machine has, is no name.  `environment` ends with NULL.  False: no memory.
 */
bool hu_names_learn(hu_names *names, hu_arena *arena, const char *host, const char *const *environment);

/* A text without secrets and names, in `arena`; p NULL: no memory.  `is_kernel`: of /sys, whose words are no people. */
hu_str hu_names_redact(const hu_names *names, hu_arena *arena, hu_str text, bool is_kernel);

/* The same of a path: parts that are a name. */
hu_str hu_names_redact_path(const hu_names *names, hu_arena *arena, hu_str path);

/* The same of a file below `path`, by what it holds. */
hu_str hu_names_redact_file(const hu_names *names, hu_arena *arena, const char *path, hu_str content);

/* The variables that checks ask for, one NAME=VALUE on a line. */
hu_str hu_names_redact_environment(const hu_names *names, hu_arena *arena, const char *const *environment);

#endif
