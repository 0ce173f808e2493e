/* SPDX-License-Identifier: Apache-2.0
 * phases.h - forward, backward, optimizer: which part of a training step the host is in, and what it starts there. */
#ifndef HU_ANALYZE_PHASES_H
#define HU_ANALYZE_PHASES_H

#include "analyze/ask.h"

/* The first three are those of training, told in many ways; the next four only by holdup_annotate.h and its kin. */
/* clang-format off */
typedef enum {
    HU_PHASE_FORWARD, HU_PHASE_BACKWARD, HU_PHASE_OPTIMIZER,
    HU_PHASE_DATA, HU_PHASE_PREPROCESSING, HU_PHASE_TRANSFER, HU_PHASE_CHECKPOINT,
    HU_PHASE_OTHER, HU_PHASE_COUNT
} hu_phase;
/* clang-format on */

/* What told where a phase is, one bit each. */
enum {
    HU_PHASE_BY_AUTOGRAD = 1,  /* operators of the autograd engine; operators with its sequence numbers */
    HU_PHASE_BY_RANGE = 2,     /* ranges of the user or of a library: "## forward ##", "FSDP::pre_backward" */
    HU_PHASE_BY_OPTIMIZER = 4, /* "Optimizer.step#…" */
    HU_PHASE_BY_STACK = 8,     /* Python frames: nn.Module, Tensor.backward */
    HU_PHASE_BY_UPDATE = 16,   /* operators that only optimizers call: aten::_fused_adam_ */
};

typedef struct {
    int64_t  start_ns, end_ns;
    hu_phase phase;
} hu_phase_span;

/* A node of the autograd graph as it ran: numbers fall as backward goes from the last layer to the first. */
typedef struct {
    int64_t time_ns;
    int32_t sequence;
} hu_phase_node;

typedef struct hu_phase_spans {
    hu_phase_span *at; /* by start, apart from each other; what lies between them is HU_PHASE_OTHER */
    size_t         n;
    hu_phase_node *nodes; /* by time */
    size_t         n_nodes;
    unsigned       sources;      /* HU_PHASE_BY_* */
    bool           has_backward; /* without one nothing says that this is training */
    bool           has_launches; /* of the device's work some have their launch in the capture */
} hu_phase_spans;

/* Of the host's threads together; where ask->phases has them, these, else in its scratch arena.  Returns 0 or HU_ENOMEM. */
int hu_phase_spans_find(const hu_ask *ask, hu_phase_spans *out, hu_error *err);

/* The last span that begins at or before a time, or HU_NONE. */
uint32_t hu_phase_span_before(const hu_phase_spans *spans, int64_t time_ns);

static inline hu_phase hu_phase_at(const hu_phase_spans *spans, int64_t time_ns)
{
    const uint32_t i = hu_phase_span_before(spans, time_ns);

    return i != HU_NONE && time_ns < spans->at[i].end_ns ? spans->at[i].phase : HU_PHASE_OTHER;
}

/*
 * When the host started work of the device, in *time_ns: at its launch, else in its operator; where no launch is recorded,
 * as it runs.  False: others have a launch and this has none, because the queue was full before the capture began: what the
 * host does as it runs says nothing of it, and *time_ns is only when it ran.
 */
bool hu_phase_started(const hu_ask *ask, const hu_phase_spans *spans, uint32_t slice, int64_t *time_ns);

/* The phase that started work of the device; HU_PHASE_OTHER where that is not known. */
hu_phase hu_phase_of_work(const hu_ask *ask, const hu_phase_spans *spans, uint32_t slice);

/* "forward", "backward", "optimizer", "data", ... "other" */
const char *hu_phase_name(hu_phase phase);

#endif
