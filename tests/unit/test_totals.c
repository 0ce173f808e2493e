/* SPDX-License-Identifier: Apache-2.0
 * test_totals.c - random traces: device times, breakdown and operator sums against sets of microseconds. */
#include "analyze/digest.h"
#include "testing.h"

enum { SPAN = 700, ROUNDS = 300, ROOM = 64 * 1024 };

static uint32_t seed = 5;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

typedef struct {
    char    text[ROOM];
    size_t  n;
    int64_t kernel_sum, comm_sum;
    bool    compute[SPAN], comm[SPAN], copy[SPAN], set[SPAN]; /* of the device */
    bool    host_comm[SPAN], call[SPAN], loader[SPAN], cpu[SPAN];
} drawing;

__attribute__((format(printf, 2, 3))) static void write_event(drawing *d, const char *format, ...)
{
    va_list args;

    if (d->text[d->n - 1] != '[')
        d->text[d->n++] = ',';
    va_start(args, format);
    d->n += (size_t)vsnprintf(d->text + d->n, ROOM - d->n, format, args);
    va_end(args);
    assert_true(d->n < ROOM);
}

static void mark(bool map[SPAN], int start, int dur)
{
    for (int t = start; t < start + dur; t++)
        map[t] = true;
}

/* Steps of 100 us from 100 on; everything else anywhere in [50, 600). */
static void draw(drawing *d)
{
    static const struct {
        const char *cat, *name;
        /* clang-format off */
    } device[] = {{"kernel", "gemm"}, {"kernel", "ncclDevKernel_AllReduce"}, {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"},
                  {"gpu_memset", "Memset (Device)"}},
      host[] = {{"cpu_op", "aten::mm"}, {"cpu_op", "nccl:all_reduce"}, {"cuda_runtime", "cudaLaunchKernel"},
                {"user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}};
    /* clang-format on */

    memset(d, 0, sizeof *d);
    d->text[d->n++] = '[';
    for (int i = 0; i < 4; i++)
        write_event(d, USER("ProfilerStep#%d", "%d", "100"), i, 100 + 100 * i);
    for (int i = 0; i < 40; i++) {
        const uint32_t k = next_random(4);
        const int      start = 50 + (int)next_random(500), dur = (int)next_random(50);
        bool *const    maps[] = {d->compute, d->comm, d->copy, d->set};

        mark(maps[k], start, dur);
        d->kernel_sum += k == 0 ? dur : 0;
        d->comm_sum += k == 1 ? dur : 0;
        write_event(
            d,
            "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":%d}}",
            device[k].cat, device[k].name, i % 5, start, dur, i % 3 ? 1000 + (int)next_random(40) : 0);
    }
    for (int i = 0; i < 40; i++) {
        const uint32_t k = next_random(4);
        const int      start = 50 + (int)next_random(500), dur = (int)next_random(30);
        bool *const    maps[] = {d->cpu, d->host_comm, d->call, d->loader};

        mark(maps[k], start, dur);
        write_event(
            d,
            "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":%d}}",
            host[k].cat, host[k].name, 2 + i % 3, start, dur, 1000 + i);
    }
    d->text[d->n++] = ']';
    d->text[d->n] = '\0';
}

static void check_device(const drawing *d, const hu_gpu_time *g)
{
    int64_t compute = 0, comm = 0, copy = 0, set = 0, busy = 0, hidden = 0, exposed_copy = 0;

    for (int t = 0; t < SPAN; t++) {
        compute += d->compute[t];
        comm += d->comm[t];
        copy += d->copy[t];
        set += d->set[t];
        busy += d->compute[t] || d->comm[t] || d->copy[t] || d->set[t];
        hidden += d->compute[t] && d->comm[t];
        exposed_copy += d->copy[t] && !d->compute[t] && !d->comm[t];
    }
    assert_int_equal(g->compute_ns, compute * 1000);
    assert_int_equal(g->comm_ns, comm * 1000);
    assert_int_equal(g->memcpy_ns, copy * 1000);
    assert_int_equal(g->memset_ns, set * 1000);
    assert_int_equal(g->busy_ns, busy * 1000);
    assert_int_equal(g->overlapped_comm_ns, hidden * 1000);
    assert_int_equal(hu_gpu_time_exposed_comm_ns(g), (comm - hidden) * 1000);
    assert_int_equal(g->exposed_memcpy_ns, exposed_copy * 1000);
    assert_int_equal(g->kernel_sum_ns, d->kernel_sum * 1000);
    assert_int_equal(g->comm_sum_ns, d->comm_sum * 1000);
    assert_int_equal(g->n_slices, 40);
    assert_int_equal(g->n_kernels + g->n_comm + g->n_memcpy + g->n_memset, 40);
    assert_true(hu_gpu_time_idle_ns(g) >= 0 && hu_gpu_time_idle_ns(g) + g->busy_ns == g->span_ns);
}

static void check_step(const drawing *d, const hu_step *step, const hu_step_time *t)
{
    int64_t role[HU_ROLE_COUNT] = {0}, compute = 0, comm = 0, exposed_comm = 0, exposed_copy = 0;
    double  roles = 0;

    for (int64_t at = step->start_ns / 1000; at < step->end_ns / 1000; at++) {
        const bool copies = d->copy[at] || d->set[at];

        compute += d->compute[at];
        comm += d->comm[at];
        exposed_comm += d->comm[at] && !d->compute[at];
        exposed_copy += copies && !d->compute[at] && !d->comm[at];
        role[d->compute[at]                    ? HU_ROLE_KERNEL
             : d->copy[at]                     ? HU_ROLE_MEMCPY
             : d->set[at]                      ? HU_ROLE_MEMSET
             : d->comm[at] || d->host_comm[at] ? HU_ROLE_COMMUNICATION
             : d->call[at]                     ? HU_ROLE_RUNTIME
             : d->loader[at]                   ? HU_ROLE_DATA_LOADER
             : d->cpu[at]                      ? HU_ROLE_CPU_EXEC
                                               : HU_ROLE_OTHER]++;
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++) {
        assert_true(t->role_ns[r] == (double)role[r] * 1000);
        roles += t->role_ns[r];
    }
    assert_true(t->step_ns == (double)(step->end_ns - step->start_ns));
    assert_true(roles == t->step_ns);
    assert_true(t->compute_ns == (double)compute * 1000 && t->comm_ns == (double)comm * 1000);
    assert_true(t->exposed_comm_ns == (double)exposed_comm * 1000 && t->exposed_copy_ns == (double)exposed_copy * 1000);
    assert_true(t->compute_ns + t->exposed_comm_ns + t->exposed_copy_ns + t->idle_ns == t->step_ns);
    assert_true(t->idle_ns >= 0);
}

static void device_times_and_breakdown_equal_sets_of_microseconds(void **state)
{
    drawing *d = malloc(sizeof *d);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        hu_error   err = {0};
        hu_trace  *t;
        hu_digest *g;

        draw(d);
        t = trace_of(d->text);
        g = hu_digest_measure(t, &(hu_digest_options){0}, &err);
        assert_non_null(g);
        hu_trace_free(t);
        check_device(d, &g->gpu_time);
        assert_int_equal(g->steps.source, HU_STEPS_PROFILER);
        assert_int_equal(g->steps.n, 4);
        assert_int_equal(g->breakdown.n, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_true(i == 0 || g->steps.at[i].start_ns >= g->steps.at[i - 1].end_ns);
            check_step(d, &g->steps.at[i], &g->breakdown.at[i]);
        }
        hu_digest_free(g);
    }
    free(d);
}

/* Slices that nest: [start, start + dur) with children inside; every call launches a kernel of its own. */
static void nest(drawing *d, int start, int dur, int depth, int *id, int64_t *device)
{
    write_event(d, OP("op%d", "1", "%d", "%d"), depth, start, dur);
    for (int at = start + 1; at + 12 < start + dur;) {
        const int inner = 5 + (int)next_random((uint32_t)(start + dur - at - 6));

        if (depth < 4 && inner > 8 && next_random(3)) {
            nest(d, at, inner, depth + 1, id, device);
        } else {
            const int kernel = 1 + (int)next_random(90);

            write_event(d, CALL("cudaLaunchKernel", "%d", "%d", "%d"), at, inner, ++*id);
            write_event(d, KERNEL("k", "7", "%d", "%d", "%d"), at + 1000, kernel, *id);
            *device += kernel;
        }
        at += inner + 1;
    }
}

static void every_nanosecond_of_a_thread_belongs_to_one_operator(void **state)
{
    drawing *d = malloc(sizeof *d);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        hu_error   err = {0};
        int64_t    device = 0, host_self = 0, device_self = 0, device_top = 0;
        int        id = 0;
        hu_trace  *t;
        hu_digest *g;

        memset(d, 0, sizeof *d);
        d->text[d->n++] = '[';
        nest(d, 10, 200, 0, &id, &device);
        nest(d, 300, 150, 0, &id, &device);
        d->text[d->n++] = ']';
        t = trace_of(d->text);
        g = hu_digest_measure(t, &(hu_digest_options){0}, &err);
        assert_non_null(g);
        for (size_t i = 0; i < g->operators.n; i++) {
            const hu_operator *o = &g->operators.at[i];

            assert_true(o->host_self_ns >= 0 && o->host_self_ns <= o->host_total_ns);
            assert_true(o->device_self_ns <= o->device_total_ns);
            host_self += o->host_self_ns;
            device_self += o->device_self_ns;
            device_top += hu_str_equal(o->name, HU_STR("op0")) ? o->device_total_ns : 0;
        }
        assert_int_equal(host_self, 350000); /* the two outermost ones */
        assert_int_equal(g->operators.host_self_sum_ns, host_self);
        assert_int_equal(device_self, device * 1000); /* every kernel once */
        assert_int_equal(g->operators.device_self_sum_ns, device_self);
        assert_int_equal(device_top, device_self);
        assert_int_equal(g->kernels.total_ns, device_self);
        assert_int_equal(g->health.unlinked_kernels, 0);
        assert_int_equal(g->health.unlinked_launches, 0);
        hu_trace_free(t);
        hu_digest_free(g);
    }
    free(d);
}

static void links_that_do_not_meet_are_counted_with_their_time(void **state)
{
    /* 1: launched and run; 2: launched, lost; 3: run, launch lost; 9: three kernels of one graph */
    /* clang-format off */
    hu_trace *t = trace_of("[" OP("a", "1", "1", "50") "," CALL("cudaLaunchKernel", "2", "1", "1") "," KERNEL("k", "7", "20", "2", "1") ","
                           CALL("cudaLaunchKernel", "4", "1", "2") "," KERNEL("k", "7", "30", "7", "3") ","
                           CALL("cudaGraphLaunch", "6", "1", "9") "," KERNEL("g", "7", "40", "1", "9") "," KERNEL("g", "7", "42", "1", "9") ","
                           KERNEL("g", "7", "44", "1", "9") "," CALL("cudaDeviceSynchronize", "48", "1", "4") "]");
    /* clang-format on */
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){0}, &err);

    (void)state;
    assert_int_equal(d->health.unlinked_kernels, 1);
    assert_int_equal(d->health.unlinked_kernels_ns, 7000);
    assert_int_equal(d->health.unlinked_launches, 1); /* a call that waits is no launch */
    assert_int_equal(d->health.graph_kernels, 3);
    assert_int_equal(d->health.kinds[HU_KIND_KERNEL], 5);
    assert_true(d->health.missing & 1u << HU_MISSING_SHAPES);
    assert_false(d->health.missing & 1u << HU_MISSING_DEVICE);
    assert_false(d->health.missing & 1u << HU_MISSING_HOST);
    hu_trace_free(t);
    hu_digest_free(d);
}

static void copies_are_told_apart_by_direction_and_memory(void **state)
{
/* clang-format off */
#define COPY(name, ts, dur, args) \
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
    /* clang-format on */
    hu_trace      *t = trace_of("[" COPY("Memcpy HtoD (Pageable -> Device)", "1", "10", "\"bytes\":10000") "," COPY(
             "Memcpy HtoD (Pageable -> Device)", "21", "30", "\"device\":0") "," COPY("Memcpy DtoD (Device -> Device)", "61", "5",
                                                                                      "\"bytes\":50000") "]");
    hu_error       err = {0};
    hu_digest     *d = hu_digest_measure(t, &(hu_digest_options){0}, &err);
    const hu_copy *c = d->copies.at;

    (void)state;
    assert_int_equal(d->copies.n, 2);
    assert_true(hu_str_equal(c[0].direction, HU_STR("HtoD")) && hu_str_equal(c[0].from, HU_STR("Pageable")) &&
                hu_str_equal(c[0].to, HU_STR("Device")));
    assert_true(c[0].is_pageable && !c[1].is_pageable);
    assert_true(c[0].calls == 2 && c[0].total_ns == 40000 && c[0].min_ns == 10000 && c[0].max_ns == 30000);
    assert_true(c[0].bytes == 10000 && hu_copy_gbps(&c[0]) == 1.0); /* over the call that says how many */
    assert_true(hu_copy_gbps(&c[1]) == 10.0);
    hu_trace_free(t);
    hu_digest_free(d);
}

static void a_range_without_steps_is_wrong_usage(void **state)
{
    hu_trace  *t = trace_of("[" USER("ProfilerStep#3", "0", "10") "," USER("ProfilerStep#4", "10",
                                                                           "10") "," USER("ProfilerStep#5", "20", "10") "]");
    hu_error   err = {0};
    hu_digest *d = hu_digest_measure(t, &(hu_digest_options){.steps = {true, 4, 5}}, &err);

    (void)state;
    assert_non_null(d);
    assert_true(d->steps.n == 2 && d->steps.at[0].number == 4);
    hu_digest_free(d);
    assert_null(hu_digest_measure(t, &(hu_digest_options){.steps = {true, 7, 9}}, &err));
    assert_int_equal(err.code, HU_EUSAGE);
    hu_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_times_and_breakdown_equal_sets_of_microseconds),
        cmocka_unit_test(every_nanosecond_of_a_thread_belongs_to_one_operator),
        cmocka_unit_test(links_that_do_not_meet_are_counted_with_their_time),
        cmocka_unit_test(copies_are_told_apart_by_direction_and_memory),
        cmocka_unit_test(a_range_without_steps_is_wrong_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
