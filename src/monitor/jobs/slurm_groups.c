/* SPDX-License-Identifier: Apache-2.0
 * slurm_groups.c - folders job_J below slurmd's scope (cgroup v2) or slurm/uid_U (v1).
 *
 * With version 1 each controller has a hierarchy, and SLURM makes folders in those that it uses: all jobs are in `freezer`
 * (proctrack/cgroup), and in `devices` where it constrains devices (seen with 22.05).
 */
#include "monitor/jobs/slurm_groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"

enum {
    NVIDIA_MAJOR = 195,
    CONTROL_MINOR = 255,
    START_S = 120,
    PIDS_MOST = 8,
    DEPTH_MOST = 4,
    TRIES = 6,
    FILE_MOST = 16 << 10
};

static const char FREEZER[] = "/freezer";

static hu_slurm_job *slot_of(hu_slurm_groups *s, uint64_t id)
{
    size_t oldest = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->job[i].id == id)
            return &s->job[i];
        if (s->job[i].seen < s->job[oldest].seen)
            oldest = i;
    }
    if (s->n < HU_SLURM_JOBS)
        oldest = s->n++;
    s->job[oldest] = (hu_slurm_job){.id = id};
    return &s->job[oldest];
}

/* The GPUs that "c 195:0 rwm" and the like allow; all devices ("a *:* rwm") allow nothing in particular. */
static bool take_devices(hu_slurm_groups *s, const char *folder, const hu_owner *owner)
{
    const char *freezer = strstr(folder, FREEZER);
    char        path[PATH_MAX + 32], text[FILE_MOST];
    hu_str      rest;
    bool        is_found = false;

    if (freezer)
        snprintf(path, sizeof path, "%.*s/devices%s/devices.list", (int)(freezer - folder), folder,
                 freezer + strlen(FREEZER));
    else
        snprintf(path, sizeof path, "%s/devices.list", folder);
    for (rest = (hu_str){text, hu_files_bytes(AT_FDCWD, path, text, sizeof text)}; rest.n;) {
        const hu_str line = hu_cut(&rest, '\n');
        const char  *blank = memchr(line.p, ' ', line.n);
        const hu_str from = {line.p + 2, line.n > 2 ? line.n - 2 : 0};
        const char  *colon = from.n ? memchr(from.p, ':', from.n) : NULL;
        const char  *end = from.n ? memchr(from.p, ' ', from.n) : NULL;
        uint64_t     major, minor;

        if (!blank || line.p[0] != 'c' || !colon || !end || end < colon ||
            !hu_parse_u64((hu_str){from.p, (size_t)(colon - from.p)}, &major) ||
            !hu_parse_u64((hu_str){colon + 1, (size_t)(end - colon) - 1}, &minor))
            continue;
        if (major == NVIDIA_MAJOR && minor < CONTROL_MINOR - 1) { /* 254: modeset */
            const hu_gpu_name gpu = {.by = HU_GPU_BY_MINOR, .number = (int32_t)minor, .gi = -1};

            hu_allocations_add(&s->list, &gpu, owner);
            is_found = true;
        }
    }
    return is_found;
}

/* "0,2-3": numbers of device nodes. */
static void take_numbers(hu_slurm_groups *s, hu_str list, const hu_owner *owner)
{
    while (list.n) {
        const char  *comma = memchr(list.p, ',', list.n);
        const hu_str one = {list.p, comma ? (size_t)(comma - list.p) : list.n};
        const char  *dash = memchr(one.p, '-', one.n);
        uint64_t     from, to;

        if (hu_parse_u64(dash ? (hu_str){one.p, (size_t)(dash - one.p)} : one, &from)) {
            if (!dash || !hu_parse_u64((hu_str){dash + 1, one.n - (size_t)(dash - one.p) - 1}, &to))
                to = from;
            for (uint64_t i = from; i <= to && i < HU_BOARD_GPUS; i++) {
                const hu_gpu_name gpu = {.by = HU_GPU_BY_MINOR, .number = (int32_t)i, .gi = -1};

                hu_allocations_add(&s->list, &gpu, owner);
            }
        }
        list = (hu_str){one.p + one.n + (comma != NULL), list.n - one.n - (comma != NULL)};
    }
}

/* Calls `visit` for each process of a group and the groups in it, until it returns true or many were asked. */
static bool each_process(const char *folder, int depth, size_t *left, bool (*visit)(void *, uint32_t), void *to)
{
    char           path[PATH_MAX], text[4096];
    DIR           *dir;
    struct dirent *e;
    hu_str         rest;
    bool           is_done = false;

    if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", folder) >= sizeof path)
        return false;
    for (rest = (hu_str){text, hu_files_bytes(AT_FDCWD, path, text, sizeof text)}; rest.n && *left && !is_done;) {
        const hu_str line = hu_cut(&rest, '\n');
        uint64_t     pid;

        if (hu_parse_u64(line, &pid) && pid > 0 && pid <= INT32_MAX) {
            --*left;
            is_done = visit(to, (uint32_t)pid);
        }
    }
    dir = depth < DEPTH_MOST ? opendir(folder) : NULL;
    while (dir && !is_done && *left && (e = readdir(dir))) {
        if (e->d_name[0] == '.' || e->d_type == DT_REG ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path)
            continue;
        is_done = each_process(path, depth + 1, left, visit, to);
    }
    if (dir)
        closedir(dir);
    return is_done;
}

typedef struct {
    hu_slurm_groups *s;
    hu_processes    *processes;
    const hu_owner  *job;
} asking;

/* SLURM's own processes carry no SLURM_JOB_GPUS: the next one may. */
static bool ask(void *to, uint32_t pid)
{
    asking  *a = to;
    hu_owner owner;
    char     gpus[256];

    if (!hu_processes_owner(a->processes, pid, &owner, gpus, sizeof gpus) || !hu_owner_same(&owner, a->job) || !gpus[0])
        return false;
    owner.rank[0] = owner.world[0] = owner.step_id[0] = '\0';
    take_numbers(a->s, hu_str_of(gpus), &owner);
    return true;
}

static void forget(hu_slurm_groups *s, const hu_owner *owner)
{
    size_t n = 0;

    for (size_t i = 0; i < s->list.n; i++)
        if (!hu_owner_same(&s->list.at[i].owner, owner))
            s->list.at[n++] = s->list.at[i];
    s->list.n = n;
}

static void owner_of(uint64_t id, hu_owner *out)
{
    *out = (hu_owner){.scheduler = "slurm"};
    snprintf(out->job_id, sizeof out->job_id, "%" PRIu64, id);
}

/* Each step of its own: a step may have a part of the job's GPUs. */
static void ask_job(hu_slurm_groups *s, hu_processes *processes, const char *folder, const hu_owner *owner)
{
    asking         a = {s, processes, owner};
    DIR           *dir = opendir(folder);
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        char   path[PATH_MAX];
        size_t left = PIDS_MOST;

        if (strncmp(e->d_name, "step_", 5) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path)
            each_process(path, 0, &left, ask, &a);
    }
    if (dir)
        closedir(dir);
}

static void take_job(hu_slurm_groups *s, hu_processes *processes, const char *folder, uint64_t id)
{
    hu_slurm_job *job = slot_of(s, id);
    char          path[PATH_MAX + 32];
    struct stat   st = {0};
    int64_t       changed;
    hu_owner      owner;

    stat(folder, &st);
    changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    job->is_live = true;
    job->seen = s->look;
    snprintf(path, sizeof path, "%s/step_extern", folder);
    s->has_extern |= access(path, F_OK) == 0;
    if (job->changed_ns != changed) {
        job->changed_ns = changed;
        job->tries = 0;
        job->is_known = false;
    }
    /* a step that has just begun has no process of the job's yet, and a job without GPUs never has an answer */
    if (job->is_known || job->tries++ >= TRIES)
        return;
    owner_of(id, &owner);
    forget(s, &owner);
    if (!take_devices(s, folder, &owner))
        ask_job(s, processes, folder, &owner);
    for (size_t i = 0; i < s->list.n && !job->is_known; i++)
        job->is_known = hu_owner_same(&s->list.at[i].owner, &owner);
}

/* Folders `job_J` in one; those of version 1 lie below `uid_U`. */
static void walk(hu_slurm_groups *s, hu_processes *processes, const char *folder, int depth)
{
    DIR           *dir = opendir(folder);
    struct dirent *e;

    if (!dir)
        return;
    s->is_there = true;
    while ((e = readdir(dir))) {
        const hu_str name = hu_str_of(e->d_name);
        char         path[PATH_MAX];
        uint64_t     id;

        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path)
            continue;
        if (hu_str_starts(name, HU_STR("job_")) && hu_parse_u64((hu_str){name.p + 4, name.n - 4}, &id))
            take_job(s, processes, path, id);
        else if (depth == 0 && hu_str_starts(name, HU_STR("uid_")))
            walk(s, processes, path, 1);
    }
    closedir(dir);
}

/* A node that has several slurmd puts their names in front or behind. */
static void walk_all(hu_slurm_groups *s, hu_processes *processes, const char *root, const char *below, bool is_v2)
{
    char           path[PATH_MAX], folder[PATH_MAX];
    DIR           *dir;
    struct dirent *e;

    snprintf(folder, sizeof folder, "%s%s", root, below);
    dir = opendir(folder);
    while (dir && (e = readdir(dir))) {
        const hu_str name = hu_str_of(e->d_name);
        const bool   is_slurm = is_v2 ? hu_str_ends(name, HU_STR("slurmstepd.scope"))
                                      : hu_str_equal(name, HU_STR("slurm")) || hu_str_starts(name, HU_STR("slurm_"));

        if (is_slurm && (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path)
            walk(s, processes, path, 0);
    }
    if (dir)
        closedir(dir);
}

void hu_slurm_look(hu_slurm_groups *s, const char *root, hu_processes *processes)
{
    s->look++;
    s->is_there = false;
    for (size_t i = 0; i < s->n; i++)
        s->job[i].is_live = false;
    walk_all(s, processes, root, "/sys/fs/cgroup/system.slice", true);
    walk_all(s, processes, root, "/sys/fs/cgroup/freezer", false);
    if (!s->is_there)
        walk_all(s, processes, root, "/sys/fs/cgroup/devices", false);
    for (size_t i = 0; i < s->n; i++) {
        hu_slurm_job *job = &s->job[i];
        hu_owner      owner;

        if (job->is_live) {
            job->gone_s = 0;
        } else if (!job->gone_s) {
            job->gone_s = time(NULL);
            job->is_known = false;
            owner_of(job->id, &owner);
            forget(s, &owner);
        }
    }
}

bool hu_slurm_has_ended(const hu_slurm_groups *s, hu_str job_id, int64_t written_s)
{
    uint64_t id;

    if (!hu_parse_u64(job_id, &id))
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->job[i].id == id)
            return !s->job[i].is_live && written_s <= s->job[i].gone_s;
    return s->has_extern && time(NULL) - written_s > START_S;
}

void hu_slurm_free(hu_slurm_groups *s)
{
    hu_allocations_free(&s->list);
}
