/* SPDX-License-Identifier: Apache-2.0
 * sheet_parts.h - what the reports of sheet.h share: rows that are slices, and cells. */
#ifndef HU_ANALYZE_SHEET_PARTS_H
#define HU_ANALYZE_SHEET_PARTS_H

#include "analyze/sheet.h"
#include "base/intern.h"
#include "base/stats.h"

/* A slice of one of the traces. */
typedef struct {
    int64_t  start_ns;
    uint32_t trace, slice;
} hu_sheet_slice;

static inline hu_cell hu_cell_int(int64_t number)
{
    return (hu_cell){.type = HU_CELL_INT, .number = number};
}

static inline hu_cell hu_cell_real(double real, int decimals)
{
    return (hu_cell){.type = HU_CELL_REAL, .real = real, .decimals = decimals};
}

/* Nothing where the text is empty. */
static inline hu_cell hu_cell_text(hu_str text)
{
    return (hu_cell){.type = text.n ? HU_CELL_TEXT : HU_CELL_EMPTY, .text = text};
}

/* A number that is `absent` is an empty cell. */
static inline hu_cell hu_cell_unless(int64_t number, int64_t absent)
{
    return number == absent ? (hu_cell){0} : hu_cell_int(number);
}

/* All slices of these kinds that `takes` does not refuse, by start; NULL takes all.  False: no memory. */
bool hu_sheet_slices(hu_sheet *sheet, unsigned kinds, bool (*takes)(const hu_trace *t, const hu_slices *s, uint32_t slice));

/* Process and thread of a track; what the recorder calls by a name is that name. */
hu_cell hu_sheet_pid(const hu_trace *t, const hu_track *track);
hu_cell hu_sheet_tid(const hu_trace *t, const hu_track *track);

/* From and to of "Memcpy HtoD (Pageable -> Device)"; a fill has only the first. */
void hu_sheet_memory(hu_str name, hu_str *from, hu_str *to);

/* "  20   32    1" in the cell itself; nothing where all are 0. */
void hu_cell_three(hu_cell *cell, int64_t x, int64_t y, int64_t z);

/* Rows by what has to be equal in them: names as numbers, and numbers as rows, counted from 0 as they come. */
typedef struct {
    hu_intern names, rows;
} hu_sheet_groups;

bool    hu_sheet_groups_init(hu_sheet_groups *groups, hu_arena *arena);
int64_t hu_sheet_name(hu_sheet_groups *groups, hu_str name); /* -1: no memory */
/* The row of these numbers; -1: no memory. */
int64_t hu_sheet_row(hu_sheet_groups *groups, const int64_t *key, size_t n);

/* Mean, median, least, most and deviation, as five cells; all empty where nothing was counted. */
void hu_sheet_stats(const hu_stats *stats, hu_cell *cells);

bool hu_sheet_api_measure(hu_sheet *sheet);
void hu_sheet_api_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_gpu_measure(hu_sheet *sheet);
void hu_sheet_gpu_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_mpi_measure(hu_sheet *sheet);
void hu_sheet_mpi_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_launch_measure(hu_sheet *sheet);
void hu_sheet_launch_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_launches_measure(hu_sheet *sheet);
void hu_sheet_launches_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_geometry_measure(hu_sheet *sheet);
void hu_sheet_geometry_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_projected_measure(hu_sheet *sheet);
void hu_sheet_projected_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_projections_measure(hu_sheet *sheet);
void hu_sheet_projections_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_range_kernels_measure(hu_sheet *sheet);
void hu_sheet_range_kernels_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_managed_measure(hu_sheet *sheet);
void hu_sheet_managed_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_managed_total_measure(hu_sheet *sheet);
void hu_sheet_managed_total_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_faults_measure(hu_sheet *sheet);
void hu_sheet_faults_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);
bool hu_sheet_ranges_measure(hu_sheet *sheet);
void hu_sheet_ranges_fill(const hu_sheet *sheet, size_t row, hu_cell *cells);

#endif
