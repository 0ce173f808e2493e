/* SPDX-License-Identifier: Apache-2.0
 * compare.c - which values of nodes differ, and who is in the minority.
 *
 * Values of all nodes are gathered as (key, value, node), so that the work grows with what the files hold and with nodes
 * times keys, whatever the keys are.  Equal texts have equal numbers (base/intern.h); 1,024 nodes with 150 values each are
 * 150,000 of them.
 */
#include "doctor/compare.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/number.h"

enum { KEYS_MOST = 16384 };

/* A value of a node; keys and values are texts of the table. */
typedef struct {
    uint32_t key, value, node;
} entry;

/* A node's vote on one key. */
typedef struct {
    double   number; /* of a topic with a tolerance; else 0 */
    uint32_t value, node, group;
} vote;

typedef struct {
    hu_comparison *c;
    hu_intern      texts;
    HU_VEC(entry) entries;
    vote *votes; /* room for one of each node */
    bool *voted; /* by node */
} work;

static int by_key_and_node(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_value_and_node(const void *a, const void *b)
{
    const vote *x = a, *y = b;

    if (x->number < y->number || x->number > y->number)
        return x->number < y->number ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_group_and_node(const void *a, const void *b)
{
    const vote *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_size(const void *a, const void *b)
{
    const hu_value_group *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return hu_str_compare(x->value, y->value);
}

/* In the order of the topics, things of a class by name with numbers by value; what no topic describes comes last. */
static int by_topic(const void *a, const void *b)
{
    const hu_difference     *x = a, *y = b;
    hu_str                   things[2];
    const hu_compared_topic *s = hu_compared_topic_of(x->key, &things[0]), *t = hu_compared_topic_of(y->key, &things[1]);

    if (s != t)
        return !s || (t && s > t) ? 1 : -1;
    return strverscmp(x->key.p, y->key.p);
}

/* The number that a value begins with; 0: it begins with none. */
static double leading_number(hu_str value)
{
    const char *blank = value.n ? memchr(value.p, ' ', value.n) : NULL;
    double      number;

    return hu_parse_f64((hu_str){value.p, blank ? (size_t)(blank - value.p) : value.n}, &number) && number > 0 ? number : 0;
}

/* Gives each of the votes its group; what is within the tolerance of a group's least number belongs to it.  How many. */
static uint32_t assign(work *w, size_t n, double tolerance)
{
    uint32_t groups = 0;
    size_t   first = 0;

    for (size_t i = 0; i < n; i++)
        w->votes[i].number = tolerance > 0 ? leading_number(hu_intern_get(&w->texts, w->votes[i].value)) : 0;
    qsort(w->votes, n, sizeof *w->votes, by_value_and_node);
    for (size_t i = 0; i < n; i++) {
        const vote *f = &w->votes[first], *v = &w->votes[i];

        if (i > 0 && v->value != f->value && !(f->number > 0 && v->number <= f->number * (1 + tolerance))) {
            groups++;
            first = i;
        }
        w->votes[i].group = groups;
    }
    return n ? groups + 1 : 0;
}

/* `n` votes on one key.  False: no memory. */
static bool count(work *w, hu_str key, size_t n)
{
    hu_comparison           *c = w->c;
    hu_str                   thing;
    const hu_compared_topic *topic = hu_compared_topic_of(key, &thing);
    const size_t             n_groups = assign(w, n, topic ? topic->tolerance : 0);
    hu_value_group          *groups;
    size_t                  *nodes;
    hu_difference            d = {.n = n_groups, .unknown = c->nodes.n - n};

    c->compared += n >= 2;
    if (n_groups < 2)
        return true;
    d.key = hu_arena_copy(c->arena, key);
    groups = hu_arena_calloc(c->arena, n_groups, sizeof *groups);
    nodes = hu_arena_calloc(c->arena, n, sizeof *nodes);
    if (!d.key.p || !groups || !nodes)
        return false;
    qsort(w->votes, n, sizeof *w->votes, by_group_and_node);
    for (size_t i = 0; i < n; i++) {
        hu_value_group *g = &groups[w->votes[i].group];

        if (g->n++ == 0) {
            g->value = hu_arena_copy(c->arena, hu_intern_get(&w->texts, w->votes[i].value));
            g->nodes = nodes + i;
            if (!g->value.p)
                return false;
        }
        nodes[i] = w->votes[i].node;
    }
    qsort(groups, n_groups, sizeof *groups, by_size);
    d.has_majority = n >= 3 && 2 * groups[0].n > n;
    for (size_t g = 1; g < n_groups && d.has_majority; g++) {
        groups[g].is_odd = true;
        for (size_t i = 0; i < groups[g].n; i++)
            c->odd[groups[g].nodes[i]]++;
    }
    d.groups = groups;
    return hu_vec_push(c->arena, &c->differences, d);
}

/* The entries of one key begin at `from`; *n of them. */
static const entry *entries_of(const work *w, uint32_t key, size_t *n)
{
    size_t low = 0, high = w->entries.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->entries.at[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < w->entries.n && w->entries.at[high].key == key; high++)
        ;
    *n = high - low;
    return w->entries.at + low;
}

/* All votes on one key: those who have a value, and "none" from those who looked at its class and do not have it. */
static bool ask(work *w, hu_str key, const entry *entries, size_t n_entries, uint32_t none)
{
    const size_t n_nodes = w->c->nodes.n;
    const char  *dot = memchr(key.p, '.', key.n);
    const uint32_t class = dot ? hu_intern_find(&w->texts, (hu_str){key.p, (size_t)(dot - key.p)}) : UINT32_MAX;
    size_t       n = 0, n_listed = 0;
    const entry *listed = class == UINT32_MAX ? NULL : entries_of(w, class, &n_listed);

    memset(w->voted, 0, n_nodes);
    for (size_t i = 0; i < n_entries; i++) {
        if (w->voted[entries[i].node])
            continue; /* twice in one file: the first */
        w->voted[entries[i].node] = true;
        w->votes[n++] = (vote){.value = entries[i].value, .node = entries[i].node};
    }
    for (size_t i = 0; i < n_listed; i++)
        if (!w->voted[listed[i].node]) {
            w->voted[listed[i].node] = true;
            w->votes[n++] = (vote){.value = none, .node = listed[i].node};
        }
    return count(w, key, n);
}

static int gather(work *w, hu_arena *scratch, hu_error *err)
{
    const hu_comparison *c = w->c;
    size_t               n_keys = 0;

    for (size_t i = 0; i < c->nodes.n; i++)
        for (size_t k = 0; k < c->nodes.at[i].values.n; k++) {
            const hu_compared_value *v = &c->nodes.at[i].values.at[k];
            const entry              e = {hu_intern_add(&w->texts, v->key), hu_intern_add(&w->texts, v->value), (uint32_t)i};

            if (e.key == UINT32_MAX || e.value == UINT32_MAX || !hu_vec_push(scratch, &w->entries, e))
                return hu_fail_memory(err);
        }
    if (w->entries.n)
        qsort(w->entries.at, w->entries.n, sizeof *w->entries.at, by_key_and_node);
    for (size_t i = 0; i < w->entries.n; i++)
        n_keys += i == 0 || w->entries.at[i].key != w->entries.at[i - 1].key;
    return n_keys <= KEYS_MOST
               ? 0
               : hu_fail(err, HU_ELIMIT, NULL, HU_NO_OFFSET,
                         "the nodes have %zu different values to compare and at most %d can be; compare fewer", n_keys,
                         KEYS_MOST);
}

int hu_compare_measure(hu_comparison *c, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    work      w = {.c = c};
    uint32_t  none;
    bool      is_fine;
    int       rc;

    c->odd = hu_arena_calloc(c->arena, c->nodes.n + 1, sizeof *c->odd);
    is_fine = scratch && c->odd && hu_intern_init(&w.texts, scratch) &&
              (w.votes = hu_arena_calloc(scratch, c->nodes.n + 1, sizeof *w.votes)) &&
              (w.voted = hu_arena_calloc(scratch, c->nodes.n + 1, sizeof *w.voted)) &&
              (none = hu_intern_add(&w.texts, HU_STR("none"))) != UINT32_MAX;
    rc = is_fine ? gather(&w, scratch, err) : hu_fail_memory(err);
    for (size_t from = 0, to; rc == 0 && from < w.entries.n; from = to) {
        for (to = from + 1; to < w.entries.n && w.entries.at[to].key == w.entries.at[from].key; to++)
            ;
        if (!ask(&w, hu_intern_get(&w.texts, w.entries.at[from].key), w.entries.at + from, to - from, none))
            rc = hu_fail_memory(err);
    }
    if (rc == 0 && c->differences.n)
        qsort(c->differences.at, c->differences.n, sizeof *c->differences.at, by_topic);
    hu_arena_free(scratch);
    return rc;
}
