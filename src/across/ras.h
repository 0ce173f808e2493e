/* SPDX-License-Identifier: Apache-2.0
 * ras.h - why a job hangs, by what NCCL's RAS subsystem says of its communicators. */
#ifndef HU_ACROSS_RAS_H
#define HU_ACROSS_RAS_H

#include "trace/ras.h"

/* What stands out: id, word in JSON.  The worst first. */
#define HU_RAS_CAUSES(C)                                                              \
    C(DEAD, "dead")           /* processes cannot be reached any more */              \
    C(ERROR, "error")         /* ranks reported an error */                           \
    C(STATUS, "other-status") /* some ranks left a communicator, or do not know it */ \
    C(SILENT, "no-answer")    /* processes did not answer in time */                  \
    C(BEHIND, "behind")       /* ranks launched fewer operations than others */       \
    C(RUNS, "runs")           /* the same, but the counts went on between queries */  \
    C(NOTHING, "nothing")

typedef enum {
#define C(id, word) HU_RAS_CAUSE_##id,
    HU_RAS_CAUSES(C)
#undef C
        HU_RAS_CAUSE_COUNT
} hu_ras_cause;

typedef struct {
    hu_ras_cause         cause;
    const hu_ras_status *status;   /* the newest */
    const hu_ras_comm   *comm;     /* that it is about; NULL: the job, or none */
    const hu_ras_set    *odd;      /* who stands out; NULL: nobody */
    const hu_ras_set    *most;     /* BEHIND: who launched most; NULL: not told */
    size_t               n_comms;  /* in which ranks stand out for this cause */
    int64_t              apart_ns; /* between the first and the last query; 0: one */
    bool is_accused; /* `odd` is a minority that did not move between two queries, or that is no question of time */
} hu_ras_answer;

/* `status` by time, of one job; the answer points into the last of them. */
void hu_ras_measure(const hu_ras_status *status, size_t n, hu_ras_answer *out);

const char *hu_ras_cause_word(hu_ras_cause cause);

#endif
