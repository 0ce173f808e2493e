/* SPDX-License-Identifier: Apache-2.0
 * watchdog_lines.c - by words that PyTorch 1.8 to 2.9 print:
 *
 *   [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,
 *     Timeout(ms)=600000) ran for 600061 milliseconds before timing out.
 *   [PG ID 0 PG GUID 0(default_pg) Rank 3] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.
 *   [PG 0 (default_pg) Rank 3] Received a dump signal … Last enqueued NCCL work: 6, last completed NCCL work: 6.
 *   [PG ID 0 PG GUID 0(default_pg) Rank 3] failure detected by watchdog at work sequence id: 7 PG status: last enqueued
 *     work: 9, last completed work: 6
 *
 * Traps: each timeout is said several times, also as the text of an exception; before 2.5 the first form names no group;
 * "Rank 3" is counted in the group, and "[rank3]:" at the beginning of a line, since 2.2, in the job.
 */
#include "ingest/watchdog_lines.h"

#include <ctype.h>

enum { MOST_TIMEOUTS = 8192, MOST_NAME = 48, LOOKED_BACK = 1024 };

/* What stands behind a text in the line; n is 0 where it is not there. */
static hu_str behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}

/* -1: no digits there. */
static int64_t number_of(hu_str text)
{
    int64_t value = 0;
    size_t  n = 0;

    while (n < text.n && n < 18 && isdigit((unsigned char)text.p[n]))
        value = 10 * value + (text.p[n++] - '0');
    return n ? value : -1;
}

static int64_t number_behind(hu_str line, const char *text)
{
    return number_of(behind(line, text));
}

/* Up to a byte of `ends`. */
static hu_str up_to(hu_str text, const char *ends)
{
    size_t n = 0;

    while (n < text.n && n < MOST_NAME && !(text.p[n] && strchr(ends, text.p[n])))
        n++;
    return (hu_str){text.p, n};
}

/* "[rank5]:" before that is the rank of the job, and "Rank 1" that of the group:
 * "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "[PG 0 (default_pg) Rank 1]", "[PG 1 Rank 0]", "[Rank 0]" */
static void read_prefix(hu_str line, hu_log_timeout *t)
{
    hu_str group = behind(line, "PG GUID "), about;

    t->rank = number_behind(line, "[rank");
    t->is_of_job = t->rank >= 0;
    if (t->rank < 0)
        t->rank = number_behind(line, "Rank ");
    if (!group.n)
        group = behind(line, "[PG ID ").n ? behind(line, "[PG ID ") : behind(line, "[PG ");
    about = up_to(group, ")]");
    t->group = up_to(group, " ()]");
    about = behind(about, "(");
    t->about = about;
}

/* Is the rank of the group another's number, where other lines tell those of the job? */
static bool is_ambiguous(const hu_log_timeouts *list, const hu_log_timeout *t)
{
    const bool is_of_all = hu_str_equal(t->about, HU_STR("default_pg")) ||
                           (!t->about.n && hu_str_equal(t->group, HU_STR("0")));

    return !t->is_of_job && !is_of_all && list->n && list->at[0].is_of_job;
}

/* As Flight Recorder dumps have it. */
static hu_str name_of(hu_str type)
{
    static const struct {
        const char *type, *name;
    } names[] = {{"ALLREDUCE", "all_reduce"},
                 {"ALLREDUCE_COALESCED", "allreduce_coalesced"},
                 {"ALLGATHER", "all_gather"},
                 {"_ALLGATHER_BASE", "_all_gather_base"},
                 {"REDUCE_SCATTER", "reduce_scatter"},
                 {"_REDUCE_SCATTER_BASE", "_reduce_scatter_base"},
                 {"ALLTOALL", "all_to_all"},
                 {"ALLTOALL_BASE", "all_to_all"},
                 {"BROADCAST", "broadcast"},
                 {"REDUCE", "reduce"},
                 {"GATHER", "gather"},
                 {"SCATTER", "scatter"},
                 {"BARRIER", "barrier"},
                 {"COALESCED", "coalesced"},
                 {"SEND", "send"},
                 {"RECV", "recv"}};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(type, hu_str_of(names[i].type)))
            return hu_str_of(names[i].name);
    return type;
}

/* "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, …) ran for 600061 milliseconds before timing out" */
static bool read_work(hu_str line, hu_log_timeout *t)
{
    const hu_str work = behind(line, "Watchdog caught collective operation timeout: WorkNCCL(");

    if (!work.n)
        return false;
    t->timed_out = true;
    t->sequence = number_behind(work, "SeqNum=");
    t->operation = name_of(up_to(behind(work, "OpType="), ",) "));
    t->elements[0] = number_behind(work, "NumelIn=");
    t->elements[1] = number_behind(work, "NumelOut=");
    t->timeout_ms = number_behind(work, "Timeout(ms)=");
    t->waited_ms = number_behind(work, " ran for ");
    return true;
}

/* How far the rank is. */
static bool read_status(hu_str line, hu_log_timeout *t)
{
    static const char *const enqueued[] = {"ast enqueued NCCL work: ", "ast enqueued work: "};
    static const char *const completed[] = {"ast completed NCCL work: ", "ast completed work: "};
    static const char *const at[] = {
        "imeout at NCCL work: ", "detected by watchdog at work: ", "detected by watchdog at work sequence id: "};

    for (size_t i = 0; i < HU_COUNT(enqueued) && t->enqueued < 0; i++) {
        t->enqueued = number_behind(line, enqueued[i]);
        t->completed = number_behind(line, completed[i]);
    }
    for (size_t i = 0; i < HU_COUNT(at) && t->sequence < 0; i++)
        t->sequence = number_behind(line, at[i]);
    t->timed_out |= t->sequence >= 0;
    return t->enqueued >= 0;
}

static bool is_either(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}

static bool is_text_of_either(hu_str a, hu_str b)
{
    return a.n == 0 || b.n == 0 || hu_str_equal(a, b);
}

/* The same call, or the same state, of the same rank: what one line does not say another may. */
static hu_log_timeout *find(const hu_log_timeouts *list, const hu_log_timeout *t)
{
    for (size_t i = list->n; i > 0 && i + LOOKED_BACK > list->n; i--) {
        hu_log_timeout *old = &list->at[i - 1];

        if (old->rank == t->rank && old->timed_out == t->timed_out && is_either(old->sequence, t->sequence) &&
            is_text_of_either(old->group, t->group) && is_text_of_either(old->operation, t->operation) &&
            is_either(old->enqueued, t->enqueued))
            return old;
    }
    return NULL;
}

static bool copy(hu_str *into, hu_str from, hu_arena *arena)
{
    if (into->n || !from.n)
        return true;
    *into = hu_arena_copy(arena, from);
    return into->p != NULL;
}

static void take_number(int64_t *into, int64_t from)
{
    *into = *into < 0 ? from : *into;
}

static bool merge(hu_log_timeout *old, const hu_log_timeout *t, hu_arena *arena)
{
    take_number(&old->sequence, t->sequence);
    take_number(&old->elements[0], t->elements[0]);
    take_number(&old->elements[1], t->elements[1]);
    take_number(&old->timeout_ms, t->timeout_ms);
    take_number(&old->waited_ms, t->waited_ms);
    take_number(&old->enqueued, t->enqueued);
    take_number(&old->completed, t->completed);
    return copy(&old->group, t->group, arena) && copy(&old->about, t->about, arena) &&
           copy(&old->operation, t->operation, arena);
}

bool hu_watchdog_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_timeouts *out, bool *is_taken)
{
    hu_log_timeout  t = {.rank = -1,
                         .sequence = -1,
                         .elements = {-1, -1},
                         .timeout_ms = -1,
                         .waited_ms = -1,
                         .enqueued = -1,
                         .completed = -1,
                         .line = number};
    hu_log_timeout *old, added;
    bool            is_work, is_status;

    *is_taken = false;
    if (!line.n || !hu_str_has(line, HU_STR("NCCL")))
        return true;
    is_work = read_work(line, &t);
    is_status = read_status(line, &t);
    if (!is_work && !is_status)
        return true;
    *is_taken = true;
    read_prefix(line, &t);
    if (t.rank < 0 || t.rank > INT32_MAX || is_ambiguous(out, &t))
        return true;
    old = find(out, &t);
    if (old)
        return merge(old, &t, arena);
    if (out->n == MOST_TIMEOUTS)
        return true;
    added = t;
    added.group = added.about = added.operation = (hu_str){0};
    return merge(&added, &t, arena) && hu_vec_push(arena, out, added);
}
