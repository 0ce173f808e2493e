/* SPDX-License-Identifier: Apache-2.0
 * waits.c - turns looks (samples of waiting threads) into waits.
 *
 * A look shows in which call a thread was at one moment; the scheduler's switches show from when to when it did not run.  A
 * wait is in one call from its beginning to its end, so one look into it identifies all of it, exactly.
 *
 * Waits that are shorter than the pause between two looks are mostly missed.  Other waits of the same thread show which call
 * they are in, if there are FEWEST looks at waits of that length (by powers of two) and all found the same call: for a call
 * that makes up three quarters of them, chance does that in one thread of twenty.  Otherwise they stay unknown, as do those
 * before the first and after the last of these looks: programs begin and end with other waits.
 *
 * Without the scheduler's switches, a wait is known for as long as it was sampled, and is extended halfway to the looks
 * before and after it: right on average.  Where the thread's track has ranges, which a wait must not cross, it is not.
 */
#include "record/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/format.h"
#include "record/wait_calls.h"
#include "record/wait_file.h"

enum { FEWEST = 10, LENGTHS = 64, TEXT_MOST = 1024, TEXTS_MOST = 1 << 20 };

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool take_text(hu_waits *w, FILE *f, const hu_wait_row *row)
{
    char         bytes[TEXT_MOST + sizeof *row];
    const size_t padded = (row->object + sizeof *row - 1) / sizeof *row * sizeof *row;
    hu_str       text;

    if (row->object > TEXT_MOST || row->text > TEXTS_MOST || fread(bytes, 1, padded, f) != padded) {
        w->malformed++;
        return true;
    }
    text = hu_arena_copy(w->arena, (hu_str){bytes, row->object});
    while (w->texts.n <= row->text)
        if (!hu_vec_push(w->arena, &w->texts, HU_STR("")))
            return false;
    w->texts.at[row->text] = text;
    return text.p != NULL;
}

static bool take_row(hu_waits *w, FILE *f, const hu_wait_row *row)
{
    const hu_wait_seen seen = {row->first_ns, row->last_ns, row->from_ns, row->to_ns, row->object,
                               row->pid,      row->tid,     row->text,    row->call,  row->class};

    switch ((hu_wait_row_type)row->type) {
    case HU_WAIT_ROW_TEXT:
        return take_text(w, f, row);
    case HU_WAIT_ROW_RUNTIME:
        return row->class != HU_WAIT_RUNTIME_GO || hu_vec_push(w->arena, &w->go, row->pid);
    case HU_WAIT_ROW_SEEN:
        if (hu_wait_call_at(row->call) && row->class < HU_OS_CLASS_COUNT && row->from_ns >= 0 &&
            row->from_ns <= row->first_ns && row->first_ns <= row->last_ns && row->last_ns <= row->to_ns &&
            row->to_ns <= HU_TIME_MAX_NS / 2)
            return hu_vec_push(w->arena, &w->seen, seen);
        break;
    }
    w->malformed++;
    return true;
}

static bool read_rows(hu_waits *w, const char *session)
{
    hu_wait_head head;
    hu_wait_row  row;
    char         path[4352];
    int          fd;
    FILE        *f;
    bool         is_good = true;

    snprintf(path, sizeof path, "%s/waits", session);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    if (fread(&head, sizeof head, 1, f) != 1 || head.magic != HU_WAIT_MAGIC || head.version != 1 ||
        head.row_bytes != sizeof row)
        w->malformed++;
    else
        while (is_good && fread(&row, sizeof row, 1, f) == 1)
            is_good = take_row(w, f, &row);
    fclose(f);
    return is_good;
}

static int by_thread(const void *left, const void *right)
{
    const hu_wait_seen *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

/* ---- stretches --------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t  since_ns; /* it does not run since; -1: it does */
    uint32_t number;   /* of waits so far, then the place of the next */
    bool     is_wanted;
} sleeper;

static uint64_t number_of(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

/* Goes through all changes of threads that were looked at: counts their waits, then (out) keeps them. */
static void walk(const hu_perf_files *f, sleeper *sleepers, hu_wait *out)
{
    for (size_t i = 0; i < f->threads.n; i++)
        sleepers[i].since_ns = -1;
    for (size_t i = 0; i < f->changes.n; i++) {
        const hu_perf_change *c = &f->changes.at[i];
        sleeper              *s = &sleepers[c->thread];

        if (!s->is_wanted)
            continue;
        if (s->since_ns >= 0 && c->time_ns > s->since_ns && c->state != HU_TASK_LOST) {
            if (out)
                out[s->number] = (hu_wait){s->since_ns, c->time_ns, UINT32_MAX, HU_WAIT_UNKNOWN};
            s->number++;
        }
        s->since_ns = c->state == HU_TASK_SLEEPING ? c->time_ns : -1;
    }
}

static bool find_stretches(hu_waits *w, const hu_perf_files *f, hu_arena *scratch)
{
    sleeper *sleepers = hu_arena_calloc(scratch, f->threads.n + 1, sizeof *sleepers);
    hu_map   seen;
    size_t   sum = 0;

    if (!sleepers || !hu_map_init(&seen, scratch, w->seen.n))
        return false;
    for (size_t i = 0; i < w->seen.n; i++) {
        uint32_t *place = hu_map_put(&seen, number_of(w->seen.at[i].pid, w->seen.at[i].tid));

        if (!place)
            return false;
        *place = 1;
    }
    for (size_t i = 0; i < f->threads.n; i++)
        sleepers[i].is_wanted = hu_map_get(&seen, number_of(f->threads.at[i].pid, f->threads.at[i].tid)) == 1;
    walk(f, sleepers, NULL);
    for (size_t i = 0; i < f->threads.n; i++) {
        const hu_wait_thread t = {f->threads.at[i].pid, f->threads.at[i].tid, sum, sleepers[i].number};

        sleepers[i].number = (uint32_t)sum;
        sum += t.n;
        if (t.n && (sum > UINT32_MAX || !hu_vec_push(w->arena, &w->threads, t)))
            return false;
    }
    if (!hu_vec_reserve(w->arena, &w->at, sum + 1))
        return false;
    walk(f, sleepers, w->at.at);
    w->at.n = sum;
    return true;
}

/* Without the scheduler: as long as somebody looked. */
static bool take_looks(hu_waits *w)
{
    for (uint32_t i = 0; i < w->seen.n; i++) {
        const hu_wait_seen *s = &w->seen.at[i];
        hu_wait_thread     *last = w->threads.n ? &w->threads.at[w->threads.n - 1] : NULL;
        hu_wait             wait = {s->from_ns, s->to_ns, i, HU_WAIT_SAMPLED};

        if (!last || last->pid != s->pid || last->tid != s->tid) {
            if (!hu_vec_push(w->arena, &w->threads, ((hu_wait_thread){s->pid, s->tid, w->at.n, 0})))
                return false;
            last = &w->threads.at[w->threads.n - 1];
        }
        if (last->n && wait.start_ns < w->at.at[w->at.n - 1].end_ns)
            wait.start_ns = w->at.at[w->at.n - 1].end_ns;
        if (wait.end_ns <= wait.start_ns)
            continue;
        if (!hu_vec_push(w->arena, &w->at, wait))
            return false;
        last->n++;
    }
    return true;
}

/* The first wait of a thread that ends behind a moment, from 0; n: none. */
static size_t first_behind(const hu_waits *w, const hu_wait_thread *t, int64_t ns)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->at.at[t->first + middle].end_ns > ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Assigns each look to the wait that it fell into; where it lasted longer, that must be the same wait. */
static void place_looks(hu_waits *w)
{
    for (uint32_t i = 0; i < w->seen.n; i++) {
        const hu_wait_seen   *s = &w->seen.at[i];
        size_t                n;
        const hu_wait_thread *t = hu_waits_of(w, s->pid, s->tid, &n);

        for (; n; t++, n--) {
            const size_t at = first_behind(w, t, s->first_ns);
            hu_wait     *wait = &w->at.at[t->first + at];

            if (at == t->n || wait->start_ns > s->first_ns || wait->end_ns < s->last_ns)
                continue;
            wait->seen = i;
            wait->source = HU_WAIT_SAMPLED;
            break;
        }
    }
}

static int by_number(const void *left, const void *right)
{
    const hu_wait_thread *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

int hu_waits_read(const char *session, const hu_perf_files *files, hu_arena *arena, hu_waits *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    bool      is_good;

    *out = (hu_waits){.arena = arena, .is_exact = files->changes.n && !files->is_estimate};
    is_good = scratch && hu_vec_push(arena, &out->texts, HU_STR("")) && read_rows(out, session);
    if (is_good && out->seen.n) {
        qsort(out->seen.at, out->seen.n, sizeof *out->seen.at, by_thread);
        is_good = out->is_exact ? find_stretches(out, files, scratch) : take_looks(out);
    }
    hu_arena_free(scratch);
    if (!is_good)
        return hu_fail_memory(err);
    if (out->threads.n)
        qsort(out->threads.at, out->threads.n, sizeof *out->threads.at, by_number);
    if (out->is_exact)
        place_looks(out);
    return 0;
}

const hu_wait_thread *hu_waits_of(const hu_waits *w, uint32_t pid, uint32_t tid, size_t *n)
{
    const uint64_t wanted = number_of(pid, tid);
    size_t         low = 0, high = w->threads.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (number_of(w->threads.at[middle].pid, w->threads.at[middle].tid) >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    for (*n = 0; low + *n < w->threads.n; ++*n)
        if (number_of(w->threads.at[low + *n].pid, w->threads.at[low + *n].tid) != wanted)
            break;
    return *n ? &w->threads.at[low] : NULL;
}

/* What is only estimated ends where a recorded call begins, as far as it was not seen there. */
static void clip(hu_wait *wait, const hu_wait_seen *seen, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= seen->first_ns)
        wait->start_ns = end_ns > wait->start_ns ? end_ns : wait->start_ns;
    else if (start_ns >= seen->last_ns)
        wait->end_ns = start_ns < wait->end_ns ? start_ns : wait->end_ns;
    else
        wait->source = HU_WAIT_COVERED;
}

/* A wait lies in a call from its beginning to its end, or not at all: its middle says which, whatever the clocks differ. */
void hu_waits_cover(hu_waits *w, const hu_wait_thread *t, size_t n, int64_t start_ns, int64_t end_ns)
{
    for (; n; t++, n--)
        for (size_t i = first_behind(w, t, start_ns); i < t->n && w->at.at[t->first + i].start_ns < end_ns; i++) {
            hu_wait      *wait = &w->at.at[t->first + i];
            const int64_t middle_ns = wait->start_ns + (wait->end_ns - wait->start_ns) / 2;

            if (!w->is_exact)
                clip(wait, &w->seen.at[wait->seen], start_ns, end_ns);
            else if (middle_ns >= start_ns && middle_ns < end_ns)
                wait->source = HU_WAIT_COVERED;
        }
}

void hu_waits_trim(hu_waits *w, const hu_wait_thread *t, size_t n)
{
    for (; n && !w->is_exact; t++, n--)
        for (size_t i = 0; i < t->n; i++) {
            hu_wait            *wait = &w->at.at[t->first + i];
            const hu_wait_seen *s = &w->seen.at[wait->seen];

            wait->start_ns = s->first_ns > wait->start_ns ? s->first_ns : wait->start_ns;
            wait->end_ns = s->last_ns > wait->start_ns ? s->last_ns : wait->start_ns;
        }
}

/* ---- what nobody looked at --------------------------------------------------------------------------------------- */

static unsigned length_of(const hu_wait *wait)
{
    return 63u - (unsigned)__builtin_clzll((unsigned long long)(wait->end_ns - wait->start_ns) | 1);
}

/* Is it the same call on the same thing? */
static bool is_same(const hu_wait_seen *a, const hu_wait_seen *b)
{
    return a->call == b->call && a->class == b->class && a->text == b->text;
}

static void infer(hu_waits *w, const hu_wait_thread *t)
{
    uint32_t seen[LENGTHS], n[LENGTHS] = {0};
    size_t   first[LENGTHS], last[LENGTHS];
    bool     differ[LENGTHS] = {false};

    for (size_t i = 0; i < t->n; i++) {
        const hu_wait *wait = &w->at.at[t->first + i];
        const unsigned k = length_of(wait);

        if (wait->source != HU_WAIT_SAMPLED)
            continue;
        last[k] = i;
        if (n[k]++ == 0) {
            seen[k] = wait->seen;
            first[k] = i;
            continue;
        }
        differ[k] |= !is_same(&w->seen.at[seen[k]], &w->seen.at[wait->seen]);
    }
    for (size_t i = 0; i < t->n; i++) {
        hu_wait       *wait = &w->at.at[t->first + i];
        const unsigned k = length_of(wait);

        if (wait->source == HU_WAIT_UNKNOWN && n[k] >= FEWEST && !differ[k] && i > first[k] && i < last[k]) {
            wait->source = HU_WAIT_INFERRED;
            wait->seen = seen[k];
        }
    }
}

void hu_waits_infer(hu_waits *w)
{
    for (size_t i = 0; w->is_exact && i < w->threads.n; i++)
        infer(w, &w->threads.at[i]);
}
