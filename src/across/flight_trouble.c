/* SPDX-License-Identifier: Apache-2.0
 * flight_trouble.c - in each process group, the first collective that does not end, or that ranks entered differently; then
 * from whom it waits to what that one waits in, until somebody waits for nothing.
 *
 * Collectives of a group are matched by their number (collective_seq_id), which every rank counts for itself: a rank that
 * skips one gives the next one its number, so the first difference is the cause and later ones follow from it.
 */
#include "across/flight_trouble.h"

#include "across/flight_fit.h"
#include "across/flight_places.h"

/*
 * Coalesced calls share a number: one by one, as far as both go, since one of the two may still be at issuing them.  *at is
 * the first that differs.
 */
static hu_flight_cause compare_calls(const hu_flight_scene *s, uint32_t place, int64_t sequence, size_t a, size_t b,
                                     size_t *at)
{
    size_t              n, m;
    hu_flight_entry_at *x = hu_flight_find(&s->calls[a], place, sequence, &n),
                       *y = hu_flight_find(&s->calls[b], place, sequence, &m);
    hu_flight_cause worst = HU_FLIGHT_NOTHING;

    for (*at = 0; *at < n && *at < m; ++*at)
        if ((worst = hu_flight_compare(x[*at], y[*at])) != HU_FLIGHT_NOTHING)
            break;
    return worst;
}

void hu_flight_find_trouble(hu_flight_scene *s, uint32_t place)
{
    hu_flight_pg *g = &s->groups.at[place];
    int64_t       last = INT64_MIN;
    size_t        n, home = s->n; /* home: the first dump that knows the group, mostly the reference of all */

    g->stuck = g->differs = INT64_MAX;
    for (size_t d = 0; d < s->n; d++)
        for (hu_flight_entry_at *at = hu_flight_find(&s->calls[d], place, INT64_MIN, &n),
                                *end = s->calls[d].at + s->calls[d].n;
             at < end && (*at)->place == place; at++) {
            home = home < d ? home : d;
            last = (*at)->sequence > last ? (*at)->sequence : last;
            if ((*at)->state != HU_FLIGHT_ENDED && (*at)->sequence < g->stuck && !(s->is_behind && s->is_behind[d]))
                g->stuck = (*at)->sequence;
        }
    g->newest = last;
    last = g->stuck < last ? g->stuck : last;
    for (size_t d = home, reference; d < s->n; d++) {
        for (hu_flight_entry_at *at = hu_flight_find(&s->calls[d], place, INT64_MIN, &n),
                                *end = s->calls[d].at + s->calls[d].n;
             at < end && (*at)->place == place && (*at)->sequence <= last && (*at)->sequence < g->differs; at++) {
            hu_flight_cause cause;
            size_t          which;

            for (reference = home; reference < d && !hu_flight_call_of(&s->calls[reference], place, (*at)->sequence);)
                reference++;
            cause = reference < d ? compare_calls(s, place, (*at)->sequence, reference, d, &which) : HU_FLIGHT_NOTHING;
            if (cause != HU_FLIGHT_NOTHING) {
                g->differs = (*at)->sequence;
                g->difference = cause;
                g->which = which;
            }
        }
    }
    g->since_ns = INT64_MAX;
    for (size_t d = 0; d < s->n; d++) {
        const hu_flight_entry_at e = hu_flight_call_of(&s->calls[d], place, g->differs <= g->stuck ? g->differs : g->stuck);

        if (e && e->created_ns && e->created_ns < g->since_ns)
            g->since_ns = e->created_ns;
    }
}

uint32_t hu_flight_follow(hu_flight_scene *s, uint32_t place, bool *is_cycle)
{
    bool *seen = hu_arena_calloc(s->arena, s->groups.n, sizeof *seen);

    for (*is_cycle = false; seen && !seen[place];) {
        const hu_flight_pg    *g = &s->groups.at[place];
        const hu_flight_entry *next = NULL;

        seen[place] = true;
        if (g->differs <= g->stuck)
            return place;
        for (size_t i = 0; i < g->n; i++) {
            const hu_flight_place p = hu_flight_look(s, place, g->stuck, g->ranks[i]);

            if (p.role == HU_FLIGHT_ABSENT)
                return place;
            if (p.role == HU_FLIGHT_ELSEWHERE && !next)
                next = p.last;
        }
        if (!next || next->is_p2p)
            return place;
        place = next->place;
        *is_cycle = seen[place];
    }
    s->has_memory &= seen != NULL;
    return place;
}

uint32_t hu_flight_first_trouble(const hu_flight_scene *s)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < s->groups.n; i++) {
        const hu_flight_pg *g = &s->groups.at[i], *b = best == UINT32_MAX ? NULL : &s->groups.at[best];
        const bool          differs = g->differs != INT64_MAX, waits = g->stuck != INT64_MAX;
        const bool          b_differs = b && b->differs != INT64_MAX;

        if ((differs || waits) && (!b || differs > b_differs || (differs == b_differs && g->since_ns < b->since_ns)))
            best = i;
    }
    return best;
}
