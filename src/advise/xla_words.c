/* SPDX-License-Identifier: Apache-2.0
 * xla_words.c - fixes in the terms of JAX and TensorFlow.
 *
 * Source of what is advised: the documentation of JAX (asynchronous dispatch, buffer donation, the compilation cache, GPU
 * performance tips) and of tf.data.
 */
#include "advise/xla_words.h"

#include <stdio.h>

static const struct {
    hu_rule     rule;
    const char *fix;
} fixes[] = {
    {HU_RULE_COMPUTE_BOUND, "faster kernels: bfloat16 inputs, fused attention (jax.nn.dot_product_attention), Pallas; or a "
                            "faster device"},
    {HU_RULE_BANDWIDTH_BOUND, "one jax.jit (tf.function(jit_compile=True)) around these operations, so that XLA fuses them"},
    {HU_RULE_TENSOR_CORES, "jax.default_matmul_precision(\"tensorfloat32\"), or bfloat16 inputs"},
    {HU_RULE_LAUNCH_BOUND,
     "one jax.jit around the whole step in place of many small ones; jax.lax.scan over several steps; larger batches; "
     "XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL (CUDA graphs)"},
    {HU_RULE_HOST_WORK, "move it out of the step: into the compiled function, or into a thread that runs ahead; tracing and "
                        "compilation happen once where shapes and static arguments stay the same"},
    {HU_RULE_UNRECORDED, "record with python_tracer_level = 1 and host_tracer_level = 2 (jax.profiler.ProfileOptions), "
                         "TraceAnnotation around your own code; or holdup run: files, locks, sleep, CPU samples"},
    {HU_RULE_SMALL_OPERATORS,
     "one jax.jit (tf.function) around the loop; jax.vmap or jax.lax.scan in place of a Python loop"},
    {HU_RULE_HOST_SYNC, "log every n steps: no float(x), x.item(), np.asarray(x) or block_until_ready() on a result in each "
                        "step; dispatch runs ahead of the device as long as nobody looks at values"},
    {HU_RULE_COPY_BOUND,
     "jax.device_put of the next batch before this step is awaited; donate_argnums, so that state stays on "
     "the device"},
    {HU_RULE_DATA_LOADING,
     "tf.data: .map(..., num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE); other loaders: "
     "more workers that run ahead"},
    {HU_RULE_ALLOCATOR, "XLA_PYTHON_CLIENT_PREALLOCATE=true (the default), and no XLA_PYTHON_CLIENT_ALLOCATOR=platform"},
    {HU_RULE_WARM_UP, "compile ahead: jax.jit(f).lower(...).compile(); jax_compilation_cache_dir keeps what was compiled"},
    {HU_RULE_COLD, "compile ahead: jax.jit(f).lower(...).compile(); jax_compilation_cache_dir keeps what was compiled"},
    {HU_RULE_EXPOSED_COMM,
     "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true overlaps collectives with compute; or send "
     "less: bfloat16 gradients, another sharding"},
    {HU_RULE_POOR_OVERLAP,
     "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true; on a TPU the compiler overlaps what does not "
     "depend on each other: communicate in smaller parts, or another sharding"},
    {HU_RULE_CASTS, "keep one dtype from the input on; casts inside of one jax.jit are fused into what uses them"},
    {HU_RULE_OPTIMIZER_LOOP, "update all parameters in one jax.jit (optax inside of the step), with donate_argnums"},
    {HU_RULE_VALIDATION,
     "validate after an epoch or every few hundred steps, on fewer batches; metrics from the training step"},
    {HU_RULE_IO_STALL,
     "read ahead and write behind in a separate thread; checkpoints: Orbax's AsyncCheckpointer; logs: every n "
     "steps"},
    {HU_RULE_PIN, "reuse host buffers: hand jax.device_put arrays of one shape and dtype"},
    {HU_RULE_RECOMPUTE, "if memory allows: fewer jax.checkpoint, or a policy (jax.checkpoint_policies.dots_saveable)"},
    {HU_RULE_PROFILER,
     "record less: python_tracer_level = 0, host_tracer_level = 1 (jax.profiler.ProfileOptions), fewer steps"},
    {HU_RULE_COMM_LATENCY,
     "XLA_FLAGS=--xla_gpu_all_reduce_combine_threshold_bytes=N (all_gather, reduce_scatter alike): fewer, "
     "larger collectives"},
};

void hu_xla_words(hu_findings *f, const hu_digest *d)
{
    if (!d->health.by_xla)
        return;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < HU_COUNT(fixes); k++)
            if (f->at[i].rule == fixes[k].rule)
                snprintf(f->at[i].fix, sizeof f->at[i].fix, "%s", fixes[k].fix);
}
