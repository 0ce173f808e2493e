/* SPDX-License-Identifier: Apache-2.0
 * check_memory.c - is there memory for the job, where it looks for it, and does the kernel give it without stalls? */
#include <string.h>

#include "base/number.h"
#include "doctor/facts.h"
#include "doctor/host.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"

enum { MOST_FOLDERS = 32, KIB = 1024, TMPFS_MAGIC = 0x01021994 };

static const int64_t MIB = 1 << 20, GIB = 1 << 30;

static bool read_meminfo(hu_doctor *d, const hu_check *check, const char **text, int64_t *total_kib)
{
    const hu_look how = hu_doctor_read(d, "/proc/meminfo", text);

    if (how == HU_LOOK_OK && hu_host_field(*text, "MemTotal", total_kib) && *total_kib > 0)
        return true;
    hu_host_say_unread(d, check, how == HU_LOOK_OK ? HU_LOOK_BROKEN : how, "/proc/meminfo");
    return false;
}

/* -- shared memory ----------------------------------------------------------------------------------------------------- */

/* The kernel gives a tmpfs half of the memory where nobody says otherwise. */
static bool is_half_of_memory(hu_doctor *d, int64_t bytes)
{
    const char *text;
    int64_t     total = 0;

    return hu_doctor_read(d, "/proc/meminfo", &text) == HU_LOOK_OK && hu_host_field(text, "MemTotal", &total) && total > 0 &&
           bytes / KIB >= total / 5 * 2;
}

/* Docker's default is 64 MiB.  A small one fails a job only if it uses several processes; what cannot be known here is a
   warning, but with --job the answer is of this very process. */
static void look_at_shm(hu_doctor *d, const hu_check *check)
{
    hu_filesystem_fact f;

    if (!hu_fact_filesystem(d, "/dev/shm", &f)) {
        const char *fact = hu_fact(d, "filesystem:/dev/shm");
        const bool  is_error = fact && strncmp(fact, "error:", 6) == 0;

        hu_doctor_say(d, check, is_error ? HU_VERDICT_FAILURE : HU_VERDICT_NOT_CHECKED, NULL, "mount a tmpfs on /dev/shm",
                      "/dev/shm: %s", is_error ? fact + 7 : "size not known");
        return;
    }
    if (f.magic == TMPFS_MAGIC && f.blocks == 0) {
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "/dev/shm has no limit of its own");
        return;
    }
    const int64_t       size = f.blocks * f.block_bytes, left = f.blocks_for_users * f.block_bytes;
    const char         *text = hu_doctor_format(d, "/dev/shm has %s, of which %s are free", hu_host_size(d, size),
                                                hu_host_size(d, left));
    hu_verdict_of_check verdict = HU_VERDICT_OK;
    const char         *fix = NULL;

    if (f.magic != TMPFS_MAGIC) {
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, "mount a tmpfs on /dev/shm",
                      "/dev/shm is no tmpfs (file system type 0x%llx)", (unsigned long long)f.magic);
    }
    if (size < GIB && is_half_of_memory(d, size)) {
        verdict = HU_VERDICT_OK; /* of a small machine */
    } else if (size <= 64 * MIB) {
        verdict = hu_doctor_is_job(d) ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING;
    } else if (size < GIB) {
        verdict = HU_VERDICT_WARNING;
    } else if (left < 256 * MIB || left < size / 20) {
        verdict = HU_VERDICT_WARNING;
        fix = "remove what ended jobs left there: ls -l /dev/shm (torch_*, nccl-*, psm_*, sem.*)";
    }
    hu_doctor_say(d, check, verdict, NULL, fix, "%s", text);
}

/* -- limits of the cgroup ---------------------------------------------------------------------------------------------- */

typedef struct {
    const char *folder;
    int64_t     most; /* bytes */
} memory_limit;

/* memory.max is "max" where there is none; in v1 none is a number near 2^63. */
static void find_limit(hu_doctor *d, const char *const *folders, size_t n, bool is_v2, memory_limit *out)
{
    for (size_t i = 0; i < n; i++) {
        int64_t most;

        if (hu_doctor_read_number(d, hu_doctor_format(d, is_v2 ? "%s/memory.max" : "%s/memory.limit_in_bytes", folders[i]),
                                  &most) == HU_LOOK_OK &&
            most > 0 && most < INT64_MAX / 2 && (!out->folder || most < out->most))
            *out = (memory_limit){folders[i], most};
    }
}

/* What is not given back under pressure: all but the file pages that nobody used lately. */
static bool read_working_set(hu_doctor *d, const char *folder, bool is_v2, int64_t *bytes)
{
    const char *stat;
    int64_t     used, inactive = 0;

    if (hu_doctor_read_number(d, hu_doctor_format(d, is_v2 ? "%s/memory.current" : "%s/memory.usage_in_bytes", folder),
                              &used) != HU_LOOK_OK)
        return false;
    if (hu_doctor_read(d, hu_doctor_format(d, "%s/memory.stat", folder), &stat) == HU_LOOK_OK)
        hu_host_field(stat, is_v2 ? "inactive_file" : "total_inactive_file", &inactive);
    *bytes = used > inactive ? used - inactive : 0;
    return true;
}

static void look_at_events(hu_doctor *d, const hu_check *check, const char *folder, bool is_v2)
{
    const char *path = hu_doctor_format(d, is_v2 ? "%s/memory.events" : "%s/memory.oom_control", folder), *text;
    int64_t     killed = 0, high = 0;

    if (hu_doctor_read(d, path, &text) != HU_LOOK_OK)
        return;
    hu_host_field(text, "oom_kill", &killed);
    hu_host_field(text, "high", &high);
    if (killed > 0)
        hu_doctor_say(d, check, hu_doctor_is_job(d) ? HU_VERDICT_WARNING : HU_VERDICT_NOTE, NULL, NULL,
                      "%s: the kernel killed processes of this cgroup for memory: %lld", path, (long long)killed);
    if (high > 0)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, "raise memory.high",
                      "%s: over memory.high, and slowed down, %lld times", path, (long long)high);
}

static void look_at_cgroup(hu_doctor *d, const hu_check *check)
{
    const char  *folders[MOST_FOLDERS];
    bool         is_v2 = false;
    const size_t n = hu_host_cgroups(d, "memory", folders, MOST_FOLDERS, &is_v2);
    memory_limit limit = {0};
    int64_t      used;

    if (n == 0) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no cgroups to be seen");
        return;
    }
    find_limit(d, folders, n, is_v2, &limit);
    if (!limit.folder)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no limit in this process' cgroups");
    else if (!read_working_set(d, limit.folder, is_v2, &used))
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no use of memory in %s", limit.folder);
    else
        hu_doctor_say(d, check, used / 9 > limit.most / 10 ? HU_VERDICT_WARNING : HU_VERDICT_OK, NULL, NULL,
                      "%s: %s used of %s", limit.folder, hu_host_size(d, used), hu_host_size(d, limit.most));
    look_at_events(d, check, folders[0], is_v2);
}

/* -- memory of the node ------------------------------------------------------------------------------------------------ */

static void look_at_free(hu_doctor *d, const hu_check *check)
{
    const char *text;
    int64_t     total, available;

    if (!read_meminfo(d, check, &text, &total))
        return;
    if (!hu_host_field(text, "MemAvailable", &available))
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "/proc/meminfo has no MemAvailable");
    else
        hu_doctor_say(d, check, available < total / 20 ? HU_VERDICT_WARNING : HU_VERDICT_OK, NULL, NULL,
                      "/proc/meminfo: %s of %s available", hu_host_size(d, available * KIB), hu_host_size(d, total * KIB));
}

/* Errors of DRAM since the kernel's EDAC driver was loaded. */
static void look_at_ecc(hu_doctor *d, const hu_check *check)
{
    static const char  base[] = "/sys/devices/system/edac/mc";
    const char *const *names;
    size_t             n, n_controllers = 0;

    hu_doctor_list(d, base, &names, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t corrected = 0, uncorrected = 0;

        if (strncmp(names[i], "mc", 2) != 0 ||
            hu_doctor_read_number(d, hu_doctor_format(d, "%s/%s/ue_count", base, names[i]), &uncorrected) != HU_LOOK_OK)
            continue;
        n_controllers++;
        hu_doctor_read_number(d, hu_doctor_format(d, "%s/%s/ce_count", base, names[i]), &corrected);
        hu_doctor_say(d, check,
                      uncorrected > 0 || corrected > 1000 ? HU_VERDICT_WARNING
                      : corrected > 0                     ? HU_VERDICT_NOTE
                                                          : HU_VERDICT_OK,
                      names[i], NULL, "%s/%s: %lld uncorrected and %lld corrected errors", base, names[i],
                      (long long)uncorrected, (long long)corrected);
    }
    if (n_controllers == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "the kernel watches no memory controller");
}

static void look_at_swap(hu_doctor *d, const hu_check *check)
{
    const char *text;
    int64_t     memory, total = 0, left = 0;

    if (!read_meminfo(d, check, &text, &memory))
        return;
    hu_host_field(text, "SwapTotal", &total);
    hu_host_field(text, "SwapFree", &left);
    if (total == 0) {
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no swap");
        return;
    }
    const int64_t used = total - left;

    hu_doctor_say(d, check,
                  used > memory / 10 ? HU_VERDICT_WARNING
                  : used > GIB / KIB ? HU_VERDICT_NOTE
                                     : HU_VERDICT_OK,
                  NULL, NULL, "/proc/meminfo: %s of %s swap in use", hu_host_size(d, used * KIB),
                  hu_host_size(d, total * KIB));
}

static void look_at_overcommit(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/sys/vm/overcommit_memory";
    const char       *text;
    int64_t           mode, memory, limit = 0, committed = 0;
    const hu_look     how = hu_doctor_read_number(d, path, &mode);

    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, path);
        return;
    }
    if (mode != 2) {
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s is %lld", path, (long long)mode);
        return;
    }
    if (!read_meminfo(d, check, &text, &memory))
        return;
    hu_host_field(text, "CommitLimit", &limit);
    hu_host_field(text, "Committed_AS", &committed);
    hu_doctor_say(d, check, committed / 9 > limit / 10 ? HU_VERDICT_WARNING : HU_VERDICT_NOTE, NULL, NULL,
                  "%s is 2, and /proc/meminfo has %s of %s promised", path, hu_host_size(d, committed * KIB),
                  hu_host_size(d, limit * KIB));
}

static void look_at_maps(hu_doctor *d, const hu_check *check)
{
    static const char path[] = "/proc/sys/vm/max_map_count";
    enum { KERNELS_OWN = 65530 };
    int64_t       most;
    const hu_look how = hu_doctor_read_number(d, path, &most);

    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, path);
        return;
    }
    hu_doctor_say(d, check, most < KERNELS_OWN ? HU_VERDICT_WARNING : HU_VERDICT_OK, NULL, NULL,
                  "%s is %lld (the kernel's default is %d)", path, (long long)most, KERNELS_OWN);
}

/* -- pages ------------------------------------------------------------------------------------------------------------- */

/* "always [madvise] never": the one in brackets. */
static const char *chosen(hu_doctor *d, const char *text)
{
    const char *from = strchr(text, '[');

    return from ? hu_doctor_format(d, "%.*s", (int)strcspn(from + 1, "]"), from + 1) : text;
}

static void look_at_thp(hu_doctor *d, const hu_check *check)
{
    const char   *enabled, *defrag;
    const hu_look how = hu_doctor_read(d, THP "enabled", &enabled);

    if (how != HU_LOOK_OK) {
        if (how == HU_LOOK_ABSENT)
            hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "this kernel has no transparent huge pages");
        else
            hu_host_say_unread(d, check, how, THP "enabled");
        return;
    }
    hu_doctor_read(d, THP "defrag", &defrag);
    enabled = chosen(d, enabled);
    defrag = chosen(d, defrag);

    const bool is_off = strcmp(enabled, "never") == 0;
    const bool stalls = strcmp(enabled, "always") == 0 && strcmp(defrag, "always") == 0;

    hu_doctor_say(d, check, is_off || stalls ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL,
                  is_off ? "echo madvise > " THP "enabled" : "echo madvise > " THP "defrag",
                  THP "enabled is %s, defrag is %s", enabled, defrag);
}

/* Huge pages that are set apart serve nobody who does not ask for them, and PyTorch does not. */
static void look_at_hugepages(hu_doctor *d, const hu_check *check)
{
    const char *text;
    int64_t     memory, total = 0, left = 0, size = 0;

    if (!read_meminfo(d, check, &text, &memory))
        return;
    hu_host_field(text, "HugePages_Total", &total);
    hu_host_field(text, "HugePages_Free", &left);
    hu_host_field(text, "Hugepagesize", &size);
    if (total == 0) {
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "none are set apart");
        return;
    }

    const double  left_kib = (double)left * (double)size;
    const int64_t bytes = total > memory / (size ? size : 1) ? memory * KIB : total * size * KIB; /* it is part of it */

    hu_doctor_say(d, check, left_kib > (double)memory / 10 ? HU_VERDICT_WARNING : HU_VERDICT_OK, NULL, NULL,
                  "/proc/meminfo: %s set apart as huge pages; %lld of %lld are free", hu_host_size(d, bytes),
                  (long long)left, (long long)total);
}

const hu_check hu_checks_memory[] = {
    {.id = "shm",
     .title = "Shared memory in /dev/shm",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Workers of a DataLoader pass batches through it, and NCCL data between GPUs: when it is full, they die with a bus "
         "error or \"No space left on device\".",
     .fix = "Docker: --ipc=host or --shm-size=16g; Kubernetes: an emptyDir with medium: Memory on /dev/shm; else mount -o "
            "remount,size=50% /dev/shm",
     .look = look_at_shm},
    {.id = "memory-cgroup",
     .title = "Memory limit of the cgroup",
     .when = HU_CHECK_OF_NODE,
     .why = "At the limit the kernel kills a process of the job, often a loader's worker; pinned memory and /dev/shm count.",
     .fix = "raise the limit (sbatch --mem, limits.memory), or use fewer workers and less prefetch",
     .look = look_at_cgroup},
    {.id = "memory-free",
     .title = "Free memory",
     .when = HU_CHECK_OF_NODE,
     .why = "A job that starts on a full node is killed, or waits for pages to be written out.",
     .fix = "look for what the last job left: ps aux --sort=-rss, ls -l /dev/shm, df -t tmpfs",
     .look = look_at_free},
    {.id = "memory-ecc",
     .title = "Errors of the host's memory",
     .when = HU_CHECK_OF_NODE,
     .why = "Modules that correct many errors slow the node down, and are the ones that fail next.",
     .fix = "find the module below /sys/devices/system/edac/mc (dimm*/dimm_label) and replace it",
     .look = look_at_ecc},
    {.id = "swap",
     .title = "Swap in use",
     .when = HU_CHECK_OF_NODE,
     .why = "Pages that are on a disk come back one by one while the GPU waits.",
     .fix = "end what uses the memory, then swapoff -a && swapon -a",
     .look = look_at_swap},
    {.id = "overcommit",
     .title = "Promised memory",
     .when = HU_CHECK_OF_NODE,
     .why = "With strict accounting, fork() of a large process fails though memory is free: loaders and subprocesses die.",
     .fix = "sysctl -w vm.overcommit_memory=0",
     .look = look_at_overcommit},
    {.id = "map-count",
     .title = "Memory maps of a process",
     .when = HU_CHECK_OF_NODE,
     .why = "Large checkpoints, many workers and allocators with expandable segments map more pieces than that.",
     .fix = "sysctl -w vm.max_map_count=262144",
     .look = look_at_maps},
    {.id = "huge-pages",
     .title = "Transparent huge pages",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Without them large host arrays cost more page faults; with defrag=always a fault may stall until the kernel has "
         "moved memory.",
     .look = look_at_thp},
    {.id = "huge-pages-reserved",
     .title = "Memory set apart as huge pages",
     .when = HU_CHECK_OF_NODE,
     .why = "No job that does not ask for huge pages can use this memory.",
     .fix = "sysctl -w vm.nr_hugepages=0, unless a program of yours asks for them",
     .look = look_at_hugepages},
    {.id = NULL},
};
