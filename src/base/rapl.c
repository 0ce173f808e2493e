/* SPDX-License-Identifier: Apache-2.0
 * rapl.c - the zones are found once; then a look is one read of a small file. */
#include "base/rapl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

static const char PREFIX[] = "intel-rapl:"; /* also of AMD's; intel-rapl-mmio repeats its packages */

static const char *const kinds[] = {"package", "memory", "platform", "part"};
static const char *const states[] = {"none", "hidden", "denied", "failed", "read"};

/* A small file without the blanks at its end; n 0: errno says why. */
static hu_str read_file(int folder, const char *zone, const char *file, char *text, size_t room)
{
    char    path[HU_RAPL_NAME + 32];
    ssize_t n;
    int     fd;

    snprintf(path, sizeof path, "%s/%s", zone, file);
    fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return HU_STR("");
    n = read(fd, text, room);
    if (n >= 0) {
        while (n > 0 && (unsigned char)text[n - 1] <= ' ')
            n--;
        errno = n ? 0 : ENODATA;
    }
    const int why = errno;

    close(fd);
    errno = why;
    return (hu_str){text, n > 0 ? (size_t)n : 0};
}

static bool read_number(int folder, const char *zone, const char *file, uint64_t *out)
{
    char         text[32];
    const hu_str value = read_file(folder, zone, file, text, sizeof text);

    if (value.n == 0)
        return false;
    if (hu_parse_u64(value, out))
        return true;
    errno = EINVAL;
    return false;
}

/* What a name of the kernel may hold; a reader of the trace takes it apart by lines. */
static size_t put_name(char *out, size_t n, hu_str name)
{
    for (size_t i = 0; i < name.n && n + 1 < HU_RAPL_NAME; i++)
        out[n++] = (unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f ? '_' : name.p[i];
    out[n] = '\0';
    return n;
}

/* "intel-rapl:N" is a package or the whole platform, "intel-rapl:N:M" a part of one. */
static void name_zone(int folder, hu_rapl_zone *z, hu_str own)
{
    const char *colon = strchr(z->folder + sizeof PREFIX - 1, ':');
    char        parent[HU_RAPL_NAME] = "", text[HU_RAPL_NAME];
    size_t      n = 0;

    if (colon) {
        memcpy(parent, z->folder, (size_t)(colon - z->folder));
        n = put_name(z->name, 0, read_file(folder, parent, "name", text, sizeof text));
        n = put_name(z->name, n, HU_STR("/"));
    }
    put_name(z->name, n, own);
}

/* Why a zone cannot be read, if that says more than what is known. */
static void take_reason(hu_rapl *r, int why)
{
    const hu_rapl_state state = why == ENOENT                   ? HU_RAPL_HIDDEN
                                : why == EACCES || why == EPERM ? HU_RAPL_DENIED
                                                                : HU_RAPL_FAILED;

    if (r->state == HU_RAPL_NONE || (state == HU_RAPL_DENIED && r->state != HU_RAPL_READ))
        r->state = state;
}

static void add_zone(hu_rapl *r, const char *folder)
{
    hu_rapl_zone *z = &r->zone[r->n];
    char          text[HU_RAPL_NAME];
    hu_str        name;
    uint64_t      energy;

    if (r->n == HU_RAPL_ZONES || strncmp(folder, PREFIX, sizeof PREFIX - 1) != 0 || strlen(folder) >= sizeof z->folder)
        return;
    *z = (hu_rapl_zone){0};
    snprintf(z->folder, sizeof z->folder, "%s", folder);
    name = read_file(r->folder, folder, "name", text, sizeof text);
    if (name.n == 0 || !read_number(r->folder, folder, "max_energy_range_uj", &z->range) || z->range == 0 ||
        z->range > UINT64_MAX / 2 || !read_number(r->folder, folder, "energy_uj", &energy)) {
        take_reason(r, errno);
        return;
    }
    name_zone(r->folder, z, name);
    r->state = HU_RAPL_READ;
    r->n++;
}

static int by_folder(const void *left, const void *right)
{
    return strcmp(((const hu_rapl_zone *)left)->folder, ((const hu_rapl_zone *)right)->folder);
}

hu_rapl_state hu_rapl_open(int at, const char *folder, hu_rapl *out)
{
    DIR *names;
    int  fd;

    *out = (hu_rapl){.folder = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (out->folder < 0)
        return out->state;
    fd = openat(out->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes its own */
    names = fd >= 0 ? fdopendir(fd) : NULL;
    if (!names && fd >= 0)
        close(fd);
    for (const struct dirent *e = names ? readdir(names) : NULL; e; e = readdir(names))
        add_zone(out, e->d_name);
    if (names)
        closedir(names);
    qsort(out->zone, out->n, sizeof *out->zone, by_folder);
    return out->state;
}

void hu_rapl_close(hu_rapl *r)
{
    if (r->folder >= 0)
        close(r->folder);
    *r = (hu_rapl){.folder = -1};
}

bool hu_rapl_look(const hu_rapl *r, hu_rapl_zone *zone, uint64_t *uj)
{
    uint64_t now, before;

    if (!read_number(r->folder, zone->folder, "energy_uj", &now))
        return false;
    zone->turns += zone->has_last && now < zone->last;
    zone->last = now;
    zone->has_last = true;
    return !__builtin_mul_overflow(zone->turns, zone->range, &before) && !__builtin_add_overflow(before, now, uj);
}

hu_rapl_kind hu_rapl_kind_of(hu_str name)
{
    const char  *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
    const hu_str own = slash ? (hu_str){slash + 1, name.n - (size_t)(slash + 1 - name.p)} : name;

    if (hu_str_equal(own, HU_STR("dram")))
        return HU_RAPL_MEMORY;
    if (slash)
        return HU_RAPL_PART;
    if (hu_str_starts(own, HU_STR("package-")))
        return HU_RAPL_PACKAGE;
    return hu_str_equal(own, HU_STR("psys")) ? HU_RAPL_PLATFORM : HU_RAPL_PART;
}

const char *hu_rapl_kind_word(hu_rapl_kind kind)
{
    return kinds[(size_t)kind < HU_COUNT(kinds) ? kind : HU_RAPL_PART];
}

const char *hu_rapl_state_word(hu_rapl_state state)
{
    return states[(size_t)state < HU_COUNT(states) ? state : HU_RAPL_NONE];
}

hu_rapl_state hu_rapl_state_of(hu_str word)
{
    for (size_t i = 0; i < HU_COUNT(states); i++)
        if (hu_str_equal(word, hu_str_of(states[i])))
            return (hu_rapl_state)i;
    return HU_RAPL_NONE;
}
