/* SPDX-License-Identifier: Apache-2.0
 * execution.h - what an execution trace tells: which operators ran, how often, on what, and how deep they are nested. */
#ifndef HU_ANALYZE_EXECUTION_H
#define HU_ANALYZE_EXECUTION_H

#include "trace/execution.h"

/* All calls of one operator.  Texts live as long as the traces. */
typedef struct {
    hu_str  name;
    int64_t calls;
    int64_t outermost;     /* that no other operator called */
    int64_t with_shapes;   /* that say the shapes of their inputs */
    int64_t forms;         /* different shapes and types of inputs among those */
    int64_t dur_ns;        /* where a converter put durations in; 0 none */
    hu_str  shapes, types; /* the form of most calls; "" none is known */
    int64_t form_calls;
} hu_execution_row;

/* Of one file. */
typedef struct {
    const hu_execution *of;
    int64_t             operators, outermost, ranges, threads, depth, with_record;
} hu_execution_file;

typedef struct {
    hu_execution_file *files;
    size_t             n_files;
    hu_execution_row  *rows; /* most calls first, then by name */
    size_t             n_rows;
    int64_t            operators, outermost, ranges, with_shapes, depth;
    bool               has_durations, is_cut;
    int64_t            malformed;
} hu_execution_answer;

/* Lists live in `arena`.  False: no memory. */
bool hu_execution_measure(const hu_execution *files, size_t n, hu_arena *arena, hu_execution_answer *out);

#endif
