/* SPDX-License-Identifier: Apache-2.0
 * test_pricers.c - prices made by several threads at once are those of one; what was replayed once is not replayed again. */
#include "graph/pricers.h"
#include "graph/price_memo.h"
#include "simulating.h"

/* clang-format off */
#define STEP(name, start, launch, launch_ns, id, sync, sync_ns)                                                     \
    USER(name, start, "100") "," CALL("cudaLaunchKernel", launch, launch_ns, id) "," \
    CALL("cudaDeviceSynchronize", sync, sync_ns, "0")

static const char three_steps[] =
    "[" STEP("ProfilerStep#1", "0", "10", "30", "1", "50", "20")
    "," STEP("ProfilerStep#2", "100", "110", "40", "2", "160", "30")
    "," STEP("ProfilerStep#3", "200", "210", "30", "3", "250", "20")
    "," KERNEL("a_kernel", "7", "45", "20", "1") "," KERNEL("b_kernel", "7", "155", "30", "2")
    "," KERNEL("a_kernel", "7", "245", "20", "3") "]";
/* clang-format on */

static const char *const words[] = {"host/2",   "kernel:a*x2", "kernel:b*x2", "sync=0",      "kernel:*x3", "launch=graph",
                                    "launch/3", "kernel:a*x4", "host/3",      "kernel:b*x5", "fuse=0",     "host/4"};

static hu_price price_of(hu_pricer *pricer, const char *text)
{
    hu_edit  edit;
    hu_error err = {0};
    hu_price price;

    if (hu_edit_parse(text, &edit, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    hu_price_edits(pricer, &edit, 1, &price);
    return price;
}

static void price_word(void *context, hu_pricer *pricer, size_t i)
{
    ((hu_price *)context)[i] = price_of(pricer, words[i]);
}

static void assert_same(const hu_price *a, const hu_price *b)
{
    assert_true(a->before_ns == b->before_ns && a->after_ns == b->after_ns && a->free_ns == b->free_ns);
    assert_true(a->gain_pct == b->gain_pct && a->low_pct == b->low_pct && a->high_pct == b->high_pct);
    assert_true(a->free_pct == b->free_pct && a->sure_pct == b->sure_pct && a->spread_pct == b->spread_pct);
    assert_true(a->work_pct == b->work_pct && a->free_work_pct == b->free_work_pct);
    assert_int_equal(a->touched, b->touched);
    assert_int_equal(a->is_feasible, b->is_feasible);
}

static void threads_price_as_one_does(void **state)
{
    fixture  f = simulate(three_steps);
    hu_price alone[HU_COUNT(words)], together[HU_COUNT(words)];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(words); i++)
        alone[i] = price_of(f.s->pricer, words[i]);
    assert_true(alone[0].touched > 0 && alone[1].after_ns < alone[1].before_ns);
    for (int threads = 1; threads <= 5; threads++) {
        hu_pricers *p = hu_pricers_new(f.s->pricer, threads, HU_COUNT(words));

        assert_non_null(p);
        memset(together, 0, sizeof together);
        hu_pricers_each(p, HU_COUNT(words), price_word, together);
        assert_false(hu_pricers_lacked(p));
        hu_pricers_free(p);
        for (size_t i = 0; i < HU_COUNT(words); i++)
            assert_same(&alone[i], &together[i]);
    }
    done(f);
}

/* Four steps of one kernel each, which takes longer in one of them. */
/* clang-format off */
static const char uneven_steps[] =
    "[" STEP("ProfilerStep#1", "0", "10", "30", "1", "50", "20")
    "," STEP("ProfilerStep#2", "100", "110", "30", "2", "150", "40")
    "," STEP("ProfilerStep#3", "200", "210", "30", "3", "250", "20")
    "," STEP("ProfilerStep#4", "300", "310", "30", "4", "350", "20")
    "," KERNEL("a_kernel", "7", "45", "20", "1") "," KERNEL("a_kernel", "7", "145", "40", "2")
    "," KERNEL("a_kernel", "7", "245", "20", "3") "," KERNEL("a_kernel", "7", "345", "20", "4") "]";
/* clang-format on */

static void threads_check_as_one_does(void **state)
{
    fixture one = simulate(uneven_steps);

    (void)state;
    assert_true(one.s->check.value[HU_CHECK_HOLD_OUT] > 1); /* and so it was held out */
    for (int threads = 2; threads <= 5; threads++) {
        hu_error       err = {0};
        hu_simulation *s = hu_simulation_new(one.t, NULL, &(hu_graph_options){.threads = threads}, &err);

        assert_non_null(s);
        assert_memory_equal(&s->check, &one.s->check, sizeof s->check);
        hu_simulation_free(s);
    }
    done(one);
}

/* What a second price has from memory is the same to the last bit, also behind other edits. */
static void a_price_does_not_depend_on_those_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < HU_COUNT(words); i++) {
        fixture  f = simulate(three_steps);
        hu_price first = price_of(f.s->pricer, words[i]), again;

        for (size_t k = HU_COUNT(words); k-- > 0;)
            price_of(f.s->pricer, words[k]);
        again = price_of(f.s->pricer, words[i]);
        assert_same(&first, &again);
        done(f);
    }
}

static void a_question_is_all_of_its_edits(void **state)
{
    hu_arena               *arena = hu_arena_new();
    hu_price_memo          *m = hu_price_memo_new(arena), *other = hu_price_memo_new(arena);
    char                    glob[] = "a*";
    hu_edit                 edits[2] = {{.kind = HU_EDIT_KERNEL, .factor = 2, .glob = {glob, 2}}, {.kind = HU_EDIT_SYNC}};
    const hu_price_question one = {edits, 1, HU_ANCHOR_HOST, 0}, both = {edits, 2, HU_ANCHOR_HOST, 0},
                            moved = {edits, 1, HU_ANCHOR_PREDECESSOR, 0}, gap = {edits, 1, HU_ANCHOR_HOST, 7};

    (void)state;
    assert_true(isnan(hu_price_memo_get(m, &one)));
    hu_price_memo_put(m, &one, 5);
    assert_true(hu_price_memo_get(m, &one) == 5);
    assert_true(isnan(hu_price_memo_get(m, &both)) && isnan(hu_price_memo_get(m, &moved)) &&
                isnan(hu_price_memo_get(m, &gap)));
    glob[0] = 'b'; /* the memo has its own copy of the text */
    assert_true(isnan(hu_price_memo_get(m, &one)));
    glob[0] = 'a';
    edits[0].factor = 3;
    assert_true(isnan(hu_price_memo_get(m, &one)));
    hu_price_memo_put(other, &one, 6);
    hu_price_memo_join(m, other);
    assert_true(hu_price_memo_get(m, &one) == 6);
    edits[0].factor = 2;
    assert_true(hu_price_memo_get(m, &one) == 5);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_price_as_one_does), cmocka_unit_test(threads_check_as_one_does),
        cmocka_unit_test(a_price_does_not_depend_on_those_before), cmocka_unit_test(a_question_is_all_of_its_edits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
