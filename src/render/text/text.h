/* SPDX-License-Identifier: Apache-2.0
 * text.h - pieces of the report for terminals that several files write with.  For the files of this folder alone. */
#ifndef HU_RENDER_TEXT_TEXT_H
#define HU_RENDER_TEXT_TEXT_H

#include "render/report.h"

enum {
    HU_TEXT_SHORT = 8, /* rows of a table in the whole report */
    HU_TEXT_LONG = 30, /* rows of a table that was asked for */
};

typedef struct {
    const hu_report *r;
    hu_out          *out;
} hu_text_page;

void hu_text_spaces(hu_text_page *p, size_t n);

/* A code of ECMA-48, where the report has colours: "1" bold, "2" faint, "0" none. */
void hu_text_style(hu_text_page *p, const char *code);
void hu_text_heading(hu_text_page *p, const char *title);

/* Words within the width; every line but the first is set in, where the cursor stands already. */
void hu_text_hanging(hu_text_page *p, const char *text, size_t indent);
void hu_text_paragraph(hu_text_page *p, const char *text, size_t indent);

/* Within `width` columns; what is longer on the left is cut, on the right it is not. */
void hu_text_right(hu_text_page *p, const char *text, size_t width);
void hu_text_left(hu_text_page *p, hu_str text, size_t width);

/* "4,311 samples/s", where the user said what a step holds. */
void hu_text_throughput(hu_text_page *p, double step_ns);

/* A number as a column shows it, a count of more than `width` characters with a unit; `text` has room for HU_UNIT_BYTES. */
void hu_text_cell(hu_cell_type type, const hu_cell *cell, size_t width, char *text);

/* Is the column shown, of this digest and in this width? */
bool hu_text_shows(const hu_text_page *p, const hu_column *c, const hu_rank *rank);

/* Up to `most` rows, or as many as the user asked for. */
void hu_text_table(hu_text_page *p, const hu_table *t, const hu_rank *rank, size_t most);
void hu_text_rows(hu_text_page *p, const hu_table *t, const hu_rank *rank, const uint32_t *order, size_t n); /* these rows */
void hu_text_titled_table(hu_text_page *p, const char *title, const hu_table *t, const hu_rank *rank, size_t most);

void hu_text_view(hu_text_page *p, const hu_rank *rank);
void hu_text_where(hu_text_page *p, const hu_digest *d);
void hu_text_parallelism(hu_text_page *p, const hu_digest *d); /* nothing where nothing was recognised */
void hu_text_serving(hu_text_page *p, const hu_rank *rank);    /* nothing of other jobs */
void hu_text_gpus(hu_text_page *p, const hu_digest *d);        /* nothing where none were sampled */
void hu_text_energy(hu_text_page *p, const hu_digest *shown);  /* nothing where none was sampled */
void hu_text_ranks(hu_text_page *p);
void hu_text_comm(hu_text_page *p);

/* What was recorded beside the traces: why the job hangs, what does not fit, and all the rest.  Nothing without. */
void hu_text_hang(hu_text_page *p);
void hu_text_doubts(hu_text_page *p);
void hu_text_beside(hu_text_page *p);

void hu_text_health(hu_text_page *p, const hu_digest *d, bool whole);
void hu_text_why(hu_text_page *p, const hu_findings *f, size_t most); /* f: NULL where nobody asked */

#endif
