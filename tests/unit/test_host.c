/* SPDX-License-Identifier: Apache-2.0
 * test_host.c - calls of the system and of MPI: classes, members of communicators, and a thread's time with each instant once. */
#include "analyze/digest.h"
#include "analyze/main_thread.h"
#include "analyze/mpi_calls.h"
#include "ingest/producers.h"
#include "testing.h"

#define OS(name, pid, tid, ts, dur, class)                                                                               \
    "{\"ph\":\"X\",\"cat\":\"os_call\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"class\":\"" class "\",\"path\":\"/x\",\"bytes\":5}}"
/* clang-format off */
#define MPI(name, ts, dur, args)                                                                                  \
    "{\"ph\":\"X\",\"cat\":\"mpi\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
/* clang-format on */
#define STARVED(pid, tid, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"cpu_wait\",\"name\":\"runnable\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur "}"

static void classes_of_calls(void **state)
{
    static const struct {
        const char *class, *call;
        hu_host_class is;
        /* clang-format off */
    } rows[] = {
        {"file_read", "read", HU_HOST_FILE_READ}, {"pipe", "read", HU_HOST_PIPE},        {"fsync", "msync", HU_HOST_FSYNC},
        {"wait", "pthread_join", HU_HOST_WAIT},   {"wait", "waitpid", HU_HOST_CHILD},    {"wait", "system", HU_HOST_CHILD},
        {"", "wait4", HU_HOST_CHILD},             {"lock", "waitpid", HU_HOST_LOCK},     {"", "ioctl", HU_HOST_OTHER},
        {"file", "read", HU_HOST_OTHER},          {"file_readx", "read", HU_HOST_OTHER},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++)
        assert_int_equal(hu_producers_host_class(hu_str_of(rows[i].class), hu_str_of(rows[i].call)), rows[i].is);
    assert_string_equal(hu_host_class_key(HU_HOST_FSYNC), "fsync");
    assert_string_equal(hu_host_class_key(1000), "other");
}

static void members_of_communicators(void **state)
{
    static const struct {
        const char *comm;
        int32_t     rank, is;
        int64_t     size;
        /* clang-format off */
    } rows[] = {
        {"MPI_COMM_WORLD", 3, 3, -1},      {"", 3, 3, -1},            {"MPI_COMM_WORLD", -1, -1, -1}, {"rows", 0, -1, -1},
        {"rows [4, 5, 9]", 2, 9, 3},       {"[7]", 0, 7, 1},          {"[4,5]", 2, -1, 2},            {"[]", 0, -1, 0},
        {"x[1] [8, 2]", 0, 8, 2},          {"[4, 5", 0, 4, -1},       {"[4, a]", 1, -1, -1},          {"[-1, 2]", 0, -1, -1},
        {"[99999999999999999999]", 0, -1, -1},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        assert_int_equal(hu_mpi_calls_member(hu_str_of(rows[i].comm), rows[i].rank), rows[i].is);
        assert_int_equal(hu_mpi_calls_size(hu_str_of(rows[i].comm)), rows[i].size);
    }
}

static void calls_of_mpi(void **state)
{
    /* clang-format off */
    hu_trace *t = trace_of("{\"traceEvents\":[" MPI("MPI_Init", "0", "9", "") "," MPI("MPI_Isend", "10", "1", "\"peer\":1,\"tag\":4") ","
                           MPI("MPI_Iallreduce", "20", "1", "") "," MPI("MPI_Recv", "30", "5", "\"peer\":-2,\"source\":6") ","
                           MPI("MPI_Alltoallv", "40", "5", "\"bytes\":64") "," MPI("MPI_Wait", "50", "5", "") ","
                           MPI("MPI_", "60", "5", "") "," MPI("PMPI_Send", "70", "5", "") "]}");
    /* clang-format on */
    const hu_slices s = hu_trace_slices(t);
    hu_mpi_call     c;

    (void)state;
    assert_false(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Init"), &c));
    assert_false(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Iallreduce"), &c));
    assert_false(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Wait"), &c));
    assert_false(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_"), &c));
    assert_false(hu_mpi_calls_describe(t, &s, slice_named(t, "PMPI_Send"), &c));
    assert_true(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Isend"), &c));
    assert_int_equal(c.kind, HU_COMM_SEND);
    assert_true(c.is_posted && c.peer == 1 && c.tag == 4 && c.bytes == -1);
    assert_true(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Recv"), &c));
    assert_true(c.kind == HU_COMM_RECEIVE && !c.is_posted && c.peer == 6 && c.tag == -1);
    assert_true(hu_mpi_calls_describe(t, &s, slice_named(t, "MPI_Alltoallv"), &c));
    assert_true(c.kind == HU_COMM_ALL_TO_ALL && c.synchronises && !c.same_bytes && c.bytes == 64 && c.peer == -1);
    hu_trace_free(t);
}

/* clang-format off */
static const char two_processes[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":1,\"tid\":1,\"ts\":100,\"dur\":100},"
    OS("fread", "1", "1", "10", "30", "file_read") "," OS("read", "1", "1", "12", "20", "pipe") ","
    MPI("MPI_Barrier", "50", "20", "") "," OS("poll", "1", "1", "52", "10", "poll") ","
    OS("nanosleep", "1", "1", "190", "20", "sleep") "," STARVED("1", "1", "35", "10") "," STARVED("1", "2", "0", "99") ","
    OS("read", "1", "2", "0", "150", "file_read") "," OS("read", "7", "7", "0", "500", "pipe") "]}";
/* clang-format on */

static void each_instant_once(void **state)
{
    hu_trace           *t = trace_of(two_processes);
    hu_digest_options   o = {.threads = 1};
    hu_error            err = {0};
    hu_digest          *d = hu_digest_measure(t, &o, &err), *both[2], *merged;
    const hu_host_time *h = &d->host_time;
    double              sum = 0;

    (void)state;
    assert_true(h->is_recorded && h->pid == 1 && h->tid == 1);
    assert_int_equal(d->steps.n_counted, 2);
    /* of two steps: read 25 (5 of 30 without a processor), MPI 20, asleep 10, no processor 10 */
    assert_int_equal((int64_t)(2 * h->state_ns[HU_HOST_FILE_READ]), 25000);
    assert_int_equal((int64_t)(2 * h->state_ns[HU_STATE_COMM]), 20000);
    assert_int_equal((int64_t)(2 * h->state_ns[HU_HOST_SLEEP]), 10000);
    assert_int_equal((int64_t)(2 * h->state_ns[HU_STATE_STARVED]), 10000);
    assert_int_equal((int64_t)h->state_ns[HU_HOST_PIPE], 0);
    assert_int_equal((int64_t)h->state_ns[HU_HOST_POLL], 0);
    for (size_t i = 0; i < HU_STATE_COUNT; i++)
        sum += h->state_ns[i];
    assert_int_equal((int64_t)sum, 100000);
    assert_int_equal(h->n, 2);
    assert_true(h->at[0].is_main && h->at[0].wall_ns == 210000 && h->at[0].threads == 2);
    assert_true(h->at[1].pid == 7 && h->at[1].state_ns[HU_HOST_PIPE] == 500000);
    assert_int_equal(h->n_threads, 1);
    assert_int_equal(h->threads[0].state_ns[HU_STATE_STARVED], 99000);

    /* calls: an inner one is part of the outer one; of all threads and processes */
    assert_int_equal(d->host_calls.by_class[HU_HOST_FILE_READ].calls, 2);
    assert_int_equal(d->host_calls.by_class[HU_HOST_FILE_READ].total_ns, 180000);
    assert_int_equal(d->host_calls.by_class[HU_HOST_FILE_READ].main_ns, 30000);
    assert_int_equal(d->host_calls.by_class[HU_HOST_PIPE].calls, 1);
    assert_int_equal(d->host_calls.by_class[HU_HOST_POLL].calls, 0);
    assert_int_equal(d->host_calls.by_class[HU_HOST_SLEEP].main_ns, 10000);
    assert_true(hu_str_equal(d->host_calls.places[0].call, HU_STR("fread")));

    /* ranks are added */
    both[0] = both[1] = d;
    merged = hu_digest_merge(both, 2, &err);
    assert_non_null(merged);
    assert_int_equal(merged->host_calls.by_class[HU_HOST_FILE_READ].total_ns, 360000);
    assert_int_equal(merged->host_calls.n, d->host_calls.n);
    assert_int_equal(merged->host_calls.places[0].sum.calls, 2 * d->host_calls.places[0].sum.calls);
    assert_false(merged->host_time.is_recorded);
    hu_digest_free(merged);
    hu_digest_free(d);
    hu_trace_free(t);
}

static void the_process_of_the_job(void **state)
{
    hu_arena *scratch = hu_arena_new();
    /* clang-format off */
    hu_trace *t = trace_of("{\"traceEvents\":[" OS("read", "5", "5", "0", "900", "pipe") "," OS("wait4", "9", "9", "100", "700", "wait") ","
                           OS("read", "9", "10", "0", "800", "file_read") "]}");
    /* clang-format on */
    const hu_track *tracks;
    size_t          n;
    uint32_t        found;

    (void)state;
    tracks = hu_trace_tracks(t, &n);
    found = hu_main_thread_of_job(t, scratch);
    assert_int_not_equal(found, HU_NONE);
    assert_int_equal(tracks[found].tid, 9); /* it waits for its child, though another one lives longer */
    hu_trace_free(t);
    t = trace_of(
        "{\"traceEvents\":[" OS("read", "5", "6", "0", "900", "pipe") "," OS("read", "9", "9", "100", "700", "pipe") "]}");
    tracks = hu_trace_tracks(t, &n);
    assert_int_equal(tracks[hu_main_thread_of_job(t, scratch)].tid, 6);
    hu_trace_free(t);
    hu_arena_free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_calls),  cmocka_unit_test(members_of_communicators), cmocka_unit_test(calls_of_mpi),
        cmocka_unit_test(each_instant_once), cmocka_unit_test(the_process_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
