/* SPDX-License-Identifier: Apache-2.0
 * bar_lines.h - steps by the elapsed time of progress bars (tqdm, Keras). */
#ifndef HU_INGEST_BAR_LINES_H
#define HU_INGEST_BAR_LINES_H

#include "trace/step_log.h"

enum { HU_BARS = 32 };

/* Bars of one form, one behind the other: of the epochs of a run. */
typedef struct {
    uint64_t key;
    int64_t  total;
    int64_t  epoch;       /* of the bar that runs, from 0 on */
    int64_t  first;       /* number of a bar that goes on from a checkpoint; 0 */
    int64_t  n, taken;    /* its last number, and that up to which its steps are in `steps` */
    double   s, taken_s;  /* elapsed then */
    double   final_s;     /* seconds of a step over all of it, as it prints at its end; NaN */
    double   sum_s;       /* of all steps that were taken */
    bool     is_smoothed; /* a rate was no mean over all of it */
    uint64_t line;
    HU_VEC(hu_log_step) steps;
} hu_bar_series;

typedef struct {
    hu_bar_series at[HU_BARS];
    size_t        n;
    bool          is_any; /* a line of a bar was read */
} hu_bars_reader;

/* False: no memory. */
bool hu_bar_line(hu_bars_reader *r, hu_str line, uint64_t number, int64_t now_ns, hu_arena *arena);

/* At the end of a file: those of the bars that took longest, which are training's.  n is 0 without.  False: no memory. */
bool hu_bars_end(hu_bars_reader *r, hu_arena *arena, const hu_bar_series **out);

#endif
