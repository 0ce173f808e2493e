/* SPDX-License-Identifier: Apache-2.0
 * test_questions.c - one small trace for each question, with the answer worked out beside it. */
#include <math.h>

#include "analyze/digest.h"
#include "analyze/occupancy.h"
#include "analyze/select.h"
#include "base/sort.h"
#include "testing.h"

static hu_digest *digest_with(const char *json, hu_grouping grouping)
{
    hu_trace  *t = trace_of(json);
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){.grouping = grouping, .frames = 5}, &err);

    assert_non_null(d);
    hu_trace_free(t);
    return d;
}

static hu_digest *digest_of(const char *json)
{
    return digest_with(json, HU_GROUP_NAME);
}

static void assert_text(hu_str s, const char *expected)
{
    if (!hu_str_equal(s, hu_str_of(expected)))
        fail_msg("\"%.*s\" is not \"%s\"", HU_FMT(s), expected);
}

/*
 *   host     item [18,29) with a wait [22,28); launches at 5, 30, 40, 41 (2, 2, 1, 1 long)
 *   stream   K1 [10,20)   K2 [50,60)   K3 [65,70)   K4 [110,112)   K5 [120,121) without a launch
 *   gaps          20..50       60..65       70..110         112..120
 */
/* clang-format off */
#define LATE_HOST                                                                                                      \
    "[" OP("aten::item", "1", "18", "11") "," CALL("cudaStreamSynchronize", "22", "6", "0") ","                        \
    CALL("cudaLaunchKernel", "5", "2", "1") "," CALL("cudaLaunchKernel", "30", "2", "2") ","                           \
    CALL("cudaLaunchKernel", "40", "1", "3") "," CALL("cudaLaunchKernel", "41", "1", "4") ","                          \
    KERNEL("K1", "7", "10", "10", "1") "," KERNEL("K2", "7", "50", "10", "2") "," KERNEL("K3", "7", "65", "5", "3") "," \
    KERNEL("K4", "7", "110", "2", "4") "," KERNEL("K5", "7", "120", "1", "0") "]"
/* clang-format on */

static void idle_time_has_causes(void **state)
{
    hu_digest            *d = digest_of(LATE_HOST);
    const hu_idle_stream *s = &d->idle.streams[0];
    const int64_t        *by = d->idle.by_cause;

    (void)state;
    assert_true(d->idle.n_streams == 1 && s->stream == 7 && s->work == 5 && s->gaps == 4);
    assert_int_equal(s->idle_ns, 83000);
    assert_int_equal(s->busy_ns, 28000);
    assert_true(s->host_wait_ns == 30000 && s->host_waits == 1);    /* K2: launched at 30, K1 ended at 20 */
    assert_true(s->kernel_wait_ns == 5000 && s->kernel_waits == 1); /* K3: launched at 40, gap 5 < 30 µs */
    assert_true(s->other_ns == 48000 && s->others == 2);            /* K4: gap 40; K5: no launch */
    assert_int_equal(d->idle.idle_ns, 83000);
    assert_int_equal(by[HU_IDLE_OPERATOR], 3000); /* item: [20,22) and [28,29) */
    assert_int_equal(by[HU_IDLE_SYNC], 6000);
    assert_int_equal(by[HU_IDLE_UNRECORDED], 1000); /* [29,30) */
    assert_int_equal(by[HU_IDLE_LAUNCH], 20000);    /* [30,50) */
    assert_int_equal(by[HU_IDLE_DEVICE], 45000);
    assert_int_equal(by[HU_IDLE_UNKNOWN], 8000);
    assert_true(d->idle.gaps == 4 && d->idle.lead_ns == 5000); /* from the launch at 5 to K1 at 10 */
    assert_int_equal(d->idle.n_longest, 5);
    assert_true(d->idle.longest[0].dur_ns == 40000 && d->idle.longest[0].cause == HU_IDLE_DEVICE);
    assert_true(d->idle.longest[1].dur_ns == 30000 && d->idle.longest[1].cause == HU_IDLE_LAUNCH);
    assert_text(d->idle.longest[1].host, "cudaStreamSynchronize");
    assert_int_equal(d->idle.longest[1].host_ns, 6000);
    assert_text(d->idle.longest[1].before, "K1");
    assert_text(d->idle.longest[1].after, "K2");
    hu_digest_free(d);
}

static void launches_have_delays_and_queues(void **state)
{
    hu_digest             *d = digest_of(LATE_HOST);
    const hu_launches     *l = &d->launches;
    const hu_launch_queue *q = &l->queues[0];

    (void)state;
    assert_int_equal(l->launches, 4);
    /* delays from the end of the call: K1 10-7, K2 50-32, K3 65-41, K4 110-42 */
    assert_true(l->delay.n == 4 && l->delay.sum == 3000 + 18000 + 24000 + 68000 && l->delay.max == 68000);
    assert_true(l->delay.median == 21000 && l->call.sum == 6000);
    assert_true(l->shorter == 0 && l->long_delays == 0 && l->long_calls == 0);
    /* in the queue: K1 for 5, K2 for 20, K3 for 25, K4 for 69, of the 105 from 5 to 110; at 41 K2, K3 and K4 */
    assert_true(l->n_queues == 1 && q->launches == 4 && q->most == 3 && q->full_ns == 0);
    assert_true(fabs(q->mean - 119.0 / 105) < 1e-12);
    hu_digest_free(d);
}

/* One call of 3 launches a graph of three kernels on two streams; a second one launches a kernel of 1. */
static void a_graph_is_one_launch_of_many(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" CALL("cudaGraphLaunch", "1", "3", "9") "," KERNEL("a", "7", "10", "5", "9") ","
                             KERNEL("b", "7", "16", "5", "9") "," KERNEL("c", "8", "12", "5", "9") ","
                             CALL("cudaLaunchKernel", "30", "2", "10") "," KERNEL("d", "7", "33", "1", "10") "]");
    /* clang-format on */

    (void)state;
    assert_true(d->launches.graph_launches == 1 && d->launches.graph_work == 3 && d->launches.graph_work_ns == 15000);
    assert_true(d->launches.launches == 1 && d->launches.shorter == 1 && d->launches.shorter_ns == 1000);
    assert_true(d->launches.queues[0].most == 2 && d->launches.queues[1].most == 1);
    assert_int_equal(d->health.graph_kernels, 3);
    assert_int_equal(d->health.unlinked_kernels, 0);
    hu_digest_free(d);
}

/* after 1000: compute [0,10), communication [5,15), copies [8,20) and [30,32); a device that begins at 0 would be one without times */
static void overlaps_are_told_apart(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" KERNEL("k", "7", "1000", "10", "0") "," KERNEL("ncclDevKernel_AllReduce", "8", "1005", "10", "0") ","
                             "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\",\"pid\":0,\"tid\":9,\"ts\":1008,"
                             "\"dur\":12,\"args\":{\"stream\":9,\"bytes\":24000}},"
                             "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\",\"pid\":0,\"tid\":9,\"ts\":1030,"
                             "\"dur\":2,\"args\":{\"stream\":9,\"bytes\":8000}}]");
    /* clang-format on */
    const int64_t *s = d->gpu_time.split_ns;
    int64_t        sum = 0;

    (void)state;
    assert_int_equal(s[HU_PART_COMPUTE], 5000);                                 /* [0,5) */
    assert_int_equal(s[HU_PART_COMPUTE | HU_PART_COMM], 3000);                  /* [5,8) */
    assert_int_equal(s[HU_PART_COMPUTE | HU_PART_COMM | HU_PART_MEMORY], 2000); /* [8,10) */
    assert_int_equal(s[HU_PART_COMM | HU_PART_MEMORY], 5000);                   /* [10,15) */
    assert_int_equal(s[HU_PART_MEMORY], 7000);                                  /* [15,20) [30,32) */
    assert_int_equal(s[HU_PART_COMPUTE | HU_PART_MEMORY], 0);
    assert_int_equal(s[0], 10000);
    for (int i = 0; i < HU_PART_SETS; i++)
        sum += s[i];
    assert_int_equal(sum, d->gpu_time.span_ns);
    assert_int_equal(d->copies.exposed_ns, 7000);
    assert_true(d->copies.at[0].exposed_ns == 5000 && d->copies.at[0].is_pageable);
    assert_true(d->comm.total_ns == 10000 && d->comm.overlapped_ns == 5000 && d->comm.exposed_ns == 5000);
    hu_digest_free(d);
}

#define COLLECTIVE(ts, dur, in, out, name)                                                                         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_X\",\"pid\":0,\"tid\":8,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"stream\":8,\"Collective name\":\"" name "\",\"dtype\":\"BFloat16\",\"In msg nelems\":" in        \
    ",\"Out msg nelems\":" out ",\"Group size\":4,\"Process Group Name\":\"0\",\"Process Group Description\":\"dp\"}}"

/*
 * All-gather of 1000 elements from each of 4: 8000 bytes in 4 µs is 2 GB/s, times 3/4 on the bus.
 * All-reduce of 3000: 6000 bytes in 3 µs is 2 GB/s, times 2 * 3/4.  Twice, the second hidden for 1 of its 3.
 */
static void collectives_have_bandwidth(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" COLLECTIVE("2", "4", "1000", "4000", "_allgather_base") "," COLLECTIVE("10", "3", "3000", "3000", "allreduce") ","
                             COLLECTIVE("20", "3", "3000", "3000", "allreduce") "," KERNEL("k", "7", "22", "9", "0") "]");
    /* clang-format on */
    const hu_collective *c = d->comm.at;

    (void)state;
    assert_true(d->comm.n == 2 && d->comm.calls == 3 && d->comm.bytes == 8000 + 2 * 6000 && !d->comm.on_host);
    assert_text(c[0].name, "allreduce");
    assert_text(c[0].group, "dp");
    assert_true(c[0].bytes == 6000 && c[0].duration.n == 2 && c[0].exposed_ns == 5000 && c[0].group_size == 4);
    assert_true(fabs(hu_collective_alg_gbps(&c[0]) - 2) < 1e-12 && fabs(hu_collective_bus_gbps(&c[0]) - 3) < 1e-12);
    assert_true(c[1].bytes == 8000 && fabs(hu_collective_bus_gbps(&c[1]) - 1.5) < 1e-12);
    hu_digest_free(d);
}

#define MEMORY(ts, address, bytes, total)                                                                              \
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts     \
    ",\"args\":{\"Addr\":" address ",\"Bytes\":" bytes ",\"Device Type\":1,\"Device Id\":0,\"Total Allocated\":" total \
    ",\"Total Reserved\":9000}}"

/*
 * 500 bytes are held before.  mm [10,20) takes 100 for good and 30 that it gives back itself; backward [50,60) gives
 * the 100 back and takes 200; the optimizer [70,80) takes 40 and keeps them.
 *   held     500  600  630  600 | 800  700 | 740             peak 800 at 52: before 500, activation 100, gradient 200
 */
static void memory_at_the_peak_has_holders(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" OP("aten::mm", "1", "10", "10") "," MEMORY("12", "1", "100", "600") "," MEMORY("13", "2", "30", "630") ","
                             MEMORY("14", "2", "-30", "600") "," OP("autograd::engine::evaluate_function: MmBackward0", "1", "50", "10") ","
                             MEMORY("52", "3", "200", "800") "," MEMORY("55", "1", "-100", "700") "," USER("Optimizer.step#SGD.step", "70", "10") ","
                             MEMORY("75", "4", "40", "740") "]");
    /* clang-format on */
    const hu_memory_pool *p = &d->memory.at[0];

    (void)state;
    assert_int_equal(d->memory.n, 1);
    assert_text(p->name, "cuda:0");
    assert_true(p->peak_bytes == 800 && p->peak_ns == 52000 && p->first_bytes == 500 && p->last_bytes == 740 &&
                !p->is_relative);
    assert_true(p->allocations == 4 && p->frees == 2 && p->allocated_bytes == 370 && p->reserved_bytes == 9000);
    assert_int_equal(p->peak_by[HU_MEMORY_BEFORE], 500);
    assert_int_equal(p->peak_by[HU_MEMORY_ACTIVATION], 100);
    assert_int_equal(p->peak_by[HU_MEMORY_GRADIENT], 200);
    assert_int_equal(p->peak_by[HU_MEMORY_TEMPORARY], 0);
    assert_true(d->memory.n_holders == 2 && d->memory.holders[0].bytes == 200);
    assert_text(d->memory.holders[1].op, "aten::mm");
    assert_int_equal(p->leak, HU_LEAK_UNKNOWN);
    hu_digest_free(d);
}

/* Eight steps; each takes `keep` bytes that it does not give back: slope `keep`, and a trend with p < 0.01. */
static hu_digest *steps_that_keep(int keep)
{
    char text[8192];
    int  n = snprintf(text, sizeof text, "["), total = 1000;

    for (int i = 0; i < 8; i++) {
        total += keep;
        /* clang-format off */
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s" USER("ProfilerStep#%d", "%d", "100") "," MEMORY("%d", "%d", "%d", "%d") "," MEMORY("%d", "77", "50", "%d") ","
                      MEMORY("%d", "77", "-50", "%d"),
                      i ? "," : "", i, i * 100, i * 100 + 10, 100 + i, keep ? keep : 1, total, i * 100 + 20, total + 50, i * 100 + 30,
                      total);
        /* clang-format on */
    }
    snprintf(text + n, sizeof text - (size_t)n, "]");
    return digest_of(text);
}

static void a_leak_has_a_slope(void **state)
{
    hu_digest *d = steps_that_keep(100), *e = steps_that_keep(0);

    (void)state;
    assert_true(d->memory.at[0].steps == 8 && d->memory.at[0].slope_bytes == 100);
    assert_true(d->memory.at[0].growth_p < 0.01 && d->memory.at[0].leak == HU_LEAK_YES);
    assert_true(e->memory.at[0].slope_bytes == 0 && e->memory.at[0].growth_p == 1 && e->memory.at[0].leak == HU_LEAK_NO);
    hu_digest_free(d);
    hu_digest_free(e);
}

#define SEQUENCE(name, ts, dur, sequence, thread)                                                           \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"Sequence number\":" sequence ",\"Fwd thread id\":" thread "}}"

/* backward node [100,200) runs mm [110,150) with kernel 20 again, and a plain mul [160,170) with kernel 3 that it needs. */
static void recomputed_operators_are_found(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" SEQUENCE("aten::mm", "10", "40", "1", "0") "," CALL("cudaLaunchKernel", "12", "1", "1") ","
                             KERNEL("gemm", "7", "15", "20", "1") "," SEQUENCE("CheckpointFunctionBackward", "100", "100", "5", "1") ","
                             SEQUENCE("aten::mm", "110", "40", "8", "0") "," CALL("cudaLaunchKernel", "112", "1", "2") ","
                             KERNEL("gemm", "7", "115", "20", "2") "," OP("aten::mul", "1", "160", "10") ","
                             CALL("cudaLaunchKernel", "161", "1", "3") "," KERNEL("mul", "7", "165", "3", "3") "]");
    /* clang-format on */

    (void)state;
    assert_true(d->overheads.recompute_calls == 1 && d->overheads.recompute_host_ns == 40000);
    assert_true(d->overheads.recompute_device_ns == 20000 && d->overheads.device_ns == 43000);
    assert_text(d->overheads.recomputed[0].name, "aten::mm");
    hu_digest_free(d);
}

/* The same node without any numbers: all that it runs is forward, but for the backward node [170,190) that it starts. */
static void a_checkpoint_is_known_by_its_name(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" OP("CheckpointFunctionBackward", "1", "100", "100") "," OP("aten::mm", "1", "110", "40") ","
                             CALL("cudaLaunchKernel", "112", "1", "2") "," KERNEL("gemm", "7", "115", "20", "2") ","
                             OP("autograd::engine::evaluate_function: MmBackward0", "1", "170", "20") ","
                             OP("aten::mm", "1", "171", "10") "," CALL("cudaLaunchKernel", "172", "1", "3") ","
                             KERNEL("gemm", "7", "175", "7", "3") "]");
    /* clang-format on */

    (void)state;
    assert_true(d->overheads.recompute_calls == 1 && d->overheads.recompute_host_ns == 40000);
    assert_true(d->overheads.recompute_device_ns == 20000 && d->overheads.device_ns == 27000);
    hu_digest_free(d);
}

#define FRAME(name, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}"

/* train.py calls a module, which calls a linear layer; item() in train.py waits for the device. */
/* clang-format off */
#define STACKED                                                                                                      \
    "[" FRAME("train.py(9): step", "0", "100") "," FRAME("nn.Module: Net_0", "10", "50") "," FRAME("nn.Module: Linear_1", "20", "30") "," \
    FRAME("<built-in function linear>", "21", "28") "," OP("aten::mm", "1", "22", "20") "," CALL("cudaLaunchKernel", "23", "2", "1") "," \
    KERNEL("gemm", "7", "30", "40", "1") "," OP("aten::item", "1", "70", "20") "," CALL("cudaStreamSynchronize", "72", "15", "0") "," \
    FRAME("Python GC", "95", "4") "]"
/* clang-format on */

static const hu_operator *operator_named(const hu_digest *d, const char *name)
{
    for (size_t i = 0; i < d->operators.n; i++)
        if (hu_str_equal(d->operators.at[i].name, hu_str_of(name)))
            return &d->operators.at[i];
    fail_msg("no operator %s", name);
    return NULL;
}

static void operators_know_their_module_and_stack(void **state)
{
    hu_digest *d = digest_with(STACKED, HU_GROUP_MODULE), *e = digest_with(STACKED, HU_GROUP_STACK);

    (void)state;
    assert_text(operator_named(d, "aten::mm")->group, "Net_0/Linear_1");
    assert_text(operator_named(d, "aten::item")->group, "");
    assert_text(operator_named(e, "aten::mm")->group, "Linear_1 < Net_0 < train.py(9): step");
    assert_true(e->calls.n_waits == 1 && e->calls.wait_ns == 15000);
    assert_text(e->calls.waits[0].call, "cudaStreamSynchronize");
    assert_text(e->calls.waits[0].op, "aten::item");
    assert_text(e->calls.waits[0].stack, "train.py(9): step");
    assert_true(e->overheads.gc_recorded && e->overheads.gc_calls == 1 && e->overheads.gc_ns == 4000);
    hu_digest_free(d);
    hu_digest_free(e);
}

/* linear [0,50) calls t [1,5) and mm [10,40), twice: each path is one node with the sums of both. */
static void calls_make_a_tree(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" OP("linear", "1", "0", "50") "," OP("t", "1", "1", "4") "," OP("mm", "1", "10", "30") ","
                             OP("linear", "1", "100", "50") "," OP("t", "1", "101", "4") "," OP("mm", "1", "110", "30") ","
                             CALL("cudaLaunchKernel", "112", "2", "1") "," KERNEL("k", "7", "120", "9", "1") "]");
    /* clang-format on */
    const hu_tree_node *n = d->tree.at;

    (void)state;
    assert_int_equal(d->tree.n, 3);
    assert_text(n[0].name, "linear");
    assert_text(n[1].name, "mm"); /* has the device work, so it comes first */
    assert_text(n[2].name, "t");
    assert_true(n[0].calls == 2 && n[0].depth == 0 && n[0].host_total_ns == 100000 && n[0].host_self_ns == 32000);
    assert_true(n[1].depth == 1 && n[1].parent == 0 && n[1].device_total_ns == 9000 && n[2].parent == 0);
    assert_int_equal(n[0].device_total_ns, 9000);
    hu_digest_free(d);
}

/* clang-format off */
#define LAUNCH3(base, id)                                                                                            \
    OP("softmax", "1", #base, "90") "," CALL("cudaLaunchKernel", #base ".1", "1", #id "1") ","                         \
    CALL("cudaLaunchKernel", #base ".2", "1", #id "2") "," CALL("cudaLaunchKernel", #base ".3", "1", #id "3") ","       \
    KERNEL("max", "7", #base ".4", "1", #id "1") "," KERNEL("exp", "7", #base ".6", "2", #id "2") "," KERNEL("sum", "7", #base ".9", "3", #id "3")
/* clang-format on */

static void repeated_kernels_make_a_sequence(void **state)
{
    hu_digest *d = digest_of("[" LAUNCH3(100, 1) "," LAUNCH3(200, 2) "," LAUNCH3(300, 3) "]");

    (void)state;
    assert_int_equal(d->sequences.n, 1);
    assert_text(d->sequences.at[0].op, "softmax");
    assert_text(d->sequences.at[0].kernels, "max → exp → sum");
    assert_true(d->sequences.at[0].count == 3 && d->sequences.at[0].length == 3 && d->sequences.at[0].device_ns == 18000);
    hu_digest_free(d);
}

static const struct {
    const char      *name, *label;
    hu_kernel_family family;
    const char      *library;
    hu_tensor_use    tensor;
    bool             is_plain_fp32;
    /* clang-format off */
} names[] = {
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)",
     "vectorized_elementwise_kernel: CUDAFunctor_add", HU_FAMILY_ELEMENTWISE, "PyTorch", HU_TENSOR_NO},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(int)", "cunn_SoftMaxForward", HU_FAMILY_SOFTMAX,
     "PyTorch", HU_TENSOR_NO},
    {"ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_nn", "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_nn", HU_FAMILY_GEMM, "cuBLAS",
     HU_TENSOR_YES},
    {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", HU_FAMILY_GEMM, "cuBLAS", HU_TENSOR_NO, true},
    {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", HU_FAMILY_GEMM, "cuBLAS", HU_TENSOR_YES},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_MT256x192x64_MI16x16x1_SN", "Cijk_Alik_Bljk_BBS_BH_Bias_MT256x192x64_MI16x16x1_SN", HU_FAMILY_GEMM,
     "Tensile", HU_TENSOR_YES},
    {"triton_poi_fused_add_0", "triton_poi_fused_add_0", HU_FAMILY_FUSED, "Triton", HU_TENSOR_UNKNOWN},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Flash_fwd_params)", "flash_fwd_kernel", HU_FAMILY_ATTENTION,
     "FlashAttention", HU_TENSOR_YES},
    {"_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3IfE", "kernel_grouped_conv_fwd_xdl_cshuffle_v3",
     HU_FAMILY_CONVOLUTION, "CK", HU_TENSOR_YES},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(int)", "bn_fw_tr_1C11_kernel_NCHW", HU_FAMILY_NORMALIZATION,
     "cuDNN", HU_TENSOR_NO},
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(long)", "multi_tensor_apply_kernel: AdamFunctor",
     HU_FAMILY_OPTIMIZER, "", HU_TENSOR_NO},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", HU_FAMILY_GEMM, "",
     HU_TENSOR_UNKNOWN},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__51_cublas",
     "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__51_cublas",
     HU_FAMILY_GEMM, "cuBLAS", HU_TENSOR_NO, true},
    {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
     "volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", HU_FAMILY_CONVOLUTION, "cuDNN", HU_TENSOR_YES},
    {"attn_fwd", "attn_fwd", HU_FAMILY_ATTENTION, "", HU_TENSOR_UNKNOWN},
    {"matmul_kernel", "matmul_kernel", HU_FAMILY_GEMM, "", HU_TENSOR_UNKNOWN},
    {"ampere_fp16_sgemm_fp16_128x64_tn", "ampere_fp16_sgemm_fp16_128x64_tn", HU_FAMILY_GEMM, "cuBLAS", HU_TENSOR_NO},
    {"Cijk_Ailk_Bljk_SB_MT128x64x16_SE_K1", "Cijk_Ailk_Bljk_SB_MT128x64x16_SE_K1", HU_FAMILY_GEMM, "Tensile", HU_TENSOR_NO, true},
    {"cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", HU_FAMILY_CONVOLUTION,
     "cuDNN", HU_TENSOR_NO, true},
    {"<lambda>", "<lambda>", HU_FAMILY_OTHER, "", HU_TENSOR_UNKNOWN},
    {"", "", HU_FAMILY_OTHER, "", HU_TENSOR_UNKNOWN},
    {"_Z999999999999999999999x", "_Z999999999999999999999x", HU_FAMILY_OTHER, "", HU_TENSOR_UNKNOWN},
};
/* clang-format on */

static void kernel_names_are_read(void **state)
{
    hu_arena        *arena = hu_arena_new();
    hu_kernel_reader reader;

    (void)state;
    hu_kernel_reader_init(&reader);
    for (size_t i = 0; i < HU_COUNT(names); i++) {
        hu_kernel_name k;

        assert_true(hu_kernel_name_read(&reader, hu_str_of(names[i].name), false, arena, &k));
        assert_text(k.label, names[i].label);
        if (k.family != names[i].family || k.tensor != names[i].tensor || k.is_plain_fp32 != names[i].is_plain_fp32)
            fail_msg("%s: family %s, tensor %d", names[i].name, hu_kernel_family_key(k.family), k.tensor);
        assert_text(k.library, names[i].library);
    }
    hu_arena_free(arena);
}

/*
 * H100, 256 threads = 8 warps.  40 registers: 1280 a warp, 51 warps, in fours 48: 6 blocks.  100 KiB of shared memory and 1 for
 * the system: 2 blocks of 228 KiB.  A100, 1024 threads, 32 registers: 2 blocks by warps.
 */
static void blocks_fit_as_the_calculator_says(void **state)
{
    const hu_device h100 = {.major = 9, .minor = 0}, a100 = {.major = 8, .minor = 0}, mi300 = {.major = 9, .minor = 4};

    (void)state;
    assert_int_equal(hu_occupancy_blocks(&h100, 256, 40, 0), 6);
    assert_int_equal(hu_occupancy_blocks(&h100, 256, 40, 100 << 10), 2);
    assert_int_equal(hu_occupancy_blocks(&h100, 32, 16, 0), 32);
    assert_int_equal(hu_occupancy_blocks(&a100, 1024, 32, 0), 2);
    assert_int_equal(hu_occupancy_blocks(&a100, 1024, 255, 0), 0);
    assert_int_equal(hu_occupancy_blocks(&mi300, 256, 40, 0), 0);
    assert_int_equal(hu_occupancy_blocks(&h100, 0, 40, 0), 0);
}

/* 4 multiprocessors.  A: 2 blocks for [100,110), B: 36 blocks for [105,115): 5 * 1/2 + 10 * 1 of 15. */
static void multiprocessors_are_filled_over_time(void **state)
{
    hu_digest *d = digest_of(
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\",\"numSms\":4,\"computeMajor\":9,\"computeMinor\":0}],\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"A\",\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":10,\"args\":{\"device\":0,\"stream\":7,"
        "\"grid\":[2,1,1],\"block\":[256,1,1],\"registers per thread\":40,\"shared memory\":0}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"B\",\"pid\":0,\"tid\":8,\"ts\":105,\"dur\":10,\"args\":{\"device\":0,\"stream\":8,"
        "\"grid\":[36,1,1],\"block\":[256,1,1],\"registers per thread\":40,\"shared memory\":0}}]}");

    (void)state;
    assert_true(fabs(d->kernels.sm_busy_ns - 12500) < 1e-6 && fabs(d->kernels.sm_known_ns - 15000) < 1e-6);
    for (size_t i = 0; i < 2; i++) { /* 4 * 6 blocks at once: A 2/24 of a wave, B 36/24 = 1.5 waves of 2 */
        const hu_kernel *k = &d->kernels.at[i];
        const bool       is_a = hu_str_equal(k->name, HU_STR("A"));

        assert_true(fabs(hu_kernel_waves(k) - (is_a ? 2.0 / 24 : 1.5)) < 1e-12);
        assert_true(fabs(hu_kernel_tail_pct(k) - (is_a ? 100 * 2.0 / 24 : 75)) < 1e-9);
        assert_true(fabs(hu_kernel_sm_pct(k) - (is_a ? 50 : 100)) < 1e-12);
    }
    hu_digest_free(d);
}

/* Merging two ranks adds them, and the order does not matter. */
static void ranks_are_merged(void **state)
{
    hu_digest *d[2] = {digest_of(LATE_HOST), digest_of(STACKED)}, *r[2] = {d[1], d[0]}, *a, *b;
    hu_error   err = {0};

    (void)state;
    a = hu_digest_merge(d, 2, &err);
    b = hu_digest_merge(r, 2, &err);
    assert_true(a && b);
    assert_int_equal(a->gpu_time.busy_ns, d[0]->gpu_time.busy_ns + d[1]->gpu_time.busy_ns);
    assert_int_equal(a->kernels.n, 6);
    assert_int_equal(a->kernels.total_ns, 28000 + 40000);
    assert_true(a->launches.launches == 5 && a->launches.n == 5 && isnan(a->launches.delay.median));
    assert_int_equal(a->launches.delay.sum, d[0]->launches.delay.sum + d[1]->launches.delay.sum);
    assert_int_equal(a->idle.idle_ns, 83000);
    assert_int_equal(operator_named(a, "cudaLaunchKernel")->calls, 5);
    assert_true(a->calls.wait_ns == 21000 && a->calls.n_waits == 2);
    assert_int_equal(a->operators.n, b->operators.n);
    for (size_t i = 0; i < a->operators.n; i++)
        assert_true(a->operators.at[i].calls == b->operators.at[i].calls &&
                    hu_str_equal(a->operators.at[i].name, b->operators.at[i].name));
    assert_int_equal(a->tree.n, b->tree.n);
    for (size_t i = 0; i < a->tree.n; i++)
        assert_true(hu_str_equal(a->tree.at[i].name, b->tree.at[i].name) && a->tree.at[i].parent == b->tree.at[i].parent);
    hu_digest_free(a);
    hu_digest_free(b);
    hu_digest_free(d[0]);
    hu_digest_free(d[1]);
}

/* Samples merged are the sample of both, but for what needs an order. */
static void samples_are_merged(void **state)
{
    int64_t  all[] = {5, 1, 9, 4, 4, 100}, one[] = {5, 1}, two[] = {9, 4, 4, 100};
    hu_stats whole = hu_stats_of(all, 6), a = hu_stats_of(one, 2), b = hu_stats_of(two, 4);

    (void)state;
    hu_stats_merge(&a, &b);
    assert_true(a.n == 6 && a.sum == whole.sum && a.min == 1 && a.max == 100);
    assert_true(fabs(a.mean - whole.mean) < 1e-9 && fabs(a.stddev - whole.stddev) < 1e-9 && isnan(a.median));
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Random, constant, sorted, and what makes a naive quicksort slow. */
static void integers_are_sorted(void **state)
{
    enum { MOST = 5000 };
    static int64_t a[MOST], b[MOST];
    uint64_t       seed = 1;

    (void)state;
    for (int shape = 0; shape < 5; shape++) {
        for (size_t n = 0; n < MOST; n = n < 70 ? n + 1 : n * 3) {
            for (size_t i = 0; i < n; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                a[i] = b[i] = shape == 0   ? (int64_t)seed
                              : shape == 1 ? 7
                              : shape == 2 ? (int64_t)i
                              : shape == 3 ? -(int64_t)i
                                           : (int64_t)(seed >> 62);
            }
            hu_sort_i64(a, n);
            qsort(b, n, sizeof *b, by_value);
            assert_true(n == 0 || memcmp(a, b, n * sizeof *a) == 0);
        }
    }
}

static void one_of_sorted_integers_is_selected(void **state)
{
    enum { MOST = 3000 };
    static int64_t a[MOST], b[MOST];
    uint64_t       seed = 1;

    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        for (size_t n = 1; n < MOST; n = n < 70 ? n + 1 : n * 3) {
            const size_t places[] = {0, n / 4, n / 2, n - 1};

            for (size_t p = 0; p < HU_COUNT(places); p++) {
                for (size_t i = 0; i < n; i++) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    a[i] = b[i] = shape == 0   ? (int64_t)seed
                                  : shape == 1 ? INT64_MAX
                                  : shape == 2 ? (int64_t)i
                                               : (int64_t)(seed >> 62);
                }
                qsort(b, n, sizeof *b, by_value);
                assert_true(hu_sort_nth_i64(a, n, places[p]) == b[places[p]]);
                qsort(a, n, sizeof *a, by_value);
                assert_true(memcmp(a, b, n * sizeof *a) == 0); /* moved, not changed */
            }
        }
    }
}

/* Times that ascend and some that do not, before, in, between and behind the windows. */
static void a_window_is_found_near_the_last(void **state)
{
    static const int64_t times_ns[] = {0, 10, 19, 20, 25, 30, 39, 45, 12, 50, 60, 99, 5, 35, 40, 20, 10, 70};
    hu_interval          at[] = {{10, 20}, {20, 30}, {35, 40}, {50, 60}};
    size_t               near = 0, none = 0;

    (void)state;
    for (size_t n = 0; n <= HU_COUNT(at); n++) {
        const hu_intervals windows = {.at = at, .n = n};

        near = 0;
        for (size_t i = 0; i < HU_COUNT(times_ns); i++)
            assert_int_equal(hu_select_in_near(&windows, times_ns[i], &near), hu_select_in(&windows, times_ns[i]));
    }
    assert_false(hu_select_in_near(&(hu_intervals){0}, 10, &none));
}

static void words_are_found(void **state)
{
    static const char *const list[] = {"soft", "max", "a", "axe"};
    hu_words                 w;

    (void)state;
    hu_words_init(&w, list, HU_COUNT(list));
    assert_int_equal(hu_words_find(&w, HU_STR("a softmax")), 0);
    assert_int_equal(hu_words_find(&w, HU_STR("a max")), 1);
    assert_int_equal(hu_words_find(&w, HU_STR("axe")), 2);
    assert_int_equal(hu_words_find(&w, HU_STR("sof")), -1);
    assert_int_equal(hu_words_find(&w, HU_STR("")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_time_has_causes),
        cmocka_unit_test(launches_have_delays_and_queues),
        cmocka_unit_test(a_graph_is_one_launch_of_many),
        cmocka_unit_test(overlaps_are_told_apart),
        cmocka_unit_test(collectives_have_bandwidth),
        cmocka_unit_test(memory_at_the_peak_has_holders),
        cmocka_unit_test(a_leak_has_a_slope),
        cmocka_unit_test(recomputed_operators_are_found),
        cmocka_unit_test(a_checkpoint_is_known_by_its_name),
        cmocka_unit_test(operators_know_their_module_and_stack),
        cmocka_unit_test(calls_make_a_tree),
        cmocka_unit_test(repeated_kernels_make_a_sequence),
        cmocka_unit_test(kernel_names_are_read),
        cmocka_unit_test(blocks_fit_as_the_calculator_says),
        cmocka_unit_test(multiprocessors_are_filled_over_time),
        cmocka_unit_test(ranks_are_merged),
        cmocka_unit_test(samples_are_merged),
        cmocka_unit_test(integers_are_sorted),
        cmocka_unit_test(one_of_sorted_integers_is_selected),
        cmocka_unit_test(a_window_is_found_near_the_last),
        cmocka_unit_test(words_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
