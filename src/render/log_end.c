/* SPDX-License-Identifier: Apache-2.0
 * log_end.c - the sentences: memory, the driver, the scheduler, the launcher, the watchdog. */
#include "render/log_end.h"

#include <math.h>

#include "render/log_hang.h"
#include "render/log_stall.h"

/* Nothing else matters while it does. */
static void hint_memory(const hu_log_words *oom, hu_log_hint *out, size_t *n)
{
    if (oom->n)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "out_of_memory", INFINITY),
            "The program ran out of GPU memory (line %llu%s): %.*s. A memory snapshot says who holds it, and whether it is "
            "in pieces: torch.cuda.memory._record_memory_history(), then _dump_snapshot().",
            (unsigned long long)oom->line, oom->n > 1 ? ", and later" : "", HU_FMT(oom->text));
}

static void say_rank_end(const hu_log_end *end, hu_log_hint *hint)
{
    char how[96] = "its own traceback says why";

    if (end->code == -9)
        snprintf(how, sizeof how, "killed by SIGKILL: by the kernel if host memory ran out, or by hand");
    else if (end->code < 0)
        snprintf(how, sizeof how, "killed by signal %lld", -(long long)end->code);
    HU_LOG_SAY(
        hint,
        "torchrun saw rank %lld fail first, with exit code %lld (line %llu): %s. What other ranks say mostly follows from "
        "it.",
        (long long)end->rank, (long long)end->code, (unsigned long long)end->line, how);
}

/* Who says why it ended knows more than times do. */
static void hint_end(const hu_log_end *end, hu_log_hint *out, size_t *n)
{
    static const char *const ids[] = {"xid", "cancelled", "host_memory", "rank_failed"};
    hu_log_hint             *hint = hu_log_hint_add(out, n, ids[end->kind], INFINITY);

    if (end->kind == HU_LOG_END_XID)
        HU_LOG_SAY(
            hint,
            "The driver reported XID %lld of GPU %.*s (line %llu); `holdup doctor --xid %lld` says what it is and what to "
            "do.",
            (long long)end->code, HU_FMT(end->text), (unsigned long long)end->line, (long long)end->code);
    else if (end->kind == HU_LOG_END_CANCELLED)
        HU_LOG_SAY(hint, "Slurm cancelled the job (line %llu): %.*s.", (unsigned long long)end->line,
                   HU_FMT(end->text.n ? end->text : HU_STR("it says no reason, as of scancel")));
    else if (end->kind == HU_LOG_END_HOST_MEMORY)
        HU_LOG_SAY(
            hint,
            "The kernel killed a process as host memory, or the job's limit of it, ran out (line %llu): look at workers of "
            "data loaders, pinned memory and the limit (--mem).",
            (unsigned long long)end->line);
    else
        say_rank_end(end, hint);
}

/* Nor while a job hangs. */
static void hint_hang(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    if (r->answer->hang.call)
        hu_hang_sentence(r, hu_log_hint_add(out, n, "collective_timeout", INFINITY));
}

void hu_end_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    hint_memory(&r->log->oom, out, n);
    for (size_t i = 0; i < r->log->ends.n; i++)
        hint_end(&r->log->ends.at[i], out, n);
    hint_hang(r, out, n);
    hu_stall_hints(r, out, n);
}
