/* SPDX-License-Identifier: Apache-2.0
 * test_model.c - from events to slices, parents, launches and flows. */
#include "testing.h"

static void a_child_belongs_to_the_innermost_slice_around_it(void **state)
{
    /* a [0,100) holds b [10,50) holds c [20,30); d [60,100.5) ends half a microsecond late: rounding; e is elsewhere */
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("d", "1", "60", "40.5") "," OP("a", "1", "0.1", "99.9") "," OP("c", "1", "20", "10") ","
                           OP("b", "1", "10", "40") "," OP("e", "2", "20", "10") "]");
    /* clang-format on */
    const hu_slices s = hu_trace_slices(t);

    (void)state;
    assert_int_equal(s.parent[slice_named(t, "a")], HU_NONE);
    assert_int_equal(s.parent[slice_named(t, "b")], slice_named(t, "a"));
    assert_int_equal(s.parent[slice_named(t, "c")], slice_named(t, "b"));
    assert_int_equal(s.parent[slice_named(t, "d")], slice_named(t, "a"));
    assert_int_equal(s.parent[slice_named(t, "e")], HU_NONE);
    assert_int_equal(hu_trace_get_quality(t)->count[HU_REASON_CROSSING], 0);
    hu_trace_free(t);
}

static void equal_slices_nest_by_kind(void **state)
{
    hu_trace *t = trace_of("[" CALL("call", "5", "10", "1") "," OP("op", "1", "5", "10") "," USER("user", "5", "10") "]");
    const hu_slices s = hu_trace_slices(t);

    (void)state;
    assert_int_equal(s.parent[slice_named(t, "call")], slice_named(t, "op"));
    assert_int_equal(s.parent[slice_named(t, "op")], slice_named(t, "user"));
    hu_trace_free(t);
}

/* Both begin at 0; the file names the inner one first. */
static void of_two_that_begin_together_the_longer_is_outside(void **state)
{
    hu_trace *t = trace_of("[" OP("in", "1", "0", "10") "," OP("out", "1", "0", "30") "," OP("last", "1", "20", "5") "]");
    hu_slices s = hu_trace_slices(t);

    (void)state;
    assert_int_equal(s.parent[slice_named(t, "out")], HU_NONE);
    assert_int_equal(s.parent[slice_named(t, "in")], slice_named(t, "out"));
    assert_int_equal(s.parent[slice_named(t, "last")], slice_named(t, "out"));
    hu_trace_free(t);
}

static void work_belongs_to_its_launch_and_its_operator(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("mm", "1", "1", "20") "," CALL("cudaLaunchKernel", "5", "2", "7") ","
                           KERNEL("late", "7", "40", "2", "7") "," KERNEL("early", "8", "30", "2", "7") ","
                           KERNEL("alone", "7", "50", "2", "0") "]");
    /* clang-format on */
    const uint32_t  call = slice_named(t, "cudaLaunchKernel");
    const uint32_t *work;
    size_t          n;

    (void)state;
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "late")), call);
    assert_int_equal(hu_trace_op_of(t, slice_named(t, "late")), slice_named(t, "mm"));
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "alone")), HU_NONE);
    work = hu_trace_work_of(t, call, &n);
    assert_int_equal(n, 2);
    assert_non_null(work);
    assert_null(hu_trace_work_of(t, slice_named(t, "mm"), &n));
    hu_trace_free(t);
}

static void the_runtime_call_wins_over_the_driver_call_below_it(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1,"
                           "\"args\":{\"correlation\":7}}," CALL("cudaLaunchKernel", "2", "3", "7") ","
                           KERNEL("k", "7", "40", "2", "7") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "k")), slice_named(t, "cudaLaunchKernel"));
    hu_trace_free(t);
}

static void without_a_call_the_external_id_names_the_operator(void **state)
{
    hu_trace *t = trace_of(
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9,"
        "\"args\":{\"External id\":5}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":20,\"dur\":1,\"args\":{\"External id\":5,\"correlation\":9}}]");

    (void)state;
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "k")), HU_NONE);
    assert_int_equal(hu_trace_op_of(t, slice_named(t, "k")), slice_named(t, "mm"));
    hu_trace_drop_unasked(t);
    assert_null(hu_trace_slices(t).external);
    assert_int_equal(hu_trace_op_of(t, slice_named(t, "k")), slice_named(t, "mm"));
    hu_trace_free(t);
}

static void backward_operators_know_their_forward_ones(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("fwd", "1", "1.5", "5") "," OP("bwd", "2", "30", "5") ","
                           "{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":1,\"ts\":1.5,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"},"
                           "{\"ph\":\"f\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":30,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"bp\":\"e\"}]");
    /* clang-format on */

    (void)state;
    assert_int_equal(hu_trace_forward_of(t, slice_named(t, "bwd")), slice_named(t, "fwd"));
    assert_int_equal(hu_trace_forward_of(t, slice_named(t, "fwd")), HU_NONE);
    hu_trace_free(t);
    t = trace_of(
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"fwd\",\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"Sequence number\":3,"
        "\"Fwd thread id\":0}},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"bwd\",\"tid\":2,\"ts\":9,\"dur\":1,"
        "\"args\":{\"Sequence number\":3,\"Fwd thread id\":1}}]");
    assert_int_equal(hu_trace_forward_of(t, slice_named(t, "bwd")), slice_named(t, "fwd"));
    hu_trace_free(t);
}

static void details_are_kept(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"grid\":[4,5,6],"
        "\"block\":[128,1,1],\"registers per thread\":40,\"shared memory\":2048,\"est. achieved occupancy %\":25,\"graph id\":3,"
        "\"stream\":7,\"Collective name\":\"allreduce\",\"In msg nelems\":10,\"Group size\":8}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"c\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,\"args\":{\"bytes\":64,\"fromDevice\":1,"
        "\"toDevice\":2}},{\"ph\":\"C\",\"name\":\"n\",\"pid\":1,\"ts\":3,\"args\":{\"\":2.5}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":3,\"args\":{\"name\":\"main\"}}," OP("o", "3", "1", "1") "]");
    /* clang-format on */
    const hu_slices         s = hu_trace_slices(t);
    const uint32_t          k = slice_named(t, "k"), c = slice_named(t, "c");
    const hu_kernel_detail *kernel = hu_trace_kernel_detail(t, s.detail[k]);
    const hu_sample        *samples;
    const hu_track         *tracks;
    size_t                  n;

    (void)state;
    assert_int_equal(s.kind[k], HU_KIND_COLLECTIVE);
    assert_true(kernel->grid[2] == 6 && kernel->block[0] == 128 && kernel->registers == 40 && kernel->graph == 3);
    assert_int_equal(hu_trace_collective_detail(t, kernel->collective)->group_size, 8);
    assert_true(hu_trace_copy_detail(t, s.detail[c])->bytes == 64 && hu_trace_copy_detail(t, s.detail[c])->to_device == 2);
    samples = hu_trace_samples(t, &n);
    assert_true(n == 1 && samples[0].value == 2.5 && samples[0].time_ns == 3000);
    tracks = hu_trace_tracks(t, &n);
    assert_true(hu_str_equal(hu_trace_text(t, tracks[s.track[slice_named(t, "o")]].name), HU_STR("main")));
    assert_int_equal(tracks[s.track[c]].device, 1); /* peer copies have no device of their own */
    hu_trace_free(t);
}

/* A row that was there not long ago is not stored again; every slice keeps its own values, however many rows there are. */
static void equal_details_share_a_row(void **state)
{
    const hu_limits limits = hu_limits_default();
    hu_builder     *b = hu_builder_new("test", &limits);
    hu_error        err = {0};
    const uint32_t  track = hu_builder_track(b, HU_TRACK_HOST, (hu_builder_id){1, false}, (hu_builder_id){1, false});
    uint32_t        row[2];
    hu_trace       *t;
    hu_slices       s;

    (void)state;
    for (int i = 0; i < 2; i++)
        row[i] = hu_builder_kernel_detail(b, &(hu_kernel_detail){.grid = {7, 1, 1}, .registers = 32});
    assert_int_equal(row[0], row[1]);
    for (uint32_t i = 0; i < 20000; i++) {
        const hu_kernel_detail k = {.grid = {i % 9000, 1, 1}, .registers = (uint16_t)(i % 2)};
        const hu_call_detail   c = {.callback_id = (int32_t)(i % 5), .bytes = -1};
        const bool             is_kernel = i % 3;

        hu_builder_add(
            b, &(hu_builder_slice){.start_ns = i,
                                   .track = track,
                                   .correlation = i % 2 ? i : 0,
                                   .external = i % 5 ? 0 : i,
                                   .detail = is_kernel ? hu_builder_kernel_detail(b, &k) : hu_builder_call_detail(b, &c),
                                   .kind = is_kernel ? HU_KIND_KERNEL : HU_KIND_RUNTIME});
    }
    t = hu_builder_freeze(b, &err);
    assert_non_null(t);
    s = hu_trace_slices(t);
    for (uint32_t i = 0; i < 20000; i++) {
        assert_int_equal(s.correlation[i], i % 2 ? i : 0);
        assert_int_equal(s.external[i], i % 5 ? 0 : i);
        if (i % 3) {
            assert_int_equal(hu_trace_kernel_detail(t, s.detail[i])->grid[0], i % 9000);
            assert_int_equal(hu_trace_kernel_detail(t, s.detail[i])->registers, i % 2);
        } else {
            assert_int_equal(hu_trace_call_detail(t, s.detail[i])->callback_id, i % 5);
            assert_true(s.detail[i] < 5);
        }
    }
    hu_trace_free(t);
}

static void begin_and_end_pair_like_brackets(void **state)
{
    hu_trace *t = trace_of(
        "[{\"ph\":\"B\",\"name\":\"out\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"B\",\"name\":\"in\",\"pid\":1,\"tid\":1,"
        "\"ts\":2},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}]");
    const hu_slices s = hu_trace_slices(t);

    (void)state;
    assert_int_equal(s.dur_ns[slice_named(t, "in")], 3000);
    assert_int_equal(s.dur_ns[slice_named(t, "out")], 8000);
    assert_int_equal(s.parent[slice_named(t, "in")], slice_named(t, "out"));
    hu_trace_free(t);
}

static void metadata_says_what_the_capture_was(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("{\"traceEvents\":[" OP("a", "1", "1", "1") "],\"deviceProperties\":[{\"id\":0,\"name\":\"H\\u0032\",\"numSms\":132}],"
                           "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8},\"baseTimeNanoseconds\":1000,"
                           "\"record_shapes\":1,\"schemaVersion\":1,\"host_name\":\"h\"}");
    /* clang-format on */
    const hu_trace_info *info = hu_trace_get_info(t);
    size_t               n;
    const hu_device     *d = hu_trace_devices(t, &n);

    (void)state;
    assert_true(info->rank == 3 && info->world_size == 8 && info->base_ns == 1000 && info->has_shapes && !info->has_memory);
    assert_true(n == 1 && d[0].sm_count == 132 && hu_str_equal(hu_trace_text(t, d[0].name), HU_STR("H2")));
    hu_trace_free(t);
}

/* Steps of a training, long enough for two threads: forward, backward in another thread, launches, kernels. */
static hu_trace *long_trace(size_t steps, int sequence_stride)
{
    const size_t room = steps * 1200 + 16;
    char        *text = malloc(room);
    size_t       n = 1;
    hu_trace    *t;

    assert_non_null(text);
    text[0] = '[';
    for (size_t k = 0; k < steps; k++)
        n += (size_t)snprintf(
            text + n, room - n,
            "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":40,"
            "\"args\":{\"External id\":%zu,\"Sequence number\":%zu,\"Fwd thread id\":0}},"
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"MmBackward0\",\"pid\":1,\"tid\":2,\"ts\":%zu,\"dur\":40,"
            "\"args\":{\"External id\":%zu,\"Sequence number\":%zu,\"Fwd thread id\":1}},"
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":%d,\"ts\":%zu,\"dur\":5,"
            "\"args\":{\"correlation\":%zu}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%zu,\"dur\":20,"
            "\"args\":{\"device\":0,\"stream\":7,\"External id\":%zu,\"correlation\":%zu}}",
            k ? "," : "", k * 100, 2 * k + 1, k * (size_t)sequence_stride, k * 100 + 50, 2 * k + 2,
            k * (size_t)sequence_stride, k % 2 ? 1 : 2, k * 100 + (k % 2 ? 10 : 60), k + 1, k * 100 + 70, 2 * k + 1,
            k % 5 ? k + 1 : steps + k + 1);
    snprintf(text + n, room - n, "]");
    t = trace_of(text);
    free(text);
    return t;
}

static void assert_same_links(const hu_trace *a, const hu_trace *b)
{
    const hu_slices s = hu_trace_slices(a), other = hu_trace_slices(b);

    assert_int_equal(s.n, other.n);
    assert_memory_equal(s.parent, other.parent, s.n * sizeof *s.parent);
    assert_memory_equal(hu_trace_order(a), hu_trace_order(b), s.n * sizeof(uint32_t));
    for (uint32_t i = 0; i < s.n; i++) {
        size_t          n, m;
        const uint32_t *work = hu_trace_work_of(a, i, &n), *same = hu_trace_work_of(b, i, &m);

        assert_int_equal(n, m);
        assert_true(n == 0 || memcmp(work, same, n * sizeof *work) == 0);
        assert_int_equal(hu_trace_forward_of(a, i), hu_trace_forward_of(b, i));
    }
}

/* Sequence numbers close together and far apart: an array and a map of them. */
static void links_do_not_depend_on_threads(void **state)
{
    enum { STEPS = 6000 };

    (void)state;
    for (int stride = 1; stride <= 1000; stride += 999) {
        hu_trace *one, *two;
        hu_slices s;

        setenv("HOLDUP_THREADS", "1", 1);
        one = long_trace(STEPS, stride);
        setenv("HOLDUP_THREADS", "2", 1);
        two = long_trace(STEPS, stride);
        unsetenv("HOLDUP_THREADS");
        s = hu_trace_slices(two);
        assert_int_equal(s.n, 4 * STEPS);
        assert_int_equal(hu_trace_forward_of(two, 4 * 9 + 1), 4 * 9); /* by number */
        assert_int_equal(s.parent[4 * 9 + 2], 4 * 9);                 /* by time */
        assert_int_equal(s.parent[4 * 9 + 3], 4 * 9 + 2);             /* by correlation */
        assert_int_equal(s.parent[4 * 10 + 3], 4 * 10);               /* by external id */
        assert_same_links(one, two);
        for (uint32_t k = 0; k < STEPS; k++) {
            size_t          n;
            const uint32_t *work = hu_trace_work_of(two, 4 * k + 2, &n);

            assert_int_equal(n, k % 5 != 0);
            assert_true(n == 0 || work[0] == 4 * k + 3);
        }
        hu_trace_free(one);
        hu_trace_free(two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_belongs_to_the_innermost_slice_around_it),
        cmocka_unit_test(equal_slices_nest_by_kind),
        cmocka_unit_test(of_two_that_begin_together_the_longer_is_outside),
        cmocka_unit_test(work_belongs_to_its_launch_and_its_operator),
        cmocka_unit_test(the_runtime_call_wins_over_the_driver_call_below_it),
        cmocka_unit_test(without_a_call_the_external_id_names_the_operator),
        cmocka_unit_test(backward_operators_know_their_forward_ones),
        cmocka_unit_test(details_are_kept),
        cmocka_unit_test(equal_details_share_a_row),
        cmocka_unit_test(begin_and_end_pair_like_brackets),
        cmocka_unit_test(metadata_says_what_the_capture_was),
        cmocka_unit_test(links_do_not_depend_on_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
