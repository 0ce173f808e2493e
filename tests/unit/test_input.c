/* SPDX-License-Identifier: Apache-2.0
 * test_input.c - spans, and the streams behind them. */
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "testing.h"

enum { BYTES = 3000000 };

static char *make_text(void)
{
    char *text = malloc(BYTES);

    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)('a' + (i * 7 + i / 1000) % 26);
    return text;
}

static size_t gzip(const char *text, size_t n, uint8_t *out, size_t room)
{
    struct isal_zstream z;

    isal_deflate_stateless_init(&z);
    z.gzip_flag = IGZIP_GZIP;
    z.next_in = (uint8_t *)(uintptr_t)text;
    z.avail_in = (uint32_t)n;
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.next_out = out;
    z.avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate_stateless(&z), 0);
    return z.total_out;
}

/* Walks all spans, keeping `keep` bytes (or all there are) each time; returns how many bytes agreed with the text. */
static size_t walk(hu_str bytes, const char *text, size_t keep, bool ahead, int *status)
{
    hu_input_options options = plain_options();
    hu_error         err = {0};
    hu_input        *in;
    hu_span          span = {0};
    size_t           seen = 0, kept = 0;

    options.threads = ahead ? 2 : 1;
    in = hu_input_open_memory(bytes, "test", &options, &err);
    assert_non_null(in);
    do {
        assert_int_equal(hu_input_next(in, kept, &span, &err), 0);
        assert_int_equal(span.offset, seen - kept);
        assert_memory_equal(span.p, text + span.offset, span.n);
        for (size_t i = 0; i < HU_INPUT_PAD; i++)
            assert_int_equal(span.p[span.n + i], 0);
        seen = span.offset + span.n;
        kept = keep < span.n ? keep : span.n;
    } while (!span.is_last);
    *status = hu_input_status(in, &err);
    hu_input_close(in);
    return seen;
}

static void spans_begin_with_what_was_kept(void **state)
{
    static const size_t keeps[] = {0, 1, 100, 65536, 65537, 200000, 1000000};
    char               *text = make_text();

    (void)state;
    for (size_t i = 0; i < HU_COUNT(keeps); i++) {
        for (int ahead = 0; ahead < 2; ahead++) {
            int status;

            assert_int_equal(walk((hu_str){text, BYTES}, text, keeps[i], ahead, &status), BYTES);
            assert_int_equal(status, 0);
        }
    }
    free(text);
}

static void several_gzip_members_are_one_stream(void **state)
{
    char    *text = make_text();
    uint8_t *packed = malloc(2 * BYTES);
    size_t   n = gzip(text, BYTES / 3, packed, 2 * BYTES);
    int      status;

    (void)state;
    n += gzip(text + BYTES / 3, BYTES - BYTES / 3, packed + n, 2 * BYTES - n);
    assert_int_equal(walk((hu_str){(char *)packed, n}, text, 10, true, &status), BYTES);
    assert_int_equal(status, 0);
    memset(packed + n, 0, 512); /* padding, as tape tools leave it */
    assert_int_equal(walk((hu_str){(char *)packed, n + 512}, text, 10, false, &status), BYTES);
    assert_int_equal(status, 0);
    free(packed);
    free(text);
}

static void a_stream_that_breaks_off_gives_what_came_before(void **state)
{
    char    *text = make_text();
    uint8_t *packed = malloc(2 * BYTES);
    size_t   n = gzip(text, BYTES, packed, 2 * BYTES);
    int      status;

    (void)state;
    assert_true(walk((hu_str){(char *)packed, n / 2}, text, 10, true, &status) > BYTES / 4);
    assert_int_equal(status, HU_EFORMAT);
    n = ZSTD_compress(packed, 2 * BYTES, text, BYTES, 3);
    assert_int_equal(walk((hu_str){(char *)packed, n}, text, 10, true, &status), BYTES);
    assert_int_equal(status, 0);
    assert_true(walk((hu_str){(char *)packed, n - 1}, text, 10, true, &status) < BYTES);
    assert_int_equal(status, HU_EFORMAT);
    free(packed);
    free(text);
}

static void limits_are_errors_that_name_their_option(void **state)
{
    hu_input_options options = plain_options();
    hu_error         err = {0};
    char            *text = make_text();
    hu_input        *in;
    hu_span          span;
    int              rc = 0;

    (void)state;
    options.limits.event_bytes = 500000;
    in = hu_input_open_memory((hu_str){text, BYTES}, "test", &options, &err);
    for (size_t kept = 0; rc == 0; kept = span.n)
        rc = hu_input_next(in, kept, &span, &err);
    assert_int_equal(rc, HU_ELIMIT);
    assert_non_null(strstr(err.text, "--limit event_bytes"));
    hu_input_close(in);
    free(text);
}

static void an_input_may_be_closed_before_its_end(void **state)
{
    hu_input_options options = plain_options();
    char            *text = make_text();
    hu_error         err = {0};
    hu_input        *in;

    (void)state;
    options.threads = 2;
    in = hu_input_open_memory((hu_str){text, BYTES}, "test", &options, &err);
    assert_int_equal(hu_input_head(in).n, 256 * 1024);
    hu_input_close(in);
    assert_null(hu_input_open("/no/such/file", &options, &err));
    assert_string_equal(err.file, "/no/such/file");
    free(text);
}

static bool is_whole(const void *p, size_t n)
{
    const hu_input_options options = plain_options();
    hu_error               err = {0};
    hu_input              *in = hu_input_open_memory((hu_str){p, n}, "test", &options, &err);
    bool                   is;

    assert_non_null(in);
    is = hu_input_is_whole(in);
    hu_input_close(in);
    return is;
}

static void a_beginning_may_be_all_there_is(void **state)
{
    const size_t few = 5000;
    char        *text = make_text();
    uint8_t     *packed = malloc(2 * BYTES);
    size_t       n;

    (void)state;
    assert_true(is_whole(text, few));
    assert_true(is_whole("", 0));
    assert_false(is_whole(text, BYTES));
    n = gzip(text, few, packed, 2 * BYTES);
    assert_true(is_whole(packed, n));
    assert_false(is_whole(packed, n - 9)); /* it breaks off: nobody knows what would follow */
    assert_false(is_whole(packed, gzip(text, BYTES, packed, 2 * BYTES)));
    free(packed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_begin_with_what_was_kept),
        cmocka_unit_test(several_gzip_members_are_one_stream),
        cmocka_unit_test(a_stream_that_breaks_off_gives_what_came_before),
        cmocka_unit_test(limits_are_errors_that_name_their_option),
        cmocka_unit_test(an_input_may_be_closed_before_its_end),
        cmocka_unit_test(a_beginning_may_be_all_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
