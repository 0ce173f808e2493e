/* SPDX-License-Identifier: Apache-2.0
 * check_processor.c - are the CPUs that a job sees its own, as many as they seem, near its GPU and at full speed? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "doctor/facts.h"
#include "doctor/host.h"

#define CPU   "/sys/devices/system/cpu/"
#define NODES "/sys/devices/system/node/"

enum {
    MOST_FOLDERS = 32,
    MOST_CPUS = 8192,
    MOST_THREADS = 1 << 20,
    LEAST_PERIODS = 100, /* of a quota, before a share of them means something: 10 s at the usual 100 ms */
    SLOW_WAKE_US = 500,
    LEAST_STAT_TICKS = 6000, /* of /proc/stat: a minute of one CPU */
};

static int64_t cpus_allowed(hu_doctor *d, const char **list)
{
    *list = hu_fact(d, "cpus.allowed");
    return *list ? hu_cpu_list_count(*list) : -1;
}

/* -- quota ------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path; /* whose quota it is */
    double      cpus; /* 0: none */
    int64_t     periods, throttled;
} quota;

/* cpu.max is "QUOTA PERIOD" in µs or "max PERIOD"; in v1 two files, of which a quota of -1 is none. */
static void read_quota(hu_doctor *d, const char *folder, bool is_v2, quota *q)
{
    const char *text, *path = hu_doctor_format(d, is_v2 ? "%s/cpu.max" : "%s/cpu.cfs_quota_us", folder), *stat;
    int64_t     most = 0, period = 0;

    if (hu_doctor_read(d, path, &text) != HU_LOOK_OK || !hu_parse_i64((hu_str){text, strcspn(text, " ")}, &most) ||
        most <= 0)
        return;
    if (is_v2)
        (void)hu_parse_i64(hu_str_of(strchr(text, ' ') ? strchr(text, ' ') + 1 : ""), &period);
    else
        hu_doctor_read_number(d, hu_doctor_format(d, "%s/cpu.cfs_period_us", folder), &period);
    if (period <= 0 || (q->cpus > 0 && (double)most / (double)period >= q->cpus))
        return;
    *q = (quota){.path = path, .cpus = (double)most / (double)period};
    if (hu_doctor_read(d, hu_doctor_format(d, "%s/cpu.stat", folder), &stat) == HU_LOOK_OK) {
        hu_host_field(stat, "nr_periods", &q->periods);
        hu_host_field(stat, "nr_throttled", &q->throttled);
    }
}

/* The smallest quota of this process' groups; false: they cannot be seen. */
static bool find_quota(hu_doctor *d, quota *q)
{
    const char  *folders[MOST_FOLDERS];
    bool         is_v2 = false;
    const size_t n = hu_host_cgroups(d, "cpu", folders, MOST_FOLDERS, &is_v2);

    *q = (quota){0};
    for (size_t i = 0; i < n; i++)
        read_quota(d, folders[i], is_v2, q);
    return n > 0;
}

static void look_at_quota(hu_doctor *d, const hu_check *check)
{
    const char   *list;
    const int64_t cpus = cpus_allowed(d, &list);
    quota         q;

    if (!find_quota(d, &q)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no cgroups to be seen");
        return;
    }
    if (q.cpus <= 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no quota in this process' cgroups");
    else if (q.periods >= LEAST_PERIODS && q.throttled * 100 > q.periods)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL,
                      "%s allows %.1f CPUs; cpu.stat: stopped in %lld of %lld periods (%.1f %%)", q.path, q.cpus,
                      (long long)q.throttled, (long long)q.periods, 100 * (double)q.throttled / (double)q.periods);
    else if (cpus > 0 && q.cpus < (double)cpus)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, NULL,
                      "%s allows %.1f CPUs, but programs see %lld and start as many threads", q.path, q.cpus,
                      (long long)cpus);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s allows %.1f CPUs", q.path, q.cpus);
}

/* -- threads ----------------------------------------------------------------------------------------------------------- */

/* Threads that each rank starts for its operators: 0 where nobody says, which means one for each CPU. */
static int64_t threads_of_rank(hu_doctor *d, const char **name)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"};
    int64_t                  most = 0, n;

    for (size_t i = 0; i < HU_COUNT(names); i++) {
        const char *value = hu_doctor_variable(d, names[i]);

        if (value && hu_parse_i64((hu_str){value, strcspn(value, ",")}, &n) && n > most && n <= MOST_THREADS) {
            most = n;
            *name = names[i];
        }
    }
    return most;
}

/* A launcher that binds ranks gives each one CPUs of its own, and then only those count.  Whether ranks share is known where
   they may use all CPUs of the node. */
static void look_at_threads(hu_doctor *d, const hu_check *check)
{
    const char *list, *online, *name = "OMP_NUM_THREADS";
    int64_t     cpus = cpus_allowed(d, &list), ranks = hu_host_local_ranks(d), threads = threads_of_rank(d, &name), all;
    quota       q;

    if (cpus <= 0 || hu_doctor_read(d, CPU "online", &online) != HU_LOOK_OK) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "this process' CPUs are not known");
        return;
    }
    all = hu_cpu_list_count(online);

    const int64_t each = threads ? threads : cpus; /* a library counts CPUs and knows no quota */

    if (find_quota(d, &q) && q.cpus > 0 && q.cpus < (double)cpus)
        cpus = q.cpus < 1 ? 1 : (int64_t)q.cpus;
    else if (cpus != all)
        ranks = 1; /* bound */

    const int64_t share = cpus / ranks > 0 ? cpus / ranks : 1;
    const char   *of_ranks = ranks > 1 ? hu_doctor_format(d, " for %lld ranks", (long long)ranks) : "";
    const char   *fix = hu_doctor_format(d, "export OMP_NUM_THREADS=%lld", (long long)share);

    if (each * ranks * 2 > cpus * 3 && threads)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, fix, "%s=%lld, with %lld CPUs%s", name, (long long)threads,
                      (long long)cpus, of_ranks);
    else if (each * ranks * 2 > cpus * 3)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, fix,
                      "OMP_NUM_THREADS is not set: each rank starts %lld threads, with %lld CPUs%s", (long long)each,
                      (long long)cpus, of_ranks);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%lld threads in each rank, %lld CPUs%s", (long long)each,
                      (long long)cpus, of_ranks);
}

/* -- NUMA -------------------------------------------------------------------------------------------------------------- */

/* CPUs near a GPU, and how the report calls it; NULL: the firmware does not say. */
static const char *cpus_near(hu_doctor *d, const hu_pci_gpu *gpu)
{
    const char *list;

    if (gpu->node < 0)
        return NULL;
    return hu_doctor_read(d, hu_doctor_format(d, NODES "node%lld/cpulist", (long long)gpu->node), &list) == HU_LOOK_OK
               ? list
               : NULL;
}

static int64_t count_common(const char *a, const char *b)
{
    int64_t n = 0;

    for (int64_t cpu = 0; cpu < MOST_CPUS; cpu++)
        n += hu_cpu_list_has(a, cpu) && hu_cpu_list_has(b, cpu);
    return n;
}

/* What /proc/driver/nvidia/gpus/ADDRESS/information says of a GPU. */
static const char *driver_says(hu_doctor *d, const hu_pci_gpu *gpu, const char *what)
{
    const char *text;

    if (hu_doctor_read(d, hu_doctor_format(d, "/proc/driver/nvidia/gpus/%s/information", gpu->address), &text) != HU_LOOK_OK)
        return NULL;
    return hu_host_words(d, text, what);
}

/*
 * Could this GPU be the rank's?  Only what names a GPU without doubt leaves one out: UUIDs, and SLURM's numbers, which are
 * the minor numbers of the driver.  Numbers of CUDA_VISIBLE_DEVICES count what a container or a cgroup lets through.
 */
static bool may_be_ours(hu_doctor *d, const hu_pci_gpu *gpu)
{
    const char *visible = hu_doctor_variable(d, "CUDA_VISIBLE_DEVICES"), *uuid = driver_says(d, gpu, "GPU UUID");
    const char *slurm = hu_doctor_variable(d, "SLURM_STEP_GPUS"), *minor = driver_says(d, gpu, "Device Minor");

    if (visible && strncmp(visible, "GPU-", 4) == 0 && uuid)
        return hu_host_option(visible, uuid);
    if (!slurm)
        slurm = hu_doctor_variable(d, "SLURM_JOB_GPUS");
    if (slurm && slurm[0] && minor && !strchr(slurm, '-'))
        return hu_host_option(slurm, minor);
    return true;
}

static void look_at_affinity(hu_doctor *d, const hu_check *check)
{
    const hu_pci_gpu *gpus;
    const size_t      n = hu_host_gpus(d, &gpus);
    const char       *list, *all = "";
    const int64_t     cpus = cpus_allowed(d, &list);
    size_t            n_ours = 0, n_far = 0;
    int64_t           n_near_allowed = 0; /* of the last GPU: tells of one alone */

    if (n == 0) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no GPU on the PCI bus");
        return;
    }
    if (cpus <= 0) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "this process' CPUs are not known");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *near = may_be_ours(d, &gpus[i]) ? cpus_near(d, &gpus[i]) : NULL;

        if (!near)
            continue;
        n_ours++;
        n_near_allowed = count_common(list, near);
        n_far += n_near_allowed == 0;
        all = hu_doctor_format(d, "%s%s%s at CPUs %s", all, all[0] ? ", " : "", gpus[i].address, near);
    }
    if (n_ours == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the firmware does not say which CPUs a GPU is near");
    else if (n_far > 0 && n_far < n_ours)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "which of the GPUs is this process' is not known");
    else
        hu_doctor_say(d, check,
                      n_far                                  ? HU_VERDICT_WARNING
                      : n_ours == 1 && cpus > n_near_allowed ? HU_VERDICT_NOTE
                                                             : HU_VERDICT_OK,
                      NULL, NULL, "this process may run on CPUs %s; %s: %s", list, n_ours == 1 ? "its GPU" : "its GPUs",
                      all);
}

static void look_at_balancing(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/sys/kernel/numa_balancing";
    const hu_pci_gpu *gpus;
    const char       *nodes;
    int64_t           value, n_nodes;

    if (hu_doctor_read(d, NODES "has_memory", &nodes) != HU_LOOK_OK || (n_nodes = hu_cpu_list_count(nodes)) < 1) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no NUMA");
        return;
    }
    const hu_look how = hu_doctor_read_number(d, path, &value);

    if (how == HU_LOOK_ABSENT || n_nodes == 1) {
        hu_doctor_say(d, check, n_nodes == 1 ? HU_VERDICT_NONE : HU_VERDICT_OK, NULL, NULL,
                      n_nodes == 1 ? "one NUMA node" : "this kernel has none");
        return;
    }
    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, path);
        return;
    }
    hu_doctor_say(d, check,
                  !(value & 1)             ? HU_VERDICT_OK
                  : hu_host_gpus(d, &gpus) ? HU_VERDICT_WARNING
                                           : HU_VERDICT_NOTE,
                  NULL, NULL, "%s is %lld, with %lld NUMA nodes", path, (long long)value, (long long)n_nodes);
}

/* -- frequency --------------------------------------------------------------------------------------------------------- */

/*
 * The governor of all policies that say the same, else "mixed".  Under intel_pstate and amd-pstate-epp "powersave" means
 * that the CPU itself chooses by its preference (EPP); under other drivers it is the lowest frequency, always.
 */
static void look_at_governor(hu_doctor *d, const hu_check *check)
{
    const char *const *names, *governor = NULL, *driver, *preference, *turbo;
    const char        *fix = NULL;
    size_t             n, n_policies = 0;
    bool               is_mixed = false, chooses_itself;
    int64_t            off = 0, most = 0, could = 0;

    hu_doctor_list(d, CPU "cpufreq", &names, &n);
    for (size_t i = 0; i < n; i++) {
        const char *text;

        if (strncmp(names[i], "policy", 6) != 0 ||
            hu_doctor_read(d, hu_doctor_format(d, CPU "cpufreq/%s/scaling_governor", names[i]), &text) != HU_LOOK_OK)
            continue;
        is_mixed |= n_policies && strcmp(governor, text) != 0;
        if (!n_policies || strcmp(text, "powersave") == 0)
            governor = text; /* of several the slowest one tells */
        if (!n_policies++) {
            hu_doctor_read(d, hu_doctor_format(d, CPU "cpufreq/%s/scaling_driver", names[i]), &driver);
            hu_doctor_read(d, hu_doctor_format(d, CPU "cpufreq/%s/energy_performance_preference", names[i]), &preference);
            hu_doctor_read_number(d, hu_doctor_format(d, CPU "cpufreq/%s/scaling_max_freq", names[i]), &most);
            hu_doctor_read_number(d, hu_doctor_format(d, CPU "cpufreq/%s/cpuinfo_max_freq", names[i]), &could);
        }
    }
    if (!n_policies) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no cpufreq: firmware or hypervisor choose the frequency");
        return;
    }
    chooses_itself = strcmp(driver, "intel_pstate") == 0 || strcmp(driver, "amd-pstate-epp") == 0;
    if (chooses_itself)
        fix = "cpupower frequency-set -g performance, or write performance into energy_performance_preference";
    turbo = CPU "intel_pstate/no_turbo";
    if (hu_doctor_read_number(d, turbo, &off) != HU_LOOK_OK) {
        turbo = CPU "cpufreq/boost";
        off = hu_doctor_read_number(d, turbo, &off) == HU_LOOK_OK ? !off : 0;
    }
    const char *evidence = hu_doctor_format(d, CPU "cpufreq/policy*/scaling_governor is %s%s (driver %s%s%s)", governor,
                                            is_mixed ? " for some" : "", driver, preference[0] ? ", preference " : "",
                                            preference);

    if (strcmp(governor, "powersave") == 0 &&
        (!chooses_itself || strcmp(preference, "power") == 0 || strcmp(preference, "balance_power") == 0))
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, fix, "%s", evidence);
    else if (is_mixed ||
             (strcmp(governor, "performance") != 0 && !(chooses_itself && strcmp(preference, "performance") == 0)))
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, fix, "%s", evidence);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s", evidence);
    if (most > 0 && most < could - could / 10)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, "limit", "cpupower frequency-set -u as high as cpuinfo_max_freq says",
                      CPU "cpufreq/policy*/scaling_max_freq is %lld MHz of %lld", (long long)most / 1000,
                      (long long)could / 1000);
    if (off)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, "boost",
                      "switch it on in BIOS or below /sys, unless it was switched off for a reason", "%s: switched off",
                      turbo);
}

/* The state with the longest way back that the kernel may choose. */
static void look_at_idle(hu_doctor *d, const hu_check *check)
{
    const char *const *names, *name = "", *text;
    size_t             n;
    int64_t            longest = -1;

    hu_doctor_list(d, CPU "cpu0/cpuidle", &names, &n);
    for (size_t i = 0; i < n; i++) {
        const char *folder = hu_doctor_format(d, CPU "cpu0/cpuidle/%s", names[i]);
        int64_t     latency, off = 0;

        hu_doctor_read_number(d, hu_doctor_format(d, "%s/disable", folder), &off);
        if (off || hu_doctor_read_number(d, hu_doctor_format(d, "%s/latency", folder), &latency) != HU_LOOK_OK ||
            latency <= longest)
            continue;
        longest = latency;
        hu_doctor_read(d, hu_doctor_format(d, "%s/name", folder), &text);
        name = text;
    }
    if (longest < 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no idle states to choose from");
    else
        hu_doctor_say(d, check, longest >= SLOW_WAKE_US ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL, NULL,
                      "the deepest idle state of CPU 0 is %s: %lld µs to wake up", name, (long long)longest);
}

/* -- who else uses them ------------------------------------------------------------------------------------------------ */

static void look_at_steal(hu_doctor *d, const hu_check *check)
{
    const char   *text;
    const hu_look how = hu_doctor_read(d, "/proc/stat", &text);
    double        t[8], sum = 0;

    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, "/proc/stat");
        return;
    }
    if (sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "/proc/stat cannot be read");
        return;
    }
    for (size_t i = 0; i < HU_COUNT(t); i++)
        sum += t[i];

    const double busy = sum - t[3] - t[4], share = busy > 0 ? 100 * t[7] / busy : 0;

    if (sum < LEAST_STAT_TICKS)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the node has just started");
    else
        hu_doctor_say(d, check,
                      share > 10  ? HU_VERDICT_WARNING
                      : share > 3 ? HU_VERDICT_NOTE
                                  : HU_VERDICT_OK,
                      NULL, NULL,
                      "/proc/stat: of the time that the CPUs had work since the node started, the hypervisor took %.1f %%",
                      share);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.12 total=…": the five minutes of the line that begins with `who`. */
static bool read_pressure(hu_doctor *d, const char *what, const char *who, double *share)
{
    const char *text, *line;

    if (hu_doctor_read(d, hu_doctor_format(d, "/proc/pressure/%s", what), &text) != HU_LOOK_OK)
        return false;
    line = hu_host_words(d, text, who);
    line = line ? strstr(line, "avg300=") : NULL;
    return line && hu_parse_f64((hu_str){line + 7, strcspn(line + 7, " ")}, share);
}

static void look_at_pressure(hu_doctor *d, const hu_check *check)
{
    static const struct {
        const char         *what, *who;
        double              most; /* % of the last five minutes */
        hu_verdict_of_check verdict;
        const char         *meaning;
    } kinds[] = {
        {"cpu", "some", 50, HU_VERDICT_NOTE, "a thread that could run waited for a CPU"},
        {"memory", "full", 5, HU_VERDICT_WARNING, "all work waited for memory to become free"},
        {"io", "full", 25, HU_VERDICT_NOTE, "all work waited for storage"},
    };
    size_t n = 0;
    double share;

    for (size_t i = 0; i < HU_COUNT(kinds); i++) {
        if (!read_pressure(d, kinds[i].what, kinds[i].who, &share))
            continue;
        n++;
        hu_doctor_say(d, check, share > kinds[i].most ? kinds[i].verdict : HU_VERDICT_OK, kinds[i].what, NULL,
                      "/proc/pressure/%s: %s for %.1f %% of the last 5 minutes", kinds[i].what, kinds[i].meaning, share);
    }
    if (n == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "this kernel counts no pressure (psi=1 switches it on)");
}

/* -- kernel ------------------------------------------------------------------------------------------------------------ */

/* The two mitigations that make each system call costly: IBRS (Skylake, since retbleed), IBPB at each entry (Zen). */
static void look_at_kernel(hu_doctor *d, const hu_check *check)
{
    static const struct {
        const char *file, *word;
    } costly[] = {{"retbleed", "IBRS"}, {"retbleed", "IBPB"}, {"spec_rstack_overflow", "Mitigation: IBPB"}};
    const char *release = hu_fact(d, "uname.release"), *text;

    for (size_t i = 0; i < HU_COUNT(costly); i++) {
        const char *path = hu_doctor_format(d, CPU "vulnerabilities/%s", costly[i].file);

        if (hu_doctor_read(d, path, &text) == HU_LOOK_OK && strstr(text, costly[i].word) && !strstr(text, "Enhanced IBRS")) {
            hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, NULL, "%s is \"%s\"", path, text);
            return;
        }
    }
    if (hu_doctor_read(d, CPU "vulnerabilities/retbleed", &text) != HU_LOOK_OK)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "this kernel does not list its mitigations");
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "kernel %s, retbleed: %s", release ? release : "unknown", text);
}

const hu_check hu_checks_processor[] = {
    {.id = "cpu-quota",
     .title = "CPU quota of the cgroup",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Libraries start a thread for each CPU that they see; a cgroup with a smaller quota stops all of them for the rest "
         "of each period, and the GPU waits for its launches.",
     .fix =
         "raise the quota (Docker: --cpus, Kubernetes: limits.cpu), or set OMP_NUM_THREADS and the loader's workers to fit",
     .look = look_at_quota},
    {.id = "cpu-threads",
     .title = "Threads of the job and its CPUs",
     .when = HU_CHECK_OF_JOB,
     .why = "More threads than CPUs take turns, and each parallel operator waits for the thread that had to wait.",
     .fix = "set OMP_NUM_THREADS to CPUs / ranks",
     .look = look_at_threads},
    {.id = "cpu-affinity",
     .title = "CPUs near the GPU",
     .when = HU_CHECK_OF_JOB,
     .why = "Launches, copies and pinned memory of a process on the other socket cross the link between the sockets.",
     .fix = "bind ranks: torchrun --numa-binding=node, srun --gpu-bind=closest or --cpu-bind, numactl --cpunodebind",
     .look = look_at_affinity},
    {.id = "numa-balancing",
     .title = "Automatic NUMA balancing",
     .when = HU_CHECK_OF_NODE,
     .why =
         "The kernel unmaps pages to see who uses them: page faults in launching threads, and pinned memory gains nothing.",
     .fix = "sysctl -w kernel.numa_balancing=0",
     .look = look_at_balancing},
    {.id = "cpu-governor",
     .title = "CPU frequency",
     .when = HU_CHECK_OF_NODE,
     .why = "A job with many small kernels is as fast as the thread that launches them.",
     .fix = "cpupower frequency-set -g performance",
     .look = look_at_governor},
    {.id = "cpu-idle",
     .title = "Idle states of the CPUs",
     .when = HU_CHECK_OF_NODE,
     .why = "A thread that waits for the GPU starts again only when its CPU has woken up.",
     .fix = "cpupower idle-set -D 100, or a tuned profile such as latency-performance",
     .look = look_at_idle},
    {.id = "cpu-steal",
     .title = "CPU time that the hypervisor takes",
     .when = HU_CHECK_OF_NODE,
     .why = "A launching thread that the hypervisor stops leaves the GPU idle, and no tool inside of the machine shows why.",
     .fix = "ask for dedicated CPUs, or move the virtual machine",
     .look = look_at_steal},
    {.id = "pressure",
     .title = "Pressure on CPUs, memory and storage",
     .when = HU_CHECK_OF_NODE,
     .why = "Somebody else uses what the job needs, or the last job still does.",
     .fix = "look for other work: top, holdup monitor",
     .look = look_at_pressure},
    {.id = "kernel",
     .title = "Kernel and its mitigations",
     .when = HU_CHECK_OF_NODE,
     .why = "This mitigation makes each system call and interrupt several times as slow on this CPU.",
     .fix = "nothing on a node that strangers share; else see Documentation/admin-guide/hw-vuln of the kernel",
     .look = look_at_kernel},
    {.id = NULL},
};
