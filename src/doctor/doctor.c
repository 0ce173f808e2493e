/* SPDX-License-Identifier: Apache-2.0
 * doctor.c - which checks are asked, and what they answered, in the order of the report. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/looker.h"

/* Hardware first, then what the system does with it, then the job's own. */
const hu_topic_of_checks hu_doctor_topics[] = {
    {"driver", hu_checks_driver},
    {"gpu", hu_checks_gpu},
    {"links", hu_checks_links},
    {"processor", hu_checks_processor},
    {"memory", hu_checks_memory},
    {"storage", hu_checks_storage},
    {"network", hu_checks_network},
    {"clock", hu_checks_clock},
    {"rights", hu_checks_rights},
    {"environment", hu_checks_environment},
    {"libraries", hu_checks_libraries},
    {"values", hu_checks_values},
    {NULL, NULL},
};

const char *hu_verdict_name(hu_verdict_of_check verdict)
{
    static const char *const names[] = {
        [HU_VERDICT_NOT_CHECKED] = "not checked",
        [HU_VERDICT_NONE] = "does not apply",
        [HU_VERDICT_OK] = "ok",
        [HU_VERDICT_NOTE] = "note",
        [HU_VERDICT_WARNING] = "warning",
        [HU_VERDICT_FAILURE] = "failure",
    };

    return names[verdict];
}

static bool is_in(const char *const *names, size_t n, const char *topic, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], id) == 0 || strcmp(names[i], topic) == 0)
            return true;
    return false;
}

bool hu_doctor_has(const char *name)
{
    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++) {
        if (strcmp(t->name, name) == 0)
            return true;
        for (const hu_check *c = t->checks; c->id; c++)
            if (strcmp(c->id, name) == 0)
                return true;
    }
    return false;
}

/* A check that --only names is asked whatever else: who names it wants to know. */
static bool is_asked(const hu_doctor_how *how, const char *topic, const hu_check *c)
{
    if (is_in(how->skip, how->n_skip, topic, c->id))
        return false;
    return how->n_only ? is_in(how->only, how->n_only, topic, c->id) : (c->when & how->when) != 0;
}

/* -- what the looks say ------------------------------------------------------------------------------------------------ */

typedef struct {
    hu_arena     *arena;
    hu_diagnosis *d;
    bool          has_failed;
} ears;

static const char *keep(ears *e, const char *text)
{
    const char *copy = hu_arena_copy(e->arena, hu_str_of(text)).p;

    e->has_failed |= !copy;
    return copy ? copy : "";
}

static int rank(hu_verdict_of_check v)
{
    static const int ranks[] = {
        [HU_VERDICT_NONE] = 0, [HU_VERDICT_OK] = 1,      [HU_VERDICT_NOT_CHECKED] = 2,
        [HU_VERDICT_NOTE] = 3, [HU_VERDICT_WARNING] = 4, [HU_VERDICT_FAILURE] = 5,
    };

    return ranks[v];
}

static void on_answer(void *context, size_t check, hu_verdict_of_check verdict, const char *subject, const char *fix,
                      const char *text)
{
    ears           *e = context;
    hu_examined    *x = &e->d->checks.at[check];
    const hu_answer a = {
        .verdict = verdict,
        .subject = subject ? keep(e, subject) : NULL,
        .fix = fix             ? keep(e, fix)
               : x->check->fix ? x->check->fix
                               : "",
        .text = keep(e, text),
    };

    if (x->answers.n == 0 || rank(verdict) > rank(x->verdict))
        x->verdict = verdict;
    e->has_failed |= !hu_vec_push(e->arena, &x->answers, a);
}

static void on_value(void *context, const char *key, const char *value)
{
    ears               *e = context;
    const hu_node_value v = {keep(e, key), keep(e, value)};

    e->has_failed |= !hu_vec_push(e->arena, &e->d->values, v);
}

static void on_about(void *context, const char *host, const char *time)
{
    ears *e = context;

    e->d->host = keep(e, host);
    e->d->time = keep(e, time);
}

static int by_key(const void *a, const void *b)
{
    return strverscmp(((const hu_node_value *)a)->key, ((const hu_node_value *)b)->key);
}

/* Of values that two looks told, the first one stays. */
static void sort_values(hu_diagnosis *d)
{
    size_t n = 0;

    if (d->values.n)
        qsort(d->values.at, d->values.n, sizeof *d->values.at, by_key);
    for (size_t i = 0; i < d->values.n; i++)
        if (n == 0 || strcmp(d->values.at[n - 1].key, d->values.at[i].key) != 0)
            d->values.at[n++] = d->values.at[i];
    d->values.n = n;
}

int hu_diagnosis_make(const hu_doctor_how *how, hu_arena *arena, hu_diagnosis *out, hu_error *err)
{
    hu_diagnosis d = {.host = "", .time = "", .root = how->root};
    ears         e = {.arena = arena, .d = &d};
    HU_VEC(const hu_check *) checks = {0};
    const int root = open(how->root ? how->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return hu_fail(err, HU_EIO, how->root, HU_NO_OFFSET, "%s; --root needs a folder with the node's /proc and /sys",
                       strerror(errno));
    close(root);
    d.scope = how->when & HU_CHECK_IN_PROLOG ? "prolog" : how->when & HU_CHECK_OF_JOB ? "job" : "node";
    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++)
        for (const hu_check *c = t->checks; c->id; c++)
            if (is_asked(how, t->name, c) && (!hu_vec_push(arena, &checks, c) ||
                                              !hu_vec_push(arena, &d.checks, ((hu_examined){.check = c, .topic = t->name}))))
                return hu_fail_memory(err);
    hu_looker_ask(how, checks.at, checks.n,
                  &(hu_looker_ears){.answer = on_answer, .value = on_value, .about = on_about, .context = &e});
    if (e.has_failed)
        return hu_fail_memory(err);
    for (size_t i = 0; i < d.checks.n; i++)
        d.counts[d.checks.at[i].verdict]++;
    sort_values(&d);
    *out = d;
    return 0;
}
