/* SPDX-License-Identifier: Apache-2.0
 * nccl_tests_json.c - makes of the JSON the lines that the same test prints, so that both give one answer.
 *
 * Traps: of a process with several GPUs the list of devices has the first one alone; the environment stands before
 * everything else, so what the file is must be looked for behind it; a number that is none is "nan" or null; what is true
 * is "true".  A test that is killed leaves its file without an end.
 */
#include "ingest/nccl_tests_json.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/nccl_tests.h"

enum { LINE_BYTES = 1024, MOST_GPUS = 64 };

static const char heading[] = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong";

bool hu_tests_json_probe(hu_str head)
{
    const hu_str first = {head.p, head.n < 256 ? head.n : 256};

    if (first.n == 0 || first.p[0] != '{' || !hu_str_has(first, HU_STR("\"start_time\"")) ||
        !hu_str_has(first, HU_STR("\"args\"")))
        return false;
    return hu_str_has(head, HU_STR("\"nccl_version\"")) || hu_str_has(head, HU_STR("\"warmup_iters\""));
}

typedef struct {
    hu_tests_reader tests;
    hu_arena       *arena;
    hu_log_benches *out;
    bool            has_memory;
} reader;

static void take(reader *r, hu_str line, uint64_t number)
{
    hu_str rest;

    r->has_memory = r->has_memory && hu_tests_line(&r->tests, line, number, r->arena, r->out, &rest);
}

/* A text without its quotes; escapes stay. */
static hu_str bare(hu_str value)
{
    return value.n > 1 && value.p[0] == '"' ? hu_str_trim((hu_str){value.p + 1, value.n - 2}) : value;
}

static hu_str text_of(hu_str object, const char *key)
{
    const hu_str text = bare(hu_json_get(object, hu_str_of(key)));

    return (hu_str){text.p ? text.p : "", text.n < 128 ? text.n : 128};
}

__attribute__((format(printf, 3, 4))) static void say(reader *r, uint64_t number, const char *format, ...)
{
    char    line[LINE_BYTES];
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n > 0)
        take(r, (hu_str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1}, number);
}

static int64_t whole_of(hu_str object, const char *key)
{
    int64_t value;

    return hu_parse_i64(hu_json_get(object, hu_str_of(key)), &value) && value > 0 && value <= MOST_GPUS ? value : 1;
}

static void take_config(reader *r, hu_str config)
{
    const int64_t each = whole_of(config, "nthreads") * whole_of(config, "ngpus");
    hu_json       devices = hu_json_enter(hu_json_get(config, HU_STR("devices")));
    hu_str        device;

    while (r->has_memory && hu_json_element(&devices, &device)) {
        const hu_str host = text_of(device, "hostname"), name = text_of(device, "device_info");

        for (int64_t i = 0; i < each && i < MOST_GPUS; i++)
            say(r, 0, "#  Rank %lld Group 0 Pid 0 on %.*s device %lld [0] %.*s", (long long)i, HU_FMT(host), (long long)i,
                HU_FMT(name));
    }
}

/* "12.5", or that there is none. */
static hu_str number_of(hu_str place, const char *key)
{
    const hu_str value = hu_json_get(place, hu_str_of(key));

    return value.n && value.n < HU_NUMBER_BYTES && value.p[0] >= '0' && value.p[0] <= '9' ? value : HU_STR("N/A");
}

static hu_str time_of(hu_str place)
{
    return number_of(place, hu_json_get(place, HU_STR("cpu_time")).n ? "cpu_time" : "time");
}

static void take_result(reader *r, hu_str result, uint64_t number)
{
    const hu_str out = hu_json_get(result, HU_STR("out_of_place")), in = hu_json_get(result, HU_STR("in_place"));
    const hu_str size = number_of(result, "size"), count = number_of(result, "count"), type = text_of(result, "type"),
                 redop = text_of(result, "redop");

    say(r, number, "%.*s %.*s %.*s %.*s -1 %.*s %.*s %.*s %.*s %.*s %.*s %.*s %.*s", HU_FMT(size), HU_FMT(count),
        HU_FMT(type), HU_FMT(redop), HU_FMT(time_of(out)), HU_FMT(number_of(out, "alg_bw")),
        HU_FMT(number_of(out, "bus_bw")), HU_FMT(number_of(out, "nwrong")), HU_FMT(time_of(in)),
        HU_FMT(number_of(in, "alg_bw")), HU_FMT(number_of(in, "bus_bw")), HU_FMT(number_of(in, "nwrong")));
}

static void take_member(reader *r, hu_str key, hu_str value)
{
    hu_json  list = hu_json_enter(value);
    uint64_t n = 0;
    hu_str   one;

    if (hu_str_equal(key, HU_STR("args")) && hu_json_element(&list, &one)) {
        one = hu_str_base_name(bare(one));
        say(r, 0, "# Collective test starting: %.*s", (int)(one.n < 128 ? one.n : 128), one.p);
    } else if (hu_str_equal(key, HU_STR("config"))) {
        take_config(r, value);
        take(r, HU_STR(heading), 0);
    } else if (hu_str_equal(key, HU_STR("results"))) {
        while (r->has_memory && hu_json_element(&list, &one))
            take_result(r, one, ++n);
    } else if (hu_str_equal(key, HU_STR("out_of_bounds"))) {
        one = number_of(value, "count");
        say(r, 0, "# Out of bounds values : %.*s %s", HU_FMT(one),
            hu_str_equal(text_of(value, "okay"), HU_STR("false")) ? "FAILED" : "OK");
    } else if (hu_str_equal(key, HU_STR("average_bus_bandwidth"))) {
        one = number_of(value, "bandwidth");
        say(r, 0, "# Avg bus bandwidth    : %.*s", HU_FMT(one));
    }
}

/* The results of a list that has no end. */
static void take_cut(reader *r, hu_str text)
{
    static const hu_str key = {"\"results\":", 10};
    const char         *at = memmem(text.p, text.n, key.p, key.n);
    hu_json             list;
    hu_str              one;
    uint64_t            n = 0;

    if (!at)
        return;
    list = hu_json_enter(hu_str_trim((hu_str){at + key.n, (size_t)(text.p + text.n - at) - key.n}));
    while (r->has_memory && hu_json_element(&list, &one))
        take_result(r, one, ++n);
}

int hu_tests_json_read(hu_input *in, hu_arena *arena, hu_log_benches *out, hu_error *err)
{
    reader  r = {.arena = arena, .out = out, .has_memory = true};
    hu_str  text, key, value;
    hu_json all;
    bool    has_results = false;
    int     rc = hu_input_read_whole(in, arena, &text, err);

    if (rc < 0)
        return rc;
    all = hu_json_enter(text);
    while (r.has_memory && hu_json_member(&all, &key, &value)) {
        take_member(&r, key, value);
        has_results |= hu_str_equal(key, HU_STR("results"));
    }
    if (all.is_broken && !has_results)
        take_cut(&r, text);
    hu_tests_end(&r.tests);
    if (r.has_memory && all.is_broken && r.tests.open && !r.tests.open->failure.n)
        r.tests.open->failure = HU_STR("its JSON ends early: it was killed, or still runs");
    return r.has_memory ? 0 : hu_fail_memory(err);
}
