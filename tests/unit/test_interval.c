/* SPDX-License-Identifier: Apache-2.0
 * test_interval.c - the sweeps against a bitmap. */
#include "base/interval.h"
#include "testing.h"

enum { SPAN = 200, ROUNDS = 5000 };

static uint32_t seed = 1;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void random_list(hu_arena *arena, hu_intervals *list, bool map[SPAN])
{
    const uint32_t n = next_random(12);

    *list = (hu_intervals){0};
    memset(map, 0, SPAN * sizeof *map);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t start = next_random(SPAN), end = start + next_random((uint32_t)(SPAN - start) / 2 + 1);

        assert_true(hu_intervals_add(arena, list, start, end));
        for (int64_t t = start; t < end; t++)
            map[t] = true;
    }
    assert_true(hu_intervals_unite(arena, list));
}

static void check(const hu_intervals *list, const bool map[SPAN])
{
    int64_t length = 0;

    for (size_t i = 0; i < list->n; i++) {
        assert_true(list->at[i].end_ns > list->at[i].start_ns);
        assert_true(i == 0 || list->at[i].start_ns > list->at[i - 1].end_ns); /* sorted, disjoint, not touching */
        for (int64_t t = list->at[i].start_ns; t < list->at[i].end_ns; t++)
            assert_true(map[t]);
    }
    for (int t = 0; t < SPAN; t++)
        length += map[t];
    assert_int_equal(hu_intervals_length(list), length);
}

static void every_operation_equals_a_bitmap(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        hu_arena         *arena = hu_arena_new();
        hu_intervals      a, b, out;
        bool              ma[SPAN], mb[SPAN], m[SPAN];
        int64_t           common = 0, split[3] = {0}, expected[3] = {0};
        const hu_interval windows[3] = {{10, 50}, {50, 51}, {90, 190}};

        random_list(arena, &a, ma);
        random_list(arena, &b, mb);
        check(&a, ma);
        for (int t = 0; t < SPAN; t++) {
            common += ma[t] && mb[t];
            for (int w = 0; w < 3; w++)
                expected[w] += ma[t] && t >= windows[w].start_ns && t < windows[w].end_ns;
        }
        assert_int_equal(hu_intervals_common(&a, &b), common);
        hu_intervals_split(&a, windows, 3, split);
        assert_memory_equal(split, expected, sizeof split);
        for (int t = 0; t < SPAN; t++)
            m[t] = ma[t] && mb[t];
        assert_true(hu_intervals_intersect(arena, &a, &b, &out));
        check(&out, m);
        for (int t = 0; t < SPAN; t++)
            m[t] = ma[t] && !mb[t];
        assert_true(hu_intervals_subtract(arena, &a, &b, &out));
        check(&out, m);
        for (int t = 0; t < SPAN; t++)
            m[t] = ma[t] || mb[t];
        assert_true(hu_intervals_join(arena, &a, &b, &out));
        check(&out, m);
        hu_arena_free(arena);
    }
}

static void touching_intervals_are_one(void **state)
{
    hu_arena    *arena = hu_arena_new();
    hu_intervals list = {0};

    (void)state;
    assert_true(hu_intervals_add(arena, &list, 10, 20) && hu_intervals_add(arena, &list, 0, 10) &&
                hu_intervals_add(arena, &list, 5, 5) && hu_intervals_add(arena, &list, 9, 3));
    assert_true(hu_intervals_unite(arena, &list));
    assert_int_equal(list.n, 1);
    assert_int_equal(hu_intervals_length(&list), 20);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_equals_a_bitmap),
        cmocka_unit_test(touching_intervals_are_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
