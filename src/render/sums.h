/* SPDX-License-Identifier: Apache-2.0
 * sums.h - summaries under the column names that `nsys stats` prints. */
#ifndef HU_RENDER_SUMS_H
#define HU_RENDER_SUMS_H

#include "analyze/sums.h"
#include "base/json_out.h"
#include "base/out.h"

/* A table below its title and what it was asked for as; names are cut so that a line has `width` columns, where numbers
   leave room.  0: nothing is cut. */
void hu_sums_write_text(hu_out *out, const hu_sums_report *report, const char *asked, const hu_sums *sums, size_t width);
/* One heading and a line for each row, in ns or MB, as `nsys stats --format csv`. */
void hu_sums_write_csv(hu_out *out, const hu_sums_report *report, const hu_sums *sums);
/* A member of that key: an array of objects, whose keys are the headings. */
void hu_sums_write_json(hu_json_out *j, const char *key, const hu_sums_report *report, const hu_sums *sums);

#endif
