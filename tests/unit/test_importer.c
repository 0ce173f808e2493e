/* SPDX-License-Identifier: Apache-2.0
 * test_importer.c - documents as they really are: cut, padded, sloppy and hostile; nothing is dropped uncounted. */
#include "analyze/digest.h"
#include "testing.h"

static hu_trace *open_with(const char *json, hu_limits limits, hu_error *err)
{
    hu_input_options options = plain_options();
    hu_input        *in;
    hu_builder      *b;

    options.limits = limits;
    in = hu_input_open_memory(hu_str_of(json), "test", &options, err);
    assert_non_null(in);
    b = hu_open_input(in, &options, err);
    return b ? hu_builder_freeze(b, err) : NULL;
}

static int code_of(const char *json)
{
    hu_error  err = {0};
    hu_trace *t = open_with(json, hu_limits_default(), &err);

    if (t) {
        hu_trace_free(t);
        return 0;
    }
    assert_true(err.text[0] != '\0');
    return err.code;
}

static int64_t count_of(const hu_trace *t, hu_reason reason)
{
    return hu_trace_get_quality(t)->count[reason];
}

static void check_clean(hu_trace *t, size_t slices)
{
    const hu_quality *q = hu_trace_get_quality(t);

    assert_int_equal(hu_trace_slices(t).n, slices);
    assert_int_equal(q->events, slices);
    assert_int_equal(hu_quality_lost(q), 0);
    assert_false(q->is_truncated);
    assert_int_equal(q->trailing_bytes, 0);
    hu_trace_free(t);
}

static void object_and_bare_array_hold_the_same_events(void **state)
{
    (void)state;
    check_clean(trace_of("{\"traceEvents\":[" OP("a", "1", "1", "1") "," OP("b", "1", "3", "1") "]}"), 2);
    check_clean(trace_of("[" OP("a", "1", "1", "1") "," OP("b", "1", "3", "1") "]"), 2);
    check_clean(trace_of("\xef\xbb\xbf \n[" OP("a", "1", "1", "1") "]\n\n"), 1);
    check_clean(trace_of("[" OP("a", "1", "1", "1") ",\n]"), 1); /* a comma before the end, as some writers leave it */
}

static void metadata_counts_before_and_behind_the_events(void **state)
{
    static const char *const rows[] = {
        "{\"distributedInfo\":{\"rank\":5,\"world_size\":9},\"traceEvents\":[" OP("a", "1", "1", "1") "]}",
        "{\"traceEvents\":[" OP("a", "1", "1", "1") "],\"distributedInfo\":{\"rank\":5,\"world_size\":9}}",
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        hu_trace *t = trace_of(rows[i]);

        assert_true(hu_trace_get_info(t)->rank == 5 && hu_trace_get_info(t)->world_size == 9);
        check_clean(t, 1);
    }
}

/* Wherever the file breaks off, the whole events before the break are there, and nothing else is. */
static void every_cut_keeps_the_events_before_it(void **state)
{
    /* clang-format off */
    static const char whole[] = "{\"schemaVersion\":1,\"traceEvents\":[\n  " OP("a", "1", "1", "1") ",\n  " OP("b", "1", "3", "1") ",\n  "
                                OP("c", "1", "5", "1") "\n]}";
    /* clang-format on */
    const char  *ends[4];
    const size_t n = sizeof whole - 1;
    size_t       have = 0;

    (void)state;
    ends[0] = whole;
    for (const char *p = whole; have < 3 && (p = strstr(p, "}")) != NULL; p++)
        ends[++have] = p + 1;
    for (size_t cut = 1; cut < n; cut++) {
        char     *text = malloc(cut + 1);
        hu_error  err = {0};
        hu_trace *t;
        size_t    expected = 0;

        memcpy(text, whole, cut);
        text[cut] = '\0';
        while (expected < 3 && text + cut >= text + (ends[expected + 1] - whole))
            expected++;
        t = open_with(text, hu_limits_default(), &err);
        if (expected == 0) {
            assert_null(t);
            assert_true(err.code == HU_EEMPTY || err.code == HU_EFORMAT);
        } else {
            assert_non_null(t);
            assert_int_equal(hu_trace_slices(t).n, expected);
            assert_true(hu_trace_get_quality(t)->is_truncated);
            assert_int_equal(hu_trace_get_quality(t)->truncated_at, cut);
            hu_trace_free(t);
        }
        free(text);
    }
}

static void bytes_behind_the_document_are_counted(void **state)
{
    hu_trace *t = trace_of("{\"traceEvents\":[" OP("a", "1", "1", "1") "]}garbage");

    (void)state;
    assert_int_equal(hu_trace_get_quality(t)->trailing_bytes, 7);
    assert_int_equal(hu_trace_slices(t).n, 1);
    assert_false(hu_trace_get_quality(t)->is_truncated);
    hu_trace_free(t);
    t = trace_of("[" OP("a", "1", "1", "1") "]"
                                            "x");
    assert_int_equal(hu_trace_get_quality(t)->trailing_bytes, 1);
    hu_trace_free(t);
}

static void an_unescaped_quote_costs_one_event(void **state)
{
    hu_trace *t = trace_of("[" OP("a", "1", "1", "1") "," OP("b \"q\" {x", "1", "3", "1") "," OP("c", "1", "5", "1") "]");

    (void)state;
    assert_int_equal(hu_trace_slices(t).n, 2);
    assert_int_equal(count_of(t, HU_REASON_MALFORMED), 1);
    assert_int_equal(hu_trace_get_quality(t)->events, 3);
    slice_named(t, "a");
    slice_named(t, "c");
    hu_trace_free(t);
}

static void elements_that_are_no_events_are_counted(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("a", "1", "1", "1") ",{},{\"ph\":\"?\"},{\"ph\":\"X\",\"name\":\"n\",\"dur\":1},"
                           "{\"ph\":\"X\",\"name\":\"n\",\"ts\":1}," OP("b", "1", "3", "1") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(hu_trace_slices(t).n, 2);
    assert_int_equal(count_of(t, HU_REASON_NO_PHASE), 1); /* {} is nothing at all */
    assert_int_equal(count_of(t, HU_REASON_NO_TIME), 1);
    assert_int_equal(count_of(t, HU_REASON_NO_DURATION), 1);
    assert_int_equal(hu_quality_lost(hu_trace_get_quality(t)), 3);
    assert_int_equal(hu_trace_get_quality(t)->events, 5);
    hu_trace_free(t);
}

static void bare_words_are_seen_and_do_no_harm(void **state)
{
    hu_trace *t = trace_of(
        "[{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"c\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,\"args\":{\"bytes\":64,"
        "\"memory bandwidth (GB/s)\":N/A}},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"ts\":1,\"dur\":NaN},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"p\",\"ts\":-Infinity,\"dur\":1}]");

    (void)state;
    assert_int_equal(count_of(t, HU_REASON_ODD_WORD), 3);
    assert_int_equal(count_of(t, HU_REASON_NO_DURATION), 1);
    assert_int_equal(count_of(t, HU_REASON_NO_TIME), 1);
    assert_int_equal(hu_trace_slices(t).n, 1);
    assert_int_equal(hu_trace_copy_detail(t, hu_trace_slices(t).detail[0])->bytes, 64);
    hu_trace_free(t);
}

static void of_a_member_written_twice_the_last_counts(void **state)
{
    hu_trace *t = trace_of(
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"old\",\"name\":\"new\",\"tid\":1,\"ts\":1,\"ts\":2,\"dur\":3}]");

    (void)state;
    assert_int_equal(count_of(t, HU_REASON_DUPLICATE_KEY), 1);
    assert_int_equal(hu_trace_slices(t).start_ns[slice_named(t, "new")], 2000);
    hu_trace_free(t);
}

static void names_keep_control_characters_and_bad_escapes(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("a\tb", "1", "1", "1") "," OP("C:\\\\x\\q", "1", "3", "1") "," OP("\\u0041", "1", "5", "1") ","
                           OP("\xff", "1", "7", "1") "]");
    /* clang-format on */

    (void)state;
    slice_named(t, "a\tb");
    slice_named(t, "C:\\x\\q");
    slice_named(t, "A");
    assert_int_equal(count_of(t, HU_REASON_CONTROL_CHARACTER), 1);
    assert_int_equal(count_of(t, HU_REASON_BAD_ESCAPE), 1);
    assert_int_equal(hu_trace_get_quality(t)->invalid_utf8, 1);
    hu_trace_free(t);
}

static void durations_that_cannot_be_are_clamped_or_lost(void **state)
{
    hu_trace *t = trace_of("[" OP("negative", "1", "1", "-4.5") "," OP("overflowed", "1", "1",
                                                                       "9e14") "," OP("week", "1", "9", "604800000000") "]");

    (void)state;
    assert_int_equal(count_of(t, HU_REASON_NEGATIVE_DURATION), 1);
    assert_int_equal(hu_trace_get_quality(t)->dur_ns[HU_REASON_NEGATIVE_DURATION], 4500);
    assert_int_equal(hu_trace_slices(t).dur_ns[slice_named(t, "negative")], 0);
    assert_int_equal(count_of(t, HU_REASON_ABSURD_DURATION), 1);
    assert_int_equal(hu_trace_slices(t).n, 2);
    hu_trace_free(t);
}

static void device_work_at_zero_is_lost_and_host_work_is_not(void **state)
{
    hu_trace *t = trace_of(
        "[" KERNEL("k", "7", "0", "2.5", "0") "," OP("a", "1", "0", "1") "," KERNEL("l", "7", "5", "1", "0") "]");

    (void)state;
    assert_int_equal(count_of(t, HU_REASON_ZERO_TIME), 1);
    assert_int_equal(hu_trace_get_quality(t)->dur_ns[HU_REASON_ZERO_TIME], 2500);
    assert_int_equal(hu_trace_slices(t).n, 2);
    hu_trace_free(t);
}

static void begins_and_ends_without_partner_are_counted(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":2},"
                           "{\"ph\":\"B\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":2},{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":1},"
                           OP("a", "3", "1", "1") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(count_of(t, HU_REASON_UNMATCHED_END), 1);
    assert_int_equal(count_of(t, HU_REASON_UNMATCHED_BEGIN), 1);
    assert_int_equal(count_of(t, HU_REASON_NEGATIVE_DURATION), 1);
    assert_int_equal(hu_trace_slices(t).dur_ns[slice_named(t, "open")], 0);
    assert_int_equal(hu_trace_slices(t).dur_ns[slice_named(t, "other")], 0);
    hu_trace_free(t);
}

static void a_number_in_quotes_is_the_same_row(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("a", "7", "1", "9") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":\"1\",\"tid\":\"7\",\"ts\":\"2\","
                           "\"dur\":\"3.5\"},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":\"main\",\"tid\":\"loop\",\"ts\":2,\"dur\":1}]");
    /* clang-format on */
    const hu_slices s = hu_trace_slices(t);
    const uint32_t  a = slice_named(t, "a"), b = slice_named(t, "b"), c = slice_named(t, "c");
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(t, &n);

    (void)state;
    assert_int_equal(s.track[a], s.track[b]);
    assert_int_equal(s.parent[b], a);
    assert_int_equal(s.dur_ns[b], 3500);
    assert_true(tracks[s.track[c]].pid_is_text && tracks[s.track[c]].tid_is_text);
    assert_true(hu_str_equal(hu_trace_text(t, (uint32_t)tracks[s.track[c]].tid), HU_STR("loop")));
    hu_trace_free(t);
}

static void ids_beyond_32_bits_still_link(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" CALL("cudaLaunchKernel", "1", "2", "4294967301") "," CALL("cudaLaunchKernelExC", "4", "2", "5") ","
                           KERNEL("wide", "7", "10", "1", "4294967301") "," KERNEL("narrow", "7", "12", "1", "5") ","
                           KERNEL("text", "7", "14", "1", "\"5\"") "," KERNEL("top", "7", "16", "1", "18446744073709551615") "]");
    /* clang-format on */

    (void)state;
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "wide")), slice_named(t, "cudaLaunchKernel"));
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "narrow")), slice_named(t, "cudaLaunchKernelExC"));
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "text")), slice_named(t, "cudaLaunchKernelExC"));
    assert_int_equal(hu_trace_launch_of(t, slice_named(t, "top")), HU_NONE);
    assert_int_equal(count_of(t, HU_REASON_WIDE_ID), 3);
    hu_trace_free(t);
}

static void one_graph_launch_owns_all_its_kernels_in_time_order(void **state)
{
    enum { KERNELS = 3000 };
    static char     text[KERNELS * 160 + 1024];
    size_t          n = (size_t)snprintf(text, sizeof text,
                                         "[" OP("replay", "1", "1", "50") "," CALL("cudaGraphLaunch", "5", "9", "77"));
    hu_trace       *t;
    const uint32_t *work;
    uint32_t        call;

    (void)state;
    for (int i = 0; i < KERNELS; i++) /* written backwards, on two streams */
        n += (size_t)snprintf(text + n, sizeof text - n, "," KERNEL("k", "%d", "%d", "2", "77"), 7 + i % 2,
                              100 + (KERNELS - i) * 4, 7 + i % 2);
    snprintf(text + n, sizeof text - n, "]");
    t = trace_of(text);
    call = slice_named(t, "cudaGraphLaunch");
    work = hu_trace_work_of(t, call, &n);
    assert_int_equal(n, KERNELS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hu_trace_launch_of(t, work[i]), call);
        assert_int_equal(hu_trace_op_of(t, work[i]), slice_named(t, "replay"));
        assert_true(i == 0 || hu_trace_slices(t).start_ns[work[i]] >= hu_trace_slices(t).start_ns[work[i - 1]]);
    }
    hu_trace_free(t);
}

static void nesting_beyond_the_limit_costs_one_event(void **state)
{
    char      text[4096];
    hu_limits limits = hu_limits_default();
    hu_error  err = {0};
    hu_trace *t;
    /* clang-format off */
    size_t   n = (size_t)snprintf(text, sizeof text, "[" OP("a", "1", "1", "1") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"deep\",\"ts\":2,\"dur\":1,"
                                  "\"args\":{\"Input Dims\":");
    /* clang-format on */

    (void)state;
    for (int i = 0; i < 20; i++)
        text[n++] = '[';
    for (int i = 0; i < 20; i++)
        text[n++] = ']';
    snprintf(text + n, sizeof text - n, "}}," OP("b", "1", "5", "1") "]");
    limits.nesting = 10;
    t = open_with(text, limits, &err);
    assert_non_null(t);
    assert_int_equal(count_of(t, HU_REASON_TOO_DEEP), 1);
    assert_int_equal(hu_trace_slices(t).n, 2);
    slice_named(t, "b");
    hu_trace_free(t);
    t = open_with(text, hu_limits_default(), &err);
    assert_int_equal(hu_trace_slices(t).n, 3);
    hu_trace_free(t);
}

static void limits_on_events_and_strings_are_errors_that_name_their_option(void **state)
{
    static const char json[] = "[" OP("aaaaaaaaaa", "1", "1", "1") "," OP("bbbbbbbbbb", "1", "3",
                                                                          "1") "," OP("cccccccccc", "1", "5", "1") "]";
    hu_limits         limits = hu_limits_default();
    hu_error          err = {0};
    hu_trace         *t;

    (void)state;
    limits.events = 2;
    assert_null(open_with(json, limits, &err));
    assert_int_equal(err.code, HU_ELIMIT);
    assert_non_null(strstr(err.text, "--limit events"));
    limits.events = 3;
    t = open_with(json, limits, &err);
    assert_non_null(t);
    hu_trace_free(t);
    limits.string_bytes = 20;
    assert_null(open_with(json, limits, &err));
    assert_int_equal(err.code, HU_ELIMIT);
    assert_non_null(strstr(err.text, "--limit string_bytes"));
}

static void what_holds_no_events_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(code_of(""), HU_EEMPTY);
    assert_int_equal(code_of("hello"), HU_EFORMAT);
    assert_int_equal(code_of("{}"), HU_EFORMAT);
    assert_int_equal(code_of("[]"), HU_EEMPTY);
    assert_int_equal(code_of("{\"traceEvents\":[]}"), HU_EEMPTY);
    assert_int_equal(code_of("{\"nodes\":[{\"id\":1}]}"), HU_EFORMAT);
    assert_int_equal(code_of("[1,2,3]"), HU_EFORMAT);
    assert_int_equal(code_of("{\"traceEvents\":["), HU_EEMPTY);
}

static void events_longer_than_a_chunk_arrive_whole(void **state)
{
    enum { LONG = 1500000 };
    char     *text = malloc(LONG + 4096);
    hu_trace *t;
    hu_slices s;
    size_t    n = (size_t)snprintf(text, 4096,
                                   "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"
                                      "\"args\":{\"Call stack\":\"");

    (void)state;
    memset(text + n, 'x', LONG);
    n += LONG;
    memcpy(text + n, "\"}}," OP("b", "1", "5", "1") "]", sizeof "\"}}," OP("b", "1", "5", "1") "]");
    t = trace_of(text);
    s = hu_trace_slices(t);
    assert_int_equal(s.n, 2);
    assert_int_equal(hu_trace_text(t, hu_trace_op_extra(t, hu_trace_op_detail(t, s.detail[0])->extra)->stack).n, LONG);
    assert_false(hu_trace_get_quality(t)->is_truncated);
    hu_trace_free(t);
    free(text);
}

static hu_digest *digest_of(const char *json)
{
    hu_trace  *t = trace_of(json);
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){0}, &err);

    assert_non_null(d);
    hu_trace_free(t);
    return d;
}

/* Two of 2^63 ns each: whether they are clamped, lost or saturate, their sum must not turn negative. */
static void begin_and_end_centuries_apart_do_not_overflow(void **state)
{
    /* clang-format off */
    hu_digest *d = digest_of("[{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":-4600000000000000},"
                             "{\"ph\":\"E\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":4600000000000000},"
                             "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":-4600000000000000},"
                             "{\"ph\":\"E\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":4600000000000000}," OP("b", "3", "1", "1") "]");
    /* clang-format on */
    bool negative = d->operators.host_self_sum_ns < 0;

    (void)state;
    for (size_t i = 0; i < d->operators.n; i++)
        negative |= d->operators.at[i].host_total_ns < 0 || d->operators.at[i].host_self_ns < 0;
    hu_digest_free(d);
    assert_false(negative);
}

#define ALLOCATION                                                                                             \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":{\"Device Type\":0,\"Addr\":1," \
    "\"Bytes\":\"9223372036854775807\"}}"
#define HUGE_COPY                                                                                                              \
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> Device)\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1," \
    "\"args\":{\"bytes\":\"9223372036854775807\"}}"

static void absurd_byte_counts_do_not_overflow(void **state)
{
    hu_digest *d = digest_of("[" OP("a", "1", "1", "5") "," ALLOCATION "," ALLOCATION "," HUGE_COPY "," HUGE_COPY "]");
    bool       negative = d->copies.at[0].bytes < 0;

    (void)state;
    for (size_t i = 0; i < d->operators.n; i++)
        negative |= d->operators.at[i].host_bytes < 0;
    hu_digest_free(d);
    assert_false(negative);
}

/* As producers write it, and as nobody does: what is no number counts as none, and a fourth is not looked at. */
static void a_grid_is_its_first_three_numbers(void **state)
{
    static const struct {
        const char *text;
        uint32_t    grid[3];
    } rows[] = {
        {"[1,2,3]", {1, 2, 3}},
        {"[ 4 ,\n5,\t6 ]", {4, 5, 6}},
        {"[7, 8]", {7, 8, 0}},
        {"[7, 8, 9, 10]", {7, 8, 9}},
        {"[1.5, 2, 3]", {0, 2, 3}},
        {"[\"1\", 2, 3]", {0, 2, 3}},
        {"[4294967296, 1, 2]", {0, 1, 2}},
        {"[1234567890, 1, 2]", {1234567890, 1, 2}},
        {"[[1], 2, 3]", {0, 2, 3}},
        {"[-1, 2, 3]", {0, 2, 3}},
        {"[]", {0, 0, 0}},
        {"[,1,,2, 3]", {1, 2, 3}},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        char                    text[400];
        hu_trace               *t;
        const hu_kernel_detail *k;

        snprintf(text, sizeof text,
                 "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
                 "\"args\":{\"grid\":%s,\"block\":[32,1,1]}}]",
                 rows[i].text);
        t = trace_of(text);
        k = hu_trace_kernel_detail(t, hu_trace_slices(t).detail[0]);
        assert_memory_equal(k->grid, rows[i].grid, sizeof k->grid);
        hu_trace_free(t);
    }
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_and_bare_array_hold_the_same_events),
        cmocka_unit_test(metadata_counts_before_and_behind_the_events), cmocka_unit_test(every_cut_keeps_the_events_before_it),
        cmocka_unit_test(bytes_behind_the_document_are_counted), cmocka_unit_test(an_unescaped_quote_costs_one_event),
        cmocka_unit_test(elements_that_are_no_events_are_counted), cmocka_unit_test(bare_words_are_seen_and_do_no_harm),
        cmocka_unit_test(of_a_member_written_twice_the_last_counts),
        cmocka_unit_test(names_keep_control_characters_and_bad_escapes),
        cmocka_unit_test(durations_that_cannot_be_are_clamped_or_lost),
        cmocka_unit_test(device_work_at_zero_is_lost_and_host_work_is_not),
        cmocka_unit_test(begins_and_ends_without_partner_are_counted), cmocka_unit_test(a_number_in_quotes_is_the_same_row),
        cmocka_unit_test(ids_beyond_32_bits_still_link),
        cmocka_unit_test(one_graph_launch_owns_all_its_kernels_in_time_order),
        cmocka_unit_test(nesting_beyond_the_limit_costs_one_event),
        cmocka_unit_test(limits_on_events_and_strings_are_errors_that_name_their_option),
        cmocka_unit_test(what_holds_no_events_is_an_error), cmocka_unit_test(events_longer_than_a_chunk_arrive_whole),
        cmocka_unit_test(begin_and_end_centuries_apart_do_not_overflow),
        cmocka_unit_test(absurd_byte_counts_do_not_overflow), cmocka_unit_test(a_grid_is_its_first_three_numbers),
    };
    /* clang-format on */

    return cmocka_run_group_tests(tests, NULL, NULL);
}
