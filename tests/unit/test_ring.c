/* SPDX-License-Identifier: Apache-2.0
 * test_ring.c - what threads, signals and forks write is in the file, once, or is counted as lost. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/process.h"
#include "inject/sys.h"
#include "wiping.h"

/* Tests run in children: what fails there must end the child, not go on in it. */
static void check_equal(uint64_t a, uint64_t b, const char *what, int line)
{
    if (a != b) {
        fprintf(stderr, "test_ring.c:%d: %s: %llu, not %llu\n", line, what, (unsigned long long)a, (unsigned long long)b);
        _exit(1);
    }
}

#define CHECK_EQUAL(a, b) check_equal((uint64_t)(a), (uint64_t)(b), #a, __LINE__)
#define CHECK(a)          check_equal((a) ? 1 : 0, 1, #a, __LINE__)

static char session[] = "/tmp/holdup-ring-XXXXXX";

/* Each test is a child: the library joins one session in a process's life. */
static void join(uint32_t mode, uint32_t max_blocks)
{
    hu_control control = {.magic = HU_CONTROL_MAGIC,
                          .version = HU_FORMAT_VERSION,
                          .bytes = sizeof control,
                          /* the doors of the C library stay shut: its calls by this program would be records */
                          .mask = HU_DOOR_USER | HU_DOOR_NVTX | HU_DOOR_WATCH,
                          .mode = mode,
                          .clock = HU_CLOCK_MONOTONIC,
                          .max_blocks = max_blocks,
                          .ticks_per_second = 1e9,
                          .first_step = 2,
                          .last_step = 3};
    char       path[64];
    int        fd;

    snprintf(path, sizeof path, "%s/control", session);
    fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    CHECK_EQUAL(write(fd, &control, sizeof control), sizeof control);
    CHECK_EQUAL(ftruncate(fd, 4096), 0);
    close(fd);
    setenv("HOLDUP_SESSION", session, 1);
    CHECK(hu_process_join());
    hu_ring_init();
    hu_gate_page();
    pthread_atfork(NULL, NULL, hu_process_forked);
    CHECK(hu_process_attach());
    hu_gate_init();
}

static bool emit(uint64_t value)
{
    hu_record *r = hu_ring_take(1);

    if (!r)
        return false;
    r->time = hu_ticks();
    r->a = value;
    hu_ring_publish(r, HU_RECORD_MARK);
    return true;
}

typedef struct {
    uint64_t n, sum, more, torn;
} totals;

/* All that is in this process's file: what the supervisor would copy. */
static totals count(void)
{
    const hu_ring_head *head = hu_the_process.head;
    totals              t = {0};

    for (uint32_t i = 1; i < head->n_blocks; i++) {
        const hu_block *b = hu_block_at(head, i);
        const uint32_t  used = b->head.state == HU_BLOCK_OPEN ? b->head.taken : b->head.used;

        if (b->head.state == HU_BLOCK_FREE || b->head.kind == HU_BLOCK_OF_STRINGS)
            continue;
        for (uint32_t k = 0; k < used && k < HU_BLOCK_RECORDS; k++) {
            t.n += b->records[k].type == HU_RECORD_MARK;
            t.sum += b->records[k].type == HU_RECORD_MARK ? b->records[k].a : 0;
            t.more += b->records[k].type == HU_RECORD_MORE;
            t.torn += b->records[k].type == HU_RECORD_NONE;
        }
    }
    return t;
}

/* threads */

enum { THREADS = 64, EACH = 20000 };

static void *write_many(void *argument)
{
    for (uint64_t i = 0; i < EACH; i++)
        emit((uint64_t)(uintptr_t)argument * EACH + i);
    return NULL;
}

static void threads_lose_nothing(void)
{
    const uint64_t n = (uint64_t)THREADS * EACH;
    pthread_t      thread[THREADS];
    totals         t;

    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&thread[i], NULL, write_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    t = count();
    CHECK_EQUAL(t.n, n);
    CHECK_EQUAL(t.sum, n * (n - 1) / 2);
    CHECK_EQUAL(t.torn, 0);
    CHECK_EQUAL(hu_the_process.head->lost[HU_LOSS_FULL], 0);
    CHECK_EQUAL(hu_the_process.head->n_threads, THREADS);
}

/* Of this process's file, in kB: the pages that it has touched. */
static unsigned long resident(void)
{
    const unsigned long at = (unsigned long)(uintptr_t)hu_the_process.head;
    unsigned long       kb = 0, from, to;
    char                line[256];
    FILE               *smaps = fopen("/proc/self/smaps", "r");
    bool                is_in = false;

    while (smaps && fgets(line, sizeof line, smaps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_in = at >= from && at < to;
        else if (is_in && sscanf(line, "Rss: %lu kB", &kb) == 1)
            break;
    }
    if (smaps)
        fclose(smaps);
    return kb;
}

static void fresh_blocks_are_not_touched_and_taken_in_their_order(void)
{
    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    CHECK_EQUAL((uint32_t)hu_the_process.head->free_list, 0);
    CHECK_EQUAL(hu_the_process.head->first_fresh, 1);
    CHECK(resident() > 0 && resident() <= 8); /* the head of the file */
    for (int i = 0; i < 2 * HU_BLOCK_RECORDS; i++)
        CHECK(emit(1));
    CHECK_EQUAL(hu_the_process.head->first_fresh, 3);
    CHECK_EQUAL(hu_thread.block == hu_block_at(hu_the_process.head, 2), 1);
    CHECK(resident() > 2 * HU_BLOCK_BYTES / 1024);
}

static void what_does_not_fit_is_counted(void)
{
    const uint64_t n = 100000;
    uint64_t       kept = 0;
    totals         t;

    join(HU_MODE_STREAM, 32);
    for (uint64_t i = 0; i < n; i++)
        kept += emit(1);
    t = count();
    CHECK_EQUAL(t.n, kept);
    CHECK_EQUAL(t.n, 31 * HU_BLOCK_RECORDS);
    CHECK_EQUAL(hu_the_process.head->lost[HU_LOSS_FULL], n - kept);
    CHECK(hu_the_process.head->first_lost > 0 && hu_the_process.head->last_lost >= hu_the_process.head->first_lost);
}

static void flight_keeps_the_newest(void)
{
    const uint64_t n = 200000;
    totals         t;
    uint64_t       overwritten;

    join(HU_MODE_FLIGHT, 32);
    for (uint64_t i = 0; i < n; i++)
        CHECK(emit(i));
    t = count();
    overwritten = hu_the_process.head->lost[HU_LOSS_OVERWRITTEN];
    CHECK_EQUAL(t.n + overwritten, n);
    CHECK(t.n > 20 * HU_BLOCK_RECORDS);
    /* the newest t.n of them */
    CHECK_EQUAL(t.sum, (n - 1) * n / 2 - (n - t.n - 1) * (n - t.n) / 2);
}

static void neighbours_stay_together(void)
{
    uint64_t kept = 0;

    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    for (int i = 0; i < 10000; i++) {
        hu_record *r = hu_ring_take(3);

        CHECK(r);
        hu_ring_more(&r[1], 1, HU_MORE_INT, 5);
        hu_ring_more(&r[2], 2, HU_MORE_INT, 6);
        r->a = 1;
        hu_ring_publish(r, HU_RECORD_MARK);
        kept++;
    }
    CHECK_EQUAL(count().n, kept);
    CHECK_EQUAL(count().more, 2 * kept);
    CHECK_EQUAL(count().torn, 0);
}

/* signals */

static volatile sig_atomic_t n_signals;
static volatile uint64_t     n_in_handler;

static void handler(int unused)
{
    (void)unused;
    n_signals++;
    n_in_handler += emit(1u << 20);
}

static void handlers_record_too(void)
{
    const struct itimerval fast = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    uint64_t               n = 0;
    totals                 t;

    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &fast, NULL);
    while (n_signals < 500 && n < 1500000)
        n += emit(1);
    setitimer(ITIMER_REAL, &off, NULL);
    t = count();
    CHECK(n_signals > 0);
    CHECK_EQUAL(t.n, n + n_in_handler);
    CHECK_EQUAL(t.sum, n + (n_in_handler << 20));
    CHECK_EQUAL((uint64_t)n_signals - n_in_handler, hu_the_process.head->lost[HU_LOSS_SIGNAL]);
    CHECK_EQUAL(t.torn, 0);
}

/* forks */

static void a_child_has_its_own_file(void)
{
    const uint32_t early = hu_string_of("before there is a session");
    uint32_t       name;
    char           parents[sizeof hu_the_process.path];
    int            status;
    pid_t          pid;

    CHECK_EQUAL(early, 0);
    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    name = hu_string_of("the name that both know");
    memcpy(parents, hu_the_process.path, sizeof parents);
    emit(1);
    pid = fork();
    if (pid == 0) {
        const hu_block *texts;

        if (!emit(2) || strcmp(parents, hu_the_process.path) == 0 || !hu_the_process.head->forked ||
            hu_string_of("the name that both know") != name || count().n != 1 || count().sum != 2)
            _exit(1);
        for (uint32_t i = 1; i < hu_the_process.head->n_blocks; i++) {
            texts = hu_block_at(hu_the_process.head, i);
            if (texts->head.kind == HU_BLOCK_OF_STRINGS && texts->head.state == HU_BLOCK_OPEN &&
                memcmp((const char *)texts->records + 8, "the name that both know", 23) == 0)
                _exit(0);
        }
        _exit(2);
    }
    waitpid(pid, &status, 0);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(count().n, 1);
    if (!forks_wipe_pages())
        return;
    /* a fork that the C library does not see: the child is silent, and the parent unharmed */
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* as there is no SYS_fork on Arm */
    if (pid == 0)
        _exit(hu_gate_open(~0u) ? 1 : 0);
    waitpid(pid, &status, 0);
    CHECK_EQUAL(status, 0);
}

/* texts */

static void texts_are_known_by_one_id(void)
{
    char text[32];

    join(HU_MODE_STREAM, HU_RING_BLOCKS_MAX);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < HU_STRINGS_MAX; i++)
            CHECK_EQUAL(hu_string(text, (size_t)snprintf(text, sizeof text, "text %u", i)), i + 1);
    CHECK_EQUAL(hu_string_of("one too many"), 0);
    CHECK_EQUAL(hu_the_process.head->lost[HU_LOSS_STRINGS], 1);
    CHECK_EQUAL(hu_string_of(""), 0);
    CHECK_EQUAL(hu_string_of(NULL), 0);
}

/* the gate */

static void steps_open_the_gate(void)
{
    join(HU_MODE_STREAM, 64);
    hu_the_control->wants_steps = 1;
    hu_gate_init();
    for (int64_t step = 0; step < 6; step++) {
        hu_gate_step(step);
        CHECK_EQUAL(hu_gate_open(HU_DOOR_USER), step == 2 || step == 3);
        CHECK(hu_gate_open(HU_DOOR_WATCH));
    }
    hu_the_control->mask = 0;
    CHECK(!(hu_gate_open(~0u)));
}

static void ranges_open_the_gate(void)
{
    join(HU_MODE_STREAM, 64);
    memcpy(hu_the_control->capture_range, "epoch", 6);
    hu_gate_init();
    const uint32_t epoch = hu_string_of("epoch"), other = hu_string_of("other");

    hu_gate_push(other, 0);
    CHECK(!(hu_gate_open(HU_DOOR_NVTX)));
    hu_gate_push(epoch, 0);
    CHECK(hu_gate_open(HU_DOOR_NVTX));
    hu_gate_push(epoch, 0); /* nested */
    hu_gate_push(other, 0);
    hu_gate_pop(0);
    hu_gate_pop(0);
    CHECK(hu_gate_open(HU_DOOR_NVTX));
    hu_gate_pop(0);
    CHECK(!(hu_gate_open(HU_DOOR_NVTX)));
    hu_gate_pop(0);
    CHECK(!(hu_gate_open(HU_DOOR_NVTX)));
}

/* Each is inside of its own range all the time that it looks: whoever leaves meanwhile must not close the gate. */
static void *enter_and_leave(void *range)
{
    const uint32_t epoch = (uint32_t)(uintptr_t)range;
    uintptr_t      n_shut = 0;

    for (int i = 0; i < 200000; i++) {
        hu_gate_push(epoch, 0);
        n_shut += !hu_gate_open(HU_DOOR_NVTX);
        hu_gate_pop(0);
    }
    return (void *)n_shut; /* NOLINT(performance-no-int-to-ptr) */
}

static void a_gate_is_open_while_any_thread_is_inside(void)
{
    enum { ENTERERS = 4 };
    pthread_t thread[ENTERERS];
    uint32_t  epoch;
    uintptr_t n_shut = 0;

    join(HU_MODE_STREAM, 64);
    memcpy(hu_the_control->capture_range, "epoch", 6);
    hu_gate_init();
    epoch = hu_string_of("epoch");
    for (int i = 0; i < ENTERERS; i++)
        CHECK_EQUAL(pthread_create(&thread[i], NULL, enter_and_leave, (void *)(uintptr_t)epoch), 0);
    for (int i = 0; i < ENTERERS; i++) {
        void *found = NULL;

        pthread_join(thread[i], &found);
        n_shut += (uintptr_t)found;
    }
    CHECK_EQUAL(n_shut, 0);
    CHECK(!hu_gate_open(HU_DOOR_NVTX));
    CHECK(hu_gate_open(HU_DOOR_WATCH));
}

static void in_child(void (*test)(void))
{
    int         status;
    const pid_t pid = fork();

    if (pid == 0) {
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* clang-format off */
#define TEST(name) static void test_##name(void **state) { (void)state; in_child(name); }
#define TESTS(T) T(threads_lose_nothing) T(fresh_blocks_are_not_touched_and_taken_in_their_order) T(what_does_not_fit_is_counted) T(flight_keeps_the_newest)                   \
    T(neighbours_stay_together) T(handlers_record_too) T(a_child_has_its_own_file) T(texts_are_known_by_one_id)       \
    T(steps_open_the_gate) T(ranges_open_the_gate) T(a_gate_is_open_while_any_thread_is_inside)
/* clang-format on */
TESTS(TEST)

int main(void)
{
#define ROW(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {TESTS(ROW)};
    char                    command[64];
    int                     rc;

    if (!mkdtemp(session))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", session);
    return system(command) == 0 ? rc : 1;
}
