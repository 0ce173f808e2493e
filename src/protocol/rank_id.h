/* SPDX-License-Identifier: Apache-2.0
 * rank_id.h - which process of which job this is, from the variables that launchers set.
 *
 * A pure function of an environment: the program asks for its own, the recorder inside of a job for the job's.  It
 * includes nothing of ours, allocates nothing and takes no lock, so that both can compile it.
 */
#ifndef HU_PROTOCOL_RANK_ID_H
#define HU_PROTOCOL_RANK_ID_H

#include <stdint.h>

enum { HU_RANK_ID_UNKNOWN = -1, HU_RANK_ID_SOURCE_BYTES = 40, HU_RANK_ID_JOB_BYTES = 64, HU_RANK_ID_STEP_BYTES = 16 };

/* All numbers are 0 or more, or HU_RANK_ID_UNKNOWN. */
typedef struct {
    int32_t rank, local_rank, world_size, local_size;
    int32_t node, nodes;                     /* which machine of how many */
    int32_t restart;                         /* how often an elastic launcher has started the job again */
    char    source[HU_RANK_ID_SOURCE_BYTES]; /* "Open MPI: OMPI_COMM_WORLD_RANK"; "" when there is no rank */
    char    job_id[HU_RANK_ID_JOB_BYTES];    /* of the scheduler, else of the launcher; as it was written; "" */
    char    step_id[HU_RANK_ID_STEP_BYTES];  /* which of the job's steps (srun) it is; "" */
} hu_rank_id;

/* `environment` is a list of NAME=VALUE that ends with NULL, or NULL. */
void hu_rank_id_detect(char *const *environment, hu_rank_id *out);

/* The value of a variable, or NULL when it is not set or empty. */
const char *hu_rank_id_variable(char *const *environment, const char *name);

#endif
