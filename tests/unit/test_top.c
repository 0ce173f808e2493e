/* SPDX-License-Identifier: Apache-2.0
 * Power and joules of jobs in `holdup top`, from looks of which the moment is chosen: a job on two GPUs draws 500 W, and its
 * steps of 0.4 s have 16 samples. */
#include "testing.h"

#include <math.h>

#include "top/model.h"

#define WATTS  500.0
#define STEP_S .4

static void assert_near(double value, double expected, double by)
{
    if (!(fabs(value - expected) <= by))
        fail_msg("%g is not %g", value, expected);
}

static void put(hu_top_look *l, const char *name, double value, const char *const *labels)
{
    hu_top_look_put(l, hu_top_series_find(name, strlen(name)), value, labels);
}

/* A look of that moment, in which the counter stands at `joules`; NAN: nobody tells it. */
static hu_top_look *look_at(double at_s, double joules, double steps)
{
    static const char *const rank[] = {"slurm", "7", "0", "ada", "0", ""}, *const job[] = {"slurm", "7", "", "ada"};
    hu_top_look *l = hu_top_look_new();

    assert_non_null(l);
    l->at_s = at_s;
    put(l, "holdup_job_step_duration_seconds_count", steps, rank);
    put(l, "holdup_job_step_duration_seconds_sum", steps * STEP_S, rank);
    put(l, "holdup_job_samples_total", steps * 16, rank);
    put(l, "holdup_job_energy_joules_total", .75 * joules, job); /* of GPUs, of processors */
    put(l, "holdup_job_energy_joules_total", .25 * joules, job);
    put(l, "holdup_job_energy_wasted_joules_total", .1 * joules, job);
    put(l, "holdup_job_energy_waited_joules_total", .3 * joules, job);
    return l;
}

static const hu_top_job_row *take(hu_top_model *m, hu_top_look *l)
{
    hu_top_model_take(m, 0, l, "", 1e9);
    assert_true(hu_top_model_rows(m));
    assert_int_equal(m->n_jobs, 1);
    return &m->jobs[0];
}

/* What a monitor that reads the counter every 5 s says to who looks once a second. */
static double counter_at(double s)
{
    return 1e6 + WATTS * 5 * floor(s / 5);
}

static void test_power(void **state)
{
    hu_top_model          m;
    const hu_top_job_row *row = NULL;

    (void)state;
    assert_true(hu_top_model_init(&m, 1));
    for (int s = 3; s < 100; s++) { /* the first change is at 5 s: 10 s are over at 15 */
        row = take(&m, look_at(1000 + s, counter_at(s), floor(s / STEP_S)));
        if (s < 15) {
            assert_true(isnan(row->watts) && isnan(row->joules_per_step) && isnan(row->joules_per_sample));
            continue;
        }
        assert_near(row->watts, WATTS, 1e-6);
        assert_near(row->joules_per_step, WATTS * STEP_S, 1e-6);
        assert_near(row->joules_per_sample, WATTS * STEP_S / 16, 1e-6);
        assert_near(row->wasted, .1, 1e-9);
        assert_near(row->waited, .3, 1e-9);
    }
    hu_top_model_free(&m);
}

/* What was drawn a minute ago is not what is drawn now. */
static void test_change_of_power(void **state)
{
    hu_top_model          m;
    const hu_top_job_row *row = NULL;

    (void)state;
    assert_true(hu_top_model_init(&m, 1));
    for (int s = 0; s < 200; s++) {
        const double joules = s < 100 ? counter_at(s) : counter_at(100) + .2 * (counter_at(s) - counter_at(100));

        row = take(&m, look_at(1000 + s, joules, floor(s / STEP_S)));
    }
    assert_near(row->watts, .2 * WATTS, 1e-6);
    hu_top_model_free(&m);
}

static void test_not_known(void **state)
{
    hu_top_model          m;
    const hu_top_job_row *row = NULL;
    int                   s;

    (void)state;
    assert_true(hu_top_model_init(&m, 1));
    for (s = 0; s < 50; s++) {
        row = take(&m, look_at(1000 + s, NAN, floor(s / STEP_S)));
        assert_true(isnan(row->watts) && isnan(row->joules_per_step) && isnan(row->wasted) && isnan(row->waited) &&
                    isnan(row->job->energy_j));
    }
    for (; s < 80; s++)
        row = take(&m, look_at(1000 + s, counter_at(s), floor(s / STEP_S)));
    assert_near(row->watts, WATTS, 1e-6);
    row = take(&m, look_at(1000 + s, 10, floor(s / STEP_S))); /* the monitor was started anew: it counts from 0 */
    assert_true(isnan(row->watts));
    for (int i = 0; i < 30; i++)
        row = take(&m, look_at(1000 + s + i, 10 + counter_at(s + i) - counter_at(s), floor(s / STEP_S)));
    assert_near(row->watts, WATTS, 1e-6);
    for (int i = 30; i < 120; i++) /* the counter stands still */
        row = take(&m, look_at(1000 + s + i, 10 + counter_at(s + 29) - counter_at(s), floor(s / STEP_S)));
    assert_true(isnan(row->watts));
    hu_top_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_change_of_power),
        cmocka_unit_test(test_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
