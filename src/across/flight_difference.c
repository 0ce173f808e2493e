/* SPDX-License-Identifier: Apache-2.0
 * flight_difference.c - ranks called different things under one number: who is right, and who skipped a call? */
#include "across/flight_difference.h"

#include "across/flight_fit.h"
#include "across/flight_places.h"

/* The call of most ranks is the right one, where one has most. */
static void judge(hu_flight_answer *out, hu_flight_place *places)
{
    const hu_flight_entry *best = NULL;
    size_t                 most = 0, second = 0;

    for (size_t i = 0; i < out->n_places; i++) {
        size_t alike = 0;
        bool   is_new = places[i].entry != NULL;

        for (size_t k = 0; places[i].entry && k < out->n_places; k++)
            if (places[k].entry && hu_flight_compare(places[i].entry, places[k].entry) == HU_FLIGHT_NOTHING) {
                alike++;
                is_new &= k >= i;
            }
        if (!is_new)
            continue;
        if (alike > most) {
            second = most;
            most = alike;
            best = places[i].entry;
        } else if (alike > second) {
            second = alike;
        }
    }
    out->expected = best;
    out->has_majority = most > second;
    for (size_t i = 0; i < out->n_places; i++) {
        places[i].is_culprit = places[i].entry && best && hu_flight_compare(best, places[i].entry) != HU_FLIGHT_NOTHING;
        out->n_culprits += places[i].is_culprit;
    }
}

/* Did the culprit skip the call?  Then what it calls instead has followed that call before, in its own or another dump. */
static void find_skipped(const hu_flight_scene *s, uint32_t place, hu_flight_answer *out)
{
    const hu_flight_entry *odd = NULL;

    for (size_t i = 0; i < out->n_places && !odd; i++)
        odd = out->places[i].is_culprit ? out->places[i].entry : NULL;
    if (!odd || !out->has_majority || out->cause == HU_FLIGHT_TYPES)
        return;
    for (size_t d = 0; d < s->n && !out->skipped; d++) {
        const hu_flight_calls *c = &s->calls[d];

        for (size_t i = 0; i + 1 < c->n; i++)
            if (c->at[i]->place == place && c->at[i + 1]->place == place &&
                c->at[i + 1]->sequence == c->at[i]->sequence + 1 && hu_flight_is_same_call(c->at[i], out->expected) &&
                hu_flight_is_same_call(c->at[i + 1], odd)) {
                out->skipped = out->expected;
                break;
            }
    }
}

void hu_flight_answer_difference(hu_flight_scene *s, uint32_t place, hu_flight_answer *out)
{
    const hu_flight_pg *g = &s->groups.at[place];
    hu_flight_place    *places = hu_flight_look_at_all(s, place, g->differs);

    if (!places)
        return;
    out->places = places;
    out->n_places = g->n;
    out->cause = g->difference;
    for (size_t i = 0, n; i < g->n; i++) {
        hu_flight_entry_at *at = places[i].entry
                                     ? hu_flight_find(hu_flight_calls_of(s, places[i].dump), place, g->differs, &n)
                                     : NULL;

        if (at)
            places[i].entry = n > g->which ? at[g->which] : NULL;
    }
    judge(out, places);
    out->trust = !out->has_majority || g->stuck > g->differs ? HU_FLIGHT_LIKELY : HU_FLIGHT_SURE;
    find_skipped(s, place, out);
}
