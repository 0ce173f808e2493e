/* SPDX-License-Identifier: Apache-2.0
 * test_flight.c - which calls of one number fit, which need all ranks, and which dumps were written earlier. */
#include <stdlib.h>

#include "across/flight_fit.h"
#include "across/flight_moments.h"
#include "testing.h"

static hu_flight_entry call(const char *operation, int64_t in, int64_t out, const char *type)
{
    return (hu_flight_entry){
        .operation = hu_str_of(operation), .elements = {in, out}, .types = {hu_str_of(type), hu_str_of(type)}};
}

static void test_fit(void **state)
{
    static const struct {
        const char     *a, *b;
        int64_t         sizes[4]; /* of a: in, out; of b: in, out */
        const char     *types[2];
        hu_flight_cause differ;
    } rows[] = {
        {"all_reduce", "all_reduce", {6, 6, 6, 6}, {"Float", "Float"}, HU_FLIGHT_NOTHING},
        {"all_reduce", "barrier", {6, 6, 6, 6}, {"Float", "Float"}, HU_FLIGHT_OPERATION},
        {"all_reduce", "all_reduce", {6, 6, 8, 8}, {"Float", "Float"}, HU_FLIGHT_SIZES},
        {"all_reduce", "all_reduce", {6, 6, 6, 6}, {"Float", "Half"}, HU_FLIGHT_TYPES},
        {"scatter", "scatter", {12, 6, 0, 6}, {"Float", "Float"}, HU_FLIGHT_NOTHING}, /* the root alone has inputs */
        {"scatter", "scatter", {12, 6, 12, 5}, {"Float", "Float"}, HU_FLIGHT_SIZES},
        {"gather", "gather", {6, 12, 6, 0}, {"Float", "Float"}, HU_FLIGHT_NOTHING}, /* the root alone has outputs */
        {"all_to_all", "all_to_all", {6, 8, 8, 6}, {"Float", "Float"}, HU_FLIGHT_NOTHING},
        {"all_gather_v", "all_gather_v", {1, 9, 3, 9}, {"Float", "Float"}, HU_FLIGHT_NOTHING},
        {"_all_gather_base", "_all_gather_base", {3, 6, 3, 9}, {"Float", "Float"}, HU_FLIGHT_SIZES},
        {"all_reduce", "all_reduce", {-1, -1, 6, 6}, {"", "Float"}, HU_FLIGHT_NOTHING}, /* not known */
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        const hu_flight_entry a = call(rows[i].a, rows[i].sizes[0], rows[i].sizes[1], rows[i].types[0]);
        const hu_flight_entry b = call(rows[i].b, rows[i].sizes[2], rows[i].sizes[3], rows[i].types[1]);

        assert_int_equal(hu_flight_compare(&a, &b), rows[i].differ);
        assert_int_equal(hu_flight_compare(&b, &a), rows[i].differ);
    }
}

static bool needs_all(const char *operation, int64_t elements)
{
    const hu_flight_entry e = call(operation, elements, elements, "Float");

    return hu_flight_needs_all(&e);
}

static void test_needs_all(void **state)
{
    static const char *const all[] = {"all_reduce", "allreduce", "_all_gather_base", "_reduce_scatter_base"};
    static const char *const some[] = {"broadcast",  "reduce",       "scatter",   "gather",
                                       "all_to_all", "all_gather_v", "send 0->1", ""};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(all); i++) {
        assert_true(needs_all(all[i], 4));
        assert_true(needs_all(all[i], -1));
        assert_false(needs_all(all[i], 0)); /* of nothing, it ends at once */
    }
    for (size_t i = 0; i < HU_COUNT(some); i++)
        assert_false(needs_all(some[i], 4));
    assert_true(needs_all("barrier", 0));
}

/* Two ranks of one group: the first ended `ended` calls, the other has called `called`. */
static size_t behind(const char *operation, int64_t ended, int64_t called, bool has_events)
{
    static const int64_t ranks[] = {0, 1};
    hu_arena            *arena = hu_arena_new();
    hu_flight_dump       dumps[2] = {{.rank = 0, .arena = arena, .has_events = has_events},
                                     {.rank = 1, .arena = arena, .has_events = has_events}};
    hu_flight_scene      s;
    hu_error             err = {0};
    size_t               n;

    for (size_t d = 0; d < 2; d++) {
        assert_true(hu_vec_push(arena, &dumps[d].groups, ((hu_flight_group){.name = HU_STR("0"), .ranks = ranks, .n = 2})));
        for (int64_t i = 0; i < (d ? called : ended); i++) {
            hu_flight_entry e = call(operation, 4, 4, "Float");

            e.group = HU_STR("0");
            e.record = i;
            e.sequence = i + 1;
            e.state = HU_FLIGHT_ENDED;
            assert_true(hu_vec_push(arena, &dumps[d].entries, e));
        }
    }
    assert_int_equal(hu_flight_scene_build(dumps, 2, arena, &s, &err), 0);
    n = hu_flight_find_behind(&s);
    assert_true(n == 0 || s.is_behind[1]);
    hu_arena_free(arena);
    return n;
}

static void test_behind(void **state)
{
    (void)state;
    assert_int_equal(behind("all_reduce", 5, 5, true), 0);
    assert_int_equal(behind("all_reduce", 6, 5, true), 1);
    assert_int_equal(behind("all_reduce", 1, 0, true), 1);
    assert_int_equal(behind("broadcast", 6, 5, true), 0);   /* ends on its root without the others */
    assert_int_equal(behind("all_reduce", 6, 5, false), 0); /* the last one may have failed */
    assert_int_equal(behind("all_reduce", 7, 5, false), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit), cmocka_unit_test(test_needs_all),
                                       cmocka_unit_test(test_behind)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
