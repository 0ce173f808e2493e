/* SPDX-License-Identifier: Apache-2.0
 * test_waiters.c - who waits for what is counted by object, whatever shares a slot; who unlocked is told to the right one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/ring.h"
#include "inject/waiters.h"
#include "wiping.h"

/* The next object behind `object` that shares its slot. */
static uintptr_t neighbour(uintptr_t object)
{
    uintptr_t other = object;

    do
        other += 8;
    while (hu_waiters_of(other) != hu_waiters_of(object));
    return other;
}

static const uintptr_t object = 0x7f1234567890;

static void counts_by_object(void **state)
{
    const uintptr_t other = neighbour(object), third = neighbour(other);

    (void)state;
    assert_false(hu_is_awaited(object));
    hu_waiters_enter(object);
    hu_waiters_enter(object);
    assert_true(hu_is_awaited(object));
    assert_false(hu_is_awaited(other));
    hu_waiters_leave(object);
    assert_true(hu_is_awaited(object));
    hu_waiters_enter(other); /* the slot counts for all now */
    assert_true(hu_is_awaited(object) && hu_is_awaited(other) && hu_is_awaited(third));
    hu_waiters_leave(object);
    assert_true(hu_is_awaited(other));
    hu_waiters_leave(other);
    assert_false(hu_is_awaited(object) || hu_is_awaited(other) || hu_is_awaited(third));
    hu_waiters_leave(object); /* one too many */
    assert_false(hu_is_awaited(object));
    hu_waiters_enter(other);
    assert_true(hu_is_awaited(other) && !hu_is_awaited(object));
    hu_waiters_leave(other);
}

static void forgets_what_a_thread_left(void **state)
{
    (void)state;
    hu_waiters_enter(object);
    hu_thread.waits_for = object;
    hu_waiters_forget();
    assert_false(hu_is_awaited(object));
    assert_int_equal(hu_thread.waits_for, 0);
    hu_waiters_forget();
    assert_false(hu_is_awaited(object));
}

static void child_begins_with_nobody(void **state)
{
    int status = 1;

    (void)state;
    if (!forks_wipe_pages())
        skip();
    hu_waiters_init();
    hu_waiters_enter(object);
    if (fork() == 0) {
        hu_waiters_forked();
        _exit(hu_is_awaited(object) ? 1 : 0);
    }
    wait(&status);
    assert_int_equal(status, 0);
    assert_true(hu_is_awaited(object));
    hu_waiters_leave(object);
}

/* A block, so that nobody makes a file. */
static hu_block block;

static void tells_who_unlocked(void **state)
{
    const uintptr_t other = neighbour(object);
    const uint64_t  before = hu_ticks();
    uint64_t        after;
    hu_waker        waker;

    (void)state;
    hu_thread.block = &block;
    hu_thread.thread = 7;
    assert_int_equal(hu_waiters_waker(object, 0, before).thread, 0);
    hu_waiters_unlocks(object, 0x5512345678);
    after = hu_ticks();
    waker = hu_waiters_waker(object, before, after);
    assert_int_equal(waker.thread, 7);
    assert_int_equal(waker.caller, 0x5512345678);
    assert_true(waker.time >= before && waker.time <= after);
    assert_int_equal(hu_waiters_waker(other, before, after).thread, 0);         /* another lock of this slot */
    assert_int_equal(hu_waiters_waker(object, after + 1, after + 2).thread, 0); /* before the wait began */
    hu_waiters_of(object)->from ^= UINT64_C(1);                                 /* two threads at once */
    assert_int_equal(hu_waiters_waker(object, before, after).thread, 0);
    hu_waiters_unlocks(other, 0x55);
    assert_int_equal(hu_waiters_waker(object, before, hu_ticks()).thread, 0);
    hu_thread.thread = 1u << 20; /* more threads than it can name */
    hu_waiters_unlocks(object, 0x55);
    assert_int_equal(hu_waiters_waker(object, before, hu_ticks()).thread, 0);
    hu_thread.block = NULL;
}

static void *waits(void *unused)
{
    for (int i = 0; i < 100000; i++) {
        hu_waiters_enter(object);
        hu_waiters_leave(object);
    }
    return unused;
}

static void *waits_for_another(void *unused)
{
    const uintptr_t other = neighbour(object);

    for (int i = 0; i < 100000; i++) {
        hu_waiters_enter(other);
        if (!hu_is_awaited(other))
            return (void *)&block;
        hu_waiters_leave(other);
    }
    return unused;
}

static void threads_lose_no_count(void **state)
{
    pthread_t thread[4];
    void     *failed;

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, i % 2 ? waits : waits_for_another, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(hu_waiters_of(object)->word, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_object),         cmocka_unit_test(forgets_what_a_thread_left),
        cmocka_unit_test(child_begins_with_nobody), cmocka_unit_test(tells_who_unlocked),
        cmocka_unit_test(threads_lose_no_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
