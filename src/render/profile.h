/* SPDX-License-Identifier: Apache-2.0
 * profile.h - what a profile of stacks tells, whose clock it is by, and what it cannot tell: as text and as JSON. */
#ifndef HU_RENDER_PROFILE_H
#define HU_RENDER_PROFILE_H

#include "advise/say.h"
#include "base/json_out.h"
#include "trace/profile.h"

typedef struct {
    const char     *path;
    hu_profile_sums sums;
} hu_profile_file;

/* `top`: rows of each list, 0: 10. */
void hu_profile_text(const hu_profile_file *files, size_t n, size_t top, size_t width, hu_arena *scratch, hu_out *out);

/* docs/formats/profile.md names the members. */
void hu_profile_json(const hu_profile_file *files, size_t n, hu_arena *scratch, hu_out *out);

#endif
