/* SPDX-License-Identifier: Apache-2.0
 * report.h - what every face draws: the digests of a run, the verdict, and which part is asked for. */
#ifndef HU_RENDER_REPORT_H
#define HU_RENDER_REPORT_H

#include "advise/verdict.h"
#include "base/out.h"
#include "render/columns.h"
#include "render/json_out.h"

typedef enum {
    HU_VIEW_ALL,            /* overview, then the tables in short       */
    HU_VIEW_OVERVIEW,
    HU_VIEW_OPS,
    HU_VIEW_KERNELS,
    HU_VIEW_COPIES,
    HU_VIEW_STEPS,
    HU_VIEW_HEALTH,
} hu_view;

typedef struct {
    hu_digest *const *digests;      /* by rank */
    size_t           n;
    hu_verdict       verdict;
    hu_arena        *scratch;       /* for the faces to work in                     */
    hu_view          view;
    int64_t          top;           /* rows of a table; 0: the face's own default   */
    const char      *sort;          /* a column's key, or NULL                      */
    bool             color;
    size_t           width;         /* of the terminal                              */
    const char      *arguments;     /* as the user typed them, for the "next" line  */
} hu_report;

/* The table of a view, or NULL for overview and health. */
const hu_table *hu_report_table(hu_view view);

void hu_text_write(const hu_report *report, hu_out *out);

/* docs/report.schema.json */
int hu_json_write(const hu_report *report, hu_out *out, hu_error *err);

/* The member "by_phase": events by the letter of their phase. */
void hu_json_phases(hu_json_out *j, const hu_quality *q);

/* One table with a heading; all ranks below each other, with a column `rank`. */
int hu_csv_write(const hu_report *report, hu_out *out, hu_error *err);

/* One offline page without scripts. */
int hu_html_write(const hu_report *report, hu_out *out, hu_error *err);

#endif
