/* SPDX-License-Identifier: Apache-2.0
 * test_call_sites.c - names of this program's own code and objects, and maps that nobody should trust. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/call_sites.h"

int test_call_sites_zeros[64], test_call_sites_ones[4] = {1}, test_call_sites_last[1 << 16];

static char        folder[] = "/tmp/holdup-sites-XXXXXX", ring[64];
static hu_arena   *arena;
static hu_symbols *symbols;

static void write_maps(const char *text, size_t n)
{
    char  path[64];
    FILE *f;

    snprintf(ring, sizeof ring, "%s/1.ring", folder);
    snprintf(path, sizeof path, "%s/1.maps", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static hu_call_sites read_sites(const char *program)
{
    hu_call_sites s;

    assert_true(hu_call_sites_read(&s, hu_str_of(ring), hu_str_of(program), symbols, arena));
    return s;
}

static hu_str text_of(const hu_call_sites *s, uint32_t id)
{
    return id == HU_CALL_SITE_NONE ? HU_STR("") : s->names.at[id];
}

#define ASSERT_NAME(s, id, expected) assert_true(hu_str_equal(text_of(&(s), id), HU_STR(expected)))

/* Where this call returns to. */
__attribute__((noinline)) static uint64_t here(void)
{
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

__attribute__((noinline)) uint64_t test_call_sites_caller(void);
uint64_t                           test_call_sites_caller(void)
{
    volatile uint64_t address = here(); /* no jump instead of a call */

    return address;
}

static void names_itself(void **state)
{
    static char   maps[1 << 20];
    char          program[4096] = "";
    FILE         *f = fopen("/proc/self/maps", "r");
    const size_t  n = fread(maps, 1, sizeof maps, f);
    hu_call_sites s;

    (void)state;
    fclose(f);
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    write_maps(maps, n);
    s = read_sites(program);
    ASSERT_NAME(s, hu_call_sites_caller(&s, test_call_sites_caller()), "test_call_sites_caller");
    ASSERT_NAME(s, hu_call_sites_object(&s, (uintptr_t)test_call_sites_zeros), "test_call_sites_zeros");
    ASSERT_NAME(s, hu_call_sites_object(&s, (uintptr_t)&test_call_sites_zeros[63]), "test_call_sites_zeros+0xfc");
    ASSERT_NAME(s, hu_call_sites_object(&s, (uintptr_t)test_call_sites_ones), "test_call_sites_ones");
    ASSERT_NAME(s, hu_call_sites_object(&s, (uintptr_t)&test_call_sites_last[(1 << 16) - 1]),
                "test_call_sites_last+0x3fffc");
    assert_int_equal(hu_call_sites_object(&s, (uintptr_t)&s), HU_CALL_SITE_NONE);    /* on the stack */
    assert_int_equal(hu_call_sites_object(&s, (uintptr_t)arena), HU_CALL_SITE_NONE); /* of the heap */
    assert_int_equal(hu_call_sites_caller(&s, (uintptr_t)arena), HU_CALL_SITE_NONE);
    s = read_sites("/another/program");
    assert_true(hu_str_starts(text_of(&s, hu_call_sites_caller(&s, test_call_sites_caller())),
                              HU_STR("test_call_sites_caller (test_call_sites")));
}

static void takes_any_maps(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "zzz",
        "1000-2000",
        "1000-2000 r-xp 00000000 08:01 5 ",
        "2000-1000 r-xp 00000000 08:01 5 /x\n",
        "ffffffffffffffff-ffffffffffffffff r-xp ffffffffffffffff 08:01 5 /x\n",
        "fffffffffffffffff-10 r-xp 0 08:01 5 /x\n",
        "1000-9000 r-xp 00000000 08:01 5 /x\n4000-5000 r-xp 0 08:01 5 /y\n",
        "9000-a000 r-xp 00000000 08:01 5 /x\n1000-2000 r-xp 0 08:01 5 /y\n",
        "1000-2000 r-xp 00000000 08:01 5 [vdso]\n",
        "1000-fffffffffffffff0 r-xp ffffffffffffff00 08:01 5 /dev/null\n",
        "1000-2000 r-xp 00000000 08:01 5 /dev/zero",
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(texts); i++) {
        static const uint64_t addresses[] = {0, 1, 0x1000, 0x1fff, 0x4800, 0x9001, UINT64_MAX};
        hu_call_sites         s;

        write_maps(texts[i], strlen(texts[i]));
        s = read_sites("/x");
        for (size_t k = 0; k < HU_COUNT(addresses); k++) {
            (void)hu_call_sites_caller(&s, addresses[k]);
            assert_int_equal(hu_call_sites_object(&s, addresses[k]), HU_CALL_SITE_NONE);
        }
    }
    write_maps("1000-2000 r-xp 00003000 08:01 5 /no/such/file\n", 46);
    {
        hu_call_sites s = read_sites("/x");

        ASSERT_NAME(s, hu_call_sites_caller(&s, 0x1801), "file+0x3800");
        assert_int_equal(hu_call_sites_caller(&s, 0x2801), HU_CALL_SITE_NONE);
        ASSERT_NAME(s, hu_call_sites_address(&s, 0x1801), "0x1801");
    }
}

static void needs_no_maps(void **state)
{
    hu_call_sites s;

    (void)state;
    snprintf(ring, sizeof ring, "%s/2.ring", folder);
    s = read_sites("/x");
    assert_int_equal(hu_call_sites_caller(&s, test_call_sites_caller()), HU_CALL_SITE_NONE);
    ASSERT_NAME(s, hu_call_sites_address(&s, 16), "0x10");
    assert_int_equal(hu_call_sites_address(&s, 16), hu_call_sites_address(&s, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_itself),
        cmocka_unit_test(takes_any_maps),
        cmocka_unit_test(needs_no_maps),
    };
    int failed;

    arena = hu_arena_new();
    symbols = hu_symbols_new(arena);
    if (!mkdtemp(folder) || !symbols)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hu_symbols_free(symbols);
    hu_arena_free(arena);
    snprintf(ring, sizeof ring, "%s/1.maps", folder);
    unlink(ring);
    rmdir(folder);
    return failed;
}
