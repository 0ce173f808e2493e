/* SPDX-License-Identifier: Apache-2.0
 * user_names.h - names of users by their numbers, asked for once each. */
#ifndef HU_MONITOR_JOBS_USER_NAMES_H
#define HU_MONITOR_JOBS_USER_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/jobs/job_owner.h"

enum { HU_USERS = 64 };

/* Answers; cleared before the first question. */
typedef struct {
    struct {
        int64_t uid;
        char    name[HU_OWNER_TEXT];
    } kept[HU_USERS];
    size_t n; /* answers so far; the oldest one makes room */
} hu_user_names;

/*
 * The name of a user, else the number as text.  A directory service may take its time: whoever asks must be able to wait.
 * `root` other than "": only ROOT/etc/passwd is asked.
 */
void hu_user_name(hu_user_names *names, const char *root, int64_t uid, char out[HU_OWNER_TEXT]);

#endif
