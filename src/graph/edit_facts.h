/* SPDX-License-Identifier: Apache-2.0
 * edit_facts.h - what edits know of a graph, private to this folder. */
#ifndef HU_GRAPH_EDIT_FACTS_H
#define HU_GRAPH_EDIT_FACTS_H

#include "graph/edit.h"
#include "graph/preempted.h"

enum { HU_EDIT_NO_KERNEL = 0xff };

/* From the device to the host. */
static inline bool hu_edit_is_copy_to_host(const hu_graph *g, uint32_t op)
{
    return g->op[op].class == HU_CLASS_COPY && hu_str_has(hu_ask_name(g->ask, g->op[op].slice), HU_STR("DtoH"));
}

struct hu_edit_facts {
    const hu_graph *g;
    unsigned        classes;    /* that host nodes are of, as bits */
    uint8_t         in;         /* HU_IN_* that any of them is in */
    uint8_t        *family;     /* by string id of kernels: hu_kernel_family or HU_EDIT_NO_KERNEL */
    uint8_t        *is_plain;   /* the same: products of fp32 on the vector units */
    bool            has_tensor; /* the device has tensor cores, or it is not known that it has none */
    double          tensor_factor;
    double          slowdown;      /* of kernels that run beside communication: share of their time */
    double          exposed;       /* share of the communication beside which nothing computes */
    double          link_gbps;     /* host to device, as pinned memory usually reaches it */
    uint8_t        *is_overlapped; /* by operation: it runs beside communication */
    int64_t        *alone_ns;      /* by operation: the median of its kernel without; 0 unknown */
    hu_drift        drift;
    hu_host_work    host;
    int64_t        *profiler_ns; /* by node: the profiler's own work in it; NULL: none was recorded */
    int64_t        *casts_ns;    /* by node: operators in it that copy or convert tensors on the CPU; NULL: a device's job */
    hu_train_parts  parts;
    hu_page_faults  page_faults;
    hu_children     children;
    hu_accumulation more;          /* reductions that are not needed */
    int64_t        *optimizer_ns;  /* by node: in a loop over parameters; NULL: none */
    int64_t        *validation_ns; /* by node: in a forward pass without backward; NULL: none */
    int64_t        *starved_ns;    /* by node: its thread had no processor; NULL: nothing recorded */
    hu_preempted    preempted;
    int64_t        *message_ns;  /* by node: as message_time.h */
    hu_joined       joined;      /* threads that the main thread joins */
    int64_t        *teams_ns;    /* by node: what equal work of OpenMP's threads saves in it; NULL: nothing */
    uint32_t       *lane_before; /* by node: the one before it on its thread, HU_NONE; NULL: no thread hands over */
    uint32_t       *syncs;       /* nodes that wait for the device, or for a copy from it; n_syncs of them */
    size_t          n_syncs;
    uint8_t        *match; /* by string id; for edits to work in */
    uint32_t       *head;  /* by operation; the same */
    hu_arena       *arena;

    hu_waited_children waited; /* child processes that compute */
};

#endif
