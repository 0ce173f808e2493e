/* SPDX-License-Identifier: Apache-2.0
 * steady.c - two ends of one kind, one step apart.
 *
 * The step before the first one is not in the trace, and when it ended on the GPU is not known unless what it launched
 * still ran.  But had the GPU been as far behind then as it is a step later, it would have ended by so much after the
 * mark; and by the time at which it began the next one's work it had.  So the first step begins at the earlier of the
 * two, which takes out the filling of an empty queue.
 */
#include "analyze/steady.h"

#include <math.h>

static const double STEADY = 0.01; /* of the sum of all steps that count: a backlog that grows by less stays as it is */

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

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t length(hu_interval i)
{
    return i.end_ns - i.start_ns;
}

void hu_steady_measure(hu_step *at, size_t n, int64_t before_ns)
{
    int64_t ended = before_ns;

    for (size_t i = 0; i < n; i++) {
        hu_step *s = &at[i];

        s->is_first = i == 0 || s->is_resumed || !follows(s);
        s->marks.start_ns = s->is_first ? s->host_start_ns : at[i - 1].host_end_ns;
        s->marks.end_ns = later(s->host_end_ns, s->marks.start_ns);
        s->ends.start_ns = later(s->marks.start_ns, ended);
        s->ends.end_ns = later(s->marks.end_ns, s->ends.start_ns);
        if (length(s->work) > 0) {
            s->ends.end_ns = later(s->ends.end_ns, s->work.end_ns);
            if (s->is_first)
                s->ends.start_ns = later(
                    s->ends.start_ns, sooner(s->work.start_ns, s->marks.start_ns + behind(s->marks.end_ns, s->ends.end_ns)));
        }
        ended = s->ends.end_ns;
    }
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
        if ((double)(now - last) > STEADY * ends)
            return false;
        last = now;
    }
    return last < first / 2;
}

void hu_steady_choose(hu_step *at, size_t n, hu_steady *out)
{
    double marks = 0, ends = 0;
    size_t counted = 0;
    bool   has_work = false;

    *out = (hu_steady){0};
    for (size_t i = 0; i < n; i++) {
        if (!hu_step_counts(&at[i]))
            continue;
        counted++;
        marks += (double)length(at[i].marks);
        ends += (double)length(at[i].ends);
        has_work |= length(at[i].work) > 0;
        out->backlog_ns = behind(at[i].marks.end_ns, at[i].ends.end_ns);
    }
    out->by_marks_ns = counted ? marks / (double)counted : NAN;
    out->by_ends_ns = has_work ? ends / (double)counted : NAN;
    out->is_by_marks = marks > ends && (counted == 1 || is_worked_off(at, n, ends));
    for (size_t i = 0; i < n; i++)
        at[i].period = out->is_by_marks ? at[i].marks : at[i].ends;
}
