/* SPDX-License-Identifier: Apache-2.0
 * job_process.c - /proc/PID: stat, cgroup, status and environ.
 *
 * What the kernel says (the group, the user) counts more than what the process says of itself: any process may set
 * SLURM_JOB_ID.  The environment adds account, partition, name and rank where it speaks of the same job.
 */
#include "monitor/jobs/job_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/jobs/job_cgroup.h"
#include "monitor/jobs/job_environ.h"
#include "monitor/jobs/user_names.h"

enum { PROCESSES = 1024, START_FIELD = 22, FILE_MOST = 16 << 10, SHORT_ID = 12 };

struct hu_processes {
    const char   *root;
    hu_user_names users;
    bool          has_slurm_groups;
    uint32_t      look;
    size_t        n;
    hu_process    at[PROCESSES];
};

static hu_str read_at(int folder, const char *name, char *text, size_t room)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    size_t    n = 0;
    ssize_t   got;

    if (fd < 0)
        return HU_STR("");
    while (n < room && (got = read(fd, text + n, room - n)) > 0)
        n += (size_t)got;
    close(fd);
    return (hu_str){text, n};
}

/* Of /proc/PID/stat, "PID (NAME) STATE ..."; a name may hold brackets, so fields are counted from the last one. */
static bool start_of(int folder, const char *path, uint64_t *out)
{
    char          text[1024];
    const int     fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    const char   *at = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;
    const char   *end;

    if (fd >= 0)
        close(fd);
    for (int field = 2; at && field < START_FIELD; field++) {
        at = memchr(at, ' ', (size_t)(text + n - at));
        at += at != NULL;
    }
    end = at ? memchr(at, ' ', (size_t)(text + n - at)) : NULL;
    return end && hu_parse_u64((hu_str){at, (size_t)(end - at)}, out);
}

/* The real one, of "Uid:\tREAL\tEFFECTIVE...". */
static int64_t uid_of(int folder)
{
    char         text[4096];
    const hu_str s = read_at(folder, "status", text, sizeof text);
    const char  *at = s.n ? memmem(s.p, s.n, "\nUid:\t", 6) : NULL;
    const char  *end = at ? memchr(at + 6, '\t', (size_t)(s.p + s.n - at) - 6) : NULL;
    int64_t      uid;

    return end && hu_parse_i64((hu_str){at + 6, (size_t)(end - at) - 6}, &uid) ? uid : -1;
}

/* A pod's uid as the API writes it: "_" of systemd's driver is "-". */
static void set_pod(hu_owner *o, hu_str uid)
{
    HU_OWNER_SET(o->pod_uid, uid);
    for (char *c = o->pod_uid; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static void take_group(const hu_job_group *g, hu_owner *o)
{
    HU_OWNER_SET(o->container_id, g->container_id);
    if (g->pod_uid.n)
        set_pod(o, g->pod_uid);
    if (g->job_id.n) {
        HU_OWNER_SET(o->scheduler, HU_STR("slurm"));
        HU_OWNER_SET(o->job_id, g->job_id);
        HU_OWNER_SET(o->step_id, g->step_id);
    } else if (g->pod_uid.n) {
        HU_OWNER_SET(o->scheduler, HU_STR("kubernetes"));
        memcpy(o->job_id, o->pod_uid, sizeof o->pod_uid);
    }
}

static void take_environ(const hu_owner *e, bool is_believed, hu_owner *o)
{
    const bool is_same = strcmp(e->scheduler, o->scheduler) == 0 && strcmp(e->job_id, o->job_id) == 0;

    if (o->scheduler[0] ? is_same : is_believed) {
        if (!o->scheduler[0]) {
            memcpy(o->scheduler, e->scheduler, sizeof o->scheduler);
            memcpy(o->job_id, e->job_id, sizeof o->job_id);
        }
        if (!o->step_id[0])
            memcpy(o->step_id, e->step_id, sizeof o->step_id);
        memcpy(o->account, e->account, sizeof o->account);
        memcpy(o->partition, e->partition, sizeof o->partition);
        memcpy(o->job_name, e->job_name, sizeof o->job_name);
    }
    memcpy(o->rank, e->rank, sizeof o->rank);
    memcpy(o->world, e->world, sizeof o->world);
}

/* Where neither a group nor the environment names a scheduler: a container's runtime, or whoever started it. */
static void take_rest(const hu_job_group *g, bool is_closed, hu_owner *o)
{
    if (o->scheduler[0])
        return;
    if (g->runtime == HU_RUNTIME_DOCKER || g->runtime == HU_RUNTIME_PODMAN) {
        HU_OWNER_SET(o->scheduler, g->runtime == HU_RUNTIME_DOCKER ? HU_STR("docker") : HU_STR("podman"));
        HU_OWNER_SET(o->job_id, ((hu_str){g->container_id.p, SHORT_ID}));
    } else if (!is_closed) {
        HU_OWNER_SET(o->scheduler, HU_STR("none"));
    }
}

static bool read_process(hu_processes *p, int folder, hu_owner *o, char *gpus, size_t room, bool *is_closed)
{
    char           text[FILE_MOST];
    const hu_str   groups = read_at(folder, "cgroup", text, sizeof text);
    hu_job_group   g = hu_job_group_of(groups);
    hu_job_environ e = {0};
    const int      fd = openat(folder, "environ", O_RDONLY | O_CLOEXEC);
    int64_t        uid;

    memset(o, 0, sizeof *o);
    *is_closed = fd < 0 || !hu_job_environ_read(fd, &e);
    if (fd >= 0)
        close(fd);
    take_group(&g, o);
    take_environ(&e.owner, !(p->has_slurm_groups && strcmp(e.owner.scheduler, "slurm") == 0), o);
    take_rest(&g, *is_closed, o);
    /* a number of a container's own users is somebody else's here */
    uid = g.uid >= 0 ? g.uid : g.container_id.n && !g.job_id.n ? -1 : uid_of(folder);
    if (uid >= 0)
        hu_user_name(&p->users, p->root, uid, o->user);
    if (gpus)
        hu_owner_text(gpus, room, hu_str_of(e.gpus));
    return groups.n > 0;
}

static int open_folder(const char *root, uint32_t pid)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/proc/%" PRIu32, root, pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool hu_processes_owner(hu_processes *p, uint32_t pid, hu_owner *out, char *gpus, size_t room)
{
    const int folder = open_folder(p->root, pid);
    bool      is_closed, is_read;

    if (folder < 0)
        return false;
    is_read = read_process(p, folder, out, gpus, room, &is_closed);
    close(folder);
    return is_read;
}

hu_processes *hu_processes_new(const char *root)
{
    hu_processes *p = calloc(1, sizeof *p);

    if (p)
        p->root = root;
    return p;
}

void hu_processes_free(hu_processes *p)
{
    free(p);
}

void hu_processes_begin(hu_processes *p, bool has_slurm_groups)
{
    p->has_slurm_groups = has_slurm_groups;
    for (size_t i = 0; i < p->n;) {
        if (p->at[i].look == p->look)
            i++;
        else
            p->at[i] = p->at[--p->n];
    }
    p->look++;
}

static hu_process *slot_of(hu_processes *p, uint32_t pid)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].pid == pid)
            return &p->at[i];
    if (p->n == PROCESSES)
        return NULL;
    p->at[p->n] = (hu_process){.pid = pid};
    return &p->at[p->n++];
}

/* Reads all of it; false: it ended meanwhile, or its number is another process's now. */
static bool read_anew(hu_processes *p, hu_process *at)
{
    const int folder = open_folder(p->root, at->pid);
    uint64_t  before, after;
    bool      is_whole;

    if (folder < 0)
        return false;
    is_whole = start_of(folder, "stat", &before) && read_process(p, folder, &at->owner, NULL, 0, &at->is_closed) &&
               start_of(folder, "stat", &after) && after == before;
    close(folder);
    at->start = is_whole ? before : 0;
    at->named = 0;
    return is_whole;
}

hu_process_state hu_processes_find(hu_processes *p, uint32_t pid, hu_process **out)
{
    hu_process *at = slot_of(p, pid);
    char        path[PATH_MAX];
    uint64_t    start;

    *out = at;
    if (!at)
        return HU_PROCESS_FOREIGN;
    at->look = p->look;
    snprintf(path, sizeof path, "%s/proc/%" PRIu32 "/stat", p->root, pid);
    if (start_of(AT_FDCWD, path, &start)) {
        const bool is_same = at->is_seen && at->start == start;

        at->is_seen = true; /* of the number, whoever has it */
        if (is_same || read_anew(p, at))
            return HU_PROCESS_KNOWN;
    }
    return at->is_seen ? HU_PROCESS_GONE : HU_PROCESS_FOREIGN;
}
