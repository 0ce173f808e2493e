/* SPDX-License-Identifier: Apache-2.0
 * log_blocks.c - a block ends where numbers fall back; times of day say whether the next one is later. */
#include "ingest/log_blocks.h"

typedef struct {
    size_t from, to;
} block;

static bool begins(const hu_step_log *log, size_t first, size_t i)
{
    return i > first && log->steps.at[i].iteration <= log->steps.at[i - 1].iteration;
}

/* The block that begins at `from`. */
static block block_at(const hu_step_log *log, size_t first, size_t from)
{
    block b = {from, from + 1};

    while (b.to < log->steps.n && !begins(log, first, b.to))
        b.to++;
    return b;
}

/* Are all of one run, of no epoch, and with times of day? */
static bool is_plain(const hu_step_log *log, size_t first, bool *has_times)
{
    *has_times = true;
    for (size_t i = first; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];

        if (s->epoch >= 0 || s->run != log->steps.at[first].run)
            return false;
        *has_times &= s->at_ns != 0;
    }
    return true;
}

static hu_log_anew judge(const hu_step_log *log, size_t first)
{
    const block        one = block_at(log, first, first);
    const hu_log_step *at = log->steps.at;
    bool               all_later = true, all_beside = true;

    for (size_t from = one.to; from < log->steps.n;) {
        const block b = block_at(log, first, from);

        all_later &= at[b.from].at_ns >= at[b.from - 1].at_ns;
        all_beside &= at[b.from].at_ns < at[one.to - 1].at_ns && at[b.to - 1].at_ns > at[one.from].at_ns;
        from = b.to;
    }
    return all_beside                                                  ? HU_LOG_ANEW_RANKS
           : all_later && at[log->steps.n - 1].at_ns > at[first].at_ns ? HU_LOG_ANEW_LATER
                                                                       : HU_LOG_ANEW_UNKNOWN;
}

static block longest(const hu_step_log *log, size_t first)
{
    block best = {first, first};

    for (size_t from = first; from < log->steps.n;) {
        const block b = block_at(log, first, from);

        if (b.to - b.from > best.to - best.from)
            best = b;
        from = b.to;
    }
    return best;
}

/* Both rise. */
static void keep_slowest(hu_step_log *log, block into, block from)
{
    hu_log_step *at = log->steps.at;

    for (size_t i = into.from, k = from.from; i < into.to && k < from.to;) {
        if (at[i].iteration != at[k].iteration) {
            at[i].iteration < at[k].iteration ? i++ : k++;
            continue;
        }
        if (at[k].ns > at[i].ns && at[k].is_bare == at[i].is_bare)
            at[i].ns = at[k].ns;
        log->n_twins++;
        i++;
        k++;
    }
}

static void join(hu_step_log *log, size_t first)
{
    const block best = longest(log, first);

    for (size_t from = first; from < log->steps.n;) {
        const block b = block_at(log, first, from);

        if (b.from != best.from)
            keep_slowest(log, best, b);
        from = b.to;
    }
    memmove(&log->steps.at[first], &log->steps.at[best.from], (best.to - best.from) * sizeof *log->steps.at);
    log->steps.n = first + best.to - best.from;
}

bool hu_log_blocks_join(hu_step_log *log, size_t first)
{
    uint64_t    n = 0;
    bool        has_times;
    hu_log_anew anew;

    for (size_t i = first; i < log->steps.n; i++)
        n += begins(log, first, i);
    if (n == 0 || !is_plain(log, first, &has_times))
        return false;
    anew = has_times ? judge(log, first) : HU_LOG_ANEW_UNKNOWN;
    log->anew = log->n_anew && log->anew != anew ? HU_LOG_ANEW_UNKNOWN : anew;
    log->n_anew += n;
    if (anew != HU_LOG_ANEW_RANKS)
        return false;
    join(log, first);
    return true;
}
