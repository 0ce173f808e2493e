/* SPDX-License-Identifier: Apache-2.0
 * diff_json.c - `holdup diff --json`: all rows, and null where something is not compared. */
#include <math.h>

#include "base/json_out.h"
#include "render/diff.h"

static void write_side(hu_json_out *j, const char *key, const hu_diff_report *r, int k)
{
    const hu_job    *job = r->x->job[k];
    const hu_digest *d = r->x->d[k];

    hu_json_open(j, key, '{');
    hu_json_str(j, "name", r->name[k]);
    hu_json_int(j, "ranks", (int64_t)job->n);
    hu_json_int(j, "rank", hu_digest_rank_of(job->digests, job->verdict.rank));
    hu_json_str(j, "file", d->info.file);
    hu_json_str(j, "tool", d->info.tool);
    hu_json_str(j, "device", d->device);
    hu_json_int(j, "steps", hu_digest_step_count(d));
    hu_json_ns(j, "step_ns", hu_digest_step_count(d) ? hu_digest_step_time(d)->step_ns : (double)NAN);
    hu_json_ns(j, "stddev_ns", hu_digest_step_count(d) ? d->steps.duration.stddev : (double)NAN);
    hu_json_str(j, "verdict", hu_str_of(job->verdict.text));
    hu_json_str(j, "confidence", hu_str_of(hu_confidence_name(job->verdict.confidence)));
    hu_json_close(j, '}');
}

static void write_obstacles(hu_json_out *j, const hu_difference *x)
{
    hu_json_open(j, "not_compared", '[');
    for (size_t i = 0; i < x->n_obstacles; i++) {
        if (!x->obstacle[i].parts)
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_open(j, "parts", '[');
        for (hu_difference_part p = 0; p < HU_DIFFERENCE_COUNT; p++)
            if (x->obstacle[i].parts >> p & 1u)
                hu_json_str(j, NULL, hu_str_of(hu_difference_part_key(p)));
        hu_json_close(j, ']');
        hu_json_str(j, "why", hu_str_of(x->obstacle[i].why));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_open(j, "notes", '[');
    for (size_t i = 0; i < x->n_obstacles; i++)
        if (!x->obstacle[i].parts)
            hu_json_str(j, NULL, hu_str_of(x->obstacle[i].why));
    hu_json_close(j, ']');
}

static void write_times(hu_json_out *j, double a, double b)
{
    hu_json_ns(j, "a_ns", a);
    hu_json_ns(j, "b_ns", b);
    hu_json_ns(j, "diff_ns", b - a);
}

static void write_step(hu_json_out *j, const hu_difference *x)
{
    hu_json_open(j, "step", '{');
    write_times(j, x->step_ns[0], x->step_ns[1]);
    hu_json_fixed(j, "diff_pct", 100 * (x->step_ns[1] - x->step_ns[0]) / x->step_ns[0], 4);
    if (x->spread_is_known)
        hu_json_bool(j, "is_clear", x->is_clear);
    else
        hu_json_null(j, "is_clear");
    hu_json_close(j, '}');
    hu_json_open(j, "classes", '[');
    for (size_t i = 0; i < x->n_classes; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "class", hu_str_of(x->class[i].key));
        write_times(j, x->class[i].a_ns, x->class[i].b_ns);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_names(hu_json_out *j, const char *key, const hu_name_changes *names)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < names->n; i++) {
        const hu_name_change *c = &names->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", c->name);
        write_times(j, c->a_ns, c->b_ns);
        hu_json_fixed(j, "a_calls", c->a_calls, 4);
        hu_json_fixed(j, "b_calls", c->b_calls, 4);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_findings(hu_json_out *j, const hu_difference *x)
{
    hu_json_open(j, "findings", '[');
    for (size_t i = 0; i < x->n_findings; i++) {
        const hu_finding_change *c = &x->finding[i];
        const hu_rule            rule = (c->a ? c->a : c->b)->rule;

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "id", hu_str_of(hu_rule_key(rule)));
        hu_json_str(j, "title", hu_str_of(hu_rule_title(rule)));
        hu_json_str(j, "in", hu_str_of(c->a && c->b ? "both" : c->a ? "a" : "b"));
        hu_json_fixed(j, "a_gain_pct", c->a ? c->a->gain_pct : (double)NAN, 4);
        hu_json_fixed(j, "b_gain_pct", c->b ? c->b->gain_pct : (double)NAN, 4);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_bytes(hu_json_out *j, const hu_bytes_change *c)
{
    hu_json_fixed(j, "a_bytes", c->a_bytes, 0);
    hu_json_fixed(j, "b_bytes", c->b_bytes, 0);
    hu_json_fixed(j, "diff_bytes", c->b_bytes - c->a_bytes, 0);
    hu_json_close(j, '}');
}

static void write_memory(hu_json_out *j, const hu_memory_difference *m)
{
    hu_json_open(j, "memory", '[');
    for (size_t i = 0; i < m->sums.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "pool", m->sums.at[i].pool);
        hu_json_str(j, "what", hu_str_of(m->sums.at[i].key));
        write_bytes(j, &m->sums.at[i]);
    }
    hu_json_close(j, ']');
    hu_json_open(j, "holders", '[');
    for (size_t i = 0; i < m->holders.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", m->holders.at[i].name);
        write_bytes(j, &m->holders.at[i]);
    }
    hu_json_close(j, ']');
}

void hu_diff_json(const hu_diff_report *r, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_unread(&j, "unread", &r->unread);
    hu_json_unread(&j, "partial", &r->partial);
    write_side(&j, "a", r, 0);
    write_side(&j, "b", r, 1);
    write_obstacles(&j, r->x);
    write_step(&j, r->x);
    hu_json_str(&j, "names_per", hu_str_of(r->x->is_per_step ? "step" : "call"));
    write_names(&j, "operators", &r->x->operators);
    write_names(&j, "kernels", &r->x->kernels);
    write_memory(&j, &r->x->memory);
    write_findings(&j, r->x);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
