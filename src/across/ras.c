/* SPDX-License-Identifier: Apache-2.0
 * ras.c - the worst that RAS says, and of whom.
 *
 * Ranks of a job that runs have launched different numbers of operations at any moment, so one query proves no hang: only
 * the same counts in a later one do.
 */
#include "across/ras.h"

const char *hu_ras_cause_word(hu_ras_cause cause)
{
    static const char *const words[] = {
#define C(id, word) word,
        HU_RAS_CAUSES(C)
#undef C
    };

    return words[cause];
}

static const hu_ras_set *set_of(const hu_ras_comm *c, hu_ras_kind kind)
{
    for (size_t i = 0; i < c->sets.n; i++)
        if (c->sets.at[i].kind == kind)
            return &c->sets.at[i];
    return NULL;
}

/* Of the statuses, the one that the fewest ranks have and that is not the usual one. */
static const hu_ras_set *odd_status(const hu_ras_comm *c)
{
    const hu_ras_set *odd = NULL;

    for (size_t i = 0; i < c->sets.n; i++) {
        const hu_ras_set *s = &c->sets.at[i];

        if (s->kind == HU_RAS_STATUS && !hu_str_equal(s->what, HU_STR("RUNNING")) && (!odd || s->n < odd->n))
            odd = s;
    }
    return odd;
}

/* Of the first operation whose counts differ, who launched least and who most; false: they do not differ. */
static bool find_behind(const hu_ras_comm *c, const hu_ras_set **least, const hu_ras_set **most)
{
    *least = *most = NULL;
    for (size_t i = 0; i < c->sets.n; i++) {
        const hu_ras_set *s = &c->sets.at[i];

        if (s->kind != HU_RAS_COUNT || (*least && !hu_str_equal(s->what, (*least)->what)))
            continue;
        if (!*least || s->count < (*least)->count)
            *least = s;
        if (!*most || s->count > (*most)->count)
            *most = s;
    }
    return *least && (*least)->count < (*most)->count;
}

static const hu_ras_set *find(const hu_ras_comm *c, hu_ras_cause cause, const hu_ras_set **most)
{
    const hu_ras_set *odd = NULL;

    *most = NULL;
    switch (cause) {
    case HU_RAS_CAUSE_DEAD:
        return set_of(c, HU_RAS_DEAD);
    case HU_RAS_CAUSE_ERROR:
        return set_of(c, HU_RAS_ERROR);
    case HU_RAS_CAUSE_STATUS:
        return odd_status(c);
    case HU_RAS_CAUSE_SILENT:
        return set_of(c, HU_RAS_SILENT);
    case HU_RAS_CAUSE_BEHIND:
        return find_behind(c, &odd, most) ? odd : NULL;
    default:
        return NULL;
    }
}

static const hu_ras_comm *same_comm(const hu_ras_status *s, const hu_ras_comm *c)
{
    for (size_t i = 0; i < s->comms.n; i++)
        if (hu_str_equal(s->comms.at[i].hash, c->hash))
            return &s->comms.at[i];
    return NULL;
}

/* Are the counts of this operation what they were in an earlier query?  Ranks are compared by how many have which count. */
static bool has_moved(const hu_ras_status *before, const hu_ras_comm *c, hu_str what)
{
    const hu_ras_comm *old = same_comm(before, c);
    size_t             n = 0, same = 0, n_old = 0;

    for (size_t i = 0; old && i < old->sets.n; i++)
        n_old += old->sets.at[i].kind == HU_RAS_COUNT && hu_str_equal(old->sets.at[i].what, what);
    for (size_t i = 0; i < c->sets.n; i++) {
        const hu_ras_set *s = &c->sets.at[i];

        if (s->kind != HU_RAS_COUNT || !hu_str_equal(s->what, what))
            continue;
        n++;
        for (size_t k = 0; old && k < old->sets.n; k++) {
            const hu_ras_set *o = &old->sets.at[k];

            same += o->kind == HU_RAS_COUNT && hu_str_equal(o->what, what) && o->count == s->count && o->n == s->n;
        }
    }
    return n != same || n != n_old;
}

/* Looks at the job, then at its communicators, for one cause. */
static bool look(const hu_ras_status *s, hu_ras_cause cause, hu_ras_answer *out)
{
    const hu_ras_set *most;

    for (size_t i = 0; i < s->comms.n; i++) {
        const hu_ras_set *odd = find(&s->comms.at[i], cause, &most);

        out->n_comms += odd != NULL;
        if (odd && (!out->odd || (odd->n < out->odd->n))) {
            out->odd = odd;
            out->most = most;
            out->comm = &s->comms.at[i];
        }
    }
    if (cause == HU_RAS_CAUSE_DEAD || (cause == HU_RAS_CAUSE_SILENT && !out->odd)) { /* of all else a job has none */
        const hu_ras_set *of_job = find(&s->job, cause, &most);

        if (of_job) {
            out->odd = of_job;
            out->comm = NULL;
        }
    }
    return out->odd != NULL;
}

void hu_ras_measure(const hu_ras_status *status, size_t n, hu_ras_answer *out)
{
    const hu_ras_status *last = &status[n - 1];

    *out = (hu_ras_answer){.cause = HU_RAS_CAUSE_NOTHING, .status = last};
    if (n > 1 && status[0].written_ns && last->written_ns > status[0].written_ns)
        out->apart_ns = last->written_ns - status[0].written_ns;
    for (hu_ras_cause cause = HU_RAS_CAUSE_DEAD; cause <= HU_RAS_CAUSE_BEHIND; cause++)
        if (look(last, cause, out)) {
            out->cause = cause;
            break;
        }
    out->is_accused = out->odd != NULL;
    if (out->cause != HU_RAS_CAUSE_BEHIND)
        return;
    out->is_accused = n > 1 && out->odd->n < out->most->n;
    if (n > 1 && has_moved(&status[0], out->comm, out->odd->what)) {
        out->cause = HU_RAS_CAUSE_RUNS;
        out->is_accused = false;
    }
}
