/* SPDX-License-Identifier: Apache-2.0
 * executions.h - execution traces beside the profiler's: the same operators, with the shapes that the other may lack. */
#ifndef HU_JOB_EXECUTIONS_H
#define HU_JOB_EXECUTIONS_H

#include "job/inputs.h"
#include "trace/builder.h"
#include "trace/execution.h"

/* What became of one of them. */
typedef struct {
    hu_str  file, trace; /* trace: it was joined to; "" to none */
    int64_t distance;    /* External id less rf_id */
    size_t  operators;   /* of it that have an rf_id */
    size_t  alike;       /* that the trace has, by id and name */
    size_t  filled;      /* operators of the trace that got their shapes from it */
} hu_execution_fit;

typedef struct hu_execution_files hu_execution_files; /* while the job is read */

enum { HU_EXECUTIONS_AMONG = 256 }; /* inputs; among more of them nobody looks for any */

/*
 * Execution traces are taken out of `inputs`, unless there is nothing else: *rest is what is left, *out NULL where there is
 * none.  One that cannot be read is in rest->unread.  Lists live in `arena`.  Returns 0 or HU_ENOMEM.
 */
int hu_executions_find(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_inputs *rest,
                       hu_execution_files **out, hu_error *err);

/* Joins those of this trace's process to it, before it is frozen.  Of several traces at once. */
void hu_executions_lay(hu_execution_files *files, hu_str trace, hu_builder *b);

/* What was joined, in the order of the inputs; what fits no trace is added to `unread`.  Returns 0 or HU_ENOMEM. */
int hu_executions_end(hu_execution_files *files, hu_arena *arena, hu_execution_fit **out, size_t *n, hu_unread_list *unread,
                      hu_error *err);

/* "5,335 of its 5,337 operators are in rank0.json (External id = rf_id + 2); the shapes of 4,975 are from it" */
size_t hu_execution_fit_say(const hu_execution_fit *fit, char *text, size_t room);

#endif
