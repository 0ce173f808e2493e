/* SPDX-License-Identifier: Apache-2.0
 * demo.h - what `--demo` shows where there is no GPU: scenarios of a node with eight, and who works on them.
 *
 * Only GPUs and jobs are made up (demo_model.c says how); the node is real.  The same metrics as of real ones come of it, so
 * that dashboards and rules can be tried anywhere.
 */
#ifndef HU_MONITOR_DEMO_DEMO_H
#define HU_MONITOR_DEMO_DEMO_H

#include "monitor/readings.h"

enum { HU_DEMO_GPUS = 8, HU_DEMO_OWNERS = 12, HU_DEMO_SLICES = 12, HU_DEMO_XIDS = 4, HU_DEMO_TEXT = 64 };

/* What a GPU is kept busy with. */
typedef enum {
    HU_DEMO_FREE,        /* nobody's */
    HU_DEMO_IDLE,        /* somebody's, and nothing runs */
    HU_DEMO_TRAINING,    /* steps: compute, all-reduce, a short wait for data; now and then a checkpoint */
    HU_DEMO_SERVING,     /* load that rises and falls */
    HU_DEMO_INPUT_BOUND, /* always a kernel, and none that fills the GPU */
    HU_DEMO_HANGING,     /* waits in a collective for a rank that is gone */
    HU_DEMO_SAVING,      /* writes a checkpoint that does not end */
    HU_DEMO_SLOWED,      /* trains, and soon after the demo began waits longer for data in each step */
} hu_demo_work;

/* What is wrong with it. */
typedef enum {
    HU_DEMO_SOUND,
    HU_DEMO_HOT,        /* hardware thermal slowdown */
    HU_DEMO_BRAKED,     /* the rack takes power away */
    HU_DEMO_CAPPED,     /* somebody left a limit of its clock */
    HU_DEMO_LOST,       /* fell off the bus */
    HU_DEMO_ECC,        /* an uncorrectable error; a row waits for a reset */
    HU_DEMO_ROW_FAILED, /* no spare row was left */
    HU_DEMO_DIED,       /* nothing of the GPU's: the process that used it was killed */
} hu_demo_fault;

/* Whom a GPU is allocated to; NULL: not known of this kind of scheduler. */
typedef struct {
    const char *scheduler, *job_id, *step_id, *user, *account, *partition, *job_name;
    const char *pod_uid, *k8s_namespace, *k8s_pod, *k8s_container;
    int         rank, world; /* of its first GPU on this node; world 0: none */
    double      idle_s;      /* for which each GPU was idle before the demo began */
} hu_demo_owner;

typedef struct {
    hu_demo_work  work;
    hu_demo_fault fault;
    int           owner; /* from 1; 0: nobody */
} hu_demo_gpu;

/* A MIG device. */
typedef struct {
    int          gpu, gi;
    const char  *profile;
    double       part; /* of the GPU's multiprocessors */
    double       memory_bytes;
    hu_demo_work work;
    int          owner;
} hu_demo_slice;

typedef struct {
    int      gpu;
    unsigned xid;
    double   ago_s; /* before the demo began */
} hu_demo_xid;

typedef struct {
    const char   *name, *words;
    hu_demo_gpu   gpu[HU_DEMO_GPUS];
    hu_demo_owner owner[HU_DEMO_OWNERS]; /* the first is number 1 */
    hu_demo_slice slice[HU_DEMO_SLICES]; /* profile NULL ends them */
    hu_demo_xid   xid[HU_DEMO_XIDS];     /* xid 0 ends them */
} hu_demo_scenario;

extern const hu_demo_scenario hu_demo_scenarios[];
extern const size_t           hu_demo_scenarios_count;

/* NULL: there is none of that name. */
const hu_demo_scenario *hu_demo_find(const char *name);

/* Is the GPU divided into slices? */
bool hu_demo_is_divided(const hu_demo_scenario *s, int gpu);

/* Unique names, always the same: of a GPU, or with slice >= 0 of that MIG device. */
void hu_demo_uuid(int gpu, int slice, char out[HU_DEMO_TEXT]);

/* Seconds of a step of training, at the full clock; a checkpoint is written now and then. */
#define HU_DEMO_COMPUTE_S          9.4
#define HU_DEMO_REDUCE_S           1.8
#define HU_DEMO_DATA_S             0.8
#define HU_DEMO_SLOW_DATA_S        4.2
#define HU_DEMO_SLOWED_AT_S        60.0 /* since the demo began */
#define HU_DEMO_CHECKPOINT_EVERY_S 600.0
#define HU_DEMO_CHECKPOINT_S       15.0

/* How much longer than at the full clock the slowest rank computes. */
double hu_demo_slowest(const hu_demo_scenario *s);

typedef struct {
    const char *key, *value;
} hu_demo_label;

/* hu_readings_put with the labels' values by their keys: those that the metric has are taken, others are not. */
void hu_demo_put(hu_readings *out, hu_metric m, double value, const hu_demo_label *labels, size_t n);

#endif
