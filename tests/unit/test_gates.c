/* SPDX-License-Identifier: Apache-2.0
 * test_gates.c - one rule at a time: on a job that has its cause, and on one that only looks like it; and the limits of a
 * price.  Jobs are a few calls and kernels a step, written here.
 */
#include <math.h>

#include "advise/findings.h"
#include "advise/verdict.h"
#include "advise/say.h"
#include "graph/bound.h"
#include "testing.h"

enum { TEXT_BYTES = 200000, STEP_NS = 10000 /* in us: a step of 10 ms */ };

typedef struct {
    char   text[TEXT_BYTES];
    size_t n;
    int    correlation;
} job;

__attribute__((format(printf, 2, 3))) static void put(job *j, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    j->n += (size_t)vsnprintf(j->text + j->n, sizeof j->text - j->n, format, args);
    va_end(args);
    assert_true(j->n < sizeof j->text);
}

static void begin(job *j)
{
    *j = (job){.correlation = 1};
    put(j,
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA A100-SXM4-80GB\"}],\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
}

static void slice(job *j, const char *category, const char *name, int ts, int dur, const char *args)
{
    put(j, ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,\"args\":{%s}}", category,
        name, ts, dur, args);
}

typedef struct {
    const char *name, *grid, *block, *dims;
    int         dur;
    bool        no_grid, no_shapes; /* are recorded */
} work;

/* An operator at `ts` that launches a kernel, which runs from `start`. */
static void launch(job *j, int ts, int start, work w)
{
    char args[160];

    snprintf(args, sizeof args, "\"Input Dims\":%s,\"Input type\":[\"%s\"]", w.dims ? w.dims : "[[64]]",
             strstr(w.name, "sgemm") ? "float" : "c10::BFloat16");
    slice(j, "cpu_op", "aten::mm", ts, 20, w.no_shapes ? "" : args);
    snprintf(args, sizeof args, "\"correlation\":%d", j->correlation);
    slice(j, "cuda_runtime", "cudaLaunchKernel", ts + 4, 10, args);
    put(j,
        ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":"
        "%d,\"device\":0,\"stream\":7",
        w.name, start, w.dur, j->correlation++);
    if (!w.no_grid)
        put(j, ",\"grid\":%s,\"block\":%s", w.grid ? w.grid : "[8,1,1]", w.block ? w.block : "[128,1,1]");
    put(j, "}}");
}

static void copy_on(job *j, int stream, const char *kind, int ts, int dur)
{
    char args[80];

    snprintf(args, sizeof args, "\"correlation\":%d", j->correlation);
    slice(j, "cuda_runtime", "cudaMemcpyAsync", ts - 10, dur + 15, args);
    put(j,
        ",{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (%s -> Device)\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
        "\"args\":{\"bytes\":1000000,\"device\":0,\"stream\":%d,\"correlation\":%d}}",
        kind, stream, ts, dur, stream, j->correlation++);
}

static void copy(job *j, const char *kind, int ts, int dur)
{
    copy_on(j, 7, kind, ts, dur);
}

static void sync_until(job *j, int ts, int end)
{
    char args[80];

    snprintf(args, sizeof args, "\"correlation\":%d", j->correlation++);
    slice(j, "cuda_runtime", "cudaDeviceSynchronize", ts, end - ts, args);
}

/* A step of kernels of one kind, one after the other, and a wait for them.  Returns when it ends. */
static int step_of(job *j, int number, int at, const work *w, int n)
{
    int  end = at + 100;
    char name[40];

    for (int k = 0; k < n; k++) {
        launch(j, at + 5 + 25 * k, end > at + 40 + 25 * k ? end : at + 40 + 25 * k, w[k]);
        end = (end > at + 40 + 25 * k ? end : at + 40 + 25 * k) + w[k].dur + 2;
    }
    sync_until(j, at + 10 + 25 * n, end + 5);
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    slice(j, "user_annotation", name, at, end + 10 - at, "");
    return end + 10;
}

typedef struct {
    hu_trace      *t;
    hu_digest     *d;
    hu_simulation *s;
    hu_scene       scene;
    hu_hint        hint;
} asked;

static asked ask_of(job *j)
{
    asked    a = {0};
    hu_error err = {0};

    put(j, "]}");
    a.t = trace_of(j->text);
    a.d = hu_digest_measure(a.t, &(hu_digest_options){.frames = 5}, &err);
    assert_non_null(a.d);
    a.s = hu_simulation_new(a.t, NULL, NULL, &err);
    if (!a.s)
        fail_msg("%s", err.text);
    a.scene = (hu_scene){.d = a.d,
                         .s = a.s,
                         .step = hu_as_mean(a.s->graph.step_ns),
                         .n_steps = (int64_t)a.s->graph.n_marks - 1,
                         .has_steps = !a.s->graph.is_whole};
    return a;
}

static bool gate(asked *a, hu_rule rule)
{
    return hu_rule_gate(rule, &a->scene, &a->hint);
}

static double gain_of(const asked *a, hu_rule rule)
{
    hu_price p;

    hu_price_kind(a->s->pricer, hu_rule_edit(rule), &p);
    assert_true(p.touched > 0);
    assert_true(0 <= p.low_pct && p.low_pct <= p.gain_pct && p.gain_pct <= p.high_pct && p.high_pct <= p.free_pct + 1e-9 &&
                p.free_pct <= 100);
    return p.gain_pct;
}

static void says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void done(asked *a)
{
    hu_simulation_free(a->s);
    hu_digest_free(a->d);
    hu_trace_free(a->t);
}

/* Throttling */

enum { KERNELS = 5, STEPS = 9 };

/* Nine steps of five kernels each; `of` says what each is. */
static void steps_of(job *j, work (*of)(int step, int k))
{
    int at = 0;

    begin(j);
    for (int s = 0; s < STEPS; s++) {
        work w[KERNELS];

        for (int k = 0; k < KERNELS; k++)
            w[k] = of(s, k);
        at = step_of(j, s, at, w, KERNELS);
    }
}

static work throttled(int step, int k)
{
    return (work){.name = k % 2 ? "gemm_a" : "gemm_b", .dur = step < 3 ? 1000 : 1000 + 100 * (step - 2)};
}

static void a_lower_clock_is_named_with_its_gain(void **state)
{
    static job j;
    asked      a;
    double     as_early = 3, as_it_was = 0;

    (void)state;
    steps_of(&j, throttled);
    a = ask_of(&j);
    for (int s = 0; s < STEPS; s++)
        as_it_was += throttled(s, 0).dur;
    as_early = 1000 * STEPS;
    assert_true(gate(&a, HU_RULE_THROTTLING));
    assert_true(a.hint.is_suspected);
    says(a.hint.statement, "50 % longer"); /* 1400, 1500, 1600 against 1000: the median step */
    says(a.hint.evidence[0], "15 kernels");
    /* kernels are nearly all of a step: what they lose is what it loses */
    assert_true(fabs(gain_of(&a, HU_RULE_THROTTLING) - 100 * (1 - as_early / as_it_was)) < 1);
    done(&a);
}

static work longer_shapes(int step, int k)
{
    (void)k;
    return (work){.name = "gemm", .dims = step < 4 ? "[[512,512]]" : "[[768,512]]", .dur = step < 4 ? 1000 : 1500};
}

static work longer_grid(int step, int k)
{
    (void)k;
    return (work){.name = "gemm", .grid = step < 4 ? "[8,1,1]" : "[12,1,1]", .dur = step < 4 ? 1000 : 1500};
}

static work longer_block(int step, int k)
{
    (void)k;
    return (work){.name = "gemm", .block = step < 4 ? "[128,1,1]" : "[64,1,1]", .dur = step < 4 ? 1000 : 1500};
}

static work other_names(int step, int k)
{
    (void)k;
    return (work){.name = step < 4 ? "gemm_512" : "gemm_768", .dur = step < 4 ? 1000 : 1500};
}

/* The same kernels in the same time, and ever more of another one, which only the last steps have. */
static work more_of_others(int step, int k)
{
    return k < 2 || step < 4 ? (work){.name = "gemm", .dur = 1000} : (work){.name = "attention", .dur = 2000};
}

/* One hiccup at the end is no lower clock. */
static work one_slow_step(int step, int k)
{
    (void)k;
    return (work){.name = "gemm", .dur = step == STEPS - 1 ? 3000 : 1000};
}

/* A kernel whose time depends on its data, beside four that stay as they are. */
static work one_kernel_grows(int step, int k)
{
    return (work){.name = k ? "gemm" : "scatter", .dur = k ? 1000 : 200 + 100 * step};
}

/* Nobody knows whether these did the same. */
static work without_grid(int step, int k)
{
    work w = throttled(step, k);

    w.no_grid = true;
    return w;
}

static work without_shapes(int step, int k)
{
    work w = throttled(step, k);

    w.no_shapes = true;
    return w;
}

static work some_without_shapes(int step, int k)
{
    return k == 1 ? without_shapes(step, k) : throttled(step, k);
}

static void only_what_is_recorded_is_said_to_be_the_same(void **state)
{
    static job j;
    asked      a;

    (void)state;
    steps_of(&j, some_without_shapes);
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_THROTTLING));
    says(a.hint.statement, "most of them with the same grid and shapes");
    says(a.hint.evidence[1], "grid and shapes of 12 of them"); /* of 15 */
    done(&a);
}

static void other_work_is_no_lower_clock(void **state)
{
    work (*const decoys[])(int, int) = {longer_shapes, longer_grid,      longer_block, other_names,   more_of_others,
                                        one_slow_step, one_kernel_grows, without_grid, without_shapes};
    static job j;

    (void)state;
    for (size_t i = 0; i < HU_COUNT(decoys); i++) {
        asked a;

        steps_of(&j, decoys[i]);
        a = ask_of(&j);
        if (gate(&a, HU_RULE_THROTTLING))
            fail_msg("decoy %zu: %s", i, a.hint.statement);
        done(&a);
    }
}

/* Copies */

static void copies_of_all_kinds_are_summed_alike(void **state)
{
    static job j;
    asked      a;

    (void)state;
    begin(&j);
    for (int s = 0; s < 5; s++) {
        const int at = s * STEP_NS;
        char      name[40];

        copy(&j, "Pinned", at + 100, 1500);
        copy(&j, "Pageable", at + 2000, 2500);
        launch(&j, at + 5000, at + 5100, (work){.name = "ampere_bf16_s16816gemm", .dur = 4000});
        sync_until(&j, at + 5200, at + 9200);
        snprintf(name, sizeof name, "ProfilerStep#%d", s);
        slice(&j, "user_annotation", name, at, STEP_NS, "");
    }
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_COPY_BOUND));
    says(a.hint.statement, "take 20.0 ms in the whole capture; all of it is exposed");
    says(a.hint.statement, "12.5 ms of it is from pageable memory, which is staged and blocks the host.");
    assert_null(a.hint.fix); /* pinned memory, as the rule says */
    assert_int_equal(a.hint.n_evidence, 2);
    says(a.hint.evidence[0], "Pageable -> Device): 12.5 ms in the whole capture; all of it");
    says(a.hint.evidence[1], "Pinned -> Device): 7.50 ms in the whole capture; all of it");
    assert_true(gain_of(&a, HU_RULE_COPY_BOUND) > 0);
    done(&a);
}

/* Five steps, each with a copy of 4 ms of both kinds at the same time on two streams, then a kernel of 4 ms. */
static void job_of_copies(job *j, const char *first, const char *second)
{
    begin(j);
    for (int s = 0; s < 5; s++) {
        const int at = s * STEP_NS;
        char      name[40];

        copy_on(j, 7, first, at + 100, 4000);
        copy_on(j, 20, second, at + 100, 4000);
        launch(j, at + 5000, at + 5100, (work){.name = "ampere_bf16_s16816gemm", .dur = 4000});
        sync_until(j, at + 5200, at + 9200);
        snprintf(name, sizeof name, "ProfilerStep#%d", s);
        slice(j, "user_annotation", name, at, STEP_NS, "");
    }
}

static void copies_at_once_count_once(void **state)
{
    static job j;
    asked      a;

    (void)state;
    job_of_copies(&j, "Pageable", "Pinned");
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_COPY_BOUND));
    says(a.hint.statement, "take 20.0 ms in the whole capture; all of it is exposed (no kernel runs). All of it is "
                           "from pageable");
    says(a.hint.evidence[0], "Device): 20.0 ms in the whole capture; all of it is exposed");
    done(&a);
    job_of_copies(&j, "Pageable", "Pageable"); /* one row of 40 ms, of which two ran at a time */
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_COPY_BOUND));
    says(a.hint.evidence[0], "Device): 20.0 ms in the whole capture; all of it is exposed");
    done(&a);
}

static void what_is_pinned_is_not_to_be_pinned(void **state)
{
    static job j;
    asked      a;

    (void)state;
    job_of_copies(&j, "Pinned", "Pinned");
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_COPY_BOUND));
    says(a.hint.statement, "All of it is from pinned memory.");
    assert_non_null(a.hint.fix);
    assert_null(strstr(a.hint.fix, "pin_memory"));
    assert_true(strlen(a.hint.fix) < sizeof((hu_finding *)NULL)->fix);
    done(&a);
}

/* Units */

#define LOADER "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

/* Five steps of 10 ms: 6 ms in the loader, then a kernel of 3.7 ms. */
static void loading_job(job *j)
{
    begin(j);
    for (int s = 0; s < 5; s++) {
        const int at = s * STEP_NS;
        char      name[40];

        slice(j, "user_annotation", LOADER, at + 10, 6000, "");
        launch(j, at + 6050, at + 6080, (work){.name = "ampere_bf16_s16816gemm", .dur = 3700});
        sync_until(j, at + 6100, at + 9790);
        snprintf(name, sizeof name, "ProfilerStep#%d", s);
        slice(j, "user_annotation", name, at, STEP_NS, "");
    }
}

static void a_loader_is_told_per_step(void **state)
{
    static job j;
    asked      a;

    (void)state;
    loading_job(&j);
    a = ask_of(&j);
    assert_true(gate(&a, HU_RULE_DATA_LOADING));
    says(a.hint.statement, "6.00 ms per step (60 %)");
    says(a.hint.evidence[0], "6.00 ms per step");
    assert_true(gate(&a, HU_RULE_HOST_SYNC));
    says(a.hint.evidence[0], "5 calls, waiting 18.5 ms in the whole capture");
    done(&a);
}

/* A wait of 30 us in ten steps of 10 ms: 0.3 % of each.  In all it is 0.3 ms, which is more than 0.5 % of one step. */
static void a_sum_is_not_compared_with_a_step(void **state)
{
    static job j;
    asked      a;

    (void)state;
    begin(&j);
    for (int s = 0; s < 10; s++) {
        const int at = s * STEP_NS;
        char      name[40];

        launch(&j, at + 50, at + 80, (work){.name = "ampere_bf16_s16816gemm", .dur = 9000});
        sync_until(&j, at + 9060, at + 9090);
        snprintf(name, sizeof name, "ProfilerStep#%d", s);
        slice(&j, "user_annotation", name, at, STEP_NS, "");
    }
    a = ask_of(&j);
    assert_false(gate(&a, HU_RULE_HOST_SYNC));
    done(&a);
}

static void amounts_say_what_they_are_of(void **state)
{
    const hu_ns_per_step step = hu_as_mean(10e6);
    const hu_ns_in_all   sum = hu_as_sum(24000000);

    (void)state;
    assert_string_equal(hu_say_in_all(sum).t, "24.0 ms in the whole capture");
    assert_string_equal(hu_say_per_step(hu_spread(sum, 4), true).t, "6.00 ms per step");
    assert_string_equal(hu_say_per_step(hu_spread(sum, 0), false).t, "24.0 ms in the whole capture");
    assert_string_equal(hu_say_of_step(hu_spread(sum, 4), step, true).t, "6.00 ms per step (60 %)");
    assert_true(hu_pct_of_step(hu_spread(sum, 1), step) == 100); /* no share is above the whole */
    assert_true(hu_pct_of_step(hu_spread(hu_as_sum(-1), 1), step) == 0);
    assert_true(hu_pct_of_step(step, hu_spread(hu_as_sum(0), 1)) == 0);
}

static void a_saving_has_the_digits_of_a_percentage(void **state)
{
    (void)state;
    assert_string_equal(hu_say_saving(9.94).t, "\xe2\x88\x92"
                                               "9.9");
    assert_string_equal(hu_say_saving(9.96).t, "\xe2\x88\x92"
                                               "10");
    assert_string_equal(hu_say_saving(-51.2).t, "+51");
    assert_string_equal(hu_say_saving(0.01).t, "0");
}

static void one_operation_is_no_plural(void **state)
{
    static job j;
    asked      a;

    (void)state;
    for (int n = 1; n <= 2; n++) {
        begin(&j);
        for (int s = 0; s < n; s++) {
            const int at = s * STEP_NS;
            char      name[40];

            slice(&j, "cpu_op", "aten::slow", at + 10, 7000, "");
            launch(&j, at + 7100, at + 7200, (work){.name = "gemm", .dur = 100});
            snprintf(name, sizeof name, "ProfilerStep#%d", s);
            slice(&j, "user_annotation", name, at, STEP_NS, "");
        }
        a = ask_of(&j);
        assert_false(gate(&a, HU_RULE_LAUNCH_BOUND)); /* one launch per step is no reason for a graph */
        assert_true(gate(&a, HU_RULE_HOST_WORK));
        says(a.hint.statement, "aten::slow on the CPU");
        says(a.hint.evidence[0], n == 1 ? "1 such piece in" : "2 such pieces in");
        done(&a);
    }
}

/* Reasons for doubt */

static void a_reason_for_doubt_says_the_limit(void **state)
{
    hu_check c = {.value = {[HU_CHECK_LOCAL] = 0, [HU_CHECK_GLOBAL] = 6.53, [HU_CHECK_HOMOGENEITY] = 0.05}};

    (void)state;
    assert_string_equal(hu_check_say(&c, HU_CHECK_LOCAL).t,
                        "the replay explains no kernel starts within 2 \xc2\xb5s (limit: at least 70)");
    assert_string_equal(hu_check_say(&c, HU_CHECK_GLOBAL).t, "the replay of the worst step is 6.5 % off (limit: at most 2)");
    assert_non_null(strstr(hu_check_say(&c, HU_CHECK_HOMOGENEITY).t, "0.050 % off twice the step (limit: at most 0.01)"));
    assert_non_null(strstr(hu_check_what(HU_CHECK_GLOBAL), "worst step"));
}

/* What forbids a point is the reason for it, and not the first check that fails. */
static void the_check_that_decides_is_named(void **state)
{
    static job   j;
    asked        a;
    hu_verdict   v;
    hu_findings *f;
    hu_error     err = {0};

    (void)state;
    steps_of(&j, throttled);
    a = ask_of(&j);
    f = hu_findings_measure(a.s, NULL, a.d, &err);
    assert_non_null(f);
    f->check.grade[HU_CHECK_LOCAL] = f->check.grade[HU_CHECK_COVERAGE] = HU_GRADE_RED;
    f->check.value[HU_CHECK_LOCAL] = 12;
    f->check.value[HU_CHECK_COVERAGE] = 34;
    f->is_trusted = true;
    hu_verdict_measure(&a.d, &f, 1, NULL, &v);
    assert_int_equal(v.n_reasons, 1);
    says(v.reasons[0], "the replay explains only 12.0 %");
    f->is_trusted = false;
    hu_verdict_measure(&a.d, &f, 1, NULL, &v);
    assert_int_equal(v.n_reasons, 1);
    says(v.reasons[0], "unexplained delays are 34.0 % of the critical path (limit: at most 15)");
    hu_findings_free(f);
    done(&a);
}

/* Limits */

/* The bubble of a stage that computes nearly all the time: what is left of it after the limit is not worth a finding. */
static void a_bubble_below_the_limit_is_none(void **state)
{
    static job j;

    (void)state;
    for (int busy = 9950; busy >= 5000; busy -= 4950) {
        asked        a;
        hu_findings *f;
        hu_error     err = {0};
        size_t       bubbles = 0;

        begin(&j);
        for (int s = 0; s < 5; s++) {
            const int at = s * STEP_NS;
            char      name[40];

            launch(&j, at + 5, at + 25, (work){.name = "gemm", .dur = busy});
            sync_until(&j, at + 30, at + 9999);
            snprintf(name, sizeof name, "ProfilerStep#%d", s);
            slice(&j, "user_annotation", name, at, STEP_NS, "");
        }
        a = ask_of(&j);
        a.d->parallelism.stages = 4;
        a.d->parallelism.microbatches = 8;
        a.d->parallelism.bubble_pct = 30;
        f = hu_findings_measure(a.s, NULL, a.d, &err);
        assert_non_null(f);
        for (size_t i = 0; i < f->n; i++)
            bubbles += f->at[i].rule == HU_RULE_BUBBLE;
        assert_int_equal(bubbles, busy == 5000);
        hu_findings_free(f);
        done(&a);
    }
}

static void a_price_ends_where_nothing_more_can_be_gained(void **state)
{
    static job j;
    asked      a;
    hu_price   p;
    hu_edit    e;
    hu_error   err = {0};

    (void)state;
    loading_job(&j);
    a = ask_of(&j);
    hu_price_kind(a.s->pricer, HU_EDIT_DATA, &p);
    assert_true(fabs(p.gain_pct - 60) < 0.1 && p.high_pct <= 60.01 && p.low_pct < 59); /* the loader's own 6 ms of 10 */
    assert_int_equal(hu_edit_parse("host=0", &e, &err), 0);
    hu_price_edits(a.s->pricer, &e, 1, &p);
    assert_true(p.high_pct <= 63.01); /* the kernel's 3.7 ms stay */
    assert_int_equal(hu_edit_parse("kernel:*x0.5", &e, &err), 0);
    hu_price_edits(a.s->pricer, &e, 1, &p);
    assert_true(p.gain_pct < -30 && p.low_pct < p.gain_pct && p.high_pct >= p.gain_pct && p.high_pct <= 0);
    done(&a);
}

static void limits_keep_their_order(void **state)
{
    double low = -117, high = 130;

    (void)state;
    hu_price_limit(88, 95, &low, &high);
    assert_true(low == 0 && high == 95);
    low = 90, high = 97;
    hu_price_limit(88, 80, &low, &high); /* the gain itself is beyond by what the replay is off */
    assert_true(low == 88 && high == 88);
    low = -12, high = -8;
    hu_price_limit(-10, 50, &low, &high);
    assert_true(low == -12 && high == -8);
}

/* What is left: 3.7 ms on the stream, 4 ms on the main thread of which 3.69 wait; what the edit touches: 6 ms. */
static void bounds_are_sums_of_a_step(void **state)
{
    static job    j;
    asked         a;
    hu_costs     *c, *was;
    int64_t       busy[8];
    hu_edit       e;
    hu_error      err = {0};
    hu_bound_base all, other;

    (void)state;
    loading_job(&j);
    a = ask_of(&j);
    assert_true(a.s->graph.n_streams < HU_COUNT(busy));
    was = hu_costs_new(&a.s->graph, a.s->arena);
    assert_non_null(was);
    assert_true(hu_bound_base_init(&all, &a.s->graph, was, 0, a.s->arena));
    assert_true(hu_bound_base_init(&other, &a.s->graph, was, HU_CLASS_BIT(COMPUTE), a.s->arena));
    c = hu_pricer_costs(a.s->pricer);
    assert_true(hu_bound_touched_ns(&a.s->graph, was, c) == 0);
    assert_true(fabs(hu_bound_least_ns(&a.s->graph, &all, c, busy) - 6.3e6) < 0.1e6);
    assert_int_equal(hu_edit_parse("data=0", &e, &err), 0);
    hu_edit_apply(hu_pricer_facts(a.s->pricer), &e, c);
    assert_true(fabs(hu_bound_touched_ns(&a.s->graph, was, c) - 6e6) < 1);
    assert_true(fabs(hu_bound_least_ns(&a.s->graph, &all, c, busy) - 3.7e6) < 1);
    assert_true(hu_bound_least_ns(&a.s->graph, &other, c, busy) < 0.4e6);
    c = hu_pricer_costs(a.s->pricer);
    assert_int_equal(hu_edit_parse("sync=0", &e, &err), 0);
    hu_edit_apply(hu_pricer_facts(a.s->pricer), &e, c);
    assert_true(isinf(hu_bound_touched_ns(&a.s->graph, was, c)));
    done(&a);
}

/* Edits together */

/* A product without tensor cores, a chain of pointwise kernels, a collective: all slower in the last steps. */
static work mixed(int step, int k)
{
    static const char *const names[] = {
        "ampere_sgemm_128x64_tn",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor>(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::ReluFunctor>(int)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)",
    };
    const int usual[] = {400, 150, 90, 120, 200};

    return (work){.name = names[k], .dur = step < 3 ? usual[k] : usual[k] * (10 + step - 2) / 10};
}

static double with_both(const asked *a, const char *first, const char *second)
{
    hu_edit  e[2];
    hu_error err = {0};
    hu_price p;

    assert_int_equal(hu_edit_parse(first, &e[0], &err), 0);
    assert_int_equal(hu_edit_parse(second, &e[1], &err), 0);
    hu_price_edits(a->s->pricer, e, 2, &p);
    return p.gain_pct;
}

static double alone(const asked *a, const char *edit)
{
    hu_edit  e;
    hu_error err = {0};
    hu_price p;

    assert_int_equal(hu_edit_parse(edit, &e, &err), 0);
    hu_price_edits(a->s->pricer, &e, 1, &p);
    return p.gain_pct;
}

static void no_edit_undoes_another(void **state)
{
    static const char *const edits[] = {"tensor=0", "clock=0",      "fuse=0", "kernel:*x20", "kernel:*nccl*x50", "comm=0",
                                        "launch=0", "launch=graph", "host=0", "sync=0",      "contention=0"};
    static const double      ROUNDING = 0.2; /* points */
    static job               j;
    asked                    a;

    (void)state;
    steps_of(&j, mixed);
    a = ask_of(&j);
    assert_true(alone(&a, "clock=0") > 5 && alone(&a, "fuse=0") > 5 && alone(&a, "tensor=0") > 5);
    for (size_t i = 0; i < HU_COUNT(edits); i++)
        for (size_t k = 0; k < HU_COUNT(edits); k++) {
            const double both = with_both(&a, edits[i], edits[k]);

            if (both < fmax(alone(&a, edits[i]), alone(&a, edits[k])) - ROUNDING)
                fail_msg("%s %.1f %%, %s %.1f %%, together %.1f %%", edits[i], alone(&a, edits[i]), edits[k],
                         alone(&a, edits[k]), both);
            if (fabs(both - with_both(&a, edits[k], edits[i])) > 1)
                fail_msg("%s, then %s: %.1f %%; the other way round %.1f %%", edits[i], edits[k], both,
                         with_both(&a, edits[k], edits[i]));
        }
    /* overlapped communication slows the computation beside it: by what is left of the communication */
    assert_true(with_both(&a, "kernel:*nccl*x50", "comm=overlap") > alone(&a, "kernel:*nccl*x50") - ROUNDING);
    done(&a);
}

int main(void)
{
#define T(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {
        T(a_lower_clock_is_named_with_its_gain) T(other_work_is_no_lower_clock) T(copies_of_all_kinds_are_summed_alike)
            T(a_loader_is_told_per_step) T(a_sum_is_not_compared_with_a_step) T(amounts_say_what_they_are_of)
                T(a_price_ends_where_nothing_more_can_be_gained) T(limits_keep_their_order) T(bounds_are_sums_of_a_step)
                    T(no_edit_undoes_another) T(only_what_is_recorded_is_said_to_be_the_same) T(copies_at_once_count_once)
                        T(what_is_pinned_is_not_to_be_pinned) T(a_saving_has_the_digits_of_a_percentage)
                            T(one_operation_is_no_plural) T(a_reason_for_doubt_says_the_limit)
                                T(the_check_that_decides_is_named) T(a_bubble_below_the_limit_is_none)};
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
