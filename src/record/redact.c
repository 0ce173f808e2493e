/* SPDX-License-Identifier: Apache-2.0
 * redact.c - variables are kept by a list of names; whatever its name says, a secret is not. */
#include "record/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

/* Words in names of secrets, in capitals.  Those of three letters must stand alone: MONKEY is no KEY. */
static const char *const secrets[] = {"TOKEN",       "SECRET", "PASS",   "PASSWD", "PASSWORD", "PASSPHRASE", "CREDENTIAL",
                                      "CREDENTIALS", "APIKEY", "KEY",    "KEYS",   "AUTH",     "COOKIE",     "PRIVATE",
                                      "SIGNATURE",   "PWD",    "BEARER", "DSN",    "WEBHOOK"};

static char upper(char c)
{
    return (char)toupper((unsigned char)c);
}

static bool equals(const char *p, size_t n, const char *word)
{
    size_t i = 0;

    while (i < n && word[i] && upper(p[i]) == word[i])
        i++;
    return i == n && !word[i];
}

/* Where the word that begins at p ends: at what is no letter, and before a capital behind a small letter. */
static size_t word_length(hu_str s)
{
    size_t n = 1;

    while (n < s.n && isalpha((unsigned char)s.p[n]) &&
           !(islower((unsigned char)s.p[n - 1]) && isupper((unsigned char)s.p[n])))
        n++;
    return n;
}

/* Some also as a part: "mypassword", "hftoken"; a tokenizer and tokens are none. */
static bool is_secret_word(const char *p, size_t n)
{
    for (size_t k = 0; k < HU_COUNT(secrets); k++) {
        const size_t m = strlen(secrets[k]);

        if (equals(p, n, secrets[k]))
            return true;
        for (size_t i = 0; m >= 6 && i + m <= n; i++)
            if (equals(p + i, m, secrets[k]))
                return true;
    }
    return (n > 5 && equals(p + n - 5, 5, "TOKEN")) || (n > 6 && equals(p + n - 3, 3, "KEY")); /* ACCESSKEY */
}

bool hu_redact_is_secret(hu_str name)
{
    for (size_t i = 0; i < name.n;) {
        size_t n;

        if (!isalpha((unsigned char)name.p[i])) {
            i++;
            continue;
        }
        n = word_length((hu_str){name.p + i, name.n - i});
        if (is_secret_word(name.p + i, n))
            return true;
        i += n;
    }
    return false;
}

bool hu_redact_keeps(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(kept); i++) {
        const size_t n = strlen(kept[i]);
        const bool   is_whole = kept[i][n - 1] == '=';

        if (is_whole ? name.n == n - 1 && memcmp(name.p, kept[i], n - 1) == 0 : hu_str_starts(name, (hu_str){kept[i], n}))
            return !hu_redact_is_secret(name);
    }
    return false;
}

/* "***" in place of [from, to) of a text. */
static const char *hide(const char *text, size_t from, size_t to, hu_arena *arena)
{
    const size_t room = strlen(text) + 4;
    char        *out = hu_arena_alloc(arena, room);

    if (out)
        snprintf(out, room, "%.*s***%s", (int)from, text, text + to);
    return out;
}

const char *hu_redact_argument(const char *argument, const char *previous, hu_arena *arena)
{
    const char *equals_sign = strchr(argument, '='), *scheme = strstr(argument, "://"), *at;

    if (equals_sign && hu_redact_is_secret((hu_str){argument, (size_t)(equals_sign - argument)}))
        return hide(argument, (size_t)(equals_sign - argument) + 1, strlen(argument), arena);
    if (previous && previous[0] == '-' && !strchr(previous, '=') && argument[0] != '-' &&
        hu_redact_is_secret(hu_str_of(previous)))
        return hide(argument, 0, strlen(argument), arena);
    if (scheme) {
        const size_t host = (size_t)(scheme + 3 - argument), end = host + strcspn(argument + host, "/?# ");

        at = memrchr(argument + host, '@', end - host);
        if (at)
            return hide(argument, host, (size_t)(at - argument), arena);
    }
    return argument;
}
