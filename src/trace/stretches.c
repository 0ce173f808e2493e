/* SPDX-License-Identifier: Apache-2.0
 * stretches.c - states of threads in order: by track, by time, no two at once.
 *
 * A thread's life is from its first stretch to the end of its last one; a hole between two, where records were lost, is
 * time of which nothing is known.  What a file tells twice counts once: a stretch begins where the one before it ends.
 */
#include <stdlib.h>

#include "trace/columns.h"

static int by_place(const void *left, const void *right)
{
    const hu_stretch *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->state > b->state) - (a->state < b->state);
}

void hu_stretches_settle(hu_trace *t)
{
    size_t kept = 0;

    if (t->stretches.n)
        qsort(t->stretches.at, t->stretches.n, sizeof *t->stretches.at, by_place);
    for (size_t i = 0; i < t->stretches.n; i++) {
        hu_stretch        s = t->stretches.at[i];
        hu_track         *track = &t->tracks.at[s.track];
        const hu_stretch *last = track->n_stretches ? &t->stretches.at[kept - 1] : NULL;

        s.start_ns = last && last->end_ns > s.start_ns ? last->end_ns : s.start_ns;
        if (s.end_ns <= s.start_ns)
            continue;
        if (!last) {
            track->first_stretch = (uint32_t)kept;
            track->born_ns = s.start_ns;
        }
        track->n_stretches++;
        track->died_ns = s.end_ns;
        t->stretches.at[kept++] = s;
    }
    t->stretches.n = kept;
}
