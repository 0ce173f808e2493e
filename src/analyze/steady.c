/* SPDX-License-Identifier: Apache-2.0
 * steady.c - two ends of one kind, one step apart.
 *
 * What spoils a period is an end of another kind.  The first step of a capture begins at a host mark, for nothing says
 * when the GPU ended the step before, unless what was launched earlier still runs.  When the GPU is behind at the end of
 * that step, its length holds the filling of the queue.  It is left out where others remain that are about as long, the
 * backlog at least doubles in it, and that would move the mean by more than FILLING.  A single step is as long as its
 * marks are apart, or as its GPU work takes from first to last, if that is longer.
 */
#include "analyze/steady.h"

#include <math.h>

static const double FILLING = 0.01;   /* of the sum of all steps that count */
static const double MOST_FILLING = 2; /* times the mean of the others: longer for another reason */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Does a step follow the one before it in the list, so that its predecessor's end is its begin? */
static bool follows(const hu_step *s)
{
    return s[0].number == s[-1].number + 1;
}

/* How far the device is behind the host when a step begins or ends. */
static int64_t behind(int64_t mark_ns, int64_t end_ns)
{
    return end_ns > mark_ns ? end_ns - mark_ns : 0;
}

static int64_t length(hu_interval i)
{
    return i.end_ns - i.start_ns;
}

static void judge_first(hu_step *at, size_t n)
{
    const int64_t before = behind(at[0].marks.start_ns, at[0].ends.start_ns);
    const int64_t after = behind(at[0].marks.end_ns, at[0].ends.end_ns);
    const double  own = (double)length(at[0].ends);
    double        others = 0;
    size_t        counted = 0;

    for (size_t i = 1; i < n; i++) {
        counted += hu_step_counts(&at[i]);
        others += hu_step_counts(&at[i]) ? (double)length(at[i].ends) : 0;
    }
    at[0].is_filling = hu_step_counts(&at[0]) && before < after / 2 && (double)(after - before) > FILLING * (own + others) &&
                       own * (double)counted < MOST_FILLING * others;
}

void hu_steady_measure(hu_step *at, size_t n, int64_t before_ns)
{
    int64_t ended = before_ns;

    for (size_t i = 0; i < n; i++) {
        const int64_t mark = i && follows(&at[i]) ? at[i - 1].host_end_ns : at[i].host_start_ns;

        at[i].is_first = i == 0 && ended <= mark;
        at[i].marks = (hu_interval){mark, later(at[i].host_end_ns, mark)};
        at[i].ends.start_ns = later(mark, ended);
        ended = later(at[i].marks.end_ns, at[i].ends.start_ns);
        if (length(at[i].work) > 0)
            ended = later(ended, at[i].work.end_ns);
        at[i].ends.end_ns = ended;
    }
    if (n)
        judge_first(at, n);
}

/* Does the GPU only catch up with the host, over the steps that count, from a backlog to half of it or less? */
static bool is_worked_off(const hu_step *at, size_t n, double ends)
{
    int64_t first = -1, last = 0;

    for (size_t i = 0; i < n; i++) {
        const int64_t now = behind(at[i].marks.end_ns, at[i].ends.end_ns);

        if (!hu_step_counts(&at[i]))
            continue;
        if (first < 0)
            first = last = behind(at[i].marks.start_ns, at[i].ends.start_ns);
        if ((double)(now - last) > FILLING * ends)
            return false;
        last = now;
    }
    return last < first / 2;
}

void hu_steady_choose(hu_step *at, size_t n, hu_steady *out)
{
    double   marks = 0, ends = 0;
    size_t   counted = 0;
    hu_step *last = NULL;
    bool     has_work = false;

    *out = (hu_steady){0};
    for (size_t i = 0; i < n; i++)
        counted += hu_step_counts(&at[i]);
    for (size_t i = 0; i < n; i++) {
        at[i].is_filling = at[i].is_filling && counted > 0; /* asked for alone, it is what there is */
        if (!hu_step_counts(&at[i]))
            continue;
        last = &at[i];
    }
    out->is_alone = last && counted <= 1 && last->is_first && length(last->work) > 0;
    out->backlog_ns = last ? behind(last->marks.end_ns, last->ends.end_ns) : 0;
    if (out->is_alone)
        last->ends = last->work;
    for (size_t i = 0; i < n; i++) {
        if (!hu_step_counts(&at[i]))
            continue;
        marks += (double)length(at[i].marks);
        ends += (double)length(at[i].ends);
        has_work |= length(at[i].work) > 0;
    }
    counted = counted ? counted : last != NULL;
    out->by_marks_ns = counted ? marks / (double)counted : NAN;
    out->by_ends_ns = has_work ? ends / (double)counted : NAN;
    out->is_by_marks = marks > ends && (counted == 1 || is_worked_off(at, n, ends));
    for (size_t i = 0; i < n; i++)
        at[i].period = out->is_by_marks ? at[i].marks : at[i].ends;
}
