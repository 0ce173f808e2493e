/* SPDX-License-Identifier: Apache-2.0
 * test_number.c - decimal text and integers. */
#include <float.h>
#include <math.h>

#include "base/number.h"
#include "testing.h"

static void microseconds_become_exact_nanoseconds(void **state)
{
    static const struct {
        const char *text;
        int64_t     ns;
        /* clang-format off */
    } rows[] = {
        {"0", 0}, {"1", 1000}, {"1.5", 1500}, {"1712195495519761.132", 1712195495519761132}, {"-3.25", -3250},
        {"1.7121954955197611e15", 1712195495519761100}, {"6.5E3", 6500000}, {"25e-1", 2500}, {"0.0005", 1}, {"0.0004999", 0},
        {"-0.0005", -1}, {"9223372036854775.807", INT64_MAX}, {"1.00000000000000000000000000001", 1000}, {".5", 500},
        {"1e-400", 0}, {"0e999999", 0}, {"000000000000000000000000000001", 1000},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        int64_t ns = -7;

        if (!hu_parse_us_as_ns(hu_str_of(rows[i].text), &ns) || ns != rows[i].ns)
            fail_msg("%s gave %lld", rows[i].text, (long long)ns);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const rows[] = {"",      "-",     ".", "e5", "1e", "1e+", "1x", "nan", "9223372036854775.808",
                                       "1e300", "1.2.3", " 1"};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        int64_t ns = 42;

        if (hu_parse_us_as_ns(hu_str_of(rows[i]), &ns))
            fail_msg("%s was accepted", rows[i]);
        assert_int_equal(ns, 42);
    }
}

static void integers_stop_at_their_limits(void **state)
{
    int64_t  i;
    uint64_t u;

    (void)state;
    assert_true(hu_parse_i64(HU_STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(hu_parse_i64(HU_STR("9223372036854775807"), &i) && i == INT64_MAX);
    assert_false(hu_parse_i64(HU_STR("9223372036854775808"), &i));
    assert_true(hu_parse_u64(HU_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(hu_parse_u64(HU_STR("18446744073709551616"), &u));
    assert_false(hu_parse_u64(HU_STR("-1"), &u));
    assert_false(hu_parse_u64(HU_STR(""), &u));
}

static void fixed_text_rounds_and_knows_nan(void **state)
{
    char text[HU_NUMBER_BYTES];

    (void)state;
    hu_format_fixed(text, 2.345, 1);
    assert_string_equal(text, "2.3");
    hu_format_fixed(text, 0.95, 1);
    assert_string_equal(text, "1.0");
    hu_format_fixed(text, -0.04, 1);
    assert_string_equal(text, "0.0");
    hu_format_fixed(text, -12.5, 0);
    assert_string_equal(text, "-13");
    hu_format_fixed(text, (double)NAN, 3);
    assert_string_equal(text, "-");
    hu_format_i64(text, INT64_MIN);
    assert_string_equal(text, "-9223372036854775808");
}

static void reals_are_close(void **state)
{
    double value;

    (void)state;
    assert_true(hu_parse_f64(HU_STR("0.044137931034482755"), &value) && fabs(value - 0.044137931034482755) < 1e-17);
    assert_true(hu_parse_f64(HU_STR("-1.5e10"), &value) && value == -1.5e10);
    assert_false(hu_parse_f64(HU_STR("1e999"), &value));
    assert_false(hu_parse_f64(HU_STR("inf"), &value));
}

static void shortest_text_gives_the_double_back(void **state)
{
    static const struct {
        double      value;
        const char *text;
        /* clang-format off */
    } rows[] = {
        {0, "0"}, {-0.0, "-0"}, {1, "1"}, {-1, "-1"}, {10, "10"}, {100, "100"}, {0.1, "0.1"}, {0.25, "0.25"}, {-2.5, "-2.5"},
        {1795473876.123456, "1795473876.123456"}, {1e9, "1000000000"}, {9007199254740993.0, "9007199254740992"},
        {123456789012345678.0, "1.2345678901234568e+17"}, {1e17, "1e+17"}, {1e16, "10000000000000000"}, {1e-5, "0.00001"},
        {2.5e-7, "2.5e-07"}, {0.1 + 0.2, "0.30000000000000004"}, {1.0 / 3, "0.3333333333333333"}, {1e308, "1e+308"},
        {5e-324, "5e-324"}, {DBL_MAX, "1.7976931348623157e+308"}, {DBL_MIN, "2.2250738585072014e-308"}, {63.72, "63.72"},
        {NAN, "-"}, {INFINITY, "-"},
    };
    /* clang-format on */
    uint64_t seed = 7;

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        char text[HU_NUMBER_BYTES];

        assert_int_equal(hu_format_shortest(text, rows[i].value), strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
    }
    for (int i = 0; i < 200000; i++) {
        char   text[HU_NUMBER_BYTES];
        double value, back;
        size_t n;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&value, &seed, sizeof value);
        if (!isfinite(value))
            continue;
        n = hu_format_shortest(text, value);
        assert_int_equal(n, strlen(text));
        back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(microseconds_become_exact_nanoseconds),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(integers_stop_at_their_limits),
        cmocka_unit_test(fixed_text_rounds_and_knows_nan),
        cmocka_unit_test(reals_are_close),
        cmocka_unit_test(shortest_text_gives_the_double_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
