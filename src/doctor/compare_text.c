/* SPDX-License-Identifier: Apache-2.0
 * compare_text.c - differences between nodes, for people and as JSON. */
#include <stdlib.h>

#include "base/json_out.h"
#include "base/number.h"
#include "base/units.h"
#include "doctor/compare.h"

enum { NAMED = 8, INDENT = 4, ODD_NAMED = 5 };

/* Names with commas, at most `most`, and how many more there are. */
static void put_names(const hu_comparison *c, const size_t *nodes, size_t n, size_t most, hu_out *out)
{
    for (size_t i = 0; i < n && i < most; i++) {
        hu_out_text(out, i ? ", " : "");
        hu_out_str(out, c->nodes.at[nodes[i]].name);
    }
    if (n > most)
        hu_out_printf(out, " and %zu more", n - most);
}

static void put_title(hu_str key, hu_out *out)
{
    hu_str                   thing;
    const hu_compared_topic *topic = hu_compared_topic_of(key, &thing);

    hu_out_text(out, topic ? topic->title : "");
    hu_out_text(out, topic && thing.n ? " " : "");
    hu_out_str(out, thing);
}

/* One paragraph that was written to memory, wrapped at `indent`. */
static void put_wrapped(hu_out *memory, size_t column, size_t indent, size_t width, hu_out *out)
{
    hu_str text;

    if (memory && hu_out_take(memory, &text, NULL) == 0)
        hu_units_wrap(out, text, column, indent, width);
    hu_out_text(out, "\n");
}

static void put_difference(const hu_comparison *c, const hu_difference *d, bool all, size_t width, hu_out *out)
{
    hu_out *line = hu_out_open_memory(c->arena);

    if (line) {
        put_title(d->key, line);
        if (!d->has_majority)
            hu_out_text(line, ": no majority");
        if (d->unknown)
            hu_out_printf(line, " (not known on %zu node%s)", d->unknown, hu_plural((int64_t)d->unknown));
    }
    hu_out_text(out, "\n  ");
    put_wrapped(line, 2, INDENT, width, out);
    for (size_t g = 0; g < d->n; g++) {
        const hu_value_group *v = &d->groups[g];

        if (!(line = hu_out_open_memory(c->arena)))
            return;
        hu_out_str(line, v->value.n ? v->value : HU_STR("(empty)"));
        hu_out_printf(line, ": %zu node%s", v->n, hu_plural((int64_t)v->n));
        if (v->is_odd || !d->has_majority || all) {
            hu_out_text(line, v->is_odd ? ", odd: " : ", ");
            put_names(c, v->nodes, v->n, all ? SIZE_MAX : NAMED, line);
        }
        hu_out_printf(out, "%*s", INDENT, "");
        put_wrapped(line, INDENT, INDENT + 2, width, out);
    }
}

typedef struct {
    size_t node, odd;
} odd_one;

static int by_odd(const void *a, const void *b)
{
    const odd_one *x = a, *y = b;

    if (x->odd != y->odd)
        return x->odd > y->odd ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Nodes that are in a minority, most often first; *n of them.  NULL: none, or no memory. */
static const odd_one *odd_ones(const hu_comparison *c, size_t *n)
{
    odd_one *list = hu_arena_calloc(c->arena, c->nodes.n + 1, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < c->nodes.n; i++)
        if (c->odd[i])
            list[(*n)++] = (odd_one){i, c->odd[i]};
    if (*n)
        qsort(list, *n, sizeof *list, by_odd);
    return *n ? list : NULL;
}

void hu_compare_text(const hu_comparison *c, bool all, size_t width, hu_out *out)
{
    size_t         n_odd;
    const odd_one *odd = odd_ones(c, &n_odd);
    hu_out        *line = hu_out_open_memory(c->arena);

    if (!line)
        return;
    hu_out_printf(line, "%zu nodes, %zu values compared: ", c->nodes.n, c->compared);
    if (c->differences.n)
        hu_out_printf(line, "%zu differ%s", c->differences.n, c->differences.n == 1 ? "s" : "");
    else
        hu_out_text(line, "all are equal");
    if (c->unread.n)
        hu_out_printf(line, "; %zu file%s could not be read", c->unread.n, hu_plural((int64_t)c->unread.n));
    put_wrapped(line, 0, 0, width, out);
    if (n_odd && (line = hu_out_open_memory(c->arena))) {
        const size_t most = all ? n_odd : n_odd < ODD_NAMED ? n_odd : ODD_NAMED;

        hu_out_text(line, "Odd most often: ");
        for (size_t i = 0; i < most; i++) {
            hu_out_text(line, i ? ", " : "");
            hu_out_str(line, c->nodes.at[odd[i].node].name);
            hu_out_printf(line, " (%zu value%s)", odd[i].odd, hu_plural((int64_t)odd[i].odd));
        }
        if (n_odd > most)
            hu_out_printf(line, " and %zu more", n_odd - most);
        put_wrapped(line, 0, 2, width, out);
    }
    for (size_t i = 0; i < c->differences.n; i++)
        put_difference(c, &c->differences.at[i], all, width, out);
}

void hu_compare_json(const hu_comparison *c, hu_out *out)
{
    hu_json_out    j = {.out = out, .is_empty = true};
    size_t         n_odd;
    const odd_one *odd = odd_ones(c, &n_odd);

    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "compared", (int64_t)c->compared);
    hu_json_open(&j, "nodes", '[');
    for (size_t i = 0; i < c->nodes.n; i++)
        hu_json_str(&j, NULL, c->nodes.at[i].name);
    hu_json_close(&j, ']');
    hu_json_open(&j, "odd", '[');
    for (size_t i = 0; i < n_odd; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "node", c->nodes.at[odd[i].node].name);
        hu_json_int(&j, "values", (int64_t)odd[i].odd);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_open(&j, "differences", '[');
    for (size_t i = 0; i < c->differences.n; i++) {
        const hu_difference *d = &c->differences.at[i];

        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "key", d->key);
        hu_json_bool(&j, "has_majority", d->has_majority);
        hu_json_int(&j, "unknown", (int64_t)d->unknown);
        hu_json_open(&j, "values", '[');
        for (size_t g = 0; g < d->n; g++) {
            hu_json_open(&j, NULL, '{');
            hu_json_str(&j, "value", d->groups[g].value);
            hu_json_bool(&j, "is_odd", d->groups[g].is_odd);
            hu_json_open(&j, "nodes", '[');
            for (size_t k = 0; k < d->groups[g].n; k++)
                hu_json_str(&j, NULL, c->nodes.at[d->groups[g].nodes[k]].name);
            hu_json_close(&j, ']');
            hu_json_close(&j, '}');
        }
        hu_json_close(&j, ']');
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_unread(&j, "unread", &c->unread);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
