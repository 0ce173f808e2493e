/* SPDX-License-Identifier: Apache-2.0
 * pod_resources.h - the kubelet's answer to "which container has which device": v1.PodResourcesLister/List.
 *
 * Field numbers: kubernetes, staging/src/k8s.io/kubelet/pkg/apis/podresources/v1/api.proto (stable since 1.28; claims of
 * dynamic resource allocation since 1.31).  The socket's other end is trusted no further than its bytes.
 */
#ifndef HU_MONITOR_JOBS_POD_RESOURCES_H
#define HU_MONITOR_JOBS_POD_RESOURCES_H

#include "monitor/jobs/allocations.h"

enum { HU_CLAIMS_MOST = 256 };

/* A device that dynamic resource allocation gave to a container, by the names that its driver uses for it. */
typedef struct {
    char claim_namespace[HU_OWNER_TEXT], claim[HU_OWNER_POD];
    char k8s_namespace[HU_OWNER_TEXT], k8s_pod[HU_OWNER_POD], k8s_container[HU_OWNER_TEXT];
    char driver[HU_OWNER_TEXT], pool[HU_OWNER_POD], device[HU_OWNER_TEXT];
} hu_claim;

typedef struct {
    hu_allocations list; /* devices of device plugins */
    hu_claim      *claim;
    size_t         n_claims, room;
    size_t         n_strange; /* devices of GPU resources whose names say no GPU */
    bool           is_cut;    /* claims were left out */
} hu_pod_resources;

/* Replaces what was there.  False: the message is damaged, and `out` is empty. */
bool hu_pod_resources_decode(hu_str message, hu_pod_resources *out);
void hu_pod_resources_free(hu_pod_resources *r);

/*
 * Which GPU a device plugin means: uuid of a GPU or MIG device, "nvidia0" (a device node), "nvidia0/gi1", a PCI address;
 * with or without the "::7" of a GPU that is shared by time.  False: no GPU's name.
 */
bool hu_gpu_name_of_plugin(hu_str resource, hu_str id, hu_gpu_name *out);

#endif
