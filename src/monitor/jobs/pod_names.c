/* SPDX-License-Identifier: Apache-2.0
 * pod_names.c - names of logs. */
#include "monitor/jobs/pod_names.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void hu_pod_job_id(hu_owner *o)
{
    snprintf(o->job_id, sizeof o->job_id, "%.63s/%.253s", o->k8s_namespace, o->k8s_pod);
}

bool hu_pod_names_of(hu_str file, hu_str container_id, hu_owner *o)
{
    const char *first, *second;
    hu_str      names = file;

    if (!hu_str_ends(names, HU_STR(".log")) || container_id.n == 0)
        return false;
    names.n -= 4;
    if (!hu_str_ends(names, container_id) || names.n < container_id.n + 1 || names.p[names.n - container_id.n - 1] != '-')
        return false;
    names.n -= container_id.n + 1;
    first = memchr(names.p, '_', names.n);
    second = first ? memchr(first + 1, '_', (size_t)(names.p + names.n - first) - 1) : NULL;
    if (!second || memchr(second + 1, '_', (size_t)(names.p + names.n - second) - 1))
        return false;
    HU_OWNER_SET(o->k8s_pod, ((hu_str){names.p, (size_t)(first - names.p)}));
    HU_OWNER_SET(o->k8s_namespace, ((hu_str){first + 1, (size_t)(second - first) - 1}));
    HU_OWNER_SET(o->k8s_container, ((hu_str){second + 1, (size_t)(names.p + names.n - second) - 1}));
    return o->k8s_pod[0] && o->k8s_namespace[0];
}

bool hu_pod_names(const char *root, hu_owner *o)
{
    char           path[PATH_MAX];
    DIR           *dir;
    struct dirent *e;
    bool           is_found = false;

    snprintf(path, sizeof path, "%s/var/log/containers", root);
    dir = opendir(path);
    while (dir && !is_found && (e = readdir(dir)))
        is_found = hu_pod_names_of(hu_str_of(e->d_name), hu_str_of(o->container_id), o);
    if (dir)
        closedir(dir);
    if (is_found && strcmp(o->scheduler, "kubernetes") == 0)
        hu_pod_job_id(o);
    return is_found;
}
