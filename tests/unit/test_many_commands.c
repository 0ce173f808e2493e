/* SPDX-License-Identifier: Apache-2.0
 * test_many_commands.c - thousands of short commands, pauses that nothing explains: all but the device's work may go. */
#include "testing.h"

#include "advise/many_commands.h"

enum { OPS = 200, COST = 2500, STEP = 4000 * OPS };

/* One step of short commands, a quarter of it pauses without a reason. */
typedef struct {
    hu_digest     d;
    hu_simulation s;
    hu_scene      scene;
    hu_op         op[OPS];
    hu_hint       hint;
    hu_price      price;
} fixture;

static fixture *made(hu_arena *arena)
{
    fixture *f = hu_arena_calloc(arena, 1, sizeof *f);

    assert_non_null(f);
    f->d.info.opencl = 2;
    for (int i = 0; i < OPS; i++)
        f->op[i] = (hu_op){.start_ns = i * 4000, .cost_ns = COST, .class = HU_CLASS_COMPUTE};
    f->s.scratch = arena;
    f->s.graph.op = f->op;
    f->s.graph.n_ops = OPS;
    f->s.graph.n_marks = 2;
    f->s.path.by_class[HU_CLASS_FROZEN] = STEP / 4;
    f->scene = (hu_scene){.d = &f->d, .s = &f->s, .step = hu_as_mean(STEP), .n_steps = 1, .has_steps = true};
    f->price = (hu_price){.gain_pct = 3, .low_pct = 1, .high_pct = 5, .free_pct = 5};
    return f;
}

static void the_bound_is_the_work_alone(void **state)
{
    hu_arena *arena = hu_arena_new();
    fixture  *f = made(arena);

    (void)state;
    hu_many_commands_widen(&f->scene, &f->hint, &f->price);
    assert_true(f->price.low_pct == 0);
    assert_true(f->price.high_pct > 74.9 &&
                f->price.high_pct < 75.1); /* 1 µs of 4 is left: what a command takes to start goes */
    assert_true(f->price.free_pct >= f->price.high_pct);
    assert_true(f->hint.is_suspected);
    assert_int_equal(f->hint.n_evidence, 1);
    assert_non_null(strstr(f->hint.evidence[0], "200 short commands per step"));
    hu_arena_free(arena);
}

static void else_the_interval_stays(void **state)
{
    hu_arena *arena = hu_arena_new();

    (void)state;
    for (int what = 0; what < 4; what++) {
        fixture *f = made(arena);

        if (what == 0)
            f->d.info.opencl = 0; /* what an application of CUDA pauses for is another matter */
        else if (what == 1)
            f->s.path.by_class[HU_CLASS_FROZEN] = STEP / 10; /* the replay explains it well enough */
        else if (what == 2)
            f->s.graph.n_ops = OPS / 4; /* few of them */
        else
            for (int i = 0; i < OPS; i += 2)
                f->op[i].cost_ns = 30000; /* not short */
        hu_many_commands_widen(&f->scene, &f->hint, &f->price);
        assert_true(f->price.low_pct == 1 && f->price.high_pct == 5);
        assert_int_equal(f->hint.n_evidence, 0);
        assert_false(f->hint.is_suspected);
    }
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_the_work_alone),
        cmocka_unit_test(else_the_interval_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
