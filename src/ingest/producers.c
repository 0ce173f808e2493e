/* SPDX-License-Identifier: Apache-2.0
 * producers.c - the names that libkineto, its back ends and the libraries below them use.
 *
 * Sources: libkineto's activity type names (current and, with capitals, of 2021); kernel names seen in traces and sources of
 * the communication libraries.  A communication kernel that is missing here is counted as computation unless PyTorch's own
 * collectives launch it (analyze/comm_kernels.h), so a new library wants a row.  PyTorch's symmetric-memory kernels
 * (multimem_all_reduce_kernel …) are left out on purpose: peers count them as computation, and the numbers of
 * docs/numbers.md are comparable only under one rule.
 */
#include "ingest/producers.h"

#include "ingest/xla_names.h"

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
    {"os_call", HU_KIND_OS_CALL},
    {"mpi", HU_KIND_MPI},
    {"cpu_wait", HU_KIND_CPU_WAIT},
    {"cuda_event", HU_KIND_EVENT},
    {"overhead", HU_KIND_OVERHEAD},
    {"cuda_profiler_range", HU_KIND_COUNTER_RANGE},
    {"openmp", HU_KIND_OPENMP},
    {"openacc", HU_KIND_OPENACC},
    {"Trace", HU_KIND_SPAN},
    {"mtia_runtime", HU_KIND_RUNTIME},
    {"mtia_ccp_events", HU_KIND_KERNEL},
    {"opencl_runtime", HU_KIND_RUNTIME}, /* `holdup run`, of OpenCL */
    {"opencl_sync", HU_KIND_SYNC},
    {"xpu_runtime", HU_KIND_RUNTIME},
    {"xpu_driver", HU_KIND_DRIVER},
    {"xpu_sync", HU_KIND_SYNC},
    {"glow_runtime", HU_KIND_RUNTIME},
    {"privateuse1_runtime", HU_KIND_RUNTIME},
    {"privateuse1_driver", HU_KIND_DRIVER},
    {"hpu_op", HU_KIND_KERNEL},
    {"collective_comm", HU_KIND_COLLECTIVE},
    {"external_correlation", HU_KIND_OTHER},
    {"nccl", HU_KIND_OTHER}, /* `holdup run`, of NCCL: what is no host's time */
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

/* Of writers that are no profiler of PyTorch: timeline.py of TensorFlow, nsys2json of Nsight Systems' exports, profilers of
 * Python alone: VizTracer ("function entry and exit", once in capitals) and py-spy. */
static const struct {
    const char *name;
    hu_kind     kind;
} foreign_categories[] = {
    {"Op", HU_KIND_CPU_OP}, /* of TensorFlow; of rows that are a device's, see hu_producers_rows */
    {"cuda_api", HU_KIND_RUNTIME}, {"nvtx", HU_KIND_USER},  {"nvtx-kernel", HU_KIND_GPU_USER},
    {"fee", HU_KIND_PYTHON},       {"FEE", HU_KIND_PYTHON}, {"py-spy", HU_KIND_PYTHON},
};

/* Lower case. */
/* clang-format off */
static const char *const comm_names[] = {
    "nccl",                 /* ncclKernel_…, ncclDevKernel_…; RCCL uses both */
    "rccl",
    "cross_device_reduce",  /* vLLM's and SGLang's custom all-reduce */
    "oneshotallreduce", "twoshotallreduce",     /* TensorRT-LLM: oneShotAllReduceKernel; FlashInfer over NVLink */
    "allreduce_fusion",     /* TensorRT-LLM, FlashInfer: allreduce_fusion_kernel_oneshot_lamport, with the norm behind it */
    "allreduce_prototype",  /* QuickReduce: quickreduce::allreduce_prototype_twoshot */
    "userbuffers",          /* Transformer Engine: userbuffers_fp16_sum_inplace_gpu_rw, kuserbuffers_pushsend */
    "moea2adispatch", "moea2acombine",          /* TensorRT-LLM: moeA2ADispatchKernel */
    "epdispatchintranode", "epcombineintranode",    /* MORI */
    "deep_ep", "ep::internode", "ep::intranode",   /* DeepEP, whose namespace was deep_ep, dpsk::ep or ep over the years */
    "dpsk::ep::",
    "nvshmem",
    "mscclpp", "msccl_", "mscclkernel",         /* RCCL: mscclKernel_Sum_half_Simple_false */
    "oneccl", "ccl_kernel",
    "hccl",
};
/* clang-format on */

hu_kind hu_producers_kind(hu_str category)
{
    for (size_t i = 0; i < HU_COUNT(categories); i++)
        if (strlen(categories[i].name) == category.n && memcmp(categories[i].name, category.p, category.n) == 0)
            return categories[i].kind;
    return HU_KIND_OTHER;
}

hu_kind hu_producers_foreign_kind(hu_str category, hu_str thread)
{
    if (hu_str_equal(category, HU_STR("cuda")) && hu_str_starts(thread, HU_STR("Stream ")))
        return HU_KIND_KERNEL;
    for (size_t i = 0; i < HU_COUNT(foreign_categories); i++)
        if (hu_str_equal(category, hu_str_of(foreign_categories[i].name)))
            return foreign_categories[i].kind;
    return HU_KIND_OTHER;
}

hu_host_class hu_producers_host_class(hu_str class, hu_str call)
{
    static const char *const keys[] = {
#define C(id, key, words) [HU_HOST_##id] = (key),
        HU_HOST_CLASSES(C)
#undef C
    };
    static const char *const children[] = {"wait", "waitpid", "wait3", "wait4", "waitid", "system", "pclose"};
    hu_host_class            found = HU_HOST_OTHER;

    for (size_t i = 0; i < HU_COUNT(keys); i++)
        if (hu_str_equal(class, hu_str_of(keys[i])))
            found = (hu_host_class)i;
    for (size_t i = 0; i < HU_COUNT(children); i++)
        if ((found == HU_HOST_WAIT || found == HU_HOST_OTHER) && hu_str_equal(call, hu_str_of(children[i])))
            found = HU_HOST_CHILD;
    return found;
}

hu_omp_what hu_producers_omp(hu_str name)
{
    static const char *const names[] = {
        "", "parallel region", "implicit task", "tasks", "short parallel regions", "short implicit tasks", "barrier"};

    for (size_t i = 1; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i])))
            return (hu_omp_what)i;
    return HU_OMP_OTHER;
}

bool hu_producers_is_lock(hu_str function)
{
    static const char *const parts[] = {"mutex", "Mutex", "rwlock", "RwLock", "SpinLock", "lock_slow", "lock_contended"};

    if (hu_str_has_lower(function, HU_STR("cond")) || hu_str_has_lower(function, HU_STR("await")))
        return false; /* Condvar::wait, absl::CondVar, Mutex::Await */
    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (hu_str_has(function, hu_str_of(parts[i])))
            return true;
    return false;
}

bool hu_producers_is_gil(hu_str call, hu_str caller, hu_str object)
{
    if (!hu_str_starts(call, HU_STR("pthread_cond_")))
        return false;
    return hu_str_starts(caller, HU_STR("take_gil")) || hu_str_starts(caller, HU_STR("drop_gil")) ||
           (hu_str_starts(object, HU_STR("_PyRuntime")) && !hu_str_equal(call, HU_STR("pthread_cond_wait")));
}

bool hu_producers_is_memory(hu_str call)
{
    return hu_str_equal(call, HU_STR("munmap")) || hu_str_equal(call, HU_STR("mmap")) ||
           hu_str_equal(call, HU_STR("madvise"));
}

/* Asked for each distinct name: one pass looks for the first two letters of all names, and rarely finds any. */
bool hu_producers_is_comm(hu_str kernel)
{
    uint32_t second[32] = {0}; /* by the low bits of a first letter, those of the second ones */

    for (size_t i = 0; i < HU_COUNT(comm_names); i++)
        second[comm_names[i][0] & 31] |= 1u << (comm_names[i][1] & 31);
    for (size_t at = 0; at + 1 < kernel.n; at++) {
        const hu_str rest = {kernel.p + at, kernel.n - at};

        if (!(second[kernel.p[at] & 31] >> (kernel.p[at + 1] & 31) & 1))
            continue;
        for (size_t i = 0; i < HU_COUNT(comm_names); i++)
            if (comm_names[i][0] == hu_char_lower(rest.p[0]) && hu_str_starts_lower(rest, hu_str_of(comm_names[i])))
                return true;
    }
    return false;
}

/*
 * Processes that are devices: "GPU2", "COPY" and "1 COPY" of rocprof; "Ascend Hardware", "HCCL" or "Communication" and
 * "Overlap Analysis" of Ascend's trace_view.json; "/device:GPU:0" of TensorFlow and JAX; "CUDA functions" of PyTorch's first
 * profiler, whose threads are devices.
 */
static hu_str without_number(hu_str process)
{
    while (process.n && ((process.p[0] >= '0' && process.p[0] <= '9') || process.p[0] == ' '))
        process = (hu_str){process.p + 1, process.n - 1};
    return process;
}

/* "/device:GPU:0/stream:all Compute" of timeline.py: what stands behind the number of the GPU; "": it is none. */
static hu_str timeline_row(hu_str process, int64_t *device)
{
    static const hu_str kind = {"/device:gpu:", 12};
    int64_t             number = 0;

    for (size_t at = 0; at + kind.n < process.n; at++) {
        size_t end = at + kind.n;

        if (!hu_str_starts_lower((hu_str){process.p + at, process.n - at}, kind))
            continue;
        for (; end < process.n && process.p[end] >= '0' && process.p[end] <= '9' && number < 100000; end++)
            number = number * 10 + (process.p[end] - '0');
        process = (hu_str){process.p + end, process.n - end};
        if (!hu_str_starts(process, HU_STR("/stream:")) && !hu_str_starts(process, HU_STR("/memcpy")))
            break;
        *device = number;
        return process;
    }
    return HU_STR("");
}

/* Nothing behind the number, or of "/device:GPU:0 (NVIDIA A100)" a remark. */
static bool is_number_end(hu_str name, size_t at, bool may_remark)
{
    if (!at || name.p[at - 1] < '0' || name.p[at - 1] > '9')
        return false;
    return at == name.n || (may_remark && hu_str_starts((hu_str){name.p + at, name.n - at}, HU_STR(" (")));
}

static bool is_device_row(hu_str process, int64_t *device)
{
    static const char *const kinds[] = {"/device:GPU:", "/device:TPU:", "GPU", "NPU", "XPU", "HPU", "MLU", "DCU"};
    static const char *const whole[] = {"COPY",           "Ascend Hardware", "HCCL", "Communication", "Overlap Analysis",
                                        "CUDA functions", "NPU functions"};
    const hu_str             name = without_number(process);

    if (timeline_row(process, device).n)
        return true;

    for (size_t i = 0; i < HU_COUNT(whole); i++)
        if (hu_str_equal(name, hu_str_of(whole[i])))
            return true;
    for (size_t i = 0; i < HU_COUNT(kinds); i++) {
        size_t  at = strlen(kinds[i]);
        int64_t number = 0;

        if (!hu_str_starts_with(name, kinds[i]))
            continue;
        at += at < name.n && name.p[at] == ' ';
        for (; at < name.n && name.p[at] >= '0' && name.p[at] <= '9' && number < 100000; at++)
            number = number * 10 + (name.p[at] - '0');
        if (!is_number_end(name, at, kinds[i][0] == '/'))
            continue;
        return *device = number, true;
    }
    return false;
}

/* Waits of one queue for another, and sums that are drawn beside what they sum up, are no work. */
static hu_kind kind_of_row(hu_str process, hu_str thread, hu_str name)
{
    static const char *const waits[] = {"notify", "event_wait", "event_record", "eventwait", "wait_value", "write_value"};
    const hu_str             owner = without_number(process);
    int64_t                  device;
    const hu_str             row = timeline_row(process, &device);

    if (hu_str_equal(owner, HU_STR("Overlap Analysis")))
        return HU_KIND_OTHER;
    if (hu_str_starts(row, HU_STR("/memcpy")))
        return HU_KIND_MEMCPY;
    if (row.n && !hu_str_starts(row, HU_STR("/stream:all")))
        return HU_KIND_OTHER; /* stream by stream, the work of "/stream:all" once more */
    if (hu_str_starts(owner, HU_STR("/device:TPU:"))) {
        const bool is_async = hu_str_equal(thread, HU_STR("Async XLA Ops"));

        return (is_async || hu_str_equal(thread, HU_STR("XLA Ops"))) && !hu_xla_is_control(name, HU_STR(""))
                   ? hu_xla_op_kind(name, HU_STR(""), is_async)
                   : HU_KIND_OTHER;
    }
    if (!row.n && hu_str_starts(owner, HU_STR("/device:")) && !hu_str_has_lower(thread, HU_STR("stream")))
        return HU_KIND_OTHER; /* the same kernels once more, by operation, module or step */
    for (size_t i = 0; i < HU_COUNT(waits); i++)
        if (hu_str_has_lower(name, hu_str_of(waits[i])))
            return HU_KIND_OTHER;
    if (hu_str_has_lower(name, HU_STR("hcom_")) || hu_producers_is_comm(name))
        return HU_KIND_COLLECTIVE;
    if (hu_str_equal(owner, HU_STR("HCCL")) || hu_str_equal(owner, HU_STR("Communication")))
        return HU_KIND_OTHER; /* the parts of a collective that stands in a row of its own */
    if (hu_str_has_lower(name, HU_STR("memset")) || hu_str_has_lower(name, HU_STR("fillbuffer")))
        return HU_KIND_MEMSET;
    return hu_str_equal(owner, HU_STR("COPY")) || hu_str_has_lower(name, HU_STR("memcpy")) ? HU_KIND_MEMCPY : HU_KIND_KERNEL;
}

/* The other rows of PyTorch's first profiler: operators, if it gives no categories either. */
static bool is_operator_row(hu_str process)
{
    return hu_str_equal(process, HU_STR("CPU functions"));
}

/* A TPU's own steps are better than those of the host, because nothing links its work to the host's calls. */
static bool is_step_row(hu_str process, hu_str thread)
{
    return hu_str_starts(without_number(process), HU_STR("/device:TPU:")) && hu_str_equal(thread, HU_STR("Steps"));
}

static hu_str device_name(hu_str process)
{
    return hu_str_starts(without_number(process), HU_STR("/device:TPU:")) ? HU_STR("TPU") : HU_STR("");
}

const hu_row_reader hu_producers_rows = {is_device_row, kind_of_row, is_operator_row, is_step_row, device_name};
