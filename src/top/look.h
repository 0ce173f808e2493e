/* SPDX-License-Identifier: Apache-2.0
 * look.h - what one node said at one moment: its GPUs, jobs, ranks, processes and itself.
 *
 * A look is filled with series by their names, whether they come from samplers of this process or as text from another
 * node.  What was not said is NAN or "", never 0.  All that another node says is hostile: it is cut, and has limits.
 */
#ifndef HU_TOP_LOOK_H
#define HU_TOP_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/live.h"

enum {
    HU_TOP_TEXT = 96,
    HU_TOP_WORD = 24,
    HU_TOP_COMMAND = 160,
    HU_TOP_KEYS_MOST = 12,
    HU_TOP_GPUS_MOST = 1024,
    HU_TOP_JOBS_MOST = 2048,
    HU_TOP_LINKS_MOST = 8192,
    HU_TOP_RANKS_MOST = 4096,
    HU_TOP_PROCESSES_MOST = 32768,
    HU_TOP_PROBLEMS_MOST = 8,
    HU_TOP_SHARES_MOST = 12,
};

typedef enum { HU_TOP_CPU, HU_TOP_MEMORY, HU_TOP_IO, HU_TOP_PRESSURES } hu_top_pressure;

/* Counters are totals; hu_top_rates makes shares and rates of two looks. */
typedef struct {
    double cpus, load1, cpu_busy_s, cpu_s;
    double memory_total, memory_available;
    double waiting_s[HU_TOP_PRESSURES];
    double received, sent; /* of networks, InfiniBand included */
    double read, written;  /* of disks */
    double boot_at;        /* Unix time */
} hu_top_host;

/* A GPU or a MIG device. */
typedef struct {
    char   uuid[HU_TOP_TEXT], gpu[HU_TOP_WORD], gi[HU_TOP_WORD], parent[HU_TOP_TEXT], model[HU_TOP_TEXT];
    double up, allocated;
    double busy, sm_active, memory_used, memory_total, power, power_limit, temperature, clock;
    char   limit[HU_TOP_TEXT]; /* what lowers the clock of work; several with commas */
    bool   has_reasons;
} hu_top_gpu;

/* The part of a job's step time that one cause takes. */
typedef struct {
    char   cause[HU_TOP_WORD];
    double share;
} hu_top_share;

typedef struct {
    char         scheduler[HU_TOP_WORD], id[HU_TOP_TEXT]; /* who it is; a pod's id is its uid */
    char         user[HU_TOP_TEXT], name[HU_TOP_TEXT];
    double       world, idle_s, ranks_sending, ranks_lost;
    double       energy_j, wasted_j, waited_j; /* totals of what it alone had */
    hu_top_share share[HU_TOP_SHARES_MOST];
    size_t       n_shares;
} hu_top_job;

/* A GPU that a job has. */
typedef struct {
    uint32_t gpu, job;
} hu_top_link;

/* A process of a job that tells of its steps; counters are totals since it began. */
typedef struct {
    uint32_t job;
    char     step_id[HU_TOP_WORD], rank[HU_TOP_WORD], pid[HU_TOP_WORD], name[HU_TOP_TEXT];
    double   world, up, step_number, last_step_at, samples, tokens;
    double   cause_s[HU_LIVE_CAUSE_COUNT];
    double   step_s, steps;
} hu_top_rank;

typedef struct {
    uint32_t pid, uid;
    uint64_t began; /* field 22 of its stat */
    char     state;
    uint32_t threads;
    double   cpu_s;
    double   cpu;                /* processors that it used since the last look; NAN: the first one */
    double   memory, gpu_memory; /* bytes */
    double   gpu_busy;
    char     gpus[HU_TOP_WORD];
    char     user[HU_TOP_WORD], command[HU_TOP_COMMAND];
} hu_top_process;

/* Why something is not known, and what to do about it. */
typedef struct {
    char source[HU_TOP_WORD], what[2 * HU_TOP_TEXT], fix[2 * HU_TOP_TEXT];
} hu_top_problem;

typedef struct {
    double          at_s; /* CLOCK_BOOTTIME of this program */
    hu_top_host     host;
    hu_top_gpu     *gpus;
    hu_top_job     *jobs;
    hu_top_link    *links;
    hu_top_rank    *ranks;
    hu_top_process *processes;
    hu_top_problem  problem[HU_TOP_PROBLEMS_MOST];
    size_t          n_gpus, n_jobs, n_links, n_ranks, n_processes, n_problems;
    size_t          gpus_room, jobs_room, links_room, ranks_room, processes_room;
    bool            has_processes; /* they were looked at */
    bool            is_cut;        /* a limit or memory ended something */
} hu_top_look;

/* All of it not known. */
void hu_top_host_clear(hu_top_host *h);

/* NULL: no memory. */
hu_top_look *hu_top_look_new(void);
void         hu_top_look_free(hu_top_look *l);

/* Series that a look takes, by number. */
size_t      hu_top_series_count(void);
const char *hu_top_series_name(size_t series);
const char *hu_top_series_keys(size_t series); /* comma between */

/* The series of that name; hu_top_series_count(): there is none. */
size_t hu_top_series_find(const char *name, size_t n);

/* One value; `labels` are those of the series' keys, in order, "" where there is none.  What is no number is left out. */
void hu_top_look_put(hu_top_look *l, size_t series, double value, const char *const *labels);

/* A cleared process at the end; NULL: there are too many. */
hu_top_process *hu_top_look_process(hu_top_look *l);

#endif
