/* SPDX-License-Identifier: Apache-2.0
 * cgroup_limits.c - a source: what control groups of jobs and pods may use, and how often that held them up.
 *
 * Versions 1 and 2.  Groups are found by their names: job_N below a slurmstepd.scope (version 2) or slurm/uid_N (version 1),
 * podUID below kubepods, with the names that systemd makes of them (kubepods-burstable-podUID.slice, "_" for "-").
 * The limit of processors of a pod belongs to each of its containers, and the kernel does not add up what was throttled:
 * that of the groups right below a pod is added to its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { GROUPS_MOST = 128, DEPTH_MOST = 5, VISITS_MOST = 2048, ID_ROOM = 80, CONTAINERS_MOST = 64 };

/* A limit above this is none: version 1 writes LONG_MAX in pages. */
static const double no_limit = 9.2e18;

typedef struct {
    int  cpu, memory, pids; /* folders of the controllers: all the same in version 2; -1: not there */
    bool is_v2;
} controllers;

typedef struct {
    int  root, visits, groups;
    bool is_v2;
} cgroup_limits;

static const char *const folders_v1[] = {"sys/fs/cgroup/cpu", "sys/fs/cgroup/memory", "sys/fs/cgroup/pids"};

static bool cgroup_limits_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const int      root = hu_files_root(options->root);
    cgroup_limits *h;
    bool           is_v2, is_v1;

    (void)out;
    if (root < 0)
        return false;
    is_v2 = faccessat(root, "sys/fs/cgroup/cgroup.controllers", F_OK, 0) == 0;
    is_v1 = faccessat(root, folders_v1[0], F_OK, 0) == 0 || faccessat(root, folders_v1[1], F_OK, 0) == 0;
    h = is_v2 || is_v1 ? calloc(1, sizeof *h) : NULL;
    if (!h) {
        close(root);
        return false;
    }
    h->root = root;
    h->is_v2 = is_v2;
    *state = h;
    return true;
}

static void cgroup_limits_close(void *state)
{
    const cgroup_limits *h = state;

    close(h->root);
    free(state);
}

/* The groups of that name below those of each controller. */
static controllers below(const controllers *c, const char *name)
{
    controllers out = {-1, -1, -1, c->is_v2};

    if (c->cpu >= 0)
        out.cpu = hu_files_folder(c->cpu, name);
    if (c->is_v2) {
        out.memory = out.pids = out.cpu;
        return out;
    }
    if (c->memory >= 0)
        out.memory = hu_files_folder(c->memory, name);
    if (c->pids >= 0)
        out.pids = hu_files_folder(c->pids, name);
    return out;
}

static void let_go(const controllers *c)
{
    if (c->cpu >= 0)
        close(c->cpu);
    if (c->memory >= 0 && !c->is_v2)
        close(c->memory);
    if (c->pids >= 0 && !c->is_v2)
        close(c->pids);
}

/* The value behind a key, in a file of lines "KEY VALUE". */
static bool value_of(int folder, const char *file, const char *key, double *out)
{
    char   text[4096];
    hu_str rest = folder >= 0 ? hu_files_text(folder, file, text, sizeof text) : (hu_str){text, 0};

    while (rest.n) {
        hu_str   line = hu_cut(&rest, '\n');
        uint64_t value;

        if (hu_str_equal(hu_cut_word(&line), hu_str_of(key)) && hu_parse_u64(hu_cut_word(&line), &value)) {
            *out = (double)value;
            return true;
        }
    }
    return false;
}

static bool number_of(int folder, const char *file, double *out)
{
    uint64_t value;

    if (folder < 0 || !hu_files_number(folder, file, &value))
        return false;
    *out = (double)value;
    return true;
}

/* "150000 100000" or "max 100000"; version 1 has a file for each, and -1 for no limit. */
static bool cpu_limit(const controllers *c, double *out)
{
    double time, period;

    if (c->is_v2) {
        char     text[64];
        hu_str   rest = hu_files_text(c->cpu, "cpu.max", text, sizeof text);
        uint64_t a, b;

        if (!hu_parse_u64(hu_cut_word(&rest), &a) || !hu_parse_u64(hu_cut_word(&rest), &b))
            return false;
        time = (double)a;
        period = (double)b;
    } else if (!number_of(c->cpu, "cpu.cfs_quota_us", &time) || !number_of(c->cpu, "cpu.cfs_period_us", &period)) {
        return false;
    }
    *out = time / period;
    return period > 0;
}

static bool memory_limit(const controllers *c, double *out)
{
    return number_of(c->memory, c->is_v2 ? "memory.max" : "memory.limit_in_bytes", out) && *out < no_limit;
}

typedef struct {
    double periods, throttled, seconds;
    bool   any;
} throttling;

static void add_throttling(const controllers *c, throttling *t)
{
    double periods, throttled, time;

    if (!value_of(c->cpu, "cpu.stat", "nr_periods", &periods) || !value_of(c->cpu, "cpu.stat", "nr_throttled", &throttled) ||
        !value_of(c->cpu, "cpu.stat", c->is_v2 ? "throttled_usec" : "throttled_time", &time))
        return;
    t->periods += periods;
    t->throttled += throttled;
    t->seconds += time / (c->is_v2 ? 1e6 : 1e9);
    t->any = true;
}

static void add_containers(const controllers *c, throttling *t)
{
    hu_names names;
    int      n = 0;

    if (c->cpu < 0 || !hu_names_open(&names, c->cpu, "."))
        return;
    for (const char *name = hu_names_next(&names); name && n < CONTAINERS_MOST; name = hu_names_next(&names)) {
        const controllers inner = {hu_files_folder(c->cpu, name), -1, -1, c->is_v2};

        if (inner.cpu < 0)
            continue; /* a file of the group itself */
        add_throttling(&inner, t);
        close(inner.cpu);
        n++;
    }
    hu_names_close(&names);
}

static void put_cpu(const controllers *c, const char *const *labels, hu_readings *out)
{
    throttling t = {0};
    double     value;

    if (cpu_limit(c, &value))
        hu_readings_put(out, HU_METRIC_CGROUP_CPU_LIMIT, value, labels, 3);
    if (c->is_v2 && value_of(c->cpu, "cpu.stat", "usage_usec", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_CPU_SECONDS, value / 1e6, labels, 3);
    else if (!c->is_v2 && number_of(c->cpu, "cpuacct.usage", &value)) /* mounted together, as systemd does */
        hu_readings_put(out, HU_METRIC_CGROUP_CPU_SECONDS, value / 1e9, labels, 3);
    add_throttling(c, &t);
    if (labels[2][0])
        add_containers(c, &t);
    if (!t.any)
        return;
    hu_readings_put(out, HU_METRIC_CGROUP_PERIODS, t.periods, labels, 3);
    hu_readings_put(out, HU_METRIC_CGROUP_THROTTLED, t.throttled, labels, 3);
    hu_readings_put(out, HU_METRIC_CGROUP_THROTTLED_TIME, t.seconds, labels, 3);
}

static void put_memory(const controllers *c, const char *const *labels, hu_readings *out)
{
    double value;

    if (number_of(c->memory, c->is_v2 ? "memory.current" : "memory.usage_in_bytes", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_MEMORY, value, labels, 3);
    if (memory_limit(c, &value))
        hu_readings_put(out, HU_METRIC_CGROUP_MEMORY_LIMIT, value, labels, 3);
    if (c->is_v2 ? value_of(c->memory, "memory.events", "max", &value) : number_of(c->memory, "memory.failcnt", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_MEMORY_FULL, value, labels, 3);
    if (c->is_v2 && value_of(c->memory, "memory.events", "high", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_MEMORY_HIGH, value, labels, 3);
    if (value_of(c->memory, c->is_v2 ? "memory.events" : "memory.oom_control", "oom_kill", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_OOM_KILLS, value, labels, 3);
}

static void put_group(const controllers *c, const char *scheduler, const char *job, const char *pod, hu_readings *out)
{
    const char *const labels[] = {scheduler, job, pod};
    double            value;

    put_cpu(c, labels, out);
    put_memory(c, labels, out);
    if (number_of(c->pids, "pids.current", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_PIDS, value, labels, 3);
    if (number_of(c->pids, "pids.max", &value))
        hu_readings_put(out, HU_METRIC_CGROUP_PIDS_LIMIT, value, labels, 3);
}

/* The id of "job_123", digits only. */
static bool job_id(const char *name, char *id, size_t room)
{
    const size_t n = strncmp(name, "job_", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

    if (n == 0 || n >= room || name[4 + n])
        return false;
    hu_str_copy(id, room, (hu_str){name + 4, n});
    return true;
}

/* The UID of "pod1234-…" or "kubepods-burstable-pod1234_….slice"; static pods have 32 digits without dashes. */
static bool pod_uid(const char *name, char *uid, size_t room)
{
    const char  *from = strncmp(name, "pod", 3) == 0 ? name : strstr(name, "-pod");
    const size_t n = from ? strspn(from += from == name ? 3 : 4, "0123456789abcdefABCDEF-_") : 0;

    if ((n != 36 && n != 32) || n >= room || (from[n] && strcmp(from + n, ".slice") != 0))
        return false;
    for (size_t i = 0; i < n; i++)
        uid[i] = from[i] == '_' ? '-' : from[i];
    uid[n] = '\0';
    return true;
}

/* Folders on the way to jobs and pods. */
static bool is_on_the_way(const char *name)
{
    return strstr(name, "slurm") || strstr(name, "kubepods") || strcmp(name, "system.slice") == 0 ||
           strcmp(name, "kubelet.slice") == 0 || strcmp(name, "kubelet") == 0 || strcmp(name, "burstable") == 0 ||
           strcmp(name, "besteffort") == 0 || strncmp(name, "uid_", 4) == 0;
}

static void walk(cgroup_limits *h, const controllers *c, int depth, hu_readings *out)
{
    const int list = c->cpu >= 0 ? c->cpu : c->memory;
    hu_names  names;

    if (list < 0 || !hu_names_open(&names, list, "."))
        return;
    for (const char *name = hu_names_next(&names); name && h->visits < VISITS_MOST; name = hu_names_next(&names)) {
        char        id[ID_ROOM];
        const bool  is_job = job_id(name, id, sizeof id), is_pod = !is_job && pod_uid(name, id, sizeof id);
        controllers inner;

        if (!is_job && !is_pod && !is_on_the_way(name))
            continue;
        h->visits++;
        inner = below(c, name);
        if (inner.cpu < 0 && inner.memory < 0)
            continue;
        if ((is_job || is_pod) && h->groups++ < GROUPS_MOST)
            put_group(&inner, is_job ? "slurm" : "kubernetes", id, is_pod ? id : "", out); /* as holdup_job_info has them */
        else if (!is_job && !is_pod && depth < DEPTH_MOST)
            walk(h, &inner, depth + 1, out);
        let_go(&inner);
    }
    hu_names_close(&names);
}

static bool cgroup_limits_sample(void *state, hu_sample_group group, hu_readings *out)
{
    cgroup_limits *h = state;
    controllers    top = {-1, -1, -1, h->is_v2};
    double         limit;

    if (group != HU_SAMPLE_MEDIUM)
        return true;
    if (h->is_v2) {
        top.cpu = top.memory = top.pids = hu_files_folder(h->root, "sys/fs/cgroup");
    } else {
        top.cpu = hu_files_folder(h->root, folders_v1[0]);
        top.memory = hu_files_folder(h->root, folders_v1[1]);
        top.pids = hu_files_folder(h->root, folders_v1[2]);
    }
    if (top.cpu < 0 && top.memory < 0) {
        let_go(&top);
        return false;
    }
    h->visits = h->groups = 0;
    if (cpu_limit(&top, &limit) || memory_limit(&top, &limit)) /* we are in a container */
        put_group(&top, "", "", "", out);
    walk(h, &top, 0, out);
    let_go(&top);
    if (h->groups > GROUPS_MOST)
        hu_put_problem(out, "cgroup_limits",
                       "there are more than 128 control groups of jobs and pods; the others are left out",
                       "use cAdvisor or the kubelet for all pods of this node");
    return true;
}

const hu_source hu_source_cgroup_limits = {"cgroup_limits", HU_SAMPLER_HOST, cgroup_limits_open, cgroup_limits_sample,
                                           cgroup_limits_close};
