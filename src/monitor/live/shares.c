/* SPDX-License-Identifier: Apache-2.0
 * shares.c - differences of totals between two moments.
 *
 * Totals are of steps that are over, also where a datagram comes in the middle of one.  Of the step that runs only the cause
 * that is open is known: what was over of it before is `other` until it ends.
 */
#include "monitor/live/shares.h"

#include <string.h>

enum { LATE = 2 }; /* usual steps */

/* A sender that has been silent for longer has not seen its step end. */
static const int64_t SILENCE_NS = 3 * HU_LIVE_PERIOD_MS * INT64_C(1000000);

const char *const hu_holdup_names[HU_HOLDUP_COUNT] = {
#define H(id, name) name,
    HU_LIVE_HOLDUPS(H)
#undef H
};

/* No step takes years: whoever says when one began may say anything. */
static const int64_t MOST_NS = INT64_C(1) << 58;

static int64_t later(int64_t ns)
{
    return ns < 0 ? 0 : ns > MOST_NS ? MOST_NS : ns;
}

static hu_live_point point_of(const hu_live_datagram *d)
{
    hu_live_point p = {.at_ns = d->sent_ns, .steps = d->steps, .step_ns = (int64_t)d->step_ns};

    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        p.cause_ns[i] = (int64_t)d->cause_ns[i];
    return p;
}

static void drop_first(hu_live_history *h)
{
    h->n--;
    memmove(h->at, h->at + 1, h->n * sizeof *h->at);
}

void hu_live_history_add(hu_live_history *h, const hu_live_datagram *d)
{
    const hu_live_point p = point_of(d);

    if (h->n && d->steps <= h->at[h->n - 1].steps)
        return;
    /* a young process is known from its start; of another one nobody knows when its steps were */
    if (h->n == 0 && d->steps > 0 && (p.step_ns <= HU_LIVE_WINDOW_NS || d->steps == 1))
        h->at[h->n++] = (hu_live_point){.at_ns = p.at_ns - p.step_ns};
    if (h->n >= 2 && p.at_ns - h->at[h->n - 2].at_ns < HU_LIVE_PERIOD_MS * INT64_C(900000))
        h->n--; /* who sends more often does not make the window shorter */
    while (h->n >= 2 && (h->n == HU_LIVE_POINTS || p.at_ns - h->at[1].at_ns > HU_LIVE_WINDOW_NS))
        drop_first(h);
    h->at[h->n++] = p;
}

/* Median of the steps' times between the points, each as often as there were steps. */
static int64_t usual_ns(const hu_live_history *h)
{
    struct {
        int64_t  mean;
        uint64_t steps;
    } of[HU_LIVE_POINTS];
    uint64_t all = 0, below = 0;
    unsigned n = 0;

    for (unsigned i = 1; i < h->n; i++) {
        const uint64_t steps = h->at[i].steps - h->at[i - 1].steps;
        const int64_t  mean = later(h->at[i].step_ns - h->at[i - 1].step_ns) / (int64_t)steps;
        unsigned       k = n++;

        for (; k > 0 && of[k - 1].mean > mean; k--)
            of[k] = of[k - 1];
        of[k].mean = mean;
        of[k].steps = steps;
        all += steps;
    }
    for (unsigned i = 0; i < n; i++) {
        below += of[i].steps;
        if (2 * below >= all)
            return of[i].mean;
    }
    return 0;
}

static void add(hu_live_window *w, const hu_live_point *from, const hu_live_point *to)
{
    w->step_ns += later(to->step_ns - from->step_ns);
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        w->cause_ns[i] += later(to->cause_ns[i] - from->cause_ns[i]);
}

static void add_running(hu_live_window *w, const hu_live_datagram *d, int64_t runs_ns, int64_t told_ns)
{
    const int64_t open_ns = later(told_ns - d->now_since_ns);

    w->step_ns += later(runs_ns);
    if (d->now > 0 && d->now <= HU_LIVE_CAUSE_COUNT)
        w->cause_ns[d->now - 1] += open_ns < runs_ns ? open_ns : later(runs_ns);
}

hu_live_window hu_live_window_of(const hu_live_history *h, const hu_live_datagram *d, int64_t now_ns)
{
    /* what ran when the last datagram was sent is most likely over by now */
    const int64_t        told_ns = now_ns - d->sent_ns > SILENCE_NS ? now_ns : d->sent_ns;
    hu_live_window       w = {.is_known = false};
    const hu_live_point *last, *first;
    int64_t              causes = 0, runs_ns;

    if (h->n < 2)
        return w;
    last = &h->at[h->n - 1];
    for (first = h->at; first + 1 < last && now_ns - first->at_ns > HU_LIVE_WINDOW_NS;)
        first++;
    w.usual_ns = usual_ns(h);
    runs_ns = d->step_since_ns > 0 ? told_ns - d->step_since_ns : 0;
    w.is_late = w.usual_ns > 0 && runs_ns > LATE * w.usual_ns;
    if (!w.is_late || runs_ns < HU_LIVE_WINDOW_NS) /* else it is all that is in the window */
        add(&w, first, last);
    if (w.is_late)
        add_running(&w, d, runs_ns, told_ns);
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        causes += w.cause_ns[i];
    if (w.step_ns < causes) /* a sender that is wrong */
        w.step_ns = causes;
    w.is_known = w.step_ns > 0;
    return w;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

/* Is each rank of the job exactly once among them? */
static bool is_whole(const hu_live_member *members, unsigned n)
{
    if (n < 2)
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (members[i].world != (int32_t)n || members[i].rank < 0 || !(members[i].measured & 1u << HU_LIVE_COMMUNICATION) ||
            !members[i].window.is_known)
            return false;
        for (unsigned k = 0; k < i; k++)
            if (members[k].rank == members[i].rank)
                return false;
    }
    return true;
}

static double communication_share(const hu_live_member *m)
{
    return (double)m->window.cause_ns[HU_LIVE_COMMUNICATION] / (double)m->window.step_ns;
}

/* Time that ranks wait for late ones: what is above the share of the one that waits least, which waits for nobody. */
static double straggling_ns(const hu_live_member *members, unsigned n)
{
    double least = 1, sum = 0;

    for (unsigned i = 0; i < n; i++)
        if (communication_share(&members[i]) < least)
            least = communication_share(&members[i]);
    for (unsigned i = 0; i < n; i++)
        sum += (communication_share(&members[i]) - least) * (double)members[i].window.step_ns;
    return sum;
}

hu_live_shares hu_live_shares_of(const hu_live_member *members, unsigned n)
{
    static const hu_holdup kinds[HU_LIVE_CAUSE_COUNT] = {
        [HU_LIVE_DATA] = HU_HOLDUP_DATA,
        [HU_LIVE_COMMUNICATION] = HU_HOLDUP_COMMUNICATION,
        [HU_LIVE_CHECKPOINT] = HU_HOLDUP_CHECKPOINT,
        [HU_LIVE_TRANSFER] = HU_HOLDUP_TRANSFER,
        [HU_LIVE_DEVICE] = HU_HOLDUP_DEVICE,
        [HU_LIVE_FORWARD] = HU_HOLDUP_HOST,
        [HU_LIVE_BACKWARD] = HU_HOLDUP_HOST,
        [HU_LIVE_OPTIMIZER] = HU_HOLDUP_HOST,
    };
    hu_live_shares s = {.is_known = false};
    uint32_t       measured = UINT32_MAX;
    double         steps = 0, known = 0, sum[HU_HOLDUP_COUNT] = {0};
    bool           is_shown[HU_HOLDUP_COUNT] = {[HU_HOLDUP_OTHER] = true};

    for (unsigned i = 0; i < n; i++)
        if (members[i].window.is_known) {
            steps += (double)members[i].window.step_ns;
            measured &= members[i].measured;
        }
    for (unsigned i = 0; i < n; i++)
        for (int c = 0; members[i].window.is_known && c < HU_LIVE_CAUSE_COUNT; c++)
            if (measured & 1u << c) {
                sum[kinds[c]] += (double)members[i].window.cause_ns[c];
                known += (double)members[i].window.cause_ns[c];
                is_shown[kinds[c]] = true;
            }
    sum[HU_HOLDUP_OTHER] = steps - known;
    if (is_whole(members, n)) {
        is_shown[HU_HOLDUP_STRAGGLER] = true;
        sum[HU_HOLDUP_STRAGGLER] = straggling_ns(members, n);
        sum[HU_HOLDUP_COMMUNICATION] -= sum[HU_HOLDUP_STRAGGLER];
    }
    s.is_known = steps > 0;
    for (int k = 0; k < HU_HOLDUP_COUNT; k++)
        s.share[k] = !s.is_known || !is_shown[k] ? -1 : sum[k] > 0 ? sum[k] / steps : 0;
    return s;
}

static double waits_most(const hu_live_member *m)
{
    const hu_live_window *w = &m->window;
    const bool            has_data = m->measured & 1u << HU_LIVE_DATA;
    const bool            has_others = m->measured & 1u << HU_LIVE_COMMUNICATION || m->world == 1;
    int64_t               waits = w->cause_ns[HU_LIVE_DATA] + w->cause_ns[HU_LIVE_COMMUNICATION], other = w->step_ns;

    for (int c = 0; c < HU_LIVE_CAUSE_COUNT; c++)
        other -= w->cause_ns[c];
    return (double)(waits + (has_data && has_others ? 0 : other)) / (double)w->step_ns;
}

double hu_live_waits_most(const hu_live_member *members, unsigned n)
{
    double most = -1;

    for (unsigned i = 0; i < n; i++) {
        if (!members[i].window.is_known)
            return -1;
        most = waits_most(&members[i]) > most ? waits_most(&members[i]) : most;
    }
    return most;
}
