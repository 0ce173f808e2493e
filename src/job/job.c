/* SPDX-License-Identifier: Apache-2.0
 * job.c - one job for each file; results are sorted by rank, so that the order of arguments does not matter. */
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

#include "across/absent.h"
#include "across/late_ranks.h"
#include "advise/say_memory.h"
#include "advise/compare.h"
#include "advise/unseen.h"
#include "analyze/digest_wire.h"
#include "base/spare.h"
#include "job/beside.h"
#include "job/chosen.h"
#include "job/filling.h"
#include "job/partial.h"

enum { SPARE_BYTES = 32 << 20 }; /* of maps that a thread keeps from one rank to the next */

/*
 * The arenas of a digest that was just measured are mostly room that its questions did not need; packed and unpacked it
 * takes a third to a fifth of the memory, which counts where there are hundreds.  Where that fails it stays as it is.
 */
static void shrink(hu_rank *r)
{
    hu_arena  *arena = hu_arena_new();
    hu_error   unused;
    hu_str     bytes;
    hu_digest *small = NULL;

    if (arena && hu_digest_pack(r->digest, arena, &bytes, &unused) == 0)
        small = hu_digest_unpack(bytes, &unused);
    if (small) {
        hu_digest_free(r->digest);
        r->digest = small;
    }
    hu_arena_free(arena);
}

static void read_mine(void *context, size_t k)
{
    const hu_filling *w = context;
    hu_rank          *r = &w->ranks[w->mine[k]];

    hu_rank_read(w, w->mine[k]);
    if (!hu_crew_is_first(w->options->crew))
        hu_exchange_pack(w, w->mine[k]);
    else if (r->digest && w->inputs->n > HU_JOINT_REPLAY_RANKS)
        shrink(r);
}

/* Fails only for lack of memory. */
static bool share_out(hu_filling *w, hu_arena *arena)
{
    const size_t n = w->inputs->n;

    w->ranks = hu_arena_calloc(arena, n + 1, sizeof *w->ranks);
    w->packed = hu_arena_calloc(arena, n + 1, sizeof *w->packed);
    w->mine = hu_arena_calloc(arena, n + 1, sizeof *w->mine);
    if (!w->ranks || !w->packed || !w->mine)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->ranks[i].input = w->inputs->at[i];
        w->ranks[i].file = i;
        if (hu_filling_is_mine(w, &w->ranks[i]))
            w->mine[w->n_mine++] = i;
    }
    return true;
}

static int by_rank(const void *left, const void *right)
{
    const hu_rank *a = left, *b = right;

    if (hu_is_memory_only(a->digest) && hu_is_memory_only(b->digest))
        return (a->file > b->file) - (a->file < b->file); /* as named: each is compared with the one before */
    if (a->digest->info.rank != b->digest->info.rank)
        return a->digest->info.rank < b->digest->info.rank ? -1 : 1;
    return hu_str_compare(a->digest->info.file, b->digest->info.file);
}

/* A snapshot of memory is no rank: beside traces it would be one that takes no time. */
static bool set_snapshots_apart(hu_filling *w, hu_arena *arena, hu_job *out)
{
    size_t n_timed = 0;

    out->snapshots = hu_arena_calloc(arena, w->inputs->n + 1, sizeof *out->snapshots);
    if (!out->snapshots)
        return false;

    for (size_t i = 0; i < w->inputs->n; i++)
        n_timed += w->ranks[i].digest && !hu_is_memory_only(w->ranks[i].digest);
    for (size_t i = 0; n_timed && i < w->inputs->n; i++) {
        hu_rank *r = &w->ranks[i];

        if (!r->digest || !hu_is_memory_only(r->digest))
            continue;
        if (w->options->keeps_snapshots) {
            out->snapshots[out->n_snapshots++] = *r;
            *r = (hu_rank){.input = r->input, .file = r->file};
            continue;
        }
        hu_rank_free(r);
        hu_fail(&r->error, HU_EFORMAT, r->input, HU_NO_OFFSET,
                "it has allocations and nothing that takes time, so it is no rank of this job; `holdup report` shows it");
    }
    return true;
}

/* What was read comes to the front, in order; what was not stands behind it, as named.  False when there is no memory. */
static bool sort_ranks(hu_filling *w, hu_arena *arena, hu_job *out)
{
    const size_t n = w->inputs->n;
    hu_rank     *sorted = hu_arena_calloc(arena, n + 1, sizeof *sorted);
    size_t       failed = 0;

    out->digests = hu_arena_calloc(arena, n + 1, sizeof *out->digests);
    out->findings = hu_arena_calloc(arena, n + 1, sizeof *out->findings);
    if (!sorted || !out->digests || !out->findings)
        return false;
    for (size_t i = 0; i < n; i++)
        if (w->ranks[i].digest)
            sorted[out->n++] = w->ranks[i];
    for (size_t i = 0; i < n; i++)
        if (!w->ranks[i].digest)
            sorted[out->n + failed++] = w->ranks[i];
    if (out->n > 1)
        qsort(sorted, out->n, sizeof *sorted, by_rank);
    for (size_t i = 0; i < out->n; i++) {
        out->digests[i] = sorted[i].digest;
        out->findings[i] = sorted[i].findings;
    }
    out->ranks = w->ranks = sorted;
    return true;
}

/* Of a crew, nobody looked at what files are before they were read: what is no rank may be what lies beside them. */
static int read_beside(hu_filling *w, hu_arena *arena, hu_job *out, hu_error *err)
{
    hu_sorted_inputs *sorted = hu_arena_calloc(arena, 1, sizeof *sorted);

    if (!sorted)
        return hu_fail_memory(err);
    for (hu_input_kind k = 0; k < HU_INPUT_KINDS; k++)
        if (!(sorted->of[k].at = hu_arena_calloc(arena, w->inputs->n + 1, sizeof *sorted->of[k].at)))
            return hu_fail_memory(err);
    for (size_t i = out->n; i < w->inputs->n; i++) {
        hu_rank            *r = &out->ranks[i];
        const hu_input_kind kind = r->error.code ? hu_input_kind_of(r->input, &w->options->limits) : HU_INPUT_RANK;
        hu_inputs          *of = &sorted->of[kind];

        if (kind == HU_INPUT_RANK)
            continue;
        of->at[of->n++] = r->input;
        r->error.code = 0;
    }
    sorted->of[HU_INPUT_RANK].left = w->inputs->left;
    return hu_beside_read(sorted, &w->options->limits, arena, w->options->beside, &out->unread, err);
}

static int collect(hu_filling *w, hu_arena *arena, hu_job *out, hu_error *err)
{
    const size_t n = w->inputs->n;
    int          rc;

    if (!set_snapshots_apart(w, arena, out) || !sort_ranks(w, arena, out)) {
        for (size_t i = 0; i < n; i++)
            hu_rank_free(&w->ranks[i]);
        for (size_t i = 0; i < out->n_snapshots; i++)
            hu_rank_free(&out->snapshots[i]);
        return hu_fail_memory(err);
    }
    out->unread = w->inputs->unread;
    if (out->n && w->options->finds_beside && (rc = read_beside(w, arena, out, err)) < 0)
        return rc;
    for (size_t i = out->n; i < n; i++)
        if (out->ranks[i].error.code &&
            hu_unread_add_error(&out->unread, arena, out->ranks[i].input, &out->ranks[i].error, err) < 0)
            return err->code;
    if (hu_executions_end(w->executions, arena, &out->executions, &out->n_executions, &out->unread, err) < 0)
        return err->code;
    for (size_t i = 0; i < out->n; i++) {
        const hu_digest *d = out->digests[i];

        if (hu_partial_add(&out->partial, arena, d->info.file, &d->health.quality, err) < 0)
            return err->code;
    }
    return 0;
}

/* All ranks replayed together; of more than are kept in memory, some that are read again. */
static int replay(hu_job *job, const hu_filling *w, const hu_late_ranks *late, hu_arena *arena, hu_error *err)
{
    const hu_graph **graphs = hu_arena_calloc(arena, job->n, sizeof *graphs);
    hu_joint_replay *joint = hu_arena_calloc(arena, 1, sizeof *joint);
    hu_chosen        chosen = {{0}};
    int              rc;

    if (!graphs || !joint)
        return hu_fail_memory(err);
    for (size_t i = 0; i < job->n; i++)
        graphs[i] = job->ranks[i].graph;
    if (w->inputs->n > HU_JOINT_REPLAY_RANKS)
        hu_chosen_read(w, late, job->n, graphs, &chosen);
    rc = hu_joint_replay_measure(graphs, job->digests, job->n, job->rendezvous, late, w->threads, joint, err);
    hu_chosen_free(&chosen);
    job->joint = joint;
    return rc;
}

/* Where several ranks meet, and who of them is late. */
static int meet(hu_job *job, const hu_filling *w, hu_arena *arena, hu_error *err)
{
    hu_arena      *scratch = hu_arena_new();
    hu_rendezvous *r = hu_arena_calloc(arena, 1, sizeof *r);
    hu_late_ranks  late;
    int rc = scratch && r ? hu_rendezvous_measure(job->digests, job->n, arena, scratch, r, err) : hu_fail_memory(err);

    hu_arena_free(scratch);
    if (rc < 0)
        return rc;
    job->rendezvous = r;
    hu_late_ranks_measure(r, job->digests, job->n, &late);
    hu_stragglers_measure(&late, job->findings, job->n, &job->stragglers);
    return w->options->replays ? replay(job, w, &late, arena, err) : 0;
}

/* Stages of a pipeline take turns: what one of them waits for is the work of the next, and not only its messages. */
static bool sends_messages(const hu_digest *d)
{
    for (size_t i = 0; i < d->comm.n; i++)
        if (hu_comm_is_message(d->comm.at[i].kind) && !d->comm.on_host)
            return true;
    return false;
}

/*
 * What hangs on ranks that nobody replayed: those that were not given, or all where they could not be replayed together.
 * Returns 0 or HU_ENOMEM.
 */
static int doubt_unseen(hu_job *job, hu_error *err)
{
    static const double MOST_ABSENT = 0.1; /* of the communication: less cannot hide who is waited for */
    const bool          is_alone = job->n == 1 || job->roster.mixes_runs;
    const bool          is_joint = !is_alone && job->joint && job->joint->is_replayed && job->joint->is_trusted;
    double              absent = 0;
    int                 rc = is_alone ? 0 : hu_absent_measure(job->digests, job->n, &absent, err);

    if (rc < 0 || (is_joint && absent <= MOST_ABSENT))
        return rc;
    for (size_t i = 0; i < job->n; i++) {
        const bool is_apart = !is_alone && absent <= MOST_ABSENT;

        if (job->findings[i] && job->findings[i]->is_replayed)
            hu_findings_doubt_unseen(job->findings[i],
                                     is_joint                                      ? hu_joint_replay_network_pct(job->joint)
                                     : is_apart && sends_messages(job->digests[i]) ? 100
                                                                                   : hu_findings_comm_pct(job->findings[i]),
                                     is_alone   ? HU_UNSEEN_ALONE
                                     : is_apart ? HU_UNSEEN_APART
                                                : HU_UNSEEN_MISSING);
    }
    return 0;
}

/* Snapshots of memory: what grew since the one named before. */
static bool compare_snapshots(hu_job *job)
{
    for (size_t i = 1; i < job->n; i++) {
        hu_digest *before = job->digests[i - 1], *now = job->digests[i];

        if (hu_is_memory_only(before) && hu_is_memory_only(now) &&
            !hu_memory_compare(&before->memory, hu_str_base_name(before->info.file), &now->memory, now->arena))
            return false;
    }
    return true;
}

/* Where kernels take the time, what bounds them is the answer. */
static void add_measured(hu_verdict *v, const hu_beside *beside)
{
    char         text[400];
    const size_t n = hu_beside_say_kernels(beside, text, sizeof text), at = strlen(v->text);

    if (n && at + n < sizeof v->text)
        memcpy(v->text + at, text, n + 1);
}

/* A job that ran out of memory is held up by nothing else: by a snapshot, which says why, or by a log. */
static void add_failure(hu_verdict *v, const hu_job *job, const hu_beside *beside)
{
    char text[600] = "";

    for (size_t i = 0; i < job->n_snapshots && !text[0]; i++)
        hu_say_memory_failure(job->snapshots[i].digest, text, sizeof text);
    if (!text[0])
        hu_beside_say_oom(beside, text, sizeof text);
    hu_verdict_precede(v, text);
}

/* What other files know of the verdict's cause. */
static void add_beside(hu_job *job, const hu_beside *beside, const hu_digest *shown)
{
    hu_verdict *v = &job->verdict;
    char        cause[400];

    if (hu_verdict_is_of_kernels(shown))
        add_measured(v, beside);
    if (v->is_of_network && hu_beside_say_transport(beside, cause, sizeof cause))
        hu_verdict_lead(v, cause);
    add_failure(v, job, beside);
}

/* What can be said of all, when each was read and drawn. */
static int judge(hu_job *job, const hu_filling *w, hu_arena *arena, hu_error *err)
{
    int rc = 0;

    if (!compare_snapshots(job))
        return hu_fail_memory(err);
    hu_roster_measure(job->digests, job->n, &job->roster);
    hu_digest_agree(job->digests, job->n, &job->agreement);
    if (job->n > 1 && job->roster.world_size > 1 && !job->roster.mixes_runs &&
        !hu_digest_settle(job->digests, job->n, &job->agreement))
        return hu_fail_memory(err);
    if (job->n > 1 && !job->roster.mixes_runs)
        rc = meet(job, w, arena, err);
    for (size_t i = 0; i < job->n; i++) {
        hu_arena_free(job->ranks[i].graph_arena);
        job->ranks[i].graph = NULL;
        job->ranks[i].graph_arena = NULL;
    }
    if (rc < 0)
        return rc;
    if (job->joint)
        hu_findings_compare(job->findings, job->digests, job->n, w->shown, job->rendezvous, &job->stragglers, job->joint);
    if (w->options->replays && doubt_unseen(job, err) < 0)
        return err->code;
    for (size_t i = 0; w->options->replays && i < job->n; i++) {
        hu_findings_sort(job->findings[i]);
        hu_findings_doubt(job->findings[i], &job->digests[i]->health.quality);
    }
    if (w->options->beside && (rc = hu_beside_join(w->options->beside, job, w->shown, arena, err)) < 0)
        return rc;
    hu_verdict_measure(job->digests, job->findings, job->n, job->rendezvous, &job->verdict);
    if (w->options->beside)
        add_beside(job, w->options->beside, job->digests[w->shown]);
    hu_verdict_doubt_unread(&job->verdict, job->unread.n, job->n);
    hu_verdict_doubt_runs(&job->verdict, &job->roster);
    return hu_runs_measure(job->ranks, job->n, job->roster.mixes_runs, arena, &job->runs, err);
}

/* All but process 0: what was read is sent, and perhaps drawn. */
static int finish_share(hu_filling *w)
{
    hu_exchange_send(w);
    if (w->options->draws && w->inputs->n > 1)
        hu_exchange_draw_wished(w);
    for (size_t k = 0; k < w->n_mine; k++)
        hu_arena_free(w->ranks[w->mine[k]].timeline_arena);
    return HU_JOB_SENT;
}

/* Process 0, when all was read. */
static int finish(hu_filling *w, hu_arena *arena, hu_job *out, hu_error *err)
{
    const bool several = w->options->draws && w->inputs->n > 1;

    if (collect(w, arena, out, err) < 0) {
        if (w->options->crew)
            hu_exchange_give_up(w, err);
        return err->code;
    }
    if (out->n) {
        w->shown = hu_verdict_slowest(out->digests, out->n);
        if (several)
            hu_ranks_choose_drawn(w, out->n);
        if (judge(out, w, arena, err) < 0) {
            if (several && w->options->crew) /* who wait for a word */
                hu_exchange_give_up(w, err);
            return err->code;
        }
        w->pictures = hu_pictures_of(out->findings[w->shown]);
    }
    if (several) /* of none too: the others wait for a word */
        hu_exchange_draw(w, out->n);
    return 0;
}

int hu_job_read(const hu_inputs *inputs, const hu_job_options *options, hu_arena *arena, hu_job *out, hu_error *err)
{
    hu_inputs  rest;
    hu_filling w = {
        .inputs = &rest, .options = options, .digest = options->digest, .threads = hu_crew_threads(options->crew)};
    bool few;
    int  rc;

    *out = (hu_job){0};
    if (hu_executions_find(inputs, &options->limits, arena, &rest, &w.executions, err) < 0 || !share_out(&w, arena)) {
        hu_fail_memory(err);
        if (options->crew)
            hu_exchange_give_up(&w, err);
        return err->code;
    }
    few = w.n_mine < (size_t)w.threads;
    w.input = (hu_input_options){.limits = options->limits,
                                 .threads = few && w.n_mine ? (w.threads + (int)w.n_mine - 1) / (int)w.n_mine : 1,
                                 .progress = options->progress};
    w.digest.threads = few ? w.threads : 1;
    hu_spare_begin(few ? 0 : (size_t)w.threads * SPARE_BYTES);
    hu_thread_each(w.n_mine, w.threads, read_mine, &w);
    hu_spare_end();
    if (!hu_crew_is_first(options->crew))
        return finish_share(&w);
    hu_exchange_receive(&w);
    w.threads = hu_crew_threads_alone(options->crew);
    rc = finish(&w, arena, out, err);
    if (rc < 0)
        hu_job_free(out);
    return rc;
}

void hu_job_free(hu_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        hu_rank_free(&job->ranks[i]);
    for (size_t i = 0; i < job->n_snapshots; i++)
        hu_rank_free(&job->snapshots[i]);
    job->n = job->n_snapshots = 0;
}
