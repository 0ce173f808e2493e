/* SPDX-License-Identifier: Apache-2.0
 * steps.h - what one iteration of the job is, and how long it takes. */
#ifndef HU_ANALYZE_STEPS_H
#define HU_ANALYZE_STEPS_H

#include "base/error.h"
#include "base/interval.h"
#include "base/stats.h"
#include "trace/trace.h"

typedef enum {
    HU_STEPS_PROFILER,   /* ProfilerStep#N */
    HU_STEPS_ANNOTATION, /* another user annotation that recurs */
    HU_STEPS_STRUCTURE,  /* the device's (or the host's) work repeats with a period */
    HU_STEPS_NONE,       /* nothing recurs: the capture is taken as one piece */
} hu_step_source;

/* What a serving engine does in a step (engine.h); NONE of every other job. */
typedef enum { HU_PHASE_NONE, HU_PHASE_PREFILL, HU_PHASE_DECODE, HU_PHASE_MIXED, HU_ENGINE_PHASES } hu_engine_phase;

typedef struct {
    uint32_t name;                       /* string id; 0 for a step without a name */
    int64_t  number;                     /* N of ProfilerStep#N, else the index from 0 */
    int64_t  start_ns, end_ns;           /* see steps.c: device work belongs to the step that launched it */
    int64_t  host_start_ns, host_end_ns; /* as marked on the host */
    int64_t  n_device;                   /* device slices launched in it */

    hu_interval marks, ends; /* from its predecessor's end to its own: by host marks; by the later of mark and GPU work */
    hu_interval period;      /* the one of the two that counts (steady.h) */
    hu_interval work;        /* from the first start to the last end of the GPU work launched in it; empty without */

    uint8_t phase; /* hu_engine_phase */

    bool is_warm_up, is_incomplete; /* left out of the means, and said so */
    bool is_open;                   /* incomplete, because its mark ends before it, and no next one follows */
    bool is_first;                  /* the step before it is not in the trace, or a pause lies between */
    bool is_resumed;                /* behind a pause (pauses.h) */
} hu_step;

/*
 * How long a step takes: the period of the steady state, measured twice over the steps that count (steady.h).  NaN without
 * steps, and `by_ends_ns` without GPU work.
 */
typedef struct {
    double  by_marks_ns, by_ends_ns; /* from host mark to host mark; from the end of a step's GPU work to that of the next */
    int64_t backlog_ns;              /* how far the GPU is behind the host at the last mark */
    bool    is_by_marks;             /* the first of the two is the period; else the second */
} hu_steady;

typedef struct {
    hu_step_source source;
    double         confidence; /* 0..1; 1 for annotations the user made */
    hu_str         what;       /* the annotation's or anchor's name, borrowed from the trace */
    hu_step       *at;
    size_t         n;
    size_t         n_counted;   /* neither warm-up nor incomplete */
    bool           is_cut;      /* the file may end before the device work of these steps is complete: there are no shares */
    bool           is_selected; /* a range of steps was asked for */
    bool           is_engine;   /* a serving engine named them: they are steps, however few */
    bool           is_outlived; /* marks are there, and work without a GPU goes on long behind the last: they are no steps */
    bool           is_backlog;  /* the GPU ran only what was launched before these steps: nothing is known of their own */
    bool           is_unlinked; /* no GPU work says what launched it: it counts to the step in which it begins */
    size_t         n_pauses;    /* between these steps, and no part of any (pauses.h) */
    int64_t        pauses_ns;   /* from the end of a step to the next mark, in all */
    hu_str         pause; /* the range that takes most of them, borrowed from the trace; empty where none was recorded */
    int64_t        phase_n[HU_ENGINE_PHASES];  /* counted steps of each phase; all 0 unless an engine marked them */
    double         phase_ns[HU_ENGINE_PHASES]; /* and their mean period; 0 without */
    hu_steady      steady;
    hu_stats       duration; /* of the counted ones' periods, in ns */
} hu_steps;

/* Only steps first..last by their number are kept, when `is_limited`. */
typedef struct {
    bool    is_limited;
    int64_t first, last;
} hu_step_range;

/*
 * Fills *out, whose list lives in `arena`; `names` are the flags of hu_names_classify.  A trace without any slice gives
 * n = 0.  Returns 0, HU_ENOMEM, or HU_EUSAGE when the range holds no step.
 */
int hu_steps_measure(const hu_trace *trace, const uint8_t *names, const hu_step_range *range, hu_arena *arena,
                     hu_arena *scratch, hu_steps *out, hu_error *err);

static inline bool hu_step_counts(const hu_step *s)
{
    return !s->is_warm_up && !s->is_incomplete;
}

/* Is a range of this name what marks the steps: one of the numbered ones, "step 10", or the one that recurs? */
bool hu_steps_is_mark(const hu_steps *steps, hu_str name);

/* With is_cut: "any step", "any step but the warm-up" or "the selected steps", whose GPU operations may be missing. */
const char *hu_steps_cut_words(const hu_steps *steps);

/* Is it one of the numbered marks that are the steps: "step 10"? */
bool hu_steps_has_name(const hu_steps *steps, hu_str name);

/* "ProfilerStep", "annotation", "structure", "none" */
const char *hu_step_source_name(hu_step_source source);

#endif
