/* SPDX-License-Identifier: Apache-2.0
 * test_variants.c - the scanner variants against each other: on good events, on every prefix, on damaged ones. */
#include "base/json_scan.h"
#include "base/number.h"
#include "ingest/chrome_event.h"
#include "testing.h"

/* clang-format off */
static const char *const events[] = {
    "{}", "{ }", "{\"args\":{}}", "{\"args\": [1,2]}", "{\"args\":null,\"ph\":\"X\"}",
    "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 2,\n    \"ts\": 1712195495519761.132, \"dur\": 3.5,\n"
    "    \"args\": {\n      \"External id\": 5,\"Record function id\": 0, \"Ev Idx\": 7, \"Input Dims\": [[2, 3], [], [[4]]]\n    }\n  }",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void f<a, b>(float*)\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,\"args\":{\"queued\":0,\"device\":0,"
    "\"context\":1,\"stream\":7,\"correlation\":42,\"registers per thread\":32,\"shared memory\":0,\"blocks per SM\":0.5,"
    "\"warps per SM\":1.0,\"grid\":[1,2,3],\"block\":[128,1,1],\"est. achieved occupancy %\":12}}",
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":-5.25,\"args\":{\"Bytes\":-1024,\"Addr\":140000000000000000000}}",
    "{\"name\":\"a\\\\\",\"cat\":\"\\\"\",\"ph\":\"B\",\"ts\":1e3,\"dur\":1.00049,,\"pid\":\"x\\u0041\",}",
    "{\"name\":\"0123456789012345678901234567890123456789012345678901234567890123456789\\n\",\"unknown key\":-7,\"args\":{\"own\":1,\"two\":2.5,"
    "\"name\":\"t\",\"a key that is much longer than every key of the table, so nobody knows it\":3}}",
    "{\"ts\":NaN,\"dur\":Infinity,\"pid\":N/A,\"tid\":true,\"id\":false,\"ph\":null}",
    "{\"ph\":\"C\",\"name\":\"n\",\"ts\":\"12.5\",\"args\":{\"\":3,\"x\\\"y\":4}}",
};
/* clang-format on */

static chrome_scanner scanners[HU_CPU_COUNT];
static chrome_event   seen[HU_CPU_COUNT];
static uint32_t       seed = 7;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void check_same_event(const chrome_event *a, const chrome_event *b)
{
    assert_int_equal(a->stamp, b->stamp);
    assert_int_equal(a->duplicates, b->duplicates);
    assert_int_equal(a->odd_words, b->odd_words);
    assert_int_equal(a->too_deep, b->too_deep);
    assert_int_equal(a->n_extra, b->n_extra);
    for (uint32_t i = 0; i < a->n_extra; i++) {
        assert_true(hu_str_equal(a->extra[i].key, b->extra[i].key));
        assert_true(hu_str_equal(a->extra[i].value, b->extra[i].value));
    }
    for (int i = 0; i < CHROME_IGNORED; i++) {
        assert_int_equal(chrome_has(a, i), chrome_has(b, i));
        if (!chrome_has(a, i))
            continue;
        assert_int_equal(a->at[i].type, b->at[i].type);
        assert_int_equal(a->at[i].found, b->at[i].found);
        if (i != CHROME_ARGS) {
            assert_int_equal(a->at[i].n, b->at[i].n);
            assert_ptr_equal(a->at[i].p, b->at[i].p);
        }
        if (a->at[i].type == CHROME_INT)
            assert_int_equal(a->at[i].number, b->at[i].number);
    }
}

static void start_all(int64_t nesting)
{
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < HU_CPU_COUNT; i++)
        chrome_scanner_init(&scanners[i], nesting);
}

/* Every variant on the same exactly sized copy; returns what the plain one found, as a length, or -1. */
static int64_t scan_all(const char *text, size_t n)
{
    char       *copy = malloc(n + HU_INPUT_PAD);
    const char *first = NULL;
    int64_t     length;

    memcpy(copy, text, n);
    memset(copy + n, 0, HU_INPUT_PAD);
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        const char *after;

        scanners[cpu].stop = NULL;
        after = chrome_scan_for(cpu)(&scanners[cpu], copy, copy + n, &seen[cpu]);
        if (after)
            assert_true(after > copy && after <= copy + n);
        else
            assert_true(scanners[cpu].stop >= copy && scanners[cpu].stop <= copy + n);
        if (cpu == HU_CPU_SCALAR) {
            first = after;
            continue;
        }
        assert_ptr_equal(after, first);
        if (after)
            check_same_event(&seen[HU_CPU_SCALAR], &seen[cpu]);
        else
            assert_ptr_equal(scanners[cpu].stop, scanners[HU_CPU_SCALAR].stop);
    }
    length = first ? first - copy : -1;
    free(copy);
    return length;
}

static void all_variants_agree_on_every_event(void **state)
{
    (void)state;
    start_all(64);
    for (int round = 0; round < 4; round++) /* predictions learn from one round to the next */
        for (size_t i = 0; i < HU_COUNT(events); i++)
            assert_int_equal(scan_all(events[i], strlen(events[i])), strlen(events[i]));
}

static void no_prefix_is_taken_for_an_event_or_read_beyond(void **state)
{
    (void)state;
    start_all(64);
    for (size_t i = 0; i < HU_COUNT(events); i++)
        for (size_t n = 1; n < strlen(events[i]); n++)
            assert_int_equal(scan_all(events[i], n), -1);
}

static void all_variants_agree_on_damaged_events(void **state)
{
    static const char noise[] = "\"\\{}[],:0-.eE \n\t\0\x01\x7f\x80\xff"
                                "ax/";
    char              text[1024];

    (void)state;
    start_all(3);
    for (int round = 0; round < 40000; round++) {
        const char    *event = events[next_random(HU_COUNT(events))];
        size_t         n = strlen(event);
        const uint32_t hits = 1 + next_random(3);

        memcpy(text, event, n);
        for (uint32_t i = 0; i < hits && n > 2; i++) {
            const size_t at = 1 + next_random((uint32_t)n - 1);

            if (next_random(3) == 0) {
                memmove(text + at, text + at + 1, n - at - 1);
                n--;
            } else {
                text[at] = noise[next_random(sizeof noise - 1)];
            }
        }
        scan_all(text, n);
    }
}

static void nesting_is_limited_alike(void **state)
{
    (void)state;
    start_all(3);
    assert_int_equal(scan_all("{\"a\":[[[1]]]}", 13), 13);
    assert_int_equal(scan_all("{\"a\":[[[[1]]]]}", 15), -1);
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++)
        assert_true(seen[cpu].too_deep);
    assert_int_equal(scan_all("{\"a\":[[[[1]]]", 13), -1); /* cut: more text decides */
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++)
        assert_false(seen[cpu].too_deep);
}

/* Every count of digits before and behind the point, against the exact parser. */
static void times_are_exact_whatever_their_length(void **state)
{
    (void)state;
    start_all(64);
    for (int round = 0; round < 20000; round++) {
        char    text[128], number[64];
        size_t  n = 0, whole = 1 + next_random(16), decimals = next_random(8);
        int64_t ns;

        if (next_random(2))
            number[n++] = '-';
        number[n++] = (char)('1' + next_random(9));
        while (--whole)
            number[n++] = (char)('0' + next_random(10));
        if (decimals)
            number[n++] = '.';
        while (decimals--)
            number[n++] = (char)('0' + next_random(10));
        n = (size_t)snprintf(text, sizeof text, "{\"ts\":%.*s}", (int)n, number);
        assert_int_equal(scan_all(text, n), n);
        if (hu_parse_us_as_ns((hu_str){text + 6, n - 7}, &ns)) {
            assert_int_equal(seen[HU_CPU_SCALAR].at[CHROME_TS].type, CHROME_INT);
            assert_int_equal(seen[HU_CPU_SCALAR].at[CHROME_TS].number, ns);
        } else {
            assert_int_equal(seen[HU_CPU_SCALAR].at[CHROME_TS].type, CHROME_REAL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_agree_on_every_event),
        cmocka_unit_test(no_prefix_is_taken_for_an_event_or_read_beyond),
        cmocka_unit_test(all_variants_agree_on_damaged_events),
        cmocka_unit_test(nesting_is_limited_alike),
        cmocka_unit_test(times_are_exact_whatever_their_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
