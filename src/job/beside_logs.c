/* SPDX-License-Identifier: Apache-2.0
 * beside_logs.c - what programs printed, beside the traces: is it of the same run, and where in it do the traces lie?
 *
 * A profiler takes time of its own, so a capture's steps may be longer than those of the log around it; a log that prints
 * times of day tells apart which.  Lines are printed when a step has ended, so a step's time lies before that of its line.
 */
#include <math.h>
#include <stdarg.h>

#include "ingest/nccl_inspector.h"
#include "ingest/nsys_stats.h"
#include "ingest/step_log.h"
#include "job/fitting.h"

static const double SAME = 0.1;   /* of a step, that the two may differ */
static const double WHOLE = 0.05; /* of a step of the traces, that a whole number of them may miss the log's */
static const double FAR = 2;      /* times: no profiler does that to all steps */
static const double FEWEST_PARTS = 2, MOST_PARTS = 64;

/* reading */

/* Files of NCCL's Inspector are of processes of one job, so the first of them stands for all.  NULL: there is none. */
static hu_beside_log *calls_of(const hu_beside *b)
{
    for (size_t i = 0; i < b->n_logs; i++)
        if (b->logs[i].log.inspector.n_files)
            return &b->logs[i];
    return NULL;
}

static int read_log(hu_beside *out, const char *file, const hu_log_how *how, const hu_limits *limits, hu_arena *arena,
                    hu_error *err)
{
    const hu_input_options options = {.limits = *limits};
    hu_input              *in = hu_input_open(file, &options, err);
    hu_beside_log         *l = &out->logs[out->n_logs], *calls;
    int                    rc;

    if (!in)
        return err->code;
    *l = (hu_beside_log){.file = file, .log = {.writer = HU_STR("")}, .trace_ns = NAN, .ratio = NAN, .then_ns = NAN};
    calls = hu_inspector_probe(hu_input_head(in)) ? calls_of(out) : NULL;
    rc = hu_step_log_read(in, how, arena, calls ? &calls->log : &l->log, err);
    out->n_logs += rc == 0 && !calls;
    hu_input_close(in);
    return rc;
}

int hu_beside_logs_read(const hu_inputs *files, const hu_log_how *how, const hu_limits *limits, hu_arena *arena,
                        hu_beside *out, hu_unread_list *unread, hu_error *err)
{
    out->logs = hu_arena_calloc(arena, files->n + 1, sizeof *out->logs);
    if (!out->logs)
        return hu_fail_memory(err);
    for (size_t i = 0; i < files->n; i++) {
        hu_error why = {0};

        if (read_log(out, files->at[i], how, limits, arena, &why) < 0 &&
            (why.code == HU_ENOMEM || hu_unread_add_error(unread, arena, files->at[i], &why, err) < 0))
            return hu_fail_memory(err);
    }
    for (size_t i = 0; i < out->n_logs; i++)
        if (!hu_step_log_measure(&out->logs[i].log, arena, &out->logs[i].says))
            return hu_fail_memory(err);
    return 0;
}

static int read_sums(hu_beside_sums *s, const hu_limits *limits, hu_arena *arena, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(s->file, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_nsys_stats_read(in, arena, &s->sums, err);
    hu_input_close(in);
    return rc < 0 || hu_nsys_sums_measure(&s->sums, arena, &s->says) ? rc : hu_fail_memory(err);
}

int hu_beside_sums_read(const hu_inputs *files, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                        hu_unread_list *unread, hu_error *err)
{
    out->sums = hu_arena_calloc(arena, files->n + 1, sizeof *out->sums);
    if (!out->sums)
        return hu_fail_memory(err);
    for (size_t i = 0; i < files->n; i++) {
        hu_beside_sums *s = &out->sums[out->n_sums];
        hu_error        why = {0};

        *s = (hu_beside_sums){.file = files->at[i], .sums = {.sqlite = HU_STR(""), .report = HU_STR("")}};
        if (read_sums(s, limits, arena, &why) == 0)
            out->n_sums++;
        else if (why.code == HU_ENOMEM || hu_unread_add_error(unread, arena, files->at[i], &why, err) < 0)
            return hu_fail_memory(err);
    }
    return 0;
}

/* does it fit? */

static hu_log_fit fit_of(double ratio)
{
    const double parts = round(ratio);

    return !isfinite(ratio)                                                                   ? HU_LOG_FIT_UNKNOWN
           : fabs(ratio - 1) <= SAME                                                          ? HU_LOG_FIT_SAME
           : parts >= FEWEST_PARTS && parts <= MOST_PARTS && fabs(ratio / parts - 1) <= WHOLE ? HU_LOG_FIT_PARTS
           : ratio < 1                                                                        ? HU_LOG_FIT_LONGER
                                                                                              : HU_LOG_FIT_SHORTER;
}

/* Which steps were printed in the time of the traces, and their median. */
static void find_steps(hu_fitting *f, hu_beside_log *l, int64_t from, int64_t to)
{
    const hu_step_log *log = &l->log;
    int64_t           *ns = hu_arena_alloc(f->arena, (log->steps.n + 1) * sizeof *ns);
    size_t             n = 0;

    if (!ns) {
        f->rc = hu_fail_memory(f->err);
        return;
    }
    for (size_t i = 0; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];

        if (s->at_ns < from || s->at_ns > to)
            continue;
        l->first_step = n ? l->first_step : s->iteration;
        l->last_step = s->iteration;
        ns[n++] = s->ns;
    }
    l->clock = n ? HU_LOG_CLOCK_FITS : HU_LOG_CLOCK_APART;
    l->then_ns = n && !l->says.has_no_unit ? hu_stats_of(ns, n).median : NAN;
}

/* A line of a step comes when it has ended: of a capture of few steps it may lie behind. */
static void fit_clock(hu_fitting *f, hu_beside_log *l)
{
    const hu_log_step *first = l->log.steps.n ? &l->log.steps.at[0] : NULL;
    const hu_log_step *last = first ? &l->log.steps.at[l->log.steps.n - 1] : NULL;
    int64_t            from, to, after = 0;

    if (!first || !last->at_ns)
        return;
    if (!hu_fit_wall(f->job, &from, &to)) {
        l->clock = HU_LOG_CLOCK_TRACES;
        return;
    }
    if (l->says.step.n && !l->says.has_no_unit)
        after = (int64_t)l->says.step.median * (l->says.covers > 0 ? l->says.covers : 1);
    find_steps(f, l, from, to + after);
    if (l->clock != HU_LOG_CLOCK_APART)
        return;
    if (last->at_ns < from)
        hu_fit_doubt(f, hu_str_of(l->file), "its last step was printed %s before the traces begin%s: is it of another run?",
                     hu_fit_say_apart(from - last->at_ns).t,
                     l->log.has_zone ? "" : " (it names no time zone, and was read in that of this machine)");
    else if (first->at_ns > to)
        hu_fit_doubt(f, hu_str_of(l->file), "its first step was printed %s after the traces end%s: is it of another run?",
                     hu_fit_say_apart(first->at_ns - to).t,
                     l->log.has_zone ? "" : " (it names no time zone, and was read in that of this machine)");
}

void hu_fit_log(hu_fitting *f, hu_beside_log *l, const hu_digest *shown)
{
    const int64_t world = f->job->roster.world_size;

    if (hu_digest_step_count(shown))
        l->trace_ns = shown->steps.duration.median;
    l->ratio = l->says.step.n && !l->says.has_no_unit ? l->says.step.median / l->trace_ns : NAN;
    l->fit = fit_of(l->ratio);
    if ((l->fit == HU_LOG_FIT_LONGER || l->fit == HU_LOG_FIT_SHORTER) && fmax(l->ratio, 1 / l->ratio) >= FAR)
        hu_fit_doubt(f, hu_str_of(l->file), "its median step takes %s, and the traces' %s: is it of another run?",
                     hu_say_time(l->says.step.median).t, hu_say_time(l->trace_ns).t);
    fit_clock(f, l);
    if (world > 0 && l->log.nccl.ranks > world)
        hu_fit_doubt(f, hu_str_of(l->file), "has a communicator of %lld ranks, and the traces are of a job of %lld",
                     (long long)l->log.nccl.ranks, (long long)world);
}

/* in words */

__attribute__((format(printf, 4, 5))) static size_t say(char *text, size_t room, size_t n, const char *format, ...)
{
    va_list list;
    int     more;

    if (n + 1 >= room)
        return n;
    va_start(list, format);
    more = vsnprintf(text + n, room - n, format, list);
    va_end(list);
    return more < 0 ? n : n + (size_t)more < room ? n + (size_t)more : room - 1;
}

static size_t say_fit(const hu_beside_log *l, char *text, size_t room)
{
    const hu_said log = hu_say_time(l->says.step.median), trace = hu_say_time(l->trace_ns);

    switch (l->fit) {
    case HU_LOG_FIT_SAME:
        return say(text, room, 0,
                   "The log's median step of %s is the traces' of %s: they are of one run, as far as that tells.", log.t,
                   trace.t);
    case HU_LOG_FIT_PARTS:
        return say(
            text, room, 0,
            "The log's median step of %s is %.0f of the traces' of %s: a step of the log may be that many micro-batches.",
            log.t, round(l->ratio), trace.t);
    case HU_LOG_FIT_LONGER:
        return say(text, room, 0,
                   "The traces' median step of %s is %s longer than the log's of %s: the profiler slows the job, or the log "
                   "is of another run.",
                   trace.t, hu_say_pct(100 / l->ratio - 100).t, log.t);
    case HU_LOG_FIT_SHORTER:
        return say(text, room, 0,
                   "The traces' median step of %s is %s shorter than the log's of %s: the captured steps are not like the "
                   "others, or the log is of another run.",
                   trace.t, hu_say_pct(100 - 100 / l->ratio).t, log.t);
    case HU_LOG_FIT_UNKNOWN:
        return say(text, room, 0, "%s, so that nothing says whether both are of one run.",
                   l->says.has_no_unit  ? "The log does not say the unit of its times (give it with --time-unit s, ms or us)"
                   : isnan(l->trace_ns) ? "The traces have no steps"
                                        : "The log has no times of steps");
    }
    return 0;
}

size_t hu_beside_say_log(const hu_beside_log *l, char *text, size_t room)
{
    size_t n;

    text[0] = '\0';
    if (l->log.steps.n == 0)
        return 0;
    n = say_fit(l, text, room);
    switch (l->clock) {
    case HU_LOG_CLOCK_NONE:
        return say(text, room, n, " They cannot be aligned: the log prints no time of day.");
    case HU_LOG_CLOCK_TRACES:
        return say(text, room, n, " They cannot be aligned: the traces do not say when they were taken.");
    case HU_LOG_CLOCK_APART:
        return say(text, room, n, " By its clock no step was printed in the time of the traces.");
    case HU_LOG_CLOCK_FITS:
        n = l->first_step == l->last_step
                ? say(text, room, n, " By its clock the traces lie at its step %lld", (long long)l->last_step)
                : say(text, room, n, " By its clock the traces lie at its steps %lld to %lld", (long long)l->first_step,
                      (long long)l->last_step);
        n = say(text, room, n, "%s",
                l->log.has_zone ? "" : " (if its times are those of this machine's zone: they name none)");
        return isnan(l->then_ns) ? say(text, room, n, ".")
                                 : say(text, room, n, ", which took %s in the log.", hu_say_time(l->then_ns).t);
    }
    return n;
}

/* "NCCL_IB_DISABLE set by environment to 1"; NULL: not said. */
static const char *disabled(const hu_log_nccl *nccl)
{
    for (size_t i = 0; i < nccl->settings.n; i++) {
        const hu_str text = nccl->settings.at[i].text;

        if (hu_str_has(text, HU_STR("NCCL_IB_DISABLE")) && !hu_str_ends(text, HU_STR(" 0")) &&
            !hu_str_ends(text, HU_STR(" 0.")))
            return text.p; /* copies in an arena end in a NUL */
    }
    return NULL;
}

size_t hu_beside_say_transport(const hu_beside *b, char *text, size_t room)
{
    text[0] = '\0';
    for (size_t i = 0; i < b->n_logs; i++) {
        const hu_log_nccl *nccl = &b->logs[i].log.nccl;
        const char        *set = disabled(nccl);

        if (nccl->n_socket == 0)
            continue;
        if (nccl->ib_devices.n || set)
            return say(text, room, 0, "NCCL sends over TCP sockets%s%s%s%s",
                       nccl->ib_devices.n ? ", although it found InfiniBand or RoCE devices" : "", set ? " (" : "",
                       set ? set : "", set ? ")" : "");
        return say(text, room, 0, "NCCL sends over TCP sockets%s",
                   nccl->n_no_ib ? ", as it found no InfiniBand or RoCE device" : "");
    }
    return 0;
}

size_t hu_beside_say_oom(const hu_beside *b, char *text, size_t room)
{
    text[0] = '\0';
    for (size_t i = 0; i < b->n_logs; i++) {
        const hu_log_words *oom = &b->logs[i].log.oom;

        if (oom->n)
            return say(text, room, 0, "The program ran out of GPU memory (%.100s, line %llu): %.*s.",
                       hu_str_base_name(hu_str_of(b->logs[i].file)).p, (unsigned long long)oom->line, HU_FMT(oom->text));
    }
    return 0;
}

/* evidence */

static bool is_about(hu_rule rule, hu_log_role role)
{
    return role == HU_LOG_DATA   ? rule == HU_RULE_DATA_LOADING
           : role == HU_LOG_COMM ? rule == HU_RULE_EXPOSED_COMM || rule == HU_RULE_POOR_OVERLAP ||
                                       rule == HU_RULE_COMM_BANDWIDTH || rule == HU_RULE_COMM_LATENCY
                                 : false;
}

/* The longest timer of that role; NULL: none. */
static const hu_log_share *part_about(const hu_log_answer *a, hu_rule rule)
{
    for (size_t i = 0; i < a->parts.n; i++)
        if (is_about(rule, a->parts.at[i].role) && isfinite(a->parts.at[i].share))
            return &a->parts.at[i];
    return NULL;
}

/* One more sign, while there is room. */
static void show(hu_finding *x, const char *text)
{
    if (text[0] && x->n_evidence < HU_COUNT(x->evidence))
        snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES, "%.*s", HU_EVIDENCE_BYTES - 1, text);
}

void hu_fit_evidence(const hu_beside *b, hu_findings *of)
{
    char transport[HU_EVIDENCE_BYTES];

    hu_beside_say_transport(b, transport, sizeof transport);
    for (size_t k = 0; of && k < of->n; k++) {
        hu_finding *x = &of->at[k];

        for (size_t i = 0; i < b->n_logs; i++) {
            const hu_beside_log *l = &b->logs[i];
            const hu_log_share  *part = l->ratio < FAR && l->ratio > 1 / FAR ? part_about(&l->says, x->rule) : NULL;
            char                 text[HU_EVIDENCE_BYTES] = "";

            if (part)
                say(text, sizeof text, 0, "by %.60s its timer %.*s takes %s of a step, %s",
                    hu_str_base_name(hu_str_of(l->file)).p, (int)(part->name.n < 40 ? part->name.n : 40), part->name.p,
                    hu_say_time(part->stats.median).t, hu_say_pct(100 * part->share).t);
            show(x, text);
        }
        if (is_about(x->rule, HU_LOG_COMM))
            show(x, transport);
    }
}
