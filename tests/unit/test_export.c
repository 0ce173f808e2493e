/* SPDX-License-Identifier: Apache-2.0
 * test_export.c - the small things below the exports: protobuf, JSON that may be copied, the shortest number, lanes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_check.h"
#include "base/number.h"
#include "base/protobuf_out.h"
#include "render/export/lanes.h"
#include "render/export/numbering.h"
#include "render/export/source_line.h"
#include "testing.h"

static void protobuf_bytes(void **state)
{
    /* 1: 300 is ac 02; 2: "\xff" becomes ef bf bd; 3: a message of 200 bytes, whose length takes two */
    static const char head[] = "\x08\xac\x02\x12\x03\xef\xbf\xbd\x1a\xc8\x01";
    hu_arena         *arena = hu_arena_new();
    hu_pbw            w;
    size_t            open;

    (void)state;
    hu_pbw_init(&w, arena);
    hu_pb_write_uint(&w, 1, 300);
    hu_pb_write_str(&w, 2, HU_STR("\xff"));
    open = hu_pb_write_open(&w, 3);
    for (int i = 0; i < 100; i++)
        hu_pb_write_int(&w, 1, i);
    hu_pb_write_close(&w, open);
    assert_int_equal(w.n, sizeof head - 1 + 200);
    assert_memory_equal(w.at, head, sizeof head - 1);
    assert_int_equal(w.at[sizeof head - 1], 8);
    hu_pbw_clear(&w);
    hu_pb_write_int(&w, 1, -1);
    hu_pb_write_fixed64(&w, 2, 0x0102030405060708);
    assert_memory_equal(w.at, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x11\x08\x07\x06\x05\x04\x03\x02\x01", 20);
    hu_arena_free(arena);
}

static void json_that_may_be_copied(void **state)
{
    static const char *const good[] = {
        "1", "-0.5e+3", "\"a\\u00e9\\n\"", "[]", " [1, [2, {}], {\"a\": [true, null]}] ", "{\"a\":{\"b\":1},\"c\":[]}"};
    static const char *const bad[] = {
        "",       "01",      "1.",          "[1,]", "[,1]", "{\"a\"}", "{\"a\":1,}", "{a:1}",    "[1] 2", "]",  "[}",
        "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "nul",  "[",    "{",       "{\"a\":",    "\"\xff\"", "NaN",   "[1", "{\"a\":1]"};
    char deep[300];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(good); i++)
        assert_true(hu_json_is_value(hu_str_of(good[i])));
    for (size_t i = 0; i < HU_COUNT(bad); i++)
        assert_false(hu_json_is_value(hu_str_of(bad[i])));
    for (size_t n = HU_JSON_DEEPEST; n <= HU_JSON_DEEPEST + 1; n++) {
        memset(deep, '[', n);
        memset(deep + n, ']', n);
        assert_int_equal(hu_json_is_value((hu_str){deep, 2 * n}), n == HU_JSON_DEEPEST);
    }
}

static void numbers_read_back(void **state)
{
    static const double exact[] = {0,    1,        -2.5,          0.1,  10.03921568627451,
                                   1e-6, 0.000123, 123456789.125, 1e15, 9007199254740991.0};
    char                text[HU_NUMBER_BYTES];
    double              value;

    (void)state;
    for (size_t i = 0; i < HU_COUNT(exact); i++) {
        assert_true(hu_parse_f64((hu_str){text, hu_format_f64(text, exact[i], false)}, &value));
        assert_true(value == exact[i]);
    }
    hu_format_f64(text, 0.1, false);
    assert_string_equal(text, "0.1");
    hu_format_f64(text, (double)0.14814815f, true);
    assert_string_equal(text, "0.14814815");
    for (int e = -280; e <= 280; e += 7) {
        const double want = 1.2345678901234567 * pow(10, e);

        assert_true(hu_parse_f64((hu_str){text, hu_format_f64(text, want, false)}, &value));
        assert_true(fabs(value / want - 1) < 1e-8);
    }
    for (int i = 0; i < 20000; i++) {
        const float want = (float)rand() / (float)(1 + rand() % 100000);

        assert_true(hu_parse_f64((hu_str){text, hu_format_f64(text, (double)want, true)}, &value));
        assert_true((float)value == want);
    }
}

static void numbers_of_processes(void **state)
{
    hu_arena    *arena = hu_arena_new();
    hu_numbering n;

    (void)state;
    assert_true(hu_numbering_init(&n, arena));
    assert_int_equal(hu_numbering_of(&n, 77, false), 77);
    assert_int_equal(hu_numbering_of(&n, 0, false), HU_NUMBERING_FIRST);
    assert_int_equal(hu_numbering_of(&n, 77, false), 77);
    assert_int_equal(hu_numbering_of(&n, 77, true), HU_NUMBERING_FIRST + 1);
    assert_true(hu_numbering_next_file(&n));
    assert_int_equal(hu_numbering_of(&n, 77, false), HU_NUMBERING_FIRST + 2);
    assert_int_equal(hu_numbering_of(&n, 78, false), 78);
    assert_int_equal(hu_numbering_of(&n, INT64_C(1) << 40, false), HU_NUMBERING_FIRST + 3);
    hu_arena_free(arena);
}

static void lines_in_names(void **state)
{
    hu_source_line at = {0};

    (void)state;
    assert_true(hu_source_line_of(HU_STR("a/b (x).py(1501): _call_impl"), &at));
    assert_int_equal(at.line, 1501);
    assert_true(hu_str_equal(at.file, HU_STR("a/b (x).py")));
    assert_false(hu_source_line_of(HU_STR("<built-in method f>"), &at));
    assert_false(hu_source_line_of(HU_STR("f(int): g"), &at));
    assert_false(hu_source_line_of(HU_STR("(3): g"), &at));
    assert_false(hu_source_line_of(HU_STR(""), &at));
}

/*
 * Thread: c 8..20, the longest, holds d 12..13; a 0..10 crosses it and goes to the second lane with b 2..10.5 us, which
 * lies in a, ends half a microsecond late and is cut.  Stream: k 1..11; p 11..11 and m 11..13 follow; o 6..7 runs at the same time as k.
 */
static void lanes_of_a_small_trace(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("a", "1", "0", "10") "," OP("b", "1", "2", "8.5") "," OP("c", "1", "8", "12") ","
                            OP("d", "1", "12", "1") "," KERNEL("k", "7", "1", "10", "1") "," KERNEL("p", "7", "11", "0", "2") ","
                            KERNEL("m", "7", "11", "2", "3") "," KERNEL("o", "7", "6", "1", "4") "]");
    /* clang-format on */
    const hu_export_part part = hu_export_all(t);
    hu_arena            *arena = hu_arena_new();
    hu_error             err = {0};
    hu_lanes             lanes;

    (void)state;
    assert_int_equal(hu_lanes_build(&part, arena, &lanes, &err), 0);
    assert_int_equal(lanes.n, 4);
    assert_int_equal(lanes.at[0].n, 2); /* c, d */
    assert_int_equal(lanes.at[0].at[0].start_ns, 8000);
    assert_int_equal(lanes.at[0].at[1].end_ns, 13000);
    assert_int_equal(lanes.at[0].at[1].below, 0);
    assert_int_equal(lanes.at[1].n, 2); /* a, b */
    assert_int_equal(lanes.at[1].number, 1);
    assert_int_equal(lanes.at[1].at[1].end_ns, 10000);
    assert_int_equal(lanes.at[1].at[1].below, 0);
    assert_int_equal(lanes.at[2].n, 3); /* k, p, m */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(lanes.at[2].at[i].below, HU_NONE);
    assert_int_equal(lanes.at[3].n, 1);
    hu_arena_free(arena);
    hu_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protobuf_bytes),    cmocka_unit_test(json_that_may_be_copied),
        cmocka_unit_test(numbers_read_back), cmocka_unit_test(numbers_of_processes),
        cmocka_unit_test(lines_in_names),    cmocka_unit_test(lanes_of_a_small_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
