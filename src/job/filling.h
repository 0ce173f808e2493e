/* SPDX-License-Identifier: Apache-2.0
 * filling.h - a job while it is filled: read (one rank), exchange (processes), draw.  For those files alone. */
#ifndef HU_JOB_FILLING_H
#define HU_JOB_FILLING_H

#include "base/thread.h"
#include "job/job.h"

typedef struct {
    const hu_inputs      *inputs;
    const hu_job_options *options;
    hu_digest_options     digest;
    hu_input_options      input;
    int                   threads;
    hu_rank              *ranks;  /* one for each input, and an empty one */
    hu_str               *packed; /* of the same, for process 0; bytes live in timeline_arena */
    size_t               *mine;   /* inputs that this process reads; n_mine of them */
    size_t                n_mine;
    hu_execution_files   *executions; /* among what was named; NULL: none */
    size_t                shown;      /* whose findings the page shows */
    uint64_t              pictures;   /* of whose rules a step after the fix is drawn: bits of hu_rule */
} hu_filling;

static inline bool hu_filling_is_mine(const hu_filling *w, const hu_rank *r)
{
    return !w->inputs->reader || w->inputs->reader[r->file] == hu_crew_rank(w->options->crew);
}

/* Asks every question about one input; its answers are in ranks[i], or why there are none. */
void hu_rank_read(const hu_filling *w, size_t i);

/*
 * Timelines of the ranks [0, n) that a page of several shows: the one that the verdict speaks of, then the others in their
 * order as long as there is room.  Traces that were not kept are read once more.
 */
void hu_ranks_choose_drawn(hu_filling *w, size_t n);
void hu_ranks_draw(hu_filling *w, size_t n);

/* Findings whose step after the fix the rank's own replay can draw, when all ranks were compared: bits of hu_rule. */
uint64_t hu_pictures_of(const hu_findings *f);

/* The timeline of one rank.  A picture that fails is no reason to lose the report: the rank is then not drawn. */
void hu_rank_draw(const hu_filling *w, hu_rank *r, const hu_trace *trace, hu_simulation *simulation);

/*
 * Between the processes of a crew.  What cannot be sent or received ends all of them.  pack: what is known of ranks[i]
 * becomes bytes, and goes itself; send: all of a share; receive: what the others read, as if it had been read here; draw:
 * process 0 draws its own and lets the others draw theirs; draw_wished: the others, whatever process 0 wishes drawn.
 */
void hu_exchange_pack(const hu_filling *w, size_t i);
void hu_exchange_send(const hu_filling *w);
void hu_exchange_receive(const hu_filling *w);
void hu_exchange_draw(hu_filling *w, size_t n);
void hu_exchange_draw_wished(hu_filling *w);

/* A piece of results that cannot be made: process 0 cannot go on without it, and nobody without process 0. */
_Noreturn void hu_exchange_give_up(const hu_filling *w, hu_error *err);

#endif
