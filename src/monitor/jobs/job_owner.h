/* SPDX-License-Identifier: Apache-2.0
 * job_owner.h - whom a GPU works for: a job as its scheduler, its group of processes and its environment tell of it.
 *
 * A text that is not known is "".  The same job is described by several of them, each of which knows a part.
 */
#ifndef HU_MONITOR_JOBS_JOB_OWNER_H
#define HU_MONITOR_JOBS_JOB_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Names of Kubernetes are DNS names: 63 bytes a label, 253 a pod. */
enum { HU_OWNER_ID = 320, HU_OWNER_TEXT = 128, HU_OWNER_POD = 256, HU_OWNER_CONTAINER = 72, HU_OWNER_NUMBER = 16 };

typedef struct {
    char scheduler
        [HU_OWNER_NUMBER];    /* slurm, kubernetes, pbs, lsf, flux, docker, podman; "none": started by hand; "": not known */
    char job_id[HU_OWNER_ID]; /* as the scheduler writes it; of Kubernetes NAMESPACE/POD, else the pod's uid */
    char step_id[HU_OWNER_NUMBER];
    char user[HU_OWNER_TEXT]; /* a name, or a number that has none; never that of a user inside of a container */
    char account[HU_OWNER_TEXT], partition[HU_OWNER_TEXT], job_name[HU_OWNER_TEXT];
    char rank[HU_OWNER_NUMBER], world[HU_OWNER_NUMBER];
    char pod_uid[HU_OWNER_NUMBER * 4];
    char k8s_namespace[HU_OWNER_TEXT], k8s_pod[HU_OWNER_POD], k8s_container[HU_OWNER_TEXT];
    char container_id[HU_OWNER_CONTAINER];
} hu_owner;

/* Copies a text that fits and has only printable ASCII or bytes above it; else "" stays, for half a name is another one. */
void hu_owner_text(char *to, size_t room, hu_str from);
#define HU_OWNER_SET(field, from) hu_owner_text((field), sizeof(field), (from))

/* Does a scheduler or a container name the job?  Else a user's processes are one. */
bool hu_owner_has_job(const hu_owner *o);

/* The same number for the same job: of its scheduler and id, or of the user whose processes are one. */
uint64_t hu_owner_hash(const hu_owner *o);

/* Are they one job?  A job whose scheduler is not known is the one of that number. */
bool hu_owner_same(const hu_owner *a, const hu_owner *b);

/* Adds what `from` knows of the same job.  Processes that differ in rank, step or container leave that text empty. */
void hu_owner_add(hu_owner *to, const hu_owner *from);

/* Takes out what --no-user-labels forbids: users, accounts, names of jobs. */
void hu_owner_hide(hu_owner *o);

#endif
