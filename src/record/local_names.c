/* SPDX-License-Identifier: Apache-2.0
 * local_names.c - a stripped library names only what others call, and the nearest such name is that of another function.
 *
 * libc has strlen in several forms, one for each kind of CPU, and all of them are local: strlen itself is a function that
 * chooses one (STT_GNU_IFUNC).  This program runs on the same CPU and has mostly loaded the same file, so the dynamic linker
 * tells what was chosen; .eh_frame tells which function an instruction belongs to, so nothing is guessed.
 */
#include "record/local_names.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "record/call_frames.h"

enum { PATH_MOST = 4096, NAMES_MOST = 96, CHOICES_MOST = 4096 };

typedef struct {
    uint64_t start; /* of the function: an address as symbols have it */
    hu_str   name;
} choice;

typedef struct {
    hu_elf_symbols  debug; /* n == 0: there are none */
    hu_call_frames *frames;
    HU_VEC(choice) choices; /* by start */
    bool is_read;
} file_names;

struct hu_local_names {
    const char *folder;
    hu_arena   *arena;
    hu_intern   paths;
    HU_VEC(file_names) files; /* by id of paths */
};

hu_local_names *hu_local_names_new(const char *folder, hu_arena *arena)
{
    hu_local_names *l = hu_arena_calloc(arena, 1, sizeof *l);

    if (!l || !hu_intern_init(&l->paths, arena))
        return NULL;
    l->folder = folder;
    l->arena = arena;
    return l;
}

void hu_local_names_free(hu_local_names *l)
{
    for (size_t i = 0; l && i < l->files.n; i++)
        hu_call_frames_close(l->files.at[i].frames);
}

/* ---- debug files ------------------------------------------------------------------------------------------------- */

static void read_debug(hu_local_names *l, const hu_elf_symbols *file, hu_elf_symbols *out)
{
    char   path[PATH_MOST];
    size_t n;

    if (file->build_id_bytes < 2)
        return;
    n = (size_t)snprintf(path, sizeof path, "%s/%02x/", l->folder, file->build_id[0]);
    for (size_t i = 1; i < file->build_id_bytes && n + 3 < sizeof path; i++)
        n += (size_t)snprintf(path + n, sizeof path - n, "%02x", file->build_id[i]);
    if (n + sizeof ".debug" > sizeof path)
        return;
    memcpy(path + n, ".debug", sizeof ".debug");
    if (!hu_elf_symbols_read(out, path, l->arena) || out->build_id_bytes != file->build_id_bytes ||
        memcmp(out->build_id, file->build_id, file->build_id_bytes) != 0)
        out->symbols.n = 0;
    out->segments.at = file->segments.at; /* its own say where nothing is */
    out->segments.n = file->segments.n;
}

/* ---- what the dynamic linker chose ------------------------------------------------------------------------------- */

typedef struct {
    uint64_t              base;
    const hu_elf_symbols *file;
    bool                  is_same;
} loaded;

/* Is what this program has loaded at the base that very file? */
static int compare_build_id(struct dl_phdr_info *info, size_t bytes, void *to)
{
    loaded *l = to;

    (void)bytes;
    if (info->dlpi_addr != l->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *notes = (const char *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);

        if (p->p_type != PT_NOTE)
            continue;
        for (size_t at = 0; p->p_memsz - at >= sizeof(ElfW(Nhdr));) {
            ElfW(Nhdr) note;
            size_t name, value;

            memcpy(&note, notes + at, sizeof note);
            at += sizeof note;
            name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
            value = ((size_t)note.n_descsz + 3) & ~(size_t)3;
            if (name > p->p_memsz - at || value > p->p_memsz - at - name)
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz == l->file->build_id_bytes &&
                memcmp(notes + at + name, l->file->build_id, note.n_descsz) == 0)
                l->is_same = true;
            at += name + value;
        }
    }
    return 1;
}

static int by_start(const void *left, const void *right)
{
    const choice *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

/* Names of one function become one: "memcpy/memmove". */
static void join_names(hu_local_names *l, file_names *f)
{
    size_t n = 0;

    if (f->choices.n)
        qsort(f->choices.at, f->choices.n, sizeof *f->choices.at, by_start);
    for (size_t i = 0; i < f->choices.n; i++) {
        choice      *last = n ? &f->choices.at[n - 1] : NULL;
        const hu_str name = f->choices.at[i].name;
        char        *text;

        if (!last || last->start != f->choices.at[i].start) {
            f->choices.at[n++] = f->choices.at[i];
            continue;
        }
        if (hu_str_equal(last->name, name) || last->name.n + 1 + name.n > NAMES_MOST)
            continue;
        text = hu_arena_alloc(l->arena, last->name.n + 1 + name.n);
        if (!text)
            continue;
        memcpy(text, last->name.p, last->name.n);
        text[last->name.n] = '/';
        memcpy(text + last->name.n + 1, name.p, name.n);
        last->name = (hu_str){text, last->name.n + 1 + name.n};
    }
    f->choices.n = n;
}

static void read_choices(hu_local_names *l, const char *path, const hu_elf_symbols *file, file_names *f)
{
    void            *handle = file->build_id_bytes ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    struct link_map *map = NULL;
    loaded           own = {.file = file};

    if (!handle)
        return;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) {
        own.base = map->l_addr;
        dl_iterate_phdr(compare_build_id, &own);
    }
    for (size_t i = 0; own.is_same && i < file->symbols.n && f->choices.n < CHOICES_MOST; i++) {
        const char    *name = file->names + file->symbols.at[i].name;
        const void    *chosen = file->symbols.at[i].is_chosen ? dlsym(handle, name) : NULL;
        const uint64_t address = (uint64_t)(uintptr_t)chosen - own.base;
        const uint64_t start = chosen ? hu_call_frames_start_at(f->frames, address) : 0;

        if (start && !hu_vec_push(l->arena, &f->choices, ((choice){start, hu_str_of(name)})))
            break;
    }
    dlclose(handle);
    join_names(l, f);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static file_names *names_of(hu_local_names *l, hu_str path, const hu_elf_symbols *file)
{
    const uint32_t id = path.n <= PATH_MOST ? hu_intern_add(&l->paths, path) : UINT32_MAX;
    char           text[PATH_MOST + 1];
    file_names    *f;

    if (id == UINT32_MAX)
        return NULL;
    while (l->files.n <= id)
        if (!hu_vec_push(l->arena, &l->files, (file_names){.is_read = false}))
            return NULL;
    f = &l->files.at[id];
    if (f->is_read)
        return f;
    f->is_read = true;
    memcpy(text, path.p, path.n);
    text[path.n] = '\0';
    read_debug(l, file, &f->debug);
    f->frames = hu_call_frames_open(text, file->build_id, file->build_id_bytes, l->arena);
    if (f->frames)
        read_choices(l, text, file, f);
    return f;
}

hu_str hu_local_names_find(hu_local_names *l, hu_str path, const hu_elf_symbols *file, uint64_t offset)
{
    const file_names *f = names_of(l, path, file);
    uint64_t          start;
    size_t            low = 0, high = f ? f->choices.n : 0;
    hu_str            name;

    if (!f)
        return HU_STR("");
    name = hu_elf_symbols_find(&f->debug, offset);
    if (name.n || !high)
        return name;
    start = hu_call_frames_start(f->frames, offset);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (f->choices.at[middle].start > start)
            high = middle;
        else
            low = middle + 1;
    }
    return low && f->choices.at[low - 1].start == start ? f->choices.at[low - 1].name : HU_STR("");
}
