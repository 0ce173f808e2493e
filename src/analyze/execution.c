/* SPDX-License-Identifier: Apache-2.0
 * execution.c - counts operators by name over all files, and the forms of their inputs.
 *
 * A form is the text of shapes and types as recorded: [[4,2048],[]] with ["Tensor(float)","Int"].  Two operators are alike
 * for a kernel where both are equal, whatever the values are.
 */
#include "analyze/execution.h"

#include <stdlib.h>

#include "base/map.h"

typedef struct {
    hu_arena *arena;
    hu_intern names, texts; /* of all files; a form is a text of the numbers of two others */
    HU_VEC(hu_execution_row) rows;
    HU_VEC(int64_t) forms; /* calls of a name with one form */
    hu_map by_form;        /* name and form -> its place there */
} counter;

static uint64_t pair_of(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The row of a name.  NULL: no memory. */
static hu_execution_row *row_of(counter *c, hu_str name, uint32_t *id)
{
    *id = hu_intern_add(&c->names, name);
    while (*id != UINT32_MAX && c->rows.n <= *id)
        if (!hu_vec_push(c->arena, &c->rows, ((hu_execution_row){.shapes = HU_STR(""), .types = HU_STR("")})))
            return NULL;
    if (*id == UINT32_MAX)
        return NULL;
    c->rows.at[*id].name = hu_intern_get(&c->names, *id);
    return &c->rows.at[*id];
}

/* One number for both texts of a form.  UINT32_MAX: no memory. */
static uint32_t form_of(counter *c, const hu_execution *e, const hu_execution_node *node)
{
    const uint32_t shapes = hu_intern_add(&c->texts, hu_intern_get(&e->texts, node->shapes));
    const uint32_t types = hu_intern_add(&c->texts, hu_intern_get(&e->texts, node->types));
    uint32_t       both[2] = {shapes, types};

    if (shapes == UINT32_MAX || types == UINT32_MAX)
        return UINT32_MAX;
    return hu_intern_add(&c->texts, (hu_str){(const char *)both, sizeof both});
}

static bool count_form(counter *c, hu_execution_row *row, uint32_t name, const hu_execution *e,
                       const hu_execution_node *node)
{
    const uint32_t both = form_of(c, e, node);
    uint32_t      *at = both == UINT32_MAX ? NULL : hu_map_put(&c->by_form, pair_of(name, both));

    if (!at)
        return false;
    if (*at == HU_MAP_NONE) {
        *at = (uint32_t)c->forms.n;
        row->forms++;
        if (!hu_vec_push(c->arena, &c->forms, 0))
            return false;
    }
    if (++c->forms.at[*at] > row->form_calls) {
        row->form_calls = c->forms.at[*at];
        row->shapes = hu_intern_get(&e->texts, node->shapes);
        row->types = hu_intern_get(&e->texts, node->types);
    }
    return true;
}

static bool count_node(counter *c, const hu_execution *e, const hu_execution_node *node)
{
    uint32_t          name;
    hu_execution_row *row = row_of(c, hu_intern_get(&e->texts, node->name), &name);

    if (!row)
        return false;
    row->calls++;
    row->outermost += node->depth == 1;
    row->dur_ns += node->dur_ns;
    row->with_shapes += node->shapes != 0;
    return !node->shapes || count_form(c, row, name, e, node);
}

/* Threads by their numbers.  False: no memory. */
static bool count_file(counter *c, const hu_execution *e, hu_execution_file *file)
{
    hu_map threads;

    *file = (hu_execution_file){.of = e};
    if (!hu_map_init(&threads, c->arena, 16))
        return false;
    for (size_t i = 0; i < e->nodes.n; i++) {
        const hu_execution_node *node = &e->nodes.at[i];
        uint32_t                *thread;

        file->ranges += node->kind == HU_EXECUTION_RANGE;
        if (node->kind != HU_EXECUTION_OPERATOR)
            continue;
        file->operators++;
        file->outermost += node->depth == 1;
        file->with_record += node->record != 0;
        file->depth = node->depth > file->depth ? node->depth : file->depth;
        thread = hu_map_put(&threads, (uint64_t)node->thread);
        if (!thread || !count_node(c, e, node))
            return false;
        file->threads += *thread == HU_MAP_NONE;
        *thread = 1;
    }
    hu_map_drop(&threads);
    return true;
}

static int by_calls(const void *a, const void *b)
{
    const hu_execution_row *x = a, *y = b;

    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return hu_str_compare(x->name, y->name);
}

static void add_up(hu_execution_answer *out)
{
    for (size_t i = 0; i < out->n_files; i++) {
        const hu_execution_file *f = &out->files[i];

        out->operators += f->operators;
        out->outermost += f->outermost;
        out->ranges += f->ranges;
        out->depth = f->depth > out->depth ? f->depth : out->depth;
        out->malformed += f->of->malformed;
        out->is_cut |= f->of->is_cut;
    }
    for (size_t i = 0; i < out->n_rows; i++) {
        out->with_shapes += out->rows[i].with_shapes;
        out->has_durations |= out->rows[i].dur_ns != 0;
    }
}

bool hu_execution_measure(const hu_execution *files, size_t n, hu_arena *arena, hu_execution_answer *out)
{
    counter c = {.arena = arena};

    *out = (hu_execution_answer){.n_files = n, .files = hu_arena_calloc(arena, n + 1, sizeof *out->files)};
    if (!out->files || !hu_intern_init(&c.names, arena) || !hu_intern_init(&c.texts, arena) ||
        !hu_map_init(&c.by_form, arena, 64))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!count_file(&c, &files[i], &out->files[i]))
            return false;
    for (size_t i = 0; i < c.rows.n; i++) /* "" is a text of the table, and no operator */
        if (c.rows.at[i].calls)
            c.rows.at[out->n_rows++] = c.rows.at[i];
    out->rows = c.rows.at;
    if (out->n_rows)
        qsort(out->rows, out->n_rows, sizeof *out->rows, by_calls);
    add_up(out);
    return true;
}
