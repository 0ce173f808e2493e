/* SPDX-License-Identifier: Apache-2.0
 * page.h - pieces of the page that are shared by the files which write it.  For the files of this folder alone. */
#ifndef HU_RENDER_PAGE_PAGE_H
#define HU_RENDER_PAGE_PAGE_H

#include "advise/findings.h"
#include "render/page/markup.h"
#include "render/report.h"

/* Scripts and style as one text each, made of web/ when the program is built, and their hashes for the page's policy. */
extern const char hu_page_style[], hu_page_script[], hu_page_style_hash[], hu_page_script_hash[];

/* What every section says of one rank, the one that the verdict speaks of. */
typedef struct {
    const hu_report *r;
    const hu_rank   *rank;
    const hu_digest *d; /* of it */
    hu_out          *out;
} hu_page;

enum { HU_PAGE_WHOLE_RANKS = 32 }; /* of more ranks the page holds a few rows each, but for the one it shows */

/*
 * A piece of a bar: its class in the style says its colour and pattern.  It leads to a section; with the script to the
 * place that proves it, "/timeline?proof=idle", of the rank that is shown; NULL: to the section.
 */
typedef struct {
    const char *class;
    const char *label;
    double      ns;
    const char *section, *to;
} hu_page_share;

/* Opens a link to a section, "steps", which the script turns into one to `to` of the rank that is shown; NULL: neither. */
void hu_page_open_link(hu_page *p, const char *section, const char *to, const char *more);

/* One bar that is as long as the whole, and its pieces with numbers in a table below. */
void hu_page_shares(hu_page *p, const char *title, const hu_page_share *shares, size_t n, double whole_ns);

/* Up to `most` rows; says how many there are besides. */
int hu_page_table(hu_page *p, const hu_table *table, const char *word, size_t most, hu_error *err);

/* The same for the first screen: at most four columns, and names that lead to their rows in `section`. */
int hu_page_short_table(hu_page *p, const hu_table *table, const char *word, const char *section, size_t most,
                        hu_error *err);

/* Of whom a section speaks: "rank 3 on node0"; nothing where there is one rank. */
typedef enum {
    HU_PAGE_OF_RANK,
    HU_PAGE_OF_JOB,
    HU_PAGE_VERDICT,  /* the whole job, with the numbers of a rank */
    HU_PAGE_EVIDENCE, /* the whole job, with the evidence of a rank */
} hu_page_whom;
void        hu_page_scope(hu_page *p, hu_page_whom whom);
void        hu_page_rank_name(hu_page *p);
void        hu_page_of_rank(hu_page *p, const char *before); /* ", rank 3" behind the name of a number */
const char *hu_page_why_shown(const hu_page *p);             /* ", which has the longest steps" */

/* A number as a person reads it. */
void hu_page_number(hu_out *out, hu_cell_type type, double number);

/* The same in a sentence, with the sign `before` it: no line breaks inside. */
void hu_page_quantity(hu_out *out, const char *before, hu_cell_type type, double number);

/* How far something can be trusted, and what that means. */
void hu_page_badge(hu_page *p, hu_confidence c);

int  hu_page_overview(hu_page *p, hu_error *err);
void hu_page_findings(hu_page *p);
void hu_page_health(hu_page *p);

/* Which inputs are not in the numbers, and which are not whole; nothing when all are. */
void hu_page_unread(hu_out *out, const hu_unread_list *unread, const hu_unread_list *partial, size_t n_read);

/* What was recorded beside the traces: is there anything; the hang and what does not fit; a section of all. */
bool hu_page_has_beside(const hu_page *p);
void hu_page_doubts(hu_page *p);
int  hu_page_beside(hu_page *p, hu_error *err);

/* Is there more than one trace to compare; that the traces are of several runs, if so; what each says of itself. */
bool hu_page_has_compare(const hu_page *p);
void hu_page_compare_link(hu_page *p);
void hu_page_compare(hu_page *p);

void hu_page_strip(hu_page *p);               /* every rank, the one that others wait for first; nothing when there is one */
void hu_page_job(hu_page *p);                 /* nothing when there is one rank alone */
int  hu_page_data(hu_page *p, hu_error *err); /* what the script reads: tables and timelines */

#endif
