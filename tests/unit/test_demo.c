/* SPDX-License-Identifier: Apache-2.0
 * test_demo.c - `holdup monitor --demo`: invented values hold together as those of a driver would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/demo/demo_model.h"
#include "monitor/source.h"

extern const hu_source hu_source_demo_gpu, hu_source_demo_jobs;

static void is_share(double x)
{
    assert_true(x >= 0 && x <= 1);
}

static void test_values_hold_together(void **state)
{
    (void)state;
    for (size_t s = 0; s < hu_demo_scenarios_count; s++) {
        hu_demo_model m;
        double        energy[HU_DEMO_GPUS], at = 0;

        hu_demo_start(&m, &hu_demo_scenarios[s]);
        for (int i = 0; i < HU_DEMO_GPUS; i++)
            energy[i] = m.gpu[i].energy_j;
        at = m.at_s;
        for (int n = 1; n < 700; n++) {
            const hu_demo_model before = m;
            const double        to = n % 100 == 0 ? before.at_s + 7.3 : before.at_s + 1;

            hu_demo_advance(&m, to);
            assert_true(m.at_s == to);
            for (int i = 0; i < HU_DEMO_GPUS; i++) {
                const hu_demo_device *d = &m.gpu[i], *was = &before.gpu[i];
                const double          used = d->energy_j - was->energy_j, passed = m.at_s - before.at_s;

                is_share(d->now.busy);
                is_share(d->now.sm_active);
                is_share(d->now.tensor);
                is_share(d->now.dram);
                assert_true(d->now.sm_active <= d->now.busy + .05);
                assert_true(d->memory_bytes > 0 && d->memory_bytes < HU_DEMO_MEMORY_BYTES * .99);
                assert_true(d->power_w > 0 && d->power_w < HU_DEMO_LIMIT_W + 5);
                assert_true(fabs(used - d->power_w * passed) < 1e-6 * d->energy_j); /* the integral of the power shown */
                assert_true(d->nvlink_bytes >= was->nvlink_bytes);
                assert_true(d->sm_clock_hz > 0 && d->sm_clock_hz <= HU_DEMO_MOST_SM_HZ);
                for (int r = 0; r < HU_GPU_REASON_COUNT; r++) {
                    const double more = d->throttled_s[r] - was->throttled_s[r];

                    assert_true(more >= 0 && more <= passed + 1e-9);
                }
            }
            for (int k = 0; k < HU_DEMO_SLICES && m.scenario->slice[k].profile; k++) {
                is_share(m.slice[k].now.sm_active);
                assert_true(m.slice[k].memory_bytes < m.scenario->slice[k].memory_bytes * .99);
            }
        }
        for (int i = 0; i < HU_DEMO_GPUS; i++)
            assert_true(m.gpu[i].energy_j - energy[i] > 60 * (m.at_s - at));
    }
}

/* What a scenario is for is what its values show, and in no other place. */
static void test_faults_show(void **state)
{
    hu_demo_model hot, capped, sound, starved;
    double        begin[HU_DEMO_GPUS];

    (void)state;
    hu_demo_start(&hot, hu_demo_find("throttled"));
    hu_demo_start(&capped, hu_demo_find("straggler"));
    hu_demo_start(&sound, hu_demo_find("training"));
    hu_demo_start(&starved, hu_demo_find("input-bound"));
    for (int i = 0; i < HU_DEMO_GPUS; i++)
        begin[i] = capped.gpu[i].energy_j;
    for (int n = 1; n <= 590; n++) {
        hu_demo_advance(&hot, n);
        hu_demo_advance(&capped, n);
        hu_demo_advance(&sound, n);
        hu_demo_advance(&starved, n);
        assert_true(capped.gpu[3].sm_clock_hz < 1.5e9);
        assert_true(starved.gpu[0].now.busy > .9 && starved.gpu[0].now.sm_active < .25);
    }
    for (int i = 0; i < HU_DEMO_GPUS; i++) {
        const double heat = hot.gpu[i].throttled_s[HU_GPU_REASON_HARDWARE_THERMAL];
        const double brake = hot.gpu[i].throttled_s[HU_GPU_REASON_POWER_BRAKE];

        assert_true(i == 2 ? heat > 60 && heat < 590 : heat == 0);
        assert_true(i == 6 ? brake > 150 && brake < 300 : brake == 0);
        assert_true(sound.gpu[i].throttled_s[HU_GPU_REASON_SLOWDOWN] == 0);
        assert_true(sound.gpu[i].temperature_c < HU_DEMO_HOT_C - 10);
    }
    assert_true(capped.gpu[3].energy_j - begin[3] < capped.gpu[2].energy_j - begin[2]);
}

static void test_same_time_same_values(void **state)
{
    hu_demo_model a, b;

    (void)state;
    memset(&b, 1, sizeof b);
    hu_demo_start(&a, hu_demo_find("training"));
    hu_demo_start(&b, hu_demo_find("training"));
    for (int n = 1; n < 50; n++) {
        hu_demo_advance(&a, n);
        hu_demo_advance(&b, n);
        assert_memory_equal(&a, &b, sizeof a);
    }
    hu_demo_advance(&a, 10); /* back is nowhere */
    assert_memory_equal(&a, &b, sizeof a);
}

/* A sampler that was away for hours: as many ticks as for a minute. */
static void test_a_long_gap(void **state)
{
    hu_demo_model m;
    double        before;

    (void)state;
    hu_demo_start(&m, hu_demo_find("training"));
    before = m.gpu[0].energy_j;
    hu_demo_advance(&m, 1e5);
    assert_true(m.at_s == 1e5);
    assert_true(m.gpu[0].energy_j - before > 200 * 1e5 && m.gpu[0].energy_j - before < 700 * 1e5);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static double found(const hu_readings *r, hu_metric m, const char *uuid, const char *more, size_t *count)
{
    size_t     at = 0, n = 0;
    double     value = NAN;
    hu_reading one;

    while (hu_readings_next(r, &at, &one)) {
        bool has_uuid = !uuid, has_more = !more;

        for (size_t i = 0; i < one.n; i++) {
            has_uuid |= uuid && strcmp(one.label[i], uuid) == 0;
            has_more |= more && strcmp(one.label[i], more) == 0;
        }
        if (one.metric == m && has_uuid && has_more) {
            value = one.value;
            n++;
        }
    }
    if (count)
        *count = n;
    return value;
}

static void test_sources_fill_the_board_and_count_idle_time(void **state)
{
    hu_source_options options = {
        .root = "", .scenario = "idle-allocation", .period_ns = 1000000000, .board = hu_gpu_board_new()};
    hu_readings    gpu = {0}, jobs = {0};
    hu_board_state board;
    void          *g, *j;
    char           busy[HU_DEMO_TEXT], idle[HU_DEMO_TEXT];
    double         before, after;
    size_t         n;

    (void)state;
    assert_non_null(options.board);
    hu_demo_uuid(0, -1, busy);
    hu_demo_uuid(6, -1, idle);
    assert_true(hu_source_demo_gpu.open(&options, &g, &gpu));
    assert_true(hu_source_demo_jobs.open(&options, &j, &jobs));
    for (int i = 0; i < HU_SAMPLE_GROUPS; i++)
        assert_true(hu_source_demo_gpu.sample(g, (hu_sample_group)i, &gpu));
    assert_true(hu_source_demo_jobs.sample(j, HU_SAMPLE_FAST, &jobs));
    assert_true(hu_gpu_board_read(options.board, &board));
    assert_int_equal(board.n, HU_DEMO_GPUS);
    assert_string_equal(board.gpu[6].uuid, idle);
    assert_true(board.gpu[6].busy == 0);
    assert_true(found(&gpu, HU_METRIC_GPU_UP, NULL, NULL, &n) == 1 && n == HU_DEMO_GPUS);
    assert_true(found(&gpu, HU_METRIC_PROBLEM, NULL, "demo_gpu", &n) == 1 && n == 1);
    assert_true(found(&jobs, HU_METRIC_JOB_INFO, idle, "grace", &n) == 1 && n == 1);
    before = found(&jobs, HU_METRIC_ALLOCATED_IDLE, idle, "48219", NULL);
    assert_true(before >= 7320);
    /* as much as passed between two states of the board, and on a GPU that works nothing */
    board.at_ns += 5000000000;
    board.gpu[0].busy = .93;
    hu_gpu_board_write(options.board, &board);
    hu_readings_clear(&jobs);
    assert_true(hu_source_demo_jobs.sample(j, HU_SAMPLE_FAST, &jobs));
    after = found(&jobs, HU_METRIC_ALLOCATED_IDLE, idle, "48219", NULL);
    assert_true(fabs(after - before - 5) < 1e-9);
    assert_true(found(&jobs, HU_METRIC_ALLOCATED_IDLE, busy, "48213", NULL) == 0);
    /* names of people are left out on demand */
    options.no_users = true;
    hu_readings_clear(&jobs);
    assert_true(hu_source_demo_jobs.sample(j, HU_SAMPLE_FAST, &jobs));
    found(&jobs, HU_METRIC_JOB_INFO, idle, "grace", &n);
    assert_int_equal(n, 0);
    found(&jobs, HU_METRIC_JOB_INFO, idle, "48219", &n);
    assert_int_equal(n, 1);
    hu_source_demo_gpu.close(g);
    hu_source_demo_jobs.close(j);
    hu_readings_free(&gpu);
    hu_readings_free(&jobs);
    hu_gpu_board_free(options.board);
}

/* A lost GPU has no series but that it is lost, and the error that says so. */
static void test_lost(void **state)
{
    hu_source_options options = {.root = "", .scenario = "xid", .period_ns = 1000000000};
    hu_readings       r = {0};
    hu_reading        one;
    char              lost[HU_DEMO_TEXT];
    size_t            at = 0, n = 0;
    void             *g;

    (void)state;
    hu_demo_uuid(5, -1, lost);
    assert_true(hu_source_demo_gpu.open(&options, &g, &r));
    for (int i = 0; i < HU_SAMPLE_GROUPS; i++)
        assert_true(hu_source_demo_gpu.sample(g, (hu_sample_group)i, &r));
    assert_true(found(&r, HU_METRIC_GPU_UP, lost, NULL, NULL) == 0);
    assert_true(found(&r, HU_METRIC_GPU_XID, lost, "79", NULL) == 1);
    while (hu_readings_next(&r, &at, &one))
        for (size_t i = 0; i < one.n; i++)
            n += strcmp(one.label[i], lost) == 0;
    assert_int_equal(n, 3); /* up, count and time */
    hu_source_demo_gpu.close(g);
    hu_readings_free(&r);
}

/* A demo asks neither drivers nor schedulers, and without one nothing is invented. */
static void test_which_sources_are_asked(void **state)
{
    const hu_source_options real = {.root = ""}, wished = {.root = "", .dcgm = "localhost"},
                            demo = {.root = "", .scenario = "training"};

    (void)state;
    for (size_t i = 0; hu_sources[i]; i++) {
        const bool is_demo = strncmp(hu_sources[i]->name, "demo_", 5) == 0;
        const bool is_dcgm = strcmp(hu_sources[i]->name, "dcgm") == 0; /* only where it is wished */

        assert_int_equal(hu_source_is_asked(hu_sources[i], &real), !is_demo && !is_dcgm);
        assert_int_equal(hu_source_is_asked(hu_sources[i], &wished), !is_demo);
        assert_int_equal(hu_source_is_asked(hu_sources[i], &demo), is_demo || hu_sources[i]->sampler == HU_SAMPLER_HOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_hold_together),
        cmocka_unit_test(test_faults_show),
        cmocka_unit_test(test_same_time_same_values),
        cmocka_unit_test(test_a_long_gap),
        cmocka_unit_test(test_sources_fill_the_board_and_count_idle_time),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_which_sources_are_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
