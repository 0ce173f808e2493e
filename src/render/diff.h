/* SPDX-License-Identifier: Apache-2.0
 * diff.h - the answer of `holdup diff`, as text and as JSON. */
#ifndef HU_RENDER_DIFF_H
#define HU_RENDER_DIFF_H

#include "base/out.h"
#include "job/difference.h"

typedef struct {
    const hu_difference *x;
    hu_str               name[2];         /* of A and B, as the user named them */
    hu_unread_list       unread, partial; /* inputs of both */
    size_t               n_read;
} hu_diff_report;

void hu_diff_text(const hu_diff_report *r, size_t width, hu_out *out);
void hu_diff_json(const hu_diff_report *r, hu_out *out);

#endif
