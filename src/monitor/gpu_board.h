/* SPDX-License-Identifier: Apache-2.0
 * gpu_board.h - what the samplers tell one another about GPUs, in memory that they share and that outlives each of them.
 *
 * One process writes, any may read; a sequence number makes a reader try again when it was written meanwhile.
 */
#ifndef HU_MONITOR_GPU_BOARD_H
#define HU_MONITOR_GPU_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/job_waits.h"
#include "monitor/jobs/job_ledger.h"

enum { HU_BOARD_GPUS = 128, HU_BOARD_PIDS = 128, HU_BOARD_TEXT = 96, HU_BOARD_XIDS = 256 };

typedef enum { HU_VENDOR_NVIDIA, HU_VENDOR_AMD, HU_VENDOR_INTEL, HU_VENDOR_OTHER } hu_gpu_vendor;

/* A GPU, or a device of a divided one. */
typedef struct {
    char          uuid[HU_BOARD_TEXT];   /* unique; where a driver has none, its PCI address */
    char          parent[HU_BOARD_TEXT]; /* of a MIG device: the uuid of its GPU; else "" */
    char          bus[32];               /* PCI address, lower case, "0000:3b:00.0" */
    int32_t       index;                 /* of the driver's tools */
    int32_t       minor;                 /* of its device node; -1 not known */
    int32_t       gi, ci;                /* of a MIG device; else -1 */
    hu_gpu_vendor vendor;
    bool          is_divided;  /* a GPU whose MIG devices are rows of their own */
    bool          needs_units; /* it answers, and its driver does not tell what its units do */
    double        busy;        /* share of the last fast period; less than 0: not known */
    double        joules;      /* of its energy counter, of the last medium look; 0: not known, or it is a part */
    uint32_t      n_pids;      /* processes that use it, in this PID namespace */
    uint32_t      pid[HU_BOARD_PIDS];
    double        pid_busy[HU_BOARD_PIDS];   /* of each process; less than 0: not known */
    double        pid_memory[HU_BOARD_PIDS]; /* bytes of the slow group's last look; less than 0: not known */
} hu_board_gpu;

typedef struct {
    uint32_t     n;
    int64_t      at_ns; /* CLOCK_BOOTTIME of the last fast look; 0: never */
    hu_board_gpu gpu[HU_BOARD_GPUS];
} hu_board_state;

/* Who tells of an error of a GPU. */
typedef enum { HU_XID_OF_DRIVER, HU_XID_OF_LOG, HU_XID_TELLERS } hu_xid_teller;

/* Counts of the gpu sampler that live longer than it. */
typedef struct {
    char     uuid[HU_BOARD_TEXT];
    uint64_t xid;
    uint64_t n[HU_XID_TELLERS]; /* both tell of the same errors, and each may miss some: the greater one counts */
    double   last;              /* Unix time when that grew */
} hu_board_xid;

typedef struct {
    _Atomic uint32_t sequence; /* odd while it is written */
    hu_board_state   state;
    uint32_t         n_xids; /* of the writer alone, as all that follows */
    hu_board_xid     xid[HU_BOARD_XIDS];
    uint64_t         log_next; /* record of the kernel log that was not read yet; 0: none was */
    hu_job_ledger    jobs;     /* of the jobs sampler alone */
    hu_job_waits     waits;    /* of the live sampler for the jobs sampler */
} hu_gpu_board;

/* Memory for one that children share, cleared; NULL: there is none. */
hu_gpu_board *hu_gpu_board_new(void);
void          hu_gpu_board_free(hu_gpu_board *b);

/* The time of now in the clock of at_ns. */
int64_t hu_gpu_board_now(void);

/* Replaces the state.  One process only. */
void hu_gpu_board_write(hu_gpu_board *b, const hu_board_state *state);

/*
 * Replaces the rows of one vendor and leaves the others, for a sampler that has a source for each; at_ns is of the whole
 * state.  Rows for which there is no room are left out.  One process only.
 */
void hu_gpu_board_write_vendor(hu_gpu_board *b, hu_gpu_vendor vendor, const hu_board_gpu *gpu, uint32_t n, int64_t at_ns);

/* A copy that nobody wrote to meanwhile.  False: the writer does not end (it was killed in the middle). */
bool hu_gpu_board_read(hu_gpu_board *b, hu_board_state *out);

#endif
