/* SPDX-License-Identifier: Apache-2.0
 * where.c - where the time of a step goes, and of which rank. */
#include "render/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "advise/say.h"
#include "advise/say_steps.h"
#include "across/roster.h"
#include "base/number.h"
#include "base/units.h"

enum { BAR_CELLS = 24, LABEL_WIDTH = 16, MOST_LINES = 16 };

static void bar(hu_text_page *p, const char *label, double ns, double spread_ns, double whole_ns)
{
    char   text[HU_UNIT_BYTES];
    double share = whole_ns > 0 ? ns / whole_ns : 0;
    size_t cells = (size_t)(share * BAR_CELLS + 0.5);

    hu_out_text(p->out, "  ");
    hu_text_left(p, hu_str_of(label), LABEL_WIDTH);
    hu_units_time(text, ns);
    hu_text_right(p, text, 10);
    if (isnan(spread_ns)) {
        hu_text_spaces(p, 12);
    } else {
        char with_sign[HU_UNIT_BYTES + 8];

        hu_units_time(text, spread_ns);
        memcpy(with_sign, "± ", sizeof "± ");
        memcpy(with_sign + sizeof "± " - 1, text, strlen(text) + 1);
        hu_text_right(p, with_sign, 12);
    }
    hu_units_percent(text, share);
    hu_text_right(p, text, 8);
    hu_out_text(p->out, cells ? " %  " : " %");
    hu_text_style(p, "36");
    for (size_t i = 0; i < cells && i < BAR_CELLS; i++)
        hu_out_text(p->out, "█");
    hu_text_style(p, "0");
    hu_out_text(p->out, "\n");
}

static void where_from(hu_text_page *p, const hu_digest *d)
{
    const hu_steps      *s = &d->steps;
    const hu_steps_words words = hu_say_period(s), phases = hu_say_phases(s), open = hu_say_open(s),
                         pauses = hu_say_pauses(s);

    switch (s->source) {
    case HU_STEPS_PROFILER:
        hu_out_printf(p->out, "   mean of %zu ProfilerStep%s\n", s->n_counted, hu_plural((int64_t)s->n_counted));
        break;
    case HU_STEPS_ANNOTATION:
        if (s->is_engine) {
            hu_out_printf(p->out, "   mean of %zu step%s of a serving engine\n", s->n_counted,
                          hu_plural((int64_t)s->n_counted));
            break;
        }
        hu_out_printf(p->out, "   mean of %zu step%s, each from one \"", s->n_counted, hu_plural((int64_t)s->n_counted));
        hu_units_clip(p->out, s->what, 24);
        hu_out_text(p->out, "\" to the next\n");
        break;
    case HU_STEPS_STRUCTURE:
        hu_out_printf(p->out, "   mean of %zu steps inferred from repeating work (%d %% match)\n", s->n_counted,
                      (int)(100 * s->confidence));
        break;
    case HU_STEPS_NONE:
        hu_out_text(p->out, "   the whole capture: no steps found\n");
        break;
    }
    if (pauses.t[0])
        hu_text_paragraph(p, pauses.t, 2);
    if (open.t[0])
        hu_text_paragraph(p, open.t, 2);
    if (words.t[0])
        hu_text_paragraph(p, words.t, 2);
    if (phases.t[0])
        hu_text_paragraph(p, phases.t, 2);
}

/* The main thread by what it waits for, each instant once. */
static void host_bars(hu_text_page *p, const hu_host_time *t)
{
    /* clang-format off */
    static const char *const labels[HU_STATE_COUNT] = {
        [HU_HOST_FILE_READ] = "reads files", [HU_HOST_FILE_WRITE] = "writes files", [HU_HOST_FILE_META] = "looks up files",
        [HU_HOST_FSYNC] = "waits for disk", [HU_HOST_NETWORK] = "network", [HU_HOST_PIPE] = "waits on a pipe",
        [HU_HOST_LOCK] = "waits for locks", [HU_HOST_SLEEP] = "sleeps", [HU_HOST_POLL] = "polls",
        [HU_HOST_WAIT] = "other threads", [HU_HOST_CHILD] = "child processes", [HU_HOST_OTHER] = "other calls",
        [HU_STATE_COMM] = "communicates", [HU_STATE_STARVED] = "waits for a CPU", [HU_STATE_RUNS] = "runs",
        [HU_STATE_TEAM] = "OpenMP barriers", [HU_STATE_BLOCKED] = "waits unrecorded", [HU_STATE_UNKNOWN] = "not known",
    };
    /* clang-format on */
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)(t->process.n < 40 ? t->process.n : 40), t->process.n ? t->process.p : "");
    hu_out_printf(p->out, "\n  the main thread%s", name[0] ? " of " : "");
    hu_units_clip(p->out, hu_str_of(name), 40);
    hu_out_text(p->out, "\n");
    bar(p, t->source == HU_STATES_NONE ? "in no known call" : labels[HU_STATE_RUNS], t->state_ns[HU_STATE_RUNS], (double)NAN,
        t->step_ns);
    for (unsigned s = 0; s < HU_STATE_RUNS; s++)
        if (t->state_ns[s] > 0)
            bar(p, labels[s], t->state_ns[s], (double)NAN, t->step_ns);
}

void hu_text_where(hu_text_page *p, const hu_digest *d)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const hu_step_time *spread = &d->breakdown.spread;
    const double        none = d->steps.n_counted > 1 ? 1 : (double)NAN;

    hu_text_heading(p, "WHERE");
    if (!t && d->steps.is_cut) {
        hu_out_printf(p->out, "\n  not given: the file may be cut before the GPU operations of %s are complete\n",
                      hu_steps_cut_words(&d->steps));
        return;
    }
    where_from(p, d);
    if (!t)
        return;
    if (d->breakdown.has_device) {
        bar(p, "compute", t->compute_ns, spread->compute_ns * none, t->step_ns);
        bar(p, "exposed comm", t->exposed_comm_ns, spread->exposed_comm_ns * none, t->step_ns);
        bar(p, "exposed copies", t->exposed_copy_ns, spread->exposed_copy_ns * none, t->step_ns);
        bar(p, "idle", t->idle_ns, spread->idle_ns * none, t->step_ns);
        hu_out_text(p->out, "\n  with the host: each instant counts once, GPU first\n");
    }
    for (hu_role r = 0; (d->breakdown.has_device || !d->host_time.is_recorded) && r < HU_ROLE_COUNT; r++)
        if (t->role_ns[r] > 0 || (r == HU_ROLE_DATA_LOADER && !d->breakdown.has_device))
            bar(p, hu_role_label(r), t->role_ns[r], spread->role_ns[r] * none, t->step_ns);
    if ((d->breakdown.has_device || !d->host_time.is_recorded) && t->wait_ns > 0)
        bar(p, "  waiting", t->wait_ns, spread->wait_ns * none, t->step_ns);
    if ((d->breakdown.has_device || !d->host_time.is_recorded) && t->unknown_ns > 0)
        bar(p, "  unknown kinds", t->unknown_ns, spread->unknown_ns * none, t->step_ns);
    if (d->host_time.is_recorded)
        host_bars(p, &d->host_time);
}

/* "55 % for rank 0 (host: operators, +2.05 ms)" */
static void say_straggler(const hu_text_page *p, const hu_straggler *s, char *out, size_t room)
{
    const int64_t rank = p->r->job->digests[s->late.digest]->info.rank;
    size_t        n = (size_t)snprintf(out, room, "%s for rank %lld", hu_say_pct(s->late.share_pct).t,
                                       (long long)(rank >= 0 ? rank : (int64_t)s->late.digest));

    if (s->cause < HU_CLASS_COUNT && n < room)
        snprintf(out + n, room - n, " (%s, +%s)", hu_class_words(s->cause), hu_say_time(s->cause_step_ns).t);
}

/* Calls that might be one collective, or might not. */
static void write_rejected(hu_text_page *p, const hu_rendezvous *r)
{
    char line[512];

    snprintf(line, sizeof line,
             "%s collective%s cannot be matched: no process group is recorded, and calls of the same order end %s apart. "
             "Record with a PyTorch that writes \"Process Group Name\" and \"Seq\" into each collective.",
             hu_say_count(r->rejected).t, hu_plural(r->rejected), hu_say_time(r->rejected_ns).t);
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, line, 2);
}

/* Below the table of ranks: who is waited for, by how much, and how far clocks agree. */
static void write_rendezvous(hu_text_page *p)
{
    enum { NAMED = 3, LEAST_RESIDUAL_NS = 10 };
    const hu_rendezvous *r = p->r->job->rendezvous;
    const hu_stragglers *s = &p->r->job->stragglers;
    const double         apart_ns = r && r->by_order ? r->order_ns : r ? r->clocks.residual_ns : (double)NAN;
    char                 line[1024], text[256];
    size_t               n;

    if (!r || (r->matched == 0 && r->rejected == 0))
        return;
    if (r->rejected)
        write_rejected(p, r);
    if (r->matched == 0)
        return;
    n = (size_t)snprintf(line, sizeof line, "%s collective%s matched", hu_say_count(r->matched).t, hu_plural(r->matched));
    if (r->by_order)
        n += (size_t)snprintf(line + n, sizeof line - n, ", %s by order alone (no process group recorded)",
                              r->by_order == r->matched ? "all" : hu_say_count(r->by_order).t);
    if (r->unmatched)
        n += (size_t)snprintf(line + n, sizeof line - n, " (%s call%s unmatched)", hu_say_count(r->unmatched).t,
                              hu_plural(r->unmatched));
    if (!isnan(apart_ns))
        n += (size_t)snprintf(line + n, sizeof line - n, "; their ends agree %s%s",
                              apart_ns < LEAST_RESIDUAL_NS ? "exactly" : "within ",
                              apart_ns < LEAST_RESIDUAL_NS ? "" : hu_say_time(apart_ns).t);
    if (s->n)
        n += (size_t)snprintf(line + n, sizeof line - n, ". A rank waits %s per step for others",
                              hu_say_time(s->wait_step_ns).t);
    for (size_t i = 0; i < s->n && i < NAMED && n < sizeof line - sizeof text; i++) {
        say_straggler(p, &s->at[i], text, sizeof text);
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i ? ", " : ": ", text);
    }
    snprintf(line + n, sizeof line - n, ".");
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, line, 2);
}

/* What all ranks together would gain; or why nobody can say. */
static void write_job(hu_text_page *p)
{
    static const double LEAST_PCT = 1;
    enum { MOST = 3 };
    const hu_joint_replay *joint = p->r->job->joint;
    char                   line[1024];
    size_t                 n, said = 0;

    if (!joint || (!joint->is_replayed && !joint->n_parked))
        return;
    if (!joint->is_replayed) {
        const hu_parked *k = &joint->parked[0];

        snprintf(line, sizeof line, "No joint replay: %s (rank %lld waits in a collective that rank %lld never enters).",
                 joint->why_not, (long long)hu_digest_rank_of(p->r->job->digests, k->waits),
                 (long long)hu_digest_rank_of(p->r->job->digests, k->missing));
        hu_text_paragraph(p, line, 2);
        return;
    }
    n = (size_t)snprintf(line, sizeof line, "Joint replay: %zu%s ranks take %s per step (%s off)", joint->ranks,
                         joint->ranks < p->r->job->n ? " of the" : "", hu_say_time(joint->replayed_ns).t,
                         hu_say_pct(100 * fabs(joint->replayed_ns / joint->seen_ns - 1)).t);
    if (!joint->is_trusted)
        n += (size_t)snprintf(line + n, sizeof line - n, "; no gains are given: %s", joint->why_no_price);
    for (size_t i = 0; joint->is_trusted && i < joint->n_prices && n < sizeof line - 100; i++) {
        const hu_joint_replay_price *x = &joint->price[i];
        char                         what[64];

        if (x->gain_pct < LEAST_PCT || said == MOST)
            continue;
        if (x->edit == HU_EDIT_STRAGGLER)
            snprintf(what, sizeof what, "if rank %lld matched the others",
                     (long long)hu_digest_rank_of(p->r->job->digests, x->digest));
        said++;
        n += (size_t)snprintf(line + n, sizeof line - n, "; %s: %s",
                              x->edit == HU_EDIT_STRAGGLER   ? what
                              : x->edit == HU_EDIT_BALANCE   ? "with balanced work"
                              : x->edit == HU_EDIT_HICCUPS   ? "if no rank were late"
                              : x->edit == HU_EDIT_BANDWIDTH ? "with links twice as fast"
                              : x->edit == HU_EDIT_LATENCY   ? "with half the latency"
                              : x->edit == HU_EDIT_BUCKET    ? "with one gradient bucket"
                                                             : "with instant collectives",
                              hu_say_time(x->after_ns).t);
    }
    snprintf(line + n, sizeof line - n, ".");
    hu_text_paragraph(p, line, 2);
}

/* "but: rank 5 is missing", and the like. */
static void say_roster(hu_text_page *p, size_t n, const int64_t *at, const char *one, const char *many)
{
    char   line[256];
    size_t k;

    if (n == 0)
        return;
    k = (size_t)snprintf(line, sizeof line, "%s", n == 1 ? "rank" : "ranks");
    for (size_t i = 0; i < n && i < HU_ROSTER_NAMED && k < sizeof line - 40; i++)
        k += (size_t)snprintf(line + k, sizeof line - k, "%s %lld", i ? "," : "", (long long)at[i]);
    snprintf(line + k, sizeof line - k, "%s %s", n > HU_ROSTER_NAMED ? " \xe2\x80\xa6" : "", n == 1 ? one : many);
    hu_out_text(p->out, "  but: ");
    hu_text_hanging(p, line, 7);
}

/* "allreduce of 4.00 MB on rank 0, allgather of 1.00 MB on rank 3" */
static void say_mismatch(hu_text_page *p)
{
    const hu_rendezvous *r = p->r->job->rendezvous;
    char                 line[512];
    size_t               n;

    if (!r || r->mismatched == 0)
        return;
    n = (size_t)snprintf(line, sizeof line,
                         "ranks call different collectives under one sequence number, %lld time%s: this hangs sooner or "
                         "later; number %lld is",
                         (long long)r->mismatched, hu_plural(r->mismatched), (long long)r->first_mismatch.sequence);
    for (size_t i = 0; i < 2 && n < sizeof line - 120; i++) {
        const hu_collective *c = &r->first_mismatch.call[i];
        char                 bytes[HU_UNIT_BYTES] = "";

        if (c->bytes >= 0)
            hu_units_bytes(bytes, (double)c->bytes);
        n += (size_t)snprintf(line + n, sizeof line - n, "%s %.40s%s%s on rank %lld", i ? "," : "",
                              hu_comm_kind_words(c->kind), bytes[0] ? " of " : "", bytes,
                              (long long)hu_digest_rank_of(p->r->job->digests, r->first_mismatch.digest[i]));
    }
    hu_out_text(p->out, "  but: ");
    hu_text_hanging(p, line, 7);
}

/* What is known of collectives whose end is not recorded. */
static void say_called(hu_text_page *p)
{
    enum { MOSTLY_PCT = 75, LEAST_NS = 100000 };
    const hu_rendezvous *r = p->r->job->rendezvous;
    char                 line[512], late[HU_UNIT_BYTES];
    size_t               n = 0;

    if (!r || r->called.matched == 0)
        return;
    if (r->called.compared && 100 * r->called.last >= MOSTLY_PCT * r->called.compared && r->called.late_ns >= LEAST_NS) {
        hu_units_time(late, r->called.late_ns);
        n = (size_t)snprintf(line, sizeof line, "rank %lld calls last in %lld of %lld collectives, %s after the others; ",
                             (long long)hu_digest_rank_of(p->r->job->digests, r->called.digest), (long long)r->called.last,
                             (long long)r->called.compared, late);
    }
    snprintf(line + n, sizeof line - n,
             "of %lld collectives only the calls are recorded, not how long they took nor who waited; record with "
             "--nccl-events default,kernelch",
             (long long)r->called.matched);
    hu_out_text(p->out, "  but: ");
    hu_text_hanging(p, line, 7);
}

/* A row of a run stands among rows of steps. */
static void say_stepless(hu_text_page *p)
{
    const hu_job *job = p->r->job;
    int64_t       ranks[HU_ROSTER_NAMED];
    size_t        n = 0;

    for (size_t i = 0; i < job->n; i++)
        if (job->digests[i]->steps.source == HU_STEPS_NONE) {
            if (n < HU_ROSTER_NAMED)
                ranks[n] = hu_digest_rank_of(job->digests, i);
            n++;
        }
    if (n < job->n)
        say_roster(p, n, ranks, "has no steps: its row is the whole run, and compares with no step of the others",
                   "have no steps: their rows are whole runs, and compare with no step of the others");
}

static void write_roster(hu_text_page *p)
{
    const hu_roster *r = &p->r->job->roster;

    say_roster(p, r->n_missing, r->missing, "of the job is missing", "of the job are missing");
    say_roster(p, r->n_twice, r->twice, "occurs more than once", "occur more than once");
    say_roster(p, r->n_odd, r->odd, "has a different number of steps", "have a different number of steps");
    say_stepless(p);
}

/* Of very many ranks the MOST_LINES slowest, by rank; of fewer all.  NULL: no memory. */
static const uint32_t *choose_ranks(const hu_text_page *p, size_t *n)
{
    const uint32_t *by_step = hu_columns_order(&hu_table_ranks, p->r->job->ranks, p->r->job->n, "step_ns", p->r->scratch);
    uint32_t       *chosen = hu_arena_calloc(p->r->scratch, p->r->job->n + 1, sizeof *chosen);
    bool           *is_slow = hu_arena_calloc(p->r->scratch, p->r->job->n + 1, sizeof *is_slow);

    *n = 0;
    if (!by_step || !chosen || !is_slow)
        return NULL;
    for (size_t i = 0; i < p->r->job->n && i < MOST_LINES; i++)
        is_slow[by_step[i]] = true;
    for (uint32_t i = 0; i < p->r->job->n; i++)
        if (is_slow[i])
            chosen[(*n)++] = i;
    return chosen;
}

void hu_text_ranks(hu_text_page *p)
{
    size_t          shown;
    const uint32_t *chosen = choose_ranks(p, &shown);

    hu_text_heading(p, "RANKS");
    hu_out_text(p->out, "   mean step of each\n");
    if (chosen)
        hu_text_rows(p, &hu_table_ranks, p->r->job->ranks, chosen, shown);
    if (shown < p->r->job->n)
        hu_out_printf(p->out, "  the %zu slowest of %zu ranks; --view ranks has all\n", shown, p->r->job->n);
    write_roster(p);
    say_mismatch(p);
    say_called(p);
    write_rendezvous(p);
    write_job(p);
    hu_text_comm(p);
}
