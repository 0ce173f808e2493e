/* SPDX-License-Identifier: Apache-2.0
 * schedstat_read.c - from sums to states: what a thread ran and waited since the last row, one after the other.
 *
 * Between two rows a thread slept for the rest, then waited for the CPU, then ran: the order is an estimate, the sums
 * are the scheduler's.  The scheduler adds a wait when it is over: a thread that is found runnable waited for the rest.
 * Between the last look at a thread and the one that missed it nothing is known: it ended somewhere in between.
 * Changes of different threads are put into the order of time at the end.
 */
#include "record/schedstat_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/perf_threads.h"
#include "record/schedstat.h"

/* A thread that ran all the time is seen a moment late: less than this is no sleep. */
enum { ROWS = 1024, SLACK_NS = 300000 };

/* The numbers of a thread at its last row. */
typedef struct {
    int64_t  time_ns;
    uint64_t run_ns, delay_ns;
} sums;

typedef struct {
    hu_perf_files *out;
    HU_VEC(sums) before; /* by thread */
    int64_t first_ns, last_ns;
} reader;

/* a - b, and 0 for numbers that run backwards; no more than `most`. */
static int64_t grown(uint64_t a, uint64_t b, int64_t most)
{
    return a <= b ? 0 : a - b > (uint64_t)most ? most : (int64_t)(a - b);
}

/* It slept from its last row to the last look at it, which found nothing new. */
static bool take_end(reader *x, uint32_t thread, const hu_schedstat_row *row)
{
    const sums   *before = &x->before.at[thread];
    const int64_t seen_ns = row->delay_ns > (uint64_t)before->time_ns && row->delay_ns < (uint64_t)row->time_ns
                                ? (int64_t)row->delay_ns
                                : before->time_ns;

    if (before->time_ns < 0)
        return hu_perf_threads_change(x->out, thread, row->time_ns, row->cpu, HU_TASK_DEAD);
    return (seen_ns == before->time_ns ||
            hu_perf_threads_change(x->out, thread, before->time_ns, row->cpu, HU_TASK_SLEEPING)) &&
           hu_perf_threads_change(x->out, thread, seen_ns, row->cpu, HU_TASK_LOST) &&
           hu_perf_threads_change(x->out, thread, row->time_ns, row->cpu, HU_TASK_DEAD);
}

static bool take_row(reader *x, const hu_schedstat_row *row)
{
    const uint32_t thread = hu_perf_threads_find(x->out, row->pid, row->tid, row->time_ns);
    const hu_str   name = {row->name, strnlen(row->name, sizeof row->name)};
    int64_t        run_ns, delay_ns, at_ns;
    sums          *before;

    if (thread == UINT32_MAX || !hu_perf_threads_name(x->out, thread, name))
        return false;
    while (x->before.n <= thread)
        if (!hu_vec_push(x->out->arena, &x->before, ((sums){.time_ns = -1})))
            return false;
    before = &x->before.at[thread];
    if (row->state == 'X')
        return take_end(x, thread, row);
    if (before->time_ns < 0) /* it began since the last look */
        before->time_ns = row->time_ns - grown(row->run_ns + row->delay_ns, 0, row->time_ns - x->first_ns);
    at_ns = before->time_ns;
    run_ns = grown(row->run_ns, before->run_ns, row->time_ns - at_ns);
    delay_ns = grown(row->delay_ns, before->delay_ns, row->time_ns - at_ns - run_ns);
    if (row->state == 'R')
        delay_ns = row->time_ns - at_ns - run_ns;
    *before = (sums){row->time_ns, row->run_ns, row->delay_ns};
    if (run_ns + delay_ns + SLACK_NS < row->time_ns - at_ns &&
        !hu_perf_threads_change(x->out, thread, at_ns, row->cpu, HU_TASK_SLEEPING))
        return false;
    if (delay_ns && !hu_perf_threads_change(x->out, thread, row->time_ns - run_ns - delay_ns, row->cpu, HU_TASK_RUNNABLE))
        return false;
    if (run_ns && !hu_perf_threads_change(x->out, thread, row->time_ns - run_ns, row->cpu, HU_TASK_RUNNING))
        return false;
    if (row->state == 'Z')
        return hu_perf_threads_change(x->out, thread, row->time_ns, row->cpu, HU_TASK_DEAD);
    return true;
}

static int compare_changes(const void *a, const void *b)
{
    const hu_perf_change *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : (int)x->state - (int)y->state;
}

static bool is_row(const hu_schedstat_row *row)
{
    return row->time_ns >= 0 && row->time_ns < INT64_MAX / 4;
}

static int read_rows(reader *x, int fd, hu_error *err)
{
    hu_schedstat_row rows[ROWS];
    size_t           n = 0;

    for (;;) {
        const ssize_t got = read(fd, (char *)rows + n, sizeof rows - n);
        size_t        i = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
        for (; i < n / sizeof *rows; i++) {
            if (!is_row(&rows[i]) || rows[i].time_ns < x->last_ns) {
                x->out->malformed++;
                continue;
            }
            x->last_ns = rows[i].time_ns;
            if (!take_row(x, &rows[i]))
                return hu_fail_memory(err);
        }
        n -= i * sizeof *rows;
        memmove(rows, rows + i, n);
    }
    x->out->malformed += n > 0;
    return 0;
}

int hu_schedstat_read(const char *session, hu_perf_files *out, hu_error *err)
{
    reader            x = {.out = out};
    hu_schedstat_head head;
    char              path[4352];
    int               fd, rc = 0;

    snprintf(path, sizeof path, "%s/schedstat", session);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return 0;
    if (read(fd, &head, sizeof head) != (ssize_t)sizeof head || head.magic != HU_SCHEDSTAT_MAGIC || head.version != 1 ||
        head.row_bytes != sizeof(hu_schedstat_row) || head.started_ns < 0) {
        out->malformed++;
    } else {
        x.first_ns = x.last_ns = head.started_ns;
        rc = read_rows(&x, fd, err);
        if (rc == 0 && !hu_perf_threads_finish(out, x.last_ns))
            rc = hu_fail_memory(err);
        out->n_files = 1;
        out->is_estimate = true;
        if (out->changes.n)
            qsort(out->changes.at, out->changes.n, sizeof *out->changes.at, compare_changes);
    }
    close(fd);
    return rc;
}
