/* SPDX-License-Identifier: Apache-2.0
 * log_stall.c - the sentences: who waited for what, and where to look. */
#include "render/log_stall.h"

#include <math.h>
#include <stdlib.h>

#include "render/flight.h"

enum { WHO_BYTES = 120, AFTER_BYTES = 80 };

/* Of all files. */
typedef struct {
    const hu_log_stall *first;
    char                who[WHO_BYTES];     /* "Ranks 1–3"; "A process" */
    char                after[AFTER_BYTES]; /* " for 480 s", " after 600 s"; "" not told */
    bool                is_one;
} stall;

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of those in all files; false: no rank is told. */
static bool say_ranks(const hu_log_stalls *list, hu_log_stall_kind kind, hu_arena *scratch, stall *s)
{
    size_t   n = 0, most = 0;
    int64_t *ranks;
    hu_out  *text;

    for (size_t i = 0; i < list->n; i++)
        most += list->at[i].kind == kind ? list->at[i].ranks.n : 0;
    ranks = most ? hu_arena_alloc(scratch, most * sizeof *ranks) : NULL;
    if (!ranks)
        return false;
    for (size_t i = 0, k = 0; i < list->n; i++)
        for (size_t j = 0; list->at[i].kind == kind && j < list->at[i].ranks.n; j++)
            ranks[k++] = list->at[i].ranks.at[j];
    qsort(ranks, most, sizeof *ranks, ascending);
    for (size_t i = 0; i < most; i++)
        if (n == 0 || ranks[n - 1] != ranks[i])
            ranks[n++] = ranks[i];
    text = hu_out_open_memory(scratch);
    if (text)
        hu_flight_say_ranks(text, ranks, n, true);
    hu_log_hint_take(text, s->who, sizeof s->who);
    if (s->who[0] == '\0')
        return false;
    s->is_one = n == 1;
    return true;
}

/* False: no file tells of that kind, or all went on behind it. */
static bool find(const hu_log_report *r, hu_log_stall_kind kind, stall *s)
{
    const hu_log_stalls *list = &r->log->stalls;
    const bool may_end = kind == HU_LOG_STALL_CONNECT || kind == HU_LOG_STALL_JOIN || kind == HU_LOG_STALL_RENDEZVOUS;

    *s = (stall){.is_one = true};
    for (size_t i = 0; i < list->n && !s->first; i++)
        if (list->at[i].kind == kind && !(may_end && list->at[i].is_over))
            s->first = &list->at[i];
    if (s->first && !say_ranks(list, kind, r->scratch, s))
        snprintf(s->who, sizeof s->who, "A process");
    if (s->first && s->first->waited_ms >= 0)
        snprintf(s->after, sizeof s->after, " after %s", hu_say_time((double)s->first->waited_ms * 1e6).t);
    return s->first != NULL;
}

static void say_watchdog(const stall *s, hu_log_hint *hint)
{
    HU_LOG_SAY(
        hint,
        "%s: the watchdog of PyTorch's NCCL made no progress%s%s (line %llu). A call of CUDA or NCCL does not return, or "
        "a thread holds the GIL in one: py-spy dump --native --pid PID shows which. Dumps of the Flight Recorder "
        "(TORCH_FR_BUFFER_SIZE) say which rank the others wait for. If nothing hangs, raise "
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC.",
        s->who, s->after[0] ? " for " : "", s->after[0] ? s->after + 7 : "", (unsigned long long)s->first->line);
}

static void say_barrier(const stall *s, hu_log_hint *hint)
{
    HU_LOG_SAY(hint,
               "%s did not reach a monitored_barrier, and rank 0 gave up%s (line %llu). Look at what %s there: in %s, or by "
               "py-spy dump --pid PID.",
               s->who, s->after, (unsigned long long)s->first->line, s->is_one ? "it does" : "they do",
               s->is_one ? "its own log" : "their own logs");
}

static void say_mismatch(const stall *s, hu_log_hint *hint)
{
    HU_LOG_SAY(hint, "Ranks called different collectives (line %llu): \"%.*s\". Look for a branch that not all ranks take.",
               (unsigned long long)s->first->line, HU_FMT(s->first->about));
}

static void say_gloo(const stall *s, hu_log_hint *hint)
{
    HU_LOG_SAY(
        hint,
        "%s waited in a collective of gloo and gave up%s (line %llu): another rank did not reach it. Look at the ranks "
        "without such a line: what they do instead is the cause.",
        s->who, s->after, (unsigned long long)s->first->line);
}

static void say_id(const stall *s, hu_log_hint *hint)
{
    HU_LOG_SAY(
        hint,
        "%s waited for the first rank of %s group to create an NCCL communicator (key %.*s), and gave up%s (line %llu). "
        "That rank has not reached the group's first collective, or has ended: look at its log before any network.",
        s->who, s->is_one ? "its" : "their", HU_FMT(s->first->about), s->after, (unsigned long long)s->first->line);
}

/* Of "node1, 29500". */
static void say_connect(const stall *s, hu_log_hint *hint)
{
    const hu_str about = s->first->about;
    const char  *comma = memchr(about.p, ',', about.n);
    const hu_str host = {about.p, comma ? (size_t)(comma - about.p) : about.n};
    const hu_str port = hu_str_trim((hu_str){about.p + host.n + (comma != NULL), about.n - host.n - (comma != NULL)});

    HU_LOG_SAY(hint,
               "%s could not connect to PyTorch's store at %.*s:%.*s%s (line %llu). Nothing listens there (rank 0 has not "
               "started, or has ended), MASTER_ADDR or MASTER_PORT differ between processes, or a firewall is between: try "
               "nc -zv %.*s %.*s from that node.",
               s->who, HU_FMT(host), HU_FMT(port), s->after, (unsigned long long)s->first->line, HU_FMT(host), HU_FMT(port));
}

static void say_join(const stall *s, hu_log_hint *hint)
{
    const hu_log_stall *f = s->first;

    if (f->joined > f->expected)
        HU_LOG_SAY(hint,
                   "The start timed out%s (line %llu): PyTorch's store counts %lld processes of %lld, so it has entries of "
                   "another run. Use another MASTER_PORT, or end that run.",
                   s->after, (unsigned long long)f->line, (long long)f->joined, (long long)f->expected);
    else
        HU_LOG_SAY(
            hint,
            "The start timed out%s: %lld of %lld processes joined PyTorch's store (line %llu). The others did not start, "
            "ended early, or cannot reach it: look which node's log is missing or ends first, and compare MASTER_ADDR, "
            "MASTER_PORT and WORLD_SIZE.",
            s->after, (long long)f->joined, (long long)f->expected, (unsigned long long)f->line);
}

static void say_rendezvous(const stall *s, hu_log_hint *hint)
{
    static const struct {
        const char *error, *words;
    } known[] = {
        {"RendezvousTimeoutError",
         "fewer nodes came than --nnodes asks for. Compare --nnodes, --rdzv-id and --rdzv-endpoint of all nodes, and "
         "whether each of them reaches the endpoint (nc -zv HOST PORT)"},
        {"RendezvousConnectionError",
         "this node does not reach the endpoint, or the node that serves it has ended. Look at the log of that "
         "node, and try nc -zv HOST PORT"},
        {"RendezvousClosedError",
         "this node came when the job was over, or comes back after it: look at why the others ended first"}};

    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(s->first->about, hu_str_of(known[i].error)))
            HU_LOG_SAY(hint, "torchrun's rendezvous failed with %s (line %llu): %s.", known[i].error,
                       (unsigned long long)s->first->line, known[i].words);
}

static const struct {
    const char *id;
    void (*say)(const stall *s, hu_log_hint *hint);
} kinds[HU_LOG_STALL_KINDS] = {
    [HU_LOG_STALL_WATCHDOG] = {"watchdog_stuck", say_watchdog},
    [HU_LOG_STALL_MISMATCH] = {"collectives_differ", say_mismatch},
    [HU_LOG_STALL_BARRIER] = {"barrier_timeout", say_barrier},
    [HU_LOG_STALL_GLOO] = {"gloo_timeout", say_gloo},
    [HU_LOG_STALL_ID] = {"communicator_timeout", say_id},
    [HU_LOG_STALL_CONNECT] = {"store_unreachable", say_connect},
    [HU_LOG_STALL_JOIN] = {"processes_missing", say_join},
    [HU_LOG_STALL_RENDEZVOUS] = {"rendezvous_failed", say_rendezvous},
};

void hu_stall_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    stall s;

    for (size_t k = 0; k < HU_LOG_STALL_KINDS; k++)
        if (find(r, (hu_log_stall_kind)k, &s))
            kinds[k].say(&s, hu_log_hint_add(out, n, kinds[k].id, INFINITY));
}
