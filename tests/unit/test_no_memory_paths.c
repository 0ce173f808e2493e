/* SPDX-License-Identifier: Apache-2.0
 * test_no_memory_paths.c - like test_no_memory.c, for a small trace of all that is rare: every single allocation fails
 * once, with and without compression. */
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "advise/findings_wire.h"
#include "advise/joint_replay.h"
#include "advise/slowdown.h"
#include "analyze/digest_wire.h"
#include "graph/graph_wire.h"
#include "graph/pricers.h"
#include "ingest/operation_rows.h"
#include "query/query.h"
#include "render/export/export.h"
#include "render/report.h"
#include "testing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mremap(void *old, size_t old_size, size_t size, int flags, ...);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...);

static long countdown = -1; /* the allocation that fails; negative: none */
static bool has_failed;

static bool fails_now(void)
{
    const bool now = countdown >= 0 && countdown-- == 0;

    has_failed |= now;
    return now;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails_now() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    return fails_now() ? MAP_FAILED : __real_mremap(old, old_size, size, flags);
}

enum { ROOM = 4 << 20, LONG = 900000 };

/* Metadata, escapes, counters, flows, allocations, begins, names, collectives, wide ids, and one event longer than a chunk. */
static size_t make_trace(char *text)
{
    /* clang-format off */
    size_t n = (size_t)snprintf(
        text, ROOM,
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\\n\"}],\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":1},\"host_name\":\"h\",\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"B\",\"name\":\"b\\t\",\"pid\":1,\"tid\":9,\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":9,\"ts\":5},"
        "{\"ph\":\"C\",\"name\":\"n\",\"pid\":1,\"ts\":3,\"args\":{\"\":2.5}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":{\"Device Type\":0,\"Addr\":1,\"Bytes\":64}},"
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":90,\"args\":{\"Python id\":1}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"s\",\"pid\":0,\"tid\":7,\"ts\":60,\"dur\":2,\"args\":{\"wait_on_stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"pid\":0,\"tid\":8,\"ts\":50,\"dur\":2,\"args\":{\"grid\":[1,1,1],"
        "\"Collective name\":\"allreduce\",\"External id\":5}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pinned)\",\"pid\":0,\"tid\":7,\"ts\":55,\"dur\":2,\"args\":{\"bytes\":9}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":1,\"args\":{\"grid\":[1,1,1],\"cbid\":1}},"
        CALL("cudaLaunchKernel", "3", "1", "99999999999") "," KERNEL("k", "7", "40", "2", "99999999999") "," OP("fwd", "1", "11", "5") ","
        OP("bwd", "2", "30", "5") ","
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_X\",\"pid\":0,\"tid\":8,\"ts\":70,\"dur\":4,\"args\":{\"stream\":8,"
        "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":4,\"Out msg nelems\":4,\"Group size\":2}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":12,\"args\":{\"Addr\":1,\"Bytes\":8,\"Device Type\":1,\"Device Id\":0}},"
        "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"Buffer Flush\",\"pid\":-1,\"tid\":0,\"ts\":50,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"os_call\",\"name\":\"read\",\"pid\":1,\"tid\":1,\"ts\":36,\"dur\":2,\"args\":{\"class\":\"file_read\",\"path\":\"/x\"}},"
        "{\"ph\":\"X\",\"cat\":\"mpi\",\"name\":\"MPI_Send\",\"pid\":1,\"tid\":3,\"ts\":36,\"dur\":2,\"args\":{\"comm\":\"[0]\",\"peer\":0}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_wait\",\"name\":\"runnable\",\"pid\":1,\"tid\":1,\"ts\":39,\"dur\":1},"
        CALL("cudaStreamSynchronize", "41", "3", "0") ",{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":1,\"ts\":11,\"cat\":\"fwdbwd\"},"
        "{\"ph\":\"f\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":30,\"cat\":\"fwdbwd\"},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"long\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":1,\"args\":{\"External id\":5,\"Call stack\":\"\\n");
    /* clang-format on */

    memset(text + n, 'x', LONG);
    n += LONG;
    return n + (size_t)snprintf(text + n, ROOM - n, "\"}}]}");
}

/* The page, with its timeline, to nowhere. */
static int draw(const hu_trace *t, hu_digest *d, hu_simulation *s, hu_findings *findings, hu_error *err)
{
    hu_scenario         scenarios[HU_SCENARIOS];
    hu_proof            proofs[HU_PROOFS];
    hu_timeline_options how = {.scenarios = scenarios, .proofs = proofs};
    hu_rank             rank = {.digest = d, .findings = findings};
    hu_job              all = {.ranks = &rank, .n = 1, .digests = &d, .findings = &findings};
    hu_arena           *arena = hu_arena_new();
    hu_out             *out = arena ? hu_out_open_memory(arena) : NULL;
    hu_report           r = {.job = &all, .scratch = arena, .unit = "samples"};
    hu_str              text;
    hu_rendezvous       meeting;
    hu_joint_replay     joint;
    hu_late_ranks       late;
    hu_graph           *copy = NULL;
    int                 rc = out ? 0 : hu_fail_memory(err);

    if (rc == 0) /* the rank with itself */
        rc = hu_rendezvous_measure((hu_digest *[]){d, d}, 2, arena, arena, &meeting, err);
    if (rc == 0)
        hu_late_ranks_measure(&meeting, (hu_digest *[]){d, d}, 2, &late);
    if (rc == 0 && s) {
        copy = hu_graph_copy(&s->graph, arena);
        rc = copy ? hu_joint_replay_measure((const hu_graph *[]){&s->graph, copy}, (hu_digest *[]){d, d}, 2, &meeting, &late,
                                            2, &joint, err)
                  : hu_fail_memory(err);
    }
    if (rc < 0) {
        hu_out_abandon(out);
        hu_arena_free(arena);
        return rc;
    }
    if (s)
        rc = hu_scenarios_build(s, findings, arena, scenarios, err);
    if (rc >= 0) {
        how.n_scenarios = (size_t)rc;
        rc = s ? hu_proofs_build(s, findings, arena, proofs, err) : 0;
    }
    if (rc >= 0) {
        how.n_proofs = (size_t)rc;
        rc = hu_timeline_encode(t, d, &how, arena, arena, &rank.timeline, err);
    }
    if (rc == 0) {
        hu_verdict_measure(&d, &findings, 1, NULL, &all.verdict);
        rc = hu_html_write(&r, out, err);
    }
    if (rc == 0)
        rc = hu_out_take(out, &text, err);
    else
        hu_out_abandon(out);
    hu_arena_free(arena);
    return rc;
}

/* All of them as bytes and back. */
static int send(const hu_digest *d, const hu_findings *f, const hu_simulation *s, hu_error *err)
{
    hu_arena    *arena = hu_arena_new();
    hu_digest   *d_back = NULL;
    hu_findings *f_back = NULL;
    hu_str       bytes;
    int          rc = arena ? hu_digest_pack(d, arena, &bytes, err) : hu_fail_memory(err);

    if (rc == 0)
        rc = (d_back = hu_digest_unpack(bytes, err)) ? hu_findings_pack(f, arena, &bytes, err) : err->code;
    if (rc == 0)
        rc = (f_back = hu_findings_unpack(bytes, err)) ? 0 : err->code;
    if (rc == 0 && s)
        rc = hu_graph_pack(&s->graph, arena, &bytes, err);
    if (rc == 0 && s)
        rc = hu_graph_unpack(bytes, arena, err) ? 0 : err->code;
    hu_findings_free(f_back);
    hu_digest_free(d_back);
    hu_arena_free(arena);
    return rc;
}

/* 0, or the code of the first failure. */
static int whole_run(hu_str bytes)
{
    const hu_input_options options = plain_options();
    hu_error               err = {0};
    hu_input              *in = hu_input_open_memory(bytes, "test", &options, &err);
    hu_builder            *b = in ? hu_open_input(in, &options, &err) : NULL;
    hu_trace              *t = b ? hu_builder_freeze(b, &err) : NULL;
    hu_digest *d = t ? hu_digest_measure(t, &(hu_digest_options){.grouping = HU_GROUP_STACK, .frames = 3}, &err) : NULL;
    hu_digest *merged = d ? hu_digest_merge((hu_digest *[]){d, d}, 2, &err) : NULL;

    hu_error       why = {0};
    hu_simulation *s = merged ? hu_simulation_new(t, NULL, NULL, &why) : NULL;
    hu_findings   *findings;

    if (s)
        s->keeps_effects = true;
    findings = merged ? hu_findings_measure(s, &why, d, &err) : NULL;
    if (findings && (draw(t, d, s, findings, &err) < 0 || send(d, findings, s, &err) < 0)) {
        hu_findings_free(findings);
        findings = NULL;
    }
    hu_trace_free(t);
    hu_findings_free(findings);
    hu_simulation_free(s);
    if (!findings) {
        hu_digest_free(merged);
        hu_digest_free(d);
        return err.code ? err.code : -1000;
    }
    hu_digest_free(merged);
    hu_digest_free(d);
    return 0;
}

static void fail_each(hu_str bytes)
{
    long k = 0;

    for (bool all = false; !all; k++) {
        int rc;

        countdown = k;
        has_failed = false;
        rc = whole_run(bytes);
        countdown = -1;
        all = !has_failed;
        if (all)
            assert_int_equal(rc, 0); /* it did not even ask for that many */
        else
            assert_int_equal(rc, HU_ENOMEM); /* never a result that lacks something */
    }
    assert_true(k > 50);
}

/* The same trace as Perfetto would have it. */
static void every_allocation_of_the_other_importer_may_fail(void **state)
{
    char     *text = malloc(ROOM);
    hu_str    bytes = {text, make_trace(text)};
    hu_arena *arena = hu_arena_new();
    hu_out   *out = hu_out_open_memory(arena);
    hu_trace *t;
    hu_error  err = {0};

    (void)state;
    const hu_input_options options = plain_options();
    hu_input              *in = hu_input_open_memory(bytes, "test", &options, &err);

    t = hu_builder_freeze(hu_open_input(in, &options, &err), &err);
    assert_non_null(t);
    assert_int_equal(hu_perfetto_write(t, out, &err), 0);
    assert_int_equal(hu_out_take(out, &bytes, &err), 0);
    hu_trace_free(t);
    fail_each(bytes);
    hu_arena_free(arena);
    free(text);
}

static void every_allocation_of_every_path_may_fail(void **state)
{
    char               *text = malloc(ROOM);
    const size_t        n = make_trace(text), room = ROOM;
    uint8_t            *packed = malloc(room);
    struct isal_zstream z;

    (void)state;
    fail_each((hu_str){text, n});
    fail_each((hu_str){(char *)packed, ZSTD_compress(packed, room, text, n, 1)});
    isal_deflate_stateless_init(&z);
    z.gzip_flag = IGZIP_GZIP;
    z.next_in = (uint8_t *)text;
    z.avail_in = (uint32_t)n;
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.next_out = packed;
    z.avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate_stateless(&z), 0);
    fail_each((hu_str){(char *)packed, z.total_out});
    free(packed);
    free(text);
}

/* Two ranks, a file that is cut and one that is not there: 0, or the code of the failure. */
static int read_job(char *const *paths, size_t n, hu_error *err)
{
    const hu_job_options how = {.limits = hu_limits_default(), .replays = true};
    hu_arena            *arena = hu_arena_new();
    const hu_inputs      inputs = {
             .at = (const char **)(uintptr_t)paths, .n = n, .glances = arena ? hu_glances_new(arena, &how.limits) : NULL};
    hu_job job = {0};
    int    rc = inputs.glances ? hu_job_read(&inputs, &how, arena, &job, err) : hu_fail_memory(err);

    if (rc == 0)
        assert_true(job.n + job.unread.n == n); /* each input is one or the other */
    hu_job_free(&job);
    hu_arena_free(arena);
    return rc;
}

static void every_allocation_of_several_ranks_may_fail(void **state)
{
    static const char step[] = "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9},"
                               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":9}";
    char              folder[] = "/tmp/holdup-no-memory-XXXXXX";
    char              path[4][64];
    char *const       paths[] = {path[0], path[1], path[2], path[3]};
    long              k = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("HOLDUP_THREADS", "1", 1);
    for (int i = 0; i < 4; i++) {
        FILE *file;

        snprintf(path[i], sizeof path[i], "%s/rank%d.json", folder, i);
        if (i == 3)
            break;
        assert_non_null(file = fopen(path[i], "w"));
        fprintf(file, "%s%s", step, i == 2 ? ",{\"ph" : "]"); /* the third ends in the middle */
        fclose(file);
    }
    for (bool all = false; !all; k++) {
        hu_error err = {0};
        int      rc;

        countdown = k;
        has_failed = false;
        rc = read_job(paths, 4, &err);
        countdown = -1;
        all = !has_failed;
        assert_true(rc == 0 || rc == HU_ENOMEM);
        assert_true(!all || rc == 0);
    }
    assert_true(k > 200);
    for (int i = 0; i < 3; i++)
        unlink(path[i]);
    rmdir(folder);
    unsetenv("HOLDUP_THREADS");
}

/* Operations of two stages, without a send, so that rows have to be found by what they carry. */
static const char operations[] =
    "dp_rank,stage,step,optype,start_ts,duration,mb_id\n"
    "0,0,1,forward-compute,0,1,0\n0,0,1,forward-compute,1,1,1\n0,0,1,forward-send,1,1,\n0,0,1,backward-compute,4,1,0\n"
    "0,0,1,backward-compute,6,1,1\n0,0,1,backward-recv,3,1,\n0,0,1,backward-recv,5,1,\n0,0,1,optimizer,8,1,\n"
    "0,1,1,forward-compute,2,1,0\n0,1,1,backward-compute,3,1,0\n0,1,1,forward-compute,4,1,1\n0,1,1,backward-compute,5,1,1\n"
    "0,1,1,forward-recv,0,2,\n0,1,1,forward-recv,3,1,\n0,1,1,backward-send,4,1,\n0,1,1,backward-send,6,1,\n0,1,1,optimizer,8,1,\n";

static int price_operations(hu_error *err)
{
    const hu_input_options options = plain_options();
    hu_arena              *arena = hu_arena_new();
    hu_input              *in = arena ? hu_input_open_memory(hu_str_of(operations), "test", &options, err) : NULL;
    hu_operations          table = {0};
    hu_pipeline            pipeline;
    hu_slowdown            slowdown;
    int                    rc = in ? hu_operation_rows_read(in, 9, arena, &table, err) : HU_ENOMEM;

    if (in)
        hu_input_close(in);
    hu_operations_sort(&table);
    if (rc == 0)
        rc = hu_pipeline_build(&table, arena, &pipeline, err);
    if (rc == 0)
        rc = hu_slowdown_measure(&pipeline, 1, arena, &slowdown, err);
    hu_arena_free(arena);
    return rc;
}

static void every_allocation_of_a_job_may_fail(void **state)
{
    long k = 0;

    (void)state;
    for (bool all = false; !all; k++) {
        hu_error err = {0};
        int      rc;

        countdown = k;
        has_failed = false;
        rc = price_operations(&err);
        countdown = -1;
        all = !has_failed;
        if (all && rc < 0)
            fail_msg("%s", err.text);
        if (!all)
            assert_int_equal(rc, HU_ENOMEM);
    }
    assert_true(k > 10);
}

/* Each writer, two ranks at once; what it wrote until then goes nowhere. */
static void every_allocation_of_an_export_may_fail(void **state)
{
    const hu_input_options options = plain_options();
    char                  *text = malloc(ROOM);
    const size_t           n = make_trace(text);
    hu_error               err = {0};
    hu_builder          *b = hu_open_input(hu_input_open_memory((hu_str){text, n}, "test", &options, &err), &options, &err);
    hu_trace            *t = hu_builder_freeze(b, &err);
    const hu_export_part parts[] = {hu_export_all(t), hu_export_all(t)};
    const int            nowhere = open("/dev/null", O_WRONLY);

    (void)state;
    for (size_t f = 0; hu_export_formats[f]; f++) {
        long k = 0;

        for (bool all = false; !all; k++) {
            hu_out *out = hu_out_open_fd(nowhere);
            int     rc;

            countdown = k;
            has_failed = false;
            rc = hu_export_formats[f]->write(&(hu_export){.parts = parts, .n = 2}, out, &err);
            countdown = -1;
            all = !has_failed;
            assert_int_equal(rc, all ? 0 : HU_ENOMEM);
            hu_out_abandon(out);
        }
        assert_true(k > 2);
    }
    close(nowhere);
    hu_trace_free(t);
    free(text);
}

static bool take_head(void *context, const hu_str *names, int n)
{
    (void)context, (void)names, (void)n;
    return true;
}

static bool count_row(void *context, const hu_sql_value *values, int n)
{
    (void)values, (void)n;
    ++*(size_t *)context;
    return true;
}

/* Groups by name, with a column that is measured because it is asked for. */
static int ask(hu_trace *t, size_t *n_rows, hu_error *err)
{
    const hu_query_sink  sink = {n_rows, take_head, count_row};
    const hu_unread_list unread = {0};
    hu_query            *q = hu_query_open(&t, 1, &unread, err);
    int                  rc = q ? 0 : err->code;

    if (q) {
        rc = hu_query_run(q, HU_STR("select name, sum(self_ns) from op group by name order by 2 desc"), &sink, err);
        hu_query_close(q);
    }
    return rc;
}

static void every_allocation_of_a_query_may_fail(void **state)
{
    hu_trace *t = trace_of(
        "{\"traceEvents\":[" OP("b", "1", "1", "9") "," OP("a", "1", "20", "9") "," OP("b", "1", "40", "9") "]}");
    long k = 0;

    (void)state;
    for (bool all = false; !all; k++) {
        hu_error err = {0};
        size_t   n_rows = 0;
        int      rc;

        countdown = k;
        has_failed = false;
        rc = ask(t, &n_rows, &err);
        countdown = -1;
        all = !has_failed;
        assert_int_equal(rc, all ? 0 : HU_ENOMEM);
        assert_int_equal(n_rows, all ? 2 : 0);
    }
    assert_true(k > 5);
    hu_trace_free(t);
}

/* Copies for threads are all there, or none. */
static void every_allocation_of_pricers_may_fail(void **state)
{
    static const char json[] = "[" USER("ProfilerStep#1", "0", "100") "," CALL(
        "cudaLaunchKernel", "10", "5", "1") "," KERNEL("k", "7", "20", "70", "1") "," USER("ProfilerStep#2", "100",
                                                                                           "100") "]";
    hu_trace      *t = trace_of(json);
    hu_error       err = {0};
    hu_simulation *s = hu_simulation_new(t, NULL, NULL, &err);
    long           k = 0;

    (void)state;
    assert_non_null(s);
    for (bool all = false; !all; k++) {
        hu_pricers *p;

        countdown = k;
        has_failed = false;
        p = hu_pricers_new(s->pricer, 3, 9);
        countdown = -1;
        all = !has_failed;
        assert_true(all ? p != NULL : p == NULL);
        hu_pricers_free(p);
    }
    assert_true(k > 4);
    hu_simulation_free(s);
    hu_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_every_path_may_fail),
                                       cmocka_unit_test(every_allocation_of_several_ranks_may_fail),
                                       cmocka_unit_test(every_allocation_of_the_other_importer_may_fail),
                                       cmocka_unit_test(every_allocation_of_pricers_may_fail),
                                       cmocka_unit_test(every_allocation_of_a_job_may_fail),
                                       cmocka_unit_test(every_allocation_of_an_export_may_fail),
                                       cmocka_unit_test(every_allocation_of_a_query_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
