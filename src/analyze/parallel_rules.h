/* SPDX-License-Identifier: Apache-2.0
 * parallel_rules.h - from the counted calls of one process group to the parallelism it serves. */
#ifndef HU_ANALYZE_PARALLEL_RULES_H
#define HU_ANALYZE_PARALLEL_RULES_H

#include "analyze/parallelism.h"
#include "analyze/pattern.h"

/* What the trace says besides the calls. */
typedef struct {
    bool   is_training; /* a backward pass was seen */
    bool   has_host;    /* operators of the host were recorded */
    bool   names_fsdp, names_deepspeed, names_ddp, names_tensor, names_embeddings;
    bool   names_tables;  /* operators that look up embeddings in many tables at once; who exchanges them they do not say */
    bool   names_experts; /* kernels or ranges that send tokens to experts and back */
    bool   has_attention; /* kernels of attention are known */
    bool   attention_first; /* they run before the first all-to-all of a forward pass */
    double steps;           /* calls were taken from so many; 1 when none are known */
    double passes;          /* forward passes in them */
} hu_parallel_traits;

enum { HU_JUDGEMENT_REASONS = 6, HU_JUDGEMENT_BYTES = 160 };

typedef struct {
    hu_parallel_kind kind;
    hu_trust         trust;
    const char      *words;    /* closer than the kind's; NULL */
    bool             is_minor; /* too little to be spoken of */
    char             reasons[HU_JUDGEMENT_REASONS][HU_JUDGEMENT_BYTES];
    size_t           n_reasons;
} hu_judgement;

/* All-reduces, all-gathers, reduce-scatters, reduces and broadcasts. */
void hu_parallel_judge_reductions(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t,
                                  hu_judgement *out);

void hu_parallel_judge_all_to_all(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t,
                                  hu_judgement *out);

/* Does the group's recorded name speak for the kind?  1 yes, -1 it speaks for another, 0 it says nothing. */
int hu_parallel_name_speaks(const hu_traffic_group *g, hu_parallel_kind kind);

__attribute__((format(printf, 2, 3))) void hu_judgement_say(hu_judgement *j, const char *format, ...);

/* "24" or "23.5": a count over steps, for one of them. */
typedef struct {
    char t[24];
} hu_count_text;

hu_count_text hu_parallel_per(int64_t n, double steps);

#endif
