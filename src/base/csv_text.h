/* SPDX-License-Identifier: Apache-2.0
 * csv_text.h - a text as a field of a CSV file. */
#ifndef HU_BASE_CSV_TEXT_H
#define HU_BASE_CSV_TEXT_H

#include "base/out.h"

/* In quotes where it needs them, as UTF-8 whatever it holds, and never a formula of a spreadsheet. */
void hu_csv_text(hu_out *out, hu_str s);

#endif
