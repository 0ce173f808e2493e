/* SPDX-License-Identifier: Apache-2.0
 * ras.c - the sentence: which ranks of which communicator are behind, gone or silent. */
#include "render/ras.h"

#include "advise/say.h"

enum { NAMED = 6 };

const char *hu_ras_trust_word(const hu_ras_answer *a)
{
    switch (a->cause) {
    case HU_RAS_CAUSE_DEAD:
    case HU_RAS_CAUSE_ERROR:
        return "high";
    case HU_RAS_CAUSE_BEHIND:
        return a->is_accused ? "medium" : "low";
    case HU_RAS_CAUSE_SILENT:
    case HU_RAS_CAUSE_STATUS:
        return "medium";
    default:
        return a->status->is_cut ? "low" : "medium";
    }
}

static void say_place(hu_out *out, const hu_ras_member *m)
{
    if (m->host.n == 0)
        return;
    hu_out_text(out, " (");
    if (m->gpu.n)
        hu_out_printf(out, "GPU %.*s, ", HU_FMT(m->gpu));
    if (m->rank >= 0 && m->pid >= 0)
        hu_out_printf(out, "process %lld ", (long long)m->pid);
    hu_out_printf(out, "on %.*s)", HU_FMT(m->host));
}

/* "rank 3 (GPU 1, process 77 on 10.0.0.7)", "ranks 3 and 5", "12 ranks", "process 77 (on 10.0.0.7)" */
static void say_who(hu_out *out, const hu_ras_set *s, bool is_first)
{
    const bool   is_process = s->members.n ? s->members.at[0].rank < 0 : false;
    const char  *one = is_process ? "process" : "rank";
    const size_t n = s->members.n < NAMED ? s->members.n : NAMED;

    if (s->members.n == 0) {
        hu_out_printf(out, "%lld %s%s", (long long)s->n, s->kind == HU_RAS_DEAD ? "process" : "rank",
                      s->n == 1                ? ""
                      : s->kind == HU_RAS_DEAD ? "es"
                                               : "s");
        return;
    }
    hu_out_printf(out, "%c%s%s ", is_first ? one[0] - 'a' + 'A' : one[0], one + 1,
                  s->members.n == 1 ? ""
                  : is_process      ? "es"
                                    : "s");
    for (size_t i = 0; i < n; i++) {
        const hu_ras_member *m = &s->members.at[i];

        hu_out_printf(out, "%s%lld",
                      i == 0                  ? ""
                      : i + 1 == s->members.n ? " and "
                                              : ", ",
                      (long long)(m->rank < 0 ? m->pid : m->rank));
        if (s->members.n <= 2)
            say_place(out, m);
    }
    if (n < s->members.n)
        hu_out_printf(out, " and %zu more", s->members.n - n);
}

static void say_comm(const hu_ras_answer *a, hu_out *out)
{
    if (!a->comm)
        return;
    hu_out_text(out, "communicator ");
    if (a->comm->name.n)
        hu_out_printf(out, "%.*s ", HU_FMT(a->comm->name));
    hu_out_printf(out, "(%.*s)", HU_FMT(a->comm->hash));
    if (a->comm->size > 0)
        hu_out_printf(out, " of %lld ranks", (long long)a->comm->size);
}

static const char *has(const hu_ras_set *s, const char *one, const char *many)
{
    return s->n == 1 ? one : many;
}

static void say_behind(const hu_ras_report *r, hu_out *out)
{
    const hu_ras_answer *a = r->answer;

    hu_out_text(out, "In ");
    say_comm(a, out);
    hu_out_text(out, ", ");
    say_who(out, a->odd, false);
    hu_out_printf(out, "%s launched %lld %.*s operations where ", has(a->odd, " has", " have"), (long long)a->odd->count,
                  HU_FMT(a->odd->what));
    say_who(out, a->most, false);
    hu_out_printf(out, "%s launched %lld", has(a->most, " has", " have"), (long long)a->most->count);
    if (a->n_comms > 1)
        hu_out_printf(out, "; ranks of %zu communicators are apart", a->n_comms);
    if (a->cause == HU_RAS_CAUSE_RUNS)
        hu_out_text(out, "; the counts changed between the queries, so the job was running");
    else if (r->n_queries == 1)
        hu_out_text(out, "; a job that runs looks like this, too: query again after a while and pass both files");
    else if (a->is_accused)
        hu_out_text(out, "; that was the same in an earlier query, so the others wait for it");
    else
        hu_out_text(out, "; that was the same in an earlier query, and it is unclear who is to blame");
    if (r->n_queries > 1 && a->apart_ns)
        hu_out_printf(out, " (%s apart)", hu_say_time((double)a->apart_ns).t);
}

/* " in communicator #0-1 (3f) of 8 ranks" */
static void say_in(const hu_ras_answer *a, hu_out *out)
{
    if (!a->comm)
        return;
    hu_out_text(out, " in ");
    say_comm(a, out);
}

static void say(const hu_ras_report *r, hu_out *out)
{
    const hu_ras_answer *a = r->answer;

    switch (a->cause) {
    case HU_RAS_CAUSE_DEAD:
        say_who(out, a->odd, true);
        say_in(a, out);
        hu_out_printf(out, "%s dead: NCCL cannot reach %s any more", has(a->odd, " is", " are"), has(a->odd, "it", "them"));
        break;
    case HU_RAS_CAUSE_ERROR:
        say_who(out, a->odd, true);
        say_in(a, out);
        hu_out_printf(out, " reported an error: %.*s", HU_FMT(a->odd->what));
        break;
    case HU_RAS_CAUSE_STATUS:
        say_who(out, a->odd, true);
        if (hu_str_equal(a->odd->what, HU_STR("NOCOMM"))) {
            hu_out_text(out, has(a->odd, " does not know ", " do not know "));
            say_comm(a, out);
            hu_out_printf(out, ": %s never created it, or destroyed it", has(a->odd, "it", "they"));
            break;
        }
        say_in(a, out);
        hu_out_printf(out, "%s status %.*s, unlike the others", has(a->odd, " has", " have"), HU_FMT(a->odd->what));
        break;
    case HU_RAS_CAUSE_SILENT:
        say_who(out, a->odd, true);
        say_in(a, out);
        hu_out_text(out, " did not answer the query: the process may be dead, stopped, or cut off from the network");
        break;
    case HU_RAS_CAUSE_BEHIND:
    case HU_RAS_CAUSE_RUNS:
        say_behind(r, out);
        break;
    default:
        hu_out_printf(out,
                      "RAS reports no error and no mismatch in %lld communicator%s: all ranks launched the same operations",
                      (long long)a->status->n_comms, hu_plural(a->status->n_comms));
        if (a->status->n_comms == 0)
            hu_out_text(out, ", because there is no communicator");
    }
    if (a->status->is_cut)
        hu_out_text(out, "; the file ends before RAS's last section, so there may be more");
    hu_out_text(out, ".");
}

hu_str hu_ras_sentence(const hu_ras_report *r)
{
    hu_out *out = hu_out_open_memory(r->scratch);
    hu_str  text = HU_STR("");

    if (!out)
        return text;
    say(r, out);
    return hu_out_take(out, &text, NULL) < 0 ? HU_STR("") : text;
}
