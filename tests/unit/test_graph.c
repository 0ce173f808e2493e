/* SPDX-License-Identifier: Apache-2.0
 * test_graph.c - each kind of link on a trace that fits on a page, with the replay worked out beside it. */
#include "simulating.h"

#define LOADER "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define WAIT_EVENT(ts, correlation, stream, from, record)                                                        \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts \
    ",\"dur\":1,\"args\":{\"correlation\":" correlation ",\"stream\":" stream ",\"wait_on_stream\":" from        \
    ",\"wait_on_cuda_event_record_corr_id\":" record ",\"wait_on_cuda_event_id\":1,\"device\":0}}"

#define STREAM_SYNC(ts, dur, correlation, stream)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"correlation\":" correlation ",\"stream\":" stream ",\"device\":0}}"

/* The pieces of the critical path follow each other without a hole. */
static void assert_path_is_whole(fixture f)
{
    int64_t sum = 0;

    for (hu_class c = 0; c < HU_CLASS_COUNT; c++) {
        assert_true(f.s->path.by_class[c] >= 0);
        sum += f.s->path.by_class[c];
    }
    assert_true(hu_graph_is_sound(&f.s->graph));
    assert_int_equal(sum, f.s->path.total_ns);
    assert_near((double)f.s->path.total_ns / 1000, as_it_was(f) * (double)(f.s->graph.n_marks - 1));
}

/*
 *   host     loader [0,100)   launch [110,115)   sync [120,222)
 *   stream                              K [117,217)
 *
 * The kernel waits for its launch, the synchronisation for the kernel: without the loader all of it is 100 earlier.
 */
static void launch_and_wait_move_with_the_host(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" USER(LOADER, "0", "100") "," CALL("cudaLaunchKernel", "110", "5", "1") ","
                         CALL("cudaStreamSynchronize", "120", "102", "2") "," KERNEL("K", "7", "117", "100", "1") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 222);
    assert_near(with(f, "data=0"), 122);
    assert_near(with(f, "kernel:K=0"), 125); /* the call itself still takes its usual time: the wait was all of it */
    assert_path_is_whole(f);
    done(f);
}

/*
 *   host     launch [0,5)   loader [10,110)   launch [120,125)
 *   stream       K1 [7,507)                            K2 [508.5,608.5)
 *
 * The device has work all the time, so the loader costs nothing.
 */
static void a_hidden_loader_costs_nothing(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," USER(LOADER, "10", "100") ","
                         CALL("cudaLaunchKernel", "120", "5", "2") "," KERNEL("K1", "7", "7", "500", "1") ","
                         KERNEL("K2", "7", "508.5", "100", "2") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 608.5);
    assert_near(with(f, "data=0"), 608.5);
    assert_near(with(f, "kernel:K1=0"), 227); /* K2 then waits for its launch: 120 + 7 + 100 */
    assert_near(with(f, "kernel:K1x2"), 358.5);
    assert_path_is_whole(f);
    done(f);
}

/*
 *   stream 7    K1 [7,207)            the event after K1 is recorded on 7 and waited for on 20
 *   stream 20            K2 [208.5,258.5)
 */
static void a_stream_waits_for_an_event_of_another(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaEventRecord", "6", "1", "3") ","
                         CALL("cudaStreamWaitEvent", "8", "1", "4") "," CALL("cudaLaunchKernel", "14", "5", "2") ","
                         KERNEL("K1", "7", "7", "200", "1") "," KERNEL("K2", "20", "208.5", "50", "2") ","
                         WAIT_EVENT("8", "4", "20", "7", "3") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(f.s->graph.calibration.event_links, 1);
    assert_near(as_it_was(f), 258.5);
    assert_near(with(f, "kernel:K1x2"), 158.5);
    assert_near(with(f, "kernel:K1=0"), 71); /* 14 + 7 + 50 */
    assert_path_is_whole(f);
    done(f);
}

/*
 *   host        launches   records, waits   sync of stream 7 [30,426)
 *   stream 7    K1 [7,57)                   an event of 20 is waited for, and nothing launched behind it
 *   stream 20   K2 [21,421)
 *
 * The call that waits for stream 7 waits for K2.
 */
static void a_stream_that_waits_is_waited_for(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaLaunchKernel", "14", "5", "2") ","
                         CALL("cudaEventRecord", "20", "1", "3") "," CALL("cudaStreamWaitEvent", "22", "1", "4") ","
                         CALL("cudaStreamSynchronize", "30", "396", "5") "," KERNEL("K1", "7", "7", "50", "1") ","
                         KERNEL("K2", "20", "21", "400", "2") "," WAIT_EVENT("22", "4", "7", "20", "3") ","
                         STREAM_SYNC("30", "396", "5", "7") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 426);
    assert_near(with(f, "kernel:K2x2"), 226);
    assert_near(with(f, "kernel:K2=0"), 62); /* K1 is left */
    assert_near(with(f, "kernel:K1=0"), 426);
    assert_path_is_whole(f);
    done(f);
}

/* The same without a record: the wait is inferred from the end of K1 just before. */
static void a_wait_that_was_not_recorded_is_inferred(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaLaunchKernel", "14", "5", "2") ","
                         KERNEL("K1", "7", "7", "200", "1") "," KERNEL("K2", "20", "208.5", "50", "2") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(f.s->graph.calibration.inferred, 1);
    assert_near(with(f, "kernel:K1x2"), 158.5);
    done(f);
}

/* Nothing ends before K2, so its delay is frozen, counted, and moves with what comes before it. */
static void a_delay_that_nothing_explains_is_frozen(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaLaunchKernel", "14", "5", "2") ","
                         KERNEL("K1", "7", "7", "20", "1") "," KERNEL("K2", "7", "100", "50", "2") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(f.s->graph.calibration.frozen, 1);
    assert_near(as_it_was(f), 150);
    assert_near(with(f, "kernel:K1x2"), 142.5); /* K2 is ready at 14 + 7 then, and delayed by the same 71.5 */
    assert_true(f.s->path.by_class[HU_CLASS_FROZEN] > 60000);
    assert_path_is_whole(f);
    done(f);
}

enum { KERNELS = 300, QUEUE = 64, CALL_US = 5, EVERY = 10, KERNEL_US = 100 };

/*
 * The host launches every 10 µs kernels of 100 µs into a queue of 64: soon each launch waits for the one 64 before it.
 * `more` stands before all of them.  Sets when the last kernel ends, in µs.
 */
static fixture fill_a_queue(const char *more, double *last_end)
{
    const size_t size = KERNELS * 400;
    char        *json = malloc(size);
    double       host = 0, end[KERNELS], stream = 0;
    size_t       n;
    fixture      f;

    assert_non_null(json);
    n = (size_t)snprintf(json, size, "[%s", more);
    for (int i = 0; i < KERNELS; i++) {
        const double launched = host;
        double       returned = launched + CALL_US, start = launched + 7;

        start = start > stream + 1 ? start : stream + 1;
        end[i] = stream = start + KERNEL_US;
        if (i >= QUEUE && end[i - QUEUE] > returned)
            returned = end[i - QUEUE];
        host = returned + EVERY - CALL_US;
        n += (size_t)snprintf(
            json + n, size - n,
            "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":%d}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
            "\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,"
            "\"correlation\":%d}}",
            i ? "," : "", (int)launched, (int)(returned - launched), i + 1, (int)start, KERNEL_US, i + 1);
    }
    snprintf(json + n, size - n, "]");
    f = simulate(json);
    free(json);
    *last_end = stream;
    return f;
}

/* Faster kernels let the host go on; without that link the host would run ahead as recorded and nothing would change. */
static void a_full_queue_holds_up_the_host(void **state)
{
    double  end;
    fixture f = fill_a_queue("", &end);

    (void)state;
    assert_int_equal(f.s->graph.calibration.queue, QUEUE);
    assert_near(as_it_was(f), end);
    assert_near(with(f, "kernel:kx2"), 7 + KERNELS * 51 - 1);
    assert_near(with(f, "kernel:kx0.5"), 7 + KERNELS * 201 - 1);
    assert_near(with(f, "hostx2"), end);
    assert_path_is_whole(f);
    done(f);
}

/*
 * Kernels of another stream, whose launches were not recorded: the second runs while the host is in its 61st launch.  They
 * take no place in the queue of stream 7, and no launch waits for one that runs later (the path would go around in circles).
 */
static void a_queue_is_of_one_stream(void **state)
{
    double  end;
    fixture f = fill_a_queue(
        KERNEL("o", "20", "3", "1", "9001") "," KERNEL("o", "20", "602", "1", "9002") "," KERNEL(
            "o", "20", "9000", "1", "9003") "," KERNEL("o", "20", "9100", "1",
                                                       "9004") "," KERNEL("o", "20", "9200", "1",
                                                                          "9005") "," KERNEL("o", "20", "9300", "1",
                                                                                             "9006") ",",
        &end);

    (void)state;
    assert_int_equal(f.s->graph.calibration.queue, QUEUE);
    assert_int_equal(f.s->graph.calibration.unlaunched, 6);
    assert_near(as_it_was(f), end);
    assert_near(with(f, "kernel:kx2"), 7 + KERNELS * 51 - 1);
    assert_path_is_whole(f);
    done(f);
}

/*
 *   host     launch [0,5)   sync [10,106)   loader [106,206)
 *   stream        K [7,107)
 *
 * By the clocks of host and device the call returns before the kernel ends.  No piece of the path is less than nothing.
 */
static void clocks_that_disagree_make_no_time(void **state)
{
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL(
        "cudaStreamSynchronize", "10", "96", "2") "," USER(LOADER, "106", "100") "," KERNEL("K", "7", "7", "100", "1") "]");

    (void)state;
    assert_near(as_it_was(f), 206);
    assert_int_equal(f.s->path.by_class[HU_CLASS_RETURN] + f.s->path.by_class[HU_CLASS_INFERRED], 0);
    assert_int_equal(f.s->path.by_class[HU_CLASS_COMPUTE], 99000);
    assert_path_is_whole(f);
    done(f);
}

/* What waits for something that comes later in the sweep is refused, whoever wrote it. */
static void a_link_from_later_is_unsound(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaLaunchKernel", "14", "5", "2") ","
                         KERNEL("K1", "7", "7", "200", "1") "," KERNEL("K2", "20", "208.5", "50", "2") "]");
    /* clang-format on */
    hu_graph *g = &f.s->graph;
    hu_op    *first = &g->op[g->node[g->op[0].node].ops];
    hu_link  *inferred = &g->link[g->op[1].deps];

    (void)state;
    assert_true(hu_graph_is_sound(g));
    first->full = 1;
    assert_false(hu_graph_is_sound(g));
    first->full = HU_NONE;
    assert_int_equal(g->op[1].n_deps, 1);
    inferred->from = 1;
    assert_false(hu_graph_is_sound(g));
    inferred->from = 0;
    g->node[0].n_waits = 1;
    g->node[0].waits = g->op[1].deps;
    assert_int_equal(g->node[0].n_ops, 1);
    assert_true(hu_graph_is_sound(g)); /* its own kernel, as a copy does that blocks */
    inferred->at = HU_AT_NODE_END;
    assert_false(hu_graph_is_sound(g)); /* its own end */
    g->node[0].n_waits = 0;
    inferred->at = HU_AT_OP_END;
    g->op[1].step = (int16_t)(g->n_marks - 1);
    assert_false(hu_graph_is_sound(g));
    done(f);
}

/*
 *   thread 1    loader [0,100)  op [100,110)        hole          op [210,240), launch [212,217)
 *   thread 2                             op [115,205), launch [150,155)
 *   stream                                     K1 [157,167)           K2 [219,269)
 *
 * Thread 1 waits for thread 2, which began when thread 1 let it.
 */
static void a_thread_waits_for_another(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" USER(LOADER, "0", "100") "," OP("forward", "1", "100", "10") "," OP("backward", "2", "115", "90") ","
                         "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":2,\"ts\":150,"
                         "\"dur\":5,\"args\":{\"correlation\":1}}," OP("optimizer", "1", "210", "30") ","
                         CALL("cudaLaunchKernel", "212", "5", "2") "," KERNEL("K1", "7", "157", "10", "1") ","
                         KERNEL("K2", "7", "219", "50", "2") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 269);
    assert_near(with(f, "data=0"), 169);
    assert_path_is_whole(f);
    done(f);
}

/* One launch, three kernels: they follow each other, and none has a launch of its own. */
static void a_graph_is_launched_once(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaGraphLaunch", "0", "10", "1") "," KERNEL("G1", "7", "7", "50", "1") ","
                         KERNEL("G2", "7", "58", "50", "1") "," KERNEL("G3", "7", "109", "50", "1") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 159);
    assert_near(with(f, "kernel:G2x2"), 134);
    assert_near(with(f, "kernel:G*=0"), 10); /* the call itself */
    done(f);
}

/* K0 was launched before the capture: it is in front of K1 on its stream, though K1 was launched before K0 began. */
static void work_from_before_the_capture_comes_first(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" CALL("cudaLaunchKernel", "10", "5", "1") "," KERNEL("K0", "7", "20", "100", "99") ","
                         KERNEL("K1", "7", "121", "50", "1") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(f.s->graph.calibration.unlaunched, 0); /* whose launch was lost: none */
    assert_near(with(f, "kernel:K0x2"), as_it_was(f) - 50);
    assert_path_is_whole(f);
    done(f);
}

/* Homogeneous of degree one: every weight twice as long, the step too; and the engine says so of itself. */
static void doubled_times_double_the_step(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" USER(LOADER, "0", "100") "," CALL("cudaLaunchKernel", "110", "5", "1") ","
                         CALL("cudaStreamSynchronize", "120", "102", "2") "," KERNEL("K", "7", "117", "100", "1") "]");
    /* clang-format on */
    hu_costs *c = hu_pricer_costs(f.s->pricer);
    int64_t   ends[4];

    (void)state;
    c->scale = 2;
    hu_replay_run(hu_pricer_replay(f.s->pricer), c, ends);
    assert_near(hu_replay_step_ns(&f.s->graph, ends) / 1000, 444);
    c->scale = 1;
    assert_near(f.s->check.value[HU_CHECK_HOMOGENEITY], 0);
    assert_int_equal(f.s->check.grade[HU_CHECK_HOMOGENEITY], HU_GRADE_GREEN);
    done(f);
}

/*
 *   stream 7     A [7,107)                          C [208.5,258.5) waits for B's event
 *   stream 20    B [17,207)
 *
 * A could end 100 later (its stream's next starts a gap behind it), B not at all.
 */
static void slack_is_how_much_later(void **state)
{
    /* clang-format off */
    fixture  f = simulate("[" CALL("cudaLaunchKernel", "0", "5", "1") "," CALL("cudaLaunchKernel", "10", "5", "2") ","
                          CALL("cudaEventRecord", "16", "1", "3") "," CALL("cudaStreamWaitEvent", "18", "1", "4") ","
                          CALL("cudaLaunchKernel", "20", "5", "5") "," KERNEL("A", "7", "7", "100", "1") ","
                          KERNEL("B", "20", "17", "190", "2") "," KERNEL("C", "7", "208.5", "50", "5") ","
                          WAIT_EVENT("18", "4", "7", "20", "3") "]");
    /* clang-format on */
    int64_t  ends[4], slack[3];
    hu_path  path;
    hu_error err = {0};

    (void)state;
    assert_int_equal(hu_replay_path(hu_pricer_replay(f.s->pricer), hu_pricer_costs(f.s->pricer), ends, NULL, &path, &err),
                     0);
    assert_int_equal(
        hu_replay_slack(hu_pricer_replay(f.s->pricer), hu_pricer_costs(f.s->pricer), ends, f.s->scratch, slack, &err), 0);
    assert_int_equal(slack[0], 100000);
    assert_int_equal(slack[1], 0);
    assert_int_equal(slack[2], 0);
    done(f);
}

/* Two steps of 200; the second step's loader was 60 longer. */
static void steps_are_measured_between_marks(void **state)
{
    /* clang-format off */
    fixture f = simulate("[" USER("ProfilerStep#0", "0", "170") "," USER(LOADER, "0", "20") ","
                         CALL("cudaLaunchKernel", "50", "5", "1") "," CALL("cudaDeviceSynchronize", "60", "102", "2") ","
                         KERNEL("K", "7", "57", "100", "1") "," USER("ProfilerStep#1", "170", "230") "," USER(LOADER, "170", "80") ","
                         CALL("cudaLaunchKernel", "280", "5", "3") "," CALL("cudaDeviceSynchronize", "290", "102", "4") ","
                         KERNEL("K", "7", "287", "100", "3") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(f.s->graph.n_marks, 3);
    assert_near(as_it_was(f), 200);
    assert_near(with(f, "data=0"), 150);
    assert_near(with(f, "datax2"), 175);
    assert_path_is_whole(f);
    done(f);
}

static void edits_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char     *text;
        hu_edit_kind    kind;
        hu_edit_flavour flavour;
        double          factor;
        const char     *glob;
    } good[] = {
        {"data=0", HU_EDIT_DATA, HU_EDIT_FREE, INFINITY, ""},
        {"data=workers", HU_EDIT_DATA, HU_EDIT_REALISTIC, INFINITY, ""},
        {"sync=off", HU_EDIT_SYNC, HU_EDIT_FREE, INFINITY, ""},
        {"launch/4", HU_EDIT_LAUNCH, HU_EDIT_FREE, 4, ""},
        {"launch=graph", HU_EDIT_LAUNCH, HU_EDIT_REALISTIC, INFINITY, ""},
        {"commx2", HU_EDIT_COMM, HU_EDIT_FREE, 2, ""},
        {"comm=overlap", HU_EDIT_COMM, HU_EDIT_REALISTIC, INFINITY, ""},
        {"kernel:*gemm*\xc3\x97"
         "1.5",
         HU_EDIT_KERNEL, HU_EDIT_FREE, 1.5, "*gemm*"},
        {"kernel:max_pool*x2", HU_EDIT_KERNEL, HU_EDIT_FREE, 2, "max_pool*"},
        {"op:aten::bmm=0", HU_EDIT_OP, HU_EDIT_FREE, INFINITY, "aten::bmm"},
    };
    static const char *const bad[] = {"",        "data",   "data=",   "data=overlap", "kernel", "kernel:",    "kernel:x2",
                                      "speed=2", "commx0", "commx-1", "comm*",        "gcx",    "op:aten::mm"};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(good); i++) {
        hu_error err = {0};
        hu_edit  e;

        if (hu_edit_parse(good[i].text, &e, &err) < 0)
            fail_msg("%s: %s", good[i].text, err.text);
        assert_true(e.kind == good[i].kind && e.flavour == good[i].flavour && e.factor == good[i].factor);
        assert_true(hu_str_equal(e.glob, hu_str_of(good[i].glob)));
    }
    for (size_t i = 0; i < HU_COUNT(bad); i++) {
        hu_error err = {0};
        hu_edit  e;

        if (hu_edit_parse(bad[i], &e, &err) != HU_EUSAGE)
            fail_msg("\"%s\" was read", bad[i]);
        assert_true(err.text[0] != '\0');
    }
}

static void nothing_to_replay_is_said(void **state)
{
    hu_trace *t = trace_of("[" OP("a", "1", "5", "0") "]");
    hu_error  err = {0};

    (void)state;
    assert_null(hu_simulation_new(t, NULL, NULL, &err));
    assert_int_equal(err.code, HU_EUSAGE);
    hu_trace_free(t);
}

/* A thread that is known by name alone launches nothing; the device's work is then all there is. */
static void a_trace_without_host_work_is_replayed(void **state)
{
    /* clang-format off */
    fixture f = simulate("[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main\"}},"
                         KERNEL("K1", "7", "10", "50", "1") "," KERNEL("K2", "7", "61.5", "50", "2") "]");
    /* clang-format on */

    (void)state;
    assert_near(as_it_was(f), 101.5);
    assert_near(with(f, "kernel:K1x2"), 76.5);
    assert_path_is_whole(f);
    done(f);
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_and_wait_move_with_the_host), cmocka_unit_test(a_hidden_loader_costs_nothing),
        cmocka_unit_test(a_stream_waits_for_an_event_of_another), cmocka_unit_test(a_stream_that_waits_is_waited_for),
        cmocka_unit_test(a_wait_that_was_not_recorded_is_inferred),
        cmocka_unit_test(a_delay_that_nothing_explains_is_frozen), cmocka_unit_test(a_full_queue_holds_up_the_host),
        cmocka_unit_test(a_queue_is_of_one_stream), cmocka_unit_test(clocks_that_disagree_make_no_time),
        cmocka_unit_test(a_link_from_later_is_unsound),
        cmocka_unit_test(a_thread_waits_for_another), cmocka_unit_test(a_graph_is_launched_once),
        cmocka_unit_test(work_from_before_the_capture_comes_first), cmocka_unit_test(doubled_times_double_the_step),
        cmocka_unit_test(steps_are_measured_between_marks), cmocka_unit_test(slack_is_how_much_later), cmocka_unit_test(edits_are_read_as_people_write_them),
        cmocka_unit_test(nothing_to_replay_is_said), cmocka_unit_test(a_trace_without_host_work_is_replayed),
    };
    /* clang-format on */

    return cmocka_run_group_tests(tests, NULL, NULL);
}
