/* SPDX-License-Identifier: Apache-2.0
 * test_late.c - libraries that are opened where they are needed: which is missing is said, and nothing is half open. */
#include "testing.h"

#include "base/late.h"
#include "base/late/sqlite.h"
#include "base/thread.h"

#define MATH(F) F(floor) F(ldexp)

double floor(double x), ldexp(double x, int n);

HU_LATE_DECLARE(math, MATH)
HU_LATE_DEFINE(math, MATH, "libm.so.6", "the mathematics", NULL)

static void test_functions_are_there(void **state)
{
    hu_error err;

    (void)state;
    assert_false(math_library.is_open);
    assert_int_equal(hu_late_open(&math_library, &err), 0);
    assert_true(math_library.is_open);
    assert_int_equal((int)math.ldexp(3, 4), 48);
    assert_int_equal((int)math.floor(2.5), 2);
    assert_int_equal(hu_late_open(&math_library, NULL), 0);
}

static void test_no_such_library(void **state)
{
    static const char *const names[] = {"floor"};
    void                    *table[1] = {NULL};
    hu_late                  none = {"libholdup-none.so.0", "A library, which is not there,", names, table, 1, false};
    hu_error                 err;

    (void)state;
    assert_int_equal(hu_late_open(&none, &err), HU_EIO);
    assert_memory_equal(err.text, "A library, which is not there, cannot be loaded (libholdup-none.so.0: ", 70);
    assert_non_null(strstr(err.text, "; install it"));
    assert_false(none.is_open);
}

static void test_an_older_one(void **state)
{
    static const char *const names[] = {"floor", "holdup_none"};
    void                    *table[2] = {NULL};
    hu_late                  old = {"libm.so.6", "The mathematics", names, table, 2, false};
    hu_error                 err;

    (void)state;
    assert_int_equal(hu_late_open(&old, &err), HU_EIO);
    assert_string_equal(err.text, "The mathematics is too old: libm.so.6 has no holdup_none; install a newer one");
    assert_false(old.is_open);
}

/* As a build for any Linux has it: the addresses are the program's own. */
static void test_one_that_is_linked(void **state)
{
    static const char *const names[] = {"floor", "ldexp"};
    static void *const       ours[] = {(void *)floor, (void *)ldexp};
    math_functions           table = {0};
    hu_late                  linked = {"libholdup-none.so.0", "It", names, (void **)&table, 2, false, ours};
    hu_error                 err;

    (void)state;
    assert_int_equal(hu_late_open(&linked, &err), 0);
    assert_true(linked.is_open);
    assert_int_equal((int)table.ldexp(3, 4), 48);
    assert_int_equal((int)table.floor(2.5), 2);
}

static int n_begun, begins_with;

static int begin(void)
{
    n_begun++;
    return begins_with;
}

/* What its constructor would do at each start is done with the first use, once; where that fails, the next use tries it again. */
static void test_one_that_begins(void **state)
{
    static const char *const names[] = {"floor"};
    static void *const       ours[] = {(void *)floor};
    void                    *table[1] = {NULL};
    hu_late                  linked = {"libholdup-none.so.0", "It", names, table, 1, false, ours, begin};
    hu_error                 err;

    (void)state;
    begins_with = -1;
    assert_int_equal(hu_late_open(&linked, &err), HU_EIO);
    assert_string_equal(err.text, "It cannot be initialized");
    assert_false(linked.is_open);
    begins_with = 0;
    assert_int_equal(hu_late_open(&linked, &err), 0);
    assert_int_equal(hu_late_open(&linked, &err), 0);
    assert_int_equal(n_begun, 2);
}

static void ask(void *context, size_t i)
{
    int *rc = context;

    rc[i] = hu_late_open(&hu_sqlite_library, NULL) == 0 && sqlite3_open_v2 && sqlite3_value_type ? 1 : 0;
}

static void test_all_threads_find_it(void **state)
{
    int rc[16] = {0};

    (void)state;
    hu_thread_each(16, 4, ask, rc);
    for (int i = 0; i < 16; i++)
        assert_int_equal(rc[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_there), cmocka_unit_test(test_no_such_library),
        cmocka_unit_test(test_an_older_one),        cmocka_unit_test(test_one_that_is_linked),
        cmocka_unit_test(test_one_that_begins),     cmocka_unit_test(test_all_threads_find_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
