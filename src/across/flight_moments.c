/* SPDX-License-Identifier: Apache-2.0
 * flight_moments.c - were the dumps taken at one moment, and long enough after the calls that wait?
 *
 * A job that runs looks like one that hangs: at any moment some ranks are in a call and others are not.  Two things tell
 * them apart.  A call that needs all ranks ends on none before all have entered it: a dump that ends before such a call was
 * written earlier, and what it does not have was never missing.  And a wait that is shorter than the pauses between the
 * calls before is none yet; it lasted no longer than from the call to the change of the file, which is later than the dump
 * by the seconds that PyTorch takes to look up stacks, and by days where the file was copied.
 *
 * Pitfall: without events an ended call may have failed, so the last one of a rank proves nothing.
 */
#include "across/flight_moments.h"

#include "across/flight_fit.h"
#include "across/flight_places.h"

/* Whoever dumps by hand waits for longer; looking up stacks was seen to take 10 s on a busy machine. */
#define LEAST_WAIT_NS (20 * (int64_t)1000000000)

/* The highest number that this dump proves to have ended on all ranks; INT64_MIN: none. */
static int64_t proven_end(const hu_flight_scene *s, size_t d, uint32_t place)
{
    const hu_flight_calls *c = &s->calls[d];
    int64_t                newest = INT64_MIN, before = INT64_MIN;
    size_t                 n;

    for (hu_flight_entry_at *at = hu_flight_find(c, place, INT64_MIN, &n), *end = c->at + c->n;
         at < end && (*at)->place == place; at++)
        if ((*at)->state == HU_FLIGHT_ENDED && hu_flight_needs_all(*at) && (*at)->sequence > newest) {
            before = newest;
            newest = (*at)->sequence;
        }
    return s->dumps[d].has_events ? newest : before;
}

/* The highest number that it has called; INT64_MAX: its ring does not tell. */
static int64_t newest_call(const hu_flight_scene *s, size_t d, uint32_t place)
{
    const hu_flight_dump  *dump = &s->dumps[d];
    const hu_flight_calls *c = &s->calls[d];
    int64_t                newest = -1;
    size_t                 n;

    for (hu_flight_entry_at *at = hu_flight_find(c, place, INT64_MIN, &n), *end = c->at + c->n;
         at < end && (*at)->place == place; at++)
        newest = (*at)->sequence;
    return newest < 0 && dump->entries.n && dump->entries.at[0].record > 0 ? INT64_MAX : newest;
}

/* The highest number of a group that any dump proves; *who: that dump. */
static int64_t highest_end(const hu_flight_scene *s, uint32_t place, size_t *who)
{
    int64_t most = INT64_MIN;

    for (size_t d = 0; d < s->n; d++) {
        const int64_t end = proven_end(s, d, place);

        if (end > most) {
            most = end;
            *who = d;
        }
    }
    return most;
}

size_t hu_flight_find_behind(hu_flight_scene *s)
{
    size_t n = 0, who = 0;

    s->is_behind = hu_arena_calloc(s->arena, s->n + 1, sizeof *s->is_behind);
    s->has_memory &= s->is_behind != NULL;
    for (uint32_t i = 0; s->is_behind && i < s->groups.n; i++) {
        const int64_t end = highest_end(s, i, &who);

        for (size_t d = 0; end != INT64_MIN && d < s->n; d++)
            if (!s->is_behind[d] && hu_flight_is_member(&s->groups.at[i], s->dumps[d].rank) && newest_call(s, d, i) < end)
                n += s->is_behind[d] = true;
    }
    return n;
}

void hu_flight_answer_moments(hu_flight_scene *s, hu_flight_answer *out)
{
    for (uint32_t i = 0; s->is_behind && i < s->groups.n; i++) {
        const hu_flight_pg *g = &s->groups.at[i];
        size_t              who = 0;
        const int64_t       end = highest_end(s, i, &who);
        bool                is_it = false;

        for (size_t d = 0; end != INT64_MIN && d < s->n && !is_it; d++)
            is_it = s->is_behind[d] && hu_flight_is_member(g, s->dumps[d].rank) && newest_call(s, d, i) < end;
        if (!is_it)
            continue;
        out->cause = HU_FLIGHT_MOMENTS;
        out->trust = s->dumps[who].has_events ? HU_FLIGHT_SURE : HU_FLIGHT_LIKELY;
        out->places = hu_flight_look_at_all(s, i, end);
        out->n_places = out->places ? g->n : 0;
        out->expected = hu_flight_call_of(&s->calls[who], i, end);
        out->group = g->name;
        out->about = g->about;
        out->knows_members = g->knows_members;
        return;
    }
}

/* The longest time from one call of a rank to its next. */
static int64_t longest_pause(const hu_flight_scene *s)
{
    int64_t most = 0;

    for (size_t d = 0; d < s->n; d++)
        for (size_t i = 1; i < s->dumps[d].entries.n; i++) {
            const hu_flight_entry *e = &s->dumps[d].entries.at[i];

            if (e->created_ns && e[-1].created_ns && e->created_ns - e[-1].created_ns > most)
                most = e->created_ns - e[-1].created_ns;
        }
    return most;
}

/* The longest wait among the calls in question; -1: not known. */
static int64_t longest_wait(const hu_flight_answer *out)
{
    int64_t most = -1;

    for (size_t i = 0; i < out->n_places; i++) {
        const hu_flight_place *p = &out->places[i];

        if (p->role != HU_FLIGHT_WAITS || !p->entry)
            continue;
        if (!p->entry->created_ns || p->dump->written_ns < p->entry->created_ns)
            return -1;
        if (p->dump->written_ns - p->entry->created_ns > most)
            most = p->dump->written_ns - p->entry->created_ns;
    }
    return most;
}

void hu_flight_doubt_young(const hu_flight_scene *s, hu_flight_answer *out)
{
    out->waited_ns = longest_wait(out);
    out->pause_ns = longest_pause(s);
    if (out->waited_ns < 0 || out->waited_ns > (out->pause_ns > LEAST_WAIT_NS ? out->pause_ns : LEAST_WAIT_NS))
        return;
    out->cause = HU_FLIGHT_YOUNG;
    out->trust = HU_FLIGHT_GUESS;
    out->n_culprits = 0;
    for (size_t i = 0; i < out->n_places; i++)
        out->places[i].is_culprit = false;
}
