/* SPDX-License-Identifier: Apache-2.0
 * variables.c - variables are kept by a list of names; one whose name speaks of a secret never is. */
#include "record/variables.h"

#include "protocol/redact.h"

/* Beginnings of names, in groups; one that ends with '=' is the whole name. */
/* clang-format off */
static const char *const kept[] = {
    "HOLDUP_", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=", "ROLE_RANK=", "NODE_RANK=",
    "MASTER_ADDR=", "MASTER_PORT=", "TORCHELASTIC_RE", "TORCHELASTIC_RUN_ID=", "CROSS_RANK=", "CROSS_SIZE=", "LOCAL_SIZE=",
    "PET_", "JOB_COMPLETION_INDEX=",
    "SLURM_JOB", "SLURM_STEP", "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_NTASKS", "SLURM_NNODES=",
    "SLURM_ARRAY_", "SLURM_CPU", "SLURM_GPU", "SLURM_TASKS_PER_NODE=", "SLURM_RESTART_COUNT=", "SLURM_HET_",
    "SLURM_CLUSTER_NAME=", "SLURMD_NODENAME=", "PBS_JOBID=", "LSB_JOBID=", "FLUX_JOB_ID=", "FLUX_TASK_",
    "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE=", "PMI_RANK=", "PMI_SIZE=", "PMIX_RANK=", "PMIX_NAMESPACE=", "MV2_COMM_WORLD_",
    "MPI_LOCAL", "JSM_NAMESPACE_", "PALS_",
    "CUDA_", "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "NCCL_", "TORCH_", "PYTORCH_", "CUBLAS_", "CUDNN_",
    "UCX_", "FI_PROVIDER=", "OMP_", "MKL_", "OPENBLAS_NUM_THREADS=", "NUMEXPR_", "KMP_", "GOMP_", "TF_", "XLA_", "JAX_",
    "DS_ACCELERATOR=", "ACCELERATE_", "PYTHONHASHSEED=", "PYTHONUNBUFFERED=", "PYTHONMALLOC=", "MALLOC_", "GLIBC_TUNABLES=",
    "LD_PRELOAD=", "CONDA_DEFAULT_ENV=", "LC_ALL=", "LANG=", "TZ=",
};
/* clang-format on */

bool hu_variables_keep(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(kept); i++) {
        const size_t n = strlen(kept[i]);
        const bool   is_whole = kept[i][n - 1] == '=';

        if (is_whole ? name.n == n - 1 && memcmp(name.p, kept[i], n - 1) == 0 : hu_str_starts(name, (hu_str){kept[i], n}))
            return !hu_redact_is_secret(name);
    }
    return false;
}
