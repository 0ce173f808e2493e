/* SPDX-License-Identifier: Apache-2.0
 * test_states.c - lives of threads and what they did in them: two partitions of one time, from switches and from sums. */
#include "analyze/host_calls.h"
#include "analyze/thread_states.h"
#include "testing.h"

typedef struct {
    hu_builder *b;
    hu_trace   *t;
    hu_arena   *arena;
    hu_ask      ask;
    uint32_t    track;
} scene;

static void begin(scene *x)
{
    const hu_limits limits = hu_limits_default();

    x->b = hu_builder_new("test", &limits);
    assert_non_null(x->b);
    x->track = hu_builder_track(x->b, HU_TRACK_HOST, (hu_builder_id){1, false}, (hu_builder_id){1, false});
}

static void lives(scene *x, hu_sched_state state, int64_t from, int64_t to)
{
    hu_builder_stretch(x->b, &(hu_stretch){.start_ns = from, .end_ns = to, .track = x->track, .state = (uint8_t)state});
}

static void calls(scene *x, const char *name, hu_host_class class, int64_t from, int64_t to)
{
    const hu_os_detail d = {.bytes = -1, .class = (uint8_t) class};

    hu_builder_add(x->b, &(hu_builder_slice){.start_ns = from,
                                             .dur_ns = to - from,
                                             .track = x->track,
                                             .name = hu_builder_intern(x->b, hu_str_of(name)),
                                             .detail = hu_builder_os_detail(x->b, &d),
                                             .kind = HU_KIND_OS_CALL});
}

static hu_thread_asker ask(scene *x, hu_state_source source)
{
    hu_thread_asker asker;
    hu_error        err = {0};

    hu_builder_info(x->b)->state_source = source;
    x->t = hu_builder_freeze(x->b, &err);
    assert_non_null(x->t);
    x->arena = hu_arena_new();
    assert_int_equal(hu_ask_prepare(x->t, x->arena, x->arena, &x->ask, &err), 0);
    assert_true(hu_thread_states_prepare(&x->ask, &asker));
    return asker;
}

static hu_thread_states measure(scene *x, const hu_thread_asker *asker, int64_t from, int64_t to)
{
    hu_intervals     windows = {0};
    hu_thread_states s;
    int64_t          sum = 0;

    assert_true(hu_intervals_add(x->arena, &windows, from, to));
    assert_true(hu_thread_states_measure(asker, x->track, &windows, &s));
    for (hu_sched_state k = 0; k < HU_THREAD_STATE_COUNT; k++)
        sum += hu_thread_states_sum(&s, k);
    assert_int_equal(sum, to - from); /* whatever is known */
    return s;
}

static void end(scene *x)
{
    hu_trace_free(x->t);
    hu_arena_free(x->arena);
}

/*
 *     running  0-400   waiting 400-900   runnable 900-1000   (lost 1000-1200)   running 1200-1500
 *     read       300-500         nanosleep 600-800
 */
static void from_switches(void **state)
{
    scene            x;
    hu_thread_asker  a;
    hu_thread_states s;
    hu_interval      life;

    (void)state;
    begin(&x);
    lives(&x, HU_THREAD_RUNNING, 1200, 1500); /* in any order */
    lives(&x, HU_THREAD_RUNNING, 0, 400);
    lives(&x, HU_THREAD_WAITING, 350, 900); /* what is told twice counts once, for the earlier */
    lives(&x, HU_THREAD_RUNNABLE, 900, 1000);
    lives(&x, HU_THREAD_RUNNABLE, 950, 950);
    calls(&x, "read", HU_HOST_FILE_READ, 300, 500);
    calls(&x, "nanosleep", HU_HOST_SLEEP, 600, 800);
    a = ask(&x, HU_STATES_SWITCHES);
    life = hu_thread_life(x.t, x.track);
    assert_true(life.start_ns == 0 && life.end_ns == 1500);
    assert_true(hu_thread_has_lives(x.t));
    s = measure(&x, &a, 0, 1500);
    assert_int_equal(s.ns[HU_THREAD_RUNNING][HU_HOST_FILE_READ], 100);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_FILE_READ], 100);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_SLEEP], 200);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_WITHIN_CODE], 200);
    assert_int_equal(s.ns[HU_THREAD_RUNNABLE][HU_WITHIN_CODE], 100);
    assert_int_equal(s.ns[HU_THREAD_UNKNOWN][HU_WITHIN_CODE], 200);
    assert_int_equal(hu_thread_states_sum(&s, HU_THREAD_RUNNING), 700);
    assert_int_equal(hu_thread_cpu_ns(&a, x.track), 700);
    s = measure(&x, &a, 700, 950); /* a window of it */
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_SLEEP], 100);
    assert_int_equal(s.ns[HU_THREAD_RUNNABLE][HU_WITHIN_CODE], 50);
    end(&x);
}

/* Readings of /proc put the waiting first; calls say where it really was: all of them are waits, if it waited that long. */
static void from_sums(void **state)
{
    scene            x;
    hu_thread_asker  a;
    hu_thread_states s;

    (void)state;
    begin(&x);
    lives(&x, HU_THREAD_WAITING, 0, 500);
    lives(&x, HU_THREAD_RUNNABLE, 500, 600);
    lives(&x, HU_THREAD_RUNNING, 600, 1000);
    calls(&x, "nanosleep", HU_HOST_SLEEP, 700, 1000);
    a = ask(&x, HU_STATES_SCHEDSTAT);
    s = measure(&x, &a, 0, 1000);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_SLEEP], 300);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_WITHIN_CODE], 200);
    assert_int_equal(s.ns[HU_THREAD_RUNNING][HU_WITHIN_CODE], 400);
    assert_int_equal(s.ns[HU_THREAD_RUNNABLE][HU_WITHIN_CODE], 100);
    end(&x);

    /* more time in calls than it waited: the rest of it is work in them, in proportion */
    begin(&x);
    lives(&x, HU_THREAD_WAITING, 0, 200);
    lives(&x, HU_THREAD_RUNNING, 200, 1000);
    calls(&x, "read", HU_HOST_FILE_READ, 0, 300);
    calls(&x, "write", HU_HOST_FILE_WRITE, 300, 400);
    a = ask(&x, HU_STATES_SCHEDSTAT);
    s = measure(&x, &a, 0, 1000);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_FILE_READ], 150);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_FILE_WRITE], 50);
    assert_int_equal(s.ns[HU_THREAD_RUNNING][HU_HOST_FILE_READ], 150);
    assert_int_equal(s.ns[HU_THREAD_RUNNING][HU_HOST_FILE_WRITE], 50);
    assert_int_equal(hu_thread_states_sum(&s, HU_THREAD_RUNNING), 800);
    end(&x);

    /* half of the time that nobody saw, it ran, by the CPU time of the command */
    begin(&x);
    hu_builder_info(x.b)->unseen_ppm = 500000;
    lives(&x, HU_THREAD_RUNNING, 0, 800);
    lives(&x, HU_THREAD_UNKNOWN, 800, 1000);
    a = ask(&x, HU_STATES_SCHEDSTAT);
    s = measure(&x, &a, 0, 1000);
    assert_int_equal(hu_thread_states_sum(&s, HU_THREAD_RUNNING), 900);
    assert_int_equal(hu_thread_states_sum(&s, HU_THREAD_UNKNOWN), 100);
    end(&x);
}

/* Only lives, and sums of the command's main thread: nothing is known of other threads. */
static void from_sums_of_a_life(void **state)
{
    for (int pid = 1; pid <= 2; pid++) {
        const bool       is_known = pid == 1;
        scene            x;
        hu_thread_asker  a;
        hu_thread_states s;
        hu_trace_info   *info;

        (void)state;
        begin(&x);
        info = hu_builder_info(x.b);
        info->command_pid = pid;
        info->main_running_ns = 500;
        info->main_runnable_ns = 100;
        lives(&x, HU_THREAD_UNKNOWN, 0, 1000);
        calls(&x, "nanosleep", HU_HOST_SLEEP, 100, 400);
        a = ask(&x, HU_STATES_SUMS);
        s = measure(&x, &a, 0, 1000);
        assert_int_equal(a.source, is_known ? HU_STATES_SUMS : HU_STATES_NONE);
        assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_SLEEP], is_known ? 300 : 0);
        assert_int_equal(s.ns[HU_THREAD_WAITING][HU_WITHIN_CODE], is_known ? 100 : 0);
        assert_int_equal(s.ns[HU_THREAD_RUNNING][HU_WITHIN_CODE], is_known ? 500 : 0);
        assert_int_equal(s.ns[HU_THREAD_RUNNABLE][HU_WITHIN_CODE], is_known ? 100 : 0);
        assert_int_equal(s.ns[HU_THREAD_UNKNOWN][HU_HOST_SLEEP], is_known ? 0 : 300);
        assert_int_equal(hu_thread_cpu_ns(&a, x.track), is_known ? 500 : -1);
        end(&x);
    }
}

/* A call around so many others that it reaches over several blocks of them counts once, and whole. */
static void a_call_around_many_is_whole(void **state)
{
    enum { MANY = 100000 };
    scene            x;
    hu_thread_asker  asker;
    hu_thread_states s;

    (void)state;
    begin(&x);
    lives(&x, HU_THREAD_WAITING, 0, 10 * MANY);
    calls(&x, "usleep", HU_HOST_SLEEP, 5, 10 * MANY - 5);
    for (int i = 1; i + 1 < MANY; i++)
        calls(&x, "read", HU_HOST_FILE_READ, 10 * i, 10 * i + 4);
    asker = ask(&x, HU_STATES_SWITCHES);
    s = measure(&x, &asker, 0, 10 * MANY);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_SLEEP], 10 * MANY - 10);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_HOST_FILE_READ], 0);
    assert_int_equal(s.ns[HU_THREAD_WAITING][HU_WITHIN_CODE], 10);
    end(&x);
}

/* Looked at instant by instant: calls in a row, and calls that cross each other, of which the first class counts. */
static void each_instant_is_where_it_belongs(void **state)
{
    enum { LENGTH = 4000, STEP = 50, ROUNDS = 20, NS = 10000 /* more than what may be rounding */ };
    static const hu_host_class classes[] = {HU_HOST_FILE_READ, HU_HOST_LOCK, HU_HOST_SLEEP};
    uint32_t                   seed = 7;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        static int8_t    task[LENGTH], in[LENGTH], is_asked[LENGTH];
        const bool       crosses = round % 2;
        hu_intervals     windows = {0};
        hu_thread_states s, expected = {0};
        hu_thread_asker  asker;
        scene            x;

        begin(&x);
        memset(task, HU_THREAD_UNKNOWN, sizeof task);
        memset(in, HU_WITHIN_CODE, sizeof in);
        memset(is_asked, 0, sizeof is_asked);
        for (int at = 0; at + 2 * STEP < LENGTH; at += STEP) {
            const int from = at + (int)((seed = seed * 1664525 + 1013904223) >> 24) % 20;
            const int length = 1 + (crosses ? 70 : 0) + (int)(seed >> 16) % 10 /* none lies in another */;
            const hu_host_class class = classes[(seed >> 12) % HU_COUNT(classes)];
            const hu_sched_state does = (hu_sched_state)((seed >> 8) % HU_THREAD_UNKNOWN);

            calls(&x, "call", class, from * NS, (from + length) * NS);
            lives(&x, does, at * NS, (at + 40) * NS);
            memset(task + at, (int)does, 40);
            for (int k = from; k < from + length; k++)
                in[k] = (int8_t)((int)class < in[k] ? (int)class : in[k]);
        }
        asker = ask(&x, HU_STATES_SWITCHES);
        for (int from = 30; from + 200 < LENGTH; from += 290) {
            assert_true(hu_intervals_add(x.arena, &windows, from * NS, (from + 170) * NS));
            memset(is_asked + from, 1, 170);
        }
        for (int k = 0; k < LENGTH; k++)
            expected.ns[task[k]][in[k]] += is_asked[k] * NS;
        assert_true(hu_thread_states_measure(&asker, x.track, &windows, &s));
        assert_memory_equal(&s, &expected, sizeof s);
        end(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_switches),
        cmocka_unit_test(from_sums),
        cmocka_unit_test(from_sums_of_a_life),
        cmocka_unit_test(a_call_around_many_is_whole),
        cmocka_unit_test(each_instant_is_where_it_belongs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
