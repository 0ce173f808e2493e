/* SPDX-License-Identifier: Apache-2.0
 * pod_names.h - namespace, pod and container of a container's id, from the names of its logs.
 *
 * The kubelet links each container's log as /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log; no name of Kubernetes holds
 * a "_", so this is exact, and needs neither the API server nor a permission of it.
 */
#ifndef HU_MONITOR_JOBS_POD_NAMES_H
#define HU_MONITOR_JOBS_POD_NAMES_H

#include <stdbool.h>

#include "monitor/jobs/job_owner.h"

/* Fills in the names of o's container, and its job id with them.  False: there is no such log. */
bool hu_pod_names(const char *root, hu_owner *o);

/* The names in one file's name; false: it is not of the container, or no such name. */
bool hu_pod_names_of(hu_str file, hu_str container_id, hu_owner *o);

/* job_id of a pod: NAMESPACE/POD. */
void hu_pod_job_id(hu_owner *o);

#endif
