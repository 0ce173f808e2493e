/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - the sentences: what the times of a log hint at, and what each would save at most. */
#include "render/step_log.h"

#include <math.h>

#include "advise/say.h"
#include "render/log_bench.h"
#include "render/log_calls.h"
#include "render/log_end.h"
#include "render/log_inspector.h"
#include "render/log_rates.h"
#include "render/log_tables.h"
#include "render/log_tuning.h"

static const double LEAST_SHARE = 0.05;  /* of a step, for a hint */
static const double LEAST_OUTSIDE = 0.2; /* of the time from a step to the next */
static const double LEAST_SLOW = 0.01;   /* of the time of all steps */

const char hu_log_why_not[] =
    "Cannot tell from a log: whether the GPU was busy or waited for the host, data or other ranks, and which operations "
    "took the time. Record a few steps: holdup run -- COMMAND, or torch.profiler.";

const char *hu_log_cannot_tell(const hu_log_report *r)
{
    if (!r->log->steps.n && !r->log->benches.n && r->log->inspector.n_files)
        return "Cannot tell from the Inspector's calls: why a rank comes late, and whether the GPU computes beside them. "
               "Record a few steps: holdup run -- COMMAND, or torch.profiler.";
    if (r->log->steps.n || (!r->log->benches.n && !r->log->bus_prints.n && !hu_tuning_is_there(&r->log->tuning)))
        return hu_log_why_not;
    if (!r->log->benches.n && !r->log->bus_prints.n)
        return "Cannot tell from results of the autotuner: what limits each configuration, and whether one that it did not "
               "try is faster. DeepSpeed measures forward, backward and step alone, so its rates are above "
               "those of training.";
    return "Cannot tell from a test of collectives that run alone: what they take in a job, where computing runs beside "
           "them and ranks come late. Record a few steps of it: holdup run -- COMMAND, or torch.profiler.";
}

const char *hu_log_role_word(hu_log_role role)
{
    static const char *const words[] = {"other", "forward", "backward", "optimizer", "communication", "data", "once"};

    return words[role];
}

hu_said hu_log_say_time(const hu_log_answer *a, double ns)
{
    hu_said said;
    double  number = ns / HU_LOG_BARE;

    if (!a->has_no_unit)
        return hu_say_time(ns);
    hu_format_fixed(said.t, number, number < 9.995 ? 3 : number < 999.95 ? 1 : 0);
    return said;
}

const char *hu_log_unit_key(hu_log_unit unit)
{
    static const char *const keys[] = {"told", "given", "rate", "clock", "unknown"};

    return keys[unit];
}

const char *hu_log_unit_words(const hu_step_log *log)
{
    static const char *const agrees[][3] = {
        {"the log does not say the unit of its times: its rates agree with seconds",
         "the log does not say the unit of its times: its rates agree with milliseconds",
         "the log does not say the unit of its times: its rates agree with microseconds"},
        {"the log does not say the unit of its times: the times of day agree with seconds",
         "the log does not say the unit of its times: the times of day agree with milliseconds",
         "the log does not say the unit of its times: the times of day agree with microseconds"}};

    if (log->unit == HU_LOG_UNIT_UNKNOWN)
        return "these are numbers as they are printed: the log does not say their unit; give it with --time-unit s, ms or "
               "us";
    if (log->unit != HU_LOG_UNIT_RATE && log->unit != HU_LOG_UNIT_CLOCK)
        return NULL;
    return agrees[log->unit == HU_LOG_UNIT_CLOCK][log->unit_s == 1 ? 0 : log->unit_s > 1e-5 ? 1 : 2];
}

const char *hu_log_interval_key(hu_log_interval interval)
{
    static const char *const keys[] = {"step", "step", "line", "unknown"};

    return keys[interval];
}

const char *hu_log_anew_key(hu_log_anew anew)
{
    static const char *const keys[] = {"unknown", "later", "ranks"};

    return keys[anew];
}

bool hu_log_anew_words(const hu_step_log *log, char *out, size_t room)
{
    static const char *const words[] = {
        ("which may be ranks one behind the other, epochs or a run that was begun anew: the log does not tell, so each line "
         "counts as a step of its own"),
        "later by the times of day: epochs, or a run that was begun anew; each line counts",
        "at the same times of day: blocks of ranks, of which the slowest counts"};

    if (log->n_anew)
        snprintf(out, room, "numbers of steps begin anew %s time%s, %s", hu_say_count((int64_t)log->n_anew).t,
                 hu_plural((int64_t)log->n_anew), words[log->anew]);
    return log->n_anew > 0;
}

static void hint_parts(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    for (size_t i = 0; i < a->parts.n; i++) {
        const hu_log_share *p = &a->parts.at[i];
        const double        ns = p->stats.median;

        if (!(p->share >= LEAST_SHARE))
            continue;
        if (p->role == HU_LOG_DATA)
            HU_LOG_SAY(hu_log_hint_add(out, n, "data_loading", ns),
                       "Data loading (%.*s) takes %s of a step, %s: with more loader workers, prefetching or a faster file "
                       "system a step would be %s shorter at most.",
                       HU_FMT(p->name), hu_say_time(ns).t, hu_say_pct(100 * p->share).t, hu_say_pct(100 * p->share).t);
        else if (p->role == HU_LOG_COMM)
            HU_LOG_SAY(
                hu_log_hint_add(out, n, "communication", ns),
                "Communication (%.*s) takes %s of a step, %s: overlapped with computing, a step would be that much shorter "
                "at most. DeepSpeed and Megatron wait for the GPU at each timer, so without timers some of it may be hidden "
                "already.",
                HU_FMT(p->name), hu_say_time(ns).t, hu_say_pct(100 * p->share).t);
    }
}

/* Numbers of an unknown unit save no time. */
static double saved(const hu_log_answer *a, double ns)
{
    return a->has_no_unit ? (double)NAN : ns;
}

static void hint_slow(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    const double share = a->run_ns > 0 ? a->slow_ns / a->run_ns : 0;
    char         when[96] = "", where[64] = "";

    if (share < LEAST_SLOW)
        return;
    if (a->has_change)
        snprintf(where, sizeof where, " before step %lld, or from it on", (long long)a->change_at);
    if (a->has_growth)
        snprintf(where, sizeof where, " around them");
    if (a->slow_period)
        snprintf(when, sizeof when, ", every %lld steps, as checkpoints and evaluations are", (long long)a->slow_period);
    HU_LOG_SAY(
        hu_log_hint_add(out, n, "slow_steps", saved(a, a->slow_ns / (double)a->run_steps)),
        "%zu of %zu %s more than 1.5 times as long as the typical step%s%s. %s cost%s %s of the time of all steps; the "
        "slowest, step %lld (line %llu), took %s.",
        a->n_slow, a->step.n,
        a->covers > 1    ? (a->n_slow == 1 ? "lines tells of steps that take" : "lines tell of steps that take")
        : a->n_slow == 1 ? "steps takes"
                         : "steps take",
        where, when, a->n_slow == 1 ? "It" : "They", a->n_slow == 1 ? "s" : "", hu_say_pct(100 * share).t,
        (long long)a->slowest->iteration, (unsigned long long)a->slowest->line,
        hu_log_say_time(a, (double)a->slowest->ns).t);
}

/* What passes between two steps and is in neither. */
static void hint_outside(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_log_answer *a = r->answer;
    const double         clock_ns = r->log->clock_s * 1e9, step = a->total_ns / (double)(a->n_steps ? a->n_steps : 1);
    const double         rest = clock_ns - fmax(step, a->step.median);

    if (a->has_no_unit || r->log->interval == HU_LOG_INTERVAL_UNKNOWN || r->log->has_falls || a->n_runs > 1 ||
        r->log->is_from_parts || !(rest > LEAST_OUTSIDE * clock_ns))
        return;
    HU_LOG_SAY(hu_log_hint_add(out, n, "outside_steps", rest),
               "By the times of day %s pass from a step to the next, and the log's own time of one is %s: %s of the time is "
               "outside of what it times (loading data before its timer starts, evaluations, checkpoints).",
               hu_say_time(clock_ns).t, hu_say_time(clock_ns - rest).t, hu_say_pct(100 * rest / clock_ns).t);
}

/* "rank 3", or the file that is a rank's. */
static void name_rank(const hu_log_report *r, char out[96])
{
    const hu_log_rank *rank = r->answer->slow_rank;

    if (rank->file.n)
        snprintf(out, 96, "The rank of %.*s", (int)(rank->file.n < 64 ? rank->file.n : 64), rank->file.p);
    else
        snprintf(out, 96, "Rank %zu", (size_t)(rank - r->log->ranks.at));
}

static void hint_rank(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_log_answer *a = r->answer;
    const size_t         others = a->n_ranks - 1;
    char                 name[96];

    if (!a->slow_rank)
        return;
    name_rank(r, name);
    HU_LOG_SAY(
        hu_log_hint_add(out, n, "slow_rank", saved(a, a->step.median * (1 - 1 / a->slow_rank_by))),
        "%s prints times of steps that are %s longer than those of the other%s%s (medians): if others wait for it, a step "
        "would be that much shorter without. Look at its node, GPU clocks and share of the data.",
        name, hu_say_pct(100 * (a->slow_rank_by - 1)).t, others == 1 ? "" : " ",
        others == 1 ? "" : hu_say_count((int64_t)others).t);
}

static void hint_change(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    const double change = a->has_change ? a->after_ns / a->before_ns - 1 : 0;

    if (change > 0)
        HU_LOG_SAY(hu_log_hint_add(out, n, "slower_since", saved(a, a->after_ns - a->before_ns)),
                   "From step %lld on, steps take %s instead of %s, %s longer: look at what changed then (clocks, a node, "
                   "sequence lengths, the file system).",
                   (long long)a->change_at, hu_log_say_time(a, a->after_ns).t, hu_log_say_time(a, a->before_ns).t,
                   hu_say_pct(100 * change).t);
    if (change < 0)
        HU_LOG_SAY(hu_log_hint_add(out, n, "faster_since", NAN), "From step %lld on, steps take %s instead of %s, %s less.",
                   (long long)a->change_at, hu_log_say_time(a, a->after_ns).t, hu_log_say_time(a, a->before_ns).t,
                   hu_say_pct(-100 * change).t);
}

static void hint_growth(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->has_growth && a->growth_ns > 0)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "grows", NAN),
            "Steps grow by %s each, from %s to %s: look at what is kept or grows from step to step (lists, caches, graphs "
            "that are not freed, sequence lengths).",
            hu_log_say_time(a, a->growth_ns).t, hu_log_say_time(a, a->first_ns).t, hu_log_say_time(a, a->last_ns).t);
    if (a->has_growth && a->growth_ns < 0)
        HU_LOG_SAY(hu_log_hint_add(out, n, "shrinks", NAN), "Steps become shorter by %s each, from %s to %s.",
                   hu_log_say_time(a, -a->growth_ns).t, hu_log_say_time(a, a->first_ns).t, hu_log_say_time(a, a->last_ns).t);
}

static void hint_restarts(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->n_repeated)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "repeated_steps", NAN),
            "The run was restarted %s time%s: %s steps were computed again, which took %s. Save checkpoints more often, if "
            "that is cheaper.",
            hu_say_count((int64_t)a->n_runs - 1).t, hu_plural((int64_t)a->n_runs - 1), hu_say_count(a->n_repeated).t,
            hu_log_say_time(a, a->repeated_ns).t);
}

/* "NCCL_IB_DISABLE set by environment to 1"; NULL: not said. */
static const char *setting_of(const hu_log_nccl *nccl, const char *name)
{
    for (size_t i = 0; i < nccl->settings.n; i++) {
        const hu_str text = nccl->settings.at[i].text;

        if (hu_str_has(text, hu_str_of(name)) && !hu_str_ends(text, HU_STR(" 0")) && !hu_str_ends(text, HU_STR(" 0.")))
            return text.p; /* copies in an arena end in a NUL */
    }
    return NULL;
}

/* A node that has none where others have it slows them all down. */
static void hint_some_direct(const hu_log_nccl *nccl, hu_log_hint *hint)
{
    const hu_log_words *without = NULL;

    for (size_t i = 0; i < nccl->indirect_hosts.n && !without; i++) {
        without = &nccl->indirect_hosts.at[i];
        for (size_t k = 0; k < nccl->direct_hosts.n && without; k++)
            if (hu_str_equal(nccl->direct_hosts.at[k].text, nccl->indirect_hosts.at[i].text))
                without = NULL;
    }
    HU_LOG_SAY(
        hint,
        "%s of %s channels over InfiniBand or RoCE do without GPUDirect RDMA%s%.*s: their data goes through host memory, "
        "and the others wait for it. Look at nvidia-peermem or DMA-BUF there, and which NIC is near the GPU.",
        hu_say_count((int64_t)nccl->n_ib).t, hu_say_count((int64_t)(nccl->n_ib + nccl->n_ib_direct)).t,
        without ? ", all of node " : "", without ? (int)(without->text.n < 64 ? without->text.n : 64) : 0,
        without ? without->text.p : "");
}

static void hint_nccl(const hu_log_nccl *nccl, hu_log_hint *out, size_t *n)
{
    const char *set = setting_of(nccl, "NCCL_IB_DISABLE");

    if (nccl->n_socket && (nccl->ib_devices.n || set))
        HU_LOG_SAY(hu_log_hint_add(out, n, "socket_beside_ib", NAN),
                   "NCCL sends over TCP sockets (%s channels)%s: InfiniBand or RoCE is many times faster. %s.",
                   hu_say_count((int64_t)nccl->n_socket).t,
                   nccl->ib_devices.n ? ", although it found InfiniBand or RoCE devices" : "",
                   set ? set : "Look at why some ranks do not use it (NCCL_IB_HCA, NCCL_SOCKET_IFNAME)");
    else if (nccl->n_socket)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "socket", NAN),
            "NCCL sends over TCP sockets (%s channels)%s. Where the nodes have InfiniBand or RoCE, its user libraries or "
            "/dev/infiniband are missing in the job's environment.",
            hu_say_count((int64_t)nccl->n_socket).t, nccl->n_no_ib ? ", as it found no InfiniBand or RoCE device" : "");
    if (nccl->n_ib && !nccl->n_ib_direct)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "no_gpudirect", NAN),
            "No connection over InfiniBand or RoCE uses GPUDirect RDMA (0 of %s channels): data goes through host memory. "
            "It needs nvidia-peermem or DMA-BUF, and a NIC near the GPU (NCCL_NET_GDR_LEVEL).",
            hu_say_count((int64_t)nccl->n_ib).t);
    else if (nccl->n_ib)
        hint_some_direct(nccl, hu_log_hint_add(out, n, "partly_gpudirect", NAN));
    if (nccl->n_shm && !nccl->n_p2p) {
        set = setting_of(nccl, "NCCL_P2P_DISABLE");
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "no_peer_to_peer", NAN),
            "GPUs of one node exchange data through host memory (%s channels by SHM, none by P2P)%s%s: NVLink or PCIe peer "
            "access is not used.",
            hu_say_count((int64_t)nccl->n_shm).t, set ? "; " : "", set ? set : "");
    }
    if (nccl->warnings.n)
        HU_LOG_SAY(hu_log_hint_add(out, n, "warnings", NAN), "NCCL warned: %.*s (line %llu%s).",
                   (int)(nccl->warnings.at[0].text.n < 200 ? nccl->warnings.at[0].text.n : 200), nccl->warnings.at[0].text.p,
                   (unsigned long long)nccl->warnings.at[0].line, nccl->warnings.n > 1 ? ", and others" : "");
}

/* Those of one saving stay as they are. */
static void sort_by_saving(hu_log_hint *hints, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const hu_log_hint hint = hints[i];
        size_t            k = i;

        for (; k && !isnan(hint.most_saved) && !(hints[k - 1].most_saved >= hint.most_saved); k--)
            hints[k] = hints[k - 1];
        hints[k] = hint;
    }
}

size_t hu_log_hints(const hu_log_report *r, hu_log_hint out[HU_LOG_HINTS])
{
    size_t n = 0;

    hu_end_hints(r, out, &n);
    hu_calls_hints(r, out, &n);
    hu_bench_hints(r->answer, out, &n);
    if (r->log->steps.n) {
        hint_parts(r->answer, out, &n);
        hint_outside(r, out, &n);
        hint_rank(r, out, &n);
        hint_slow(r->answer, out, &n);
        hint_change(r->answer, out, &n);
        hint_growth(r->answer, out, &n);
        hint_restarts(r->answer, out, &n);
    }
    hu_rates_hints(r, out, &n);
    hu_tables_hints(r, out, &n);
    hu_inspector_hints(r, out, &n);
    hint_nccl(&r->log->nccl, out, &n);
    sort_by_saving(out, n);
    return n;
}
