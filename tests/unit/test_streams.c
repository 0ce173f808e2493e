/* SPDX-License-Identifier: Apache-2.0
 * test_streams.c - streams cut at every byte, damaged, concatenated, and walked with every kind of keep. */
#include <isa-l/igzip_lib.h>
#include <stdatomic.h>
#include <unistd.h>
#include <zstd.h>

#include "testing.h"

static uint32_t seed = 11;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static char *make_text(size_t n)
{
    char *text = malloc(n);

    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + next_random(26));
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

/* Reads to the end; how many bytes came, or a negative code.  What came must be the beginning of `text`. */
static int64_t drain(hu_input *in, const char *text, int *status)
{
    hu_error err = {0};
    hu_span  span = {0};
    int      rc;

    do {
        rc = hu_input_next(in, 0, &span, &err);
        if (rc < 0)
            break;
        if (span.n)
            assert_memory_equal(span.p, text + span.offset, span.n);
    } while (!span.is_last);
    *status = hu_input_status(in, &err);
    hu_input_close(in);
    return rc < 0 ? rc : (int64_t)(span.offset + span.n);
}

static void a_cut_at_any_byte_is_told_from_the_end(void **state)
{
    enum { BYTES = 3000 };
    char                  *text = make_text(BYTES);
    uint8_t               *packed = malloc(4 * BYTES);
    const hu_input_options options = plain_options();

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const size_t n = kind ? ZSTD_compress(packed, 4 * BYTES, text, BYTES, 1) : gzip(text, BYTES, packed, 4 * BYTES);

        for (size_t cut = 4; cut <= n; cut++) {
            hu_error  err = {0};
            uint8_t  *copy = malloc(cut);
            hu_input *in;
            int       status = 0;

            memcpy(copy, packed, cut);
            in = hu_input_open_memory((hu_str){(char *)copy, cut}, "test", &options, &err);
            if (in) {
                const int64_t got = drain(in, text, &status);

                assert_true(got >= 0 && got <= BYTES);
                assert_int_equal(status, cut == n ? 0 : HU_EFORMAT);
                if (cut == n)
                    assert_int_equal(got, BYTES);
            } else {
                assert_true(cut < n);
                assert_int_equal(err.code, HU_EFORMAT);
            }
            free(copy);
        }
    }
    free(packed);
    free(text);
}

static void a_wrong_checksum_is_damage_although_all_bytes_came(void **state)
{
    enum { BYTES = 500000 };
    char                  *text = make_text(BYTES);
    uint8_t               *packed = malloc(2 * BYTES);
    const size_t           n = gzip(text, BYTES, packed, 2 * BYTES);
    const hu_input_options options = plain_options();
    hu_error               err = {0};
    int                    status;

    (void)state;
    packed[n - 6] ^= 1; /* of the CRC */
    assert_true(drain(hu_input_open_memory((hu_str){(char *)packed, n}, "test", &options, &err), text, &status) > BYTES / 2);
    assert_int_equal(status, HU_EFORMAT);
    free(packed);
    free(text);
}

static void several_zstd_frames_are_one_stream(void **state)
{
    enum { BYTES = 900000 };
    char            *text = make_text(BYTES);
    uint8_t         *packed = malloc(2 * BYTES);
    size_t           n = ZSTD_compress(packed, 2 * BYTES, text, 100, 1);
    hu_error         err = {0};
    hu_input_options options = plain_options();
    hu_progress      progress = {0};
    hu_input        *in;
    int              status;

    (void)state;
    n += ZSTD_compress(packed + n, 2 * BYTES - n, text + 100, BYTES - 100, 1);
    options.progress = &progress;
    for (int ahead = 0; ahead < 2; ahead++) {
        options.threads = ahead ? 2 : 1;
        atomic_store(&progress.done_bytes, 0);
        in = hu_input_open_memory((hu_str){(char *)packed, n}, "test", &options, &err);
        assert_string_equal(hu_input_compression(in), "zstd");
        assert_int_equal(drain(in, text, &status), BYTES);
        assert_int_equal(status, 0);
        assert_int_equal(atomic_load(&progress.done_bytes), n);
    }
    free(packed);
    free(text);
}

static void a_file_that_inflates_absurdly_is_refused(void **state)
{
    const size_t     bytes = 72u << 20; /* the ratio counts past 64 MiB */
    char            *text = calloc(1, bytes);
    const size_t     room = ZSTD_compressBound(bytes);
    uint8_t         *packed = malloc(room);
    const size_t     n = ZSTD_compress(packed, room, text, bytes, 1);
    hu_input_options options = plain_options();

    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        hu_error  err = {0};
        hu_span   span = {0};
        hu_input *in;
        int       rc;

        options.limits = hu_limits_default();
        options.threads = ahead ? 2 : 1;
        in = hu_input_open_memory((hu_str){(char *)packed, n}, "bomb", &options, &err);
        while ((rc = hu_input_next(in, 0, &span, &err)) == 0 && !span.is_last)
            ;
        assert_int_equal(rc, HU_ELIMIT);
        assert_int_equal(err.code, HU_ELIMIT);
        assert_non_null(strstr(err.text, "--limit inflate_ratio"));
        hu_input_close(in);
        options.limits.inflate_ratio = INT64_C(1) << 40;
        in = hu_input_open_memory((hu_str){(char *)packed, n}, "bomb", &options, &err);
        assert_int_equal(drain(in, text, &rc), bytes);
        assert_int_equal(rc, 0);
    }
    free(packed);
    free(text);
}

/* Keeps of all sizes in any order: from none over the headroom's 64 KiB to all there is. */
static void spans_survive_any_sequence_of_keeps(void **state)
{
    enum { BYTES = 6000000 };
    static const size_t sizes[] = {0, 1, 127, 65535, 65536, 65537, 131072, 262143, 262144, 400000, SIZE_MAX};
    char               *text = make_text(BYTES);
    hu_input_options    options = plain_options();

    (void)state;
    for (int round = 0; round < 60; round++) {
        hu_error  err = {0};
        hu_input *in;
        hu_span   span = {0};
        size_t    keep = 0;

        options.threads = 1 + (round & 1);
        in = hu_input_open_memory((hu_str){text, BYTES}, "test", &options, &err);
        assert_non_null(in);
        for (;;) {
            const uint64_t end = span.offset + span.n;

            assert_int_equal(hu_input_next(in, keep, &span, &err), 0);
            assert_int_equal(span.offset, end - keep);
            assert_true(span.n > keep || span.is_last);
            assert_true(span.offset + span.n <= BYTES);
            assert_memory_equal(span.p, text + span.offset, span.n);
            for (size_t i = 0; i < HU_INPUT_PAD; i++)
                assert_int_equal(span.p[span.n + i], 0);
            if (span.is_last)
                break;
            keep = sizes[next_random(next_random(3) ? HU_COUNT(sizes) - 1 : HU_COUNT(sizes))];
            if (keep > span.n)
                keep = span.n;
            if (keep == span.n && span.n > 3000000)
                keep = 5;
        }
        assert_int_equal(span.offset + span.n, BYTES);
        hu_input_close(in);
    }
    free(text);
}

static void no_bytes_and_few_bytes_are_streams_too(void **state)
{
    static const char *const rows[] = {"", "x", "\x1f", "(\xb5/"};
    const hu_input_options   options = plain_options();

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        hu_error  err = {0};
        hu_input *in = hu_input_open_memory(hu_str_of(rows[i]), "test", &options, &err);
        int       status;

        assert_non_null(in);
        assert_string_equal(hu_input_compression(in), "");
        assert_int_equal(drain(in, rows[i], &status), strlen(rows[i]));
        assert_int_equal(status, 0);
    }
}

static void a_file_and_memory_give_the_same_stream(void **state)
{
    enum { BYTES = 700000 };
    char             path[] = "/tmp/holdup-stream-XXXXXX";
    const int        fd = mkstemp(path);
    char            *text = make_text(BYTES);
    uint8_t         *packed = malloc(2 * BYTES);
    const size_t     n = gzip(text, BYTES, packed, 2 * BYTES);
    hu_input_options options = plain_options();
    hu_error         err = {0};
    hu_input        *in;
    int              status;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, packed, n), n);
    close(fd);
    options.threads = 2;
    in = hu_input_open(path, &options, &err);
    unlink(path);
    assert_non_null(in);
    assert_string_equal(hu_input_compression(in), "gzip");
    assert_string_equal(hu_input_name(in), path);
    assert_int_equal(drain(in, text, &status), BYTES);
    assert_int_equal(status, 0);
    in = hu_input_open("/tmp", &options, &err); /* a folder can be opened, not read */
    assert_null(in);
    assert_int_equal(err.code, HU_EIO);
    free(packed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_at_any_byte_is_told_from_the_end),
        cmocka_unit_test(a_wrong_checksum_is_damage_although_all_bytes_came),
        cmocka_unit_test(several_zstd_frames_are_one_stream),
        cmocka_unit_test(a_file_that_inflates_absurdly_is_refused),
        cmocka_unit_test(spans_survive_any_sequence_of_keeps),
        cmocka_unit_test(no_bytes_and_few_bytes_are_streams_too),
        cmocka_unit_test(a_file_and_memory_give_the_same_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
