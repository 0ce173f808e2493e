/* SPDX-License-Identifier: Apache-2.0
 * flight_scene.c - the process groups of a job, their members, and the calls of each rank by group and number.
 *
 * Groups of one name may have different members, and gloo writes all of them under the empty name: what the dumps do not say
 * is taken from who used a group, and from what gathers show of its size.
 */
#include "across/flight_scene.h"

#include <stdlib.h>

/* Beyond any job: what is more comes from a file that was made to be slow. */
enum { MOST_GROUPS = 16384 };

bool hu_flight_is_member(const hu_flight_pg *g, int64_t rank)
{
    size_t low = 0, high = g->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (g->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && g->ranks[low] == rank;
}

static bool is_same(const hu_flight_pg *g, const hu_flight_group *other)
{
    return hu_str_equal(g->name, other->name) && g->n == other->n &&
           (g->n == 0 || memcmp(g->ranks, other->ranks, g->n * sizeof *g->ranks) == 0);
}

static void add_group(hu_flight_scene *s, const hu_flight_pg *g)
{
    s->is_beyond |= s->groups.n >= MOST_GROUPS;
    if (!s->is_beyond && !hu_vec_push(s->arena, &s->groups, *g))
        s->has_memory = false;
}

/* Groups of one name may have different members (split_group), and the same one is in many dumps. */
static void add_configured(hu_flight_scene *s)
{
    for (size_t d = 0; d < s->n; d++)
        for (size_t k = 0; k < s->dumps[d].groups.n && !s->is_beyond; k++) {
            const hu_flight_group *g = &s->dumps[d].groups.at[k];
            bool                   is_known = g->name.n == 0; /* gloo writes all of them under the empty name */

            for (size_t i = 0; i < s->groups.n && !is_known; i++)
                is_known = is_same(&s->groups.at[i], g);
            if (!is_known)
                add_group(s, &(hu_flight_pg){
                                 .name = g->name, .about = g->about, .ranks = g->ranks, .n = g->n, .knows_members = true});
        }
}

static uint32_t group_of(hu_flight_scene *s, const hu_flight_entry *e, int64_t rank)
{
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const hu_flight_pg *g = &s->groups.at[i];

        if (hu_str_equal(g->name, e->group) && (!g->knows_members || hu_flight_is_member(g, rank)))
            return i;
    }
    add_group(s, &(hu_flight_pg){.name = e->group, .about = e->about});
    return (uint32_t)(s->groups.n ? s->groups.n - 1 : 0);
}

static void place_entries(hu_flight_scene *s)
{
    for (size_t d = 0; d < s->n && s->has_memory; d++)
        for (size_t i = 0, n = s->dumps[d].entries.n; i < n && s->has_memory; i++) {
            hu_flight_entry *e = &s->dumps[d].entries.at[i];
            hu_flight_pg    *g;

            /* the next call is mostly of the same group */
            e->place = i && hu_str_equal(e[-1].group, e->group) ? e[-1].place : group_of(s, e, s->dumps[d].rank);
            if (!s->has_memory || s->is_beyond)
                return;
            g = &s->groups.at[e->place];
            if (e->about.n)
                g->about = e->about;
            if (hu_str_has(e->operation, HU_STR("all_gather")) && e->elements[0] > 0 &&
                e->elements[1] % e->elements[0] == 0 && e->elements[1] / e->elements[0] > g->size)
                g->size = e->elements[1] / e->elements[0];
        }
}

static int by_number(const void *a, const void *b)
{
    const hu_flight_entry *x = *(const hu_flight_entry_at *)a, *y = *(const hu_flight_entry_at *)b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static void sort_calls(hu_flight_scene *s)
{
    s->calls = hu_arena_calloc(s->arena, s->n + 1, sizeof *s->calls);
    s->has_memory &= s->calls != NULL;
    for (size_t d = 0; d < s->n && s->has_memory; d++) {
        const hu_flight_dump *dump = &s->dumps[d];
        hu_flight_calls      *c = &s->calls[d];

        c->at = hu_arena_calloc(s->arena, dump->entries.n + 1, sizeof *c->at);
        if (!c->at) {
            s->has_memory = false;
            return;
        }
        for (size_t i = 0; i < dump->entries.n; i++)
            if (!dump->entries.at[i].is_p2p && dump->entries.at[i].sequence >= 0)
                c->at[c->n++] = &dump->entries.at[i];
        if (c->n)
            qsort(c->at, c->n, sizeof *c->at, by_number);
    }
}

/* The first call of (group, number) or what would follow it; *n how many calls share that number (coalesced ones). */
hu_flight_entry_at *hu_flight_find(const hu_flight_calls *c, uint32_t place, int64_t sequence, size_t *n)
{
    size_t low = 0, high = c->n;

    while (low < high) {
        const size_t             middle = low + (high - low) / 2;
        const hu_flight_entry_at e = c->at[middle];

        if (e->place < place || (e->place == place && e->sequence < sequence))
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < c->n && c->at[low + *n]->place == place && c->at[low + *n]->sequence == sequence;)
        ++*n;
    return c->at + low;
}

/* The call with this number, the last one of a coalesced group, whose state is that of all; NULL: none. */
hu_flight_entry_at hu_flight_call_of(const hu_flight_calls *c, uint32_t place, int64_t sequence)
{
    size_t              n;
    hu_flight_entry_at *at = hu_flight_find(c, place, sequence, &n);

    return n ? at[n - 1] : NULL;
}

/* Members where the dumps do not say: of the default group all ranks, else those that used it. */
static void find_members(hu_flight_scene *s, uint32_t place)
{
    hu_flight_pg *g = &s->groups.at[place];
    HU_VEC(int64_t) ranks = {0};
    const bool is_world = hu_str_equal(g->about, HU_STR("default_pg"));
    int64_t    most = -1;
    size_t     n;

    if (g->knows_members)
        return;
    for (size_t d = 0; is_world && d < s->n; d++) {
        most = s->dumps[d].rank > most ? s->dumps[d].rank : most;
        for (size_t k = 0; k < s->dumps[d].groups.n; k++) {
            const hu_flight_group *other = &s->dumps[d].groups.at[k];

            if (other->ranks[other->n - 1] > most)
                most = other->ranks[other->n - 1];
        }
    }
    most = is_world && g->size > most + 1 && g->size <= 1 << 20 ? g->size - 1 : most;
    for (int64_t r = 0; r <= most; r++)
        s->has_memory &= hu_vec_push(s->arena, &ranks, r);
    for (size_t d = 0; !is_world && d < s->n; d++) {
        hu_flight_entry_at *at = hu_flight_find(&s->calls[d], place, INT64_MIN, &n);

        if (at < s->calls[d].at + s->calls[d].n && (*at)->place == place)
            s->has_memory &= hu_vec_push(s->arena, &ranks, s->dumps[d].rank);
    }
    g->ranks = ranks.at;
    g->n = ranks.n;
    g->knows_members = is_world || (g->size > 0 && (size_t)g->size == g->n);
}

hu_flight_dump *hu_flight_dump_of(const hu_flight_scene *s, int64_t rank)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->dumps[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && s->dumps[low].rank == rank ? &s->dumps[low] : NULL;
}

const hu_flight_calls *hu_flight_calls_of(const hu_flight_scene *s, const hu_flight_dump *d)
{
    return &s->calls[d - s->dumps];
}
int hu_flight_scene_build(hu_flight_dump *dumps, size_t n, hu_arena *arena, hu_flight_scene *s, hu_error *err)
{
    *s = (hu_flight_scene){.dumps = dumps, .n = n, .arena = arena, .has_memory = true};
    add_configured(s);
    place_entries(s);
    if (s->is_beyond)
        return hu_fail(err, HU_ELIMIT, NULL, HU_NO_OFFSET, "more than %d process groups; are these dumps of one job",
                       MOST_GROUPS);
    sort_calls(s);
    for (uint32_t i = 0; i < s->groups.n && s->has_memory; i++)
        find_members(s, i);
    return s->has_memory ? 0 : hu_fail_memory(err);
}
