/* SPDX-License-Identifier: Apache-2.0
 * strings.c - texts become ids, once; the texts go into blocks of their own, which no flight recorder overwrites.
 *
 * Looking up takes no lock: an entry is there when its id is.  A text is known by its 64-bit hash and its length; two of
 * 65,535 texts meet by accident once in 8 billion runs.  The table is private memory: a forked child keeps it, and
 * writes the texts into its own file when it begins to record.
 *
 * A text whose secrets are to be left out is another text than the same one as it is: it is known by the hash of what the
 * program said, so that it is read for secrets once, and stored without them.
 */
#include <string.h>

#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/broker.h"
#include "protocol/redact.h"
#include "base/banned.h"

enum { SLOTS = 1 << 18 }; /* four for each string: probes stay short */

typedef struct {
    uint64_t hash;
    uint32_t bytes;
    uint32_t id; /* 0: free; stored last */
} entry;

static entry     empty[1];
static entry    *table = empty; /* SLOTS of them once there is a session */
static uint32_t  n_strings;
static uint32_t  lock;
static hu_block *open_block; /* the one of strings that is being filled */
static uint32_t  generation;

static uint64_t mix(uint64_t a, uint64_t b)
{
    const __uint128_t m = (__uint128_t)a * b;

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_of(const char *text, size_t n)
{
    const uint64_t p = 0x9e3779b97f4a7c15u, q = 0xd6e8feb86659fd93u;
    uint64_t       h = n * q + p, last = 0;

    for (; n >= sizeof h; text += sizeof h, n -= sizeof h) {
        uint64_t word;

        memcpy(&word, text, sizeof word);
        h = mix(h ^ word, p);
    }
    memcpy(&last, text, n);
    h = mix(h ^ last, q);
    return mix(h, p);
}

/* Its id, or the slot where it belongs. */
static uint32_t find(uint64_t hash, uint32_t bytes, entry **at)
{
    for (uint64_t i = hash;; i++) {
        entry         *e = &table[i & (SLOTS - 1)];
        const uint32_t id = __atomic_load_n(&e->id, __ATOMIC_ACQUIRE);

        if (id == 0 || (e->hash == hash && e->bytes == bytes)) {
            *at = e;
            return id;
        }
    }
}

/* Appends to the blocks of strings.  Under the lock. */
static bool store(uint32_t id, const char *text, uint32_t bytes)
{
    enum { ROOM = sizeof(((hu_block *)0)->records) };
    const uint32_t need = (8 + bytes + 7) & ~7u;
    char          *to;

    if (!open_block || open_block->head.taken + need > ROOM) {
        hu_loss   why;
        hu_block *block = hu_blocks_get(HU_BLOCK_OF_STRINGS, &why);

        if (!block)
            return false;
        if (open_block)
            __atomic_store_n(&open_block->head.state, HU_BLOCK_FULL, __ATOMIC_RELEASE);
        block->head = (hu_block_head){.kind = HU_BLOCK_OF_STRINGS, .state = HU_BLOCK_FREE};
        block->head.sequence = open_block ? open_block->head.sequence + 1 : 0;
        __atomic_store_n(&block->head.state, HU_BLOCK_OPEN, __ATOMIC_RELEASE);
        open_block = block;
    }
    to = (char *)open_block->records + open_block->head.taken;
    memcpy(to, &id, 4);
    memcpy(to + 4, &bytes, 4);
    memcpy(to + 8, text, bytes);
    __atomic_store_n(&open_block->head.taken, open_block->head.taken + need, __ATOMIC_RELEASE);
    hu_the_process.head->n_strings = id;
    return true;
}

static bool make_table(void)
{
    entry *made;

    if (table != empty)
        return true;
    made = hu_sys_map(NULL, SLOTS * sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);
    if (made)
        __atomic_store_n(&table, made, __ATOMIC_RELEASE);
    return made != NULL;
}

static void count_lost(void)
{
    if (hu_the_process.head)
        __atomic_fetch_add(&hu_the_process.head->lost[HU_LOSS_STRINGS], 1, __ATOMIC_RELAXED);
}

/* Under the lock. */
static bool store_clean(uint32_t id, const char *text, uint32_t bytes)
{
    static char clean[HU_STRING_BYTES_MAX];

    return store(id, clean, (uint32_t)hu_redact_text((hu_str){text, bytes}, clean, sizeof clean));
}

/* A text that is not in the table, or was not a moment ago. */
static uint32_t add(uint64_t hash, const char *text, uint32_t bytes, bool is_clean)
{
    uint32_t id = 0;
    uint64_t signals;
    entry   *e;

    if (hu_thread.is_taking || !hu_process_attach())
        return 0;
    signals = hu_signals_block(); /* a handler of this thread must not wait for this lock, nor leave it locked */
    hu_thread.is_taking = 1;
    if (hu_lock(&lock)) {
        if (generation != hu_the_process.generation) {
            generation = hu_the_process.generation;
            open_block = NULL;
        }
        if (make_table() && (id = find(hash, bytes, &e)) == 0 && n_strings < HU_STRINGS_MAX &&
            (is_clean ? store_clean : store)(n_strings + 1, text, bytes)) {
            id = ++n_strings;
            e->hash = hash;
            e->bytes = bytes;
            __atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
        }
        hu_unlock(&lock);
    }
    hu_thread.is_taking = 0;
    hu_signals_restore(signals);
    return id;
}

static inline uint32_t intern(const char *text, size_t bytes, bool is_clean)
{
    const uint64_t other = 0xc2b2ae3d27d4eb4fu; /* odd, random: the texts without secrets */
    const uint32_t n = bytes > HU_STRING_BYTES_MAX ? HU_STRING_BYTES_MAX : (uint32_t)bytes;
    uint64_t       hash;
    uint32_t       id;
    entry         *at;

    if (n == 0)
        return 0;
    hash = hash_of(text, n) ^ (is_clean ? other : 0);
    id = __atomic_load_n(&table, __ATOMIC_ACQUIRE) == empty ? 0 : find(hash, n, &at);
    if (id == 0)
        id = add(hash, text, n, is_clean);
    if (id == 0)
        count_lost();
    return id;
}

uint32_t hu_string(const char *text, size_t bytes)
{
    return intern(text, bytes, hu_the_control->redacts_ranges != 0);
}

uint32_t hu_string_given(const char *text, size_t bytes)
{
    return intern(text, bytes, true);
}

uint32_t hu_string_as_is(const char *text, size_t bytes)
{
    return intern(text, bytes, false);
}

uint32_t hu_string_of(const char *text)
{
    return text ? hu_string(text, strnlen(text, HU_STRING_BYTES_MAX)) : 0;
}

/* The texts of one block that the child knew when it was forked: the parent may have gone on. */
static bool inherit_block(const hu_block *b)
{
    const char *at = (const char *)b->records;
    bool        is_ok = true;

    for (uint32_t used = b->head.taken, n; used && is_ok; used -= n, at += n) {
        uint32_t id, bytes;

        memcpy(&id, at, 4);
        memcpy(&bytes, at + 4, 4);
        n = (8 + bytes + 7) & ~7u;
        if (bytes > HU_STRING_BYTES_MAX || n > used)
            return false;
        if (id <= n_strings)
            is_ok = store(id, at + 8, bytes);
    }
    return is_ok;
}

/* The file is read: the map of it that a child still has would kill the child.  Once the parent is gone, the supervisor
 * cuts off the blocks that are free; those with texts stay. */
static bool inherit_file(int fd, uint32_t n_blocks)
{
    static hu_block b; /* one thread makes the file */

    for (uint32_t i = 1; i < n_blocks; i++) {
        const int64_t at = (int64_t)i * HU_BLOCK_BYTES;

        if (hu_sys_read_at(fd, &b.head, sizeof b.head, at) != (long)sizeof b.head)
            return true; /* the end */
        if (b.head.kind != HU_BLOCK_OF_STRINGS || b.head.state == HU_BLOCK_FREE)
            continue;
        if (b.head.taken > sizeof b.records ||
            hu_sys_read_at(fd, b.records, b.head.taken, at + (int64_t)sizeof b.head) != (long)b.head.taken ||
            !inherit_block(&b))
            return false;
    }
    return true;
}

bool hu_strings_inherit(const char *parents_path, uint32_t n_blocks)
{
    bool is_ok = true;

    lock = 0; /* whoever held it is not in this process */
    generation = hu_the_process.generation;
    open_block = NULL;
    if (parents_path && n_strings) {
        int fd = hu_sys_open(parents_path, O_RDONLY);

        if (fd < 0)
            fd = hu_broker_reopen(parents_path, HU_BROKER_READ);
        is_ok = fd >= 0 && inherit_file(fd, n_blocks);
        if (fd >= 0)
            hu_sys_close(fd);
    }
    if (hu_the_process.head)
        hu_the_process.head->n_strings = n_strings;
    return is_ok;
}
