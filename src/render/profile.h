/* SPDX-License-Identifier: Apache-2.0
 * profile.h - what a profile of stacks tells, whose clock it is by, and what it cannot tell: as text and as JSON. */
#ifndef HU_RENDER_PROFILE_H
#define HU_RENDER_PROFILE_H

#include "advise/say.h"
#include "base/json_out.h"
#include "base/unread.h"
#include "job/inputs.h"
#include "trace/profile.h"

typedef struct {
    const char     *path;
    hu_profile_sums sums;
} hu_profile_file;

typedef struct {
    const hu_profile_file *files; /* that could be read */
    size_t                 n;
    const hu_unread_list  *unread;
    const hu_left         *left;  /* in no number */
    size_t                 top;   /* rows of each list of the text; 0: 10 */
    size_t                 width; /* of the text */
} hu_profile_report;

void hu_profile_text(const hu_profile_report *r, hu_arena *scratch, hu_out *out);

/* docs/formats/profile.md names the members. */
void hu_profile_json(const hu_profile_report *r, hu_arena *scratch, hu_out *out);

#endif
