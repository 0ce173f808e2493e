/* SPDX-License-Identifier: Apache-2.0
 * identity.c - /proc/PID/stat, status and cgroup.
 *
 * A sender in a container counts processes in a namespace of its own.  Its own number is known from the kernel; one of which
 * it speaks is looked for among all processes: the one that began at that time and has that number in the innermost
 * namespace (NSpid).  That is dear, so it is done seldom.
 */
#include "monitor/live/identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/jobs/job_cgroup.h"
#include "monitor/jobs/pod_names.h"
#include "monitor/jobs/slurm_groups.h"

enum {
    STATE_FIELD = 3,
    GROUP_FIELD = 5,
    START_FIELD = 22,
    STATUS_MOST = 8192,
    USERS = 64,
    ASKS_A_SECOND = 128,
    SEARCHES_A_SECOND = 4,
    SLURM_S = 5
};

static const int64_t SECOND_NS = 1000000000;

struct hu_live_identity {
    const char     *root;
    hu_processes   *processes;
    hu_slurm_groups slurm;    /* whether there are any: who calls himself SLURM's outside of them is not believed */
    int64_t         slurm_ns; /* when that was looked at */
    int64_t         since_ns; /* of the second in which the rest is counted */
    unsigned        asks[USERS], searches; /* by the lowest digits of the user's number */
};

hu_live_identity *hu_live_identity_new(const char *root)
{
    hu_live_identity *i = calloc(1, sizeof *i);

    if (i)
        i->root = root;
    if (i && (i->processes = hu_processes_new(root)))
        return i;
    free(i);
    return NULL;
}

void hu_live_identity_free(hu_live_identity *i)
{
    if (!i)
        return;
    hu_processes_free(i->processes);
    hu_slurm_free(&i->slurm);
    free(i);
}

static int folder_of(const char *root, uint32_t pid)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/proc/%" PRIu32, root, pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

typedef struct {
    char     state;
    uint64_t group, start; /* group: of processes */
} stat_of;

/* Of "PID (NAME) STATE PARENT GROUP SESSION ..."; a name may hold brackets. */
static bool read_stat(int folder, stat_of *out)
{
    char         text[1024];
    const hu_str s = hu_files_text(folder, "stat", text, sizeof text);
    const char  *at = s.n ? memrchr(s.p, ')', s.n) : NULL;
    hu_str       rest;

    *out = (stat_of){.state = '?'};
    if (!at)
        return false;
    rest = (hu_str){at + 1, (size_t)(s.p + s.n - at) - 1};
    for (int field = STATE_FIELD; field <= START_FIELD; field++) {
        const hu_str word = hu_cut_word(&rest);

        if (field == STATE_FIELD && word.n == 1)
            out->state = word.p[0];
        if (field == GROUP_FIELD && !hu_parse_u64(word, &out->group))
            out->group = 0;
        if (field == START_FIELD)
            return hu_parse_u64(word, &out->start);
    }
    return false;
}

hu_live_state hu_live_state_of(const char *root, uint32_t pid, uint64_t began)
{
    const int folder = folder_of(root, pid);
    stat_of   s;
    bool      is_read;

    if (folder < 0)
        return HU_LIVE_GONE;
    is_read = read_stat(folder, &s);
    close(folder);
    if (!is_read || s.start != began || s.state == 'Z' || s.state == 'X')
        return HU_LIVE_GONE;
    return s.state == 'T' || s.state == 't' ? HU_LIVE_STOPPED : HU_LIVE_RUNS;
}

/* The words behind "NAME:" of /proc/PID/status. */
static hu_str line_of(hu_str status, const char *name)
{
    while (status.n) {
        const hu_str line = hu_cut(&status, '\n');

        if (hu_str_starts(line, hu_str_of(name)))
            return (hu_str){line.p + strlen(name), line.n - strlen(name)};
    }
    return (hu_str){0};
}

typedef struct {
    stat_of  stat;
    int64_t  uid;
    uint64_t inner;  /* its number in the innermost namespace */
    unsigned levels; /* of namespaces; 0: not known */
} status_of;

static bool read_status(const char *root, uint32_t pid, status_of *out)
{
    const int folder = folder_of(root, pid);
    char      text[STATUS_MOST];
    hu_str    status, uids, pids;
    bool      is_read;

    if (folder < 0)
        return false;
    *out = (status_of){.uid = -1};
    status = hu_files_text(folder, "status", text, sizeof text);
    is_read = read_stat(folder, &out->stat);
    close(folder);
    uids = line_of(status, "Uid:");
    pids = line_of(status, "NSpid:");
    for (hu_str word; (word = hu_cut_word(&pids)).n && hu_parse_u64(word, &out->inner);)
        out->levels++;
    return is_read && hu_parse_i64(hu_cut_word(&uids), &out->uid);
}

/* Of all processes, the one that began then and has that number where the sender lives; 0: none. */
static uint32_t search(hu_live_identity *i, const hu_live_datagram *d, const status_of *sender)
{
    const int root = hu_files_root(i->root);
    hu_names  names;
    uint32_t  found = 0;

    if (root < 0 || i->searches++ >= SEARCHES_A_SECOND || !hu_names_open(&names, root, "proc")) {
        if (root >= 0)
            close(root);
        return 0;
    }
    for (const char *name; !found && (name = hu_names_next(&names));) {
        uint64_t  pid;
        status_of s;
        stat_of   stat;
        int       folder;

        if (!hu_parse_u64(hu_str_of(name), &pid) || pid > INT32_MAX || (folder = folder_of(i->root, (uint32_t)pid)) < 0)
            continue;
        if (read_stat(folder, &stat) && stat.start == d->began && read_status(i->root, (uint32_t)pid, &s) &&
            s.levels == sender->levels && s.inner == d->pid)
            found = (uint32_t)pid;
        close(folder);
    }
    hu_names_close(&names);
    close(root);
    return found;
}

/* The process in our own namespace; 0: there is none. */
static uint32_t pid_of(hu_live_identity *i, const hu_live_sender *sender, const hu_live_datagram *d)
{
    status_of s;

    if (sender->pid == d->pid || !read_status(i->root, sender->pid, &s) || s.levels < 2)
        return d->pid;
    return s.inner == d->pid && s.stat.start == d->began ? sender->pid : search(i, d, &s);
}

static bool is_hasty(hu_live_identity *i, const hu_live_sender *sender, int64_t now_ns)
{
    if (now_ns - i->since_ns >= SECOND_NS) {
        memset(i->asks, 0, sizeof i->asks);
        i->searches = 0;
        i->since_ns = now_ns;
    }
    return i->asks[(uint64_t)sender->uid % USERS]++ >= ASKS_A_SECOND;
}

void hu_live_name_alone(uint64_t group, hu_owner *o)
{
    snprintf(o->job_id, sizeof o->job_id, "pid-%" PRIu64, group);
}

/* What neither a group nor a scheduler's variables name is what the process says, as its user's own job. */
static void name_by_hand(const hu_live_datagram *d, const status_of *s, hu_owner *o)
{
    if (!o->job_id[0])
        HU_OWNER_SET(o->job_id, hu_str_of(d->job_id));
    if (!o->job_id[0])
        hu_live_name_alone(s->stat.group, o);
    if (!o->step_id[0])
        HU_OWNER_SET(o->step_id, hu_str_of(d->step_id));
}

/* One that no user can make. */
static bool has_group(const char *root, uint32_t pid)
{
    const int    folder = folder_of(root, pid);
    char         text[STATUS_MOST];
    hu_job_group g;

    if (folder < 0)
        return false;
    g = hu_job_group_of(hu_files_text(folder, "cgroup", text, sizeof text));
    close(folder);
    return g.uid < 0 && (g.job_id.n || g.pod_uid.n || g.container_id.n);
}

hu_live_verdict hu_live_identify(hu_live_identity *i, const hu_live_sender *sender, const hu_live_datagram *d,
                                 int64_t now_ns, hu_live_who *out)
{
    status_of s;

    memset(out, 0, sizeof *out);
    if (is_hasty(i, sender, now_ns))
        return HU_LIVE_HASTY;
    out->pid = pid_of(i, sender, d);
    if (out->pid == 0 || !read_status(i->root, out->pid, &s) || s.stat.start != d->began)
        return HU_LIVE_PROCESS;
    if (sender->uid != 0 && sender->uid != s.uid)
        return HU_LIVE_FOREIGN;
    out->uid = s.uid;
    out->is_own_group = has_group(i->root, out->pid);
    if (i->slurm_ns == 0 || now_ns - i->slurm_ns >= SLURM_S * SECOND_NS) {
        hu_slurm_look(&i->slurm, i->root, i->processes);
        i->slurm_ns = now_ns;
    }
    hu_processes_begin(i->processes, i->slurm.is_there);
    if (!hu_processes_owner(i->processes, out->pid, &out->owner, NULL, 0))
        return HU_LIVE_PROCESS;
    if (out->owner.pod_uid[0])
        hu_pod_names(i->root, &out->owner);
    name_by_hand(d, &s, &out->owner);
    out->group = s.stat.group;
    /* half of it was another's if the number was given again meanwhile */
    return hu_live_state_of(i->root, out->pid, d->began) == HU_LIVE_GONE ? HU_LIVE_PROCESS : HU_LIVE_TAKEN;
}
