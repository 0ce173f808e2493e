/* SPDX-License-Identifier: Apache-2.0
 * doctor_collectives.h - `holdup doctor --collectives`: its options, and its run. */
#ifndef HU_CLI_DOCTOR_COLLECTIVES_H
#define HU_CLI_DOCTOR_COLLECTIVES_H

#include "cli/command.h"

typedef struct {
    bool is_wanted;
    struct {
        int64_t from_bytes, to_bytes; /* 0: not given */
    } sizes;
    int64_t seconds, timeout_s; /* 0: not given */
} hu_doctor_collectives_options;

/* "1K-100M", "4M", into .sizes */
int hu_doctor_parse_sizes(void *field, const char *text, hu_error *err);

/* Joins the other ranks, measures, and prints on the first one.  Returns an exit status. */
int hu_doctor_collectives(const hu_cli_call *call, const hu_doctor_collectives_options *options, bool json);

#endif
