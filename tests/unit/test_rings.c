/* SPDX-License-Identifier: Apache-2.0
 * test_rings.c - ring and drain files made by hand: what is joined, what is torn, what lies; and ticks as time. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/clock_map.h"
#include "record/ring_read.h"
#include "testing.h"

enum { BLOCKS = 6 };

typedef struct {
    char folder[64], ring[96], drain[96];
    union {
        hu_ring_head head;
        hu_block     at[BLOCKS];
    } file;
    char   pieces[1 << 16];
    size_t n_pieces;
} made;

static made *make(void)
{
    made *m = calloc(1, sizeof *m);

    assert_non_null(m);
    strcpy(m->folder, "/tmp/holdup-rings-XXXXXX");
    assert_non_null(mkdtemp(m->folder));
    snprintf(m->ring, sizeof m->ring, "%s/7-01.ring", m->folder);
    snprintf(m->drain, sizeof m->drain, "%s/7-01.drain", m->folder);
    m->file.head = (hu_ring_head){.magic = HU_RING_MAGIC,
                                  .version = HU_FORMAT_VERSION,
                                  .block_bytes = HU_BLOCK_BYTES,
                                  .pid = 7,
                                  .n_blocks = BLOCKS,
                                  .state = HU_PROCESS_RUNS};
    return m;
}

static void destroy(made *m)
{
    unlink(m->ring);
    unlink(m->drain);
    rmdir(m->folder);
    free(m);
}

static hu_block *block(made *m, unsigned i, unsigned thread, unsigned sequence, hu_block_state state, unsigned n)
{
    hu_block *b = &m->file.at[i];

    b->head = (hu_block_head){.state = state,
                              .thread = thread,
                              .tid = 100 + thread,
                              .sequence = sequence,
                              .taken = n,
                              .used = state == HU_BLOCK_OPEN ? 0 : n};
    for (unsigned k = 0; k < n; k++)
        b->records[k] = (hu_record){.time = 1000 * sequence + k, .type = HU_RECORD_MARK, .a = 1000 * sequence + k};
    return b;
}

/* What the supervisor has written of a block. */
static void piece(made *m, const hu_block *b, unsigned first, unsigned n)
{
    const hu_drain_head h = {.magic = HU_DRAIN_MAGIC,
                             .tid = b->head.tid,
                             .thread = b->head.thread,
                             .sequence = b->head.sequence,
                             .first = first,
                             .n = n};

    memcpy(m->pieces + m->n_pieces, &h, sizeof h);
    memcpy(m->pieces + m->n_pieces + sizeof h, b->records + first, n * sizeof(hu_record));
    m->n_pieces += sizeof h + n * sizeof(hu_record);
}

static hu_ring_file *written(made *m, bool is_live)
{
    hu_ring_file *f = NULL;
    hu_error      err = {0};
    int           fd = open(m->ring, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    assert_int_equal(write(fd, &m->file, sizeof m->file), sizeof m->file);
    close(fd);
    if (m->n_pieces) {
        fd = open(m->drain, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        assert_int_equal(write(fd, m->pieces, m->n_pieces), m->n_pieces);
        close(fd);
    }
    if (hu_ring_open(m->ring, is_live, &f, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static size_t read_thread(hu_ring_file *f, size_t i, hu_ring_damage *damage, uint64_t *values, size_t most)
{
    size_t                n_threads, n = 0;
    const hu_ring_thread *threads = hu_ring_threads(f, &n_threads);
    hu_ring_cursor        c;
    hu_ring_event         e;

    assert_true(i < n_threads);
    memset(damage, 0, sizeof *damage);
    hu_ring_start(f, &threads[i], damage, &c);
    while (hu_ring_next(&c, &e) && n < most)
        values[n++] = e.record->a;
    assert_int_equal(hu_ring_status(f, NULL), 0);
    return n;
}

static uint64_t got[2000];

static void what_is_in_both_files_comes_once(void **state)
{
    made           *m = make();
    const hu_block *whole = block(m, 1, 1, 0, HU_BLOCK_FULL, 510), *part = block(m, 3, 1, 1, HU_BLOCK_OPEN, 200);
    hu_ring_file   *f;
    hu_ring_damage  damage;

    (void)state;
    block(m, 2, 1, 2, HU_BLOCK_FREE, 5); /* given back: what is in it is not */
    piece(m, whole, 0, 510);
    piece(m, part, 0, 100);
    m->n_pieces -= 10 * sizeof(hu_record) + 5; /* the supervisor died in the middle of it */
    f = written(m, false);
    assert_int_equal(read_thread(f, 0, &damage, got, HU_COUNT(got)), 710);
    for (unsigned i = 0; i < 710; i++)
        assert_int_equal(got[i], i < 510 ? i : 1000 + i - 510);
    assert_int_equal(damage.torn + damage.gaps + damage.odd, 0);
    assert_true(hu_ring_cut_bytes(f) > 0);
    hu_ring_close(f);
    destroy(m);
}

static void what_is_nowhere_is_a_gap(void **state)
{
    made           *m = make();
    const hu_block *b = block(m, 1, 1, 0, HU_BLOCK_FULL, 50);
    hu_ring_file   *f;
    hu_ring_damage  damage;

    (void)state;
    piece(m, b, 10, 20);
    piece(m, b, 40, 10);
    m->file.at[1].head.state = HU_BLOCK_FREE;
    f = written(m, false);
    assert_int_equal(read_thread(f, 0, &damage, got, HU_COUNT(got)), 30);
    assert_int_equal(got[0], 10);
    assert_int_equal(got[20], 40);
    assert_int_equal(damage.gaps, 20);
    hu_ring_close(f);
    destroy(m);
}

static void torn_records_are_skipped_and_counted(void **state)
{
    made          *m = make();
    hu_block      *b = block(m, 1, 1, 0, HU_BLOCK_OPEN, 8);
    hu_ring_file  *f;
    hu_ring_damage damage;

    (void)state;
    b->records[2].type = HU_RECORD_NONE; /* an event that has its MORE, and not its type */
    b->records[3].type = HU_RECORD_MORE;
    b->records[5].type = HU_RECORD_TYPES + 3;
    b->records[7].type = HU_RECORD_MORE;
    f = written(m, false);
    assert_int_equal(read_thread(f, 0, &damage, got, HU_COUNT(got)), 4);
    assert_int_equal(got[2], 4);
    assert_int_equal(got[3], 6);
    assert_int_equal(damage.torn, 2);
    assert_int_equal(damage.odd, 1);
    hu_ring_close(f);
    f = written(m, true); /* of one that lives, the rest is not there yet */
    assert_int_equal(read_thread(f, 0, &damage, got, HU_COUNT(got)), 2);
    assert_int_equal(damage.torn, 0);
    hu_ring_close(f);
    destroy(m);
}

static void slots_that_nobody_could_use_are_not_torn(void **state)
{
    made          *m = make();
    hu_block      *b = block(m, 1, 1, 0, HU_BLOCK_OPEN, 508);
    hu_ring_file  *f;
    hu_ring_damage damage;

    (void)state;
    b->head.taken = 512; /* four were wanted, two were left, and the process was killed there */
    f = written(m, false);
    assert_int_equal(read_thread(f, 0, &damage, got, HU_COUNT(got)), 508);
    assert_int_equal(damage.torn, 0);
    hu_ring_close(f);
    destroy(m);
}

static void threads_and_texts_are_found(void **state)
{
    made                 *m = make();
    hu_block             *b;
    char                 *at;
    hu_ring_file         *f;
    const hu_ring_thread *threads;
    size_t                n;

    (void)state;
    block(m, 1, 2, 0, HU_BLOCK_FULL, 3);
    b = block(m, 2, 2, 1, HU_BLOCK_OPEN, 1);
    b->head.call = 4;
    b->head.call_since = 5000;
    block(m, 3, 1, 0, HU_BLOCK_CLOSED, 2);
    m->file.at[4].head = (hu_block_head){.state = HU_BLOCK_OPEN, .kind = HU_BLOCK_OF_STRINGS, .taken = 16 + 16 + 8};
    at = (char *)m->file.at[4].records;
    memcpy(at, (uint32_t[]){9, 5}, 8);
    memcpy(at + 8, "hello", 5);
    memcpy(at + 16, (uint32_t[]){70000, 3}, 8); /* no such number: what is behind it is not believed */
    f = written(m, false);
    threads = hu_ring_threads(f, &n);
    assert_int_equal(n, 2);
    assert_int_equal(threads[0].thread, 1);
    assert_int_equal(threads[1].tid, 102);
    assert_int_equal(threads[1].call, 4);
    assert_int_equal(threads[0].call, 0);
    assert_int_equal(hu_ring_last_ticks(f), 5000);
    assert_true(hu_str_equal(hu_ring_text(f, 9), HU_STR("hello")));
    assert_int_equal(hu_ring_text(f, 70000).n + hu_ring_text(f, 0).n + hu_ring_text(f, 8).n, 0);
    hu_ring_close(f);
    destroy(m);
}

/* Any bytes in the heads: nothing is read twice, and nothing is read that is not there. */
static void heads_that_lie_do_no_harm(void **state)
{
    made          *m = make();
    uint64_t       seed = 12345;
    hu_ring_damage damage;

    (void)state;
    for (int round = 0; round < 400; round++) {
        hu_ring_file *f;
        size_t        n;

        m->n_pieces = 0;
        for (unsigned i = 1; i < BLOCKS; i++)
            block(m, i, 1 + i % 2, i, HU_BLOCK_FULL, 40);
        piece(m, &m->file.at[1], 0, 40);
        piece(m, &m->file.at[2], 5, 30);
        for (int k = 0; k < 6; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if (k < 4)
                ((uint32_t *)&m->file.at[1 + seed % (BLOCKS - 1)].head)[(seed >> 20) % 14] = (seed >> 30) % 3
                                                                                                 ? (uint32_t)(seed >> 33) %
                                                                                                       700
                                                                                                 : (uint32_t)(seed >> 32);
            else
                m->pieces[(seed >> 20) % m->n_pieces] = (char)(seed >> 50);
        }
        f = written(m, round % 2);
        hu_ring_threads(f, &n);
        for (size_t i = 0; i < n; i++)
            assert_true(read_thread(f, i, &damage, got, HU_COUNT(got)) <= (BLOCKS + 2) * HU_BLOCK_RECORDS);
        hu_ring_last_ticks(f);
        hu_ring_close(f);
    }
    destroy(m);
}

static void what_is_no_ring_is_told(void **state)
{
    made         *m = make();
    hu_ring_file *f = NULL;
    hu_error      err = {0};

    (void)state;
    m->file.head.version = 99;
    hu_ring_close(NULL);
    assert_int_equal(hu_ring_open(m->ring, false, &f, &err), HU_EIO);
    {
        const int fd = open(m->ring, O_CREAT | O_WRONLY, 0600);

        assert_int_equal(write(fd, &m->file, sizeof m->file), sizeof m->file);
        close(fd);
    }
    assert_int_equal(hu_ring_open(m->ring, false, &f, &err), HU_EFORMAT);
    assert_non_null(strstr(err.text, "version 99"));
    assert_int_equal(truncate(m->ring, 100), 0);
    assert_int_equal(hu_ring_open(m->ring, false, &f, &err), HU_EFORMAT);
    assert_null(f);
    destroy(m);
}

/* ticks */

static hu_clock_snapshot at(uint64_t ticks, int64_t ns)
{
    return (hu_clock_snapshot){.ticks = ticks, .boottime_ns = ns, .monotonic_ns = ns, .realtime_ns = ns};
}

static void knots_are_met_exactly_and_lines_lie_between(void **state)
{
    hu_arena *arena = hu_arena_new();
    /* 2.6 GHz, then a little faster; not in order; the third contradicts */
    hu_clock_snapshot s[] = {at(26000000000, 10000000000), at(2600000000, 1000000000), at(10000000000, 900000000000),
                             at(52000002600, 20000000000)};
    hu_clock_map      m;
    int64_t           last = 0;

    (void)state;
    assert_true(hu_clock_map_build(s, HU_COUNT(s), 2.6e9, arena, &m));
    assert_int_equal(m.n, 3);
    assert_int_equal(m.n_refused, 1);
    assert_int_equal(hu_clock_map_ns(&m, 2600000000), 1000000000);
    assert_int_equal(hu_clock_map_ns(&m, 26000000000), 10000000000);
    assert_int_equal(hu_clock_map_ns(&m, 52000002600), 20000000000);
    assert_int_equal(hu_clock_map_ns(&m, 2600000000 + 26), 1000000010);
    assert_in_range(hu_clock_map_ns(&m, 0), 0, 100); /* beyond both ends the mean rate goes on */
    assert_true(hu_clock_map_ns(&m, 54600002600) - 21000000000 < 1000);
    for (uint64_t t = 0; t < 60000000000; t += 123456789) {
        assert_true(hu_clock_map_ns(&m, t) >= last);
        last = hu_clock_map_ns(&m, t);
    }
    assert_int_equal(hu_clock_map_ns(&m, UINT64_MAX) > last, 1);
    hu_arena_free(arena);
}

static void one_snapshot_is_enough(void **state)
{
    hu_arena         *arena = hu_arena_new();
    hu_clock_snapshot one[] = {at(1000000007, 5000000003)}, none[1];
    hu_clock_map      m;

    (void)state;
    assert_true(hu_clock_map_build(one, 1, 1e9, arena, &m));
    assert_int_equal(hu_clock_map_ns(&m, 1000000008), 5000000004); /* no nanosecond is lost */
    assert_int_equal(hu_clock_map_ns(&m, 1000000007 + UINT64_C(864000000000000)), 5000000003 + INT64_C(864000000000000));
    assert_true(hu_clock_map_build(one, 1, 2.5e9, arena, &m));
    assert_int_equal(hu_clock_map_ns(&m, 1000000007 + 2500000000), 6000000003);
    assert_int_equal(hu_clock_map_ns(&m, 1000000007 - 25), 5000000003 - 10);
    {
        hu_clock_snapshot same[] = {at(1000, 5000000000), at(1000, 9000000000)}; /* no rate can be that of these */

        assert_true(hu_clock_map_build(same, 2, 0, arena, &m));
        assert_int_equal(m.n_refused, 1);
        assert_int_equal(hu_clock_map_ns(&m, 1001), 5000000001);
    }
    assert_false(hu_clock_map_build(none, 0, 0, arena, &m)); /* then ticks are taken for ns */
    assert_int_equal(hu_clock_map_ns(&m, 77), 77);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_both_files_comes_once),
        cmocka_unit_test(what_is_nowhere_is_a_gap),
        cmocka_unit_test(torn_records_are_skipped_and_counted),
        cmocka_unit_test(slots_that_nobody_could_use_are_not_torn),
        cmocka_unit_test(threads_and_texts_are_found),
        cmocka_unit_test(heads_that_lie_do_no_harm),
        cmocka_unit_test(what_is_no_ring_is_told),
        cmocka_unit_test(knots_are_met_exactly_and_lines_lie_between),
        cmocka_unit_test(one_snapshot_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
