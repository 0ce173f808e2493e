/* SPDX-License-Identifier: Apache-2.0
 * job_environ.c - takes variables of a list from an environment that may be of any size. */
#include "monitor/jobs/job_environ.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/rank_id.h"

enum { CHUNK = 16 << 10, VARIABLE_MOST = 384, TAKEN_MOST = 16 << 10 };

/* Of schedulers, then all that protocol/rank_id.c asks for (tests/test_monitor_jobs.py compares the two). */
/* clang-format off */
static const char *const allowed[] = {
    "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION", "SLURM_JOB_NAME",
    "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "PBS_QUEUE", "PBS_JOBNAME", "PBS_ACCOUNT", "LSB_QUEUE", "LSB_JOBNAME",
    "LSB_PROJECT_NAME", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "HOLDUP_RANK", "HOLDUP_LOCAL_RANK",
    "HOLDUP_WORLD_SIZE", "HOLDUP_JOB_ID", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
    "GROUP_WORLD_SIZE", "NODE_RANK", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "CROSS_SIZE",
    "CROSS_RANK", "LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_ess_base_jobid", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_STEP_NUM_NODES", "SLURM_RESTART_COUNT", "SLURM_NTASKS", "SLURM_JOB_NUM_NODES",
    "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",
    "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_RANK",
    "FLUX_TASK_LOCAL_ID", "PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_NODEID", "PMIX_RANK", "PMIX_NAMESPACE",
    "JOB_COMPLETION_INDEX", "PET_NODE_RANK", "PET_NNODES",
};
/* clang-format on */

/* The variables that were taken: NAME=VALUE with a NUL, and where each begins. */
typedef struct {
    char   text[TAKEN_MOST];
    size_t used, n;
    char  *at[HU_COUNT(allowed) + 1];
} taken;

static bool is_allowed(hu_str variable)
{
    const char  *equals = memchr(variable.p, '=', variable.n);
    const hu_str name = {variable.p, equals ? (size_t)(equals - variable.p) : 0};

    for (size_t i = 0; i < HU_COUNT(allowed); i++)
        if (hu_str_equal(name, hu_str_of(allowed[i])))
            return true;
    return false;
}

static void take(taken *t, hu_str variable)
{
    if (!is_allowed(variable) || t->n == HU_COUNT(allowed) || sizeof t->text - t->used <= variable.n)
        return;
    t->at[t->n++] = memcpy(t->text + t->used, variable.p, variable.n);
    t->text[t->used + variable.n] = '\0';
    t->used += variable.n + 1;
}

static bool read_all(int fd, taken *t)
{
    char    chunk[CHUNK], variable[VARIABLE_MOST];
    size_t  n = 0; /* of the variable that is being read; more than fits: it is none of the list */
    ssize_t got;

    while ((got = read(fd, chunk, sizeof chunk)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (chunk[i] == '\0') {
                if (n <= sizeof variable)
                    take(t, (hu_str){variable, n});
                n = 0;
            } else if (n++ < sizeof variable) {
                variable[n - 1] = chunk[i];
            }
        }
    }
    explicit_bzero(chunk, sizeof chunk);
    explicit_bzero(variable, sizeof variable);
    return got == 0;
}

static hu_str value(const taken *t, const char *name)
{
    const char *text = hu_rank_id_variable(t->at, name);

    return text ? hu_str_of(text) : HU_STR("");
}

typedef struct {
    const char *scheduler, *id, *step, *user, *account, *partition, *name;
} variables_of;

static const variables_of schedulers[] = {
    {"slurm", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION",
     "SLURM_JOB_NAME"},
    {"pbs", "PBS_JOBID", "", "", "PBS_ACCOUNT", "PBS_QUEUE", "PBS_JOBNAME"},
    {"lsf", "LSB_JOBID", "", "", "LSB_PROJECT_NAME", "LSB_QUEUE", "LSB_JOBNAME"},
    {"flux", "FLUX_JOB_ID", "", "", "", "", ""},
};

static void take_owner(const taken *t, hu_owner *o)
{
    hu_rank_id id;

    for (size_t i = 0; i < HU_COUNT(schedulers) && !o->scheduler[0]; i++) {
        const variables_of *v = &schedulers[i];

        HU_OWNER_SET(o->job_id, value(t, v->id));
        if (!o->job_id[0])
            continue;
        HU_OWNER_SET(o->scheduler, hu_str_of(v->scheduler));
        HU_OWNER_SET(o->step_id, value(t, v->step));
        HU_OWNER_SET(o->user, value(t, v->user));
        HU_OWNER_SET(o->account, value(t, v->account));
        HU_OWNER_SET(o->partition, value(t, v->partition));
        HU_OWNER_SET(o->job_name, value(t, v->name));
    }
    hu_rank_id_detect(t->at, &id);
    if (id.rank >= 0)
        snprintf(o->rank, sizeof o->rank, "%d", id.rank);
    if (id.rank >= 0 && id.world_size >= 0)
        snprintf(o->world, sizeof o->world, "%d", id.world_size);
}

bool hu_job_environ_read(int fd, hu_job_environ *out)
{
    taken t = {0};

    memset(out, 0, sizeof *out);
    if (!read_all(fd, &t))
        return false;
    take_owner(&t, &out->owner);
    HU_OWNER_SET(out->gpus, value(&t, "SLURM_JOB_GPUS"));
    if (!out->gpus[0]) {
        HU_OWNER_SET(out->gpus, value(&t, "SLURM_STEP_GPUS"));
        out->is_step = out->gpus[0] != '\0';
    }
    return true;
}
