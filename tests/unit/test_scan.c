/* SPDX-License-Identifier: Apache-2.0
 * test_scan.c - every variant of the event scanner that this machine can run. */
#include "base/json_scan.h"
#include "ingest/chrome_event.h"
#include "testing.h"

static chrome_scanner scanner;
static chrome_event   event;

/* Scans a copy that ends exactly where it may be read, so that ASan sees a wide load that leaves it. */
static char *scan(hu_cpu cpu, const char *text, size_t n, const char **after)
{
    char *copy = malloc(n + HU_INPUT_PAD);

    memcpy(copy, text, n);
    memset(copy + n, 0, HU_INPUT_PAD);
    *after = chrome_scan_for(cpu)(&scanner, copy, copy + n, &event);
    return copy;
}

static const char *const sample =
    "{ \"ph\": \"X\", \"cat\":\"kernel\",\n    \"name\": \"void a<b>(\\\"c\\\")\", \"pid\": 0, \"tid\": \"stream 7\",\r\n"
    "\t\"ts\": 1712195495519761.132, \"dur\": 3,\"args\": {\"grid\": [1, [2], {\"]\":\"}\"}], \"device\": -5, \"correlation\": 42,"
    "\"unknown key of some length that is in no table\": [1,2], \"blocks per SM\": 0.5,\"bytes\":18446744073709551615, \"x\": N/A,"
    " \"counter\": 7} }";

static void all_variants_see_the_same_event(void **state)
{
    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        const char *after;

        chrome_scanner_init(&scanner, 64);
        for (int round = 0; round < 3; round++) { /* predictions make no difference */
            char *copy = scan(cpu, sample, strlen(sample), &after);

            assert_ptr_equal(after, copy + strlen(sample));
            assert_int_equal(event.at[CHROME_TS].number, 1712195495519761132);
            assert_int_equal(event.at[CHROME_DUR].number, 3000);
            assert_int_equal(event.at[CHROME_DEVICE].number, -5);
            assert_int_equal(event.at[CHROME_CORRELATION].number, 42);
            assert_int_equal(event.at[CHROME_BYTES].type, CHROME_REAL);
            assert_int_equal(event.at[CHROME_NAME].found, STRING_ESCAPES);
            assert_int_equal(event.at[CHROME_NAME].n, strlen("void a<b>(\\\"c\\\")"));
            assert_int_equal(event.at[CHROME_GRID].type, CHROME_CONTAINER);
            assert_int_equal(event.at[CHROME_GRID].n, strlen("[1, [2], {\"]\":\"}\"}]"));
            assert_int_equal(event.odd_words, 1);
            assert_int_equal(event.n_extra, 1);
            assert_false(chrome_has(&event, CHROME_STREAM));
            free(copy);
        }
    }
}

static void every_spelling_is_found_by_every_variant(void **state)
{
    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        for (size_t i = 0; i < chrome_key_count; i++) {
            const chrome_key *k = &chrome_keys[i];
            char              text[128];
            const char       *after;
            char             *copy;
            const int n = snprintf(text, sizeof text, k->is_arg ? "{\"args\":{\"%.*s\":77}}" : "{\"%.*s\":77}", k->n - 1,
                                   k->text);

            chrome_scanner_init(&scanner, 64);
            copy = scan(cpu, text, (size_t)n, &after);
            assert_ptr_equal(after, copy + n);
            assert_true(chrome_has(&event, k->place));
            assert_int_equal(event.at[k->place].number, k->place == CHROME_TS || k->place == CHROME_DUR ? 77000 : 77);
            free(copy);
        }
    }
}

static void a_prefix_asks_for_more_and_stays_inside(void **state)
{
    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        chrome_scanner_init(&scanner, 64);
        for (size_t n = 1; n < strlen(sample); n++) {
            const char *after;
            char       *copy = scan(cpu, sample, n, &after);

            assert_null(after);
            assert_ptr_equal(scanner.stop, copy + n);
            free(copy);
        }
    }
}

static void numbers_of_every_length_are_exact(void **state)
{
    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        int64_t value = 0;

        chrome_scanner_init(&scanner, 64);
        for (int digits = 1; digits <= 18; digits++) {
            char        text[128];
            const char *after;
            char       *copy;

            value = value * 10 + digits % 10;
            copy = scan(
                cpu, text,
                (size_t)snprintf(text, sizeof text, "{\"id\":%lld,\"pid\":-%lld}", (long long)value, (long long)value),
                &after);
            assert_non_null(after);
            assert_int_equal(event.at[CHROME_ID].number, value);
            assert_int_equal(event.at[CHROME_PID].number, -value);
            free(copy);
        }
    }
}

/* 2^63 ns are 9,223,372,036,854,775.807 us: what is later is no time, and never a negative one. */
static void times_beyond_the_end_are_no_times(void **state)
{
    static const struct {
        const char *text;
        bool        is_time;
        int64_t     ns;
    } cases[] = {{"9223372036854774.807", true, 9223372036854774807},
                 {"9300000000000000", false, 0},
                 {"9999999999999999.5", false, 0},
                 {"-9300000000000000.25", false, 0}};

    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        chrome_scanner_init(&scanner, 64);
        for (size_t i = 0; i < HU_COUNT(cases); i++) {
            char        text[128];
            const char *after;
            char       *copy = scan(cpu, text, (size_t)snprintf(text, sizeof text, "{\"ts\":%s}", cases[i].text), &after);

            assert_non_null(after);
            assert_int_equal(event.at[CHROME_TS].type, cases[i].is_time ? CHROME_INT : CHROME_REAL);
            if (cases[i].is_time)
                assert_int_equal(event.at[CHROME_TS].number, cases[i].ns);
            free(copy);
        }
    }
}

static void what_is_no_event_says_where(void **state)
{
    static const struct {
        const char *text;
        size_t      stop;
    } rows[] = {{"{\"ph\":\"X\" \"cat\":1}", 10},
                {"{\"name\":\"a\"b\",\"ts\":1}", 11},
                {"{\"ph\" 1}", 6},
                {"{1:2}", 1},
                {"{\"a\":}", 5}};

    (void)state;
    for (hu_cpu cpu = HU_CPU_SCALAR; cpu <= hu_cpu_best(); cpu++) {
        chrome_scanner_init(&scanner, 64);
        for (size_t i = 0; i < HU_COUNT(rows); i++) {
            const char *after;
            char       *copy = scan(cpu, rows[i].text, strlen(rows[i].text), &after);

            assert_null(after);
            assert_int_equal(scanner.stop - copy, rows[i].stop);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_see_the_same_event),
        cmocka_unit_test(every_spelling_is_found_by_every_variant),
        cmocka_unit_test(a_prefix_asks_for_more_and_stays_inside),
        cmocka_unit_test(numbers_of_every_length_are_exact),
        cmocka_unit_test(times_beyond_the_end_are_no_times),
        cmocka_unit_test(what_is_no_event_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
