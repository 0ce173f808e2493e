/* SPDX-License-Identifier: Apache-2.0
 * report_json.c - `holdup doctor --json` (docs/doctor.schema.json) and `--list --json`. */
#include "base/json_out.h"
#include "doctor/diagnosis.h"

static void put_text(hu_json_out *j, const char *key, const char *text)
{
    if (text && text[0])
        hu_json_str(j, key, hu_str_of(text));
    else
        hu_json_null(j, key);
}

static void put_when(hu_json_out *j, const hu_check *c)
{
    hu_json_open(j, "when", '[');
    if (c->when & HU_CHECK_OF_NODE)
        hu_json_str(j, NULL, HU_STR("node"));
    if (c->when & HU_CHECK_OF_JOB)
        hu_json_str(j, NULL, HU_STR("job"));
    if (c->when & HU_CHECK_IN_PROLOG)
        hu_json_str(j, NULL, HU_STR("prolog"));
    hu_json_close(j, ']');
}

static void put_check(hu_json_out *j, const hu_check *c, const char *topic)
{
    hu_json_str(j, "id", hu_str_of(c->id));
    hu_json_str(j, "topic", hu_str_of(topic));
    hu_json_str(j, "title", hu_str_of(c->title));
    hu_json_str(j, "why", hu_str_of(c->why));
}

static void put_examined(hu_json_out *j, const hu_examined *x)
{
    hu_json_open(j, NULL, '{');
    put_check(j, x->check, x->topic);
    hu_json_str(j, "verdict", hu_str_of(hu_verdict_name(x->verdict)));
    hu_json_open(j, "answers", '[');
    for (size_t i = 0; i < x->answers.n; i++) {
        const hu_answer *a = &x->answers.at[i];
        const bool       is_bad = a->verdict >= HU_VERDICT_NOTE;

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "verdict", hu_str_of(hu_verdict_name(a->verdict)));
        put_text(j, "subject", a->subject);
        hu_json_str(j, "evidence", hu_str_of(a->text));
        put_text(j, "fix", is_bad ? a->fix : NULL);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_diagnosis_write_json(const hu_diagnosis *d, hu_out *out)
{
    static const char *const counts[HU_VERDICT_COUNT] = {
        [HU_VERDICT_NOT_CHECKED] = "not_checked",
        [HU_VERDICT_NONE] = "does_not_apply",
        [HU_VERDICT_OK] = "ok",
        [HU_VERDICT_NOTE] = "notes",
        [HU_VERDICT_WARNING] = "warnings",
        [HU_VERDICT_FAILURE] = "failures",
    };
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_str(&j, "holdup_version", HU_STR(HU_VERSION));
    hu_json_str(&j, "scope", hu_str_of(d->scope));
    put_text(&j, "host", d->host);
    put_text(&j, "time", d->time);
    put_text(&j, "root", d->root);
    hu_json_open(&j, "counts", '{');
    for (int v = HU_VERDICT_FAILURE; v >= 0; v--)
        hu_json_int(&j, counts[v], (int64_t)d->counts[v]);
    hu_json_close(&j, '}');
    hu_json_open(&j, "checks", '[');
    for (size_t i = 0; i < d->checks.n; i++)
        put_examined(&j, &d->checks.at[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "values", '{');
    for (size_t i = 0; i < d->values.n; i++)
        hu_json_str(&j, d->values.at[i].key, hu_str_of(d->values.at[i].value));
    hu_json_close(&j, '}');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}

void hu_checks_write_json(hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '[');
    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++)
        for (const hu_check *c = t->checks; c->id; c++) {
            hu_json_open(&j, NULL, '{');
            put_check(&j, c, t->name);
            put_text(&j, "fix", c->fix);
            put_when(&j, c);
            hu_json_close(&j, '}');
        }
    hu_json_close(&j, ']');
    hu_out_text(out, "\n");
}
