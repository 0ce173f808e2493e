/* SPDX-License-Identifier: Apache-2.0
 * flight.c - why a job hangs: the answer, from what flight_trouble.c found.
 *
 * Pitfalls: a ring that lost its beginning does not show that a call was never made, and dumps of an earlier run of the same
 * job lie in the same directory.
 */
#include "across/flight.h"

#include "across/flight_difference.h"
#include "across/flight_messages.h"
#include "across/flight_moments.h"
#include "across/flight_places.h"
#include "across/flight_trouble.h"

/* Enough to say who has no dump. */
enum { MOST_UNSEEN = 4096, LEAST_PATIENCE_MS = 60 * 1000, MOST_PATIENCE_MS = 30 * 60 * 1000 };

const char *hu_flight_cause_word(hu_flight_cause cause)
{
    static const char *const words[] = {
#define C(id, word) word,
        HU_FLIGHT_CAUSES(C)
#undef C
    };

    return words[cause];
}

/* All are in it.  Where devices tell, one that has not begun it is the one that the others wait for. */
static void answer_entered(hu_flight_answer *out, hu_flight_place *places)
{
    size_t begun = 0;

    out->n_culprits = 0;
    for (size_t i = 0; i < out->n_places; i++) {
        const hu_flight_entry *e = places[i].entry;

        begun += e && e->state >= HU_FLIGHT_STARTED && places[i].dump->has_events;
        places[i].is_culprit = e && e->state == HU_FLIGHT_SCHEDULED && places[i].dump->has_events;
        out->n_culprits += places[i].is_culprit;
    }
    out->cause = begun && out->n_culprits ? HU_FLIGHT_NOT_STARTED : HU_FLIGHT_ALL_ENTERED;
    out->trust = HU_FLIGHT_LIKELY;
    if (out->cause == HU_FLIGHT_ALL_ENTERED)
        out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_ROLE_COUNT);
}

static size_t count_role(const hu_flight_answer *out, hu_flight_role role)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n_places; i++)
        n += out->places[i].role == role;
    return n;
}

static void answer_wait(hu_flight_scene *s, uint32_t place, hu_flight_answer *out)
{
    const hu_flight_pg *g = &s->groups.at[place];
    hu_flight_place    *places = hu_flight_look_at_all(s, place, g->stuck);

    if (!places)
        return;
    out->places = places;
    out->n_places = g->n;
    for (size_t i = 0; i < g->n && !out->expected; i++)
        out->expected = places[i].role == HU_FLIGHT_WAITS ? places[i].entry : NULL;
    if ((out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_ABSENT))) {
        out->cause = HU_FLIGHT_MISSING;
        for (size_t i = 0; i < g->n; i++)
            out->trust = places[i].role == HU_FLIGHT_UNSEEN ? HU_FLIGHT_LIKELY : out->trust;
    } else if ((out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_ELSEWHERE))) {
        out->cause = HU_FLIGHT_ORDER;
    } else if ((out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_FORGOTTEN))) {
        out->cause = HU_FLIGHT_LOST;
        out->trust = HU_FLIGHT_GUESS;
    } else if (count_role(out, HU_FLIGHT_EARLIER)) {
        out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_ROLE_COUNT);
        hu_flight_answer_moments(s, out);
    } else if ((out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_UNSEEN))) {
        out->cause = HU_FLIGHT_NO_DUMP;
        out->trust = HU_FLIGHT_LIKELY;
    } else {
        answer_entered(out, places);
    }
}

static void set_group(const hu_flight_scene *s, uint32_t place, hu_flight_answer *out)
{
    const hu_flight_pg *g = &s->groups.at[place];

    out->group = g->name;
    out->about = g->about;
    out->knows_members = g->knows_members;
}

/* Sends and receives that wait, where no collective does. */
static void answer_messages(hu_flight_scene *s, hu_flight_answer *out)
{
    hu_flight_place *places = hu_arena_calloc(s->arena, s->n + 1, sizeof *places);

    s->has_memory &= places != NULL;
    for (size_t d = 0; places && d < s->n; d++) {
        const bool             is_behind = s->is_behind && s->is_behind[d];
        const hu_flight_entry *e = is_behind ? NULL : hu_flight_other_wait(&s->dumps[d], UINT32_MAX);

        places[d] = (hu_flight_place){s->dumps[d].rank,
                                      e ? HU_FLIGHT_WAITS : HU_FLIGHT_ABSENT,
                                      false,
                                      &s->dumps[d],
                                      e,
                                      e ? NULL : hu_flight_last_call(&s->dumps[d])};
        if (e && !out->expected) {
            out->expected = e;
            out->cause = HU_FLIGHT_POINT_TO_POINT;
            out->trust = HU_FLIGHT_GUESS;
            set_group(s, e->place, out);
        }
    }
    out->places = places;
    out->n_places = s->n;
    if (places && out->expected)
        s->has_memory &= hu_flight_match_messages(s->dumps, s->n, places, s->arena, out, NULL) == 0;
}

/*
 * How long others may begin after the last call of a dump and still be of its run: as long as that call could wait for them,
 * or, where nothing waits, as long as a rank may have been ahead of them with calls that it did not wait for.
 */
static int64_t patience_ns(const hu_flight_dump *d, const hu_flight_entry *last)
{
    const int64_t timeout_ms = last->timeout_ms > 0 && last->timeout_ms < MOST_PATIENCE_MS ? last->timeout_ms
                                                                                           : MOST_PATIENCE_MS;

    return (hu_flight_other_wait(d, UINT32_MAX) ? timeout_ms : LEAST_PATIENCE_MS) * 1000000;
}

/* A dump that ended long before the first call of all others, whose rings are whole, is of an earlier run. */
static bool answer_stale(hu_flight_scene *s, hu_flight_answer *out)
{
    hu_flight_place *places = hu_arena_calloc(s->arena, s->n + 1, sizeof *places);

    s->has_memory &= places != NULL;
    for (size_t d = 0; places && d < s->n; d++) {
        const hu_flight_entry *last = hu_flight_last_call(&s->dumps[d]);
        bool                   is_older = last && last->created_ns && s->n > 1;

        for (size_t k = 0; k < s->n && is_older; k++) {
            const hu_flight_entry *first = s->dumps[k].entries.n ? s->dumps[k].entries.at : NULL;

            is_older = k == d || (first && first->record == 0 && first->created_ns > last->created_ns &&
                                  first->created_ns - last->created_ns > patience_ns(&s->dumps[d], last));
        }
        places[d] = (hu_flight_place){s->dumps[d].rank, HU_FLIGHT_ABSENT, is_older, &s->dumps[d], NULL, last};
        out->n_culprits += is_older;
    }
    if (out->n_culprits == 0)
        return false;
    out->cause = HU_FLIGHT_STALE;
    out->places = places;
    out->n_places = s->n;
    return true;
}

/*
 * Nobody waits.  Ranks whose last number is lower than that of the others stand out all the same: where a backend tells no
 * failure from an end, the others left that call without them; or the dump was written earlier.
 */
static void answer_nothing(hu_flight_scene *s, hu_flight_answer *out)
{
    out->cause = out->n_unseen ? HU_FLIGHT_NO_DUMP : HU_FLIGHT_NOTHING;
    out->trust = out->n_unseen ? HU_FLIGHT_LIKELY : HU_FLIGHT_SURE;
    for (uint32_t i = 0; i < s->groups.n && s->has_memory; i++) {
        const hu_flight_pg *g = &s->groups.at[i];
        hu_flight_place    *places = g->newest >= 0 ? hu_flight_look_at_all(s, i, g->newest) : NULL;

        if (!places)
            continue;
        out->places = places;
        out->n_places = g->n;
        out->expected = NULL;
        for (size_t k = 0; k < g->n && !out->expected; k++)
            out->expected = places[k].entry;
        set_group(s, i, out);
        if ((out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_ABSENT)) ||
            (out->n_unseen && (out->n_culprits = hu_flight_blame(out, places, HU_FLIGHT_UNSEEN))))
            break;
    }
    if (out->n_culprits && !out->n_unseen)
        out->trust = HU_FLIGHT_GUESS;
    hu_flight_find_last(out);
}

/* Rings without a call: of a backend that is not recorded, or of a size of 0. */
static bool answer_empty(const hu_flight_scene *s, hu_flight_answer *out)
{
    size_t n = 0;

    for (size_t d = 0; d < s->n; d++)
        n += s->dumps[d].entries.n;
    if (n == 0)
        out->cause = HU_FLIGHT_EMPTY;
    return n == 0;
}

static void find_unseen(hu_flight_scene *s, hu_flight_answer *out)
{
    HU_VEC(int64_t) unseen = {0};

    for (size_t i = 0; i < s->groups.n; i++)
        for (size_t k = 0; k < s->groups.at[i].n; k++) {
            const int64_t rank = s->groups.at[i].ranks[k];
            size_t        at = 0;

            if (hu_flight_dump_of(s, rank))
                continue;
            if (unseen.n == MOST_UNSEEN)
                break;
            while (at < unseen.n && unseen.at[at] < rank)
                at++;
            if (at < unseen.n && unseen.at[at] == rank)
                continue;
            if (!hu_vec_push(s->arena, &unseen, rank)) {
                s->has_memory = false;
                return;
            }
            memmove(unseen.at + at + 1, unseen.at + at, (unseen.n - 1 - at) * sizeof *unseen.at);
            unseen.at[at] = rank;
        }
    out->unseen = unseen.at;
    out->n_unseen = unseen.n;
}

/* The members of `place` are only those that used it, and all are in it: a group in which somebody is missing says more. */
static void prefer_missing(hu_flight_scene *s, uint32_t place, hu_flight_answer *out)
{
    for (uint32_t i = 0; i < s->groups.n && s->has_memory && out->cause == HU_FLIGHT_ALL_ENTERED; i++) {
        hu_flight_answer other = {.last_rank = -1, .has_majority = true, .waited_ns = -1};

        if (i == place || s->groups.at[i].stuck == INT64_MAX)
            continue;
        set_group(s, i, &other);
        answer_wait(s, i, &other);
        other.unseen = out->unseen;
        other.n_unseen = out->n_unseen;
        if (other.cause == HU_FLIGHT_MISSING)
            *out = other;
    }
}

static void answer(hu_flight_scene *s, hu_flight_answer *out)
{
    uint32_t place = hu_flight_first_trouble(s);
    bool     is_cycle;

    if (answer_empty(s, out) || answer_stale(s, out))
        return;
    if (place == UINT32_MAX) {
        answer_messages(s, out);
        if (!out->expected)
            hu_flight_answer_moments(s, out);
        if (!out->expected)
            answer_nothing(s, out);
        return;
    }
    place = hu_flight_follow(s, place, &is_cycle);
    out->is_cycle = is_cycle;
    set_group(s, place, out);
    if (s->groups.at[place].differs <= s->groups.at[place].stuck)
        hu_flight_answer_difference(s, place, out);
    else
        answer_wait(s, place, out);
    if (!out->knows_members)
        prefer_missing(s, place, out);
    hu_flight_find_last(out);
    if (!out->knows_members && out->trust == HU_FLIGHT_SURE)
        out->trust = HU_FLIGHT_LIKELY;
    if (!out->knows_members && (out->cause == HU_FLIGHT_ALL_ENTERED || out->cause == HU_FLIGHT_NOT_STARTED))
        out->trust = HU_FLIGHT_GUESS;
}

/* Causes that are one only where the wait has lasted. */
static bool is_wait(hu_flight_cause cause)
{
    return cause == HU_FLIGHT_MISSING || cause == HU_FLIGHT_ORDER || cause == HU_FLIGHT_NOT_STARTED ||
           cause == HU_FLIGHT_ALL_ENTERED || cause == HU_FLIGHT_POINT_TO_POINT;
}

/* Do ranks differ anywhere? */
static bool find_troubles(hu_flight_scene *s)
{
    bool differs = false;

    for (uint32_t i = 0; i < s->groups.n && s->has_memory; i++) {
        hu_flight_find_trouble(s, i);
        differs |= s->groups.at[i].differs != INT64_MAX;
    }
    return differs;
}

int hu_flight_measure(hu_flight_dump *dumps, size_t n, hu_arena *arena, hu_flight_answer *out, hu_error *err)
{
    hu_flight_scene s;
    const int       rc = hu_flight_scene_build(dumps, n, arena, &s, err);

    if (rc < 0)
        return rc;
    *out = (hu_flight_answer){.last_rank = -1, .has_majority = true, .waited_ns = -1};
    if (!find_troubles(&s) && hu_flight_find_behind(&s))
        find_troubles(&s);
    if (s.has_memory)
        find_unseen(&s, out);
    if (s.has_memory)
        answer(&s, out);
    if (s.has_memory && is_wait(out->cause))
        hu_flight_doubt_young(&s, out);
    out->n_groups = s.groups.n;
    return s.has_memory ? 0 : hu_fail_memory(err);
}
