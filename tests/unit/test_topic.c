/* SPDX-License-Identifier: Apache-2.0
 * test_topic.c - a verdict says where its first fix is for something else than what takes longest, or leaves most. */
#include "testing.h"

#include <math.h>

#include "advise/topic.h"

static hu_finding finding(hu_rule rule, double low, double gain, double high)
{
    return (hu_finding){.rule = rule, .low_pct = low, .gain_pct = gain, .high_pct = high};
}

static void the_same_thing_needs_no_word(void **state)
{
    hu_findings f = {.n = 1, .at = {finding(HU_RULE_LAUNCH_BOUND, 40, 50, 55)}};

    (void)state;
    assert_string_equal(hu_topic_say((hu_named){.topic = HU_TOPIC_IDLE, .share = 0.6}, &f).t, "");
    assert_string_equal(hu_topic_say_more((hu_named){.topic = HU_TOPIC_IDLE, .share = 0.6}, &f).t, "");
    f.n = 0;
    assert_string_equal(hu_topic_say((hu_named){.topic = HU_TOPIC_IDLE, .share = 0.6}, &f).t, "");
}

static void a_fix_for_something_else_is_said(void **state)
{
    const hu_named comm = {.topic = HU_TOPIC_COMMUNICATION, .share = 0.6};
    hu_findings    f = {.n = 1, .at = {finding(HU_RULE_LAUNCH_BOUND, 20, 30, 35)}};

    (void)state;
    assert_string_equal(hu_topic_say(comm, &f).t, " No fix for the communication that we can simulate saves 1 %.");
    assert_string_equal(
        hu_topic_say((hu_named){.topic = HU_TOPIC_COMMUNICATION, .share = 0.6, .is_of_one_rank = true}, &f).t,
        " No fix for the communication that the trace of one rank shows saves 1 %.");
    f.at[f.n++] = finding(HU_RULE_POOR_OVERLAP, 0, 12, 20);
    assert_string_equal(hu_topic_say(comm, &f).t, " A fix for the communication saves less (12 %).");
    f.at[1].gain_pct = 45;
    assert_string_equal(hu_topic_say(comm, &f).t, " A fix for the communication is less sure (45 %).");
    f.at[1].gain_pct = NAN;
    assert_string_equal(hu_topic_say(comm, &f).t, " What a fix for the communication saves cannot be computed.");
    f.at[0] = finding(HU_RULE_HOST_SYNC, 1, 2, 3);
    f.n = 1;
    assert_string_equal(hu_topic_say((hu_named){.topic = HU_TOPIC_KERNELS, .share = 0.97}, &f).t,
                        " How much faster the kernels could be is not in a trace.");
}

static void more_than_the_rest_shortens_that_too(void **state)
{
    const hu_named    comm = {.topic = HU_TOPIC_COMMUNICATION, .share = 0.56};
    const hu_findings f = {.n = 1, .at = {finding(HU_RULE_LAUNCH_BOUND, 33, 65, 71)}};

    (void)state;
    assert_string_equal(hu_topic_say(comm, &f).t, "");
    assert_string_equal(hu_topic_say_more(comm, &f).t, "; it shortens the communication, too");
}

static void what_most_of_a_wait_keeps_is_said(void **state)
{
    const hu_named wait = {.topic = HU_TOPIC_WAITS, .share = 0.94};
    hu_findings    f = {.n = 1, .at = {finding(HU_RULE_IO_STALL, 1.9, 2.2, 2.6)}};

    (void)state;
    assert_string_equal(hu_topic_say(wait, &f).t, " Fixes that we can simulate leave most of the waiting.");
    assert_string_equal(hu_topic_say((hu_named){.topic = HU_TOPIC_WAITS, .share = 0.05}, &f).t, "");
    f.ladder[0] = (hu_rung){HU_RULE_IO_STALL, 100, 97.8};
    f.ladder[1] = (hu_rung){HU_RULE_LOCK, 97.8, 50};
    f.n_ladder = 2;
    assert_string_equal(hu_topic_say(wait, &f).t, "");
}

/* No gain was computed, or the first finding is of the capture: no fix is named that could be for something else. */
static void no_price_no_word(void **state)
{
    const hu_named idle = {.topic = HU_TOPIC_IDLE, .share = 0.6};
    hu_findings    f = {.n = 1, .at = {finding(HU_RULE_POOR_OVERLAP, 0, NAN, 30)}};

    (void)state;
    assert_string_equal(hu_topic_say(idle, &f).t, "");
    f.at[0] = finding(HU_RULE_CAPTURE, 90, 95, 99);
    assert_string_equal(hu_topic_say(idle, &f).t, "");
    f.at[0] = finding(HU_RULE_BANDWIDTH_BOUND, 10, 12, 14);
    assert_string_equal(hu_topic_say((hu_named){.topic = HU_TOPIC_NONE, .share = 1}, &f).t, "");
}

static void each_state_has_a_topic_that_is_about_it(void **state)
{
    (void)state;
    assert_true(hu_topic_has(hu_topic_of_state((hu_host_state)HU_HOST_FSYNC), HU_RULE_IO_STALL));
    assert_false(hu_topic_has(hu_topic_of_state((hu_host_state)HU_HOST_FSYNC), HU_RULE_STARVED));
    assert_true(hu_topic_has(hu_topic_of_state(HU_STATE_STARVED), HU_RULE_STARVED));
    assert_false(hu_topic_has(hu_topic_of_state(HU_STATE_STARVED), HU_RULE_IO_STALL));
    assert_true(hu_topic_has(hu_topic_of_state((hu_host_state)HU_HOST_LOCK), HU_RULE_SLEEP));
    assert_false(hu_topic_has(hu_topic_of_state(HU_STATE_RUNS), HU_RULE_SLEEP));
    assert_true(hu_topic_has(hu_topic_of_state(HU_STATE_COMM), HU_RULE_STRAGGLER));
    assert_false(hu_topic_has(HU_TOPIC_IDLE, HU_RULE_TENSOR_CORES));
    assert_false(hu_topic_has(HU_TOPIC_COPIES, HU_RULE_DATA_LOADING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_thing_needs_no_word),
        cmocka_unit_test(a_fix_for_something_else_is_said),
        cmocka_unit_test(more_than_the_rest_shortens_that_too),
        cmocka_unit_test(what_most_of_a_wait_keeps_is_said),
        cmocka_unit_test(no_price_no_word),
        cmocka_unit_test(each_state_has_a_topic_that_is_about_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
