/* SPDX-License-Identifier: Apache-2.0
 * views.c - the list of questions, in the order of --view list and of JSON. */
#include "render/table/views.h"

extern const hu_view hu_view_time, hu_view_steps, hu_view_operators, hu_view_op_kernels, hu_view_tree, hu_view_kernels,
    hu_view_families, hu_view_sequences, hu_view_copies, hu_view_bandwidth, hu_view_comm, hu_view_idle, hu_view_launch,
    hu_view_calls, hu_view_waits, hu_view_memory, hu_view_roofline, hu_view_overheads, hu_view_parallelism, hu_view_phases,
    hu_view_hot, hu_view_ranks, hu_view_why, hu_view_host, hu_view_os_calls, hu_view_outside, hu_view_serving, hu_view_gpus,
    hu_view_energy;

/* clang-format off */
const hu_view *const hu_views[] = {
    &hu_view_ranks,
    &hu_view_why,
    &hu_view_time,
    &hu_view_steps,
    &hu_view_operators,
    &hu_view_op_kernels,
    &hu_view_tree,
    &hu_view_kernels,
    &hu_view_families,
    &hu_view_sequences,
    &hu_view_copies,
    &hu_view_bandwidth,
    &hu_view_comm,
    &hu_view_parallelism,
    &hu_view_phases,
    &hu_view_idle,
    &hu_view_launch,
    &hu_view_calls,
    &hu_view_waits,
    &hu_view_memory,
    &hu_view_roofline,
    &hu_view_overheads,
    &hu_view_hot,
    &hu_view_host,
    &hu_view_os_calls,
    &hu_view_outside,
    &hu_view_gpus,
    &hu_view_energy,
    &hu_view_serving,
    NULL,
};
/* clang-format on */

const hu_view *const hu_compat_views[] = {&hu_view_hta, &hu_view_tracelens, NULL};

static bool find_in(const hu_view *const *views, hu_str word, hu_part *out)
{
    const char  *dot = memchr(word.p, '.', word.n);
    const hu_str first = {word.p, dot ? (size_t)(dot - word.p) : word.n};
    const hu_str rest = dot ? (hu_str){dot + 1, word.n - first.n - 1} : HU_STR("");

    *out = (hu_part){0};
    for (size_t i = 0; views[i]; i++) {
        if (!hu_str_equal(hu_str_of(views[i]->word), first))
            continue;
        out->view = views[i];
        out->facts = dot && views[i]->n_facts && hu_str_equal(rest, HU_STR("facts"));
        for (size_t t = 0; dot && t < views[i]->n_tables; t++)
            if (hu_str_equal(hu_str_of(views[i]->tables[t]->key), rest))
                out->table = views[i]->tables[t];
        return !dot || out->facts || out->table;
    }
    return false;
}

bool hu_views_find(hu_str word, hu_part *out)
{
    return find_in(hu_views, word, out) || find_in(hu_compat_views, word, out);
}

static bool is_asked(const hu_part *part, const hu_view *view, const hu_table *table)
{
    return (!part->view || part->view == view) && (!part->table || part->table == table);
}

size_t hu_views_columns(const hu_part *part, const char **out, size_t most)
{
    size_t n = 0;

    for (size_t v = 0; hu_views[v]; v++)
        for (size_t t = 0; t < hu_views[v]->n_tables; t++)
            for (size_t c = 0; c < hu_views[v]->tables[t]->n_columns; c++)
                if (is_asked(part, hu_views[v], hu_views[v]->tables[t]) && hu_views[v]->tables[t]->columns[c].key &&
                    n < most)
                    out[n++] = hu_views[v]->tables[t]->columns[c].key;
    return n;
}

bool hu_views_have_column(const hu_part *part, hu_str key)
{
    for (size_t v = 0; hu_views[v]; v++)
        for (size_t t = 0; t < hu_views[v]->n_tables; t++)
            if (is_asked(part, hu_views[v], hu_views[v]->tables[t]) && hu_columns_find(hu_views[v]->tables[t], key))
                return true;
    return false;
}
