/* SPDX-License-Identifier: Apache-2.0
 * test_outside.c - from looks at waiting threads to waits: which are known, which are inferred, which stay unknown. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/perf_threads.h"
#include "record/wait_calls.h"
#include "record/wait_file.h"
#include "record/waits.h"
#include "testing.h"

enum { PID = 7, MS = 1000000 };

typedef struct {
    char          folder[64], path[96];
    int           fd;
    hu_arena     *arena;
    hu_perf_files files;
    hu_waits      waits;
} made;

static void put(made *m, const void *data, size_t n)
{
    assert_int_equal(write(m->fd, data, n), n);
}

static made *make(void)
{
    const hu_wait_head head = {HU_WAIT_MAGIC, 1, sizeof(hu_wait_row)};
    made              *m = calloc(1, sizeof *m);

    assert_non_null(m);
    strcpy(m->folder, "/tmp/holdup-outside-XXXXXX");
    assert_non_null(mkdtemp(m->folder));
    snprintf(m->path, sizeof m->path, "%s/waits", m->folder);
    m->fd = open(m->path, O_WRONLY | O_CREAT, 0600);
    assert_true(m->fd >= 0);
    put(m, &head, sizeof head);
    m->arena = hu_arena_new();
    m->files = (hu_perf_files){.arena = m->arena, .last_loss_ns = -1};
    assert_true(hu_intern_init(&m->files.texts, m->arena) && hu_map_init(&m->files.thread_of, m->arena, 4));
    return m;
}

static void destroy(made *m)
{
    hu_arena_free(m->arena);
    unlink(m->path);
    rmdir(m->folder);
    free(m);
}

/* The thread `tid` waits from one time to another, and runs then. */
static void wait_between(made *m, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
    const uint32_t thread = hu_perf_threads_find(&m->files, PID, tid, from_ns);

    assert_true(hu_perf_threads_change(&m->files, thread, from_ns, 0, HU_TASK_SLEEPING));
    assert_true(hu_perf_threads_change(&m->files, thread, to_ns, 0, HU_TASK_RUNNING));
}

static void seen(made *m, uint32_t tid, long number, int64_t first_ns, int64_t last_ns)
{
    const int32_t     call = hu_wait_call_find(number);
    const hu_wait_row row = {.type = HU_WAIT_ROW_SEEN,
                             .pid = PID,
                             .tid = tid,
                             .call = (uint16_t)call,
                             .class = hu_wait_call_at((uint32_t)call)->class,
                             .from_ns = first_ns - MS,
                             .first_ns = first_ns,
                             .last_ns = last_ns,
                             .to_ns = last_ns + MS};

    assert_true(call >= 0);
    put(m, &row, sizeof row);
}

static void read_all(made *m)
{
    hu_error err = {0};

    close(m->fd);
    assert_int_equal(hu_waits_read(m->folder, &m->files, m->arena, &m->waits, &err), 0);
}

static const hu_wait *nth(const made *m, uint32_t tid, size_t i)
{
    size_t                n;
    const hu_wait_thread *t = hu_waits_of(&m->waits, PID, tid, &n);

    assert_int_equal(n, 1);
    assert_true(i < t->n);
    return &m->waits.at.at[t->first + i];
}

static void one_look_tells_all_of_a_wait(void **state)
{
    made *m = make();

    (void)state;
    wait_between(m, 8, 10 * MS, 40 * MS);
    wait_between(m, 8, 50 * MS, 80 * MS);
    seen(m, 8, SYS_nanosleep, 20 * MS, 20 * MS);
    read_all(m);
    hu_waits_infer(&m->waits);
    assert_true(m->waits.is_exact);
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_SAMPLED);
    assert_int_equal(nth(m, 8, 0)->start_ns, 10 * MS);
    assert_int_equal(nth(m, 8, 0)->end_ns, 40 * MS);
    assert_int_equal(nth(m, 8, 1)->source, HU_WAIT_UNKNOWN); /* one look infers nothing */
    destroy(m);
}

/* A look that the scheduler contradicts: it ran in between, or did not wait at all. */
static void contradicted_looks_count_for_nothing(void **state)
{
    made *m = make();

    (void)state;
    wait_between(m, 8, 10 * MS, 40 * MS);
    wait_between(m, 8, 50 * MS, 80 * MS);
    seen(m, 8, SYS_nanosleep, 20 * MS, 60 * MS);
    seen(m, 8, SYS_nanosleep, 45 * MS, 45 * MS);
    read_all(m);
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_UNKNOWN);
    assert_int_equal(nth(m, 8, 1)->source, HU_WAIT_UNKNOWN);
    destroy(m);
}

static hu_wait_source inferred_from(unsigned looks, unsigned missed, bool is_mixed, bool is_longer)
{
    made          *m = make();
    const int64_t  first = 1000;
    hu_wait_source found;

    for (unsigned i = 0; i <= looks; i++)
        wait_between(m, 8, (first + 10 * i) * MS, (first + 10 * i + (is_longer && i == missed ? 8 : 2)) * MS);
    for (unsigned i = 0; i <= looks; i++)
        if (i != missed)
            seen(m, 8, is_mixed && i == 3 ? SYS_futex : SYS_nanosleep, (first + 10 * i + 1) * MS, (first + 10 * i + 1) * MS);
    read_all(m);
    hu_waits_infer(&m->waits);
    found = (hu_wait_source)nth(m, 8, missed)->source;
    destroy(m);
    return found;
}

static void ten_equal_looks_infer_the_rest(void **state)
{
    (void)state;
    assert_int_equal(inferred_from(10, 5, false, false), HU_WAIT_INFERRED);
    assert_int_equal(inferred_from(9, 5, false, false), HU_WAIT_UNKNOWN);
    assert_int_equal(inferred_from(30, 5, true, false), HU_WAIT_UNKNOWN);  /* one other call */
    assert_int_equal(inferred_from(30, 5, false, true), HU_WAIT_UNKNOWN);  /* no look at a wait of this length */
    assert_int_equal(inferred_from(30, 0, false, false), HU_WAIT_UNKNOWN); /* before the first, behind the last */
    assert_int_equal(inferred_from(30, 30, false, false), HU_WAIT_UNKNOWN);
}

static void recorded_calls_cover_waits(void **state)
{
    made                 *m = make();
    size_t                n;
    const hu_wait_thread *t;

    (void)state;
    wait_between(m, 8, 10 * MS, 40 * MS);
    wait_between(m, 8, 50 * MS, 80 * MS);
    seen(m, 8, SYS_nanosleep, 20 * MS, 20 * MS);
    seen(m, 8, SYS_nanosleep, 60 * MS, 70 * MS);
    read_all(m);
    t = hu_waits_of(&m->waits, PID, 8, &n);
    hu_waits_cover(&m->waits, t, n, 9 * MS, 41 * MS);
    hu_waits_cover(&m->waits, t, n, 41 * MS, 51 * MS); /* touches the second one by the error of a clock */
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_COVERED);
    assert_int_equal(nth(m, 8, 1)->source, HU_WAIT_SAMPLED);
    destroy(m);
}

static void looks_alone_are_estimates(void **state)
{
    made                 *m = make();
    size_t                n;
    const hu_wait_thread *t;

    (void)state;
    seen(m, 8, SYS_nanosleep, 20 * MS, 30 * MS);
    read_all(m);
    assert_false(m->waits.is_exact);
    assert_int_equal(nth(m, 8, 0)->start_ns, 19 * MS);
    assert_int_equal(nth(m, 8, 0)->end_ns, 31 * MS);
    t = hu_waits_of(&m->waits, PID, 8, &n);
    hu_waits_cover(&m->waits, t, n, 15 * MS, 19 * MS + 5); /* a call that was recorded just before */
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_SAMPLED);
    assert_int_equal(nth(m, 8, 0)->start_ns, 19 * MS + 5);
    hu_waits_trim(&m->waits, t, n);
    assert_int_equal(nth(m, 8, 0)->start_ns, 20 * MS);
    assert_int_equal(nth(m, 8, 0)->end_ns, 30 * MS);
    hu_waits_cover(&m->waits, t, n, 25 * MS, 26 * MS); /* one that was recorded meanwhile */
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_COVERED);
    destroy(m);
}

static void damaged_rows_are_left_out(void **state)
{
    const hu_wait_row bad[] = {{.type = 99},
                               {.type = HU_WAIT_ROW_SEEN, .call = 65535},
                               {.type = HU_WAIT_ROW_SEEN, .class = 200},
                               {.type = HU_WAIT_ROW_SEEN, .first_ns = 2, .last_ns = 1},
                               {.type = HU_WAIT_ROW_TEXT, .text = 1, .object = 1 << 20}};
    made             *m = make();

    (void)state;
    wait_between(m, 8, 10 * MS, 40 * MS);
    put(m, bad, sizeof bad);
    seen(m, 8, SYS_nanosleep, 20 * MS, 20 * MS);
    put(m, bad, 10); /* half a row */
    read_all(m);
    assert_int_equal(m->waits.malformed, 5);
    assert_int_equal(nth(m, 8, 0)->source, HU_WAIT_SAMPLED);
    destroy(m);
}

static void calls_by_their_arguments(void **state)
{
    const hu_wait_call *futex = hu_wait_call_at((uint32_t)hu_wait_call_find(SYS_futex));
    const hu_wait_call *poll = hu_wait_call_at((uint32_t)hu_wait_call_find(SYS_ppoll));
    const hu_wait_call *fcntl_call = hu_wait_call_at((uint32_t)hu_wait_call_find(SYS_fcntl));

    (void)state;
    assert_int_equal(hu_wait_call_find(SYS_getpid), -1);
    assert_null(hu_wait_call_at(10000));
    assert_int_equal(hu_wait_call_class(futex, (uint64_t[6]){1, 128}), HU_OS_WAIT);
    assert_int_equal(hu_wait_call_class(futex, (uint64_t[6]){1, 128 | 6}), HU_OS_LOCK);
    assert_int_equal(hu_wait_call_class(poll, (uint64_t[6]){0, 0}), HU_OS_SLEEP);
    assert_int_equal(hu_wait_call_class(poll, (uint64_t[6]){1, 1}), HU_OS_POLL);
    assert_int_equal(hu_wait_call_class(fcntl_call, (uint64_t[6]){3, 7}), HU_OS_LOCK);
    assert_int_equal(hu_wait_call_class(fcntl_call, (uint64_t[6]){3, 1}), HU_OS_CLASS_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_look_tells_all_of_a_wait),   cmocka_unit_test(contradicted_looks_count_for_nothing),
        cmocka_unit_test(ten_equal_looks_infer_the_rest), cmocka_unit_test(recorded_calls_cover_waits),
        cmocka_unit_test(looks_alone_are_estimates),      cmocka_unit_test(damaged_rows_are_left_out),
        cmocka_unit_test(calls_by_their_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
