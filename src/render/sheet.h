/* SPDX-License-Identifier: Apache-2.0
 * sheet.h - reports of analyze/sheet.h as text, CSV and JSON. */
#ifndef HU_RENDER_SHEET_H
#define HU_RENDER_SHEET_H

#include "analyze/sheet.h"
#include "base/json_out.h"
#include "base/out.h"

/* A table of at most `most` rows (0: all); the last column is cut so that a line has `width` columns where the others leave
   room for 24.  0: nothing is cut. */
void hu_sheet_write_text(hu_out *out, const hu_sheet *sheet, size_t most, size_t width);
/* One heading and a line for each row, as `nsys stats --format csv`. */
void hu_sheet_write_csv(hu_out *out, const hu_sheet *sheet);
/* An array of objects, whose keys are the headings; empty cells are null. */
void hu_sheet_write_json_as(hu_json_out *j, const char *key, const hu_sheet *sheet);

#endif
