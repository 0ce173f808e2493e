/* SPDX-License-Identifier: Apache-2.0
 * scale.h - the answer of `holdup scale`: as text, as Markdown for a pull request, as JSON, as a chart, and as a page. */
#ifndef HU_RENDER_SCALE_H
#define HU_RENDER_SCALE_H

#include "across/scaling.h"
#include "base/out.h"
#include "base/unread.h"

/* What the caller knows of a run, by hu_scaling_run.id. */
typedef struct {
    hu_str name;            /* as the user named it */
    char   waited_for[200]; /* "rank 5 (host: waits for the data loader)"; "" nobody */
} hu_scale_run;

typedef struct {
    const hu_scaling   *scaling;
    const hu_scale_run *runs;

    hu_unread_list unread, partial; /* inputs of all runs */
    size_t         n_read;          /* that could be read */
} hu_scale_report;

/* "1 -> 8 GPUs: 6.1x (76 %). Of the 24 points lost: 11 waiting for rank 5 (...), ..." */
void hu_scale_sentence(const hu_scale_report *r, char *out, size_t room);

void hu_scale_text(const hu_scale_report *r, size_t width, hu_out *out);
void hu_scale_markdown(const hu_scale_report *r, hu_out *out);
void hu_scale_json(const hu_scale_report *r, hu_out *out);
void hu_scale_svg(const hu_scale_report *r, hu_out *out);
void hu_scale_chart(const hu_scale_report *r, hu_out *out); /* the same, in the colours of the page around it */
void hu_scale_html(const hu_scale_report *r, hu_out *out);

#endif
