/* SPDX-License-Identifier: Apache-2.0
 * check_rights.c - limits of a process, and what tools may see of it.
 *
 * Limits are those of this process.  A job's may be others (slurmd and containers set their own), so they are judged with
 * --job and are notes without it.
 */
#include <string.h>

#include "doctor/facts.h"
#include "doctor/host.h"

enum {
    CAP_SYS_PTRACE_BIT = 19,
    CAP_SYS_ADMIN_BIT = 21,
    CAP_PERFMON_BIT = 38,
    CAP_IPC_LOCK_BIT = 14,
    CAP_SYS_RESOURCE_BIT = 24,
    FEW_FILES = 4096,
    FEW_PROCESSES = 4096,
};

static const int64_t MIB = 1 << 20;

static const char *limit_text(hu_doctor *d, int64_t n)
{
    return n == INT64_MAX ? "unlimited" : hu_doctor_format(d, "%lld", (long long)n);
}

static hu_verdict_of_check of_process(hu_doctor *d, hu_verdict_of_check verdict)
{
    return hu_doctor_is_job(d) ? verdict : HU_VERDICT_NOTE;
}

static void say_limit(hu_doctor *d, const hu_check *check, const char *name, const char *what, int64_t few)
{
    int64_t soft, hard;

    if (!hu_fact_limit(d, name, &soft, &hard)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "limits are not known");
        return;
    }
    hu_doctor_say(d, check, soft < few ? of_process(d, HU_VERDICT_WARNING) : HU_VERDICT_OK, NULL,
                  hard >= 16 * few || hard == INT64_MAX
                      ? hu_doctor_format(d, "ulimit -S%s %s", what, hard == INT64_MAX ? "unlimited" : "hard")
                      : NULL,
                  "ulimit -S%s is %s, ulimit -H%s is %s", what, limit_text(d, soft), what, limit_text(d, hard));
}

static void look_at_files(hu_doctor *d, const hu_check *check)
{
    say_limit(d, check, "nofile", "n", FEW_FILES);
}

static void look_at_processes(hu_doctor *d, const hu_check *check)
{
    int64_t id;

    if ((hu_fact_number(d, "user.id", &id) && id == 0) || hu_host_has_capability(d, CAP_SYS_RESOURCE_BIT) ||
        hu_host_has_capability(d, CAP_SYS_ADMIN_BIT))
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "the limit does not hold for root");
    else
        say_limit(d, check, "nproc", "u", FEW_PROCESSES);
}

/* The driver of an HCA pins what it registers, and the kernel counts that for everybody without CAP_IPC_LOCK. */
static void look_at_memlock(hu_doctor *d, const hu_check *check)
{
    int64_t soft, hard;

    if (!hu_host_has_fast_fabric(d))
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no active port of InfiniBand or fast RoCE");
    else if (!hu_fact_limit(d, "memlock", &soft, &hard))
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "limits are not known");
    else if (soft >= 64 * MIB)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "ulimit -Sl is %s",
                      soft == INT64_MAX ? "unlimited" : hu_host_size(d, soft));
    else if (hu_host_has_capability(d, CAP_IPC_LOCK_BIT))
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "ulimit -Sl is %s, but this process has CAP_IPC_LOCK",
                      hu_host_size(d, soft));
    else
        hu_doctor_say(d, check, of_process(d, HU_VERDICT_FAILURE), NULL, NULL, "ulimit -Sl is %s, ulimit -Hl is %s",
                      hu_host_size(d, soft), hard == INT64_MAX ? "unlimited" : hu_host_size(d, hard));
}

/* -- tools ------------------------------------------------------------------------------------------------------------- */

static void look_at_perf(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/sys/kernel/perf_event_paranoid";
    int64_t           level, pointers = 0;
    const hu_look     how = hu_doctor_read_number(d, path, &level);

    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, path);
        return;
    }
    hu_doctor_read_number(d, "/proc/sys/kernel/kptr_restrict", &pointers);

    const bool may_all = hu_host_has_capability(d, CAP_PERFMON_BIT) || hu_host_has_capability(d, CAP_SYS_ADMIN_BIT);

    hu_doctor_say(d, check, level > 2 && !may_all ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL, NULL,
                  "%s is %lld%s, kptr_restrict is %lld", path, (long long)level,
                  may_all ? " (this process may all the same)" : "", (long long)pointers);
}

/* 0: any process of the user; 1: children only; 2: with CAP_SYS_PTRACE; 3: nobody. */
static void look_at_ptrace(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/sys/kernel/yama/ptrace_scope";
    int64_t           scope;
    const hu_look     how = hu_doctor_read_number(d, path, &scope);

    if (how == HU_LOOK_ABSENT)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no Yama: who may signal a process may attach to it");
    else if (how != HU_LOOK_OK)
        hu_host_say_unread(d, check, how, path);
    else
        hu_doctor_say(d, check,
                      scope >= 3 || (scope == 2 && !hu_host_has_capability(d, CAP_SYS_PTRACE_BIT)) ? HU_VERDICT_NOTE
                                                                                                   : HU_VERDICT_OK,
                      NULL, NULL, "%s is %lld", path, (long long)scope);
}

static void look_at_counters(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/driver/nvidia/params";
    const char       *text;
    int64_t           admin_only;
    const hu_look     how = hu_doctor_read(d, path, &text);

    if (how != HU_LOOK_OK)
        hu_doctor_say(d, check, how == HU_LOOK_ABSENT ? HU_VERDICT_NONE : HU_VERDICT_NOT_CHECKED, NULL, NULL,
                      how == HU_LOOK_ABSENT ? "no NVIDIA driver" : "needs root: /proc/driver/nvidia/params");
    else if (!hu_host_field(text, "RmProfilingAdminOnly", &admin_only))
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "%s has no RmProfilingAdminOnly", path);
    else
        hu_doctor_say(d, check,
                      admin_only && !hu_host_has_capability(d, CAP_SYS_ADMIN_BIT) ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL,
                      NULL, "%s: RmProfilingAdminOnly is %lld", path, (long long)admin_only);
}

const hu_check hu_checks_rights[] = {
    {.id = "open-files",
     .title = "Open files of a process",
     .when = HU_CHECK_OF_NODE,
     .why = "Workers of a DataLoader pass tensors as descriptors, and each peer is a socket: \"Too many open files\".",
     .fix = "raise it: LimitNOFILE= of slurmd or the container's runtime, /etc/security/limits.conf; check with --job",
     .look = look_at_files},
    {.id = "processes",
     .title = "Processes and threads of a user",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Ranks, workers and their threads count together: \"Resource temporarily unavailable\" when one more is started.",
     .fix = "raise it: LimitNPROC= of slurmd, /etc/security/limits.conf; check with --job",
     .look = look_at_processes},
    {.id = "memlock",
     .title = "Locked memory for InfiniBand",
     .when = HU_CHECK_OF_NODE,
     .why = "NCCL and MPI register their buffers with the HCA; when the limit is reached, ibv_reg_mr or ibv_create_cq fail.",
     .fix = "ulimit -l unlimited: LimitMEMLOCK=infinity of slurmd, docker --ulimit memlock=-1; check with --job",
     .look = look_at_memlock},
    {.id = "perf",
     .title = "Sampling of CPUs",
     .when = HU_CHECK_OF_NODE,
     .why = "holdup run and perf cannot tell which code ran on the CPU.",
     .fix = "sysctl -w kernel.perf_event_paranoid=2, or CAP_PERFMON",
     .look = look_at_perf},
    {.id = "ptrace",
     .title = "Attaching to a process",
     .when = HU_CHECK_OF_NODE,
     .why = "Debuggers and py-spy cannot look at a job that hangs.",
     .fix = "sysctl -w kernel.yama.ptrace_scope=1",
     .look = look_at_ptrace},
    {.id = "gpu-counters",
     .title = "Counters of the GPU for users",
     .when = HU_CHECK_OF_NODE,
     .why = "Nsight Compute and CUPTI's metrics fail for users with ERR_NVGPUCTRPERM; traces of kernels do not need them.",
     .fix = "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then reload the driver",
     .look = look_at_counters},
    {.id = NULL},
};
