/* SPDX-License-Identifier: Apache-2.0
 * gates.c - which gate nominates which diagnosis, and what gates share.
 */
#include "advise/gates.h"

#include <stdarg.h>

void hu_hint_say(hu_hint *h, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(h->statement, sizeof h->statement, format, args);
    va_end(args);
}

void hu_hint_show(hu_hint *h, const char *format, ...)
{
    va_list args;

    if (h->n_evidence == HU_EVIDENCE)
        return;
    va_start(args, format);
    vsnprintf(h->evidence[h->n_evidence++], HU_EVIDENCE_BYTES, format, args);
    va_end(args);
}

hu_said_frame hu_say_frame(hu_str name)
{
    static const char object[] = " object at 0x";
    hu_said_frame     out;

    for (size_t i = 0; i + sizeof object <= name.n; i++)
        if (memcmp(name.p + i, object, sizeof object - 1) == 0) {
            snprintf(out.t, sizeof out.t, "%.*s>", (int)i, name.p);
            return out;
        }
    snprintf(out.t, sizeof out.t, "%.*s", HU_FMT(name));
    return out;
}

void hu_hint_show_frames(const hu_scene *c, hu_hint *h, uint32_t slice)
{
    const hu_ask *ask = &c->s->ask;
    uint32_t      outer = slice, above;
    hu_said_frame name, caller;

    if (slice == HU_NONE || ask->s.kind[slice] != HU_KIND_PYTHON)
        return;
    while ((above = ask->s.parent[outer]) != HU_NONE && ask->s.kind[above] == HU_KIND_PYTHON &&
           4 * ask->s.dur_ns[outer] >= 3 * ask->s.dur_ns[above])
        outer = above;
    name = hu_say_frame(hu_ask_name(ask, outer));
    if (above == HU_NONE || ask->s.kind[above] != HU_KIND_PYTHON) {
        if (outer != slice)
            hu_hint_show(h, "it is most of %s", name.t);
        return;
    }
    caller = hu_say_frame(hu_ask_name(ask, above));
    if (outer == slice)
        hu_hint_show(h, "called from %s", caller.t);
    else
        hu_hint_show(h, "it is most of %s, called from %s", name.t, caller.t);
}

hu_ns_per_step hu_scene_node_time(const hu_scene *c, uint8_t in, unsigned classes)
{
    const hu_graph *g = &c->s->graph;
    const int64_t   from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    int64_t         until = from;
    double          sum = 0;

    if (!hu_edit_has_nodes(hu_pricer_facts(c->s->pricer), in, classes))
        return hu_as_mean(0);
    for (size_t i = 0; i < g->n_nodes; i++) { /* in the order in which they began */
        const hu_node *n = &g->node[i];
        const int64_t  start = n->start_ns > until ? n->start_ns : until, seen = n->start_ns + n->seen_ns;
        const int64_t  end = seen < to ? seen : to;

        if (!(n->in & in || 1u << n->class & classes) || (n->lane != g->main_lane && n->call == HU_CALL_NONE) ||
            n->start_ns < from || end <= start)
            continue;
        sum += (double)(end - start);
        until = end;
    }
    return hu_as_mean(sum / (double)c->n_steps);
}

hu_said_amount hu_scene_each(const hu_scene *c, hu_ns_per_step time)
{
    return hu_say_per_step(time, c->has_steps);
}

hu_said_amount hu_scene_share(const hu_scene *c, hu_ns_per_step time)
{
    return hu_say_of_step(time, c->step, c->has_steps);
}

bool hu_scene_is_much(const hu_scene *c, hu_ns_per_step time)
{
    return hu_is_share_of_step(time, HU_LEAST_SHARE, c->step);
}

bool hu_scene_is_inference(const hu_scene *c)
{
    return c->d->health.kinds[HU_KIND_CPU_OP] > 0 && !c->d->parallelism.is_training &&
           c->d->kernels.family[HU_FAMILY_OPTIMIZER].calls == 0;
}

hu_ns_per_step hu_scene_in_steps(const hu_scene *c, int64_t sum_ns)
{
    return hu_spread(hu_as_sum(sum_ns), (int64_t)c->d->steps.n_counted);
}

hu_ns_per_step hu_scene_path_time(const hu_scene *c, hu_class class)
{
    const hu_path *path = &c->s->path;

    return hu_as_mean((double)(path->by_class[class] - path->beside_ns[class]) / (double)c->n_steps);
}

bool hu_gate_never(const hu_scene *c, hu_hint *h)
{
    (void)c;
    (void)h;
    return false;
}

static const struct {
    bool (*gate)(const hu_scene *, hu_hint *);
    const char  *key, *title, *fix, *verify;
    hu_edit_kind edit;
} rows[] = {
#define R(id, gate, key, title, edit, fix, verify) [HU_RULE_##id] = {gate, key, title, fix, verify, edit},
    HU_RULES(R)
#undef R
};

bool hu_rule_gate(hu_rule rule, const hu_scene *scene, hu_hint *out)
{
    *out = (hu_hint){.rule = rule};
    return rows[rule].gate(scene, out);
}

const char *hu_rule_key(hu_rule rule)
{
    return rows[rule].key;
}

const char *hu_rule_title(hu_rule rule)
{
    return rows[rule].title;
}

const char *hu_rule_fix(hu_rule rule)
{
    return rows[rule].fix;
}

const char *hu_rule_verify(hu_rule rule)
{
    return rows[rule].verify;
}

hu_edit_kind hu_rule_edit(hu_rule rule)
{
    return rows[rule].edit;
}
