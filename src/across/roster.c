/* SPDX-License-Identifier: Apache-2.0
 * roster.c - a job is known by what its traces say of themselves; where they say nothing, by what somebody named them. */
#include "across/roster.h"

#include <strings.h>

#include "base/number.h"

/* The last "word7", "word_7" or the like of the text, and its number; empty when it holds none. */
static hu_str last_numbered(hu_str text, hu_str word, int64_t *number)
{
    hu_str found = HU_STR("");

    for (size_t i = 0; i + word.n < text.n; i++) {
        size_t  k = i + word.n, digits = 0;
        int64_t value;

        if (strncasecmp(text.p + i, word.p, word.n) != 0)
            continue;
        if (k < text.n && memchr("-_.", text.p[k], 3))
            k++;
        while (k + digits < text.n && text.p[k + digits] >= '0' && text.p[k + digits] <= '9')
            digits++;
        if (digits && digits < 9 && hu_parse_i64((hu_str){text.p + k, digits}, &value)) {
            found = (hu_str){text.p + i, k + digits - i};
            *number = value;
        }
    }
    return found;
}

static int64_t number_behind(hu_str text, hu_str word)
{
    int64_t number = -1;

    last_numbered(text, word, &number);
    return number;
}

static hu_str base_of(hu_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);

    return slash ? (hu_str){slash + 1, (size_t)(path.p + path.n - slash) - 1} : path;
}

/* The digits before the first "." of a base name. */
static int64_t number_at_end(hu_str base)
{
    const char *dot = memchr(base.p, '.', base.n);
    size_t      end = dot ? (size_t)(dot - base.p) : base.n, begin = end;
    int64_t     value;

    while (begin && base.p[begin - 1] >= '0' && base.p[begin - 1] <= '9')
        begin--;
    return end > begin && end - begin < 9 && hu_parse_i64((hu_str){base.p + begin, end - begin}, &value) ? value : -1;
}

int64_t hu_roster_rank_of_name(hu_str path, size_t files)
{
    const hu_str base = base_of(path);
    int64_t      rank = number_behind(base, HU_STR("rank"));

    rank = rank < 0 ? number_behind(base, HU_STR("worker")) : rank;
    if (rank < 0 && files > 1) {
        rank = number_at_end(base);
        rank = rank < (int64_t)files ? rank : -1;
    }
    return rank;
}

hu_str hu_roster_node_of_name(hu_str path)
{
    int64_t number;

    return last_numbered(base_of(path), HU_STR("node"), &number);
}

static void name(int64_t *list, size_t *n, int64_t rank)
{
    if (*n < HU_ROSTER_NAMED)
        list[*n] = rank;
    (*n)++;
}

/* Of two equally usual numbers the larger. */
static size_t usual_steps(hu_digest *const *digests, size_t n)
{
    size_t best = 0, best_count = 0;

    for (size_t i = 0; i < n; i++) {
        size_t count = 0;

        for (size_t k = 0; k < n && k < 1024; k++)
            count += digests[k]->steps.n == digests[i]->steps.n;
        if (count > best_count || (count == best_count && digests[i]->steps.n > best)) {
            best = digests[i]->steps.n;
            best_count = count;
        }
    }
    return best;
}

static int64_t count_nodes(hu_digest *const *digests, size_t n)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < i && !hu_str_equal(digests[k]->info.host, digests[i]->info.host))
            k++;
        nodes += k == i;
    }
    return nodes;
}

/* Did the collectives of two captures take place at other times? */
static bool are_apart(const hu_digest *a, const hu_digest *b)
{
    const hu_comm *x = &a->comm, *y = &b->comm;

    if (x->n_calls_at == 0 || y->n_calls_at == 0)
        return false;
    return x->calls_at[x->n_calls_at - 1].start_ns < y->calls_at[0].start_ns ||
           y->calls_at[y->n_calls_at - 1].start_ns < x->calls_at[0].start_ns;
}

/*
 * A rank that is there twice is of two runs, where the traces themselves say which rank they are.  Where files are only
 * named so, it may be the first of each machine; not so when nothing happened on both at one time.
 */
static bool is_of_two_runs(const hu_digest *a, const hu_digest *b)
{
    return (a->info.world_size > 0 && b->info.world_size > 0) || are_apart(a, b);
}

static bool differ(hu_str a, hu_str b)
{
    return a.n && b.n && !hu_str_equal(a, b);
}

/* CPU samples alone: which rank they are of no such file says. */
static bool are_samples(const hu_digest *d)
{
    return hu_str_starts(d->info.tool, HU_STR("perf "));
}

/* Nothing says that they are of one job, and another tool or another model of GPU says that they are not. */
static bool are_strangers(hu_digest *const *digests, size_t n)
{
    bool differs = false;

    for (size_t i = 0; i < n; i++) {
        const hu_digest *d = digests[i];

        if (d->info.rank >= 0 || d->info.world_size > 1 || (d->memory.n && d->gpu_time.n_slices == 0))
            return false;
        differs |= differ(d->info.tool, digests[0]->info.tool) || differ(d->device, digests[0]->device) || are_samples(d);
    }
    return differs;
}

void hu_roster_measure(hu_digest *const *digests, size_t n, hu_roster *out)
{
    int64_t next = 0;

    *out = (hu_roster){.world_size = -1, .nodes = count_nodes(digests, n)};
    for (size_t i = 0; i < n; i++)
        out->world_size = digests[i]->info.world_size > out->world_size ? digests[i]->info.world_size : out->world_size;
    if (n < 2)
        return;
    out->usual_steps = usual_steps(digests, n);
    out->mixes_runs = are_strangers(digests, n);
    for (size_t i = 0; i < n; i++) {
        const int64_t rank = digests[i]->info.rank;

        if (digests[i]->steps.n != out->usual_steps)
            name(out->odd, &out->n_odd, rank >= 0 ? rank : (int64_t)i);
        if (rank < 0)
            continue;
        if (i && digests[i - 1]->info.rank == rank && !(i > 1 && digests[i - 2]->info.rank == rank))
            name(out->twice, &out->n_twice, rank);
        out->mixes_runs |= i && digests[i - 1]->info.rank == rank && is_of_two_runs(digests[i - 1], digests[i]);
        for (; next < rank && next < out->world_size; next++)
            name(out->missing, &out->n_missing, next);
        next = rank + 1;
    }
    if (next > 0) /* ranks are known at all */
        for (; next < out->world_size; next++)
            name(out->missing, &out->n_missing, next);
}
