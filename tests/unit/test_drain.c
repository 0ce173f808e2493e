/* SPDX-License-Identifier: Apache-2.0
 * test_drain.c - the real recorder in one process, the supervisor in another: no record lost or doubled, losses exact. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/process.h"
#include "record/collect.h"
#include "record/ring_read.h"
#include "testing.h"

static char session[64];

static void make_session(uint32_t max_blocks)
{
    const hu_control control = {.magic = HU_CONTROL_MAGIC,
                                .version = HU_FORMAT_VERSION,
                                .bytes = sizeof control,
                                .mask = HU_DOOR_USER,
                                .wanted = HU_DOOR_USER,
                                .clock = HU_CLOCK_MONOTONIC,
                                .max_blocks = max_blocks,
                                .ticks_per_second = 1e9};
    char             path[96];
    int              fd;

    strcpy(session, "/tmp/holdup-drain-XXXXXX");
    assert_non_null(mkdtemp(session));
    snprintf(path, sizeof path, "%s/control", session);
    fd = open(path, O_CREAT | O_RDWR, 0600);
    assert_int_equal(write(fd, &control, sizeof control), sizeof control);
    assert_int_equal(ftruncate(fd, 4096), 0);
    close(fd);
}

static uint64_t each;

static void *write_marks(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < each; i++) {
        hu_record *r = hu_ring_take(1 + (uint32_t)(i % 3));

        if (!r)
            continue;
        for (unsigned k = 1; k <= i % 3; k++)
            hu_ring_more(&r[k], 0, HU_MORE_UINT, i);
        r->time = hu_ticks();
        r->a = i;
        hu_ring_publish(r, HU_RECORD_MARK);
    }
    return NULL;
}

/* A program of `threads` threads; it never comes back. */
static void be_program(int threads, int go)
{
    pthread_t t[16];
    char      byte;

    setenv("HOLDUP_SESSION", session, 1);
    if (read(go, &byte, 1) != 1 || !hu_process_join())
        _exit(1);
    hu_ring_init();
    hu_gate_page();
    if (!hu_process_attach())
        _exit(2);
    hu_gate_init();
    for (int i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, write_marks, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    _exit(0); /* without a word: as good as killed */
}

typedef struct {
    uint64_t events, lost_here, lost_in_head, drained;
    size_t   threads;
} outcome;

/* Reads what is there; each thread's marks have to rise. */
static void read_back(const char *path, outcome *out)
{
    hu_ring_file         *f = NULL;
    hu_error              err = {0};
    const hu_ring_thread *threads;
    hu_ring_damage        damage = {0};

    assert_int_equal(hu_ring_open(path, false, &f, &err), 0);
    threads = hu_ring_threads(f, &out->threads);
    for (size_t i = 0; i < out->threads; i++) {
        hu_ring_cursor c;
        hu_ring_event  e;
        uint64_t       next = 0;

        hu_ring_start(f, &threads[i], &damage, &c);
        while (hu_ring_next(&c, &e)) {
            if (e.record->type == HU_RECORD_LOST) {
                out->lost_here += e.record->a;
                continue;
            }
            assert_int_equal(e.record->type, HU_RECORD_MARK);
            assert_true(e.record->a >= next);
            assert_int_equal(e.n_more, e.record->a % 3);
            for (uint32_t k = 0; k < e.n_more; k++)
                assert_int_equal(e.more[k].a, e.record->a);
            next = e.record->a + 1;
            out->events++;
        }
    }
    for (unsigned i = 0; i < HU_LOSS_REASONS; i++)
        out->lost_in_head += hu_ring_get_head(f)->lost[i];
    assert_int_equal(damage.torn + damage.gaps + damage.odd, 0);
    assert_int_equal(hu_ring_cut_bytes(f), 0);
    hu_ring_close(f);
}

static outcome record(int threads, uint64_t n, uint32_t max_blocks, uint64_t max_bytes, int wait_us)
{
    const hu_collect_options how = {.max_bytes = max_bytes};
    outcome                  out = {0};
    hu_error                 err = {0};
    hu_collector            *c;
    hu_collect_state         seen;
    char                     path[128];
    FILE                    *list;
    pid_t                    child;
    int                      go[2], status;

    make_session(max_blocks);
    each = n;
    assert_int_equal(pipe(go), 0);
    child = fork();
    if (child == 0)
        be_program(threads, go[0]);
    c = hu_collect_open(session, &how, &err);
    assert_non_null(c);
    assert_int_equal(write(go[1], "g", 1), 1);
    while (waitpid(child, &status, WNOHANG) == 0) {
        const int ms = hu_collect_round(c);

        assert_in_range(ms, 1, 20);
        usleep((useconds_t)wait_us);
    }
    assert_int_equal(status, 0);
    hu_collect_round(c);
    hu_collect_get(c, &seen);
    out.drained = seen.drained;
    assert_int_equal(seen.processes, 1);
    assert_int_equal(hu_collect_close(c, &err), 0);
    snprintf(path, sizeof path, "ls %s/*.ring", session);
    list = popen(path, "r");
    assert_non_null(fgets(path, sizeof path, list));
    pclose(list);
    path[strcspn(path, "\n")] = '\0';
    read_back(path, &out);
    snprintf(path, sizeof path, "rm -r %s", session);
    assert_int_equal(system(path), 0);
    close(go[0]);
    close(go[1]);
    return out;
}

static void all_that_is_written_is_there_once(void **state)
{
    const outcome o = record(4, 400000, 8192, 0, 500);

    (void)state;
    assert_int_equal(o.threads, 4);
    assert_int_equal(o.events + o.lost_in_head, 4 * 400000);
    assert_int_equal(o.lost_in_head, 0);
    assert_true(o.drained > 0);
}

static void an_overflow_is_counted_exactly(void **state)
{
    const outcome o = record(4, 200000, 12, 0, 20000);

    (void)state;
    assert_true(o.lost_in_head > 0);
    assert_int_equal(o.events + o.lost_in_head, 4 * 200000);
    assert_true(o.lost_here <= o.lost_in_head);
    assert_true(o.lost_here > 0);
}

static void the_limit_of_the_session_is_counted_as_well(void **state)
{
    const outcome o = record(1, 400000, 4096, 1 << 20, 500);

    (void)state;
    assert_true(o.lost_in_head > 0);
    assert_int_equal(o.lost_here, o.lost_in_head);
    /* the limit counts slots, of which an event has two on average */
    assert_true(o.events < 400000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_written_is_there_once),
        cmocka_unit_test(an_overflow_is_counted_exactly),
        cmocka_unit_test(the_limit_of_the_session_is_counted_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
