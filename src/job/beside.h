/* SPDX-License-Identifier: Apache-2.0
 * beside.h - what was recorded of a run beside its traces: counters of single kernels, dumps of a hang, memory snapshots.
 *
 * Nothing in these files names the run.  What does not fit the traces is said (`doubts`), and never left out silently.
 */
#ifndef HU_JOB_BESIDE_H
#define HU_JOB_BESIDE_H

#include "across/flight.h"
#include "across/ras.h"
#include "advise/measured_findings.h"
#include "analyze/measured.h"
#include "analyze/nsys_sums.h"
#include "analyze/step_log.h"
#include "job/job.h"
#include "ingest/node_log.h"
#include "job/sorted.h"

/* Dumps of one run, by rank. */
typedef struct {
    hu_flight_dump *at; /* freed by hu_dumps_free; the list lives in the arena */
    size_t          n;
    hu_unread_list  unread;
} hu_dumps;

/*
 * Reads dumps.  What cannot be read is in out->unread, and an error only where nothing could be, or where two are of one
 * rank.  Returns 0 or the error; hu_dumps_free in any case.
 */
int  hu_dumps_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_dumps *out, hu_error *err);
void hu_dumps_free(hu_dumps *dumps);

/* Answers of RAS about one job, by time. */
typedef struct {
    hu_ras_status *at; /* freed by hu_ras_files_free; the list lives in the arena */
    size_t         n;
} hu_ras_files;

/*
 * What cannot be read is added to `unread`, or is an error where that is NULL.  Returns 0 or the error; hu_ras_files_free in
 * any case.
 */
int  hu_ras_files_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_ras_files *out,
                       hu_unread_list *unread, hu_error *err);
void hu_ras_files_free(hu_ras_files *files);

/* Adds the launches of all files to *out.  Returns 0 or the first error. */
int hu_counters_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_counters *out, hu_error *err);

/* How the steps of a log are those of the traces. */
typedef enum {
    HU_LOG_FIT_UNKNOWN, /* one of the two has no steps */
    HU_LOG_FIT_SAME,
    HU_LOG_FIT_PARTS,   /* a step of the log is a whole number of the traces': micro-batches */
    HU_LOG_FIT_LONGER,  /* steps of the traces are longer */
    HU_LOG_FIT_SHORTER, /* or shorter */
} hu_log_fit;

/* Where the traces lie in the time of a log. */
typedef enum {
    HU_LOG_CLOCK_NONE,   /* the log prints no time of day */
    HU_LOG_CLOCK_TRACES, /* the traces do not say when they were taken */
    HU_LOG_CLOCK_APART,  /* no step of the log was printed meanwhile */
    HU_LOG_CLOCK_FITS,
} hu_log_clock;

/* What a program printed. */
typedef struct {
    const char   *file;
    hu_step_log   log;
    hu_log_answer says;

    hu_log_fit   fit;
    double       trace_ns, ratio; /* the median step of the rank that the verdict speaks of; the log's over it; NaN */
    hu_log_clock clock;
    int64_t      first_step, last_step; /* that were printed in the time of the traces; HU_LOG_CLOCK_FITS */
    double       then_ns;               /* their median */
} hu_beside_log;

/* What nsys stats printed. */
typedef struct {
    const char    *file;
    hu_nsys_sums   sums;
    hu_nsys_answer says;
} hu_beside_sums;

/* Of the findings of one rank. */
typedef struct {
    size_t       rank; /* in hu_job.ranks */
    hu_revisions of;
} hu_revised_rank;

struct hu_beside {
    /* NULL before it was read */
    const hu_inputs *counter_files, *dump_files, *ras_files, *node_files, *log_files, *sums_files;

    size_t          *counter_ends; /* of each counter file: launches up to its end */
    hu_counters      counters;     /* no kernels: none given, or none could be read */
    hu_kernel_groups groups;       /* by shape alone; those held against the trace are in `measured` */
    hu_measured      measured;     /* of the rank that the verdict speaks of */
    hu_revised_rank *revised;      /* of each rank with findings; in the arena */
    size_t           n_revised;

    hu_dumps         dumps;
    hu_flight_answer flight; /* of dumps.n, where it is not 0 */
    bool             hangs;  /* and it is no answer that every call has ended */

    hu_ras_files  ras;
    hu_ras_answer ras_says;  /* of ras.n, where it is not 0 */
    bool          ras_hangs; /* and it is no answer that all is well, or that only one query saw ranks behind */

    hu_node_log node; /* what a monitor sampled; no samples: nothing was given, or could be read */

    hu_beside_log  *logs; /* in the arena */
    size_t          n_logs;
    hu_beside_sums *sums; /* in the arena */
    size_t          n_sums;

    hu_left left; /* files of directories that are not read */

    hu_unread_list doubts; /* files that do not fit the traces, or each other, and why */
};

/*
 * Reads what is beside the traces.  Files that cannot be read are added to `unread`; the others are read all the same.
 * Lists live in `arena`, dumps until hu_beside_free.  Returns 0 or HU_ENOMEM.
 */
int hu_beside_read(const hu_sorted_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                   hu_unread_list *unread, hu_error *err);

/* The parts of it.  Each file is a log by itself.  Return 0 or HU_ENOMEM. */
int hu_beside_logs_read(const hu_inputs *files, const hu_log_how *how, const hu_limits *limits, hu_arena *arena,
                        hu_beside *out, hu_unread_list *unread, hu_error *err);
int hu_beside_sums_read(const hu_inputs *files, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                        hu_unread_list *unread, hu_error *err);

/*
 * Holds it against the traces, when they are read: says what does not fit, and corrects findings that the counters
 * contradict. `shown`: the rank that the verdict will speak of.  Returns 0 or HU_ENOMEM.
 */
int hu_beside_join(hu_beside *beside, const hu_job *job, size_t shown, hu_arena *arena, hu_error *err);

/* Those of one kind, in the order of their names on the command line; of ranks none. */
const hu_inputs *hu_beside_files(const hu_beside *beside, hu_input_kind kind);

/* What became of the findings of one rank, by its place in hu_job.ranks; NULL: none is about kernels that were measured. */
const hu_revisions *hu_beside_revised(const hu_beside *beside, size_t rank);

/*
 * Do the dumps and RAS name the same ranks?  A sentence for people; "" where one of them accuses nobody, or where RAS
 * numbers its ranks in another group than the job's.  Returns its length.
 */
size_t hu_beside_say_agreement(const hu_beside *beside, char *text, size_t room);

/* A sentence for the verdict of a job whose kernels take the time; "" where there is nothing to add.  Returns its length. */
size_t hu_beside_say_kernels(const hu_beside *beside, char *text, size_t room);

/* Is a log of the same run as the traces, and where in it do they lie?  Sentences; "" of NCCL's lines alone. */
size_t hu_beside_say_log(const hu_beside_log *log, char *text, size_t room);

/*
 * For the verdict of a job that communication holds up: "NCCL sends over TCP sockets, although …"; "" where no log says so.
 * Returns its length.
 */
size_t hu_beside_say_transport(const hu_beside *beside, char *text, size_t room);

/* "The program ran out of GPU memory (train.log, line 812)."; "" where no log says so.  Returns its length. */
size_t hu_beside_say_oom(const hu_beside *beside, char *text, size_t room);

void hu_beside_free(hu_beside *beside);

#endif
