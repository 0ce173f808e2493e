/* SPDX-License-Identifier: Apache-2.0
 * node_difference.c - what changed between the samples of two runs, for programs (docs/diff.md). */
#include "render/node_difference.h"

#include <math.h>

#include "base/json_out.h"

static const char *const keys[] = {
#define C(id, key, words, unit, is_share) key,
    HU_NODE_CHANGES(C)
#undef C
};

static void put_changes(hu_json_out *j, const char *key, const hu_node_change of[HU_NODE_CHANGE_KINDS])
{
    hu_json_open(j, key, '[');
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++) {
        const hu_node_change *c = &of[k];

        if (!hu_node_change_is_of_both(c))
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", hu_str_of(keys[k]));
        hu_json_fixed(j, "a", c->a, 4);
        hu_json_fixed(j, "b", c->b, 4);
        hu_json_fixed(j, "diff", c->b - c->a, 4);
        hu_json_fixed(j, "diff_pct", c->a > 0 ? 100 * (c->b - c->a) / c->a : (double)NAN, 4);
        hu_json_fixed(j, "standard_error", c->error, 4);
        hu_json_int(j, "a_samples", (int64_t)c->n[0]);
        hu_json_int(j, "b_samples", (int64_t)c->n[1]);
        if (isnan(c->error))
            hu_json_null(j, "is_clear");
        else
            hu_json_bool(j, "is_clear", c->is_clear);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void put_gpu(hu_json_out *j, const hu_node_gpu_change *g)
{
    hu_json_open(j, NULL, '{');
    if (g->a->gpu->is_unnumbered)
        hu_json_null(j, "number");
    else
        hu_json_int(j, "number", g->a->gpu->number);
    hu_json_str(j, "host", g->a->gpu->host);
    hu_json_str(j, "name", g->a->gpu->name);
    hu_json_str(j, "a_uuid", g->a->gpu->uuid);
    hu_json_str(j, "b_uuid", g->b->gpu->uuid);
    put_changes(j, "changes", g->of);
    hu_json_close(j, '}');
}

void hu_node_difference_json(const hu_node_difference *x, const hu_node_report run[2], const hu_str name[2], hu_out *out)
{
    hu_json_out  j = {.out = out, .is_empty = true};
    char         line[HU_NODE_DIFFERENCE_LINE], notes[HU_NODE_DIFFERENCE_NOTES][HU_NODE_DIFFERENCE_NOTE];
    const size_t n_notes = hu_node_difference_notes(x, notes);

    hu_node_difference_words(x, line);
    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_str(&j, "kind", HU_STR("node_difference"));
    hu_json_str(&j, "a", name[0]);
    hu_json_str(&j, "b", name[1]);
    hu_json_str(&j, "words", hu_str_of(line));
    hu_json_int(&j, "only_in_a", (int64_t)x->only[0]);
    hu_json_int(&j, "only_in_b", (int64_t)x->only[1]);
    hu_json_open(&j, "notes", '[');
    for (size_t i = 0; i < n_notes; i++)
        hu_json_str(&j, NULL, hu_str_of(notes[i]));
    hu_json_close(&j, ']');
    if (x->has_all)
        put_changes(&j, "all", x->all);
    else
        hu_json_null(&j, "all");
    hu_json_open(&j, "gpus", '[');
    for (size_t i = 0; i < x->n; i++)
        put_gpu(&j, &x->at[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "troubles", '[');
    for (hu_node_says kind = 0; kind < HU_NODE_SAYS_KINDS; kind++) {
        size_t      of, i;
        const char *words = hu_node_difference_trouble(run, kind, &of, &i);

        if (!words)
            continue;
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "id", hu_str_of(hu_node_trouble_word(kind)));
        hu_json_str(&j, "in", hu_str_of(*words == 'b' ? "both" : *words == 'g' ? "a" : "b"));
        hu_json_str(&j, "words", hu_node_trouble_sentence(&run[of], i));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}
