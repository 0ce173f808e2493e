/* SPDX-License-Identifier: Apache-2.0
 * test_pieces.c - a Chrome trace that several threads scan, cut at each of its bytes, is the trace that one thread reads. */
#include "testing.h"

#include "trace/builder.h"

/* clang-format off */
/* What makes it hard to know where an event begins, and what depends on what was before. */
static const char document[] =
    "{\n  \"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, \"world_size\": 8},\n  \"traceEvents\": [\n  {\n"
    "    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 2,\n    \"ts\": 1712195495519761.132, \"dur\": 30.5,\n"
    "    \"args\": {\n      \"External id\": 5,\"Record function id\": 0, \"Sequence number\": 11, \"Input Dims\": [\n        [\n          2,\n"
    "          3\n        ],\n        []\n      ], \"Input type\": [\"float\", \"a\\\\\"]\n    }\n  },\n  {\n"
    /* a string that looks like events, with all borders in it */
    "    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"not [{\\\"ph\\\": \\\"X\\\"}, {\\\"ts\\\": 1},\", \"pid\": 1, \"tid\": 2,\n"
    "    \"ts\": 1712195495519760.000, \"dur\": 90\n  },\n"
    "  {\"name\":\"in, [{\",\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1712195495519770.5,\"dur\":4,\"pid\":1,\"tid\":2,"
    /* lists of objects that look like events, of which one is whole */
    "\"args\":{\"Concrete Inputs\":[{\"name\":\"x\",\"ph\":\"X\",\"ts\":5,\"dur\":6,\"pid\":7,\"tid\":8},{\"ph\":\"X\",\"ts\":7}],\"External id\":6}},\n"
    "  {\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":2,\"ts\":1712195495519771,\"dur\":2.125,"
    "\"args\":{\"cbid\":211,\"correlation\":42,\"External id\":6,\"grid\":[1,2,3],\"block\":[32,1,1]}},\n"
    "  {\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void f<a, b>(float*)\",\"pid\":0,\"tid\":7,\"ts\":1712195495519780,\"dur\":8,"
    "\"args\":{\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":42,\"registers per thread\":32,\"shared memory\":0,"
    "\"blocks per SM\":0.5,\"warps per SM\":1.0,\"grid\":[1,2,3],\"block\":[128,1,1],\"est. achieved occupancy %\":12}},\n"
    "  {\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":0,\"tid\":9,\"ts\":1712195495519790,"
    "\"dur\":5,\"args\":{\"device\":0,\"stream\":9,\"correlation\":99999999999,\"Collective name\":\"allreduce\",\"In msg nelems\":1024,"
    "\"dtype\":\"Float\",\"Group size\":8,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\"}},\n"
    "  {\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\",\"pid\":0,\"tid\":7,\"ts\":1712195495519795,\"dur\":1,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":99999999998,\"bytes\":4096,\"memory bandwidth (GB/s)\":4.096}},\n"
    "  {\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,\"tid\":2,\"ts\":1712195495519772,\"dur\":1,"
    "\"args\":{\"correlation\":99999999999,\"cbid\":7}},\n"
    /* begins and ends across everything */
    "  {\"ph\":\"B\",\"cat\":\"user_annotation\",\"name\":\"outer\",\"pid\":1,\"tid\":4,\"ts\":1712195495519761},\n"
    "  {\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(3): step\",\"pid\":1,\"tid\":4,\"ts\":1712195495519762,\"dur\":7,"
    "\"args\":{\"Python id\":3,\"Python parent id\":2,\"Call stack\":\"a;b\"}},\n"
    "  {\"ph\":\"B\",\"cat\":\"user_annotation\",\"name\":\"inner\",\"pid\":1,\"tid\":4,\"ts\":1712195495519770},\n"
    "  {\"ph\":\"E\",\"pid\":1,\"tid\":4,\"ts\":1712195495519775},\n  {\"ph\":\"E\",\"pid\":1,\"tid\":4,\"ts\":1712195495519779},\n"
    "  {\"ph\":\"E\",\"pid\":1,\"tid\":4,\"ts\":1712195495519780},\n"
    /* what NCCL says of its calls belongs to the end of the group */
    "  {\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ncclGroupStart\",\"pid\":1,\"tid\":5,\"ts\":1712195495519761,\"dur\":1},\n"
    "  {\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ncclSend\",\"pid\":1,\"tid\":5,\"ts\":1712195495519763,\"dur\":1,"
    "\"args\":{\"NCCL communicator ID\":77,\"Message size [bytes]\":512,\"Peer rank\":1}},\n"
    "  {\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"nccl:send\",\"pid\":1,\"tid\":5,\"ts\":1712195495519764,\"dur\":1},\n"
    "  {\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ncclGroupEnd\",\"pid\":1,\"tid\":5,\"ts\":1712195495519765,\"dur\":1},\n"
    /* what is broken: a member without its quote, nothing, a number, a lost time, no duration, a negative one */
    "  {\"ph\":\"X\",\"name\":\"broken\",\"ts:1,\"dur\":2},\n  17, ,\n"
    "  {\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":3,\"args\":{\"stream\":7}},\n"
    "  {\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1712195495519799},\n"
    "  {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"k\",\"pid\":\"host\",\"tid\":\"main \\u00e9\",\"ts\":\"1712195495519799.5\",\"dur\":-3},\n"
    "  {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"k\",\"name\":\"twice\",\"pid\":\"host\",\"tid\":\"main \\u00e9\",\"ts\":1712195495519800,\"dur\":NaN},\n"
    "  {\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":1712195495519765,\"args\":{\"Bytes\":-1024,\"Addr\":140000000000000000000,"
    "\"Device Type\":1,\"Device Id\":0,\"Total Allocated\":7}},\n"
    "  {\"ph\":\"i\",\"name\":\"[OutOfMemory]\",\"pid\":1,\"tid\":2,\"ts\":1712195495519766},\n"
    "  {\"ph\":\"C\",\"name\":\"power\",\"pid\":1,\"ts\":1712195495519767,\"args\":{\"W\":312.5}},\n"
    "  {\"ph\":\"s\",\"cat\":\"fwdbwd\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":1712195495519761.132},\n"
    "  {\"ph\":\"f\",\"cat\":\"fwdbwd\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":1712195495519770.5,\"bp\":\"e\"},\n"
    "  {\"ph\":\"X\",\"cat\":\"thread_state\",\"name\":\"runnable\",\"pid\":1,\"tid\":\"2 states\",\"ts\":1712195495519761,\"dur\":3},\n"
    "  {\"ph\":\"X\",\"cat\":\"osrt\",\"name\":\"pthread_cond_wait\",\"pid\":1,\"tid\":2,\"ts\":1712195495519801,\"dur\":9,"
    "\"args\":{\"class\":\"lock\",\"object\":\"0x7f\",\"caller\":\"main\",\"holder\":12}},\n"
    "  {\"ph\":\"i\",\"cat\":\"osrt\",\"name\":\"wake\",\"pid\":1,\"tid\":4,\"ts\":1712195495519802,\"args\":{\"object\":\"0x7f\",\"how\":\"signal\"}},\n"
    "  {\"ph\":\"X\",\"cat\":\"mpi\",\"name\":\"MPI_Send\",\"pid\":1,\"tid\":2,\"ts\":1712195495519812,\"dur\":9,\"args\":{\"bytes\":8,\"comm\":\"w\",\"peer\":1}},\n"
    "  {\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"main thread\"}},\n"
    "  {\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"host\",\"args\":{\"name\":\"python\"}},\n"
    "  {\"ph\":\"i\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":1712195495519999}\n"
    "  ],\n  \"traceName\": \"t, [{\\\"ph\\\":\\\"X\\\"}]\", \"list\": [{\"ph\": \"X\", \"ts\": 1, \"dur\": 2}, {\"ph\": \"X\", \"ts\": 1, \"dur\": 2}],\n"
    "  \"baseTimeNanoseconds\": 12\n}\n";
/* clang-format on */

static int joined;

void __real_hu_builder_join(hu_builder *whole, hu_builder *piece);
void __wrap_hu_builder_join(hu_builder *whole, hu_builder *piece);

void __wrap_hu_builder_join(hu_builder *whole, hu_builder *piece)
{
    joined++;
    __real_hu_builder_join(whole, piece);
}

static const char *text(const hu_trace *t, uint32_t id)
{
    return hu_trace_text(t, id).p;
}

/* Of an operator or annotation. */
static void describe_op(FILE *out, const hu_trace *t, const hu_op_detail *d)
{
    fprintf(out, " op %u:%s %s %s %s %d %u", d->dims, text(t, d->dims), text(t, d->types), text(t, d->strides),
            text(t, d->concrete), d->sequence, d->forward_thread);
    if (d->extra) {
        const hu_op_extra *x = hu_trace_op_extra(t, d->extra);

        fprintf(out, " %s %s %d", text(t, x->stack), text(t, x->module), x->stream);
        if (x->collective) {
            const hu_collective_detail *c = hu_trace_collective_detail(t, x->collective);

            fprintf(out, " %s %s %lld", text(t, c->name), text(t, c->group), (long long)c->bytes);
        }
    }
}

static void describe_kernel(FILE *out, const hu_trace *t, const hu_kernel_detail *d)
{
    fprintf(out, " kernel %u %u %u %f", d->grid[2], d->block[0], d->registers, (double)d->blocks_per_sm);
    if (d->collective) {
        const hu_collective_detail *c = hu_trace_collective_detail(t, d->collective);

        fprintf(out, " %s %s %s %s %lld %d", text(t, c->name), text(t, c->dtype), text(t, c->group), text(t, c->group_ranks),
                (long long)c->in_elements, c->group_size);
    }
}

static void describe_os(FILE *out, const hu_trace *t, const hu_os_detail *d)
{
    fprintf(out, " os %d", d->class);
    if (d->wait) {
        const hu_wait_detail *w = hu_trace_wait_detail(t, d->wait);

        fprintf(out, " %s %s %lld", text(t, w->object), text(t, w->caller), (long long)w->holder);
    }
}

static void describe_slices(FILE *out, const hu_trace *t)
{
    const hu_slices s = hu_trace_slices(t);

    for (size_t i = 0; i < s.n; i++) {
        const uint32_t d = s.detail[i];

        fprintf(out, "%lld %lld %u %u:%s %u %u %d %d", (long long)s.start_ns[i], (long long)s.dur_ns[i], s.track[i],
                s.name[i], text(t, s.name[i]), s.correlation[i], s.external[i], (int)s.parent[i], s.kind[i]);
        if (d == HU_NONE)
            fprintf(out, " -");
        else if (s.kind[i] == HU_KIND_CPU_OP || s.kind[i] == HU_KIND_USER)
            describe_op(out, t, hu_trace_op_detail(t, d));
        else if (s.kind[i] == HU_KIND_KERNEL || s.kind[i] == HU_KIND_COLLECTIVE)
            describe_kernel(out, t, hu_trace_kernel_detail(t, d));
        else if (s.kind[i] == HU_KIND_MEMCPY)
            fprintf(out, " copy %lld %f", (long long)hu_trace_copy_detail(t, d)->bytes, hu_trace_copy_detail(t, d)->gbps);
        else if (s.kind[i] == HU_KIND_RUNTIME || s.kind[i] == HU_KIND_DRIVER)
            fprintf(out, " call %d %u", hu_trace_call_detail(t, d)->callback_id,
                    hu_trace_call_detail(t, d)->geometry
                        ? hu_trace_geometry(t, hu_trace_call_detail(t, d)->geometry)->block[0]
                        : 0);
        else if (s.kind[i] == HU_KIND_PYTHON)
            fprintf(out, " python %u %u", hu_trace_python_detail(t, d)->id, hu_trace_python_detail(t, d)->parent);
        else if (s.kind[i] == HU_KIND_OS_CALL)
            describe_os(out, t, hu_trace_os_detail(t, d));
        else if (s.kind[i] == HU_KIND_MPI)
            fprintf(out, " mpi %s %d", text(t, hu_trace_mpi_detail(t, d)->comm), hu_trace_mpi_detail(t, d)->peer);
        fprintf(out, "\n");
    }
}

static void describe_rest(FILE *out, const hu_trace *t)
{
    const hu_trace_info   *info = hu_trace_get_info(t);
    const hu_quality      *q = hu_trace_get_quality(t);
    size_t                 n;
    const hu_track        *tracks = hu_trace_tracks(t, &n);
    const hu_memory_event *memory;
    const hu_sample       *samples;
    const hu_stretch      *stretches;
    const hu_wakeup       *wakes;

    for (size_t i = 0; i < n; i++)
        fprintf(out, "track %d %lld %lld %d %d %s %s %lld\n", tracks[i].type, (long long)tracks[i].pid,
                (long long)tracks[i].tid, tracks[i].pid_is_text, tracks[i].tid_is_text, text(t, tracks[i].name),
                text(t, tracks[i].process), (long long)tracks[i].last_ns);
    memory = hu_trace_memory(t, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "memory %lld %u %lld\n", (long long)memory[i].time_ns, memory[i].track, (long long)memory[i].bytes);
    samples = hu_trace_samples(t, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "sample %lld %u %f\n", (long long)samples[i].time_ns, samples[i].track, samples[i].value);
    stretches = hu_trace_stretches(t, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "state %lld %u %d\n", (long long)stretches[i].start_ns, stretches[i].track, stretches[i].state);
    wakes = hu_trace_wakes(t, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "wake %lld %u %s\n", (long long)wakes[i].time_ns, wakes[i].track, text(t, wakes[i].object));
    for (uint32_t i = 0; i < hu_trace_string_count(t); i++)
        fprintf(out, "text %s\n", text(t, i));
    for (uint32_t i = 0; i < hu_trace_slices(t).n; i++)
        fprintf(out, "forward %d\n", (int)hu_trace_forward_of(t, i));
    for (int i = 0; i < HU_REASON_COUNT; i++)
        fprintf(out, "%s %lld %lld\n", hu_reason_name((hu_reason)i), (long long)q->count[i], (long long)q->dur_ns[i]);
    for (int i = 0; i < 128; i++)
        fprintf(out, "%lld ", (long long)q->by_phase[i]);
    fprintf(out, "\n%lld %lld %d %lld %s %d %lld %lld %lld %d %d %d %lld %lld\n", (long long)q->events,
            (long long)q->duration_sum_ns, q->is_truncated, (long long)q->truncated_at, q->truncated_why, q->has_all_events,
            (long long)q->trailing_bytes, (long long)info->bytes, (long long)info->out_of_memory, info->has_shapes,
            info->has_stacks, info->has_memory, (long long)info->state_source, (long long)info->rank);
}

/* All that is in a trace, as text that the caller frees; why there is none. */
static char *read_and_describe(hu_str json, int threads, size_t chunk_bytes)
{
    hu_input_options options = plain_options();
    hu_error         err = {0};
    hu_input        *in;
    hu_builder      *b;
    hu_trace        *t;
    char            *said = NULL;
    size_t           n = 0;
    FILE            *out = open_memstream(&said, &n);

    options.threads = threads;
    options.chunk_bytes = chunk_bytes;
    in = hu_input_open_memory(json, "test", &options, &err);
    assert_non_null(in);
    b = hu_open_input(in, &options, &err);
    if (b) {
        t = hu_builder_freeze(b, &err);
        assert_non_null(t);
        describe_slices(out, t);
        describe_rest(out, t);
        hu_trace_free(t);
    } else {
        fprintf(out, "%d %lld %s\n", err.code, (long long)err.offset, err.text);
    }
    fclose(out);
    return said;
}

static void check_same(hu_str json, const char *expected, int threads, size_t chunk_bytes)
{
    char *found = read_and_describe(json, threads, chunk_bytes);

    if (strcmp(found, expected) != 0)
        fail_msg("%d threads, chunks of %zu bytes: got\n%s\ninstead of\n%s", threads, chunk_bytes, found, expected);
    free(found);
}

enum { SMALLEST = 64 }; /* so that the format is recognised in the first chunk */

static void test_cut_at_each_byte(void **state)
{
    const hu_str json = HU_STR(document);
    char        *expected = read_and_describe(json, 1, 0);

    (void)state;
    assert_non_null(strstr(expected, "aten::mm"));
    joined = 0;
    for (size_t chunk = SMALLEST; chunk < json.n; chunk++)
        check_same(json, expected, 2, chunk);
    assert_true(joined > (int)json.n); /* several pieces of most were good */
    for (size_t chunk = SMALLEST; chunk < json.n; chunk += 5) {
        check_same(json, expected, 1, chunk);
        check_same(json, expected, 3, chunk);
        check_same(json, expected, 16, chunk);
    }
    free(expected);
}

/* A file that ends too early, anywhere. */
static void test_truncated(void **state)
{
    (void)state;
    for (size_t n = SMALLEST; n < sizeof document - 1; n += 3) {
        const hu_str json = {document, n};
        char        *expected = read_and_describe(json, 1, 0);

        check_same(json, expected, 3, SMALLEST + n % 251);
        free(expected);
    }
}

/* One byte is another: what was an event is none, or the rest is. */
static void test_damaged(void **state)
{
    static const char with[] = "\"\\{}[],: x0";
    char             *copy = strdup(document);

    (void)state;
    for (size_t at = 1; at < sizeof document - 1; at += 2) {
        const hu_str json = {copy, sizeof document - 1};
        char        *expected;

        copy[at] = with[at / 2 % (sizeof with - 1)];
        expected = read_and_describe(json, 1, 0);
        check_same(json, expected, 2, SMALLEST + at % 509);
        free(expected);
        copy[at] = document[at];
    }
    free(copy);
}

/* Ids that do not fit get their numbers in the order of the file. */
static void test_wide_ids_and_many_texts(void **state)
{
    char  *json = NULL, *expected;
    size_t n = 0;
    FILE  *out = open_memstream(&json, &n);

    (void)state;
    fprintf(out, "{\"traceEvents\": [");
    for (int i = 0; i < 4000; i++) /* the first ids come again at the end */
        fprintf(
            out,
            "%s\n  {\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%lld,"
            "\"External id\":%d}}",
            i ? "," : "", i % 2 ? "cuda_runtime" : "cpu_op", i % 1500, i % 17, i + 1, 5000000000LL + i % 2500, i);
    fprintf(out, "]}");
    fclose(out);
    expected = read_and_describe((hu_str){json, n}, 1, 0);
    joined = 0;
    for (int threads = 2; threads < 9; threads++)
        check_same((hu_str){json, n}, expected, threads, 4096 + 1000 * (size_t)threads);
    assert_true(joined > 7 * 20);
    free(expected);
    free(json);
}

/* A limit is one of the whole file. */
static void test_limits(void **state)
{
    hu_input_options options = plain_options();
    hu_error         err = {0};

    (void)state;
    options.threads = 3;
    options.chunk_bytes = 700;
    options.limits.events = 12;
    assert_null(hu_open_input(hu_input_open_memory(HU_STR(document), "test", &options, &err), &options, &err));
    assert_int_equal(err.code, HU_ELIMIT);
    assert_non_null(strstr(err.text, "more events than the limit"));
    options.limits = hu_limits_default();
    options.limits.string_bytes = 100;
    assert_null(hu_open_input(hu_input_open_memory(HU_STR(document), "test", &options, &err), &options, &err));
    assert_non_null(strstr(err.text, "exceed the memory limit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_each_byte),        cmocka_unit_test(test_truncated), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_wide_ids_and_many_texts), cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
