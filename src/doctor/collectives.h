/* SPDX-License-Identifier: Apache-2.0
 * collectives.h - how long the messages of a job take on the machines and links that it gets: `holdup doctor --collectives`.
 *
 * All ranks of one `mpirun` measure together.  A time is that of the slowest rank; a size S is what nccl-tests calls the
 * size (PERFORMANCE.md of NVIDIA/nccl-tests): the buffer of each rank in an all-reduce and an all-to-all, the whole
 * output of an all-gather, the whole input of a reduce-scatter.  Algorithm bandwidth is S / time; bus bandwidth is that
 * times 2(n-1)/n for all-reduce, (n-1)/n for the other three, 1 for messages between two ranks, whose time is half of a
 * round trip.
 */
#ifndef HU_DOCTOR_COLLECTIVES_H
#define HU_DOCTOR_COLLECTIVES_H

#include "analyze/comm.h"
#include "analyze/fit.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/out.h"
#include "job/mpi_module.h"

enum { HU_INTERVAL_SAMPLES = 6 /* fewer: low to high is no interval of 95 % */ };

enum { HU_SIZES_MOST = 32, HU_SERIES_MOST = 8, HU_PLACES_MOST = 16, HU_LINKS_OF_PLACE = 2 };

typedef struct {
    int64_t from_bytes, to_bytes;
    double  seconds;    /* in all; what would take longer is left out, and said */
    double  patience_s; /* a call that takes longer ends the job */
} hu_collectives_options;

/* One size of one kind.  Times are ns of one call. */
typedef struct {
    int64_t bytes;                      /* S: a little more than asked for where ranks share it */
    int64_t samples, calls;             /* a sample is the mean of so many calls in a row */
    double  median_ns, low_ns, high_ns; /* low to high: 95 % interval of the median, of few samples all; NaN: not measured */
    double  p95_ns;                     /* NaN of fewer than 20 samples */
    double *sample_ns;                  /* sorted */
    int64_t wrong_rank;                 /* that got a wrong result; -1: all were right */
    double  foreseen_s;                 /* not measured: what it would have taken */
    bool    lacks_memory;               /* not measured: for that reason */
} hu_timing;

/* All sizes of a collective, or of messages between two ranks; time = alpha + S f / beta. */
typedef struct {
    hu_comm_kind kind; /* HU_COMM_EXCHANGE between two */
    int          a, b; /* the two; -1 in a collective */
    const char  *role; /* of the two: "neighbours", "slowest pair", "fastest pair" */
    double       factor;
    hu_timing    at[HU_SIZES_MOST];
    size_t       n;
    hu_fit       fit;
    double       alpha_low, alpha_high; /* 95 % interval, of noise alone: samples drawn again; NaN without a fit */
    double       beta_low, beta_high;   /* bytes per ns of large sizes */
} hu_series;

/* The fastest link of a kind that a machine has, as its kernel says. */
typedef struct {
    char   name[40]; /* "mlx5_0 port 1"; "": none */
    double gbps;     /* 1e9 bits per second */
} hu_link_found;

/* What a rank says of itself; all ranks get those of all. */
typedef struct {
    char          host[64];
    char          machine[40]; /* boot id: ranks in two containers of one machine share it */
    int64_t       pid;
    uint64_t      cpus[16];                 /* that it may run on, a bit each */
    double        cpu_limit;                /* processors' time of its control group; 0: none */
    double        memory;                   /* bytes available on its machine */
    hu_link_found links[HU_LINKS_OF_PLACE]; /* InfiniBand or RoCE port; network interface */
} hu_rank_place;

/* Ranks on one machine. */
typedef struct {
    const char          *host;
    int                  first, n, cpus; /* rank; ranks; processors that they share */
    int                  second;         /* rank; -1: there is one only */
    bool                 is_crowded;     /* more ranks than processors */
    const hu_rank_place *place;          /* of its first rank */
} hu_machine;

/* Messages between two places. */
typedef struct {
    int    a, b;           /* ranks */
    double latency_ns, ns; /* half a round trip: smallest size; hu_collectives.pair_bytes.  NaN: not measured */
    bool   is_odd, is_wrong, is_tried_twice;
} hu_pair;

typedef struct {
    hu_collectives_options options;
    char                   library[128];
    int                    size;
    const hu_rank_place   *places;
    hu_machine            *machines;
    size_t                 n_machines;
    hu_series              series[HU_SERIES_MOST];
    size_t                 n_series;
    hu_pair               *pairs; /* each with each, or neighbours where there are more than HU_PLACES_MOST */
    size_t                 n_pairs;
    int64_t                pair_bytes, pair_latency_bytes;
    bool                   pairs_are_all, pairs_are_machines;
    int                    odd_rank; /* whose machine is slow in all of its pairs; -1: none */
    int    disturbed_rank;           /* waited for a processor, the most of all and too long for a judgement; -1: none */
    bool   is_judged;                /* were pairs compared with each other at all? */
    bool   is_crowded;               /* on any machine */
    double queued_share; /* of the time that a rank could run, what it waited for a processor; the worst; NaN unknown */
    const float *queued_shares; /* the same of each rank, in messages between pairs */
    double       took_s;
} hu_collectives;

/*
 * Called by all ranks.  *out is filled on rank 0, from `arena`.  Returns 0, HU_ENOMEM; on all other ranks the same or 0.  A
 * rank that hangs ends the job with an error (collectives_watch.c).
 */
int hu_collectives_run(const hu_mpi_module *mpi, int rank, int size, const hu_collectives_options *options, hu_arena *arena,
                       hu_collectives *out, hu_error *err);

/* Sizes from..to: 1, 3, 10, 30 ... times the first, and the last.  Returns how many, at most HU_SIZES_MOST. */
size_t hu_collectives_sizes(int64_t from, int64_t to, int64_t *out);

/* Order statistics of sorted samples: median, its 95 % interval (distribution-free: binomial), p95. */
void hu_timing_of(double *samples, size_t n, hu_timing *out);

/* Fills fit and intervals of a series.  False when there is no memory. */
bool hu_series_fit(hu_series *s, hu_arena *scratch);

/*
 * Which pairs or whose machine is slow: by times at one size, of pairs whose ends are different machines.  A machine is odd
 * when all of its pairs take 1.5 times the median of the others; a pair when it takes twice the median and no more than a
 * quarter of all do.  Nothing is judged of fewer than three machines.
 */
void hu_collectives_judge(hu_collectives *c);

/* Takes all of that back where a rank waited for a processor in 5 % of the time that it could run, or more. */
void hu_collectives_doubt(hu_collectives *c);

/* How many ranks share how many processors, per machine; sets is_crowded.  False when there is no memory. */
bool hu_collectives_group(hu_collectives *c, hu_arena *arena);

/* The fastest active port and interface below `root` ("" for this machine), into links[HU_LINKS_OF_PLACE]. */
void hu_collectives_links(const char *root, hu_link_found *links);

/* Is any result wrong? */
bool hu_collectives_wrong(const hu_collectives *c);

/* Does a line describe the times?  Not where they are the scheduler's, nor where they lie 15 % or more beside it. */
bool hu_series_has_line(const hu_collectives *c, const hu_series *s);

/* 1e9 bytes per second; NaN not measured. */
double hu_timing_alg_gbps(const hu_timing *t);

/* At most `width` columns, 80 or more. */
void hu_collectives_text(const hu_collectives *c, size_t width, hu_out *out);
void hu_collectives_json(const hu_collectives *c, hu_out *out);

#endif
