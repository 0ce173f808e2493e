/* SPDX-License-Identifier: Apache-2.0
 * verdict.c - names the largest share of the step that is not compute, then what the best fix would save.
 *
 * The first sentence states what was measured.  The second is the replay's, because a share of time is no gain: removing one
 * limit exposes the next.
 */
#include "advise/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/gates.h"
#include "advise/lone_work.h"
#include "advise/say_deadlock.h"
#include "advise/say.h"
#include "advise/say_host.h"
#include "advise/say_memory.h"
#include "advise/say_steps.h"
#include "advise/topic.h"
#include "base/number.h"

static const double LEAST_SHARE = 0.10; /* below this a share is not what holds a job up */
static const double WORTH_NAMING = 0.5; /* of the idle time, for one cause to be named alone */
static const double UNLIKE = 0.25;      /* of the mean, that two steps may deviate */
static const double FEW_LOST = 0.01, FEW_OUTSIDE = 0.02;

enum { FEWEST_STEPS = 3, MOST_CLOCK_ERROR_NS = 20000 };

/* What the host does while the device has nothing to do, in words. */
static const char *const host_words[HU_ROLE_COUNT] = {
    [HU_ROLE_COMMUNICATION] = "the host is in communication calls",
    [HU_ROLE_RUNTIME] = "the host is in calls of the device runtime",
    [HU_ROLE_DATA_LOADER] = "the host waits for the data loader",
    [HU_ROLE_CPU_EXEC] = "the host runs ",
    [HU_ROLE_OTHER] = "nothing was recorded on the host",
};

static const char *const cpu_words[HU_ROLE_COUNT] = {
    [HU_ROLE_COMMUNICATION] = "communication takes",
    [HU_ROLE_DATA_LOADER] = "waiting for the data loader takes",
    [HU_ROLE_CPU_EXEC] = " take",
    [HU_ROLE_OTHER] = "unrecorded time takes",
};

/* Frames, and no operator: "Python code takes". */
static bool is_python_alone(const hu_digest *d)
{
    return d->health.kinds[HU_KIND_PYTHON] && !d->health.kinds[HU_KIND_CPU_OP];
}

/* Python code is what frames show; ranges show what is annotated. */
static const char *code_words(const hu_digest *d)
{
    const int64_t *kinds = d->health.kinds;

    return is_python_alone(d)      ? "Python code"
           : kinds[HU_KIND_PYTHON] ? "operators and Python code"
           : kinds[HU_KIND_CPU_OP] ? kinds[HU_KIND_USER] ? "operators and annotated ranges" : "operators"
                                   : "annotated ranges";
}

/* A server without requests looks like this, and so does a thread that another one keeps waiting. */
static const char wait_words[] = "every Python thread waits: for requests, a queue, a lock or another thread";
static const char wait_cpu_words[] = "waiting for requests, queues, locks or other threads takes";

static const double MOSTLY = 0.5; /* of the time without a role, that Python frames wait */

/* Is the largest part of the time in which nothing is done spent in frames that wait? */
static bool is_waiting(const hu_step_time *t, hu_role role)
{
    return role == HU_ROLE_OTHER && t->wait_ns >= MOSTLY * t->role_ns[HU_ROLE_OTHER] && t->wait_ns > 0;
}

/* Is most of the time in which nothing known is done covered by events of unknown kinds? */
static bool is_unknown(const hu_digest *d, const hu_step_time *t, hu_role role)
{
    return role == HU_ROLE_OTHER && d->health.others[0] && t->unknown_ns > 0 &&
           t->unknown_ns >= MOSTLY * t->role_ns[HU_ROLE_OTHER];
}

/* What the words for a role tell of: of the time without one, what is waited. */
static double told_ns(const hu_step_time *t, hu_role role)
{
    return is_waiting(t, role) ? t->wait_ns : t->role_ns[role];
}

static hu_role largest_host_role(const hu_step_time *t)
{
    hu_role best = HU_ROLE_COMMUNICATION;

    for (hu_role r = HU_ROLE_COMMUNICATION; r < HU_ROLE_COUNT; r++)
        if (t->role_ns[r] > t->role_ns[best])
            best = r;
    return best;
}

static const char *step_words(const hu_digest *d)
{
    return d->steps.source == HU_STEPS_NONE ? "the capture" : "each step";
}

const char *hu_verdict_whole(const hu_digest *d)
{
    return d->steps.source != HU_STEPS_NONE ? "the step" : d->host_time.is_recorded ? "the run" : "the capture";
}

typedef struct {
    char t[80];
} said_wait;

/*
 * Whom this rank waits for, where the first finding is that, and waiting is most of what its communication takes; "" else.
 * `waits_ns` becomes the waiting, per step, which is no more than the communication.
 */
static said_wait say_wait(hu_digest *const *digests, const hu_findings *f, const hu_rendezvous *r, size_t i, double comm_ns,
                          double *waits_ns)
{
    const hu_finding *first = f && f->n ? &f->at[0] : NULL;
    const double      steps = digests[i]->steps.n ? (double)digests[i]->steps.n : 1;
    said_wait         said = {""};
    double            wait;

    if (!r || !first || first->rule != HU_RULE_STRAGGLER)
        return said;
    wait = (double)r->at[i].wait_ns;
    if (r->messages.waits)
        wait += (double)(r->messages.waits[i].late_sender_ns + r->messages.waits[i].late_receiver_ns);
    *waits_ns = fmin(comm_ns, wait / steps);
    if (!(*waits_ns >= MOSTLY * comm_ns))
        return said;
    if (first->edit.rank >= 0 && first->edit.rank != hu_digest_rank_of(digests, i))
        snprintf(said.t, sizeof said.t, "waiting for rank %lld", (long long)first->edit.rank);
    else
        snprintf(said.t, sizeof said.t, "waiting for other ranks");
    return said;
}

bool hu_verdict_is_of_kernels(const hu_digest *d)
{
    const hu_step_time *t = hu_digest_step_time(d);

    return t && d->breakdown.has_device && d->deadlock.n == 0 &&
           fmax(t->idle_ns, fmax(t->exposed_comm_ns, t->exposed_copy_ns)) < LEAST_SHARE * t->step_ns;
}

/* Behind what was said of the rest: what is recorded and cannot be explained, where that is much. */
static void say_unknown(const hu_digest *d, const hu_step_time *t, hu_verdict *v)
{
    const size_t n = strlen(v->text);

    if (d->health.others[0] && t->unknown_ns >= LEAST_SHARE * t->step_ns)
        snprintf(v->text + n, sizeof v->text - n,
                 " For %s of %s there are only events of unknown kinds; most of their time: %s.",
                 hu_say_share(t->unknown_ns, t->step_ns).pct, step_words(d), d->health.others);
}

/* What any thread does counts as the host's, but the GPU waits for one of them: --view idle looks at that alone. */
static void say_launching(const hu_digest *d, char *out, size_t room)
{
    const double unrecorded = (double)d->idle.by_cause[HU_IDLE_UNRECORDED], all = (double)d->idle.idle_ns;
    const double waits = (double)d->idle.by_cause[HU_IDLE_WAIT];

    if (!(all > 0) || d->host_time.is_recorded)
        return;
    if (unrecorded >= WORTH_NAMING * all)
        snprintf(out, room,
                 " on some thread, but on the one that launches what comes next nothing was recorded for %s of the time "
                 "between GPU operations",
                 hu_say_share(unrecorded, all).pct);
    else if (waits >= WORTH_NAMING * all)
        snprintf(out, room,
                 " on some thread, and the one that launches what comes next waits for another one for %s of the time "
                 "between GPU operations",
                 hu_say_share(waits, all).pct);
}

/* Returns which time it names. */
static hu_named say_device(const hu_digest *d, const hu_step_time *t, const char *wait, double waits_ns, hu_verdict *v)
{
    const double  most = fmax(t->idle_ns, fmax(t->exposed_comm_ns, t->exposed_copy_ns));
    const char   *step = step_words(d);
    hu_step_time  host = *t;
    hu_said_share s = hu_say_share(most, t->step_ns), cause;
    hu_role       role;
    const char   *words, *code;
    char          launching[200] = "";

    if (most < LEAST_SHARE * t->step_ns) {
        s = hu_say_share(t->compute_ns, t->step_ns);
        snprintf(v->text, sizeof v->text, "The GPU computes for %s of %s (%s): kernel time dominates.", s.pct, step, s.of);
        return (hu_named){HU_TOPIC_KERNELS, t->compute_ns / t->step_ns};
    }
    if (most == t->exposed_comm_ns && wait[0]) {
        s = hu_say_share(waits_ns, t->step_ns);
        snprintf(v->text, sizeof v->text, "Of %s, %s (%s) is %s.", step, s.pct, s.of, wait);
        return (hu_named){HU_TOPIC_COMMUNICATION, most / t->step_ns};
    }
    if (most == t->exposed_comm_ns) {
        snprintf(v->text, sizeof v->text, "Exposed communication takes %s of %s (%s).", s.pct, step, s.of);
        return (hu_named){HU_TOPIC_COMMUNICATION, most / t->step_ns};
    }
    if (most == t->exposed_copy_ns) {
        snprintf(v->text, sizeof v->text, "Exposed memory copies take %s of %s (%s).", s.pct, step, s.of);
        return (hu_named){HU_TOPIC_COPIES, most / t->step_ns};
    }
    /* the category of communication includes its kernels, which are no idle time */
    host.role_ns[HU_ROLE_COMMUNICATION] = fmax(0, t->role_ns[HU_ROLE_COMMUNICATION] - t->comm_ns);
    role = largest_host_role(&host);
    cause = hu_say_share(told_ns(&host, role), t->idle_ns);
    words = is_waiting(t, role)      ? wait_words
            : is_unknown(d, t, role) ? "the host has only events of unknown kinds"
                                     : host_words[role];
    code = words == host_words[HU_ROLE_CPU_EXEC] ? code_words(d) : "";
    if (code[0])
        say_launching(d, launching, sizeof launching);
    if (told_ns(&host, role) >= WORTH_NAMING * t->idle_ns)
        snprintf(v->text, sizeof v->text, "The GPU is idle for %s of %s (%s). For %s of that time %s%s%s.", s.pct, step,
                 s.of, cause.pct, words, code, launching);
    else
        snprintf(v->text, sizeof v->text, "The GPU is idle for %s of %s (%s), for several reasons; most often %s%s%s.",
                 s.pct, step, s.of, words, code, launching);
    hu_say_idle_host(d, t->idle_ns, v->text, sizeof v->text);
    say_unknown(d, t, v);
    return (hu_named){HU_TOPIC_IDLE, most / t->step_ns};
}

/* Where frames are all that there is, which function it is. */
static void say_own_code(const hu_digest *d, hu_verdict *v)
{
    const hu_own_code *c = &d->own_code;
    const size_t       n = strlen(v->text);

    if (c->name.n)
        snprintf(v->text + n, sizeof v->text - n, " Longest itself is %s: %s of the main thread's %s (%s), in %s call%s.",
                 hu_say_frame(c->name).t, hu_say_time((double)c->own_ns).t, hu_say_time((double)c->all_ns).t,
                 hu_say_share((double)c->own_ns, (double)c->all_ns).pct, hu_say_count(c->calls).t, hu_plural(c->calls));
}

static hu_named say_host(const hu_digest *d, const hu_step_time *t, const char *wait, double waits_ns, hu_verdict *v)
{
    const char *const     lead = d->health.quality.is_truncated ? "The file is cut and has no GPU work before the cut"
                                 : hu_digest_may_hide_gpu(d)    ? "This trace has no known GPU work"
                                                                : "This trace has no GPU work";
    static const hu_topic topics[HU_ROLE_COUNT] = {
        [HU_ROLE_COMMUNICATION] = HU_TOPIC_COMMUNICATION,
        [HU_ROLE_DATA_LOADER] = HU_TOPIC_LOADING,
        [HU_ROLE_CPU_EXEC] = HU_TOPIC_CODE,
        [HU_ROLE_OTHER] = HU_TOPIC_UNRECORDED,
    };
    hu_step_time  rest = *t;
    hu_role       role;
    hu_said_share s;

    rest.role_ns[HU_ROLE_RUNTIME] = 0;
    role = largest_host_role(&rest);
    if (is_unknown(d, t, role) && !is_waiting(t, role)) {
        s = hu_say_share(t->unknown_ns, t->step_ns);
        snprintf(
            v->text, sizeof v->text,
            "Nobody can tell what takes most of the time: for %s of %s (%s) the trace has only events of unknown kinds, "
            "no GPU work, operator, call or range. Most of their time: %s.",
            s.pct, step_words(d), s.of, d->health.others);
        if (v->confidence > HU_CONFIDENCE_LOW)
            v->confidence = HU_CONFIDENCE_LOW;
        return (hu_named){HU_TOPIC_UNRECORDED, t->role_ns[role] / t->step_ns};
    }
    s = hu_say_share(role == HU_ROLE_COMMUNICATION && wait[0] ? waits_ns : told_ns(t, role), t->step_ns);
    snprintf(v->text, sizeof v->text, "%s. On the host, %s%s %s of %s (%s).", lead,
             role == HU_ROLE_COMMUNICATION                      ? wait
             : role == HU_ROLE_CPU_EXEC && !is_waiting(t, role) ? code_words(d)
                                                                : "",
             role == HU_ROLE_COMMUNICATION && wait[0]                                 ? " takes"
             : role == HU_ROLE_CPU_EXEC && is_python_alone(d) && !is_waiting(t, role) ? " takes"
             : is_waiting(t, role)                                                    ? wait_cpu_words
                                                                                      : cpu_words[role],
             s.pct, step_words(d), s.of);
    if (role == HU_ROLE_CPU_EXEC && !is_waiting(t, role))
        say_own_code(d, v);
    say_unknown(d, t, v);
    return (hu_named){is_waiting(t, role) ? HU_TOPIC_WAITS : topics[role], t->role_ns[role] / t->step_ns};
}

__attribute__((format(printf, 3, 4))) static void doubt(hu_verdict *v, hu_confidence at_most, const char *format, ...)
{
    va_list args;

    if (v->confidence > at_most)
        v->confidence = at_most;
    if (v->n_reasons == HU_COUNT(v->reasons))
        return;
    va_start(args, format);
    vsnprintf(v->reasons[v->n_reasons++], sizeof v->reasons[0], format, args);
    va_end(args);
}

/* Of processes that were not recorded from inside only CPU time and states are known: is that much of the run? */
static void doubt_outside(const hu_digest *d, hu_verdict *v)
{
    const hu_outside *o = &d->outside;
    bool              is_much = (double)o->cpu_ns > FEW_OUTSIDE * (double)d->info.command_cpu_ns;

    for (size_t i = 0; i < o->n; i++)
        is_much = is_much || (double)o->at[i].life_ns > FEW_OUTSIDE * d->host_time.wall_ns;
    if (o->n && is_much)
        doubt(v, HU_CONFIDENCE_MEDIUM, "%zu process%s not recorded from inside (%.*s: --view outside says why)", o->n,
              o->n == 1 ? "" : "es", HU_FMT(o->at[0].name));
}

static void judge(const hu_digest *d, hu_verdict *v)
{
    const hu_quality *q = &d->health.quality;
    const int64_t     lost = hu_quality_lost(q);

    v->confidence = HU_CONFIDENCE_HIGH;
    if (hu_is_memory_only(d))
        ; /* nothing in it is by steps */
    else if (d->steps.source == HU_STEPS_NONE && d->host_time.is_recorded && !d->breakdown.has_device)
        doubt(v, HU_CONFIDENCE_MEDIUM, "no steps found: the whole run counts as one step");
    else if (d->steps.source == HU_STEPS_NONE)
        doubt(v, HU_CONFIDENCE_LOW, "no steps found: the whole capture counts as one step");
    else if (d->steps.n_counted == 2 && d->steps.duration.stddev > UNLIKE * d->steps.duration.mean)
        doubt(v, HU_CONFIDENCE_LOW, "only 2 complete steps, and they differ: %s \302\261 %s",
              hu_say_time(d->steps.duration.mean).t, hu_say_time(d->steps.duration.stddev).t);
    else if (d->steps.n_counted < FEWEST_STEPS)
        doubt(v, HU_CONFIDENCE_MEDIUM, d->steps.n_counted ? "only %zu complete step%s" : "no complete step",
              d->steps.n_counted, hu_plural((int64_t)d->steps.n_counted));
    if (d->steps.is_backlog)
        doubt(v, HU_CONFIDENCE_LOW, "all GPU operations in these steps were launched before the capture");
    if (d->steps.source == HU_STEPS_STRUCTURE)
        doubt(v, HU_CONFIDENCE_MEDIUM, "steps inferred from repeating work (%d %% match)", (int)(100 * d->steps.confidence));
    if (q->is_truncated)
        doubt(v, HU_CONFIDENCE_LOW, "the file is cut at byte %lld", (long long)q->truncated_at);
    if ((double)lost > FEW_LOST * (double)q->events)
        doubt(v, HU_CONFIDENCE_MEDIUM, "%s of %s events %s unusable", hu_say_count(lost).t, hu_say_count(q->events).t,
              lost == 1 ? "is" : "are");
    if (d->info.nccl_rank)
        doubt(v, HU_CONFIDENCE_MEDIUM, "NCCL calls this process rank %lld, its environment rank %lld: one of them is wrong",
              (long long)d->info.nccl_rank - 1, (long long)d->info.rank);
    if (d->info.command_signal)
        doubt(v, HU_CONFIDENCE_HIGH, "the command died of signal %d (%s)", (int)d->info.command_signal,
              strsignal((int)d->info.command_signal));
    if (d->info.opencl == 2 && d->gpu_time.n_slices)
        doubt(v, HU_CONFIDENCE_MEDIUM,
              "the OpenCL device (\"GPU\" here) is the host's own cores: each takes time from the other");
    if (d->info.opencl_error_ns > MOST_CLOCK_ERROR_NS && d->gpu_time.n_slices)
        doubt(v, HU_CONFIDENCE_MEDIUM, "the clock of the OpenCL device is known to within %s",
              hu_say_time((double)d->info.opencl_error_ns).t);
    if (d->info.opencl_users && d->gpu_time.n_slices)
        doubt(v, HU_CONFIDENCE_MEDIUM, "%lld command%s waited for a user event of OpenCL: that delay stays as it is",
              (long long)d->info.opencl_users, hu_plural(d->info.opencl_users));
    doubt_outside(d, v);
    if (d->health.missing & 1u << HU_MISSING_DEVICE)
        doubt(v, HU_CONFIDENCE_LOW, "work was launched on a GPU, but no GPU operation was recorded");
    if (d->health.gpu_processes > 1)
        doubt(v, HU_CONFIDENCE_LOW,
              "GPU work of %s%lld processes is in this file and counts as that of one rank: pass a file of each",
              d->health.gpu_processes > 8 ? "more than " : "",
              (long long)(d->health.gpu_processes > 8 ? 8 : d->health.gpu_processes));
    if (d->gpu_time.n_slices && (double)d->health.unlinked_kernels > 0.1 * (double)d->gpu_time.n_slices)
        doubt(v, HU_CONFIDENCE_MEDIUM, "%s of %s GPU operations have no launch in the trace",
              hu_say_count(d->health.unlinked_kernels).t, hu_say_count((int64_t)d->gpu_time.n_slices).t);
}

size_t hu_verdict_slowest(hu_digest *const *digests, size_t n)
{
    const hu_step_time *slowest = NULL;
    size_t              best = 0;

    if (n > 1 && hu_is_memory_only(digests[0]))
        return hu_memory_shown(digests, n);
    for (size_t i = 0; i < n; i++) {
        const hu_step_time *t = hu_digest_step_time(digests[i]);

        if (t && (!slowest || t->step_ns > slowest->step_ns)) {
            slowest = t;
            best = i;
        }
    }
    return best;
}

/* What saves no more than a bound, of findings that have no gain; NULL: of others. */
static const char *bound_words(const hu_finding *best)
{
    return best->rule == HU_RULE_HOT_CODE || hu_lone_work_is_bound(best) ? "faster code saves"
           : best->rule == HU_RULE_SLOW_READER                           ? "a quicker reader of that pipe saves"
           : best->rule == HU_RULE_KERNEL_CALLS                          ? "fewer of these system calls save"
           : best->rule == HU_RULE_THROTTLING && isnan(best->gain_pct)
               ? "the GPU's clock was lowered; its highest would save"
               : NULL;
}

/* Appended to the sentence that states the shares. */
static void say_price(const hu_digest *d, const hu_findings *f, hu_named named, hu_verdict *v)
{
    const size_t      n = strlen(v->text), room = sizeof v->text - n;
    const hu_finding *best = f->n && !hu_finding_is_of_capture(&f->at[0]) ? &f->at[0] : NULL;

    if (f->n == 0 && f->is_trusted && !d->breakdown.has_device && hu_say_is_waiting(d))
        return; /* what it waits for is named, and is no work of its own */
    if (f->n == 0 && !d->breakdown.has_device && is_unknown(d, hu_digest_step_time(d), HU_ROLE_OTHER))
        return; /* that nobody can tell is said */
    if (f->n == 0 && f->is_trusted && named.topic == HU_TOPIC_CODE && d->own_code.name.n)
        snprintf(v->text + n, room, " How much faster that code could be is not in a trace.");
    else if (!best && f->n && f->at[0].rule == HU_RULE_CAPTURE)
        snprintf(
            v->text + n, room,
            " This capture holds the making of CUDA graphs, which a job does once: record a part of the run behind it.");
    else if (!best && f->n)
        snprintf(v->text + n, room, " Only the first captured step is slow, which does not count: the capture begins cold.");
    else if (!best)
        snprintf(v->text + n, room, " %s.", hu_findings_none(f).t);
    else if (best->rule == HU_RULE_GO_WAITS)
        return; /* it is what the sentence before says */
    else if (bound_words(best))
        snprintf(v->text + n, room, " Look there first: %s at most %s, how much is not in a recording.", bound_words(best),
                 hu_say_pct(best->high_pct).t);
    else if (isnan(best->gain_pct))
        snprintf(v->text + n, room, " The gain of a fix cannot be computed from this trace.");
    else
        snprintf(v->text + n, room, "%s %s: %s. Fixing it would cut %s from %s to %s (%s %%)%s.", hu_topic_say(named, f).t,
                 best->confidence == HU_CONFIDENCE_LOW ? "A guess, to be checked first" : "Fix first",
                 hu_rule_title(best->rule), hu_verdict_whole(d), hu_say_time(best->before_ns).t,
                 hu_say_time(best->after_ns).t, hu_say_saving(best->gain_pct).t, hu_topic_say_more(named, f).t);
}

/* The first check that is red; where no point is given, the first that forbids it. */
static void doubt_replay(const hu_findings *f, hu_verdict *v)
{
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        if (f->check.grade[i] != HU_GRADE_RED || (!f->is_trusted && !hu_check_is_decisive(i)))
            continue;
        doubt(v, f->is_trusted ? HU_CONFIDENCE_MEDIUM : HU_CONFIDENCE_LOW, "%s", hu_check_say(&f->check, i).t);
        return;
    }
}

/* The answer names the first fix and its gain.  A guess is called one there, and takes no more from the rest of it. */
static void doubt_price(const hu_findings *f, hu_verdict *v)
{
    static const double MUCH = 0.75; /* of the gain: what is left at least */
    const hu_finding   *best = f->n && !hu_finding_is_of_capture(&f->at[0]) ? &f->at[0] : NULL;

    if (!best || isnan(best->gain_pct) || bound_words(best) || best->confidence == HU_CONFIDENCE_HIGH ||
        v->confidence < HU_CONFIDENCE_HIGH)
        return;
    if (best->low_pct < MUCH * best->gain_pct)
        doubt(v, HU_CONFIDENCE_MEDIUM, "the first fix may save anything from %s to %s",
              best->low_pct < 0.5 ? "nothing" : hu_say_pct(best->low_pct).t, hu_say_pct(best->high_pct).t);
    else
        doubt(v, HU_CONFIDENCE_MEDIUM, "the gain of the first fix has %s confidence", hu_confidence_name(best->confidence));
}

/* Nothing here is known to be work of a GPU, an operator or a call. */
static void say_others(const hu_digest *d, hu_verdict *out)
{
    if (hu_health_is_unknown(&d->health) && d->health.others[0])
        snprintf(
            out->text, sizeof out->text,
            "Nobody can tell what takes the time: the trace has %s events with a duration, and none is known as GPU work, "
            "an operator, a call or a range. Most of their time: %s. All of them, by name: holdup query FILE 'select name, "
            "count(*), sum(dur_ns) from slice group by 1 order by 3 desc'.",
            hu_say_count(d->health.kinds[HU_KIND_OTHER]).t, d->health.others);
    else if (d->hot.samples)
        hu_say_samples(d, out->text, sizeof out->text);
    else
        snprintf(out->text, sizeof out->text, "The trace has no time to explain: %s.",
                 d->health.quality.events ? "none of its events takes any" : "it has no events");
}

/* Behind all that is said of the mean step, which may be no step's length. */
static void say_slow_steps(const hu_digest *d, hu_verdict *v)
{
    const hu_steps_words said = hu_say_slow(d);
    const size_t         n = strlen(v->text);

    if (hu_digest_step_time(d) && !d->steps.is_backlog && !d->deadlock.n && n + strlen(said.t) < sizeof v->text)
        memcpy(v->text + n, said.t, strlen(said.t) + 1);
}

void hu_verdict_measure(hu_digest *const *digests, hu_findings *const *all, size_t n, const hu_rendezvous *r,
                        hu_verdict *out)
{
    const hu_step_time *slowest;
    const hu_findings  *f;
    said_wait           wait = {""};
    double              waits_ns = 0;
    hu_named            named = {0};

    *out = (hu_verdict){.rank = hu_verdict_slowest(digests, n)};
    slowest = hu_digest_step_time(digests[out->rank]);
    f = all[out->rank];
    judge(digests[out->rank], out);
    if (slowest)
        wait = say_wait(digests, f, r, out->rank,
                        digests[out->rank]->breakdown.has_device ? slowest->exposed_comm_ns
                                                                 : slowest->role_ns[HU_ROLE_COMMUNICATION],
                        &waits_ns);
    if (!slowest && digests[out->rank]->steps.is_cut)
        snprintf(out->text, sizeof out->text,
                 "The file may be cut before the GPU operations of %s are complete, so GPU busy time and gains are "
                 "unknown. Copy or record the trace again%s.",
                 hu_steps_cut_words(&digests[out->rank]->steps),
                 digests[out->rank]->steps.is_selected ? ", or select other steps" : "");
    else if (hu_is_memory_only(digests[out->rank]))
        hu_say_memory(digests[out->rank], out->text, sizeof out->text);
    else if (!slowest || !(slowest->step_ns > 0))
        say_others(digests[out->rank], out);
    else if (digests[out->rank]->steps.is_backlog)
        snprintf(out->text, sizeof out->text, "Nobody can tell what takes the time: %s.", hu_say_backlog());
    else if (digests[out->rank]->deadlock.n)
        hu_say_deadlock(&digests[out->rank]->deadlock, out->text, sizeof out->text);
    else if (digests[out->rank]->breakdown.has_device)
        named = say_device(digests[out->rank], slowest, wait.t, waits_ns, out);
    else if (digests[out->rank]->host_time.is_recorded)
        named = hu_say_main_thread(digests[out->rank], out->text, sizeof out->text, n);
    else
        named = say_host(digests[out->rank], slowest, wait.t, waits_ns, out);
    if (slowest && digests[out->rank]->breakdown.has_device)
        snprintf(out->text + strlen(out->text), sizeof out->text - strlen(out->text), "%s",
                 hu_say_rest(digests[out->rank]).t);
    out->is_of_network = named.topic == HU_TOPIC_COMMUNICATION && !wait.t[0];
    if (!f || !f->is_replayed || !slowest || digests[out->rank]->deadlock.n) {
        say_slow_steps(digests[out->rank], out);
        return;
    }
    named.is_of_one_rank = n == 1 && digests[out->rank]->info.world_size > 1;
    say_price(digests[out->rank], f, named, out);
    say_slow_steps(digests[out->rank], out);
    if (f->covered < 1)
        doubt(out, HU_CONFIDENCE_MEDIUM, "the replay covers only the first %s of the run", hu_say_pct(100 * f->covered).t);
    doubt_replay(f, out);
    doubt_price(f, out);
}

/* Before what is there, if there is room for all of it. */
static bool put_before(hu_verdict *v, const char *words, const char *between)
{
    const size_t n = strlen(words), more = n + strlen(between), have = strlen(v->text);

    if (n == 0 || more + have >= sizeof v->text)
        return false;
    memmove(v->text + more, v->text, have + 1);
    memcpy(v->text, words, n);
    memcpy(v->text + n, between, more - n);
    return true;
}

void hu_verdict_lead(hu_verdict *v, const char *cause)
{
    char *first = v->text + strlen(cause) + 2;

    if (put_before(v, cause, ": ") && first[0] >= 'A' && first[0] <= 'Z' && first[1] >= 'a' && first[1] <= 'z')
        first[0] = (char)(first[0] - 'A' + 'a');
}

void hu_verdict_precede(hu_verdict *v, const char *sentences)
{
    put_before(v, sentences, " ");
}

void hu_verdict_doubt_unread(hu_verdict *v, size_t unread, size_t n_read)
{
    if (unread)
        doubt(v, HU_CONFIDENCE_MEDIUM, "%zu of %zu inputs could not be read", unread, unread + n_read);
}

void hu_verdict_doubt_runs(hu_verdict *v, const hu_roster *roster)
{
    if (roster->mixes_runs && roster->n_twice == 0)
        doubt(v, HU_CONFIDENCE_LOW,
              "the files name no ranks and are of different tools or GPUs, or hold CPU samples alone: no ranks of one job; "
              "name those of one run");
    else if (roster->mixes_runs)
        doubt(v, HU_CONFIDENCE_LOW, "rank %lld occurs more than once: several runs, or copies; name the files of one run",
              (long long)roster->twice[0]);
}
