/* SPDX-License-Identifier: Apache-2.0
 * test_analyze.c - traces that fit on a page, with the numbers worked out beside them. */
#include <math.h>

#include "advise/verdict.h"
#include "testing.h"

static hu_digest *digest_of(const char *json)
{
    hu_trace  *t = trace_of(json);
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){0}, &err);

    assert_non_null(d);
    hu_trace_free(t); /* a digest outlives its trace */
    return d;
}

static const hu_operator *operator_named(const hu_digest *d, const char *name)
{
    for (size_t i = 0; i < d->operators.n; i++)
        if (hu_str_equal(d->operators.at[i].name, hu_str_of(name)))
            return &d->operators.at[i];
    fail_msg("no operator %s", name);
    return NULL;
}

/*
 *   stream 7  compute   [10,20) [20,30)      [50,60)
 *   stream 8  nccl            [15  ,   40)
 *   stream 9  memcpy                [35,45)
 */
static void overlaps_are_counted_once(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" KERNEL("k", "7", "10", "10", "0") "," KERNEL("k", "7", "20", "10", "0") ","
                             KERNEL("k", "7", "50", "10", "0") "," KERNEL("ncclDevKernel_AllReduce", "8", "15", "25", "0") ","
                             "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pinned)\",\"pid\":0,\"tid\":9,\"ts\":35,"
                             "\"dur\":10,\"args\":{\"stream\":9,\"bytes\":20000}}]");
    /* clang-format on */
    const hu_gpu_time *g = &d->gpu_time;

    (void)state;
    assert_int_equal(g->span_ns, 50000);
    assert_int_equal(g->busy_ns, 45000); /* [10,45) [50,60) */
    assert_int_equal(hu_gpu_time_idle_ns(g), 5000);
    assert_int_equal(g->compute_ns, 30000);
    assert_int_equal(g->comm_ns, 25000);
    assert_int_equal(g->overlapped_comm_ns, 15000); /* [15,30) */
    assert_int_equal(hu_gpu_time_exposed_comm_ns(g), 10000);
    assert_int_equal(g->exposed_memcpy_ns, 5000); /* [40,45) */
    assert_true(hu_copy_gbps(&d->copies.at[0]) == 2.0);
    assert_int_equal(d->kernels.n, 2);
    assert_true(d->kernels.at[0].calls == 3 && d->kernels.at[0].total_ns == 30000 && !d->kernels.at[0].is_comm);
    assert_true(d->kernels.at[1].is_comm);
    assert_int_equal(d->health.unlinked_kernels, 5);
    hu_digest_free(d);
}

/* outer [0.1,100): mm [10,40) launches 20 us of kernel; the driver's call takes 5; relu [50,60) launches nothing. */
static void self_and_total_times(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" USER("outer", "0.1", "99.9") "," OP("mm", "1", "10", "30") "," OP("relu", "1", "50", "10") ","
                             CALL("cudaLaunchKernel", "20", "5", "3") "," KERNEL("k", "7", "25", "20", "3") "]");
    /* clang-format on */
    const hu_operator *outer = operator_named(d, "outer"), *mm = operator_named(d, "mm");

    (void)state;
    assert_int_equal(outer->host_total_ns, 99900);
    assert_int_equal(outer->host_self_ns, 99900 - 30000 - 10000);
    assert_int_equal(mm->host_self_ns, 25000);
    assert_int_equal(operator_named(d, "cudaLaunchKernel")->host_self_ns, 5000);
    assert_true(mm->device_self_ns == 20000 && mm->device_total_ns == 20000);
    assert_true(outer->device_self_ns == 0 && outer->device_total_ns == 20000);
    assert_int_equal(d->operators.host_self_sum_ns, 99900);
    hu_digest_free(d);
}

#define LOADER(ts, dur) USER("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ts, dur)

/*
 * Three steps of 100 us.  Each waits 60 for data, then launches a kernel that runs from +70 to +110, which is 10 after the
 * host's end of the step: so steps end at 110, 210, 310 and the second and third are 100 long.
 */
static void steps_own_the_work_they_launched(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of(
        "[" USER("ProfilerStep#1", "1000", "100") "," LOADER("1000", "60") "," CALL("cudaLaunchKernel", "1062", "2", "1") ","
        KERNEL("k", "7", "1070", "40", "1") "," USER("ProfilerStep#2", "1100", "100") "," LOADER("1100", "60") ","
        CALL("cudaLaunchKernel", "1162", "2", "2") "," KERNEL("k", "7", "1170", "40", "2") "," USER("ProfilerStep#3", "1200", "100") ","
        LOADER("1200", "60") "," CALL("cudaLaunchKernel", "1262", "2", "3") "," KERNEL("k", "7", "1270", "40", "3") "]");
    /* clang-format on */
    const hu_step_time *t;
    hu_verdict          v;

    (void)state;
    assert_int_equal(d->steps.source, HU_STEPS_PROFILER);
    assert_int_equal(d->steps.n, 3);
    assert_true(d->steps.at[0].end_ns == 1110000 && d->steps.at[1].start_ns == 1110000 && d->steps.at[2].end_ns == 1310000);
    t = &d->breakdown.at[1]; /* [1110,1210): loader to 1160, call [1162,1164), kernel [1170,1210) */
    assert_true(t->step_ns == 100000 && t->compute_ns == 40000 && t->idle_ns == 60000);
    assert_true(t->role_ns[HU_ROLE_KERNEL] == 40000 && t->role_ns[HU_ROLE_DATA_LOADER] == 50000);
    assert_true(t->role_ns[HU_ROLE_RUNTIME] == 2000 && t->role_ns[HU_ROLE_OTHER] == 8000);
    /* listed, the first step is 110 long, from a mark to an end of GPU work; two ends of one kind are 100 apart */
    assert_true(d->steps.n_counted == 3 && d->steps.duration.mean == 100000 && d->breakdown.mean.step_ns == 100000);
    assert_int_equal(d->kernels.at[0].calls_in_steps, 3);
    hu_verdict_measure(&d, &(hu_findings *){NULL}, 1, NULL, &v);
    assert_int_equal(v.confidence, HU_CONFIDENCE_HIGH);
    assert_non_null(strstr(v.text, "data loader"));
    hu_digest_free(d);
}

static void a_slow_first_step_and_a_cut_last_one_do_not_count(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of(
        "[" USER("ProfilerStep#1", "1000", "500") "," CALL("cudaLaunchKernel", "1010", "2", "1") "," KERNEL("k", "7", "1020", "9", "1") ","
        USER("ProfilerStep#2", "1500", "100") "," CALL("cudaLaunchKernel", "1510", "2", "2") "," KERNEL("k", "7", "1520", "9", "2") ","
        USER("ProfilerStep#3", "1600", "100") "," CALL("cudaLaunchKernel", "1610", "2", "3") "," KERNEL("k", "7", "1620", "9", "3") ","
        USER("ProfilerStep#4", "1700", "100") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(d->steps.n, 4);
    assert_true(d->steps.at[0].is_warm_up && d->steps.at[3].is_incomplete);
    assert_int_equal(d->steps.n_counted, 2);
    assert_true(d->steps.duration.mean == 100000);
    hu_digest_free(d);
}

static void annotations_that_recur_are_steps(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[" USER("request", "0", "80") "," USER("request", "100", "80") "," USER("request", "200", "80") ","
                             USER("once", "10", "20") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(d->steps.source, HU_STEPS_ANNOTATION);
    assert_true(hu_str_equal(d->steps.what, HU_STR("request")));
    assert_int_equal(d->steps.n, 3);
    assert_int_equal(d->steps.at[0].end_ns, 100000); /* from one start to the next */
    hu_digest_free(d);
}

static void work_that_repeats_has_steps(void **state)
{
    char       text[65536] = "[";
    size_t     n = 1;
    hu_digest *d;

    (void)state;
    for (int step = 0; step < 6; step++) {
        static const char *const names[] = {"load", "layer", "layer", "layer", "loss", "update"};

        for (size_t i = 0; i < HU_COUNT(names); i++)
            n += (size_t)snprintf(
                text + n, sizeof text - n,
                "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":8}",
                step || i ? "," : "", names[i], 1000 + step * 100 + (int)i * 10);
    }
    snprintf(text + n, sizeof text - n, "]");
    d = digest_of(text);
    assert_int_equal(d->steps.source, HU_STEPS_STRUCTURE);
    assert_int_equal(d->steps.n, 5); /* the sixth has no next start */
    assert_true(d->steps.duration.median == 100000);
    assert_true(d->steps.confidence > 0.95);
    hu_digest_free(d);
}

static void without_steps_the_capture_is_one_piece(void **state)
{
    hu_digest *d = digest_of("[" OP("a", "1", "5", "10") "," OP("b", "1", "25", "10") "]");

    (void)state;
    assert_int_equal(d->steps.source, HU_STEPS_NONE);
    assert_int_equal(hu_digest_step_count(d), 0);
    assert_true(d->breakdown.at[0].step_ns == 30000 && d->breakdown.at[0].role_ns[HU_ROLE_OTHER] == 10000);
    assert_true(d->health.missing & 1u << HU_MISSING_STEPS);
    hu_digest_free(d);
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps_are_counted_once), cmocka_unit_test(self_and_total_times),
        cmocka_unit_test(steps_own_the_work_they_launched), cmocka_unit_test(a_slow_first_step_and_a_cut_last_one_do_not_count),
        cmocka_unit_test(annotations_that_recur_are_steps), cmocka_unit_test(work_that_repeats_has_steps),
        cmocka_unit_test(without_steps_the_capture_is_one_piece),
    };
    /* clang-format on */

    return cmocka_run_group_tests(tests, NULL, NULL);
}
