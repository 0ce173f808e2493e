/* SPDX-License-Identifier: Apache-2.0
 * end_lines.c - one mark for each teller; what it says stands behind the mark, or, of torchrun, in the lines below. */
#include "ingest/end_lines.h"

#include <string.h>

#include "base/number.h"

enum { MOST_ENDS = 16, MOST_BUS = 24, ROOT_LINES = 8 };

static hu_str behind(hu_str line, const char *mark)
{
    const char *at = memmem(line.p, line.n, mark, strlen(mark));

    return at ? (hu_str){at + strlen(mark), (size_t)(line.p + line.n - at) - strlen(mark)} : (hu_str){0};
}

static bool add(const hu_log_end *end, hu_arena *arena, hu_log_ends *out)
{
    hu_log_end copy = *end;

    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].kind == end->kind && out->at[i].code == end->code)
            return true;
    if (out->n == MOST_ENDS)
        return true;
    copy.text = hu_arena_copy(arena, end->text);
    return copy.text.p && hu_vec_push(arena, out, copy);
}

/* "NVRM: Xid (PCI:0000:07:00): 79, pid=…" */
static bool take_xid(hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out)
{
    hu_str      bus = behind(line, "NVRM: Xid (");
    const char *end = bus.p ? memmem(bus.p, bus.n, "): ", 3) : NULL;
    size_t      n = 0;
    int64_t     code;
    hu_str      rest;

    if (!end || end - bus.p > MOST_BUS)
        return true;
    rest = (hu_str){end + 3, (size_t)(bus.p + bus.n - end) - 3};
    while (n < rest.n && n < 4 && rest.p[n] >= '0' && rest.p[n] <= '9')
        n++;
    if (!hu_parse_i64((hu_str){rest.p, n}, &code))
        return true;
    bus.n = (size_t)(end - bus.p);
    if (hu_str_starts(bus, HU_STR("PCI:")))
        bus = (hu_str){bus.p + 4, bus.n - 4};
    return add(&(hu_log_end){.kind = HU_LOG_END_XID, .text = bus, .code = code, .rank = -1, .line = number}, arena, out);
}

/* "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-04T11:05:00 DUE TO TIME LIMIT ***" */
static bool take_slurm(hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out)
{
    hu_str      reason = behind(line, " DUE TO ");
    const char *stars;

    if (!behind(line, "error: *** ").p || !behind(line, " CANCELLED AT ").p)
        return true;
    stars = reason.p ? memmem(reason.p, reason.n, " ***", 4) : NULL;
    reason = stars && stars - reason.p < 40 ? (hu_str){reason.p, (size_t)(stars - reason.p)} : HU_STR("");
    return add(&(hu_log_end){.kind = HU_LOG_END_CANCELLED, .text = reason, .rank = -1, .line = number}, arena, out);
}

static bool take_host_memory(hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out)
{
    if (!behind(line, " oom_kill event").p && !behind(line, " oom-kill event").p &&
        !behind(line, "Out of memory: Killed process ").p)
        return true;
    return add(&(hu_log_end){.kind = HU_LOG_END_HOST_MEMORY, .text = HU_STR(""), .rank = -1, .line = number}, arena, out);
}

/* "  rank      : 11 (local_rank: 3)", behind any prefix: the number behind `key`. */
static bool value_of(hu_str line, const char *key, int64_t *value)
{
    const hu_str rest = behind(line, key);
    size_t       n = 0;

    while (n < rest.n && rest.p[n] != ' ')
        n++;
    return rest.p && hu_parse_i64((hu_str){rest.p, n}, value);
}

/* torchrun: "Root Cause (first observed failure):", then a value in each line. */
static bool take_root(hu_end_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out)
{
    if (behind(line, "Root Cause (first observed failure):").p) {
        r->left = ROOT_LINES;
        r->root = (hu_log_end){.kind = HU_LOG_END_RANK, .text = HU_STR(""), .rank = -1, .line = number};
        return true;
    }
    if (r->left == 0)
        return true;
    r->left--;
    value_of(line, "  rank      : ", &r->root.rank);
    if (!value_of(line, "  exitcode  : ", &r->root.code))
        return true;
    r->left = 0;
    return r->root.rank < 0 || r->root.code == INT64_MIN || add(&r->root, arena, out);
}

bool hu_end_line(hu_end_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out)
{
    return take_root(r, line, number, arena, out) && take_xid(line, number, arena, out) &&
           take_slurm(line, number, arena, out) && take_host_memory(line, number, arena, out);
}
