/* SPDX-License-Identifier: Apache-2.0
 * test_merge.c - a long run whose short calls are merged has the prices of the same run with a node for each of them. */
#include "advise/covered.h"
#include "simulating.h"

enum { CALLS = 3000, MOST = 500 /* slices, above which a run is merged */ };

typedef struct {
    hu_builder *b;
    uint32_t    seed;
} maker;

static uint32_t draw(maker *m, uint32_t n)
{
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % n;
}

static uint32_t thread(maker *m, int64_t tid)
{
    return hu_builder_track(m->b, HU_TRACK_HOST, (hu_builder_id){1, false}, (hu_builder_id){tid, false});
}

static void lives(maker *m, uint32_t track, hu_sched_state state, int64_t from, int64_t to)
{
    if (to > from)
        hu_builder_stretch(m->b, &(hu_stretch){.start_ns = from, .end_ns = to, .track = track, .state = (uint8_t)state});
}

static void calls(maker *m, uint32_t track, const char *name, hu_host_class class, const char *path, int64_t bytes,
                  int64_t from, int64_t dur)
{
    const hu_os_detail d = {
        .bytes = bytes, .class = (uint8_t) class, .path = path ? hu_builder_intern(m->b, hu_str_of(path)) : 0};

    hu_builder_add(m->b, &(hu_builder_slice){.start_ns = from,
                                             .dur_ns = dur,
                                             .track = track,
                                             .name = hu_builder_intern(m->b, hu_str_of(name)),
                                             .detail = hu_builder_os_detail(m->b, &d),
                                             .kind = HU_KIND_OS_CALL});
}

/* Calls of some kinds with computing between them, a few of them long; returns when the thread is done. */
static int64_t works(maker *m, uint32_t track, int64_t now, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t kind = draw(m, 100);
        const int64_t  gap = 500 + draw(m, 6000), dur = 300 + draw(m, 9000);
        const int64_t  ready = draw(m, 10) == 0 ? gap / 3 : 0;

        lives(m, track, HU_THREAD_RUNNABLE, now, now + ready);
        lives(m, track, HU_THREAD_RUNNING, now + ready, now + gap);
        now += gap;
        if (kind < 40)
            calls(m, track, "pread", HU_HOST_FILE_READ, "/a", 16, now, dur);
        else if (kind < 70)
            calls(m, track, "pwrite", HU_HOST_FILE_WRITE, "/b", 100000, now, dur);
        else if (kind < 85)
            calls(m, track, "pthread_mutex_lock", HU_HOST_LOCK, NULL, -1, now, dur);
        else if (kind < 98)
            calls(m, track, "futex", HU_HOST_WAIT, NULL, -1, now, dur);
        else
            calls(m, track, "usleep", HU_HOST_SLEEP, NULL, -1, now, 40 * dur);
        lives(m, track, kind < 70 ? HU_THREAD_RUNNING : HU_THREAD_WAITING, now, now + (kind < 98 ? dur : 40 * dur));
        now += kind < 98 ? dur : 40 * dur;
    }
    return now;
}

/* The main thread works, starts two threads, works, and waits for both without a pause. */
static hu_trace *make(void)
{
    const hu_limits limits = hu_limits_default();
    maker           m = {.b = hu_builder_new("test", &limits), .seed = 7};
    const uint32_t  main_thread = thread(&m, 1), first = thread(&m, 2), second = thread(&m, 3);
    int64_t         now = works(&m, main_thread, 0, CALLS), one, two;
    hu_error        err = {0};
    hu_trace       *t;

    one = works(&m, first, now + 20000, CALLS);
    two = works(&m, second, now + 90000, CALLS + CALLS / 2);
    now = works(&m, main_thread, now, CALLS / 2);
    assert_true(one > now && two > one);
    calls(&m, main_thread, "pthread_join", HU_HOST_WAIT, NULL, -1, now, one + 10000 - now);
    calls(&m, main_thread, "pthread_join", HU_HOST_WAIT, NULL, -1, one + 10000, two - one);
    lives(&m, main_thread, HU_THREAD_WAITING, now, two + 10000);
    works(&m, main_thread, two + 10000, 20);
    hu_builder_info(m.b)->state_source = HU_STATES_SWITCHES;
    t = hu_builder_freeze(m.b, &err);
    assert_non_null(t);
    return t;
}

static fixture with_most(hu_trace *t, size_t most)
{
    const hu_graph_options options = {.max_slices = most};
    hu_error               err = {0};
    fixture                f = {.t = t, .s = hu_simulation_new(t, NULL, &options, &err)};

    if (!f.s)
        fail_msg("%s", err.text);
    return f;
}

static void merged_nodes_have_the_same_prices(void **state)
{
    static const char *const edits[] = {"io=0",          "iox2",      "lock=0", "sleep=0",
                                        "small-calls=0", "threads=0", "host=0", "cpu=0"};
    hu_trace                *t = make();
    fixture                  all = with_most(t, 100000), merged = with_most(t, MOST);

    (void)state;
    assert_true(merged.s->graph.n_nodes * 4 < all.s->graph.n_nodes);
    assert_true(hu_graph_is_sound(&merged.s->graph));
    assert_near(merged.s->graph.covered, 1);
    assert_near(as_it_was(merged), as_it_was(all));
    for (size_t i = 0; i < HU_COUNT(edits); i++) {
        const double is = 100 * with(merged, edits[i]) / as_it_was(all), was = 100 * with(all, edits[i]) / as_it_was(all);

        if (fabs(is - was) > 0.1)
            fail_msg("%s: %f %% is not %f %%", edits[i], is, was);
    }
    assert_true(with(all, "io=0") < 0.9 * as_it_was(all));
    assert_true(with(all, "small-calls=0") < 0.99 * as_it_was(all));
    hu_simulation_free(all.s);
    hu_simulation_free(merged.s);
    hu_trace_free(t);
}

/* What they were is still known: how many, and how long their threads ran in them. */
static void merged_nodes_count_their_pieces(void **state)
{
    hu_trace *t = make();
    fixture   all = with_most(t, 100000), merged = with_most(t, MOST);
    uint64_t  pieces = 0;
    int64_t   seen = 0, was = 0;

    (void)state;
    for (size_t i = 0; i < merged.s->graph.n_nodes; i++) {
        pieces += hu_graph_pieces(&merged.s->graph, &merged.s->graph.node[i]);
        seen += merged.s->graph.node[i].seen_ns;
    }
    for (size_t i = 0; i < all.s->graph.n_nodes; i++)
        was += all.s->graph.node[i].seen_ns;
    assert_int_equal(pieces, all.s->graph.n_nodes);
    assert_int_equal(seen, was);
    hu_simulation_free(all.s);
    hu_simulation_free(merged.s);
    hu_trace_free(t);
}

/* Where even merged nodes are too many, the window is the beginning, and says so. */
static void a_window_says_what_it_covers(void **state)
{
    hu_trace *t = make();
    fixture   some = with_most(t, 20);

    (void)state;
    assert_true(some.s->graph.covered < 1);
    assert_true(some.s->graph.covered > 0);
    hu_simulation_free(some.s);
    hu_trace_free(t);
}

/* A gain in a quarter of a run is a quarter of it for the run, or as much as in that quarter if the rest is like it. */
static void a_window_s_gain_is_spread_over_the_run(void **state)
{
    hu_findings *f = test_calloc(1, sizeof *f);

    (void)state;
    f->seen_ns = 1000;
    f->n = 1;
    f->at[0] = (hu_finding){
        .gain_pct = 40, .low_pct = 20, .high_pct = 60, .free_pct = 60, .before_ns = 1000, .after_ns = 600};
    f->n_ladder = 1;
    f->ladder[0] = (hu_rung){.before_ns = 1000, .after_ns = 600};
    hu_covered_spread(f, 0.25);
    assert_near(f->at[0].gain_pct, 10);
    assert_near(f->at[0].low_pct, 5);
    assert_near(f->at[0].high_pct, 60);
    assert_near(f->at[0].before_ns, 4000);
    assert_near(f->at[0].after_ns, 3600);
    assert_near(f->ladder[0].after_ns, 3600);
    assert_int_equal(f->at[0].n_evidence, 1);
    assert_non_null(strstr(f->at[0].evidence[0], "the first 25 % of the run"));
    test_free(f);
}

/*
 *   main     works [0,10)   join [10,110)   join [110,210)   works [210,211)      (ms)
 *   first                   works [10,110)
 *   second                  works [10,210)
 *
 * Each join waits for its own thread, though nothing lies between them: both threads are joined.
 */
static void two_joins_without_a_gap_are_two(void **state)
{
    enum { MS = 1000000 };
    const hu_limits limits = hu_limits_default();
    maker           m = {.b = hu_builder_new("test", &limits)};
    const uint32_t  main_thread = thread(&m, 1), threads[] = {thread(&m, 2), thread(&m, 3)};
    hu_error        err = {0};
    fixture         f;
    size_t          joined = 0;

    (void)state;
    lives(&m, main_thread, HU_THREAD_RUNNING, 0, 10 * MS);
    lives(&m, main_thread, HU_THREAD_WAITING, 10 * MS, 210 * MS);
    lives(&m, main_thread, HU_THREAD_RUNNING, 210 * MS, 211 * MS);
    for (int i = 0; i < 2; i++) {
        lives(&m, threads[i], HU_THREAD_RUNNING, 10 * MS, (110 + i * 100) * MS);
        calls(&m, main_thread, "pthread_join", HU_HOST_WAIT, NULL, -1, (10 + i * 100) * MS, 100 * MS);
    }
    hu_builder_info(m.b)->state_source = HU_STATES_SWITCHES;
    f.t = hu_builder_freeze(m.b, &err);
    f.s = hu_simulation_new(f.t, NULL, NULL, &err);
    assert_non_null(f.s);
    for (size_t i = 0; i < f.s->graph.n_nodes; i++)
        joined += f.s->graph.node[i].after != HU_NONE && f.s->graph.node[i].lane == f.s->graph.main_lane;
    assert_int_equal(joined, 2);
    done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_nodes_have_the_same_prices), cmocka_unit_test(merged_nodes_count_their_pieces),
        cmocka_unit_test(a_window_says_what_it_covers),      cmocka_unit_test(a_window_s_gain_is_spread_over_the_run),
        cmocka_unit_test(two_joins_without_a_gap_are_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
