/* SPDX-License-Identifier: Apache-2.0
 * producers.c - the names that libkineto, its back ends and the libraries below them use.
 *
 * Sources: libkineto's activity type names (current and, with capitals, of 2021); kernel names seen in traces of the
 * communication libraries.  A communication kernel that is missing here is counted as computation, so a new library
 * wants a row.  PyTorch's symmetric-memory kernels (multimem_all_reduce_kernel …) are left out on purpose: peers count
 * them as computation, and the numbers of docs/numbers.md are comparable only under one rule.
 */
#include "ingest/producers.h"

static const struct {
    const char *name;
    hu_kind     kind;
} categories[] = {
    {"cpu_op", HU_KIND_CPU_OP},
    {"python_function", HU_KIND_PYTHON},
    {"cuda_runtime", HU_KIND_RUNTIME},
    {"kernel", HU_KIND_KERNEL},
    {"user_annotation", HU_KIND_USER},
    {"cuda_driver", HU_KIND_DRIVER},
    {"gpu_memcpy", HU_KIND_MEMCPY},
    {"gpu_memset", HU_KIND_MEMSET},
    {"gpu_user_annotation", HU_KIND_GPU_USER},
    {"cuda_sync", HU_KIND_SYNC},
    {"cuda_event", HU_KIND_EVENT},
    {"overhead", HU_KIND_OVERHEAD},
    {"cuda_profiler_range", HU_KIND_COUNTER_RANGE},
    {"Trace", HU_KIND_SPAN},
    {"mtia_runtime", HU_KIND_RUNTIME},
    {"mtia_ccp_events", HU_KIND_KERNEL},
    {"xpu_runtime", HU_KIND_RUNTIME},
    {"xpu_driver", HU_KIND_DRIVER},
    {"xpu_sync", HU_KIND_SYNC},
    {"glow_runtime", HU_KIND_RUNTIME},
    {"privateuse1_runtime", HU_KIND_RUNTIME},
    {"privateuse1_driver", HU_KIND_DRIVER},
    {"hpu_op", HU_KIND_KERNEL},
    {"collective_comm", HU_KIND_COLLECTIVE},
    {"external_correlation", HU_KIND_OTHER},
    {"mtia_insight", HU_KIND_OTHER},
    {"Operator", HU_KIND_CPU_OP},
    {"Runtime", HU_KIND_RUNTIME},
    {"Kernel", HU_KIND_KERNEL},
    {"Memcpy", HU_KIND_MEMCPY},
    {"Memset", HU_KIND_MEMSET},
    {"memcpy", HU_KIND_MEMCPY},
    {"memset", HU_KIND_MEMSET},
    {"Python", HU_KIND_PYTHON},
};

/* Lower case. */
static const char *const comm_names[] = {
    "nccl",                 /* ncclKernel_…, ncclDevKernel_…; RCCL uses both */
    "rccl",
    "cross_device_reduce",  /* vLLM's and SGLang's custom all-reduce */
    "deep_ep::", "dpsk::ep::",
    "nvshmem",
    "mscclpp", "msccl_",
    "oneccl", "ccl_kernel",
    "hccl",
};

hu_kind hu_producers_kind(hu_str category)
{
    for (size_t i = 0; i < HU_COUNT(categories); i++)
        if (strlen(categories[i].name) == category.n && memcmp(categories[i].name, category.p, category.n) == 0)
            return categories[i].kind;
    return HU_KIND_OTHER;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool has_lower(hu_str s, const char *part)
{
    const size_t n = strlen(part);

    for (size_t i = 0; i + n <= s.n; i++) {
        size_t k = 0;

        while (k < n && lower(s.p[i + k]) == part[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

bool hu_producers_is_comm(hu_str kernel)
{
    for (size_t i = 0; i < HU_COUNT(comm_names); i++)
        if (has_lower(kernel, comm_names[i]))
            return true;
    return false;
}
