/* SPDX-License-Identifier: Apache-2.0
 * test_frames.c - callers by .eh_frame: of this very program, of a stack that is written here, and of damaged files. */
#include "testing.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/call_frames.h"
#include "record/elf_symbols.h"
#include "record/local_names.h"
#include "record/perf_stacks.h"

#ifdef __x86_64__

__attribute__((noinline, used)) int a_leaf(int x);

__attribute__((noinline, used)) int a_leaf(int x)
{
    return x * 5 + 2;
}

typedef struct {
    uint64_t start, end, offset;
} mapping;

/* Of an address in this process. */
static mapping mapping_of(uint64_t address)
{
    FILE   *maps = fopen("/proc/self/maps", "r");
    char    line[4096];
    mapping found = {0};

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long start, end, offset;

        if (sscanf(line, "%llx-%llx %*4s %llx", &start, &end, &offset) == 3 && address >= start && address < end)
            found = (mapping){start, end, offset};
    }
    if (maps)
        fclose(maps);
    assert_true(found.end > 0);
    return found;
}

static const char *own_path(void)
{
    static char path[4096];
    ssize_t     n = readlink("/proc/self/exe", path, sizeof path - 1);

    assert_true(n > 0);
    path[n] = '\0';
    return path;
}

static void a_function_begins_above_its_return_address(void **state)
{
    const uint64_t  address = (uint64_t)(uintptr_t)&a_leaf;
    const mapping   m = mapping_of(address);
    const uint64_t  offset = address - m.start + m.offset;
    hu_arena       *arena = hu_arena_new();
    hu_call_frames *f = hu_call_frames_open(own_path(), NULL, 0, arena);
    hu_call_frame   r;

    (void)state;
    assert_non_null(f);
    r = hu_call_frames_find(f, offset);
    assert_true(r.is_known);
    assert_false(r.is_from_bp);
    assert_int_equal(r.top, 8);
    assert_int_equal(r.bp, 0);
    assert_true(hu_call_frames_start(f, offset) != 0);
    assert_int_equal(hu_call_frames_start(f, offset + 2), hu_call_frames_start(f, offset));
    assert_false(hu_call_frames_find(f, 0).is_known); /* the head of the file */
    assert_false(hu_call_frames_find(f, UINT64_MAX).is_known);
    assert_int_equal(hu_call_frames_start(f, 0), 0);
    hu_call_frames_close(f);
    assert_null(hu_call_frames_open("/dev/null", NULL, 0, arena));
    assert_null(hu_call_frames_open("/nonexistent", NULL, 0, arena));
    assert_null(hu_call_frames_open(own_path(), (const uint8_t *)"not its build id....", 20, arena));
    hu_call_frames_close(NULL);
    hu_arena_free(arena);
}

/* A leaf that saves nothing, called from here; the register holds the frame of the caller's caller. */
static void a_hidden_caller_is_found(void **state)
{
    const uint64_t leaf = (uint64_t)(uintptr_t)&a_leaf, back = (uint64_t)(uintptr_t)&mapping_of + 1;
    const mapping  m = mapping_of(leaf);
    const uint64_t stack[4] = {back, 7, 8, 9};
    hu_arena      *arena = hu_arena_new();
    hu_perf_files  files = {.arena = arena};
    hu_perf_spaces spaces;
    hu_perf_stacks stacks;
    hu_user_stack  user = {.bp = 0x7000, .sp = 0x6000, .stack = (const char *)stack, .bytes = sizeof stack};
    hu_perf_module module = {.kind = HU_MODULE_FILE};
    hu_perf_place  place = {.start = m.start, .end = m.end, .offset = m.offset};
    uint64_t       chain[8] = {leaf, back + 3};
    size_t         n;

    (void)state;
    assert_true(hu_intern_init(&files.texts, arena) && hu_map_init(&files.thread_of, arena, 8) &&
                hu_perf_spaces_init(&spaces, arena) && hu_perf_stacks_init(&stacks, &files, &spaces, arena));
    module.path = hu_intern_add(&files.texts, hu_str_of(own_path()));
    place.module = hu_perf_stacks_module(&stacks, &module);
    assert_true(hu_perf_spaces_map(&spaces, 5, &place));

    n = hu_unwind_correct(stacks.unwind, 5, &user, chain, 2, HU_COUNT(chain));
    assert_int_equal(n, 3); /* between the two */
    assert_int_equal(chain[0], leaf);
    assert_int_equal(chain[1], back);
    assert_int_equal(chain[2], back + 3);

    chain[1] = back; /* it is there already */
    chain[2] = back + 3;
    assert_int_equal(hu_unwind_correct(stacks.unwind, 5, &user, chain, 3, HU_COUNT(chain)), 3);
    assert_int_equal(chain[2], back + 3);

    user.bp = 0x5000; /* no frame of a caller */
    chain[1] = back + 3;
    assert_int_equal(hu_unwind_correct(stacks.unwind, 5, &user, chain, 2, HU_COUNT(chain)), 2);
    assert_int_equal(chain[1], back);

    user.bytes = 4; /* nothing was copied */
    chain[1] = back + 3;
    assert_int_equal(hu_unwind_correct(stacks.unwind, 5, &user, chain, 2, HU_COUNT(chain)), 2);
    assert_int_equal(chain[1], back + 3);
    assert_int_equal(hu_unwind_correct(stacks.unwind, 6, &user, chain, 2, HU_COUNT(chain)), 2); /* of nobody's process */
    assert_int_equal(hu_unwind_correct(stacks.unwind, 5, &user, chain, 0, HU_COUNT(chain)), 0);
    hu_perf_stacks_done(&stacks);
    hu_arena_free(arena);
}

/* What libc chose for this CPU has no symbol where libc is stripped, and is still strlen. */
static void what_the_linker_chose_has_a_name(void **state)
{
    void           *chosen = dlsym(RTLD_DEFAULT, "strlen");
    const uint64_t  address = (uint64_t)(uintptr_t)chosen;
    const mapping   m = mapping_of(address);
    const uint64_t  offset = address - m.start + m.offset;
    hu_arena       *arena = hu_arena_new();
    hu_local_names *l = hu_local_names_new("/nonexistent", arena);
    hu_elf_symbols  file;
    Dl_info         where;
    bool            is_chosen = false;

    (void)state;
    assert_true(l && dladdr(chosen, &where) && hu_elf_symbols_read(&file, where.dli_fname, arena));
    for (size_t i = 0; i < file.symbols.n; i++)
        is_chosen |= file.symbols.at[i].is_chosen && strcmp(file.names + file.symbols.at[i].name, "strlen") == 0;
    if (is_chosen && file.is_stripped) {
        const hu_str path = hu_str_of(where.dli_fname);

        assert_int_equal(hu_elf_symbols_find(&file, offset).n, 0);
        assert_true(hu_str_has(hu_local_names_find(l, path, &file, offset), HU_STR("strlen")));
        assert_true(hu_str_has(hu_local_names_find(l, path, &file, offset + 3), HU_STR("strlen")));
        assert_int_equal(hu_local_names_find(l, path, &file, 0).n, 0);
        file.build_id[0] ^= 1; /* another file than the one that is loaded */
        hu_local_names_free(l);
        l = hu_local_names_new("/nonexistent", arena);
        assert_int_equal(hu_local_names_find(l, path, &file, offset).n, 0);
    } else {
        fprintf(stderr, "SKIPPED: this libc names strlen itself\n");
    }
    hu_local_names_free(l);
    hu_local_names_free(NULL);
    hu_arena_free(arena);
}

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *data;

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    data = malloc(*n);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *n, f), *n);
    fclose(f);
    return data;
}

/* The tables are a small part of the file: damage is put there. */
static void damaged_tables_say_nothing_wrong_of_memory(void **state)
{
    size_t       n;
    char        *data = read_all(own_path(), &n), path[] = "/tmp/holdup-frames-XXXXXX";
    const int    fd = mkstemp(path);
    uint64_t     random = 88172645463325252u, from = 0, length = 0;
    const size_t phoff = (size_t)hu_load_u64(data + 32);

    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < 32; i++) { /* PT_GNU_EH_FRAME, and what follows it */
        uint32_t type;

        memcpy(&type, data + phoff + i * 56, sizeof type);
        if (type != 0x6474e550)
            continue;
        from = hu_load_u64(data + phoff + i * 56 + 8);
        length = hu_load_u64(data + phoff + i * 56 + 32) * 3;
        break;
    }
    assert_true(from > 0 && from < n);
    length = from + length < n ? length : n - from;
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    for (int round = 0; round < 300; round++) {
        hu_arena       *arena = hu_arena_new();
        hu_call_frames *f;

        for (int i = 0; i < 40; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            data[from + random % length] = (char)(random >> 32);
        }
        assert_int_equal(pwrite(fd, data + from, (size_t)length, (off_t)from), (ssize_t)length);
        f = hu_call_frames_open(path, NULL, 0, arena);
        for (uint64_t offset = 0; f && offset < n; offset += 997)
            (void)hu_call_frames_find(f, offset);
        hu_call_frames_close(f);
        hu_arena_free(arena);
    }
    close(fd);
    unlink(path);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_begins_above_its_return_address),
        cmocka_unit_test(a_hidden_caller_is_found),
        cmocka_unit_test(what_the_linker_chose_has_a_name),
        cmocka_unit_test(damaged_tables_say_nothing_wrong_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* read for x86-64 alone */
}

#endif
