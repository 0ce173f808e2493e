/* SPDX-License-Identifier: Apache-2.0
 * test_ground.c - one ground serves a digest and a graph, and outlives neither by accident. */
#include "analyze/digest.h"
#include "simulating.h"

static const char two_steps[] = "[" USER("ProfilerStep#1", "0", "100") "," CALL(
    "cudaLaunchKernel", "10", "5",
    "1") "," KERNEL("k", "7", "20", "70", "1") "," USER("ProfilerStep#2", "100",
                                                        "120") "," CALL("cudaLaunchKernel", "110", "5",
                                                                        "2") "," KERNEL("k", "7", "120", "90",
                                                                                        "2") "," USER("ProfilerStep#3",
                                                                                                      "220", "100") "]";

static void both_start_from_the_same_steps(void **state)
{
    hu_trace      *t = trace_of(two_steps);
    hu_error       err = {0};
    hu_ground     *g = hu_ground_new(t, NULL, &err);
    hu_simulation *s, *alone = hu_simulation_new(t, NULL, NULL, &err);
    hu_digest     *d;

    (void)state;
    assert_non_null(g);
    assert_non_null(alone);
    assert_int_equal(g->ask.n_work, 2);
    assert_null(g->ask.arena); /* nobody may put anything into what threads share */
    assert_null(g->ask.scratch);
    s = hu_simulation_new_on(g, NULL, &err);
    d = hu_digest_measure_on(g, &(hu_digest_options){0}, &err);
    assert_non_null(s);
    assert_non_null(d);
    assert_ptr_equal(s->ask.work, g->ask.work);
    assert_int_equal(hu_arena_bytes(s->scratch), 0); /* what built and checked the graph does not lie beside its prices */
    assert_true(s->graph.step_ns == alone->graph.step_ns);
    assert_true(hu_pricer_step_ns(s->pricer) == hu_pricer_step_ns(alone->pricer));
    hu_simulation_free(s);
    hu_ground_free(g);
    hu_trace_free(t);
    assert_int_equal(d->steps.n, 3); /* the digest keeps its own */
    assert_int_equal(d->steps.at[1].host_start_ns - d->steps.at[0].host_start_ns, 100000);
    assert_int_equal(d->steps.at[2].host_end_ns - d->steps.at[2].host_start_ns, 100000);
    hu_digest_free(d);
    hu_simulation_free(alone);
}

static void a_range_without_steps_is_no_ground(void **state)
{
    hu_trace  *t = trace_of(two_steps);
    hu_error   err = {0};
    hu_ground *g = hu_ground_new(t, &(hu_step_range){true, 3, 3}, &err);

    (void)state;
    assert_non_null(g);
    assert_int_equal(g->steps.n, 1);
    hu_ground_free(g);
    assert_null(hu_ground_new(t, &(hu_step_range){true, 7, 9}, &err));
    assert_int_equal(err.code, HU_EUSAGE);
    hu_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_start_from_the_same_steps),
                                       cmocka_unit_test(a_range_without_steps_is_no_ground)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
