/* SPDX-License-Identifier: Apache-2.0
 * test_perf.c - mappings of processes, call chains, symbol tables and maps of JITs, the good and the bad. */
#include "testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/arena.h"
#include "record/elf_symbols.h"
#include "record/perf.h"
#include "record/perf_armed.h"
#include "record/perf_file.h"
#include "record/perf_spaces.h"
#include "record/perf_stacks.h"
#include "record/symbols.h"

static void assert_text(hu_str found, const char *expected)
{
    if (!hu_str_equal(found, hu_str_of(expected)))
        fail_msg("\"%.*s\" instead of \"%s\"", HU_FMT(found), expected);
}

static void expect(const hu_perf_spaces *s, uint32_t pid, uint64_t address, uint32_t module, uint64_t offset)
{
    const hu_perf_place *p = hu_perf_spaces_find(s, pid, address);

    assert_non_null(p);
    assert_int_equal(p->module, module);
    assert_int_equal(address - p->start + p->offset, offset);
}

static void mappings_cover_what_was_there_before(void **state)
{
    hu_arena      *arena = hu_arena_new();
    hu_perf_spaces s;

    (void)state;
    assert_true(hu_perf_spaces_init(&s, arena));
    assert_null(hu_perf_spaces_find(&s, 1, 100));
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){100, 200, 1000, 1}));
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){300, 400, 0, 2}));
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){140, 160, 7, 3})); /* in the middle: three pieces */
    expect(&s, 1, 139, 1, 1039);
    expect(&s, 1, 140, 3, 7);
    expect(&s, 1, 160, 1, 1060);
    expect(&s, 1, 199, 1, 1099);
    assert_null(hu_perf_spaces_find(&s, 1, 200));
    assert_null(hu_perf_spaces_find(&s, 1, 299));
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){150, 350, 0, 4})); /* over the ends of two */
    expect(&s, 1, 149, 3, 16);
    expect(&s, 1, 150, 4, 0);
    expect(&s, 1, 349, 4, 199);
    expect(&s, 1, 350, 2, 50);
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){0, UINT64_MAX, 0, 5})); /* over all */
    expect(&s, 1, 0, 5, 0);
    assert_int_equal(s.spaces.at[0].places.n, 1);
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){9, 9, 0, 6})); /* empty, and the wrong way round */
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){9, 8, 0, 6}));
    assert_int_equal(s.spaces.at[0].places.n, 1);
    hu_arena_free(arena);
}

/* As a list of single bytes says. */
static void mappings_are_those_of_a_simple_model(void **state)
{
    enum { SIZE = 64 };
    hu_arena      *arena = hu_arena_new();
    hu_perf_spaces s;
    uint32_t       model[SIZE] = {0}, seed = 1;

    (void)state;
    assert_true(hu_perf_spaces_init(&s, arena));
    for (uint32_t round = 1; round < 3000; round++) {
        uint64_t start, end;

        seed = seed * 1664525u + 1013904223u;
        start = seed >> 8 & (SIZE - 1);
        end = start + (seed >> 20 & 15);
        end = end > SIZE ? SIZE : end;
        assert_true(hu_perf_spaces_map(&s, 7, &(hu_perf_place){start, end, start, round}));
        for (uint64_t i = start; i < end; i++)
            model[i] = round;
        for (uint64_t i = 0; i < SIZE; i++) {
            const hu_perf_place *p = hu_perf_spaces_find(&s, 7, i);

            assert_int_equal(p ? p->module : 0, model[i]);
            assert_true(!p || i - p->start + p->offset == i);
        }
    }
    hu_arena_free(arena);
}

static void a_child_has_its_own_from_its_first_change(void **state)
{
    hu_arena      *arena = hu_arena_new();
    hu_perf_spaces s;

    (void)state;
    assert_true(hu_perf_spaces_init(&s, arena));
    assert_true(hu_perf_spaces_map(&s, 1, &(hu_perf_place){100, 200, 0, 1}));
    assert_true(hu_perf_spaces_fork(&s, 1, 2) && hu_perf_spaces_fork(&s, 2, 3) && hu_perf_spaces_fork(&s, 1, 1));
    assert_int_equal(s.spaces.n, 1); /* shared */
    assert_true(hu_perf_spaces_map(&s, 2, &(hu_perf_place){100, 200, 0, 2}));
    expect(&s, 1, 150, 1, 50);
    expect(&s, 2, 150, 2, 50);
    expect(&s, 3, 150, 1, 50);
    assert_true(hu_perf_spaces_clear(&s, 1)); /* an exec */
    assert_null(hu_perf_spaces_find(&s, 1, 150));
    expect(&s, 3, 150, 1, 50);
    assert_true(hu_perf_spaces_clear(&s, 3) && hu_perf_spaces_clear(&s, 3));
    assert_int_equal(s.unused.n, 1); /* nobody's: used again */
    assert_true(hu_perf_spaces_map(&s, 4, &(hu_perf_place){1, 2, 0, 9}));
    assert_int_equal(s.spaces.n, 2);
    assert_null(hu_perf_spaces_find(&s, 4, 150));
    for (uint32_t i = 0; i < 20000; i++)
        assert_true(hu_perf_spaces_map(&s, 5, &(hu_perf_place){10 * i, 10 * i + 5, 0, 1}));
    assert_true(s.dropped > 0 && s.spaces.at[s.spaces.n - 1].places.n <= 8192);
    hu_arena_free(arena);
}

static void chains_become_stacks(void **state)
{
    hu_arena      *arena = hu_arena_new();
    hu_perf_files  f = {.arena = arena};
    hu_perf_spaces spaces;
    hu_perf_stacks s;
    hu_perf_module module = {.kind = HU_MODULE_FILE};
    hu_perf_place  place = {0x1000, 0x2000, 0x400, 0};
    const uint64_t user = (uint64_t)PERF_CONTEXT_USER, kernel = (uint64_t)PERF_CONTEXT_KERNEL;
    const uint64_t chain[] = {kernel, 0xffffffff81000000, user, 0x1010, 0x1021, 0x1031, 0x77, 0x1041};
    uint32_t       stack, again;

    (void)state;
    assert_true(hu_intern_init(&f.texts, arena) && hu_map_init(&f.thread_of, arena, 4) &&
                hu_perf_spaces_init(&spaces, arena) && hu_perf_stacks_init(&s, &f, &spaces, arena));
    module.path = hu_intern_add(&f.texts, HU_STR("/bin/x"));
    place.module = hu_perf_stacks_module(&s, &module);
    assert_int_equal(hu_perf_stacks_module(&s, &module), place.module);
    assert_true(hu_perf_spaces_map(&spaces, 5, &place));
    stack = hu_perf_stacks_chain(&s, 5, (const char *)chain, HU_COUNT(chain), NULL, false);
    assert_int_equal(f.stacks.at[stack].depth, 3); /* 0x77 lies nowhere: what is behind it is garbage */
    assert_int_equal(f.frames.at[f.stacks.at[stack].frame].at, 0x410);
    stack = f.stacks.at[stack].caller;
    assert_int_equal(f.frames.at[f.stacks.at[stack].frame].at, 0x420); /* in the call, not behind it */
    again = hu_perf_stacks_chain(&s, 5, (const char *)chain, HU_COUNT(chain), NULL, true);
    assert_int_equal(f.stacks.at[again].depth, 4);
    assert_int_equal(f.frames.at[f.stacks.at[again].frame].module, s.kernel);
    assert_int_equal(hu_perf_stacks_chain(&s, 5, (const char *)chain, 2, NULL, false), 0);
    assert_int_equal(hu_perf_stacks_chain(&s, 5, (const char *)chain, 0, NULL, false), 0);
    stack = hu_perf_stacks_chain(&s, 6, (const char *)(chain + 3), 1, NULL, false); /* a process without mappings */
    assert_int_equal(f.frames.at[f.stacks.at[stack].frame].module, s.unknown);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("/usr/lib/libc.so.6")), HU_MODULE_FILE);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("//anon")), HU_MODULE_JIT);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("/memfd:jit (deleted)")), HU_MODULE_JIT);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("[heap]")), HU_MODULE_JIT);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("")), HU_MODULE_JIT);
    assert_int_equal(hu_perf_stacks_kind(HU_STR("[vdso]")), HU_MODULE_UNKNOWN);
    hu_arena_free(arena);
}

/* symbols */

__attribute__((noinline, used)) int a_function_to_find(int x);

__attribute__((noinline, used)) int a_function_to_find(int x)
{
    return x * 3 + 1;
}

/* Where the function lies in this program's file, by what the kernel says of this process. */
static uint64_t offset_of_function(void)
{
    const uint64_t address = (uint64_t)(uintptr_t)&a_function_to_find;
    FILE          *maps = fopen("/proc/self/maps", "r");
    char           line[4096];
    uint64_t       found = 0;

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long start, end, offset;

        if (sscanf(line, "%llx-%llx %*4s %llx", &start, &end, &offset) == 3 && address >= start && address < end)
            found = address - start + offset;
    }
    if (maps)
        fclose(maps);
    return found;
}

static void functions_are_found_in_elf_files(void **state)
{
    hu_arena      *arena = hu_arena_new();
    hu_symbols    *symbols = hu_symbols_new(arena);
    const uint64_t offset = offset_of_function();
    hu_elf_symbols elf;
    uint8_t        other[20] = {1};

    (void)state;
    assert_true(offset != 0 && symbols);
    assert_text(hu_symbols_find(symbols, HU_STR("/proc/self/exe"), NULL, 0, offset), "a_function_to_find");
    assert_text(hu_symbols_find(symbols, HU_STR("/proc/self/exe"), other, sizeof other, offset), "");
    assert_true(hu_elf_symbols_read(&elf, "/proc/self/exe", arena));
    if (elf.build_id_bytes)
        assert_text(hu_symbols_find(symbols, HU_STR("/proc/self/exe"), elf.build_id, elf.build_id_bytes, offset),
                    "a_function_to_find");
    assert_text(hu_symbols_find(symbols, HU_STR("/proc/self/exe"), NULL, 0, UINT64_MAX), "");
    for (const char *const *bad = (const char *const[]){"/nonexistent", "/dev/zero", "/tmp", "/proc/self/status", "", NULL};
         *bad; bad++)
        assert_text(hu_symbols_find(symbols, hu_str_of(*bad), NULL, 0, offset), "");
    hu_symbols_free(symbols);
    hu_arena_free(arena);
}

/* Every header field is turned into something else; nothing may crash or hang. */
static void damaged_elf_files_are_read_as_far_as_they_go(void **state)
{
    enum { MOST = 4 << 20 };
    char          path[] = "/tmp/test_perf_XXXXXX";
    char         *good = malloc(MOST);
    const int     from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
    const ssize_t n = read(from, good, MOST);
    uint32_t      seed = 7;

    (void)state;
    assert_true(good && n > 4096 && to >= 0);
    assert_int_equal(pwrite(to, good, (size_t)n, 0), n);
    for (int round = 0; round < 600; round++) {
        hu_arena      *arena = hu_arena_new();
        hu_elf_symbols elf;
        const size_t   where = round < 200 ? (size_t)round % 64 : (seed >> 3) % (size_t)(round % 2 ? 1024 : n);
        const char     damage = (char)(seed >> 24);

        seed = seed * 1664525u + 1013904223u;
        assert_int_equal(pwrite(to, &damage, 1, (off_t)where), 1);
        hu_elf_symbols_read(&elf, path, arena);
        hu_elf_symbols_find(&elf, seed);
        assert_int_equal(pwrite(to, good + where, 1, (off_t)where), 1);
        hu_arena_free(arena);
    }
    for (ssize_t size = n; size > 0; size = size * 3 / 4) {
        hu_arena      *arena = hu_arena_new();
        hu_elf_symbols elf;

        assert_int_equal(ftruncate(to, size), 0);
        hu_elf_symbols_read(&elf, path, arena);
        hu_arena_free(arena);
    }
    close(from);
    close(to);
    unlink(path);
    free(good);
}

static void maps_of_jits_are_read_when_they_are_ours(void **state)
{
    static const char text[] = "1000 20 first\nnonsense\n1020 zz bad\n2000 10 py::f:/a b.py\nffffffffffffffff1 1 wide\n"
                               "1000 10 later\n0x3000 8 prefixed\n4000 4";
    hu_arena         *arena = hu_arena_new();
    hu_symbols       *symbols = hu_symbols_new(arena);
    const uint32_t    pid = 4000000000u;
    const char       *path = "/tmp/perf-4000000000.map";
    FILE             *file;

    (void)state;
    unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_text(hu_symbols_find_jit(symbols, pid, 0x1005), "later");
    assert_text(hu_symbols_find_jit(symbols, pid, 0x200f), "py::f:/a b.py");
    assert_text(hu_symbols_find_jit(symbols, pid, 0x2010), "");
    assert_text(hu_symbols_find_jit(symbols, pid, 0x3007), "prefixed");
    assert_text(hu_symbols_find_jit(symbols, pid, 0xfff), "");
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_text(hu_symbols_find_jit(hu_symbols_new(arena), pid, 0x1005), "");
    unlink(path);
    if (geteuid() == 0) {
        file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_text(hu_symbols_find_jit(hu_symbols_new(arena), pid, 0x1005), ""); /* somebody else's */
        unlink(path);
    }
    hu_symbols_free(symbols);
    hu_arena_free(arena);
}

static void what_cannot_be_written_is_said(void **state)
{
    const hu_perf_options options = {.hz = 99};
    hu_error              why = {0};
    hu_perf              *perf = hu_perf_start(&options, getpid(), "/nonexistent/session", &why);

    (void)state;
    assert_null(perf);
    assert_int_equal(why.code, HU_EIO);
    assert_true(why.text[0] != '\0');
    assert_int_equal(hu_perf_stop(NULL), 0);
    hu_perf_round(NULL, true);
}

typedef struct {
    struct perf_event_header header;
    hu_perf_trailer          who;
} switch_record;

typedef struct {
    struct perf_event_header header;
    uint32_t                 pid, parent, tid, parent_tid;
    uint64_t                 time;
    hu_perf_trailer          who;
} exit_record;

static switch_record switch_of(uint32_t tid, int64_t time_ns, unsigned type)
{
    return (switch_record){{type, 0, sizeof(switch_record)}, {1, tid, time_ns, 0, 0}};
}

/* Samples and switches go; the newest switch of each thread that lives comes back, on the CPU where it was made. */
static void what_is_kept_while_nothing_is_recorded(void **state)
{
    hu_arena         *arena = hu_arena_new();
    hu_perf_armed    *a = hu_perf_armed_new(arena);
    const exit_record end = {{PERF_RECORD_EXIT, 0, sizeof end}, 1, 0, 8, 0, 40, {1, 8, 40, 0, 0}};
    struct {
        switch_record first, sample, second, third;
        exit_record   end;
    } one = {switch_of(7, 10, PERF_RECORD_SWITCH), switch_of(7, 15, PERF_RECORD_SAMPLE),
             switch_of(8, 20, PERF_RECORD_SWITCH), switch_of(7, 30, PERF_RECORD_SWITCH), end};
    switch_record other[2] = {switch_of(7, 25, PERF_RECORD_SWITCH), switch_of(9, 5, PERF_RECORD_SWITCH)};
    switch_record third = switch_of(10, 50, PERF_RECORD_SWITCH), last[2];
    const char   *taken;
    size_t        n;
    uint64_t      records;

    (void)state;
    assert_non_null(a);
    assert_int_equal(hu_perf_armed_keep(a, 0, (char *)&one, sizeof one, &records), sizeof end);
    assert_int_equal(records, 1);
    assert_memory_equal(&one, &end, sizeof end);
    assert_int_equal(hu_perf_armed_keep(a, 1, (char *)other, sizeof other, &records), 0);
    assert_int_equal(hu_perf_armed_keep(a, 1, (char *)&third, sizeof third, &records), 0);
    third.header.size = 4; /* no record: the rest is not looked at */
    assert_int_equal(hu_perf_armed_keep(a, 1, (char *)&third, sizeof third, &records), 0);

    taken = hu_perf_armed_take(a, 0, &n, &records); /* thread 8 has ended; of 7, what the other ring has is older */
    assert_int_equal(n, sizeof *last);
    assert_int_equal(records, 1);
    memcpy(last, taken, sizeof *last);
    assert_int_equal(last[0].who.tid, 7);
    assert_int_equal(last[0].who.time_ns, 30);
    taken = hu_perf_armed_take(a, 1, &n, &records);
    assert_int_equal(n, sizeof last);
    memcpy(last, taken, sizeof last);
    assert_int_equal(last[0].who.tid, 9);
    assert_int_equal(last[1].who.tid, 10);
    hu_perf_armed_take(a, 1, &n, &records);
    assert_int_equal(n, 0);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_while_nothing_is_recorded),
        cmocka_unit_test(mappings_cover_what_was_there_before),
        cmocka_unit_test(mappings_are_those_of_a_simple_model),
        cmocka_unit_test(a_child_has_its_own_from_its_first_change),
        cmocka_unit_test(chains_become_stacks),
        cmocka_unit_test(functions_are_found_in_elf_files),
        cmocka_unit_test(damaged_elf_files_are_read_as_far_as_they_go),
        cmocka_unit_test(maps_of_jits_are_read_when_they_are_ours),
        cmocka_unit_test(what_cannot_be_written_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
