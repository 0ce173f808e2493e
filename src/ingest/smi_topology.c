/* SPDX-License-Identifier: Apache-2.0
 * smi_topology.c - fields end in tabs; the heading may hold the terminal's codes for underlined text, and begins empty. */
#include "ingest/smi_topology.h"

static hu_str without_codes(hu_str s)
{
    s = hu_str_trim(s);
    while (s.n > 2 && s.p[0] == '\x1b' && s.p[1] == '[') {
        const char *end = memchr(s.p, 'm', s.n);

        if (!end)
            return HU_STR("");
        s = (hu_str){end + 1, (size_t)(s.p + s.n - end) - 1};
    }
    if (s.n && memchr(s.p, '\x1b', s.n))
        s.n = (size_t)((const char *)memchr(s.p, '\x1b', s.n) - s.p);
    return hu_str_trim(s);
}

static bool next_field(hu_str line, size_t *at, hu_str *field)
{
    const char *tab;

    if (*at > line.n)
        return false;
    tab = *at < line.n ? memchr(line.p + *at, '\t', line.n - *at) : NULL;
    *field = without_codes((hu_str){line.p + *at, (tab ? (size_t)(tab - line.p) : line.n) - *at});
    *at = tab ? (size_t)(tab - line.p) + 1 : line.n + 1;
    return true;
}

static bool is_gpu(hu_str name)
{
    return name.n > 3 && hu_str_starts(name, HU_STR("GPU")) && name.p[3] >= '0' && name.p[3] <= '9';
}

bool hu_smi_topology_heading(hu_smi_topology *t, hu_node_sink *sink, hu_str line)
{
    hu_smi_topology out = {.tries = t->tries + 1};
    hu_str          field;
    size_t          at = 0;

    if (out.tries > HU_SMI_TOPOLOGY_TRIES || line.n == 0 || line.p[0] != '\t' || !next_field(line, &at, &field) || field.n ||
        !next_field(line, &at, &field) || !hu_str_equal(field, HU_STR("GPU0")))
        return false;
    do {
        if (field.n == 0 || hu_str_has(field, HU_STR("Affinity")) || hu_str_has(field, HU_STR("NUMA ")))
            break;
        out.names[out.n] = hu_node_keep(sink, field);
        out.n_gpus += is_gpu(field) && out.n_gpus == out.n;
        out.n++;
    } while (out.n < HU_SMI_TOPOLOGY_COLUMNS && next_field(line, &at, &field));
    out.links = hu_arena_calloc(sink->log->arena, out.n * out.n_gpus, sizeof *out.links);
    if (!out.links) {
        sink->has_memory = false;
        return false;
    }
    *t = out;
    return true;
}

static bool put(const hu_smi_topology *t, hu_node_sink *sink)
{
    hu_str *names = hu_arena_calloc(sink->log->arena, t->n, sizeof *names);

    if (!names)
        return false;
    memcpy(names, t->names, t->n * sizeof *names);
    return hu_vec_push(
        sink->log->arena, &sink->log->topologies,
        ((hu_node_topology){
            .file = hu_node_keep(sink, sink->file), .n_gpus = t->n_gpus, .n = t->n, .names = names, .links = t->links}));
}

bool hu_smi_topology_line(hu_smi_topology *t, hu_node_sink *sink, hu_str line)
{
    size_t at = 0, i = 0;
    hu_str field;

    if (t->rows == t->n_gpus || !next_field(line, &at, &field) || !hu_str_equal(field, t->names[t->rows]))
        return false;
    for (; i < t->n && next_field(line, &at, &field); i++)
        t->links[t->rows * t->n + i] = hu_node_keep(sink, field);
    if (i < t->n)
        return false;
    t->rows++;
    if (t->rows == t->n_gpus && !put(t, sink))
        sink->has_memory = false;
    return true;
}
