/* SPDX-License-Identifier: Apache-2.0
 * sheet.h - reports of `nsys stats` and rules of `nsys analyze` that list more than sums by name, of any trace.
 *
 * A sheet is rows of numbers and texts under Nsight Systems' headings.  Rows are small records; their cells are made one row
 * at a time, so that a list of millions of calls costs 16 bytes for each.
 */
#ifndef HU_ANALYZE_SHEET_H
#define HU_ANALYZE_SHEET_H

#include "analyze/naming.h"
#include "base/arena.h"
#include "trace/trace.h"

enum { HU_SHEET_COLUMNS = 32 };

typedef enum { HU_CELL_EMPTY, HU_CELL_INT, HU_CELL_REAL, HU_CELL_TEXT } hu_cell_type;

typedef struct {
    hu_cell_type type;
    int          decimals; /* of a real number */
    int64_t      number;
    double       real;
    hu_str       text;
    char         own[40]; /* room for a text that is made for the cell */
} hu_cell;

typedef struct hu_sheet hu_sheet;

typedef struct {
    const char        *key, *title;   /* "cuda_api_trace", "CUDA API Trace" */
    const char *const *columns;       /* headings; NULL ends the list */
    bool (*measure)(hu_sheet *sheet); /* fills rows and n; false: no memory */
    void (*fill)(const hu_sheet *sheet, size_t row, hu_cell *cells);
    const char *found, *none, *advice; /* of a rule: what the rows are, that there are none, what to do; NULL: a report */
    unsigned    takes;                 /* arguments of a report: bits of HU_NAMING_… */
} hu_sheet_report;

struct hu_sheet {
    const hu_sheet_report *report;
    hu_trace *const       *traces;
    size_t                 n_traces;
    hu_naming             *naming; /* NULL: of a rule */
    hu_arena              *arena;
    size_t                 most; /* rows of a report that has a limit; 0: no limit */
    void                  *rows; /* as its report keeps them */
    size_t                 n;
};

extern const hu_sheet_report hu_sheet_reports[]; /* of `nsys stats` */
extern const size_t          hu_sheet_n_reports;
extern const hu_sheet_report hu_sheet_rules[]; /* of `nsys analyze` */
extern const size_t          hu_sheet_n_rules;

/* NULL: there is none of that name. */
const hu_sheet_report *hu_sheet_find(const hu_sheet_report *reports, size_t n, hu_str key);

/*
 * Over all traces, which outlive the sheet, as `naming` does; rows live in `arena`; `most` of a report that has a limit, 0
 * all.  False: no memory.
 */
bool hu_sheet_measure(const hu_sheet_report *report, hu_trace *const *traces, size_t n, size_t most, hu_naming *naming,
                      hu_arena *arena, hu_sheet *out);

#endif
