/* SPDX-License-Identifier: Apache-2.0
 * report.h - what every face draws: a job, and which part of it is asked for. */
#ifndef HU_RENDER_REPORT_H
#define HU_RENDER_REPORT_H

#include "base/out.h"
#include "base/json_out.h"
#include "render/table/views.h"
#include "job/beside.h"
#include "job/job.h"

typedef enum {
    HU_SHOW_ALL, /* overview, then the tables in short */
    HU_SHOW_OVERVIEW,
    HU_SHOW_HEALTH,
    HU_SHOW_VIEW, /* report->part */
} hu_show;

typedef struct {
    const hu_job    *job;
    const hu_beside *beside;  /* what was recorded beside the traces; NULL: nothing */
    const hu_rank   *merged;  /* all of them as one, which views and tables then show; NULL: each rank by itself */
    hu_arena        *scratch; /* for the faces to work in */
    hu_show          show;
    hu_part          part; /* of HU_SHOW_VIEW, and what --csv prints */
    int64_t          top;  /* rows of a table; 0: the face's own default */
    const char      *sort; /* a column's key, or NULL */
    bool             color;
    size_t           width;     /* of the terminal */
    int64_t          batch;     /* samples in a step; 0 unknown */
    const char      *unit;      /* what they are */
    const char      *arguments; /* inputs that a shell takes back, for the "next" line; NULL: too many */
    bool             is_brief;  /* JSON for the page of very many ranks: of all but the verdict's a few rows only */
    unsigned         edition;   /* of a page that is served by a program, which it may ask for timelines; 0: it is a file */
} hu_report;

/* How many rows a table has, and what its getters are given: one rank, or where rows are ranks the first of the job. */
static inline size_t hu_report_rows(const hu_report *r, const hu_table *t, const hu_rank *rank)
{
    return t->is_job ? r->job->n : t->rows(rank);
}

static inline const hu_rank *hu_report_base(const hu_report *r, const hu_table *t, const hu_rank *rank)
{
    return t->is_job ? r->job->ranks : rank;
}

void hu_text_write(const hu_report *report, hu_out *out);

/* docs/report.schema.json */
int hu_json_write(const hu_report *report, hu_out *out, hu_error *err);

/*
 * The members "flight_recorder", "nccl_ras", "counters", "memory_snapshots", "logs", "sums", "not_read" and "doubts": what
 * was recorded beside the traces.
 */
int hu_json_beside(hu_json_out *j, const hu_report *report, hu_error *err);

/*
 * A hang without a trace: dumps and answers of RAS together.  Of the report only beside, scratch, top, color and width are
 * read.
 */
void hu_text_write_hang(const hu_report *report, hu_out *out);
int  hu_json_write_hang(const hu_report *report, const hu_unread_list *unread, hu_out *out, hu_error *err);

/* A view as a member, or members. */
int hu_json_view(hu_json_out *j, const hu_report *report, const hu_view *view, const hu_rank *rank, hu_error *err);

/* The member "by_phase": events by the letter of their phase. */
void hu_json_phases(hu_json_out *j, const hu_quality *q);

/* Members of "collectives"; of several ranks. */
void hu_json_mismatches(hu_json_out *j, const hu_report *r);
void hu_json_called(hu_json_out *j, const hu_report *r);
void hu_json_matching(hu_json_out *j, const hu_rendezvous *v);

/* The member "joint_replay". */
void hu_json_job(hu_json_out *j, const hu_report *r);

/*
 * One table with a heading; all ranks below each other, with a column `rank`.  Of a view with several tables the first;
 * of one with facts alone, and of the part "facts", a row for each fact.
 */
int hu_csv_write(const hu_report *report, hu_out *out, hu_error *err);

/* One offline page, whole without its script (docs/html-report.md). */
int hu_html_write(const hu_report *report, hu_out *out, hu_error *err);

#endif
