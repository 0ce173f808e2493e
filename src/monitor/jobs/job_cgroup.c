/* SPDX-License-Identifier: Apache-2.0
 * job_cgroup.c - the folders of a control group, from the outermost inwards.
 *
 * SLURM:  /system.slice/[NODE_]slurmstepd.scope/job_J/step_S/user/task_T (version 2, slurm.schedmd.com/cgroup_v2.html),
 *         /slurm[_NODE]/uid_U/job_J/step_S/task_T (version 1).
 * Pods:   kubepods[-QOS].slice/kubepods[-QOS]-podUID.slice/RUNTIME-ID.scope, where UID has _ for - (driver systemd);
 *         /kubepods/[QOS/]podUID/ID (driver cgroupfs).
 * Alone:  docker-ID.scope, /docker/ID, libpod-ID.scope.
 *
 * Users may make groups below their own (user.slice, or inside of their job), with any name.  So the first folder that
 * matches counts, not the last, and below user.slice only Podman is believed, which runs there.
 */
#include "monitor/jobs/job_cgroup.h"

#include "base/number.h"

enum { ID_DIGITS = 64 };

/* What stands before the first `end`, which is taken off the front with it. */
static hu_str cut(hu_str *rest, char end)
{
    const char  *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    const hu_str front = at ? (hu_str){rest->p, (size_t)(at - rest->p)} : *rest;
    const size_t taken = front.n + (at != NULL);

    *rest = (hu_str){rest->p + taken, rest->n - taken};
    return front;
}

static bool take_front(hu_str *s, hu_str front)
{
    if (!hu_str_starts(*s, front))
        return false;
    *s = (hu_str){s->p + front.n, s->n - front.n};
    return true;
}

static bool take_end(hu_str *s, hu_str end)
{
    if (!hu_str_ends(*s, end))
        return false;
    s->n -= end.n;
    return true;
}

static bool is_hex(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return true;
}

static bool is_number(hu_str s)
{
    uint64_t n;

    return hu_parse_u64(s, &n);
}

/* A container's folder: its id, alone or as RUNTIME-ID.scope. */
static bool take_container(hu_str folder, hu_str before, hu_job_group *out)
{
    hu_str     id = folder;
    hu_runtime runtime = hu_str_equal(before, HU_STR("docker")) ? HU_RUNTIME_DOCKER : HU_RUNTIME_OTHER;

    take_end(&id, HU_STR(".scope"));
    if (id.n > ID_DIGITS) {
        hu_str name = {id.p, id.n - ID_DIGITS};

        if (!take_end(&name, HU_STR("-")))
            return false;
        runtime = hu_str_equal(name, HU_STR("docker"))   ? HU_RUNTIME_DOCKER
                  : hu_str_equal(name, HU_STR("libpod")) ? HU_RUNTIME_PODMAN
                                                         : HU_RUNTIME_OTHER;
        id = (hu_str){id.p + id.n - ID_DIGITS, ID_DIGITS};
    }
    if (id.n != ID_DIGITS || !is_hex(id))
        return false;
    out->container_id = id;
    out->runtime = runtime;
    return true;
}

/* "podUID" or "kubepods[-QOS]-podUID.slice"; UID has 32 digits, with or without signs between them. */
static bool take_pod(hu_str folder, hu_job_group *out)
{
    static const hu_str marks[] = {{"-pod", 4}, {"pod", 3}};
    hu_str              uid = folder;

    if (take_end(&uid, HU_STR(".slice"))) {
        const char *at = memmem(uid.p, uid.n, marks[0].p, marks[0].n);

        if (!hu_str_has(folder, HU_STR("kubepods")) || !at)
            return false;
        uid = (hu_str){at + marks[0].n, uid.n - (size_t)(at - uid.p) - marks[0].n};
    } else if (!take_front(&uid, marks[1])) {
        return false;
    }
    if (uid.n != 32 && uid.n != 36)
        return false;
    for (size_t i = 0; i < uid.n; i++)
        if (!is_hex((hu_str){uid.p + i, 1}) && uid.p[i] != '-' && uid.p[i] != '_')
            return false;
    out->pod_uid = uid;
    return true;
}

/* What has been seen on the way down. */
typedef struct {
    bool   is_users, is_slurm, is_kube;
    hu_str before; /* the folder above */
} way;

static void take_slurm(hu_str folder, hu_job_group *out)
{
    hu_str  s = folder;
    int64_t uid;

    if (take_front(&s, HU_STR("uid_")) && hu_parse_i64(s, &uid) && out->uid < 0)
        out->uid = uid;
    else if (out->job_id.n == 0 && take_front(&s, HU_STR("job_")) && is_number(s))
        out->job_id = s;
    else if (out->job_id.n && out->step_id.n == 0 && take_front(&s, HU_STR("step_")) && s.n)
        out->step_id = s;
}

static void step_down(hu_str folder, way *w, hu_job_group *out)
{
    hu_str  s = folder;
    int64_t uid;

    if (hu_str_equal(folder, HU_STR("user.slice")) && !w->is_slurm && !w->is_kube)
        w->is_users = true;
    else if (w->is_users && take_front(&s, HU_STR("user-")) && take_end(&s, HU_STR(".slice")) && hu_parse_i64(s, &uid))
        out->uid = out->uid < 0 ? uid : out->uid;
    else if (!w->is_users && (hu_str_ends(folder, HU_STR("slurmstepd.scope")) || hu_str_equal(folder, HU_STR("slurm")) ||
                              hu_str_starts(folder, HU_STR("slurm_"))))
        w->is_slurm = true;
    else if (!w->is_users && hu_str_has(folder, HU_STR("kubepods")) && !w->is_slurm)
        w->is_kube = true;
    if (w->is_slurm)
        take_slurm(folder, out);
    if (w->is_kube && out->pod_uid.n == 0 && take_pod(folder, out)) {
        out->container_id = HU_STR(""); /* of the machine that the whole cluster may run in */
        out->runtime = HU_RUNTIME_NONE;
    } else if (out->container_id.n == 0) {
        take_container(folder, w->before, out);
    }
    w->before = folder;
}

hu_job_group hu_job_group_of(hu_str text)
{
    hu_job_group out = {.uid = -1};

    while (text.n) {
        hu_str       line = cut(&text, '\n');
        hu_job_group one = {.uid = -1};
        way          w = {0};

        cut(&line, ':');
        cut(&line, ':');
        while (line.n)
            step_down(cut(&line, '/'), &w, &one);
        if (out.job_id.n == 0 && one.job_id.n) {
            out.job_id = one.job_id;
            out.uid = one.uid;
        }
        if (out.step_id.n == 0)
            out.step_id = one.step_id;
        if (out.pod_uid.n == 0 && one.pod_uid.n) {
            out.pod_uid = one.pod_uid;
            out.container_id = one.container_id;
            out.runtime = one.runtime;
        } else if (out.container_id.n == 0) {
            out.container_id = one.container_id;
            out.runtime = one.runtime;
        }
        if (out.uid < 0)
            out.uid = one.uid;
    }
    return out;
}
