/* SPDX-License-Identifier: Apache-2.0
 * maps.c - copies /proc/self/maps into the session, next to the ring (.maps).
 *
 * A copy takes about 0.1 ms.  So records of calls ask for one when those that name unknown code have lasted for 1 ms, and
 * the next one not before they did so again, twice as often each time: a compiler at run time makes new code for ever.
 * Safe wherever a record is: system calls alone, and one thread at a time, the others do not wait.
 */
#include <stdbool.h>
#include <string.h>

#include "inject/maps.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/redact.h"
#include "base/banned.h"

enum { PLACES_MAX = 512, SEEN_BITS = 8 };

typedef struct {
    uintptr_t start, end;
} place;

static place     places[PLACES_MAX]; /* code that was in a copy; only added to */
static uint32_t  n_places, is_copying;
static uintptr_t seen[1 << SEEN_BITS]; /* addresses that were found in `places`; most calls come from few */
static uint64_t  wanted, enough;       /* ticks of records with unknown code; when to copy */

static bool is_known(uintptr_t address)
{
    uintptr_t *const last = &seen[(uint64_t)address * 0x9e3779b97f4a7c15u >> (64 - SEEN_BITS)];
    uint32_t         n;

    if (__atomic_load_n(last, __ATOMIC_RELAXED) == address)
        return true;
    n = __atomic_load_n(&n_places, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        if (address - places[i].start < places[i].end - places[i].start) {
            __atomic_store_n(last, address, __ATOMIC_RELAXED);
            return true;
        }
    }
    return n == PLACES_MAX;
}

static const char *take_hex(const char *at, const char *end, uintptr_t *out)
{
    for (*out = 0; at < end; at++) {
        if (*at >= '0' && *at <= '9')
            *out = *out << 4 | (uintptr_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            *out = *out << 4 | (uintptr_t)(*at - 'a' + 10);
        else
            break;
    }
    return at;
}

/* Whole lines "55d0-55f0 r-xp ...". */
static void note_code(const char *at, const char *end)
{
    while (at < end) {
        const char    *next = memchr(at, '\n', (size_t)(end - at));
        const uint32_t n = n_places;
        place          p;

        next = next ? next + 1 : end;
        at = take_hex(at, next, &p.start);
        at = take_hex(at + (at < next), next, &p.end);
        if (next - at > 4 && at[3] == 'x' && n < PLACES_MAX && !is_known(p.start)) {
            places[n] = p;
            __atomic_store_n(&n_places, n + 1, __ATOMIC_RELEASE);
        }
        at = next;
    }
}

/* Replaced whole, so that one that is being written is never all there is. */
void hu_maps_copy(void)
{
    /* stacks may be small; each reading ends behind a line */
    static char from[4096], clean[3 * sizeof from], path[HU_SESSION_PATH_MAX + 64], part[HU_SESSION_PATH_MAX + 64];
    size_t      n = strlen(hu_the_process.path);
    int         in, out;
    long        got;
    bool        is_whole = true;

    if (n < 6 || __atomic_exchange_n(&is_copying, 1, __ATOMIC_ACQUIRE))
        return;
    memcpy(path, hu_the_process.path, n + 1);
    memcpy(path + n - 5, ".maps", 6); /* instead of ".ring" */
    memcpy(part, path, n);
    memcpy(part + n, "~", 2);
    in = hu_sys_open("/proc/self/maps", O_RDONLY);
    out = in < 0 ? -1 : hu_sys_open(part, O_WRONLY | O_CREAT | O_TRUNC);
    while (out >= 0 && is_whole && (got = hu_sys_read(in, from, sizeof from)) > 0) {
        note_code(from, from + got);
        got = (long)hu_redact_text((hu_str){from, (size_t)got}, clean, sizeof clean);
        is_whole = hu_sys_write(out, clean, (size_t)got) == got;
    }
    if (in >= 0)
        hu_sys_close(in);
    if (out >= 0) {
        hu_sys_close(out);
        if (is_whole)
            (void)HU_SYS(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, path, 0);
        else
            (void)HU_SYS(SYS_unlinkat, AT_FDCWD, part, 0);
    }
    __atomic_store_n(&is_copying, 0, __ATOMIC_RELEASE);
}

void hu_maps_want(uintptr_t address, uint64_t ticks)
{
    static const double first_seconds = 1e-3;

    if (address == 0 || is_known(address))
        return;
    if (enough == 0)
        enough = (uint64_t)(hu_the_control->ticks_per_second * first_seconds);
    if (__atomic_add_fetch(&wanted, ticks, __ATOMIC_RELAXED) < enough)
        return;
    enough *= 2; /* of two threads at once, one copies */
    __atomic_store_n(&wanted, 0, __ATOMIC_RELAXED);
    hu_maps_copy();
}

/* The parent's copy is next to the parent's ring. */
void hu_maps_forked(void)
{
    if (n_places)
        memset(seen, 0, sizeof seen);
    n_places = is_copying = 0;
    wanted = enough = 0;
}
