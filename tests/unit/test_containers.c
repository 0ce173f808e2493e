/* SPDX-License-Identifier: Apache-2.0
 * test_containers.c - arena, strings, map, statistics, threads. */
#include <math.h>
#include <stdatomic.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/spare.h"
#include "base/stats.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "testing.h"

static void a_block_keeps_its_contents_while_it_grows_into_a_page_map(void **state)
{
    hu_arena *arena = hu_arena_new();
    char     *p = hu_arena_grow(arena, NULL, 100);

    (void)state;
    memset(p, 7, 100);
    for (size_t size = 200; size <= (4u << 20); size *= 2) {
        p = hu_arena_grow(arena, p, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(p[i], 7);
        memset(p + size / 2, 9, size / 2);
    }
    hu_arena_drop(arena, p);
    assert_true(hu_arena_bytes(arena) < 1024);
    assert_null(hu_arena_alloc(arena, SIZE_MAX - 3));
    assert_null(hu_arena_calloc(arena, SIZE_MAX / 2, 3));
    hu_arena_free(arena);
    hu_arena_free(NULL);
}

/* In small steps over the border between malloc and page maps, with memory that somebody wrote to before. */
static void what_grows_cleared_is_zero(void **state)
{
    hu_arena *arena = hu_arena_new();
    char     *p = NULL;
    size_t    n = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        char *dirty = hu_arena_grow(arena, NULL, 7000);

        memset(dirty, 9, 7000);
        hu_arena_drop(arena, dirty);
    }
    for (size_t size = 100; size <= (2u << 20); size += size / 2) {
        p = hu_arena_grow_cleared(arena, p, n, size);
        assert_non_null(p);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], i < n ? 7 : 0);
        memset(p, 7, size);
        n = size;
    }
    hu_arena_free(arena);
}

static bool is_filled(const char *p, size_t from, size_t end, char with)
{
    for (size_t i = from; i < end; i++)
        if (p[i] != with)
            return false;
    return true;
}

/* An arena with maps full of sevens comes and goes. */
static void leave_sevens(void)
{
    hu_arena *arena = hu_arena_new();

    for (size_t size = 1u << 20; size <= 4u << 20; size *= 2)
        memset(hu_arena_alloc(arena, size), 7, size);
    hu_arena_free(arena);
}

static void a_map_that_served_before_is_cleared_where_zeros_are_asked_for(void **state)
{
    const size_t size = 1u << 20;
    hu_arena    *arena = hu_arena_new();
    char        *p, *cleared, *grown;

    (void)state;
    hu_spare_begin(16u << 20);
    leave_sevens();
    assert_true(is_filled(hu_arena_sparse(arena, size), 0, size, 0));
    p = hu_arena_alloc(arena, size);
    assert_true(is_filled(p, 0, size, 7)); /* else no map came back, and this proves nothing */
    cleared = hu_arena_calloc(arena, 1, size);
    assert_true(is_filled(cleared, 0, size, 0));
    leave_sevens();
    grown = hu_arena_grow_cleared(arena, NULL, 0, size / 2);
    assert_true(is_filled(grown, 0, size / 2, 0));
    memset(grown, 1, size / 2);
    for (size_t n = size / 2; n < 16u << 20; n *= 2) {
        grown = hu_arena_grow_cleared(arena, grown, n, 2 * n);
        assert_true(is_filled(grown, 0, size / 2, 1));
        assert_true(is_filled(grown, size / 2, 2 * n, 0));
    }
    hu_arena_free(arena);
    hu_spare_end();
}

static void no_map_is_kept_beyond_the_limit_nor_behind_the_end(void **state)
{
    size_t bytes = 1u << 20;
    void  *map;

    (void)state;
    hu_spare_begin(3u << 19);
    leave_sevens(); /* 1, 2 and 4 MiB, each with a head */
    map = hu_spare_take(&bytes);
    assert_non_null(map);
    assert_in_range(bytes, 1u << 20, (1u << 20) + 64);
    assert_null(hu_spare_take(&bytes));
    assert_true(hu_spare_give(map, bytes));
    hu_spare_end();
    leave_sevens();
    assert_null(hu_spare_take(&bytes));
}

static void a_block_that_grows_no_more_gives_back_what_nobody_touched(void **state)
{
    const size_t size = 1u << 20;
    hu_arena    *arena = hu_arena_new();
    char        *p = hu_arena_grow(arena, hu_arena_grow(arena, NULL, size), 8 * size);

    (void)state;
    memset(p, 7, size);
    hu_arena_trim(arena, p, size);
    assert_in_range(hu_arena_bytes(arena), size, size + 8192);
    p = hu_arena_grow(arena, p, 4 * size);
    assert_true(is_filled(p, 0, size, 7));
    assert_true(is_filled(p, size + 8192, 4 * size, 0));
    hu_arena_trim(arena, p, 100); /* less is no page map any more */
    assert_true(hu_arena_bytes(arena) >= 4 * size);
    hu_arena_trim(arena, NULL, size);
    hu_arena_free(arena);
    hu_spare_trim();
}

static void equal_texts_have_one_id_and_zero_is_empty(void **state)
{
    hu_arena *arena = hu_arena_new();
    hu_intern table;
    char      text[32];

    (void)state;
    assert_true(hu_intern_init(&table, arena));
    assert_int_equal(hu_intern_add(&table, HU_STR("")), 0);
    for (uint32_t i = 0; i < 100000; i++) {
        const int n = snprintf(text, sizeof text, "name %u", i);

        assert_int_equal(hu_intern_add(&table, (hu_str){text, (size_t)n}), i + 1);
    }
    assert_int_equal(hu_intern_add(&table, HU_STR("name 4711")), 4712);
    assert_int_equal(hu_intern_find(&table, HU_STR("name 99999")), 100000);
    assert_int_equal(hu_intern_find(&table, HU_STR("nobody")), UINT32_MAX);
    assert_true(hu_str_equal(hu_intern_get(&table, 1), HU_STR("name 0")));
    assert_int_equal(table.invalid_utf8, 0);
    hu_intern_add(&table, HU_STR("\xff"));
    assert_int_equal(table.invalid_utf8, 1);
    hu_arena_free(arena);
}

static void a_map_finds_what_was_put(void **state)
{
    hu_arena *arena = hu_arena_new();
    hu_map    map;

    (void)state;
    assert_true(hu_map_init(&map, arena, 0));
    assert_int_equal(hu_map_get(&map, 5), HU_MAP_NONE);
    for (uint64_t i = 0; i < 50000; i++)
        *hu_map_put(&map, i * UINT64_C(0x100000001)) = (uint32_t)i;
    for (uint64_t i = 0; i < 50000; i++)
        assert_int_equal(hu_map_get(&map, i * UINT64_C(0x100000001)), i);
    assert_int_equal(hu_map_get(&map, 3), HU_MAP_NONE);
    hu_arena_free(arena);
}

static void quantiles_are_numpys(void **state)
{
    int64_t  values[] = {4, 1, 3, 2}, one[] = {5};
    hu_stats s = hu_stats_of(values, 4);

    (void)state;
    assert_true(s.median == 2.5 && s.mean == 2.5 && s.min == 1 && s.max == 4);
    assert_true(fabs(s.p10 - 1.3) < 1e-12 && fabs(s.p90 - 3.7) < 1e-12); /* numpy.quantile([1,2,3,4], [.1,.9]) */
    assert_true(fabs(s.stddev - 1.2909944487358056) < 1e-12);            /* numpy.std(ddof=1) */
    s = hu_stats_of(one, 1);
    assert_true(s.median == 5 && isnan(s.stddev));
    s = hu_stats_of(NULL, 0);
    assert_true(isnan(s.mean) && isnan(s.median) && s.sum == 0);
}

static void only_well_formed_utf8_is_valid(void **state)
{
    static const char *const bad[] = {
        "\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"};
    static const char *const good[] = {"", "abcdefghij", "é", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "0123456é"};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(bad); i++)
        assert_false(hu_utf8_is_valid(hu_str_of(bad[i])));
    for (size_t i = 0; i < HU_COUNT(good); i++)
        assert_true(hu_utf8_is_valid(hu_str_of(good[i])));
}

static void count_job(void *context, size_t i)
{
    atomic_fetch_add(&((atomic_int *)context)[i], 1);
}

static void every_job_runs_once(void **state)
{
    atomic_int ran[500] = {0};

    (void)state;
    hu_thread_each(HU_COUNT(ran), 4, count_job, ran);
    for (size_t i = 0; i < HU_COUNT(ran); i++)
        assert_int_equal(ran[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_keeps_its_contents_while_it_grows_into_a_page_map),
        cmocka_unit_test(what_grows_cleared_is_zero),
        cmocka_unit_test(a_map_that_served_before_is_cleared_where_zeros_are_asked_for),
        cmocka_unit_test(no_map_is_kept_beyond_the_limit_nor_behind_the_end),
        cmocka_unit_test(a_block_that_grows_no_more_gives_back_what_nobody_touched),
        cmocka_unit_test(equal_texts_have_one_id_and_zero_is_empty),
        cmocka_unit_test(a_map_finds_what_was_put),
        cmocka_unit_test(quantiles_are_numpys),
        cmocka_unit_test(only_well_formed_utf8_is_valid),
        cmocka_unit_test(every_job_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
