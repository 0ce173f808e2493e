/* SPDX-License-Identifier: Apache-2.0
 * kubelet.h - asks the kubelet which container has which device, every few seconds, and never waits for it. */
#ifndef HU_MONITOR_JOBS_KUBELET_H
#define HU_MONITOR_JOBS_KUBELET_H

#include "monitor/jobs/grpc_call.h"
#include "monitor/jobs/pod_resources.h"

#define HU_KUBELET_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock"

typedef struct {
    hu_grpc         *call;
    char             path[512];
    hu_pod_resources answer; /* the last one; empty since a call failed: what is old is not shown */
    bool             is_there;
    bool             was_asked;
    int64_t          begun_ns; /* CLOCK_MONOTONIC of the last call */
    char             why[256]; /* it does not answer; "": it does, or there is no kubelet */
} hu_kubelet;

/* `path` NULL: the usual place, below `root`. */
bool hu_kubelet_open(hu_kubelet *k, const char *root, const char *path);
void hu_kubelet_close(hu_kubelet *k);

/* Goes on with a call.  `begin`: it is time for another one; never more than two in a second. */
void hu_kubelet_look(hu_kubelet *k, bool begin);

#endif
