/* SPDX-License-Identifier: Apache-2.0
 * columns.h - tables and their columns, each described once: how a cell reads, how it sorts, when it alarms. */
#ifndef HU_TOP_COLUMNS_H
#define HU_TOP_COLUMNS_H

#include "base/units.h"
#include "top/canvas.h"
#include "top/model.h"

enum { HU_TOP_CELL = 2 * HU_TOP_COMMAND };

typedef enum { HU_TOP_NODES, HU_TOP_GPUS, HU_TOP_JOBS, HU_TOP_RANKS, HU_TOP_PROCESSES, HU_TOP_TABLES } hu_top_table_id;

/* Where a column says something. */
typedef enum { HU_SHOWN, HU_SHOWN_FOR_NODES, HU_SHOWN_FOR_GPUS } hu_top_shown; /* always; several nodes; there is a GPU */

typedef struct {
    const char  *key; /* of --sort */
    const char  *heading;
    int          width;   /* characters; the last column that is shown on the left side takes what is over */
    bool         is_left; /* aligned there: words */
    hu_top_shown shown;
    char         letter; /* that sorts by it; '\0': none */
    int          rank;   /* where there is no room, columns of high ranks go first */
    void (*text)(const void *row, char out[HU_TOP_CELL]);
    double (*number)(const void *row);    /* to sort by; NULL: the text */
    hu_top_tone (*tone)(const void *row); /* NULL: the row's */
    const char *help;
} hu_top_column;

typedef struct {
    const char          *name, *title;
    const hu_top_column *columns; /* a key of NULL ends them */
    const char          *sort;    /* key of the column by which it is sorted at first; NULL: as the rows come */
    const char          *nothing; /* said where there is no row */
} hu_top_table;

extern const hu_top_table hu_top_tables[HU_TOP_TABLES];

/* Is the column shown for what there is? */
bool hu_top_column_is_shown(const hu_top_column *c, const hu_top_model *m);

/* The rows of a table: how many, and the one of a number. */
size_t      hu_top_rows_count(const hu_top_model *m, hu_top_table_id t);
const void *hu_top_row(const hu_top_model *m, hu_top_table_id t, size_t i);

/* Whose it is, "": nobody's or not known; the same for all tables. */
const char *hu_top_row_user(hu_top_table_id t, const void *row);

/* Words for cells and header, "–" for NAN.  Each at most HU_UNIT_BYTES. */
void hu_top_percent(char *out, double share, int decimals);
void hu_top_bytes(char *out, double bytes);      /* "73.2G", of 1024 */
void hu_top_rate(char *out, double per_s);       /* "1.2G", of 1000 */
void hu_top_duration(char *out, double seconds); /* "3:25", "4h12m", "12d03h" */
void hu_top_step(char *out, double seconds);     /* "312 ms" */

#endif
