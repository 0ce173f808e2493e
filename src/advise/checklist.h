/* SPDX-License-Identifier: Apache-2.0
 * checklist.h - what a healthy job looks like, as limits that a run passes or breaches: the gate of a CI. */
#ifndef HU_ADVISE_CHECKLIST_H
#define HU_ADVISE_CHECKLIST_H

#include "advise/findings.h"

/* id, name, unit, is it a least (or a most), default limit (NaN: only when it is asked for), does not meeting it fail the
   gate, what it is */
#define HU_CHECKLIST(L)                                                                                    \
    L(GPU_BUSY, "gpu-busy", "%", true, 80, true, "of a step the GPU is busy")                              \
    L(IDLE, "idle", "%", false, NAN, true, "of a step the GPU is idle")                                    \
    L(DATA, "data", "%", false, 10, true, "of a step is data loading")                                     \
    L(COMM, "comm", "%", false, 20, true, "of a step is exposed communication")                            \
    L(COPIES, "copies", "%", false, 5, true, "of a step is exposed copies")                                \
    L(HEADROOM, "memory-headroom", "%", true, 10, true, "of the GPU's memory is free at the peak")         \
    L(ALLOC, "alloc-calls", "", false, 0, true, "calls in the steps allocate or free device memory")       \
    L(RETRIES, "out-of-memory", "", false, 0, true, "allocations failed")                                  \
    L(PRECISION, "mixed-precision", "%", true, 50, false, "of matmul time is on tensor cores")             \
    L(OPTIMIZER, "fused-optimizer", "", true, 1, false, "the optimizer is fused or foreach (1 yes, 0 no)") \
    L(COMPILED, "compiled", "", true, 1, false, "compiled kernels or CUDA graphs run (1 yes, 0 no)")       \
    L(STEP, "step-ms", "ms", false, NAN, true, "is the mean step")                                         \
    L(GAIN, "gain", "%", false, NAN, true, "of a step one fix would save at most")

typedef enum {
#define L(id, name, unit, is_least, limit, fails, what) HU_LIMIT_##id,
    HU_CHECKLIST(L)
#undef L
        HU_LIMIT_COUNT
} hu_limit_id;

typedef enum { HU_LIMIT_PASS, HU_LIMIT_FAIL, HU_LIMIT_ADVICE, HU_LIMIT_UNKNOWN } hu_limit_state;

/* What the user sets; NaN: not asked.  Start from hu_checklist_defaults or hu_checklist_none. */
typedef struct {
    double least[HU_LIMIT_COUNT], most[HU_LIMIT_COUNT];
    bool   is_named[HU_LIMIT_COUNT];     /* by the user, so that it fails where it would only advise */
    bool   may_be_share[HU_LIMIT_COUNT]; /* a percentage between 0 and 1, written without its sign */
} hu_checklist;

typedef struct {
    hu_limit_id    id;
    bool           is_least;
    double         limit, value; /* NaN: cannot be told */
    hu_limit_state state;
    char           evidence[200]; /* of an unknown one: why it cannot be told; "" where that is plain */
} hu_checked;

typedef struct {
    hu_checked at[2 * HU_LIMIT_COUNT];
    size_t     n, failed, unknown;
    size_t     unknown_named; /* of the unknown: the user asked for them */
} hu_checklist_result;

void hu_checklist_defaults(hu_checklist *list);
void hu_checklist_none(hu_checklist *list);

/* Sets one limit from "idle=10%".  Returns 0, or HU_EUSAGE with the names there are. */
int hu_checklist_set(hu_checklist *list, bool is_least, const char *text, hu_error *err);

/* Over all ranks: the worst of them counts.  Entries of `all` are NULL where nobody asked for a rank's findings. */
void hu_checklist_measure(const hu_checklist *list, hu_digest *const *digests, hu_findings *const *all, size_t n,
                          hu_checklist_result *out);

const char *hu_limit_name(hu_limit_id id);
const char *hu_limit_unit(hu_limit_id id);
const char *hu_limit_what(hu_limit_id id);
bool        hu_limit_fails(hu_limit_id id); /* the gate, when it is breached and nobody named it; else it advises */
const char *hu_limit_state_name(hu_limit_state state); /* "pass", "fail", "advice", "unknown" */

#endif
