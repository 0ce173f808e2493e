/* SPDX-License-Identifier: Apache-2.0
 * text.c - styles, headings and words within the width of a terminal. */
#include "render/text/text.h"

#include "base/units.h"

void hu_text_spaces(hu_text_page *p, size_t n)
{
    while (n--)
        hu_out_write(p->out, " ", 1);
}

void hu_text_style(hu_text_page *p, const char *code)
{
    if (p->r->color)
        hu_out_printf(p->out, "\033[%sm", code);
}

void hu_text_heading(hu_text_page *p, const char *title)
{
    hu_text_style(p, "1");
    hu_out_text(p->out, title);
    hu_text_style(p, "0");
}

/* Words of a paragraph within the width; the cursor stands at `indent` already. */
void hu_text_hanging(hu_text_page *p, const char *text, size_t indent)
{
    hu_units_wrap(p->out, hu_str_of(text), indent, indent, p->r->width);
    hu_out_text(p->out, "\n");
}

void hu_text_paragraph(hu_text_page *p, const char *text, size_t indent)
{
    hu_text_spaces(p, indent);
    hu_text_hanging(p, text, indent);
}

void hu_text_right(hu_text_page *p, const char *text, size_t width)
{
    const size_t have = hu_units_width(hu_str_of(text));

    if (have < width)
        hu_text_spaces(p, width - have);
    hu_out_text(p->out, text);
}

void hu_text_left(hu_text_page *p, hu_str text, size_t width)
{
    const size_t have = hu_units_clip(p->out, text, width);

    hu_text_spaces(p, width - have);
}

/* "1,234 samples/s", where the batch size is known. */
void hu_text_throughput(hu_text_page *p, double step_ns)
{
    char text[HU_UNIT_BYTES];

    if (!p->r->batch || !(step_ns > 0))
        return;
    hu_units_count(text, (int64_t)((double)p->r->batch * 1e9 / step_ns + 0.5));
    hu_out_printf(p->out, "%s ", text);
    hu_units_clip(p->out, hu_str_of(p->r->unit), 24);
    hu_out_text(p->out, "/s");
}
