/* SPDX-License-Identifier: Apache-2.0
 * test_parallelism.c - phases of a step, calls brought to one form, and rules, each on a few events. */
#include <math.h>

#include "analyze/digest.h"
#include "analyze/stages.h"
#include "testing.h"

static hu_digest *digest_of(const char *json)
{
    hu_trace  *t = trace_of(json);
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){.frames = 5}, &err);

    assert_non_null(d);
    hu_trace_free(t);
    return d;
}

static void assert_text(hu_str s, const char *expected)
{
    if (!hu_str_equal(s, hu_str_of(expected)))
        fail_msg("\"%.*s\" is not \"%s\"", HU_FMT(s), expected);
}

#define NODE(name, ts, dur, sequence)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"Sequence number\":" sequence ",\"Fwd thread id\":1}}"
#define FORWARD(ts, dur, sequence)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"Sequence number\":" sequence ",\"Fwd thread id\":0}}"
#define COMM(name, ts, dur, correlation, elements)                                                       \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"pid\":0,\"tid\":20,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"device\":0,\"stream\":20,\"correlation\":" correlation ",\"Collective name\":\"" name  \
    "\",\"dtype\":\"Float\",\"In msg nelems\":" elements ",\"Out msg nelems\":" elements ",\"Group size\":4}}"

/*
 *   main      step [0,200)    mm [10,20)    item [65,66)     Optimizer.step [80,90)       step [200,400)  mm [210,220)
 *   autograd                          node [30,40)  node [50,60)                                             node [240,250)
 *   forward [10,30), because a backward follows; backward [30,80), up to the optimizer; item is no forward pass
 */
/* clang-format off */
#define STEPS                                                                                                               \
    USER("ProfilerStep#1", "0", "200") "," USER("ProfilerStep#2", "200", "200") "," FORWARD("10", "10", "5") ","            \
    NODE("MmBackward0", "30", "10", "5") "," NODE("MmBackward0", "50", "10", "3") "," FORWARD("65", "1", "6") ","           \
    USER("Optimizer.step#SGD.step", "80", "10") "," FORWARD("210", "10", "7") "," NODE("MmBackward0", "240", "10", "7")
/* clang-format on */

static void phases_of_a_step(void **state)
{
    hu_digest          *d = digest_of("[" STEPS "]");
    const hu_phase_row *row = d->phases.at;

    (void)state;
    assert_int_equal(d->phases.n, 4); /* nothing marks data, or a checkpoint */
    assert_int_equal(row[HU_PHASE_FORWARD].host_ns, 20000 + 30000);
    assert_int_equal(row[HU_PHASE_BACKWARD].host_ns, 50000 + 10000);
    assert_int_equal(row[HU_PHASE_OPTIMIZER].host_ns, 10000);
    assert_int_equal(row[3].phase, HU_PHASE_OTHER);
    assert_int_equal(row[3].host_ns, 400000 - 120000);
    assert_int_equal(d->phases.sources, HU_PHASE_BY_AUTOGRAD | HU_PHASE_BY_OPTIMIZER);
    assert_true(d->parallelism.is_training && !d->parallelism.summary.n);
    hu_digest_free(d);
}

static void words_of_ranges(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" USER("## forward ##", "0", "10") "," USER("FSDP::post_backward_reduce (layers.1)", "20", "10") ","
                             USER("forward-backward", "40", "10") "," USER("straightforward", "60", "10") ","
                             USER("DeepSpeedEngine.step", "80", "10") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(d->phases.at[HU_PHASE_FORWARD].host_ns, 20000);  /* up to backward */
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].host_ns, 60000); /* up to the optimizer */
    assert_int_equal(d->phases.at[HU_PHASE_OPTIMIZER].host_ns, 10000);
    hu_digest_free(d);
}

/* Launched in backward, runs behind the optimizer: it is backward's.  The second step has no device work and does not count. */
static void device_work_belongs_to_its_launch(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" STEPS "," CALL("cudaLaunchKernel", "45", "1", "1") "," COMM("allreduce", "95", "7", "1", "1024") ","
                             CALL("cudaLaunchKernel", "32", "1", "2") "," KERNEL("k", "7", "96", "4", "2") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].comm_ns[HU_PHASE_REDUCE], 7000);
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].compute_ns, 4000);
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].exposed_ns, 3000);
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].bytes, 4096);
    assert_int_equal(d->phases.at[HU_PHASE_OPTIMIZER].calls, 0);
    assert_text(d->parallelism.summary, "DDP over 4 ranks");
    assert_true(d->parallelism.buckets == 1 && d->parallelism.first_bucket == 4096);
    assert_true(d->parallelism.during_backward_pct == 100);
    hu_digest_free(d);
}

static void a_scalar_is_no_gradient(void **state)
{
    hu_digest *d = digest_of("[" STEPS
                             "," CALL("cudaLaunchKernel", "45", "1", "1") "," COMM("allreduce", "95", "7", "1", "16") "]");

    (void)state;
    assert_text(d->parallelism.summary, "");
    assert_int_equal(d->phases.at[HU_PHASE_BACKWARD].calls, 1);
    hu_digest_free(d);
}

static void kinds_of_names(void **state)
{
    static const struct {
        const char     *name;
        hu_traffic_kind kind;
    } names[] = {
        {"_allgather_base", HU_TRAFFIC_ALL_GATHER},
        {"void ep::internode::dispatch<true, 8>(int4*, float*)", HU_TRAFFIC_ALL_TO_ALL},
        {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(__nv_bfloat16*)", HU_TRAFFIC_ALL_TO_ALL},
        {"void mori::moe::EpDispatchIntraNodeKernel<float>(int)", HU_TRAFFIC_ALL_TO_ALL},
        {"nccl:_all_gather_base", HU_TRAFFIC_ALL_GATHER},
        {"allgather_into_tensor_coalesced", HU_TRAFFIC_ALL_GATHER},
        {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", HU_TRAFFIC_ALL_GATHER},
        {"_reduce_scatter_base", HU_TRAFFIC_REDUCE_SCATTER},
        {"c10d::reduce_scatter_tensor_coalesced_", HU_TRAFFIC_REDUCE_SCATTER},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", HU_TRAFFIC_ALL_REDUCE},
        {"nccl:all_reduce_barrier", HU_TRAFFIC_BARRIER},
        {"c10d::alltoall_base_", HU_TRAFFIC_ALL_TO_ALL},
        {"all_to_allv", HU_TRAFFIC_ALL_TO_ALL},
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>()", HU_TRAFFIC_ALL_REDUCE},
        {"deep_ep::intranode::dispatch", HU_TRAFFIC_ALL_TO_ALL},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", HU_TRAFFIC_EXCHANGE},
        {"nccl:send", HU_TRAFFIC_SEND},
        {"nccl:recv 0<-1", HU_TRAFFIC_RECV},
        {"ncclDevKernel_Broadcast_RING_LL", HU_TRAFFIC_BROADCAST},
        {"nccl:reduce", HU_TRAFFIC_REDUCE},
        {"ncclDevKernel_Generic", HU_TRAFFIC_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_traffic_kind_of(hu_str_of(names[i].name)) != names[i].kind)
            fail_msg("%s is %s", names[i].name, hu_traffic_kind_name(hu_traffic_kind_of(hu_str_of(names[i].name))));
}

static hu_traffic_call call(hu_traffic_kind kind, int64_t peer, hu_slot slot)
{
    return (hu_traffic_call){.kind = kind, .peer = peer, .slot = slot, .bytes = 1 << 20};
}

static void neighbours_tell_a_pipeline_from_a_ring(void **state)
{
    const hu_traffic_group   four = {.size = 4};
    const hu_parallel_traits t = {.is_training = true, .steps = 1, .passes = 2};
    const hu_traffic_call stage[] = {call(HU_TRAFFIC_RECV, 0, HU_SLOT_FORWARD),  call(HU_TRAFFIC_SEND, 2, HU_SLOT_FORWARD),
                                     call(HU_TRAFFIC_RECV, 0, HU_SLOT_FORWARD),  call(HU_TRAFFIC_SEND, 2, HU_SLOT_FORWARD),
                                     call(HU_TRAFFIC_RECV, 2, HU_SLOT_BACKWARD), call(HU_TRAFFIC_SEND, 0, HU_SLOT_BACKWARD),
                                     call(HU_TRAFFIC_RECV, 2, HU_SLOT_BACKWARD), call(HU_TRAFFIC_SEND, 0, HU_SLOT_BACKWARD)};
    const hu_traffic_call ring[] = {call(HU_TRAFFIC_SEND, 2, HU_SLOT_FORWARD), call(HU_TRAFFIC_RECV, 0, HU_SLOT_FORWARD),
                                    call(HU_TRAFFIC_SEND, 2, HU_SLOT_BACKWARD), call(HU_TRAFFIC_RECV, 0, HU_SLOT_BACKWARD)};
    hu_stages             p;

    (void)state;
    hu_stages_judge(stage, HU_COUNT(stage), &four, 1, &t, &p);
    assert_true(p.judgement.kind == HU_PARALLEL_PP && p.microbatches == 2 && p.stages == 4);
    assert_string_equal(p.stage, "middle");
    hu_stages_judge(ring, HU_COUNT(ring), &four, 1, &t, &p);
    assert_int_equal(p.judgement.kind, HU_PARALLEL_CP);
    hu_stages_judge(ring, 1, &four, 1, &t, &p);
    assert_int_equal(p.judgement.kind, HU_PARALLEL_UNKNOWN);
    hu_stages_judge(stage, HU_COUNT(stage), &four, 1, &(hu_parallel_traits){.steps = 1}, &p);
    assert_int_equal(p.judgement.kind, HU_PARALLEL_UNKNOWN);
}

static void ranks_vote(void **state)
{
    hu_digest    a = {.parallelism = hu_parallelism_unknown()}, b = a, none = a;
    hu_digest   *all[] = {&none, &a, &b, &a};
    hu_agreement job;

    (void)state;
    a.parallelism.summary = HU_STR("DDP over 4 ranks");
    b.parallelism.summary = HU_STR("TP over 4 ranks");
    hu_digest_agree(all, 4, &job);
    assert_true(job.said && job.agree == 2 && job.differ == 1 && job.silent == 1);
    assert_text(job.said->summary, "DDP over 4 ranks");
    hu_digest_agree(all, 3, &job); /* one against one */
    assert_null(job.said);
    hu_digest_agree(all, 1, &job);
    assert_true(!job.said && job.silent == 1 && job.agree == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_of_a_step),
        cmocka_unit_test(words_of_ranges),
        cmocka_unit_test(device_work_belongs_to_its_launch),
        cmocka_unit_test(a_scalar_is_no_gradient),
        cmocka_unit_test(kinds_of_names),
        cmocka_unit_test(neighbours_tell_a_pipeline_from_a_ring),
        cmocka_unit_test(ranks_vote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
