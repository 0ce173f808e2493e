/* SPDX-License-Identifier: Apache-2.0
 * rank_id.c - the variables of each launcher, in the order in which they are believed; the first complete set wins.
 *
 * What has been verified, and traps:
 *   torchrun sets RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE in its workers (torch.distributed.run); inside of
 *   srun or mpirun the launcher's numbers count agents, one for each machine, so a set that only torchrun writes wins.
 *   RANK and WORLD_SIZE without LOCAL_RANK are what a PyTorchJob gives to a pod: they number machines, not processes.
 *   RANK, LOCAL_RANK and WORLD_SIZE alone may have been exported once by a script for all tasks: after MPI and SLURM.
 *   OMPI_COMM_WORLD_NODE_RANK counts processes on a node over all jobs (docs.open-mpi.org): it is no node's number.
 *   SLURM_PROCID is 0 in a batch script too, which is no task: a step has SLURM_STEP_ID (srun(1)).
 */
#include "protocol/rank_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Names of variables; NULL where a launcher has none.  A set is complete when `rank` and all of `needs` are there. */
typedef struct {
    const char *launcher;
    const char *needs[3], *any[2]; /* all of these; and one of these when there are any */
    const char *rank, *local_rank, *world_size, *local_size, *node, *nodes, *restart;
} rank_set;

/* clang-format off */
static const rank_set sets[] = {
    {"explicit", {0}, {0}, "HOLDUP_RANK", "HOLDUP_LOCAL_RANK", "HOLDUP_WORLD_SIZE", NULL, NULL, NULL, NULL},
    {"torchrun", {"LOCAL_RANK", "WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"}, "RANK", "LOCAL_RANK",
     "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"},
    {"DeepSpeed", {"LOCAL_RANK", "WORLD_SIZE", "CROSS_SIZE"}, {0}, "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE",
     "CROSS_RANK", "CROSS_SIZE", NULL},
    {"Open MPI", {"OMPI_COMM_WORLD_SIZE"}, {0}, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, NULL, NULL},
    {"MVAPICH2", {"MV2_COMM_WORLD_SIZE"}, {0}, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", NULL, NULL, NULL},
    {"MPICH", {"PMI_SIZE"}, {0}, "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS", NULL, NULL, NULL},
    {"SLURM", {0}, {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"}, "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS",
     NULL, "SLURM_NODEID", "SLURM_STEP_NUM_NODES", "SLURM_RESTART_COUNT"},
    {"JSM", {"JSM_NAMESPACE_SIZE"}, {0}, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE", NULL,
     NULL, NULL, NULL},
    {"Flux", {"FLUX_JOB_SIZE"}, {0}, "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", NULL, NULL, NULL, NULL},
    {"PALS", {0}, {0}, "PALS_RANKID", "PALS_LOCAL_RANKID", NULL, NULL, "PALS_NODEID", NULL, NULL},
    {"PMIx", {0}, {0}, "PMIX_RANK", NULL, NULL, NULL, NULL, NULL, NULL},
    {"environment", {"LOCAL_RANK", "WORLD_SIZE"}, {0}, "RANK", "LOCAL_RANK", "WORLD_SIZE", NULL, "NODE_RANK", NULL, NULL},
    {"Kubernetes", {0}, {0}, "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL, NULL, NULL},
};
/* clang-format on */

/* Numbers of machines that stand beside a set without being a part of it, or alone: in this order. */
static const struct {
    const char *node, *nodes, *absent; /* `absent` must not be set: then it would number processes */
} machines[] = {
    {"PET_NODE_RANK", "PET_NNODES", NULL}, /* a PyTorchJob of which torchrun makes processes */
    {"SLURM_NODEID", "SLURM_STEP_NUM_NODES", NULL},
    {"SLURM_NODEID", "SLURM_JOB_NUM_NODES", NULL},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
};

static const char *const job_ids[] = {
    "HOLDUP_JOB_ID",           "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
};

const char *hu_rank_id_variable(char *const *environment, const char *name)
{
    const size_t n = strlen(name);

    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return (*environment)[n + 1] ? *environment + n + 1 : NULL;
    return NULL;
}

/* A number of up to nine digits and nothing else. */
static int32_t number(char *const *environment, const char *name)
{
    const char *text = name ? hu_rank_id_variable(environment, name) : NULL;
    int32_t     value = 0;
    size_t      i = 0;

    if (!text)
        return HU_RANK_ID_UNKNOWN;
    for (; text[i] >= '0' && text[i] <= '9' && i < 9; i++)
        value = value * 10 + (text[i] - '0');
    return i && !text[i] ? value : HU_RANK_ID_UNKNOWN;
}

static void append(char *out, size_t room, const char *text)
{
    size_t used = strlen(out);

    while (*text && used + 1 < room)
        out[used++] = *text++;
    out[used] = '\0';
}

static bool is_complete(char *const *environment, const rank_set *s)
{
    bool is_any = !s->any[0];

    for (size_t i = 0; i < sizeof s->needs / sizeof *s->needs && s->needs[i]; i++)
        if (!hu_rank_id_variable(environment, s->needs[i]))
            return false;
    for (size_t i = 0; i < sizeof s->any / sizeof *s->any && s->any[i]; i++)
        is_any |= hu_rank_id_variable(environment, s->any[i]) != NULL;
    return is_any && number(environment, s->rank) >= 0;
}

/* "8(x4),4": how many tasks machine `node` has; SLURM writes a list with repetitions. */
static int32_t tasks_of_node(const char *list, int32_t node)
{
    int64_t first = 0;

    while (list && *list >= '0' && *list <= '9') {
        int64_t tasks = 0, times = 1;

        for (; *list >= '0' && *list <= '9' && tasks < 1000000; list++)
            tasks = tasks * 10 + (*list - '0');
        if (list[0] == '(' && list[1] == 'x') {
            times = 0;
            for (list += 2; *list >= '0' && *list <= '9' && times < 1000000; list++)
                times = times * 10 + (*list - '0');
            list += *list == ')';
        }
        if (node < first + times)
            return (int32_t)tasks;
        first += times;
        list += *list == ',';
    }
    return HU_RANK_ID_UNKNOWN;
}

static void slurm_details(char *const *environment, hu_rank_id *out)
{
    const char *list = hu_rank_id_variable(environment, "SLURM_STEP_TASKS_PER_NODE");

    if (out->world_size < 0)
        out->world_size = number(environment, "SLURM_NTASKS");
    if (out->local_size < 0 && out->node >= 0)
        out->local_size = tasks_of_node(list ? list : hu_rank_id_variable(environment, "SLURM_TASKS_PER_NODE"), out->node);
}

static void take_set(char *const *environment, const rank_set *s, hu_rank_id *out)
{
    out->rank = number(environment, s->rank);
    out->local_rank = number(environment, s->local_rank);
    out->world_size = number(environment, s->world_size);
    out->local_size = number(environment, s->local_size);
    out->node = number(environment, s->node);
    out->nodes = number(environment, s->nodes);
    out->restart = number(environment, s->restart);
    if (strcmp(s->launcher, "SLURM") == 0)
        slurm_details(environment, out);
    if (out->world_size == 0 || out->rank >= out->world_size) /* somebody's leftovers */
        out->world_size = HU_RANK_ID_UNKNOWN;
    append(out->source, sizeof out->source, s->launcher);
    append(out->source, sizeof out->source, ": ");
    append(out->source, sizeof out->source, s->rank);
}

/* "123", or "123_4" of an array; tasks of two steps were not started together. */
static bool slurm_job(char *const *environment, hu_rank_id *out)
{
    const char *job = hu_rank_id_variable(environment, "SLURM_JOB_ID");
    const char *step = hu_rank_id_variable(environment, "SLURM_STEP_ID"),
               *array = hu_rank_id_variable(environment, "SLURM_ARRAY_JOB_ID"),
               *task = hu_rank_id_variable(environment, "SLURM_ARRAY_TASK_ID");

    if (!job)
        return false;
    append(out->job_id, sizeof out->job_id, array && task ? array : job);
    if (array && task) {
        append(out->job_id, sizeof out->job_id, "_");
        append(out->job_id, sizeof out->job_id, task);
    }
    append(out->step_id, sizeof out->step_id, step ? step : "");
    return true;
}

static void detect_job(char *const *environment, hu_rank_id *out)
{
    for (size_t i = 0; i < sizeof job_ids / sizeof *job_ids; i++) {
        const char *value = hu_rank_id_variable(environment, job_ids[i]);

        if (i == 1 && slurm_job(environment, out))
            return;
        if (value && strcmp(value, "none") != 0) { /* torchrun's default id */
            append(out->job_id, sizeof out->job_id, value);
            return;
        }
    }
}

/* What is known already stays; how many machines there are may stand in another variable. */
static void take_machine(char *const *environment, size_t i, hu_rank_id *out)
{
    const int32_t node = number(environment, machines[i].node);

    if (machines[i].absent && hu_rank_id_variable(environment, machines[i].absent))
        return;
    if (out->node < 0)
        out->node = node;
    if (node >= 0 && node == out->node && out->nodes < 0)
        out->nodes = number(environment, machines[i].nodes);
}

void hu_rank_id_detect(char *const *environment, hu_rank_id *out)
{
    memset(out, 0, sizeof *out);
    out->rank = out->local_rank = out->world_size = out->local_size = HU_RANK_ID_UNKNOWN;
    out->node = out->nodes = out->restart = HU_RANK_ID_UNKNOWN;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (is_complete(environment, &sets[i])) {
            take_set(environment, &sets[i], out);
            break;
        }
    }
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        take_machine(environment, i, out);
    detect_job(environment, out);
}
