/* SPDX-License-Identifier: Apache-2.0
 * node.c - the sentences: which GPU was held up by what, or why that cannot be told from these samples. */
#include "render/node.h"

#include <math.h>
#include <time.h>

#include "advise/say.h"

enum { NAMED = 8 };

static const double FAR_FROM_MOST = 0.7; /* of the highest clock */
static const double LITTLE_PCT = 50;     /* a mean utilization below it is said beside "nothing" */

const char *hu_node_trouble_word(hu_node_says kind)
{
    static const char *const words[] = {"lost",       "xid",        "ecc",         "fewer_samples", "throttled",
                                        "slow_clock", "pcie_lanes", "link_errors", "rows_pending"};

    return words[kind];
}

static bool has_one_look(const hu_node_answer *a)
{
    return a->looks <= 1;
}

/* Would a lowered clock show? */
static bool can_judge(const hu_node_answer *a)
{
    return a->has_reasons || a->has_most;
}

const char *hu_node_verdict_word(const hu_node_answer *a)
{
    return a->n_troubles                       ? hu_node_trouble_word(a->troubles[0].kind)
           : a->n == 0 && a->log->topologies.n ? "topology"
           : has_one_look(a) || !can_judge(a)  ? "cannot_tell"
                                               : "none";
}

/* Several nodes may have a GPU 0. */
static bool is_of_several_hosts(const hu_node_answer *a)
{
    for (size_t i = 1; i < a->n; i++)
        if (!hu_str_equal(a->at[i].gpu->host, a->at[0].gpu->host))
            return true;
    return false;
}

/* Without hosts, files may be of several nodes. */
bool hu_node_is_of_several_files(const hu_node_answer *a)
{
    for (size_t i = 1; i < a->n; i++)
        if (!hu_str_equal(a->at[i].gpu->file, a->at[0].gpu->file))
            return true;
    return false;
}

static void say_gpu(const hu_node_answer *a, uint32_t i, hu_out *out)
{
    const hu_node_gpu *gpu = a->at[i].gpu;

    if (gpu->is_unnumbered)
        hu_out_printf(out, "GPU %.*s", HU_FMT(gpu->bus));
    else
        hu_out_printf(out, "GPU %lld", (long long)gpu->number);
    if (is_of_several_hosts(a) && gpu->host.n)
        hu_out_printf(out, " of %.*s", HU_FMT(gpu->host));
    else if (gpu->host.n == 0 && hu_node_is_of_several_files(a))
        hu_out_printf(out, " of %.*s", HU_FMT(gpu->file));
}

/* "; likewise GPUs 1, 4 and 7", of all but the first */
static void say_others(const hu_node_answer *a, const hu_node_trouble *t, hu_out *out)
{
    if (t->n < 2)
        return;
    if (t->n > NAMED) {
        hu_out_printf(out, "; likewise, or less, %zu others", t->n - 1);
        return;
    }
    hu_out_text(out, "; likewise, or less, ");
    for (size_t i = 1; i < t->n; i++) {
        hu_out_text(out, i == 1 ? "" : i + 1 == t->n ? " and " : ", ");
        say_gpu(a, t->gpus[i], out);
    }
}

static const char *cause_words(hu_gpu_reason reason)
{
    static const char *const words[HU_GPU_REASON_COUNT] = {
        [HU_GPU_REASON_POWER_CAP] = "power (its power limit)",
        [HU_GPU_REASON_SLOWDOWN] = "the hardware (a slowdown signal)",
        [HU_GPU_REASON_SYNC_BOOST] = "sync boost with another GPU",
        [HU_GPU_REASON_THERMAL] = "heat (of software)",
        [HU_GPU_REASON_HARDWARE_THERMAL] = "heat (of hardware)",
        [HU_GPU_REASON_POWER_BRAKE] = "power (the hardware's power brake)",
        [HU_GPU_REASON_BOARD_LIMIT] = "the board's limit",
        [HU_GPU_REASON_RELIABILITY] = "the reliability limit",
    };

    return reason < HU_GPU_REASON_COUNT && words[reason] ? words[reason] : "a reason that is not named";
}

static const char *short_cause(hu_gpu_reason reason)
{
    switch (reason) {
    case HU_GPU_REASON_POWER_CAP:
    case HU_GPU_REASON_POWER_BRAKE:
        return "power";
    case HU_GPU_REASON_THERMAL:
    case HU_GPU_REASON_HARDWARE_THERMAL:
        return "heat";
    default:
        return cause_words(reason);
    }
}

static void say_mhz(double mhz, double most, hu_out *out)
{
    hu_out_text(out, hu_say_count((int64_t)llround(mhz)).t);
    if (most > 0)
        hu_out_printf(out, " of %s", hu_say_count((int64_t)llround(most)).t);
    hu_out_text(out, " MHz");
}

/* "; also throttled: GPU 1 (33 %, heat) and GPU 4 (2.0 %, power)": each by its own cause */
static void say_others_throttled(const hu_node_answer *a, const hu_node_trouble *t, hu_out *out)
{
    if (t->n > NAMED) {
        hu_out_printf(out, "; %zu others were, too, for less", t->n - 1);
        return;
    }
    for (size_t i = 1; i < t->n; i++) {
        const hu_node_gpu_answer *g = &a->at[t->gpus[i]];

        hu_out_text(out, i == 1 ? "; also throttled: " : i + 1 == t->n ? " and " : ", ");
        say_gpu(a, t->gpus[i], out);
        hu_out_text(out, " (");
        if (g->looks > 1)
            hu_out_printf(out, "%s, ", hu_say_pct(100 * hu_node_lowered_share(g)).t);
        hu_out_printf(out, "%s)", short_cause(hu_node_main_reason(g)));
    }
}

/* Is the lowest clock of lowered samples lower than the others? */
static bool fell(const hu_node_gpu_answer *g)
{
    const double most = g->gpu->facts[HU_NODE_MOST_SM_MHZ];

    return g->lowered_mhz.least < (most > 0 ? most : g->of[HU_GAUGE_SM_CLOCK].most);
}

static void say_throttled(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_answer     *a = r->answer;
    const hu_node_gpu_answer *g = &a->at[t->gpus[0]];
    const bool                is_one = g->looks <= 1; /* others may have more, from other files */

    if (is_one)
        hu_out_text(out, "In the only sample ");
    say_gpu(a, t->gpus[0], out);
    hu_out_printf(out, " %s throttled by %s", is_one ? "is" : "was", cause_words(hu_node_main_reason(g)));
    if (!is_one)
        hu_out_printf(out, " for %s of the %s", hu_say_pct(100 * hu_node_lowered_share(g)).t,
                      hu_node_is_timed(g) ? "time, by the driver's counter" : "samples");
    if (g->lowered_mhz.n && (is_one || fell(g))) {
        hu_out_printf(out, "; its clock %s ", is_one ? "is" : "fell to");
        say_mhz(g->lowered_mhz.least, g->gpu->facts[HU_NODE_MOST_SM_MHZ], out);
    }
    if (is_one && !has_one_look(a))
        hu_out_text(out, "; for how long, one sample cannot tell");
    say_others_throttled(a, t, out);
    if (has_one_look(a))
        hu_out_text(out, "; for how long, one sample cannot tell");
}

static void say_slow(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_answer     *a = r->answer;
    const hu_node_gpu_answer *g = &a->at[t->gpus[0]];

    say_gpu(a, t->gpus[0], out);
    hu_out_text(out, " ran at ");
    say_mhz(g->busy_mhz.mean, g->gpu->facts[HU_NODE_MOST_SM_MHZ], out);
    hu_out_text(out, " while it was busy");
    if (g->by_reason[HU_GPU_REASON_SET_CLOCKS])
        hu_out_text(out, ", as its application clocks are set (nvidia-smi -ac MEMORY,SM sets others, -rgc unlocks)");
    else if (hu_node_is_at_limit(g))
        hu_out_printf(out, ", and at its power limit throughout (%.0f of %.0f W)", g->of[HU_GAUGE_POWER].mean,
                      g->gpu->facts[HU_NODE_LIMIT_WATTS]);
    else {
        if (g->peer_mhz > g->busy_mhz.most)
            hu_out_printf(out, ", others at %s MHz", hu_say_count((int64_t)llround(g->peer_mhz)).t);
        else
            hu_out_printf(out, ", %s MHz at best", hu_say_count((int64_t)llround(g->busy_mhz.most)).t);
        hu_out_text(out, g->reason_looks ? ", and no sample names a reason" : "; why, these samples do not say");
    }
    say_others(a, t, out);
}

static void say_links(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    static const char *const words[] = {
#define C(id, bit, words) words,
        HU_NODE_COUNTS(C)
#undef C
    };
    const hu_node_gpu_answer *g = &r->answer->at[t->gpus[0]];
    bool                      is_first = true;

    say_gpu(r->answer, t->gpus[0], out);
    hu_out_text(out, " had ");
    for (hu_node_count_kind k = HU_NODE_PCIE_REPLAYS; k <= HU_NODE_NVLINK_RECOVERIES; k++)
        if (g->last[k] > g->first[k]) {
            hu_out_printf(out, "%s%s %s", is_first ? "" : ", ", hu_say_count((int64_t)(g->last[k] - g->first[k])).t,
                          words[k]);
            is_first = false;
        }
    hu_out_text(out, " while it was sampled: data was sent again");
    say_others(r->answer, t, out);
}

static void say_xid(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_gpu_answer *g = &r->answer->at[t->gpus[0]];
    const char               *words = r->xid_words((int64_t)g->last_xid);

    say_gpu(r->answer, t->gpus[0], out);
    hu_out_printf(out, " reported XID %lld", (long long)g->last_xid);
    if (words)
        hu_out_printf(out, " (%s)", words);
    hu_out_text(out, " while it was sampled");
    if (g->xids > 1)
        hu_out_printf(out, ", the last of %zu errors", g->xids);
    say_others(r->answer, t, out);
}

/* " at 12:00:10 UTC"; nothing without a time of day */
static void say_when(int64_t ns, hu_out *out)
{
    const time_t seconds = (time_t)(ns / 1000000000);
    char         text[32];
    struct tm    t;

    if (hu_node_is_moment(ns) || !gmtime_r(&seconds, &t))
        return;
    strftime(text, sizeof text, " at %H:%M:%S UTC", &t);
    hu_out_text(out, text);
}

static void say_lost(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_gpu_answer *g = &r->answer->at[t->gpus[0]];

    say_gpu(r->answer, t->gpus[0], out);
    hu_out_text(out, g->looks ? " stopped answering" : " did not answer");
    say_when(g->gpu->lost_ns, out);
    hu_out_printf(out, ": %.*s", HU_FMT(g->gpu->lost));
    say_others(r->answer, t, out);
}

static void say_fewer(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_gpu_answer *g = &r->answer->at[t->gpus[0]];

    say_gpu(r->answer, t->gpus[0], out);
    hu_out_printf(out, " has %s samples where others have %s; its last one is", hu_say_count((int64_t)g->looks).t,
                  hu_say_count((int64_t)g->file_looks).t);
    if (hu_node_is_moment(g->last_ns))
        hu_out_text(out, " before theirs");
    else
        say_when(g->last_ns, out);
    say_others(r->answer, t, out);
}

void hu_node_say_trouble(const hu_node_report *r, const hu_node_trouble *t, hu_out *out)
{
    const hu_node_gpu_answer *g = &r->answer->at[t->gpus[0]];

    switch (t->kind) {
    case HU_NODE_SAYS_LOST:
        say_lost(r, t, out);
        return;
    case HU_NODE_SAYS_FEWER:
        say_fewer(r, t, out);
        return;
    case HU_NODE_SAYS_XID:
        say_xid(r, t, out);
        return;
    case HU_NODE_SAYS_THROTTLED:
        say_throttled(r, t, out);
        return;
    case HU_NODE_SAYS_SLOW:
        say_slow(r, t, out);
        return;
    case HU_NODE_SAYS_LINKS:
        say_links(r, t, out);
        return;
    case HU_NODE_SAYS_ECC:
        say_gpu(r->answer, t->gpus[0], out);
        hu_out_printf(out, " counts %s uncorrected ECC errors since its driver was loaded",
                      hu_say_count((int64_t)g->last[HU_NODE_ECC_UNCORRECTED]).t);
        break;
    case HU_NODE_SAYS_LANES:
        say_gpu(r->answer, t->gpus[0], out);
        hu_out_printf(out, "'s PCIe link uses %.0f of %.0f lanes", g->gpu->facts[HU_NODE_LANES],
                      g->gpu->facts[HU_NODE_MOST_LANES]);
        break;
    case HU_NODE_SAYS_ROWS:
        say_gpu(r->answer, t->gpus[0], out);
        hu_out_text(out, " has rows of memory to be replaced, for which it must be reset");
        break;
    case HU_NODE_SAYS_KINDS:
        return;
    }
    say_others(r->answer, t, out);
}

/* The highest clock need not be one of work: that it is far says nothing but that a lock cannot be excluded. */
static void say_far_from_most(const hu_node_answer *a, hu_out *out)
{
    for (size_t i = 0; i < a->n; i++) {
        const hu_node_gpu_answer *g = &a->at[i];

        if (g->busy_mhz.mean < FAR_FROM_MOST * g->gpu->facts[HU_NODE_MOST_SM_MHZ]) {
            hu_out_text(out, "; whether ");
            say_gpu(a, (uint32_t)i, out);
            hu_out_text(out, ", at ");
            say_mhz(g->busy_mhz.mean, g->gpu->facts[HU_NODE_MOST_SM_MHZ], out);
            hu_out_text(out, ", has its clocks locked they do not say");
            return;
        }
    }
}

static bool knows_most(const hu_node_answer *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].of[HU_GAUGE_SM_CLOCK].n && a->at[i].gpu->facts[HU_NODE_MOST_SM_MHZ] > 0)
            return true;
    return false;
}

/* Of processes alone. */
static void say_busiest(const hu_node_answer *a, hu_out *out)
{
    const hu_node_process *p = a->processes[0];

    hu_out_text(out, "Cannot tell what held the GPUs up: this tells of processes only");
    if (p->busy.n == 0) {
        hu_out_text(out, ", and of none how busy it keeps a GPU (nvidia-smi pmon -s um)");
        return;
    }
    hu_out_printf(out, "; the busiest, process %lld (", (long long)p->pid);
    hu_units_clip(out, p->command, 40);
    hu_out_printf(out, "), keeps GPU %lld busy for %s of the time", (long long)a->log->gpus.at[p->gpu].number,
                  hu_say_pct(p->busy.sum / (double)p->busy.n).t);
}

/* Without any trouble. */
static void say_none(const hu_node_answer *a, hu_out *out)
{
    if (a->n == 0) {
        if (a->log->topologies.n)
            hu_node_say_topology(&a->log->topologies.at[0], out);
        else if (a->n_processes)
            say_busiest(a, out);
        else
            hu_out_text(out, "Cannot tell: these files hold energy of processors and no sample of a GPU");
        return;
    }
    if (has_one_look(a)) {
        hu_out_printf(out, "Cannot tell: the file holds one sample of %s", a->n > 1 ? "each GPU" : "the GPU");
        return;
    }
    if (!can_judge(a) && a->log->has_amd) {
        hu_out_text(out, "Cannot tell: these samples do not have what lowers the clocks of AMD's GPUs");
    } else if (!can_judge(a)) {
        hu_out_printf(out,
                      "Cannot tell: these samples have %s what lowers them (clocks.sm, clocks.max.sm and "
                      "clocks_event_reasons.active of nvidia-smi --query-gpu)",
                      knows_most(a)  ? "clocks and the highest ones, which work need not reach, but not"
                      : a->has_clock ? "clocks, but neither the highest ones nor"
                      : a->has_busy  ? "neither clocks nor"
                                     : "neither utilization nor clocks, nor");
    } else {
        hu_out_text(out, "Nothing in these samples holds the GPUs up");
        say_far_from_most(a, out);
    }
    if (a->busy < LITTLE_PCT)
        hu_out_printf(out, "; they were busy for %s of the time, and what they waited for only a trace tells (holdup run)",
                      hu_say_pct(a->busy).t);
}

hu_str hu_node_trouble_sentence(const hu_node_report *r, size_t i)
{
    hu_out *out = hu_out_open_memory(r->scratch);
    hu_str  text = HU_STR("");

    if (!out)
        return HU_STR("");
    if (i < r->answer->n_troubles)
        hu_node_say_trouble(r, &r->answer->troubles[i], out);
    else
        say_none(r->answer, out);
    hu_out_text(out, ".");
    return hu_out_take(out, &text, NULL) < 0 ? HU_STR("") : text;
}

hu_str hu_node_sentence(const hu_node_report *r)
{
    return hu_node_trouble_sentence(r, 0);
}

/* ---- topology ---------------------------------------------------------------------------------------------------- */

enum { MOST = 128 };

static hu_str link_of(const hu_node_topology *t, size_t a, size_t b)
{
    return t->links[a * t->n + b];
}

static bool is_far(hu_str link)
{
    return hu_str_equal(link, HU_STR("SYS"));
}

/* GPUs that reach one another without the link between processors get one number. */
static size_t group(const hu_node_topology *t, size_t of[MOST])
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_gpus; i++)
        of[i] = MOST;
    for (size_t i = 0; i < t->n_gpus; i++) {
        bool grew = of[i] == MOST;

        if (!grew)
            continue;
        of[i] = n;
        while (grew) {
            grew = false;
            for (size_t a = 0; a < t->n_gpus; a++)
                for (size_t b = 0; b < t->n_gpus; b++)
                    if (of[a] == n && of[b] == MOST && !is_far(link_of(t, a, b))) {
                        of[b] = n;
                        grew = true;
                    }
        }
        n++;
    }
    return n;
}

/* "0-3", "0, 2 and 5" of a group */
static void say_group(const hu_node_topology *t, const size_t of[MOST], size_t which, hu_out *out)
{
    bool is_first = true;

    for (size_t i = 0, end; i < t->n_gpus; i = end + 1) {
        end = i;
        if (of[i] != which)
            continue;
        while (end + 1 < t->n_gpus && of[end + 1] == which)
            end++;
        hu_out_printf(out, end > i ? "%s%zu-%zu" : "%s%zu", is_first ? "" : ",", i, end);
        is_first = false;
    }
}

/* The links within groups: one kind, or several. */
static void say_within(const hu_node_topology *t, const size_t of[MOST], hu_out *out)
{
    hu_str kinds[4];
    size_t n = 0;
    bool   is_more = false;

    for (size_t a = 0; a < t->n_gpus; a++)
        for (size_t b = a + 1; b < t->n_gpus; b++) {
            size_t k = 0;

            if (of[a] != of[b])
                continue;
            while (k < n && !hu_str_equal(kinds[k], link_of(t, a, b)))
                k++;
            if (k == n && n < HU_COUNT(kinds))
                kinds[n++] = link_of(t, a, b);
            else
                is_more |= k == n;
        }
    for (size_t k = 0; k < n; k++)
        hu_out_printf(out, "%s%.*s", k == 0 ? "" : k + 1 == n && !is_more ? " and " : ", ", HU_FMT(kinds[k]));
    if (is_more)
        hu_out_text(out, " and others");
}

static void say_cards(const hu_node_topology *t, hu_out *out)
{
    bool   is_near[MOST] = {false};
    size_t far[MOST], n = 0;

    for (size_t g = 0; g < t->n_gpus; g++) {
        for (size_t c = t->n_gpus; c < t->n; c++)
            is_near[g] |= !is_far(link_of(t, g, c));
        far[g] = is_near[g];
        n += !is_near[g];
    }
    if (t->n == t->n_gpus || n == 0)
        return;
    hu_out_printf(out, "; %s%s", n > 1 ? "GPUs " : "GPU ", "");
    say_group(t, far, 0, out);
    hu_out_printf(out, " reach%s every network card over SYS only", n > 1 ? "" : "es");
}

void hu_node_say_topology(const hu_node_topology *t, hu_out *out)
{
    size_t of[MOST], n;

    if (t->n_gpus > MOST)
        return;
    n = group(t, of);
    if (t->n_gpus == 1) {
        hu_out_text(out, "The topology has one GPU");
    } else if (n == 1) {
        hu_out_printf(out, "All %zu GPUs of the topology are linked by ", t->n_gpus);
        say_within(t, of, out);
    } else if (n == t->n_gpus) {
        hu_out_printf(out, "All %zu GPUs of the topology talk over SYS (PCIe and the link between processors)", t->n_gpus);
    } else {
        hu_out_text(out, "GPUs ");
        for (size_t i = 0; i < n; i++) {
            hu_out_text(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
            say_group(t, of, i, out);
        }
        hu_out_text(out, " talk over SYS (PCIe and the link between processors); within them the links are ");
        say_within(t, of, out);
    }
    say_cards(t, out);
}
