/* SPDX-License-Identifier: Apache-2.0
 * log_ranks.c - ranks stand at their numbers; those without a line are empty. */
#include "ingest/log_ranks.h"

enum { MOST_RANKS = 4096 };

bool hu_log_ranks_add(hu_step_log *log, int64_t rank, int64_t ns, hu_arena *arena)
{
    if (rank < 0 || rank >= MOST_RANKS)
        return true;
    while ((size_t)rank >= log->ranks.n)
        if (!hu_vec_push(arena, &log->ranks, ((hu_log_rank){0})))
            return false;
    return hu_vec_push(arena, &log->ranks.at[rank].ns, ns);
}

bool hu_log_ranks_file(hu_step_log *log, size_t first, hu_str path, hu_arena *arena)
{
    hu_log_rank  rank = {0};
    const char  *slash = memrchr(path.p, '/', path.n);
    const hu_str name = slash ? (hu_str){slash + 1, (size_t)(path.p + path.n - slash) - 1} : path;

    if (log->rank_files.n == MOST_RANKS || first == log->steps.n || log->steps.at[first].rank >= 0)
        return true;
    rank.file = hu_arena_copy(arena, name);
    if (!rank.file.p)
        return false;
    for (size_t i = first; i < log->steps.n; i++)
        if (!hu_vec_push(arena, &rank.ns, log->steps.at[i].ns))
            return false;
    return hu_vec_push(arena, &log->rank_files, rank);
}
