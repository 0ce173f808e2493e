/* SPDX-License-Identifier: Apache-2.0
 * ends.c - the evidence for a match that no number proves.
 *
 * Nobody leaves a synchronising collective before all have come, and all leave it within the microseconds that its last
 * bytes need, while they come when they come.  Of calls that have nothing to do with each other, ends lie as far apart as
 * starts.  So calls of one order are one collective when
 *
 *     their ends lie within SHARP_NS, or within NEAR_NS and half as far apart as their starts, and
 *     next to none was left before all had come
 */
#include "across/ends.h"

#include "base/sort.h"

enum { FEWEST_SHIFTED = 4 }; /* meetings, for offsets between clocks to be taken from them */

static const double SHARP_NS = 20000, NEAR_NS = 200000;
static const double FAR_STARTS = 2; /* times as far apart as the ends */
static const double FEW_IMPOSSIBLE = 0.02;

static int64_t start_of(const hu_meetings *m, const hu_meeting *one, uint32_t k)
{
    return hu_meetings_call(m, m->members.at[one->first + k])->start_ns;
}

static int64_t end_of(const hu_meetings *m, const hu_meeting *one, uint32_t k)
{
    return hu_comm_call_end(hu_meetings_call(m, m->members.at[one->first + k]));
}

/* values[0..n) is room. */
static void measure(const hu_meetings *m, size_t first, size_t n, const int64_t *behind_ns, int64_t *values, hu_ends *out)
{
    size_t impossible = 0;

    for (int starts = 0; starts < 2; starts++) {
        for (size_t i = 0; i < n; i++) {
            const hu_meeting *one = &m->list.at[first + i];
            int64_t           low = INT64_MAX, high = INT64_MIN, came = INT64_MIN;

            for (uint32_t k = 0; k < one->n; k++) {
                const int64_t start = start_of(m, one, k) - behind_ns[k];
                const int64_t at = starts ? start : end_of(m, one, k) - behind_ns[k];

                low = at < low ? at : low;
                high = at > high ? at : high;
                came = start > came ? start : came;
            }
            values[i] = high - low;
            impossible += !starts && came > low;
        }
        hu_sort_i64(values, n);
        *(starts ? &out->start_ns : &out->end_ns) = hu_stats_quantile(values, n, 0.5);
    }
    out->impossible = (double)impossible / (double)n;
    out->agree = out->impossible <= FEW_IMPOSSIBLE &&
                 (out->end_ns <= SHARP_NS || (out->end_ns <= NEAR_NS && out->start_ns >= FAR_STARTS * out->end_ns));
}

bool hu_ends_compare(const hu_meetings *m, size_t first, size_t n, hu_arena *scratch, hu_ends *out)
{
    const hu_meeting *one = &m->list.at[first];
    int64_t          *behind = hu_arena_calloc(scratch, one->n, sizeof *behind);
    int64_t          *values = hu_arena_alloc(scratch, n * sizeof *values);

    if (!behind || !values)
        return false;
    measure(m, first, n, behind, values, out);
    if (out->agree || n < FEWEST_SHIFTED)
        return true;
    for (uint32_t k = 1; k < one->n; k++) {
        for (size_t i = 0; i < n; i++)
            values[i] = end_of(m, &m->list.at[first + i], k) - end_of(m, &m->list.at[first + i], 0);
        hu_sort_i64(values, n);
        behind[k] = (int64_t)hu_stats_quantile(values, n, 0.5);
    }
    measure(m, first, n, behind, values, out);
    return true;
}
