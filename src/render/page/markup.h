/* SPDX-License-Identifier: Apache-2.0
 * markup.h - texts of strangers inside of HTML and XML. */
#ifndef HU_RENDER_PAGE_MARKUP_H
#define HU_RENDER_PAGE_MARKUP_H

#include "base/out.h"

/* Escaped for content and for attributes in double quotes; control characters and bad UTF-8 become U+FFFD. */
void hu_markup_text(hu_out *out, hu_str s);

#endif
