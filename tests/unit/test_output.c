/* SPDX-License-Identifier: Apache-2.0
 * test_output.c - files, units and names on their way out. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/short_name.h"
#include "base/units.h"
#include "testing.h"

static char folder[] = "/tmp/holdup-test-XXXXXX";

static void a_file_is_replaced_only_when_whole(void **state)
{
    char     path[128], text[16] = {0};
    hu_error err = {0};
    hu_out  *out;
    FILE    *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    out = hu_out_open_file(path, &err);
    hu_out_text(out, "old");
    assert_int_equal(hu_out_close(out, &err), 0);
    out = hu_out_open_file(path, &err);
    hu_out_text(out, "new");
    hu_out_abandon(out);
    file = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof text, file), 3);
    fclose(file);
    assert_string_equal(text, "old");
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left behind */
}

static void a_full_disk_is_an_error_and_a_device_stays_one(void **state)
{
    hu_error    err = {0};
    hu_out     *out = hu_out_open_file("/dev/full", &err);
    struct stat st;

    (void)state;
    assert_non_null(out);
    hu_out_text(out, "x");
    assert_int_equal(hu_out_close(out, &err), HU_EIO);
    assert_int_equal(lstat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_null(hu_out_open_file("/no/such/folder/x", &err));
    assert_int_equal(err.code, HU_EIO);
}

static void units_are_short(void **state)
{
    static const struct {
        double      ns;
        const char *text;
    } rows[] = {{0, "0 ns"},      {999, "999 ns"},        {999.6, "1.00 µs"}, {12345, "12.3 µs"}, {999949, "999.9 µs"},
                {1e6, "1.00 ms"}, {118.44e6, "118.4 ms"}, {61e9, "61.0 s"},   {-1500, "−1.50 µs"}};
    char text[HU_UNIT_BYTES];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        hu_units_time(text, rows[i].ns);
        assert_string_equal(text, rows[i].text);
    }
    hu_units_time(text, (double)NAN);
    assert_string_equal(text, "–");
    hu_units_bytes(text, 1.5e6);
    assert_string_equal(text, "1.50 MB");
    hu_units_count(text, -1234567);
    assert_string_equal(text, "-1,234,567");
    hu_units_count(text, 100);
    assert_string_equal(text, "100");
}

static void clip(const char *name, size_t width, bool is_name, const char *expected)
{
    char    text[256] = {0};
    int     ends[2];
    hu_out *out;

    assert_int_equal(pipe(ends), 0);
    out = hu_out_open_fd(ends[1]);
    if (is_name)
        hu_short_name_clip(out, hu_str_of(name), width);
    else
        hu_units_clip(out, hu_str_of(name), width);
    assert_int_equal(hu_out_close(out, NULL), 0);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof text - 1) >= 0);
    close(ends[0]);
    assert_string_equal(text, expected);
}

static void names_are_cut_and_made_harmless(void **state)
{
    (void)state;
    clip("short", 10, false, "short");
    clip("0123456789", 5, false, "0123…");
    clip("\033[2J\xff\xe2\x80\xae", 20, false, "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd");
    clip("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", 40, true,
         "native::vectorized_elementwise_kernel<…>");
    clip("void at::native::f<4>(int)", 16, true, "at::native::f<…>");
    clip("void k<int>(int)", 40, true, "void k<int>(int)");
    clip("std::enable_if<(((8)>(0)))&&a::b<c::d>::e, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)", 40,
         true, "vllm::fused_add_rms_norm_kernel<…>");
    clip("void at::native::(anonymous namespace)::softmax_warp_forward<float, float, 10>(float*, int)", 60, true,
         "at::native::(anonymous namespace)::softmax_warp_forward<…>");
}

/* The names, ended by NULL, as they stand below each other in a column of that width. */
static void short_names(size_t width, const char *const *names, const char *const *expected)
{
    hu_arena *arena = hu_arena_new();
    hu_str    all[8], *shorts;
    size_t    n = 0;

    for (; names[n]; n++)
        all[n] = hu_str_of(names[n]);
    shorts = hu_short_names(all, n, width, arena);
    assert_non_null(shorts);
    for (size_t i = 0; i < n; i++) {
        char text[256] = "";

        assert_true(hu_units_width(shorts[i]) <= width);
        assert_true(shorts[i].n < sizeof text);
        memcpy(text, shorts[i].p, shorts[i].n);
        assert_string_equal(text, expected[i]);
    }
    hu_arena_free(arena);
}

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void names_below_each_other_stay_apart(void **state)
{
    (void)state;
    short_names(33,
                LIST("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, int>(int)",
                     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, int>(int)",
                     "volta_sgemm_64x64_nt"),
                LIST("vectorized_elementw…FillFunctor<…", "vectorized_elem…CUDAFunctor_add<…", "volta_sgemm_64x64_nt"));
    /* a type's namespace says nothing; what does not differ is short as ever */
    short_names(20,
                LIST("void a::kernel<float, c10::Half>(int)", "void a::kernel<float, c10::BFloat16>(int)",
                     "void b::other<float, c10::Half>(int)"),
                LIST("kernel<…Half>", "kernel<…BFloat16>", "b::other<…>"));
    /* three of them: each argument in which one differs from another */
    short_names(24,
                LIST("void a::kernel<128, 1, true, false>(int)", "void a::kernel<256, 1, true, false>(int)",
                     "void a::kernel<128, 1, true, true>(int)"),
                LIST("kernel<128…false>", "kernel<256, 1, true, fa…", "kernel<128…true>"));
    /* names without arguments, where words of the name itself differ; parameters, where nothing else does */
    short_names(20, LIST("Cijk_Alik_Bljk_BBS_BH_MT128x256x32_SN", "Cijk_Alik_Bljk_BBS_BH_MT320x224x64_SN"),
                LIST("Cijk_A…MT128x256x32…", "Cijk_A…MT320x224x64…"));
    short_names(12, LIST("void f::function_name(float*)", "void f::function_name(double*)"),
                LIST("functi…floa…", "functi…doub…"));
    /* equal names stay equal, and what fits is not touched */
    short_names(8, LIST("a_b_c_d_e_f_g", "a_b_c_d_e_f_g", "x<y>(z)"), LIST("a_b_c_d…", "a_b_c_d…", "x<y>(z)"));
}

/* Names that part before the function's own name, which used to be taken for what stands behind it. */
static void names_that_part_in_their_namespaces(void **state)
{
#define LONG_PATH "a_namespace_of_some_template_library_that_is_quite_long_indeed_and_longer_than_any_column_"
    (void)state;
    short_names(60, LIST("x::kern", LONG_PATH "::x::kern"), LIST("x::kern", "a…kern"));
    short_names(33, LIST(LONG_PATH "one::kern", LONG_PATH "two::kern"), LIST("…one::kern", "…two::kern"));
    short_names(20, LIST("x::kern", LONG_PATH LONG_PATH "::x::kern", "zz::x::kern"),
                LIST("x::kern", "a…kern", "zz::x::kern"));
    short_names(12, LIST("one::middle::kernel(int)", "two::middle::kernel(int)"), LIST("one…kernel", "two…kernel"));
    short_names(12, LIST("void f::kernel_name(int)", "int f::kernel_name(int)"), LIST("void…kernel…", "int…kernel_…"));
    /* pieces that come to touch become one */
    short_names(24,
                LIST("void k<a1, b1, c1, d1, e1>()", "void k<a2, b1, c1, d1, e1>()", "void k<a1, b1, c2, d1, e1>()",
                     "void k<a1, b2, c1, d1, e1>()", "void k<a1, b1, c1, d2, e1>()"),
                LIST("k<a1…b1…c1, d1, e1>", "k<a2, b1, c1, d1, e1>", "k<a1…b1…c2, d1, e1>", "k<a1…b2, c1, d1, e1>",
                     "k<a1…c1…d2, e1>"));
#undef LONG_PATH
}

static void names_are_not_cut_inside_a_character(void **state)
{
#define ACCENTS "ééééééééééééééééééééé"
    (void)state;
    short_names(16, LIST("void kernel_name<Café>(float)", "void kernel_name<Cafè>(float)"),
                LIST("kernel_n…Café>", "kernel_n…Cafè>"));
    short_names(8, LIST("void kernel_name<é>(float)", "void kernel_name<è>(float)"), LIST("kern…é>", "kern…è>"));
    short_names(12, LIST(ACCENTS "ééè", ACCENTS "ééé", ACCENTS "ééê"), LIST("éééééé…ééè", "éééééé…ééé", "éééééé…ééê"));
    /* bytes that are no UTF-8 count as a character each */
    short_names(6, LIST("kern\x80\x80\x80\x80", "kern\x80\x80\x80\x81"), LIST("kern\x80…", "kern\x80…"));
    short_names(0, LIST("kernel", "kernels"), LIST("", ""));
#undef ACCENTS
}

/* A template library's path of many thousand namespaces, in time that grows with its length. */
static void long_paths_are_short_in_no_time(void **state)
{
    enum { PATH = 900000 };
    char        *text = malloc(PATH);
    char         out[HU_SHORT_NAME_BYTES];
    const hu_str name = {text, PATH};

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < PATH; i++)
        text[i] = "a::"[i % 3];
    memcpy(text + PATH - 6, "kernel", 6);
    assert_int_equal(hu_short_name(name, 20, out).n, 18);
    free(text);
}

static void wrap(const char *words, size_t column, size_t indent, size_t width, const char *expected)
{
    hu_arena *arena = hu_arena_new();
    hu_out   *out = hu_out_open_memory(arena);
    hu_str    text;

    hu_units_wrap(out, hu_str_of(words), column, indent, width);
    assert_int_equal(hu_out_take(out, &text, NULL), 0);
    assert_int_equal(text.n, strlen(expected));
    assert_memory_equal(text.p, expected, text.n);
    hu_arena_free(arena);
}

static void sentences_go_on_in_the_next_line(void **state)
{
    (void)state;
    wrap("one two three", 0, 0, 80, "one two three");
    wrap("one two three", 0, 0, 7, "one two\nthree");
    wrap("one two three", 4, 2, 8, "one\n  two\n  three");
    wrap("  one   two  ", 0, 0, 80, "one two");
    wrap("caf\xc3\xa9 au lait", 0, 0, 7, "caf\xc3\xa9 au\nlait");
    wrap("0123456789 a", 0, 0, 5, "0123…\na");
    wrap("a\033b", 0, 0, 5,
         "a\xef\xbf\xbd"
         "b");
    wrap("", 0, 0, 5, "");
    wrap("takes 59 % of", 0, 0, 8, "takes\n59 % of"); /* a number goes with its unit */
    wrap("takes 1.00 ms, 3", 0, 0, 10, "takes\n1.00 ms, 3");
    wrap("takes 59 steps", 0, 0, 8, "takes 59\nsteps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_only_when_whole),
        cmocka_unit_test(a_full_disk_is_an_error_and_a_device_stays_one),
        cmocka_unit_test(units_are_short),
        cmocka_unit_test(names_are_cut_and_made_harmless),
        cmocka_unit_test(sentences_go_on_in_the_next_line),
        cmocka_unit_test(names_below_each_other_stay_apart),
        cmocka_unit_test(names_that_part_in_their_namespaces),
        cmocka_unit_test(names_are_not_cut_inside_a_character),
        cmocka_unit_test(long_paths_are_short_in_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
