/* SPDX-License-Identifier: Apache-2.0
 * ras.c - what RAS says of a job, for programs (docs/formats/nccl-ras.md). */
#include "render/ras.h"

#include "base/json_out.h"

static const char *const kind_words[] = {[HU_RAS_DEAD] = "dead",
                                         [HU_RAS_SILENT] = "no-answer",
                                         [HU_RAS_ERROR] = "error",
                                         [HU_RAS_STATUS] = "status",
                                         [HU_RAS_COUNT] = "count"};

static void write_members(hu_json_out *j, const hu_ras_set *s)
{
    hu_json_open(j, "members", '[');
    for (size_t i = 0; i < s->members.n; i++) {
        const hu_ras_member *m = &s->members.at[i];

        hu_json_open(j, NULL, '{');
        if (m->rank >= 0)
            hu_json_int(j, "rank", m->rank);
        else
            hu_json_null(j, "rank");
        if (m->pid >= 0)
            hu_json_int(j, "pid", m->pid);
        else
            hu_json_null(j, "pid");
        hu_json_str(j, "host", m->host);
        hu_json_str(j, "gpu", m->gpu);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_comm(hu_json_out *j, const hu_ras_comm *c)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", c->name);
    hu_json_str(j, "hash", c->hash);
    if (c->size >= 0)
        hu_json_int(j, "size", c->size);
    else
        hu_json_null(j, "size");
    hu_json_open(j, "sets", '[');
    for (size_t i = 0; i < c->sets.n; i++) {
        const hu_ras_set *s = &c->sets.at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "kind", hu_str_of(kind_words[s->kind]));
        hu_json_str(j, "what", s->what);
        if (s->kind == HU_RAS_COUNT)
            hu_json_int(j, "count", s->count);
        else
            hu_json_null(j, "count");
        hu_json_int(j, "n", s->n);
        write_members(j, s);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_culprits(hu_json_out *j, const hu_ras_answer *a, const char *key, bool is_process)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; a->is_accused && i < a->odd->members.n; i++)
        if ((a->odd->members.at[i].rank < 0) == is_process)
            hu_json_int(j, NULL, is_process ? a->odd->members.at[i].pid : a->odd->members.at[i].rank);
    hu_json_close(j, ']');
}

void hu_ras_json(const hu_ras_report *r, hu_out *out)
{
    const hu_ras_answer *a = r->answer;
    hu_json_out          j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("nccl-ras"));
    hu_json_str(&j, "cause", hu_str_of(hu_ras_cause_word(a->cause)));
    hu_json_str(&j, "text", hu_ras_sentence(r));
    hu_json_str(&j, "confidence", hu_str_of(hu_ras_trust_word(a)));
    write_culprits(&j, a, "culprits", false);
    write_culprits(&j, a, "processes", true);
    if (a->comm)
        hu_json_str(&j, "communicator", a->comm->hash);
    else
        hu_json_null(&j, "communicator");
    hu_json_str(&j, "version", a->status->version);
    hu_json_int(&j, "queries", (int64_t)r->n_queries);
    hu_json_int(&j, "timeouts", a->status->timeouts);
    hu_json_bool(&j, "is_cut", a->status->is_cut);
    hu_json_int(&j, "communicators_count", a->status->n_comms);
    hu_json_open(&j, "communicators", '[');
    if (a->status->job.sets.n)
        write_comm(&j, &a->status->job);
    for (size_t i = 0; i < a->status->comms.n; i++)
        write_comm(&j, &a->status->comms.at[i]);
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
