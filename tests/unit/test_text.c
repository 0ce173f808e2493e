/* SPDX-License-Identifier: Apache-2.0
 * test_text.c - errors, numbers, characters and names: what reaches a reader. */
#include <math.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/json.h"
#include "base/number.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "base/short_name.h"
#include "base/units.h"
#include "base/words.h"
#include "testing.h"

static uint32_t seed = 3;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void a_cause_stays_behind_what_was_being_done(void **state)
{
    hu_error err = {0};

    (void)state;
    assert_int_equal(hu_fail(&err, HU_EIO, "f.json", 17, "disk %d", 3), HU_EIO);
    assert_int_equal(hu_because(&err, "reading %s", "rank 2"), HU_EIO);
    assert_int_equal(hu_because(&err, "comparing"), HU_EIO);
    assert_string_equal(err.text, "comparing: reading rank 2: disk 3");
    assert_string_equal(err.file, "f.json");
    assert_int_equal(err.offset, 17);
    assert_int_equal(hu_fail(NULL, HU_ENOMEM, NULL, HU_NO_OFFSET, "x"), HU_ENOMEM);
}

static void long_messages_are_cut_not_spilled(void **state)
{
    hu_error err = {0};
    char     text[2000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hu_fail(&err, HU_EIO, text, 0, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    hu_because(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void every_code_has_its_exit_status(void **state)
{
    (void)state;
    assert_int_equal(hu_error_exit_status(0), 0);
    assert_int_equal(hu_error_exit_status(HU_EUSAGE), 2);
    assert_int_equal(hu_error_exit_status(HU_EPARTIAL), 4);
    assert_int_equal(hu_error_exit_status(HU_EFORMAT), 3);
    assert_int_equal(hu_error_exit_status(-99), 3);
}

static void integers_survive_the_way_to_text_and_back(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        const uint64_t bits = ((uint64_t)next_random(1u << 24) << 40 ^ (uint64_t)next_random(1u << 24) << 20 ^
                               next_random(1u << 24)) >>
                              next_random(64);
        char     text[HU_NUMBER_BYTES];
        uint64_t u;
        int64_t  i;
        size_t   n = hu_format_u64(text, bits);

        assert_true(n == strlen(text) && hu_parse_u64((hu_str){text, n}, &u) && u == bits);
        n = hu_format_i64(text, (int64_t)bits);
        assert_true(n == strlen(text) && hu_parse_i64((hu_str){text, n}, &i) && i == (int64_t)bits);
        n = hu_format_i64(text, -(int64_t)(bits >> 1));
        assert_true(hu_parse_i64((hu_str){text, n}, &i) && i == -(int64_t)(bits >> 1));
    }
}

/* "123.4567e-2" in all its shapes against 128-bit arithmetic on the digits. */
static void microseconds_equal_128_bit_arithmetic(void **state)
{
    (void)state;
    for (int round = 0; round < 50000; round++) {
        char           text[64];
        const uint64_t digits = ((uint64_t)next_random(1u << 24) << 24 ^ next_random(1u << 24)) >> next_random(48);
        const int      decimals = (int)next_random(8), exponent = (int)next_random(9) - 4, shift = 3 - decimals + exponent;
        unsigned __int128 expected = digits, divisor = 1;
        const bool        negative = next_random(2);
        char              plain[32];
        int               n = snprintf(plain, sizeof plain, "%0*llu", decimals + 1, (unsigned long long)digits);
        int64_t           ns = 0;

        for (int i = 0; i < shift; i++)
            expected *= 10;
        for (int i = shift; i < 0; i++)
            divisor *= 10;
        expected = (expected + divisor / 2) / divisor;
        n = snprintf(text, sizeof text, "%s%.*s%s%s", negative ? "-" : "", n - decimals, plain, decimals ? "." : "",
                     plain + n - decimals);
        if (exponent)
            n += snprintf(text + n, sizeof text - (size_t)n, "e%d", exponent);
        if (expected > INT64_MAX) {
            assert_false(hu_parse_us_as_ns((hu_str){text, (size_t)n}, &ns));
            continue;
        }
        if (!hu_parse_us_as_ns((hu_str){text, (size_t)n}, &ns) || ns != (negative ? -(int64_t)expected : (int64_t)expected))
            fail_msg("%s gave %lld", text, (long long)ns);
    }
}

static void fixed_numbers_stay_in_their_buffer(void **state)
{
    static const double values[] = {0, -0.0, 1e-320, 0.5, 1e9, 1.7e10, 1e18, 1.8e19, -1.8e19, 1e300, -1e308};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(values); i++) {
        for (int decimals = 0; decimals <= 9; decimals++) {
            char         text[HU_NUMBER_BYTES];
            const size_t n = hu_format_fixed(text, values[i], decimals);

            assert_true(n < HU_NUMBER_BYTES && n == strlen(text) && n > 0);
        }
    }
}

static void every_code_point_survives(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char   bytes[4];
        hu_str s;

        if (c >= 0xd800 && c < 0xe000)
            continue;
        s = (hu_str){bytes, hu_utf8_put(bytes, c)};
        assert_true(s.n == (c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4));
        assert_true(hu_utf8_is_valid(s));
        assert_true(hu_utf8_next(&s) == c && s.n == 0);
    }
}

/* A cut character costs its own bytes only. */
static void bad_bytes_are_taken_one_at_a_time(void **state)
{
    hu_str s = HU_STR("\xe2\x82"
                      "a\xf0\x9f\x98"
                      "\xc3\xa9\xff");

    (void)state;
    assert_int_equal(hu_utf8_next(&s), HU_UTF8_BAD);
    assert_int_equal(hu_utf8_next(&s), HU_UTF8_BAD);
    assert_int_equal(hu_utf8_next(&s), 'a');
    for (int i = 0; i < 3; i++)
        assert_int_equal(hu_utf8_next(&s), HU_UTF8_BAD);
    assert_int_equal(hu_utf8_next(&s), 0xe9);
    assert_int_equal(hu_utf8_next(&s), HU_UTF8_BAD);
    assert_int_equal(s.n, 0);
}

static void quantiles_reach_both_ends(void **state)
{
    static const int64_t sorted[] = {-5, 0, 10, 1000};

    (void)state;
    assert_true(hu_stats_quantile(sorted, 4, 0) == -5 && hu_stats_quantile(sorted, 4, 1) == 1000);
    assert_true(fabs(hu_stats_quantile(sorted, 4, 0.75) - 257.5) < 1e-9); /* numpy.quantile(…, .75) */
    assert_true(hu_stats_quantile(sorted, 1, 0.3) == -5);
    assert_true(isnan(hu_stats_quantile(sorted, 0, 0.5)));
}

static void json_text_is_unescaped_only_in_strings(void **state)
{
    hu_arena *arena = hu_arena_new();

    (void)state;
    assert_true(hu_str_equal(hu_json_text(arena, HU_STR("\"a\\u0041\\n\"")), HU_STR("aA\n")));
    assert_true(hu_str_equal(hu_json_text(arena, HU_STR("[1, 2]")), HU_STR("[1, 2]")));
    assert_true(hu_str_equal(hu_json_text(arena, HU_STR("\"\"")), HU_STR("")));
    hu_arena_free(arena);
}

static void counts_and_shares_are_short(void **state)
{
    char text[HU_UNIT_BYTES];

    (void)state;
    hu_units_short_count(text, 999999);
    assert_string_equal(text, "1.0M");
    hu_units_short_count(text, 42);
    assert_string_equal(text, "42");
    hu_units_percent(text, 0.1234);
    assert_string_equal(text, "12.3");
    hu_units_percent(text, (double)NAN);
    assert_string_equal(text, "–");
    hu_units_count(text, INT64_MIN);
    assert_string_equal(text, "-9,223,372,036,854,775,808");
    hu_units_bytes(text, 999949);
    assert_string_equal(text, "999.9 kB");
    hu_units_bytes(text, 999951);
    assert_string_equal(text, "1.00 MB");
    hu_units_time(text, 9.97e6); /* three digits from 1 on: two decimals until it is ten when rounded */
    assert_string_equal(text, "9.97 ms");
    hu_units_time(text, 9.996e6);
    assert_string_equal(text, "10.0 ms");
}

static size_t clipped(char *text, size_t room, hu_str name, size_t width, bool is_name, size_t *said)
{
    int     ends[2];
    hu_out *out;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    out = hu_out_open_fd(ends[1]);
    *said = is_name ? hu_short_name_clip(out, name, width) : hu_units_clip(out, name, width);
    assert_int_equal(hu_out_close(out, NULL), 0);
    close(ends[1]);
    n = read(ends[0], text, room);
    close(ends[0]);
    assert_true(n >= 0);
    return (size_t)n;
}

/* Whatever a name holds: never wider than asked, as wide as said, valid, and nothing that moves the cursor or the order. */
static void no_name_leaves_its_column(void **state)
{
    /* clang-format off */
    static const char *const parts[] = {"void ", "at::native::", "<", ">", "(", ")", "k", "(anonymous namespace)::", "\x1b[2J", "\xff", "é",
                                        "\xe2\x80\xae", "\xf0\x9f\x98\x80", "::", "operator<<", "\n", ", ", "\xc2\x9b", "\xe2\x80\x8b"};
    /* clang-format on */

    (void)state;
    for (int round = 0; round < 4000; round++) {
        char         name[2048], text[8192];
        size_t       n = 0, said;
        const size_t count = next_random(round % 50 == 0 ? 90 : 15), width = next_random(60);
        hu_str       left, all;

        for (size_t i = 0; i < count; i++) {
            const char *part = parts[next_random(HU_COUNT(parts))];

            memcpy(name + n, part, strlen(part));
            n += strlen(part);
        }
        left.p = text;
        left.n = clipped(text, sizeof text, (hu_str){name, n}, width, round & 1, &said);
        all = left;
        assert_true(hu_utf8_is_valid(all));
        assert_true(hu_units_width(all) <= width);
        assert_int_equal(hu_units_width(all), said);
        while (left.n) {
            const uint32_t c = hu_utf8_next(&left);

            assert_true(c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0x202e && c != 0x200b);
        }
    }
}

static void names_of_kernels_keep_what_tells_them_apart(void **state)
{
    char   text[256];
    size_t said, n;

    (void)state;
    n = clipped(text, sizeof text, HU_STR("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*, int)"), 50,
                true, &said);
    assert_true(hu_str_equal((hu_str){text, n}, HU_STR("(anonymous namespace)::softmax_warp_forward<…>")));
    n = clipped(text, sizeof text, HU_STR("ampere_sgemm_128x64_nn"), 10, true, &said);
    assert_true(hu_str_equal((hu_str){text, n}, HU_STR("ampere_sg…")));
}

/* Texts of few letters have most false starts; a text ends at any byte of a word. */
static size_t make_text(char *out, size_t most)
{
    const size_t n = next_random((uint32_t)most + 1);

    for (size_t i = 0; i < n; i++)
        out[i] = (char)('a' + next_random(2));
    return n;
}

static void parts_are_found_as_memmem_finds_them(void **state)
{
    char          text[200], part[6];
    const hu_str *none = &(hu_str){0};

    (void)state;
    for (int round = 0; round < 20000; round++) {
        const hu_str s = {text, make_text(text, sizeof text)}, p = {part, make_text(part, sizeof part)};

        assert_int_equal(hu_str_has(s, p), p.n == 0 || (s.n && memmem(s.p, s.n, p.p, p.n)));
        assert_int_equal(hu_str_starts(s, p), p.n <= s.n && memcmp(s.p, p.p, p.n) == 0);
    }
    assert_true(hu_str_has(*none, HU_STR("")));
    assert_false(hu_str_has(*none, HU_STR("a")));
    assert_true(hu_str_starts_with(HU_STR("abc"), "ab") && hu_str_starts_with(HU_STR("ab"), "ab"));
    assert_false(hu_str_starts_with(HU_STR("a"), "ab") || hu_str_starts_with(HU_STR("bab"), "ab"));
    assert_true(hu_str_starts_with(*none, ""));
}

static void the_first_word_of_a_list_is_found_wherever_it_stands(void **state)
{
    enum { WORDS = 40, LONGEST = 7, TEXT = 24 };
    char        bytes[WORDS][LONGEST + 1], text[TEXT];
    const char *words[WORDS];
    hu_words    finder;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        const size_t n_words = 1 + next_random(WORDS);
        hu_str       s = {text, make_text(text, sizeof text)};
        int          first = -1;

        for (size_t i = 0; i < n_words; i++) {
            const size_t n = make_text(bytes[i], LONGEST - 1) + 1;

            bytes[i][n - 1] = (char)('a' + next_random(2));
            bytes[i][n] = '\0';
            bytes[i][0] = next_random(3) ? 'c' : bytes[i][0]; /* most do not occur */
            words[i] = bytes[i];
        }
        for (size_t i = 0; i < n_words && first < 0; i++)
            first = s.n && memmem(s.p, s.n, words[i], strlen(words[i])) ? (int)i : -1;
        hu_words_init(&finder, words, n_words);
        assert_int_equal(hu_words_find(&finder, s), first);
    }
}

static void a_report_larger_than_the_buffer_arrives_whole(void **state)
{
    char      path[] = "/tmp/holdup-out-XXXXXX";
    const int fd = mkstemp(path);
    hu_error  err = {0};
    hu_out   *out = hu_out_open_file(path, &err);
    FILE     *file;
    long      size;

    (void)state;
    close(fd);
    assert_non_null(out);
    for (int i = 0; i < 50000; i++)
        hu_out_printf(out, "%06d\n", i);
    hu_out_i64(out, -5);
    hu_out_fixed(out, 2.5, 2);
    hu_out_str(out, HU_STR("é"));
    assert_int_equal(hu_out_close(out, &err), 0);
    file = fopen(path, "r");
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_int_equal(size, 50000 * 7 + 2 + 4 + 2);
    fclose(file);
    unlink(path);
    assert_int_equal(hu_out_close(NULL, &err), 0);
    hu_out_abandon(NULL);
}

static void a_closed_descriptor_is_an_error_at_close(void **state)
{
    hu_error  err = {0};
    const int fd = dup(1);
    hu_out   *out = hu_out_open_fd(fd);

    (void)state;
    close(fd);
    hu_out_text(out, "x");
    assert_int_equal(hu_out_close(out, &err), HU_EIO);
}

/* What c++filt says of them, which tests/test_kernel_short.py asks where it is. */
static void names_of_functions_are_read_back(void **state)
{
    static const char *const names[][2] = {
        {"_Z5saxpyiPKfPf", "saxpy(int, float const*, float*)"},
        {"_ZN2ck11kernel_gemmIfLi4ELb1EEEvv", "void ck::kernel_gemm<float, 4, true>()"},
        {"_Z4castIN3c104HalfEdEvPT_PKT0_.kd", "void cast<c10::Half, double>(c10::Half*, double const*) [clone .kd]"},
        {"_Z4copyIDF16bEvRT_S1_", "void copy<std::bfloat16_t>(std::bfloat16_t&, std::bfloat16_t&)"},
        {"_ZN12_GLOBAL__N_13runEPFviE", "(anonymous namespace)::run(void (*)(int))"},
        {"_Z3sumIJifdEEvDpPT_", "void sum<int, float, double>(int*, float*, double*)"},
        {"_Z3mapIZN2at4fillEfEUlfE_EvT_",
         "void map<at::fill(float)::{lambda(float)#1}>(at::fill(float)::{lambda(float)#1})"},
        {"_ZZN2at4fillEvENKUlvE0_clEv", "at::fill()::{lambda()#2}::operator()() const"},
        {"_Z3rowRA4_Ki", "row(int const (&) [4])"},
        {"_ZNSt6vectorIiSaIiEEC2Ev", "std::vector<int, std::allocator<int> >::vector()"},
        {"_Z3", ""},
        {"_ZN2ck4kernIT_EvS", ""},
        {"_Z1fIiEvT9_", ""},
        {"saxpy", ""},
    };
    char out[HU_DEMANGLE_BYTES];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(names); i++) {
        const hu_str plain = hu_demangle(hu_str_of(names[i][0]), out);

        assert_int_equal(plain.n, strlen(names[i][1]));
        assert_memory_equal(plain.p, names[i][1], plain.n);
        for (size_t n = 0; n < strlen(names[i][0]); n++) /* half a name is none, or another one */
            hu_demangle((hu_str){names[i][0], n}, out);
    }
}

/* "P" three thousand times is no type, and a name that doubles itself ends at the room. */
static void endless_names_are_none(void **state)
{
    char name[4000], out[HU_DEMANGLE_BYTES];
    int  n = snprintf(name, sizeof name, "_Z1f");

    (void)state;
    memset(name + n, 'P', 3000);
    assert_int_equal(hu_demangle((hu_str){name, 3004}, out).n, 0);
    n = snprintf(name, sizeof name, "_Z1f1AI1BIiiEE");
    for (int i = 1; i < 30; i++)
        n += snprintf(name + n, sizeof name - (size_t)n, "1AIS%c_S%c_E", i < 10 ? '0' + i : 'A' + i - 10,
                      i < 10 ? '0' + i : 'A' + i - 10);
    assert_true(hu_demangle((hu_str){name, (size_t)n}, out).n <= sizeof out);
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_stays_behind_what_was_being_done), cmocka_unit_test(long_messages_are_cut_not_spilled),
        cmocka_unit_test(every_code_has_its_exit_status), cmocka_unit_test(integers_survive_the_way_to_text_and_back),
        cmocka_unit_test(microseconds_equal_128_bit_arithmetic), cmocka_unit_test(fixed_numbers_stay_in_their_buffer),
        cmocka_unit_test(every_code_point_survives), cmocka_unit_test(bad_bytes_are_taken_one_at_a_time),
        cmocka_unit_test(quantiles_reach_both_ends), cmocka_unit_test(json_text_is_unescaped_only_in_strings),
        cmocka_unit_test(counts_and_shares_are_short), cmocka_unit_test(no_name_leaves_its_column),
        cmocka_unit_test(names_of_kernels_keep_what_tells_them_apart),
        cmocka_unit_test(parts_are_found_as_memmem_finds_them),
        cmocka_unit_test(the_first_word_of_a_list_is_found_wherever_it_stands),
        cmocka_unit_test(names_of_functions_are_read_back), cmocka_unit_test(endless_names_are_none),
        cmocka_unit_test(a_report_larger_than_the_buffer_arrives_whole),
        cmocka_unit_test(a_closed_descriptor_is_an_error_at_close),
    };
    /* clang-format on */

    return cmocka_run_group_tests(tests, NULL, NULL);
}
