/* SPDX-License-Identifier: Apache-2.0
 * symbols.c - files by path, maps of JITs by process, and C++ names as people write them.
 *
 * A JIT may tell where its functions lie in /tmp/perf-PID.map, lines "START SIZE name" in hexadecimal (Linux,
 * tools/perf/Documentation/jit-interface.txt; Python 3.12 does with -X perf).  Everybody can write into /tmp: the file
 * counts when it belongs to this user.  Names are demangled by libstdc++'s __cxa_demangle, when that library is there.
 */
#include "record/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/number.h"
#include "record/elf_lines.h"
#include "record/elf_symbols.h"
#include "record/local_names.h"

enum { PATH_MOST = 4096, NAME_MOST = 1024, MAP_FILE_MOST = 256 << 20, LINES_MOST = 1 << 30 };

typedef char *demangle_function(const char *mangled, char *buffer, size_t *length, int *status);

typedef struct {
    uint64_t start, size;
    hu_str   name;
} jit_function;

typedef struct {
    HU_VEC(jit_function) functions; /* by start */
} jit_map;

typedef struct {
    hu_intern paths;
    HU_VEC(hu_elf_symbols) files; /* by id of paths */
} file_set;

struct hu_symbols {
    hu_arena *arena;
    file_set  functions, objects;
    hu_map    jit_of; /* pid: place in jits */
    HU_VEC(jit_map) jits;
    hu_intern line_paths;
    size_t    line_bytes;       /* of tables that were searched, each time: beyond LINES_MOST no more are */
    HU_VEC(hu_elf_lines) lines; /* by id of line_paths */
    hu_local_names    *locals;
    void              *library;
    demangle_function *demangle;
    bool               has_looked; /* for the library */
};

hu_symbols *hu_symbols_new(hu_arena *arena)
{
    hu_symbols *s = hu_arena_calloc(arena, 1, sizeof *s);

    if (!s || !hu_intern_init(&s->functions.paths, arena) || !hu_intern_init(&s->objects.paths, arena) ||
        !hu_intern_init(&s->line_paths, arena) || !hu_map_init(&s->jit_of, arena, 8))
        return NULL;
    s->arena = arena;
    s->locals = hu_local_names_new(HU_DEBUG_FOLDER, arena);
    return s->locals ? s : NULL;
}

void hu_symbols_free(hu_symbols *s)
{
    if (s)
        hu_local_names_free(s->locals);
    if (s && s->library)
        dlclose(s->library);
}

/* ---- C++ names --------------------------------------------------------------------------------------------------- */

static hu_str readable(hu_symbols *s, hu_str name)
{
    char *text;
    int   status = -1;

    if (name.n > NAME_MOST)
        name.n = NAME_MOST;
    if (!hu_str_starts(name, HU_STR("_Z")) || name.n == NAME_MOST)
        return name;
    if (!s->has_looked) {
        void *symbol;

        s->has_looked = true;
        s->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        symbol = s->library ? dlsym(s->library, "__cxa_demangle") : NULL;
        memcpy(&s->demangle, &symbol, sizeof symbol);
    }
    text = s->demangle ? s->demangle(name.p, NULL, NULL, &status) : NULL;
    if (status == 0 && text) {
        const hu_str all = hu_str_of(text);
        const hu_str kept = hu_arena_copy(s->arena, (hu_str){all.p, all.n < NAME_MOST ? all.n : NAME_MOST});

        name = kept.p ? kept : name;
    }
    free(text);
    return name;
}

hu_str hu_symbols_demangle(hu_symbols *symbols, hu_str name)
{
    return readable(symbols, name);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* NULL without memory. */
static const hu_elf_symbols *open_file(hu_symbols *s, file_set *of, hu_str path,
                                       bool (*read)(hu_elf_symbols *out, const char *path, hu_arena *arena))
{
    const uint32_t id = hu_intern_add(&of->paths, path);
    const size_t   known = of->files.n;

    if (id == UINT32_MAX)
        return NULL;
    while (of->files.n <= id)
        if (!hu_vec_push(s->arena, &of->files, (hu_elf_symbols){0}))
            return NULL;
    if (id >= known) {
        char text[PATH_MOST + 1];

        if (path.n <= PATH_MOST) {
            memcpy(text, path.p, path.n);
            text[path.n] = '\0';
            if (!read(&of->files.at[id], text, s->arena))
                of->files.at[id].symbols.n = 0;
        }
    }
    return &of->files.at[id];
}

bool hu_symbols_address(hu_symbols *s, hu_str path, uint64_t offset, uint64_t *address)
{
    const hu_elf_symbols *file = path.n ? open_file(s, &s->functions, path, hu_elf_symbols_read) : NULL;

    return file && hu_elf_symbols_address(file, offset, address);
}

/* NULL without memory. */
static const hu_elf_lines *open_lines(hu_symbols *s, hu_str path)
{
    const uint32_t id = hu_intern_add(&s->line_paths, path);
    const size_t   known = s->lines.n;
    char           text[PATH_MOST + 1];

    if (id == UINT32_MAX || path.n > PATH_MOST)
        return NULL;
    while (s->lines.n <= id)
        if (!hu_vec_push(s->arena, &s->lines, (hu_elf_lines){0}))
            return NULL;
    if (id >= known) {
        memcpy(text, path.p, path.n);
        text[path.n] = '\0';
        hu_elf_lines_read(&s->lines.at[id], text, s->arena);
    }
    return &s->lines.at[id];
}

hu_str hu_symbols_find_line(hu_symbols *s, hu_str path, uint64_t offset)
{
    const hu_elf_lines *lines;
    char                text[NAME_MOST + HU_NUMBER_BYTES];
    uint64_t            address, line;
    hu_str              file;
    size_t              n;

    if (s->line_bytes > LINES_MOST || !hu_symbols_address(s, path, offset, &address))
        return HU_STR("");
    lines = open_lines(s, path);
    if (!lines)
        return HU_STR("");
    s->line_bytes += lines->table.n;
    if (!hu_elf_lines_find(lines, address, &file, &line))
        return HU_STR("");
    n = file.n < NAME_MOST - 1 ? file.n : NAME_MOST - 1;
    memcpy(text, file.p, n);
    text[n++] = ':';
    n += hu_format_u64(text + n, line);
    return hu_arena_copy(s->arena, (hu_str){text, n});
}

hu_str hu_symbols_find(hu_symbols *s, hu_str path, const uint8_t *build_id, size_t n, uint64_t offset)
{
    const hu_elf_symbols *file = path.n ? open_file(s, &s->functions, path, hu_elf_symbols_read) : NULL;

    hu_str name;

    if (!file)
        return HU_STR("");
    if (n && (file->build_id_bytes != n || memcmp(file->build_id, build_id, n) != 0))
        return HU_STR(""); /* it was built anew since */
    name = hu_elf_symbols_find(file, offset);
    if (!name.n && file->is_stripped)
        name = hu_local_names_find(s->locals, path, file, offset);
    return readable(s, name);
}

hu_str hu_symbols_find_object(hu_symbols *s, hu_str path, uint64_t distance, uint64_t *inside)
{
    const hu_elf_symbols *file = path.n ? open_file(s, &s->objects, path, hu_elf_objects_read) : NULL;

    return file && file->symbols.n ? readable(s, hu_elf_objects_find(file, distance, inside)) : HU_STR("");
}

/* ---- maps of JITs ------------------------------------------------------------------------------------------------ */

/* Hexadecimal digits up to a blank; false when there is none. */
static bool take_hex(hu_str *line, uint64_t *out)
{
    size_t i = 0;

    if (hu_str_starts(*line, HU_STR("0x")))
        *line = (hu_str){line->p + 2, line->n - 2};
    for (*out = 0; i < line->n && i <= 16; i++) {
        const char c = hu_char_lower(line->p[i]);

        if (c == ' ')
            break;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (i == 0 || i > 16 || i == line->n)
        return false;
    *line = (hu_str){line->p + i + 1, line->n - i - 1};
    return true;
}

static int compare(const void *a, const void *b)
{
    const jit_function *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->name.p < y->name.p ? 1 : -1; /* of two at one place the later line comes first */
}

static void parse_map(hu_symbols *s, jit_map *map, hu_str text)
{
    size_t n = 0;

    while (text.n) {
        const char  *end = memchr(text.p, '\n', text.n);
        hu_str       line = {text.p, end ? (size_t)(end - text.p) : text.n};
        jit_function f;

        text = (hu_str){text.p + line.n + (end != NULL), text.n - line.n - (end != NULL)};
        if (!take_hex(&line, &f.start) || !take_hex(&line, &f.size))
            continue;
        f.name = (hu_str){line.p, line.n < NAME_MOST ? line.n : NAME_MOST};
        if (!hu_vec_push(s->arena, &map->functions, f))
            return;
    }
    if (map->functions.n)
        qsort(map->functions.at, map->functions.n, sizeof *map->functions.at, compare);
    for (size_t i = 0; i < map->functions.n; i++)
        if (n == 0 || map->functions.at[n - 1].start != map->functions.at[i].start)
            map->functions.at[n++] = map->functions.at[i];
    map->functions.n = n;
}

static void read_map(hu_symbols *s, uint32_t pid, jit_map *map)
{
    char        path[64], *text;
    struct stat about;
    size_t      n = 0, size;
    int         fd;

    snprintf(path, sizeof path, "/tmp/perf-%u.map", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() && about.st_size <= MAP_FILE_MOST) {
        size = (size_t)about.st_size;
        text = hu_arena_grow(s->arena, NULL, size + 1);
        while (text && n < size) {
            const ssize_t got = read(fd, text + n, size - n);

            if (got <= 0 && !(got < 0 && errno == EINTR))
                break;
            n += got > 0 ? (size_t)got : 0;
        }
        if (text)
            parse_map(s, map, (hu_str){text, n});
    }
    close(fd);
}

hu_str hu_symbols_find_jit(hu_symbols *s, uint32_t pid, uint64_t address)
{
    uint32_t      *place = hu_map_put(&s->jit_of, pid);
    const jit_map *map;
    size_t         low = 0, high;

    if (!place)
        return HU_STR("");
    if (*place == HU_MAP_NONE) {
        jit_map read = {{0}};

        read_map(s, pid, &read);
        if (!hu_vec_push(s->arena, &s->jits, read))
            return HU_STR("");
        *place = (uint32_t)s->jits.n - 1;
    }
    map = &s->jits.at[*place];
    high = map->functions.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (map->functions.at[middle].start > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low && address - map->functions.at[low - 1].start < map->functions.at[low - 1].size
               ? map->functions.at[low - 1].name
               : HU_STR("");
}
