/* SPDX-License-Identifier: Apache-2.0
 * markup.h - texts of strangers inside of HTML and XML. */
#ifndef HU_RENDER_PAGE_MARKUP_H
#define HU_RENDER_PAGE_MARKUP_H

#include "base/out.h"

/* Escaped for content and for attributes in double quotes; control characters and bad UTF-8 become U+FFFD. */
void hu_markup_text(hu_out *out, hu_str s);

/* The same of a sentence of ours, in which no line breaks between a number and its unit. */
void hu_markup_sentence(hu_out *out, hu_str s);

/* The same of markup of ours, at most 511 bytes, which is not escaped. */
__attribute__((format(printf, 2, 3))) void hu_markup_say(hu_out *out, const char *format, ...);

#endif
