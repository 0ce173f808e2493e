/* SPDX-License-Identifier: Apache-2.0
 * compare.c - one rank that is always late, or now this one and now that one; what communication needs without waiting. */
#include "advise/compare.h"

#include <math.h>
#include <stdlib.h>

#include "advise/amount.h"
#include "advise/bubble.h"
#include "advise/unseen.h"

static const double LEAST_WAIT = 3;    /* percent of the step that ranks wait for the slowest */
static const double LEAST_GAIN = 1;    /* percent of the step that one rank is worth */
static const double LEAST_FREE = 2;    /* percent of the step that instant collectives are worth, for them to be the cause */
static const double MOST_JOINED = 0.9; /* of the communication, for the replay of all to know what the rest is worth */
static const double FEW_UNJOINED = 0.03; /* of the step, that communication which was not matched may take */
static const double SAME_POINTS = 1.5;   /* within which two gains are told by the same picture */
static const double CLEARLY = 3;         /* points that all are worth more than the worst of them */
static const double MOST_OF_ALL = 0.8;   /* of what all are worth: then it is this rank, and the rest is how ranks differ */
static const double MOST_SHARED =
    0.9;                              /* of what a rank costs, that sharing its work saves too: then it is no matter which */
static const double MOST_SURE = 0.75; /* of a gain, that its interval reaches down to */
static const double MOSTLY = 0.5;     /* of what a late stage costs */
static const double PERSISTENT = 0.6; /* of the collectives: who is last to so many is always late */

/* Who comes last how often, and what it does longer than the others. */
static void show_stragglers(hu_finding *x, const hu_rendezvous *r, hu_digest *const *digests, const hu_stragglers *all)
{
    for (size_t i = 0; i < all->n && x->n_evidence < HU_EVIDENCE; i++) {
        const hu_straggler *s = &all->at[i];
        char               *line = x->evidence[x->n_evidence++];
        const long long     rank = (long long)hu_digest_rank_of(digests, s->late.digest);
        int                 k;

        if (all->by_messages)
            k = snprintf(line, HU_EVIDENCE_BYTES, "rank %lld sends or receives late: others wait %s for its messages", rank,
                         hu_say_per_step(hu_as_mean(s->late.lost_step_ns), true).t);
        else
            k = snprintf(line, HU_EVIDENCE_BYTES, "rank %lld is the last to reach %lld of %lld collectives", rank,
                         (long long)s->late.last, (long long)r->matched);
        if (s->cause < HU_CLASS_COUNT && k > 0 && k < HU_EVIDENCE_BYTES)
            snprintf(line + k, (size_t)(HU_EVIDENCE_BYTES - k), "; \"%s\" takes %s more than on the others",
                     hu_class_words(s->cause), hu_say_per_step(hu_as_mean(s->cause_step_ns), true).t);
    }
}

/* What the collective that takes most needs without waiting, and what limits messages of its size. */
static void show_transfer(hu_finding *x, const hu_transfers *t)
{
    const hu_transfer *most = t->n ? &t->at[0] : NULL;
    char               bytes[HU_NUMBER_BYTES];
    size_t             n;

    if (!most || x->n_evidence == HU_EVIDENCE || most->size.bytes <= 0)
        return;
    hu_format_fixed(bytes, (double)most->size.bytes / 1e6, most->size.bytes < 10000000 ? 2 : 0);
    n = (size_t)snprintf(x->evidence[x->n_evidence], HU_EVIDENCE_BYTES, "without waiting, %.*s of %s MB takes %s per call",
                         HU_FMT(most->name), bytes, hu_say_time(most->size.least_ns).t);
    if (most->size.bound != HU_COMM_BY_UNKNOWN && n < HU_EVIDENCE_BYTES)
        snprintf(x->evidence[x->n_evidence] + n, HU_EVIDENCE_BYTES - n, ", bound by %s",
                 hu_comm_bound_key(most->size.bound));
    x->n_evidence++;
}

static void show_transfers(hu_findings *f, const hu_transfers *t)
{
    for (size_t i = 0; i < f->n; i++) {
        hu_finding *x = &f->at[i];

        if (x->rule == HU_RULE_EXPOSED_COMM || x->rule == HU_RULE_POOR_OVERLAP)
            show_transfer(x, t);
        else if (x->rule == HU_RULE_COMM_LATENCY && t->n_latency + t->n_bandwidth && x->n_evidence < HU_EVIDENCE)
            snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
                     "over all ranks, %zu collective sizes are latency-bound, %zu bandwidth-bound", t->n_latency,
                     t->n_bandwidth);
    }
}

static const hu_joint_replay_price *find_price(const hu_joint_replay *job, hu_edit_kind edit)
{
    for (size_t i = 0; i < job->n_prices; i++)
        if (job->price[i].edit == edit)
            return &job->price[i];
    return NULL;
}

/* What helps where one stage of a pipeline has more to do than the others. */
static const char FIX_STAGE[] =
    "give each stage the same work: move layers from this rank to the other stages; else find why it is slower";

static void say_one(hu_finding *x, const hu_joint_replay *job, const hu_joint_replay_price *p, hu_digest *const *digests,
                    const hu_straggler *s)
{
    const int n =
        p->edit == HU_EDIT_BALANCE
            ? snprintf(x->statement, sizeof x->statement,
                       "All ranks wait for rank %lld. If all stages had the same work, the step of all ranks would "
                       "take %s instead of %s.",
                       (long long)hu_digest_rank_of(digests, s->late.digest), hu_say_time(p->after_ns).t,
                       hu_say_time(job->replayed_ns).t)
            : snprintf(x->statement, sizeof x->statement,
                       "All ranks wait for rank %lld. If it matched the others, the step of all ranks would take %s "
                       "instead of %s.",
                       (long long)hu_digest_rank_of(digests, p->digest), hu_say_time(p->after_ns).t,
                       hu_say_time(job->replayed_ns).t);

    if (s && s->cause < HU_CLASS_COUNT && n > 0 && (size_t)n < sizeof x->statement)
        snprintf(x->statement + n, sizeof x->statement - (size_t)n, " It spends more time in \"%s\": +%s.",
                 hu_class_words(s->cause), hu_say_per_step(hu_as_mean(s->cause_step_ns), true).t);
    if (p->edit == HU_EDIT_BALANCE)
        snprintf(x->fix, sizeof x->fix, "%s", FIX_STAGE);
}

/* What helps where no rank is the slow one. */
static const char FIX_MANY[] =
    "balance the work per rank; look for pauses on single ranks: garbage collection, data loading, other jobs on the node";

static void say_many(hu_finding *x, const hu_joint_replay *job, const hu_joint_replay_price *all,
                     const hu_joint_replay_price *one, hu_digest *const *digests)
{
    const bool      is_one = one && one->gain_pct >= MOST_OF_ALL * all->gain_pct;
    const long long rank = one ? (long long)hu_digest_rank_of(digests, one->digest) : 0;
    char            who[100] = "Different ranks are late at different times.", alone[100] = "";

    if (is_one)
        snprintf(who, sizeof who, "Rank %lld is late in these steps, which may be chance: in others it may be another one.",
                 rank);
    else if (one)
        snprintf(alone, sizeof alone, "; fixing rank %lld alone: %s", rank, hu_say_time(one->after_ns).t);
    snprintf(x->statement, sizeof x->statement,
             "%s If every rank took %s before each collective, a step would take %s instead of %s%s.", who,
             job->ranks > 2 ? "the median time" : "the shorter host time and the mean GPU time",
             hu_say_time(all->after_ns).t, hu_say_time(job->replayed_ns).t, alone);
    snprintf(x->fix, sizeof x->fix, "%s", FIX_MANY);
}

/* Not worth a price of its own, as if its gate had opened and its price been too small. */
static void pass(hu_findings *f, size_t i)
{
    if (f->n_passed < HU_RULE_COUNT)
        f->passed[f->n_passed++] = f->at[i].rule;
    memmove(&f->at[i], &f->at[i + 1], (--f->n - i) * sizeof f->at[0]);
}

/* Links that are far below what the machine has, and nobody waits. */
static void add_slow_link(hu_findings *f, const hu_joint_replay *job)
{
    const hu_slow_link *s = &job->slow_link;
    hu_finding x = {.rule = HU_RULE_COMM_BANDWIDTH, .edit = {.kind = HU_EDIT_KINDS}, .confidence = HU_CONFIDENCE_MEDIUM};
    char       bytes[HU_NUMBER_BYTES], gbps[HU_NUMBER_BYTES], peak[HU_NUMBER_BYTES];

    if (!s->what || s->price.gain_pct < LEAST_GAIN || f->n == HU_FINDINGS)
        return;
    hu_format_fixed(bytes, (double)s->what->size.bytes / 1e6, s->what->size.bytes < 100000000 ? 1 : 0);
    hu_format_fixed(gbps, s->gbps, s->gbps < 10 ? 2 : 0);
    hu_format_fixed(peak, s->peak_gbps, 0);
    x.gain_pct = s->price.gain_pct;
    x.low_pct = s->price.low_pct;
    x.high_pct = s->price.high_pct;
    x.free_pct = s->price.most_pct;
    x.before_ns = job->replayed_ns;
    x.after_ns = s->price.after_ns;
    snprintf(x.statement, sizeof x.statement,
             "%.*s of %s MB takes %s without waiting: a bus bandwidth of %s GB/s. The GPUs of this machine can send "
             "at least %s GB/s per direction (%s).",
             HU_FMT(s->what->name), bytes, hu_say_time(s->what->size.least_ns).t, gbps, peak, s->link);
    snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES,
             "at 70 %% of that a step of all ranks would take %s instead of %s", hu_say_time(s->price.after_ns).t,
             hu_say_time(job->replayed_ns).t);
    f->at[f->n++] = x;
    for (size_t i = f->n - 1; i-- > 0;) /* it says why these are slow */
        if (hu_finding_is_of_network(&f->at[i]) && f->at[i].gain_pct <= x.gain_pct)
            memmove(&f->at[i], &f->at[i + 1], (--f->n - i) * sizeof f->at[0]);
    hu_findings_cut_ladder(f);
}

/* What all stages together know of their pipeline replaces what one of them guessed. */
static void add_bubble(hu_findings *f, const hu_joint_replay *job, const hu_rendezvous *r, hu_digest *const *digests,
                       size_t n)
{
    hu_finding x;
    size_t     i = 0;

    if (!hu_bubble_find_job(&r->messages, digests, n, job->seen_ns, &x) || x.gain_pct < LEAST_GAIN)
        return;
    while (i < f->n && f->at[i].rule != HU_RULE_BUBBLE)
        i++;
    if (i == HU_FINDINGS)
        return;
    f->at[i] = x;
    f->n += i == f->n;
}

/* Gradients in many small pieces, of collectives on the host too, which no gate of one rank sees. */
static void add_buckets(hu_findings *f, const hu_joint_replay *job, const hu_digest *d)
{
    const hu_joint_replay_price *p = find_price(job, HU_EDIT_BUCKET);
    hu_finding x = {.rule = HU_RULE_COMM_LATENCY, .edit = {.kind = HU_EDIT_KINDS}, .confidence = HU_CONFIDENCE_LOW};
    char       pieces[HU_NUMBER_BYTES], bytes[HU_NUMBER_BYTES];

    if (!p || p->low_pct < LEAST_GAIN || f->n == HU_FINDINGS)
        return;
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].rule == HU_RULE_COMM_LATENCY)
            return;
    hu_format_fixed(pieces, d->parallelism.buckets, 0);
    hu_format_fixed(bytes, d->parallelism.gradient_bytes / 1e6, 2);
    x.gain_pct = p->gain_pct;
    x.low_pct = p->low_pct;
    x.high_pct = p->high_pct;
    x.free_pct = p->most_pct;
    x.before_ns = job->replayed_ns;
    x.after_ns = p->after_ns;
    snprintf(x.statement, sizeof x.statement,
             "%s MB of gradients are reduced in %s buckets per step; each bucket costs one latency. With a single bucket "
             "the step of all ranks would take %s instead of %s.",
             bytes, pieces, hu_say_time(p->after_ns).t, hu_say_time(job->replayed_ns).t);
    f->at[f->n++] = x;
}

/*
 * Does the GPU of a stage compute for longer than those of the others, and is that most of what it costs?  Somebody must do
 * that work: it can only be shared.
 */
static bool is_of_stages(const hu_joint_replay *job, const hu_joint_replay_price *one, hu_digest *const *digests, size_t n)
{
    const hu_step_time *own = hu_digest_step_time(digests[one->digest]);
    double              others = 0, k = 0;

    for (size_t i = 0; own && i < n; i++) {
        const hu_step_time *t = i == one->digest ? NULL : hu_digest_step_time(digests[i]);

        others += t ? t->compute_ns : 0;
        k += t != NULL;
    }
    return job->messages && own && k > 0 && own->compute_ns - others / k >= MOSTLY * (job->replayed_ns - one->after_ns);
}

/* Is it the GPU of the late rank that takes longer? */
static bool is_of_device(const hu_straggler *who)
{
    return who && (who->cause == HU_CLASS_COMPUTE || who->cause == HU_CLASS_COPY);
}

/*
 * A GPU that takes longer may be slow, or have more to do.  In that case somebody must do the work, and no more can be
 * gained than by sharing it.
 */
static void say_shared(hu_finding *x, const hu_joint_replay_price *shared)
{
    const size_t n = strlen(x->statement);

    if (!(shared->gain_pct < MOST_SHARED * x->gain_pct))
        return;
    x->low_pct = fmin(x->low_pct, fmax(0, shared->low_pct));
    snprintf(x->statement + n, sizeof x->statement - n, " If it has more to do than the others, and they shared it: %s.",
             hu_say_time(shared->after_ns).t);
}

/*
 * High: the same rank in most collectives, whose own replay shows what takes longer, and most of the gain whatever the cause
 * of that is.  Low: other steps might have gained nothing, or the steps that are compared are not the same.
 */
static hu_confidence confidence_of(const hu_finding *x, const hu_joint_replay *job, const hu_rendezvous *r,
                                   const hu_straggler *who)
{
    if (x->low_pct < LEAST_GAIN || !job->has_same_steps)
        return HU_CONFIDENCE_LOW;
    return who && who->cause < HU_CLASS_COUNT && (double)who->late.last >= PERSISTENT * (double)r->matched &&
                   x->low_pct >= MOST_SURE * x->gain_pct
               ? HU_CONFIDENCE_HIGH
               : HU_CONFIDENCE_MEDIUM;
}

/* Would another rank be worth as much?  Where one is always late, the others are worth nothing. */
static bool is_in_turn(const hu_joint_replay *job, const hu_joint_replay_price *one)
{
    for (size_t i = 0; i < job->n_prices; i++)
        if (job->price[i].edit == HU_EDIT_STRAGGLER && job->price[i].digest != one->digest &&
            job->price[i].gain_pct >= MOSTLY * one->gain_pct)
            return true;
    return false;
}

/* What the replay of all says; false when nobody is waited for. */
static bool compare_replayed(hu_finding *x, const hu_joint_replay *job, hu_findings *const *findings,
                             hu_digest *const *digests, const hu_stragglers *s, const hu_rendezvous *r)
{
    const hu_joint_replay_price *one = find_price(job, HU_EDIT_STRAGGLER), *all = find_price(job, HU_EDIT_HICCUPS),
                                *shared = find_price(job, HU_EDIT_BALANCE), *best = one, *told;
    const hu_straggler *who = NULL;
    hu_straggler        other;

    if (one && (one->low_pct < LEAST_GAIN || is_in_turn(job, one)))
        best = NULL; /* in other steps it may be another one: of several ranks one is the last by chance */
    if (all && all->gain_pct >= LEAST_WAIT &&
        (!best || (all->gain_pct > one->gain_pct + CLEARLY && one->gain_pct < MOST_OF_ALL * all->gain_pct)))
        best = all;
    if (!best || best->gain_pct < LEAST_GAIN || best->high_pct < LEAST_GAIN)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (best == one && s->at[i].late.digest == one->digest)
            who = &s->at[i];
    if (best == one && !who) { /* it keeps nobody waiting in a collective itself, but others, who do */
        hu_stragglers_ask(one->digest, job->replayed_ns - one->after_ns, findings, r->n, &other);
        who = &other;
    }
    told = best == one && shared && is_of_stages(job, one, digests, r->n) ? shared : best;
    x->gain_pct = told->gain_pct;
    x->low_pct = told->low_pct;
    x->high_pct = told->high_pct;
    x->free_pct = fmax(told->most_pct, told->high_pct);
    x->before_ns = job->replayed_ns;
    x->after_ns = told->after_ns;
    x->edit.rank = best == one ? hu_digest_rank_of(digests, one->digest) : -1;
    if (best == one)
        say_one(x, job, told, digests, who);
    else
        say_many(x, job, all, one, digests);
    if (told == one && shared && is_of_device(who))
        say_shared(x, shared);
    x->confidence = confidence_of(x, job, r, who);
    if (!job->has_same_steps)
        snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
                 "the replayed steps of some ranks are others than those of the rest: ranks that are far ahead of their GPU "
                 "have few of their own in the capture");
    if (!(job->joined_share >= MOST_JOINED)) {
        x->confidence = HU_CONFIDENCE_LOW;
        x->high_pct = x->free_pct = fmin(100, fmax(x->free_pct, x->gain_pct + 100 * job->unjoined_step_ns / job->seen_ns));
        snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
                 "%s of the communication could not be matched across ranks: the gain may be larger",
                 hu_say_pct(100 * (1 - job->joined_share)).t);
    }
    snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES, "joint replay of %zu ranks over %zu %s: %s, measured %s",
             job->ranks, job->meetings + job->messages,
             job->messages == 0   ? "collectives"
             : job->meetings == 0 ? "messages"
                                  : "collectives and messages",
             hu_say_per_step(hu_as_mean(job->replayed_ns), true).t, hu_say_per_step(hu_as_mean(job->seen_ns), true).t);
    return true;
}

/*
 * In a synchronising collective all ranks end together, so the one that is in it for the shortest came last.  What counts is
 * the time on each rank's critical path: a wait that computation hides delays nobody.
 */
static bool compare_waits(hu_finding *x, hu_findings *const *all, hu_digest *const *digests, size_t n, size_t slowest)
{
    const hu_findings *f = all[slowest];
    double             least = INFINITY, sum = 0, most = 0, wait;
    size_t             late = 0;

    for (size_t i = 0; i < n; i++) {
        double comm;

        if (!all[i] || !all[i]->is_replayed || !all[i]->is_trusted || digests[i]->steps.n != digests[slowest]->steps.n)
            return false;
        comm = all[i]->by_class[HU_CLASS_COMM] + all[i]->by_class[HU_CLASS_HOST_COMM];
        sum += comm;
        most = comm > most ? comm : most;
        if (comm < least) {
            least = comm;
            late = i;
        }
    }
    wait = (sum - least) / (double)(n - 1) - least;
    if (!(100 * wait / f->seen_ns >= LEAST_WAIT))
        return false;
    x->gain_pct = 100 * wait / f->seen_ns;
    x->low_pct = x->gain_pct * 0.6 - 0.5;
    x->high_pct = x->gain_pct * 1.4 + 0.5;
    x->free_pct = fmax(x->gain_pct, hu_pct_of_step(hu_as_mean((sum - least) / (double)(n - 1)), hu_as_mean(f->seen_ns)));
    hu_price_limit(x->gain_pct, x->free_pct, &x->low_pct, &x->high_pct); /* no more than all that they are in collectives */
    x->before_ns = f->seen_ns;
    x->after_ns = f->seen_ns - wait;
    x->confidence = HU_CONFIDENCE_MEDIUM;
    snprintf(x->statement, sizeof x->statement,
             "The other ranks wait for rank %lld, %s on average. It spends %s in collectives, the others up to %s.",
             (long long)hu_digest_rank_of(digests, late), hu_say_per_step(hu_as_mean(wait), true).t,
             hu_say_per_step(hu_as_mean(least), true).t, hu_say_per_step(hu_as_mean(most), true).t);
    return true;
}

/*
 * One rank's own replay takes all of its time in collectives for transfer.  The replay of all knows what of it is waiting:
 * what instant collectives save is the most that better communication could.  Where that is next to nothing these findings
 * go, and whom the ranks wait for is another one.
 */
static void limit_network(hu_findings *f, const hu_joint_replay *job)
{
    const hu_joint_replay_price *free = find_price(job, HU_EDIT_NETWORK);

    if (!(job->joined_share >= MOST_JOINED))
        hu_findings_doubt_unseen(f, hu_findings_comm_pct(f), HU_UNSEEN_UNMATCHED);
    if (!free || !(job->joined_share >= MOST_JOINED))
        return;
    for (size_t i = f->n; i-- > 0;) {
        hu_finding *x = &f->at[i];

        if (!hu_finding_is_of_network(x) || isnan(x->gain_pct))
            continue;
        if (free->gain_pct < LEAST_FREE) {
            pass(f, i);
            continue;
        }
        if (x->n_evidence < HU_EVIDENCE)
            snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
                     "with instant collectives %zu ranks would take %.24s per step instead of %.24s; the rest is waiting",
                     job->ranks, hu_say_time(free->after_ns).t, hu_say_time(job->replayed_ns).t);
        if (x->gain_pct <= free->gain_pct)
            continue;
        x->gain_pct = free->gain_pct;
        x->free_pct = fmin(x->free_pct, free->most_pct);
        x->after_ns = x->before_ns * (1 - x->gain_pct / 100);
        x->low_pct = fmin(x->low_pct, free->low_pct);
        x->high_pct = fmin(x->high_pct, free->high_pct);
        hu_price_limit(x->gain_pct, x->free_pct, &x->low_pct, &x->high_pct);
    }
}

/* What was not matched keeps the time that it took: little enough of the step, whatever a fix elsewhere would make of it? */
static bool is_joined(const hu_joint_replay *job)
{
    return job->joined_share >= MOST_JOINED || job->unjoined_step_ns <= FEW_UNJOINED * job->seen_ns;
}

/* What a rank's own check forbids a point for, and the replay of all does not mend: it only replays other ends. */
static bool is_beyond_repair(const hu_findings *f)
{
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++)
        if (i != HU_CHECK_GLOBAL && hu_check_is_decisive(i) && f->check.grade[i] == HU_GRADE_RED)
            return true;
    return false;
}

/* The step that header, WHERE and the other findings of a rank speak of. */
static double step_of(const hu_digest *d, const hu_joint_replay *job)
{
    return d->steps.source != HU_STEPS_NONE && d->steps.duration.mean > 0 ? d->steps.duration.mean : job->replayed_ns;
}

static void append(hu_finding *x, const char *sentence)
{
    const size_t n = strlen(x->statement);

    if (n + strlen(sentence) < sizeof x->statement)
        memcpy(x->statement + n, sentence, strlen(sentence) + 1);
}

/* The job's price instead of one rank's, which takes what others are waited for as given.  It is a share of the job's step,
   and is said of the step that every other place states of this rank. */
static void take_job_price(hu_finding *x, const hu_joint_cause *c, const hu_joint_replay *job, double step_ns)
{
    const bool was_unknown = isnan(x->gain_pct), is_off = job->worst_pct > hu_check_limit(HU_CHECK_GLOBAL, HU_GRADE_AMBER);
    hu_confidence most = was_unknown || is_off ? HU_CONFIDENCE_MEDIUM : HU_CONFIDENCE_HIGH;

    if ((was_unknown && is_off) || c->price.spread_pct > hu_check_limit(HU_CHECK_SPREAD, HU_GRADE_AMBER))
        most = HU_CONFIDENCE_LOW;
    else if (was_unknown)
        x->confidence = HU_CONFIDENCE_MEDIUM;
    x->confidence = x->confidence > most ? most : x->confidence;
    x->is_of_job = !(fabs(x->gain_pct - c->price.gain_pct) < SAME_POINTS);
    if (x->gain_pct < c->price.gain_pct - SAME_POINTS) /* or it would save more than the time that the statement names */
        append(x, " The price is that of all ranks: they also wait less for each other.");
    x->gain_pct = c->price.gain_pct;
    x->low_pct = fmax(0, x->least_share < 1 ? fmin(c->price.low_pct, x->least_share * x->gain_pct) : c->price.low_pct);
    x->high_pct = c->price.high_pct;
    x->free_pct = c->price.free_pct;
    if (!(job->joined_share >= MOST_JOINED)) { /* some of it may be waiting */
        x->high_pct = fmin(100, x->high_pct + 100 * job->unjoined_step_ns / job->seen_ns);
        x->free_pct = fmax(x->free_pct, x->high_pct);
    }
    x->before_ns = step_ns;
    x->after_ns = step_ns * (1 - x->gain_pct / 100);
    if (x->n_evidence == HU_EVIDENCE)
        x->n_evidence--;
    snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
             "joint replay: without it on %zu of %zu ranks, a step of the job takes %.24s instead of %.24s", c->ranks,
             job->ranks, hu_say_time(c->price.after_ns).t, hu_say_time(c->price.before_ns).t);
}

/* What the replay of all misses of the measured step, in points. */
static double error_pct(const hu_joint_replay *job)
{
    return 100 * fabs(job->replayed_ns / job->seen_ns - 1);
}

static bool is_worth(const hu_finding *x, const hu_joint_cause *c)
{
    return (x->confidence == HU_CONFIDENCE_LOW ? c->price.low_pct : c->price.sure_pct) >= LEAST_GAIN;
}

/* Where a rank alone replays too badly for a point, one of all is given only where it is more than what that misses. */
static bool is_beyond_error(const hu_findings *f, const hu_joint_cause *c, const hu_joint_replay *job)
{
    return f->is_trusted || c->price.sure_pct - error_pct(job) >= LEAST_GAIN;
}

/* What may be nothing on one rank does not become more by being counted on all: such a price is only ever lowered. */
static bool is_for_job(const hu_finding *x, const hu_joint_cause *c)
{
    return x->least_share > 0 || c->price.gain_pct < x->gain_pct;
}

/* All findings of one rank whose cause was taken away from all. */
static void price_causes(hu_findings *f, const hu_joint_replay *job, double step_ns)
{
    for (size_t i = f->n; i-- > 0;) {
        const hu_joint_cause *c = f->at[i].cause ? hu_joint_causes_find(&job->causes, f->at[i].cause) : NULL;

        if (!c || !is_for_job(&f->at[i], c) || is_beyond_repair(f) || !is_beyond_error(f, c, job))
            continue;
        if (!is_worth(&f->at[i], c))
            pass(f, i);
        else
            take_job_price(&f->at[i], c, job, step_ns);
    }
}

static bool has_rule(const hu_findings *f, hu_rule rule)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].rule == rule)
            return true;
    return false;
}

/* What is worth nothing to one rank alone, and something to the job. */
static void add_cause(hu_findings *f, const hu_finding *told, bool is_priced, const hu_joint_replay *job, double step_ns)
{
    const hu_joint_cause *c = hu_joint_causes_find(&job->causes, told->cause);
    size_t                kept = 0;

    if (!c || !(told->least_share > 0) || !is_worth(told, c) || !is_beyond_error(f, c, job) || has_rule(f, told->rule) ||
        f->n == HU_FINDINGS)
        return;
    f->at[f->n++] = *told;
    if (!is_priced)
        take_job_price(&f->at[f->n - 1], c, job, step_ns);
    f->at[f->n - 1].before_ns = step_ns;
    f->at[f->n - 1].after_ns = step_ns * (1 - f->at[f->n - 1].gain_pct / 100);
    for (size_t i = 0; i < f->n_passed; i++)
        if (f->passed[i] != told->rule)
            f->passed[kept++] = f->passed[i];
    f->n_passed = kept;
}

/* Of another rank: its words say whose they are. */
static void add_cause_of(hu_findings *f, const hu_finding *told, long long rank, bool is_priced, const hu_joint_replay *job,
                         double step_ns)
{
    hu_finding x = *told;

    snprintf(x.statement, sizeof x.statement, "Rank %lld: %.480s", rank, told->statement);
    add_cause(f, &x, is_priced, job, step_ns);
}

static void add_causes(hu_findings *const *all, hu_digest *const *digests, size_t n, size_t shown,
                       const hu_joint_replay *job)
{
    hu_findings *f = all[shown];
    const double step_ns = step_of(digests[shown], job);

    for (size_t i = 0; i < f->n_spare; i++)
        add_cause(f, &f->spare[i], false, job, step_ns);
    for (size_t r = 0; r < n; r++) {
        const long long rank = (long long)hu_digest_rank_of(digests, r);

        if (r == shown || !all[r] || !all[r]->is_replayed || is_beyond_repair(all[r]))
            continue;
        for (size_t i = 0; i < all[r]->n; i++)
            if (all[r]->at[i].cause)
                add_cause_of(f, &all[r]->at[i], rank, true, job, step_ns);
        for (size_t i = 0; i < all[r]->n_spare; i++)
            add_cause_of(f, &all[r]->spare[i], rank, false, job, step_ns);
    }
}

/* The fixes of the job, one after the other, as far as they are findings of this rank. */
static void take_job_ladder(hu_findings *f, const hu_joint_causes *causes, double scale)
{
    f->n_ladder = 0;
    f->next_class = HU_CLASS_COUNT;
    f->next_share = NAN;
    for (size_t k = 0; k < causes->n_ladder; k++) {
        const hu_finding *x = NULL;

        for (size_t i = 0; i < f->n; i++)
            x = f->at[i].cause == causes->ladder[k].cause ? &f->at[i] : x;
        if (!x)
            return;
        f->ladder[f->n_ladder] = (hu_rung){x->rule, scale * causes->ladder[k].before_ns, scale * causes->ladder[k].after_ns};
        if (k == 0 && x->after_ns > f->ladder[0].after_ns) { /* the finding kept its own price: see is_for_job */
            f->ladder[0].after_ns = x->after_ns;
            scale = x->after_ns / causes->ladder[0].after_ns;
        }
        f->n_ladder++;
    }
}

/* Replays of all know what one rank's fix is worth to the job; where communication was not matched, they do not. */
static void share_causes(hu_findings *const *all, hu_digest *const *digests, size_t n, size_t shown,
                         const hu_joint_replay *job)
{
    if (!is_joined(job) || job->causes.n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (all[i] && all[i]->is_replayed)
            price_causes(all[i], job, step_of(digests[i], job));
    add_causes(all, digests, n, shown, job);
    for (size_t i = 0; i < n; i++) {
        if (!all[i] || !all[i]->is_replayed)
            continue;
        hu_findings_drop_general(all[i]);
        take_job_ladder(all[i], &job->causes, step_of(digests[i], job) / job->replayed_ns);
    }
}

/* Who is waited for is known without a replay; what that costs is not. */
static bool name_late_rank(hu_finding *x, const hu_joint_replay *job, hu_digest *const *digests, const hu_stragglers *s)
{
    const double share = 100 * s->wait_step_ns / job->seen_ns;

    if (s->n == 0 || !(share >= LEAST_WAIT))
        return false;
    x->gain_pct = x->after_ns = NAN;
    x->low_pct = 0;
    x->high_pct = x->free_pct = fmin(share, 100);
    x->before_ns = job->seen_ns;
    x->confidence = HU_CONFIDENCE_LOW;
    snprintf(x->statement, sizeof x->statement,
             "A rank waits %s in collectives, mostly for rank %lld. No gain is given: of the joint replay, %s.",
             hu_say_per_step(hu_as_mean(s->wait_step_ns), true).t,
             (long long)hu_digest_rank_of(digests, s->at[0].late.digest), job->why_no_price);
    return true;
}

/* Of ranks whose messages are the host's: what waits for the late rank is no communication of its own. */
static void drop_waiting(hu_findings *f, const hu_finding *straggler)
{
    static const double MOST = 0.5; /* of what the general one would save */
    size_t              kept = 0;

    for (size_t i = 0; i < f->n; i++) {
        const hu_finding *x = &f->at[i];

        if (!hu_finding_is_of_network(x) || !(straggler->gain_pct >= MOST * x->gain_pct))
            f->at[kept++] = *x;
    }
    f->n = kept;
    hu_findings_cut_ladder(f);
}

/* Host time without a name, of few ranks: whoever the others wait for so long is known, and what to look at. */
static void drop_unnamed(hu_findings *f, const hu_finding *straggler, const hu_joint_replay *job)
{
    static const double MOST = 0.8; /* of what the general one would save */

    for (size_t i = f->n; i-- > 0;) {
        const hu_joint_cause *c = hu_joint_causes_find(&job->causes, f->at[i].cause);

        if (f->at[i].rule == HU_RULE_UNRECORDED && c && 2 * c->ranks <= job->ranks &&
            straggler->gain_pct >= MOST * f->at[i].gain_pct)
            memmove(&f->at[i], &f->at[i + 1], (--f->n - i) * sizeof f->at[0]);
    }
    hu_findings_cut_ladder(f);
}

static bool has_cause(const hu_findings *f, uint64_t cause)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].cause == cause)
            return true;
    for (size_t i = 0; i < f->n_spare; i++)
        if (f->spare[i].cause == cause)
            return true;
    return false;
}

/*
 * What the late rank does and few others do is why it is late, and no second thing to mend: it is marked, and said of the
 * rank.  What most do would take the time of all.
 */
static void mark_late_rank(hu_findings *f, hu_findings *const *all, const hu_joint_replay *job, hu_finding *straggler)
{
    const hu_joint_replay_price *one = find_price(job, HU_EDIT_STRAGGLER);
    char                        *line = straggler->evidence[straggler->n_evidence];
    size_t                       n = 0;

    if (straggler->edit.rank < 0 || !one || !job->is_trusted || !all[one->digest])
        return;
    for (size_t i = 0; i < f->n; i++) {
        hu_finding           *x = &f->at[i];
        const hu_joint_cause *c = x->cause ? hu_joint_causes_find(&job->causes, x->cause) : NULL;

        x->is_of_late_rank = c && 2 * c->ranks <= job->ranks && has_cause(all[one->digest], x->cause);
        if (x->is_of_late_rank && straggler->n_evidence < HU_EVIDENCE && n < HU_EVIDENCE_BYTES)
            n += n ? (size_t)snprintf(line + n, HU_EVIDENCE_BYTES - n, ", %s", hu_rule_title(x->rule))
                   : (size_t)snprintf(line, HU_EVIDENCE_BYTES, "of rank %lld, not of most others: %s",
                                      (long long)straggler->edit.rank, hu_rule_title(x->rule));
    }
    straggler->n_evidence += n > 0;
}

void hu_findings_compare(hu_findings *const *all, hu_digest *const *digests, size_t n, size_t slowest,
                         const hu_rendezvous *r, const hu_stragglers *s, const hu_joint_replay *job)
{
    hu_findings *f = all[slowest];
    hu_finding   x = {.rule = HU_RULE_STRAGGLER, .edit = {.kind = HU_EDIT_KINDS, .rank = -1}};
    bool         is_found;

    if (!f || !f->is_replayed || n < 2)
        return;
    show_transfers(f, &r->transfers);
    for (size_t i = 0; job->is_replayed && job->is_trusted && i < n; i++)
        if (all[i] && all[i]->is_replayed) {
            limit_network(all[i], job);
            hu_findings_cut_ladder(all[i]);
        }
    if (job->is_replayed && job->is_trusted)
        share_causes(all, digests, n, slowest, job);
    if (job->is_replayed && job->is_trusted)
        add_slow_link(f, job);
    if (job->is_replayed && job->is_trusted)
        add_bubble(f, job, r, digests, n);
    if (job->is_replayed && job->is_trusted)
        add_buckets(f, job, digests[slowest]);
    hu_findings_sort(f);
    if (f->n == HU_FINDINGS)
        return;
    /* messages of the host are not replayed together, collectives are */
    if (!job->is_replayed || s->by_messages) /* who was never seen together waits for nobody that is known */
        is_found = r->matched + r->messages.matched > 0 && compare_waits(&x, all, digests, n, slowest);
    else
        is_found = job->is_trusted ? compare_replayed(&x, job, all, digests, s, r) : name_late_rank(&x, job, digests, s);
    if (!is_found)
        return;
    if (job->is_replayed && !s->by_messages)
        mark_late_rank(f, all, job, &x);
    show_stragglers(&x, r, digests, s);
    if (digests[slowest]->comm.on_host)
        drop_waiting(f, &x);
    drop_unnamed(f, &x, job);
    f->at[f->n++] = x;
    hu_findings_sort(f);
}
