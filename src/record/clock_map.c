/* SPDX-License-Identifier: Apache-2.0
 * clock_map.c - knots that make sense, and straight lines between them.
 *
 * A snapshot is wrong by as much as its reads were apart, some 100 ns, more when the reader was preempted between them.
 * So knots are at least KNOT_NS apart: then that error is below one part in 10^6 of the rate between them.
 */
#include "record/clock_map.h"

#include <stdlib.h>

static const int64_t  KNOT_NS = 100000000;
static const uint64_t NS = 1000000000;

static int by_ticks(const void *a, const void *b)
{
    const hu_clock_snapshot *x = a, *y = b;

    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->boottime_ns < y->boottime_ns ? -1 : x->boottime_ns > y->boottime_ns;
}

static bool is_sane(const hu_clock_snapshot *s)
{
    return s->ticks > 0 && s->ticks <= INT64_MAX && s->boottime_ns >= 0 && s->boottime_ns <= HU_TIME_MAX_NS &&
           s->monotonic_ns >= 0 && s->monotonic_ns <= HU_TIME_MAX_NS && s->realtime_ns >= 0;
}

/* Is the rate between the two what is known of it, to one part in fifty? */
static bool fits(const hu_clock_snapshot *a, const hu_clock_snapshot *b, double ticks_per_second)
{
    const double ticks = (double)(b->ticks - a->ticks), ns = (double)(b->boottime_ns - a->boottime_ns);

    if (ticks <= 0 || ns <= 0 || b->monotonic_ns <= a->monotonic_ns)
        return false;
    return ticks_per_second <= 0 ||
           (ticks * 1e9 < ticks_per_second * ns * 1.02 && ticks * 1e9 > ticks_per_second * ns * 0.98);
}

/* The rate as a fraction of integers: exact where ticks are ns, to 10^-6 of a tick per second elsewhere. */
static void set_rate(hu_clock_map *m, double ticks_per_second)
{
    const hu_clock_snapshot *first = &m->knots[0], *last = &m->knots[m->n - 1];

    if (last->boottime_ns - first->boottime_ns >= KNOT_NS) {
        m->mean_ticks = last->ticks - first->ticks;
        m->mean_ns = (uint64_t)(last->boottime_ns - first->boottime_ns);
    } else if (ticks_per_second >= 1e3 && ticks_per_second <= 1e12) {
        m->mean_ticks = (uint64_t)(ticks_per_second * 1e6 + 0.5);
        m->mean_ns = NS * 1000000;
    } else {
        m->mean_ticks = m->mean_ns = 1;
    }
}

bool hu_clock_map_build(hu_clock_snapshot *snapshots, size_t n, double ticks_per_second, hu_arena *arena, hu_clock_map *out)
{
    static const hu_clock_snapshot zero = {0};

    *out = (hu_clock_map){.knots = hu_arena_calloc(arena, n + 1, sizeof *out->knots)};
    if (out->knots && n) {
        qsort(snapshots, n, sizeof *snapshots, by_ticks);
        for (size_t i = 0; i < n; i++) {
            const hu_clock_snapshot *s = &snapshots[i], *last = out->n ? &out->knots[out->n - 1] : NULL;

            if (!is_sane(s) || (last && s->boottime_ns < last->boottime_ns))
                out->n_refused++;
            else if (last && s->boottime_ns - last->boottime_ns >= KNOT_NS && !fits(last, s, ticks_per_second))
                out->n_refused++;
            else if (!last || s->boottime_ns - last->boottime_ns >= KNOT_NS)
                out->knots[out->n++] = *s;
        }
    }
    if (out->n == 0) {
        if (out->knots)
            out->knots[0] = zero;
        out->n = out->knots != NULL;
        out->mean_ticks = out->mean_ns = 1;
        return false;
    }
    set_rate(out, ticks_per_second);
    return true;
}

static int64_t clamped(__int128 ns)
{
    return ns < 0 ? 0 : ns > HU_TIME_MAX_NS ? HU_TIME_MAX_NS : (int64_t)ns;
}

/* Half a tick is rounded away from the knot. */
static __int128 scale(__int128 ticks, uint64_t ns, uint64_t per_ticks)
{
    const __int128 product = ticks * (__int128)ns, half = per_ticks / 2;

    return (product + (product < 0 ? -half : half)) / (__int128)per_ticks;
}

int64_t hu_clock_map_ns(hu_clock_map *m, uint64_t ticks)
{
    const hu_clock_snapshot *k = m->knots;
    size_t                   low = 0, high = m->n;

    if (!k)
        return clamped(ticks);
    if (ticks < k[0].ticks || m->n == 1)
        return clamped(k[0].boottime_ns + scale((__int128)ticks - k[0].ticks, m->mean_ns, m->mean_ticks));
    if (ticks >= k[m->n - 1].ticks)
        return clamped(k[m->n - 1].boottime_ns + scale((__int128)ticks - k[m->n - 1].ticks, m->mean_ns, m->mean_ticks));
    if (m->last + 1 >= m->n || ticks < k[m->last].ticks || ticks >= k[m->last + 1].ticks) {
        while (high - low > 1) {
            const size_t mid = low + (high - low) / 2;

            if (k[mid].ticks <= ticks)
                low = mid;
            else
                high = mid;
        }
        m->last = low;
    }
    k += m->last;
    return clamped(k[0].boottime_ns + scale((__int128)(ticks - k[0].ticks), (uint64_t)(k[1].boottime_ns - k[0].boottime_ns),
                                            k[1].ticks - k[0].ticks));
}
