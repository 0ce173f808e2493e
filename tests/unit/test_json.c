/* SPDX-License-Identifier: Apache-2.0
 * test_json.c - JSON in memory, without a tree. */
#include "base/json.h"
#include "testing.h"

static void members_and_elements_are_walked(void **state)
{
    const hu_str object = HU_STR(" {\"a\" : [1, {\"x\":\"]}\"}, null ] , \"b\\\"\":\"t\",, \"c\":NaN }");
    hu_json      j = hu_json_enter(object);
    hu_str       key, value;

    (void)state;
    assert_true(hu_json_member(&j, &key, &value) && hu_str_equal(key, HU_STR("a")));
    {
        hu_json inner = hu_json_enter(value);
        int     n = 0;

        while (hu_json_element(&inner, &value))
            n++;
        assert_int_equal(n, 3);
        assert_false(inner.is_broken);
    }
    assert_true(hu_json_member(&j, &key, &value) && hu_str_equal(key, HU_STR("b\\\"")) &&
                hu_str_equal(value, HU_STR("\"t\"")));
    assert_true(hu_json_member(&j, &key, &value) && hu_str_equal(value, HU_STR("NaN")));
    assert_false(hu_json_member(&j, &key, &value));
    assert_true(hu_str_equal(hu_json_get(object, HU_STR("c")), HU_STR("NaN")));
    assert_null(hu_json_get(object, HU_STR("d")).p);
}

static void broken_text_ends_the_walk(void **state)
{
    static const char *const rows[] = {"{\"a\"",    "{\"a\":", "{\"a\":[1", "{\"a\":\"x", "{a:1}",
                                       "{\"a\" 1}", "[",       "[[",        "{\"a\":}",   "[1,"};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        hu_json j = hu_json_enter(hu_str_of(rows[i]));
        hu_str  key, value;
        int     n = 0;

        while ((rows[i][0] == '{' ? hu_json_member(&j, &key, &value) : hu_json_element(&j, &value)) && n < 10)
            n++;
        assert_true(n < 3);
    }
}

static void check_unescape(const char *raw, const char *expected, uint64_t bad_expected)
{
    char     out[64];
    uint64_t bad = 0;
    size_t   n = hu_json_unescape(hu_str_of(raw), out, &bad);

    assert_int_equal(n, strlen(expected));
    assert_memory_equal(out, expected, n);
    assert_int_equal(bad, bad_expected);
}

static void escapes_are_resolved_and_bad_ones_kept(void **state)
{
    (void)state;
    check_unescape("a\\n\\t\\\"\\\\\\/b", "a\n\t\"\\/b", 0);
    check_unescape("\\u00e9\\u20AC\\ud83d\\ude00", "é\xe2\x82\xac\xf0\x9f\x98\x80", 0);
    check_unescape("\\ud83d x", "\xef\xbf\xbd x", 1);
    check_unescape("\\ude00", "\xef\xbf\xbd", 1);
    check_unescape("C:\\Users\\q\\u12", "C:\\Users\\q\\u12", 3);
    check_unescape("end\\", "end\\", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_elements_are_walked),
        cmocka_unit_test(broken_text_ends_the_walk),
        cmocka_unit_test(escapes_are_resolved_and_bad_ones_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
