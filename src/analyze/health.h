/* SPDX-License-Identifier: Apache-2.0
 * health.h - how far the trace itself can be trusted, and what the next capture should switch on. */
#ifndef HU_ANALYZE_HEALTH_H
#define HU_ANALYZE_HEALTH_H

#include "analyze/steps.h"
#include "trace/trace.h"

/* What the capture left out, and what would bring it: a setting of torch.profiler, one of `nsys profile`, one of
   `holdup run`, one of XLA's profiler (JAX, TensorFlow).  Each row is one bit of hu_health.missing. */
#define HU_MISSING(M)                                                                                                    \
    M(STEPS, "steps", "step marks", "call prof.step() once per iteration, with a schedule",                              \
      "torch.cuda.nvtx.range_push(\"step\") and range_pop() around each iteration; nsys profile --trace=cuda,nvtx,osrt", \
      "call holdup.step() once per iteration (docs/markers.md); for PyTorch, holdup run --pytorch finds them",           \
      "with jax.profiler.StepTraceAnnotation(\"train\", step_num=i): around each iteration (TensorFlow: "                \
      "tf.profiler.experimental.Trace)")                                                                                 \
    M(SHAPES, "shapes", "input shapes", "profile(record_shapes=True)", "nsys profile --pytorch=autograd-shapes-nvtx",    \
      "holdup run --pytorch=shapes",                                                                                     \
      "cannot be recorded: the profiler has no shapes; XLA_FLAGS=--xla_dump_to=DIR writes those of each module")         \
    M(STACKS, "stacks", "Python stacks", "profile(with_stack=True), for a few steps only: it is expensive",              \
      "nsys profile --python-sampling=true, or --python-backtrace=cuda with --cudabacktrace=all",                        \
      "holdup run --pytorch=stacks, for a few steps only",                                                               \
      "options = jax.profiler.ProfileOptions(); options.python_tracer_level = 1; "                                       \
      "start_trace(DIR, profiler_options=options)")                                                                      \
    M(MEMORY, "memory", "allocations", "profile(profile_memory=True)", "nsys profile --cuda-memory-usage=true",          \
      "holdup run --cuda-memory-usage=true",                                                                             \
      "a capture in which arrays are created, which XLA's allocator tells; or "                                          \
      "jax.profiler.save_device_memory_profile(FILE)")                                                                   \
    M(SYNC, "sync", "synchronisation records",                                                                           \
      "profile(experimental_config= _ExperimentalConfig(enable_cuda_sync_events=True))",                                 \
      "nsys profile --trace=cuda, of a job that synchronises while it is recorded",                                      \
      "holdup run, of a job that synchronises while it is recorded",                                                     \
      "cannot be recorded by this profiler; holdup run records waits for the device")                                    \
    M(DEVICE, "device", "GPU operations (launches were)",                                                                \
      "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]); no other profiler may run",                    \
      "nsys profile --trace=cuda; no other profiler may run", "holdup run, while no other profiler runs",                \
      "a jaxlib with the plugin of this device; no other profiler may run")                                              \
    M(HOST, "host", "operators (GPU operations were)", "profile(activities=[ProfilerActivity.CPU, ...])",                \
      "nsys profile --trace=cuda,nvtx,osrt --pytorch=autograd-nvtx",                                                     \
      "holdup run --pytorch, of a program that uses PyTorch",                                                            \
      "options.host_tracer_level = 2 (jax.profiler.ProfileOptions)")

typedef enum {
#define M(id, key, what, torch, nsight, holdup, xla) HU_MISSING_##id,
    HU_MISSING(M)
#undef M
        HU_MISSING_COUNT
} hu_missing;

typedef struct {
    hu_quality quality;
    int64_t    kinds[HU_KIND_COUNT]; /* slices by kind */
    int64_t    unlinked_kernels;     /* device work whose launch was not recorded */
    int64_t    unlinked_kernels_ns;
    int64_t    unlinked_launches; /* launches whose device work was not recorded */
    int64_t    graph_kernels;     /* kernels that came from one launch together with others */
    int64_t    gpu_processes;     /* that launched device work, at most 9 */
    unsigned   missing;           /* bits 1 << hu_missing */
    char       others[384]; /* of events of unknown kinds (unknown.h): where most of their time is, by name; "" without */
    bool       by_nsight;   /* Nsight Systems made the capture */
    bool       by_rocm;     /* a profiler of ROCm did */
    bool       by_holdup;   /* `holdup run` did */
    bool       by_xla;      /* the profiler of JAX or TensorFlow did */
    bool       has_early_marks; /* steps are marked, but their work ends long after (hu_steps.is_outlived) */
} hu_health;

void hu_health_measure(const hu_trace *trace, const hu_steps *steps, const uint8_t *names, hu_health *out);

/* Does the trace have events of unknown kinds and nothing else that takes time? */
bool hu_health_is_unknown(const hu_health *h);

/* Adds what was counted in another rank; of truncations and hints both stay. */
void hu_health_merge(hu_health *into, const hu_health *from);

const char *hu_missing_key(hu_missing m);
const char *hu_missing_what(hu_missing m);
const char *hu_missing_how(const hu_health *h, hu_missing m);

#endif
