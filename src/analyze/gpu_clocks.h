/* SPDX-License-Identifier: Apache-2.0
 * gpu_clocks.h - what was sampled of the GPUs beside a recording: clocks and what lowered them, power, energy, memory.
 *
 * A value that the driver did not give is NaN, or -1 where it is whole; never 0.
 */
#ifndef HU_ANALYZE_GPU_CLOCKS_H
#define HU_ANALYZE_GPU_CLOCKS_H

#include "analyze/ask.h"
#include "analyze/energy_series.h"
#include "base/gpu_counters.h"

typedef struct {
    int64_t       number;                  /* as the driver has it (nvidia-smi) */
    int64_t       device;                  /* as CUDA has it, and the trace's GPU work; -1 not known */
    hu_str        name, uuid, bus, driver; /* "" not known */
    hu_str        limits;  /* what lowered its clock, the longest first, with shares of the busy time; "" nothing */
    hu_str        problem; /* why it stopped giving values; "" it did not */
    bool          is_ours; /* the job worked on it, or its processes were seen there; else it is one that the job may use */
    bool          is_mig;  /* divided among jobs */
    int64_t       others;  /* processes seen on it that are not the job's; -1 unknown */
    double        most_sm_mhz, most_memory_mhz, most_watts; /* highest clocks, power limit */
    double        seen_ns;                                  /* time for which there are samples */
    double        busy_ns;                                  /* of that, in which it worked; NaN unknown */
    bool          is_work;                         /* busy is where the trace has GPU work; else what the driver says */
    double        sm_mhz, watts;                   /* means: of the clock over the busy time, of power over all */
    double        joules, step_joules;             /* of the samples' time; of a mean step */
    double        memory_bytes, celsius;           /* the most */
    double        limited_ns;                      /* busy time in which its clock was lowered; NaN unknown */
    double        limited_mhz, limited_memory_mhz; /* mean clocks then */
    hu_energy_use use; /* what its energy went into; NaN where others work on it too, or its work is not known */
    double        reason_ns[HU_GPU_REASON_COUNT]; /* busy time of each reason, whether it lowers the clock or not */
    int64_t       xid_count, last_xid;            /* errors that the driver told of, at least; -1: none */
} hu_gpu_clock;

typedef struct {
    hu_gpu_clock *at; /* by number */
    size_t        n;
} hu_gpu_clocks;

/* Rows and texts live in the arena of `ask`.  Returns 0 or HU_ENOMEM. */
int hu_gpu_clocks_measure(const hu_ask *ask, hu_gpu_clocks *out, hu_error *err);

/* Adds the GPUs of another rank that are not there yet.  Texts are borrowed.  False when there is no memory. */
bool hu_gpu_clocks_merge(hu_gpu_clocks *into, const hu_gpu_clocks *from, hu_arena *arena);

/* Of all of them; NaN where one gives none, or there are none. */
double hu_gpu_clocks_joules(const hu_gpu_clocks *g);
double hu_gpu_clocks_step_joules(const hu_gpu_clocks *g);

/* "GPU 0", "GPU 0 (nvidia-smi 3)" where the driver has another number, "nvidia-smi GPU 3" where CUDA's is not known. */
enum { HU_GPU_NAME_BYTES = 80 };
void hu_gpu_clock_name(const hu_gpu_clock *c, char out[HU_GPU_NAME_BYTES]);

/* Share of its busy time in which its clock was lowered; NaN where that cannot be told. */
double hu_gpu_clock_limited(const hu_gpu_clock *c);

#endif
