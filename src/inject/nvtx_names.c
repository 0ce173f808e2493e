/* SPDX-License-Identifier: Apache-2.0
 * nvtx_names.c - texts, handles and categories of NVTX.
 *
 * A handle is the id of its text, so that a registered string costs no look-up, two libraries that create a domain of
 * one name share it, and a forked child's handles stay good.  Where a second tool has a handle of its own for it
 * (HOLDUP_NVTX_CHAIN), ours is a number of a pair.
 */
#include <string.h>

#include "base/banned.h"
#include "inject/nvtx.h"
#include "inject/process.h"
#include "inject/sys.h"

enum {
    PAIRS = 1 << 16,
    FIRST_PAIR = HU_STRINGS_MAX + 1,
    CATEGORIES = 1 << 12,
    CATEGORIES_MAX = CATEGORIES - CATEGORIES / 4,
};

typedef struct {
    const void *theirs;
    uint32_t    id; /* stored last */
} pair;

typedef struct {
    uint64_t key; /* domain << 32 | category, + 1; 0: free */
    uint32_t text;
} category_name;

static pair         *pairs;
static uint32_t      n_pairs, lock;
static category_name categories[CATEGORIES];
static uint32_t      n_categories;

uint32_t hu_nvtx_id(const void *handle)
{
    const uintptr_t h = (uintptr_t)handle;

    if (h <= HU_STRINGS_MAX)
        return (uint32_t)h;
    if (h - FIRST_PAIR < __atomic_load_n(&n_pairs, __ATOMIC_ACQUIRE))
        return pairs[h - FIRST_PAIR].id;
    return 0;
}

const void *hu_nvtx_theirs(const void *handle)
{
    const uintptr_t h = (uintptr_t)handle;

    return h >= FIRST_PAIR && h - FIRST_PAIR < __atomic_load_n(&n_pairs, __ATOMIC_ACQUIRE) ? pairs[h - FIRST_PAIR].theirs
                                                                                           : NULL;
}

const void *hu_nvtx_handle(uint32_t id, const void *theirs)
{
    uintptr_t handle = id;
    uint32_t  n;

    if (!theirs || !hu_lock(&lock))
        return (const void *)handle;
    if (!pairs)
        pairs = hu_sys_map(NULL, PAIRS * sizeof *pairs, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                           -1, 0);
    n = n_pairs;
    if (pairs && n < PAIRS) {
        pairs[n] = (pair){.theirs = theirs, .id = id};
        __atomic_store_n(&n_pairs, n + 1, __ATOMIC_RELEASE);
        handle = FIRST_PAIR + n;
    }
    hu_unlock(&lock);
    return (const void *)handle;
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static uint32_t wide(const wchar_t *text, uint32_t (*intern)(const char *text, size_t bytes))
{
    char   utf8[HU_STRING_BYTES_MAX];
    size_t n = 0;

    if (!text)
        return 0;
    for (; *text && n + 4 <= sizeof utf8; text++) {
        const uint32_t c = (uint32_t)*text;

        n += put_utf8(utf8 + n, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
    }
    return intern(utf8, n);
}

uint32_t hu_nvtx_wide(const wchar_t *text)
{
    return wide(text, hu_string);
}

uint32_t hu_nvtx_wide_given(const wchar_t *text)
{
    return wide(text, hu_string_given);
}

uint32_t hu_nvtx_text(int32_t type, hu_nvtx_message message)
{
    switch (type) {
    case HU_NVTX_REGISTERED:
        return hu_nvtx_id(message.registered);
    case HU_NVTX_ASCII:
        return hu_string_of(message.ascii);
    case HU_NVTX_UNICODE:
        return hu_nvtx_wide(message.unicode);
    default:
        return 0;
    }
}

static uint64_t key_of(uint32_t domain, uint32_t category)
{
    return ((uint64_t)domain << 32 | category) + 1;
}

static uint32_t first_slot(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 52) & (CATEGORIES - 1);
}

uint32_t hu_nvtx_category(uint32_t domain, uint32_t category)
{
    const uint64_t key = key_of(domain, category);

    for (uint32_t i = first_slot(key);; i = (i + 1) & (CATEGORIES - 1)) {
        const uint64_t there = __atomic_load_n(&categories[i].key, __ATOMIC_ACQUIRE);

        if (there == key)
            return __atomic_load_n(&categories[i].text, __ATOMIC_RELAXED);
        if (there == 0)
            return 0;
    }
}

/* The last name counts, as NVTX says. */
void hu_nvtx_name_category(uint32_t domain, uint32_t category, uint32_t text)
{
    const uint64_t key = key_of(domain, category);
    uint32_t       i = first_slot(key);

    if (!text || !hu_lock(&lock))
        return;
    while (categories[i].key != 0 && categories[i].key != key)
        i = (i + 1) & (CATEGORIES - 1);
    if (categories[i].key == key || n_categories < CATEGORIES_MAX) {
        n_categories += categories[i].key == 0;
        __atomic_store_n(&categories[i].text, text, __ATOMIC_RELAXED);
        __atomic_store_n(&categories[i].key, key, __ATOMIC_RELEASE);
    }
    hu_unlock(&lock);
}
