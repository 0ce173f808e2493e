/* SPDX-License-Identifier: Apache-2.0
 * stall_lines.c - by words that PyTorch 1.9 to 2.9 print (ProcessGroupNCCL, ProcessGroupGloo, ProcessGroupWrapper, TCPStore,
 * Socket, distributed_c10d.py, elastic/rendezvous) and gloo (unbound_buffer.cc):
 *
 *   [rank4]:[F…] [PG ID 12 PG GUID 99(tp) Rank 0] ProcessGroupNCCL's watchdog got stuck for 480 seconds without …
 *   Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(…), but Rank 1 …
 *   [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms
 *   [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but
 *     store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0:1
 *   The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).
 *   Timed out after 601 seconds waiting for clients. 7/8 clients joined.
 *
 * Traps: the same is said by the socket, by the store and in the exception; the rank of "[3] is setting up" is that in the
 * group; words in a traceback's source lines ("raise RendezvousTimeoutError()") are no error.
 */
#include "ingest/stall_lines.h"

#include <ctype.h>
#include <math.h>

#include "ingest/line_numbers.h"
#include "ingest/step_lines.h"

enum { MOST_STALLS = 256, MOST_ABOUT = 200, MOST_RANKS = 1 << 14 };

/* -1: no digits there.  *end: behind them. */
static int64_t number_at(hu_str text, size_t *end)
{
    int64_t value = 0;
    size_t  n = 0;

    while (n < text.n && n < 18 && isdigit((unsigned char)text.p[n]))
        value = 10 * value + (text.p[n++] - '0');
    *end = n;
    return n ? value : -1;
}

static int64_t number_of(hu_str text)
{
    size_t unused;

    return number_at(text, &unused);
}

/* "600000ms", "1800s", "20min", "480 seconds" as milliseconds; -1: none. */
static int64_t wait_of(hu_str text)
{
    size_t        end, to;
    const int64_t number = number_at(text, &end);
    double        seconds;

    while (end < text.n && text.p[end] == ' ')
        end++;
    for (to = end; to < text.n && isalpha((unsigned char)text.p[to]); to++)
        continue;
    seconds = number < 0 ? (double)NAN : (double)number * hu_line_unit((hu_str){text.p + end, to - end});
    return seconds >= 0 && seconds < 1e12 ? llround(seconds * 1e3) : -1;
}

/* Up to a byte of `ends`. */
static hu_str up_to(hu_str text, const char *ends)
{
    size_t n = 0;

    while (n < text.n && n < MOST_ABOUT && !(text.p[n] && strchr(ends, text.p[n])))
        n++;
    return (hu_str){text.p, n};
}

/* "(node1, 29500)" */
static hu_str address_of(hu_str text)
{
    const hu_str in = hu_line_behind(text, "(");

    return in.n ? up_to(in, ")") : (hu_str){0};
}

static bool take_watchdog(hu_str line, hu_log_stall *s)
{
    const hu_str how_long = hu_line_behind(line, "watchdog got stuck for ");
    hu_str       group;

    if (!how_long.n)
        return false;
    s->kind = HU_LOG_STALL_WATCHDOG;
    s->waited_ms = wait_of(how_long);
    group = hu_line_behind(line, "PG GUID ");
    group = hu_line_behind(up_to(group.n ? group : hu_line_behind(line, "[PG "), "]"), "(");
    s->about = up_to(group, ")");
    return true;
}

static bool take_barrier(hu_str line, hu_log_stall *s, hu_arena *arena, bool *has_memory)
{
    const hu_str how_long = hu_line_behind(line, " failed to pass monitoredBarrier in ");
    hu_str       list = hu_line_behind(line, "]: Ranks ");
    size_t       end;

    list = list.n ? list : hu_line_behind(line, "]: Rank ");
    if (!how_long.n || !list.n || list.p > how_long.p)
        return false;
    s->kind = HU_LOG_STALL_BARRIER;
    s->waited_ms = wait_of(how_long);
    for (int64_t rank; *has_memory && s->ranks.n < MOST_RANKS && (rank = number_at(list, &end)) >= 0;) {
        *has_memory = hu_vec_push(arena, &s->ranks, rank);
        while (end < list.n && strchr(", ", list.p[end]) && list.p[end])
            end++;
        list = (hu_str){list.p + end, list.n - end};
    }
    return true;
}

static bool take_mismatch(hu_str line, hu_log_stall *s)
{
    const hu_str words = hu_line_behind(line, "Detected mismatch between collectives on ranks. ");

    s->kind = HU_LOG_STALL_MISMATCH;
    s->about = (hu_str){words.p, words.n < MOST_ABOUT ? words.n : MOST_ABOUT};
    return words.n > 0;
}

static bool take_gloo(hu_str line, hu_log_stall *s)
{
    const hu_str how_long = hu_line_behind(line, "Timed out waiting ");

    s->kind = HU_LOG_STALL_GLOO;
    if (!how_long.n || !(hu_str_has(how_long, HU_STR("ms for recv operation to complete")) ||
                         hu_str_has(how_long, HU_STR("ms for send operation to complete"))))
        return false;
    s->waited_ms = wait_of(how_long);
    return true;
}

static bool take_id(hu_str line, hu_log_stall *s)
{
    const hu_str key = hu_line_behind(line, "retrieving ncclUniqueId from [0] via c10d key-value store by key '");

    s->kind = HU_LOG_STALL_ID;
    s->about = up_to(key, "'");
    if (key.n)
        s->waited_ms = wait_of(hu_line_behind(line, "wait timeout after "));
    return key.n > 0;
}

static bool take_connect(hu_str line, hu_log_stall *s)
{
    const hu_str how_long = hu_line_behind(line, "The client socket has timed out after ");
    const hu_str nowhere = hu_line_behind(line, "The client socket has failed to connect to any network address of ");

    s->kind = HU_LOG_STALL_CONNECT;
    s->about = address_of(how_long.n ? hu_line_behind(how_long, " while trying to connect to ") : nowhere);
    s->waited_ms = wait_of(how_long);
    return s->about.n > 0;
}

static bool take_join(hu_str line, hu_log_stall *s)
{
    const hu_str how_long = hu_line_behind(line, "Timed out after ");
    hu_str       clients = hu_line_behind(how_long, " seconds waiting for clients. ");
    const hu_str barrier = hu_line_behind(line, "Timed out initializing process group in store based barrier on rank");
    size_t       end;

    s->kind = HU_LOG_STALL_JOIN;
    if (!clients.n)
        clients = hu_line_behind(how_long, " seconds waiting for workers. ");
    if (clients.n) {
        s->waited_ms = wait_of(how_long);
        s->joined = number_at(clients, &end);
        s->expected = end < clients.n && clients.p[end] == '/'
                          ? number_of((hu_str){clients.p + end + 1, clients.n - end - 1})
                          : -1;
    } else if (barrier.n) {
        s->expected = number_of(hu_line_behind(barrier, "world_size="));
        s->joined = number_of(hu_line_behind(
            barrier, hu_line_behind(barrier, "num_workers_joined=").n ? "num_workers_joined=" : "worker_count="));
    }
    return s->joined >= 0 && s->expected > 0;
}

static bool take_rendezvous(hu_str line, hu_log_stall *s)
{
    static const char *const errors[] = {"RendezvousTimeoutError", "RendezvousConnectionError", "RendezvousClosedError"};

    s->kind = HU_LOG_STALL_RENDEZVOUS;
    for (size_t i = 0; i < HU_COUNT(errors); i++) {
        const char  *at = memmem(line.p, line.n, errors[i], strlen(errors[i]));
        const hu_str before = {line.p, at ? (size_t)(at - line.p) : 0};

        if (!at)
            continue;
        s->about = hu_str_of(errors[i]);
        return hu_str_ends(before, HU_STR("rendezvous.api.")) ||
               hu_line_behind((hu_str){at, line.n - before.n}, ": ").p == at + s->about.n + 2;
    }
    return false;
}

static bool add_rank(hu_log_stall *s, int64_t rank, hu_arena *arena)
{
    for (size_t i = 0; i < s->ranks.n; i++)
        if (s->ranks.at[i] == rank)
            return true;
    return rank < 0 || s->ranks.n == MOST_RANKS || hu_vec_push(arena, &s->ranks, rank);
}

/* Into that of the same kind, if the file has one. */
static bool add(const hu_log_stall *s, size_t first, hu_arena *arena, hu_log_stalls *out)
{
    hu_log_stall *old = NULL, added;

    for (size_t i = first; i < out->n && !old; i++)
        old = out->at[i].kind == s->kind ? &out->at[i] : NULL;
    if (!old) {
        if (out->n == MOST_STALLS)
            return true;
        added = *s;
        if (s->about.n && !(added.about = hu_arena_copy(arena, s->about)).p)
            return false;
        return hu_vec_push(arena, out, added);
    }
    old->n++;
    old->is_over = false;
    if (old->waited_ms < 0)
        old->waited_ms = s->waited_ms;
    for (size_t i = 0; i < s->ranks.n; i++)
        if (!add_rank(old, s->ranks.at[i], arena))
            return false;
    return true;
}

/* Words without which a line is none of these: most are not. */
static bool may_tell(hu_str line)
{
    static const char *const words[] = {"got stuck for", "imed out",      "monitoredBarrier", "mismatch between",
                                        "ncclUniqueId",  "client socket", "endezvous"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has(line, hu_str_of(words[i])))
            return true;
    return false;
}

bool hu_stall_line(hu_str line, uint64_t number, size_t first, hu_arena *arena, hu_log_stalls *out)
{
    hu_log_stall s = {.about = HU_STR(""), .waited_ms = -1, .joined = -1, .expected = -1, .n = 1, .line = number};
    bool         has_memory = true;

    if (!may_tell(line))
        return true;
    if (take_barrier(line, &s, arena, &has_memory))
        return has_memory && add(&s, first, arena, out);
    if (!take_watchdog(line, &s) && !take_mismatch(line, &s) && !take_gloo(line, &s) && !take_id(line, &s) &&
        !take_connect(line, &s) && !take_join(line, &s) && !take_rendezvous(line, &s))
        return true;
    return add_rank(&s, hu_line_rank(line), arena) && add(&s, first, arena, out);
}
