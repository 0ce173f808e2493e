/* SPDX-License-Identifier: Apache-2.0
 * source.h - what is sampled: one row for each source, in sources.c.
 *
 * A source lives in a process of its own kind (hu_sampler), since a call into a driver that hangs, a read of /proc that
 * blocks or a socket that is silent must not hold up the others, least of all HTTP.
 */
#ifndef HU_MONITOR_SOURCE_H
#define HU_MONITOR_SOURCE_H

#include "base/error.h"
#include "monitor/gpu_board.h"
#include "monitor/readings.h"

/* Processes that sample. */
typedef enum { HU_SAMPLER_GPU, HU_SAMPLER_HOST, HU_SAMPLER_JOBS, HU_SAMPLER_LIVE, HU_SAMPLERS } hu_sampler;

/* What sources are told; all of it outlives them. */
typedef struct {
    const char   *root;       /* in front of /proc, /sys and /var: "" but in tests */
    const char   *library;    /* of NVML; NULL: the system's, and only where a driver is loaded */
    const char   *scenario;   /* of --demo; NULL: what is really there */
    const char   *dcgm;       /* where DCGM's host engine listens; NULL: it is not asked */
    const char   *kubelet;    /* socket of its pod-resources service; NULL: the usual place */
    const char   *job_socket; /* to which running jobs send; "off": none; NULL: the usual place */
    const char   *job_dir;    /* files by GPU that hold job ids, as dcgm-exporter reads them; NULL: the usual place */
    bool          no_users;   /* --no-user-labels: neither users nor job names */
    int64_t       period_ns;  /* of the fast group */
    int           medium_factor, slow_factor; /* periods between looks of these groups; 0: as below */
    hu_gpu_board *board;                      /* shared by all samplers; the gpu sampler writes it */
} hu_source_options;

typedef struct {
    const char *name;
    hu_sampler  sampler;
    /*
     * Prepares; *state is handed to the others.  False: there is nothing of its kind on this machine, and the source is
     * asked again once a minute; a reason that a user should know goes into `out` (hu_put_problem).
     */
    bool (*open)(const hu_source_options *options, void **state, hu_readings *out);
    /* One look.  False: what it samples has gone; the source is closed and opened again later. */
    bool (*sample)(void *state, hu_sample_group group, hu_readings *out);
    void (*close)(void *state);
} hu_source;

extern const hu_source *const hu_sources[]; /* NULL ends the list */
size_t                        hu_sources_count(void);

/* A demo shows its own GPUs and jobs, and the node that is really there. */
bool hu_source_is_asked(const hu_source *s, const hu_source_options *options);

/* Periods of the groups, for a fast one of 1 s; others scale with it. */
enum { HU_MEDIUM_FACTOR = 5, HU_SLOW_FACTOR = 30 };

/* Time between two looks at a group. */
int64_t hu_source_period_ns(const hu_source_options *options, hu_sample_group group);

#endif
