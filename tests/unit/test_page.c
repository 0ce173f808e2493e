/* SPDX-License-Identifier: Apache-2.0
 * test_page.c - what the page is made of: packed bytes, texts in memory, chosen pieces of time, notes. */
#include <isa-l/igzip_lib.h>

#include "base/pack.h"
#include "render/page/markup.h"
#include "timeline/notes.h"
#include "timeline/windows.h"
#include "testing.h"

static void unpack(hu_str packed, char *out, size_t n)
{
    struct inflate_state state;

    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    state.next_in = (uint8_t *)(uintptr_t)packed.p;
    state.avail_in = (uint32_t)packed.n;
    state.next_out = (uint8_t *)out;
    state.avail_out = (uint32_t)n + 1; /* one more than there should be */
    assert_int_equal(isal_inflate(&state), ISAL_DECOMP_OK);
    assert_int_equal(state.total_out, n);
    assert_int_equal(state.block_state, ISAL_BLOCK_FINISH);
}

static void what_is_packed_can_be_unpacked(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 65535, 65536, 3000001};
    hu_arena           *arena = hu_arena_new();
    uint64_t            random = 88172645463325252u;

    (void)state;
    for (size_t i = 0; i < HU_COUNT(sizes); i++) {
        for (int noise = 0; noise < 2; noise++) { /* zeros, and bytes that cannot be made smaller */
            char    *text = calloc(sizes[i] + 1, 1), *back = calloc(sizes[i] + 2, 1);
            hu_str   packed;
            hu_error err = {0};

            for (size_t k = 0; noise && k < sizes[i]; k++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                text[k] = (char)random;
            }
            assert_int_equal(hu_pack_gzip((hu_str){text, sizes[i]}, arena, &packed, &err), 0);
            unpack(packed, back, sizes[i]);
            assert_memory_equal(text, back, sizes[i]);
            free(text);
            free(back);
        }
    }
    hu_arena_free(arena);
}

static hu_str in_memory(hu_arena *arena, void (*write)(hu_out *, hu_str), hu_str s)
{
    hu_out  *out = hu_out_open_memory(arena);
    hu_error err = {0};
    hu_str   text;

    assert_non_null(out);
    write(out, s);
    assert_int_equal(hu_out_take(out, &text, &err), 0);
    return text;
}

static void base64_has_its_padding(void **state)
{
    static const char *const rows[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                          {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};
    hu_arena                *arena = hu_arena_new();

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++)
        assert_true(hu_str_equal(in_memory(arena, hu_pack_base64, hu_str_of(rows[i][0])), hu_str_of(rows[i][1])));
    hu_arena_free(arena);
}

/* More than is written at once: nothing is lost or twice at the border, whatever remains behind it. */
static void long_base64_is_whole(void **state)
{
    enum { TRIPLES = 5000 };
    static char bytes[3 * TRIPLES], want[4 * TRIPLES];
    hu_arena   *arena = hu_arena_new();

    (void)state;
    for (size_t i = 0; i < TRIPLES; i++) {
        memcpy(bytes + 3 * i, i % 2 ? "foo" : "\xff\xfe\xfd", 3);
        memcpy(want + 4 * i, i % 2 ? "Zm9v" : "//79", 4);
    }
    for (size_t n = 1020; n <= TRIPLES; n += n < 1030 ? 1 : 397) {
        const hu_str text = in_memory(arena, hu_pack_base64, (hu_str){bytes, 3 * n});

        assert_true(hu_str_equal(text, (hu_str){want, 4 * n}));
    }
    hu_arena_free(arena);
}

static void a_text_in_memory_is_whole(void **state)
{
    hu_arena *arena = hu_arena_new();
    hu_out   *out = hu_out_open_memory(arena);
    hu_error  err = {0};
    hu_str    text;

    (void)state;
    for (int i = 0; i < 100000; i++)
        hu_out_text(out, "abc");
    assert_int_equal(hu_out_bytes(out), 300000);
    assert_int_equal(hu_out_take(out, &text, &err), 0);
    assert_int_equal(text.n, 300000);
    for (size_t i = 0; i < text.n; i++)
        assert_int_equal(text.p[i], "abc"[i % 3]);
    hu_arena_free(arena);
}

static void markup_cannot_be_closed_by_a_name(void **state)
{
    hu_arena *arena = hu_arena_new();
    hu_str    text = in_memory(arena, hu_markup_text, HU_STR("</script>\"&\xe2\x80\xae\xff"));

    (void)state;
    assert_true(hu_str_equal(text, HU_STR("&lt;/script&gt;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd")));
    hu_arena_free(arena);
}

/* Ten steps of 100 ns with ten slices each; the eighth is three times as long. */
static void steps_are_chosen_by_what_one_looks_at(void **state)
{
    HU_VEC(char) text = {0};
    hu_arena  *arena = hu_arena_new();
    hu_step    at[10] = {0};
    hu_steps   steps = {.source = HU_STEPS_PROFILER, .at = at, .n = 10};
    hu_windows w;
    hu_error   err = {0};
    hu_trace  *t;
    char       words[160];
    int64_t    start = 0;

    (void)state;
    assert_true(hu_vec_reserve(arena, &text, 20000));
    text.n = (size_t)sprintf(text.at, "{\"traceEvents\":[");
    for (int i = 0; i < 10; i++) {
        const int64_t length = i == 7 ? 3000 : 1000 + i;

        at[i] = (hu_step){.start_ns = start, .end_ns = start + length, .number = i};
        for (int k = 0; k < 10; k++)
            text.n += (size_t)sprintf(
                text.at + text.n,
                "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":0.01}",
                i || k ? "," : "", (double)(start + k * 90) / 1e3);
        start += length;
    }
    sprintf(text.at + text.n, "]}");
    t = trace_of(text.at);
    assert_int_equal(hu_trace_slices(t).n, 100);

    assert_int_equal(hu_windows_choose(t, &steps, 0, 0, 0, 100, arena, &w, &err), 0);
    assert_int_equal(w.n, 0); /* all of it fits */
    assert_true(hu_windows_hold(&w, 5, 6));

    assert_int_equal(hu_windows_choose(t, &steps, 0, 0, 0, 30, arena, &w, &err), 0);
    assert_int_equal(w.n_steps, 3); /* the median, the slowest, a neighbour of the median */
    assert_int_equal(w.at[0].start_ns, at[3].start_ns);
    assert_int_equal(w.at[1].start_ns, at[4].start_ns);
    assert_int_equal(w.at[2].start_ns, at[7].start_ns);
    assert_false(hu_windows_hold(&w, at[5].start_ns, at[5].start_ns + 10));
    assert_true(hu_windows_hold(&w, at[3].start_ns, at[3].start_ns));
    assert_true(hu_windows_hold(&w, 0, start)); /* what goes over everything */
    hu_windows_say(&w, &steps, 30, words, sizeof words);
    assert_string_equal(words, "3 of 10 steps (30 of 100 slices): a typical one, the slowest, and their neighbours");

    assert_int_equal(hu_windows_choose(t, &steps, 0, 0, 0, 5, arena, &w, &err), 0);
    assert_int_equal(w.n_steps, 0); /* not even one step fits: the beginning */
    assert_int_equal(w.n, 1);
    assert_int_equal(hu_windows_choose(t, &steps, 0, 100, 200, 5, arena, &w, &err), 0);
    assert_true(w.is_asked);
    assert_int_equal(w.at[0].start_ns, 100);
    hu_trace_free(t);
    hu_arena_free(arena);
}

static void notes_say_what_was_recorded_once(void **state)
{
    hu_trace *t = trace_of(
        "{\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"grid\":[4,2,1],\"block\":[64,1,1],\"registers per thread\":32,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"l\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1,\"args\":{\"grid\":[4,2,1],\"block\":[64,1,1],\"registers per thread\":32,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,\"args\":{\"bytes\":2000000,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":[[8,3]]}},"
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"p\",\"pid\":1,\"tid\":1,\"ts\":8,\"dur\":1}]}");
    hu_arena *arena = hu_arena_new();
    hu_error  err = {0};
    hu_notes  notes;

    (void)state;
    assert_int_equal(hu_notes_init(&notes, t, arena, &err), 0);
    assert_int_equal(hu_notes_of(&notes, slice_named(t, "k")), hu_notes_of(&notes, slice_named(t, "l")));
    assert_true(
        hu_str_equal(hu_intern_get(&notes.texts, hu_notes_of(&notes, slice_named(t, "k"))), HU_STR("grid 4\xc3\x97"
                                                                                                   "2\xc3\x97"
                                                                                                   "1, block 64\xc3\x97"
                                                                                                   "1\xc3\x97"
                                                                                                   "1, 32 registers")));
    assert_true(hu_str_starts(hu_intern_get(&notes.texts, hu_notes_of(&notes, slice_named(t, "m"))), HU_STR("2.00 MB")));
    assert_true(hu_str_has(hu_intern_get(&notes.texts, hu_notes_of(&notes, slice_named(t, "o"))), HU_STR("[[8,3]]")));
    assert_int_equal(hu_notes_of(&notes, slice_named(t, "p")), 0);
    assert_false(notes.failed);
    hu_arena_free(arena);
    hu_trace_free(t);
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_can_be_unpacked), cmocka_unit_test(base64_has_its_padding), cmocka_unit_test(long_base64_is_whole),
        cmocka_unit_test(a_text_in_memory_is_whole), cmocka_unit_test(markup_cannot_be_closed_by_a_name),
        cmocka_unit_test(steps_are_chosen_by_what_one_looks_at), cmocka_unit_test(notes_say_what_was_recorded_once),
    };
    /* clang-format on */

    return cmocka_run_group_tests(tests, NULL, NULL);
}
