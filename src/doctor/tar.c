/* SPDX-License-Identifier: Apache-2.0
 * tar.c - POSIX.1-2001: blocks of 512 bytes, a head and the content of each member, two empty blocks at the end.  What does
 * not fit into a head comes before it, in a member of type x: lines of LENGTH KEY=VALUE, whose length counts itself. */
#include "doctor/tar.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

typedef struct {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2],
        user[32], group[32], major[8], minor[8], prefix[155], pad[12];
} head;

_Static_assert(sizeof(head) == BLOCK, "a head is a block");

static const char zeros[BLOCK];

/* The sum of all bytes of the head, with blanks in place of the sum itself. */
static unsigned sum_of(const head *h)
{
    const unsigned char *bytes = (const unsigned char *)h;
    const size_t         from = offsetof(head, checksum), to = from + sizeof h->checksum;
    unsigned             sum = 0;

    for (size_t i = 0; i < sizeof *h; i++)
        sum += i >= from && i < to ? ' ' : bytes[i];
    return sum;
}

static void put(hu_gzip_out *z, char type, hu_str name, hu_str link, hu_str content)
{
    head h = {.type = type, .magic = "ustar", .version = {'0', '0'}};

    memcpy(h.name, name.p, name.n < sizeof h.name ? name.n : sizeof h.name);
    memcpy(h.link, link.p, link.n < sizeof h.link ? link.n : sizeof h.link);
    snprintf(h.mode, sizeof h.mode, "%07o", type == HU_TAR_FOLDER ? 0755U : 0644U);
    snprintf(h.uid, sizeof h.uid, "%07o", 0U);
    snprintf(h.gid, sizeof h.gid, "%07o", 0U);
    snprintf(h.size, sizeof h.size, "%011zo", content.n);
    snprintf(h.mtime, sizeof h.mtime, "%011o", 0U);
    snprintf(h.checksum, sizeof h.checksum, "%06o", sum_of(&h));
    h.checksum[7] = ' ';
    hu_gzip_out_write(z, &h, sizeof h);
    hu_gzip_out_write(z, content.p, content.n);
    hu_gzip_out_write(z, zeros, (BLOCK - content.n % BLOCK) % BLOCK);
}

static size_t digits_of(size_t n)
{
    size_t digits = 1;

    while (n /= 10)
        digits++;
    return digits;
}

/* "27 path=some/where/else\n"; returns its length, 0 where there is no room: no path of a system is as long. */
static size_t put_record(char *out, size_t room, const char *key, hu_str value)
{
    const size_t rest = strlen(key) + value.n + 3; /* blank, equals sign, newline */
    size_t       length = rest + digits_of(rest);

    length = rest + digits_of(length);
    if (length >= room)
        return 0;
    snprintf(out, room, "%zu %s=%.*s\n", length, key, HU_FMT(value));
    return length;
}

void hu_tar_add(hu_gzip_out *z, hu_tar_type type, hu_str name, hu_str content)
{
    const bool is_link = type == HU_TAR_LINK;
    char       records[8192];
    size_t     n = 0;

    if (name.n > sizeof((head *)0)->name)
        n += put_record(records, sizeof records, "path", name);
    if (is_link && content.n > sizeof((head *)0)->link)
        n += put_record(records + n, sizeof records - n, "linkpath", content);
    if (n)
        put(z, 'x', HU_STR("pax"), HU_STR(""), (hu_str){records, n});
    put(z, (char)type, name, is_link ? content : HU_STR(""), is_link ? HU_STR("") : content);
}

void hu_tar_end(hu_gzip_out *z)
{
    hu_gzip_out_write(z, zeros, BLOCK);
    hu_gzip_out_write(z, zeros, BLOCK);
}

bool hu_tar_probe(hu_str archive)
{
    return archive.n >= BLOCK && memcmp(archive.p + offsetof(head, magic), "ustar", 5) == 0;
}

/* Digits of base 8 up to a blank or NUL. */
static bool octal(const char *digits, size_t room, size_t *out)
{
    size_t value = 0, i = 0;

    for (; i < room && digits[i] >= '0' && digits[i] <= '7'; i++)
        value = value * 8 + (size_t)(digits[i] - '0');
    *out = value;
    return i > 0 && (i == room || digits[i] == ' ' || digits[i] == '\0');
}

bool hu_tar_find(hu_str archive, hu_str name, hu_str *content)
{
    while (hu_tar_probe(archive)) {
        const head  *h = (const head *)(const void *)archive.p;
        const hu_str found = {h->name, strnlen(h->name, sizeof h->name)};
        const bool   is_file = h->type == HU_TAR_FILE || h->type == '\0';
        size_t       size, blocks;

        if (!octal(h->size, sizeof h->size, &size) || size > archive.n - BLOCK)
            return false;
        if (is_file && !h->prefix[0] && hu_str_ends(found, name) &&
            (found.n == name.n || found.p[found.n - name.n - 1] == '/')) {
            *content = (hu_str){archive.p + BLOCK, size};
            return true;
        }
        blocks = BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        blocks = blocks < archive.n ? blocks : archive.n;
        archive = (hu_str){archive.p + blocks, archive.n - blocks};
    }
    return false;
}
