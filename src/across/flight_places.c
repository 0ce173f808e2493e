/* SPDX-License-Identifier: Apache-2.0
 * flight_places.c - what each member of a group did about one number.
 *
 * Pitfall: a ring that lost its beginning does not show that a call was never made.
 */
#include "across/flight_places.h"

const hu_flight_entry *hu_flight_last_call(const hu_flight_dump *d)
{
    const hu_flight_entry *last = NULL;

    for (size_t i = 0; i < d->entries.n; i++)
        if (!last || d->entries.at[i].record >= last->record)
            last = &d->entries.at[i];
    return last;
}

const hu_flight_entry *hu_flight_other_wait(const hu_flight_dump *d, uint32_t place)
{
    const hu_flight_entry *oldest = NULL;

    for (size_t i = 0; i < d->entries.n; i++) {
        const hu_flight_entry *e = &d->entries.at[i];

        if (e->state != HU_FLIGHT_ENDED && (e->place != place || e->is_p2p) && (!oldest || e->record < oldest->record))
            oldest = e;
    }
    return oldest;
}

hu_flight_place hu_flight_look(const hu_flight_scene *s, uint32_t place, int64_t sequence, int64_t rank)
{
    const hu_flight_dump  *dump = hu_flight_dump_of(s, rank);
    hu_flight_place        p = {.rank = rank, .role = HU_FLIGHT_UNSEEN, .dump = dump};
    const hu_flight_calls *c;
    hu_flight_entry_at    *first;
    size_t                 n;

    if (!dump)
        return p;
    c = hu_flight_calls_of(s, dump);
    p.entry = hu_flight_call_of(c, place, sequence);
    if (p.entry && p.entry->state == HU_FLIGHT_ENDED) {
        p.role = HU_FLIGHT_DONE;
        return p;
    }
    if (s->is_behind && s->is_behind[dump - s->dumps]) {
        p.role = HU_FLIGHT_EARLIER;
        p.last = hu_flight_last_call(dump);
        return p;
    }
    if (p.entry) {
        p.role = HU_FLIGHT_WAITS;
        return p;
    }
    first = hu_flight_find(c, place, INT64_MIN, &n);
    if (first < c->at + c->n && (*first)->place == place
            ? (*first)->sequence > sequence
            : dump->entries.n && dump->entries.at[0].record > 0) { /* cut, and nothing of this group is left */
        p.role = HU_FLIGHT_FORGOTTEN;
        p.last = hu_flight_last_call(dump);
        return p;
    }
    p.last = hu_flight_other_wait(dump, place);
    p.role = p.last ? HU_FLIGHT_ELSEWHERE : HU_FLIGHT_ABSENT;
    if (!p.last)
        p.last = hu_flight_last_call(dump);
    return p;
}

hu_flight_place *hu_flight_look_at_all(hu_flight_scene *s, uint32_t place, int64_t sequence)
{
    const hu_flight_pg *g = &s->groups.at[place];
    hu_flight_place    *places = hu_arena_calloc(s->arena, g->n + 1, sizeof *places);

    s->has_memory &= places != NULL;
    for (size_t i = 0; places && i < g->n; i++)
        places[i] = hu_flight_look(s, place, sequence, g->ranks[i]);
    return places;
}

size_t hu_flight_blame(hu_flight_answer *out, hu_flight_place *places, hu_flight_role role)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n_places; i++) {
        places[i].is_culprit = places[i].role == role;
        n += places[i].is_culprit;
    }
    return n;
}

void hu_flight_find_last(hu_flight_answer *out)
{
    int64_t last = INT64_MIN, before = INT64_MIN;

    out->last_rank = -1;
    for (size_t i = 0; i < out->n_places; i++) {
        const hu_flight_entry *e = out->places[i].entry;

        if (!e || !e->created_ns)
            continue;
        if (e->created_ns > last) {
            before = last;
            last = e->created_ns;
            out->last_rank = out->places[i].rank;
        } else if (e->created_ns > before) {
            before = e->created_ns;
        }
    }
    if (before == INT64_MIN)
        out->last_rank = -1;
    else
        out->late_ns = last - before;
}
