/* SPDX-License-Identifier: Apache-2.0
 * kubelet.c - one call after the other, and the last answer. */
#include "monitor/jobs/kubelet.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The first call of all may take longer: `holdup monitor --once` looks once. */
enum { DEADLINE_S = 5, FIRST_WAIT_MS = 1000, WAIT_MS = 20, LEAST_MS = 500, MS = 1000000, NS = 1000000000 };

static const char METHOD[] = "/v1.PodResourcesLister/List";

bool hu_kubelet_open(hu_kubelet *k, const char *root, const char *path)
{
    *k = (hu_kubelet){0};
    snprintf(k->path, sizeof k->path, "%s%s", path ? "" : root, path ? path : HU_KUBELET_SOCKET);
    k->call = hu_grpc_new(k->path, METHOD);
    return k->call != NULL;
}

void hu_kubelet_close(hu_kubelet *k)
{
    hu_grpc_free(k->call);
    hu_pod_resources_free(&k->answer);
}

static void forget(hu_kubelet *k, const char *why)
{
    k->answer.list.n = k->answer.n_claims = k->answer.n_strange = 0;
    snprintf(k->why, sizeof k->why, "%s", why);
}

void hu_kubelet_look(hu_kubelet *k, bool begin)
{
    const int       wait_ms = k->was_asked ? WAIT_MS : FIRST_WAIT_MS;
    struct timespec now;
    int64_t         now_ns;

    if (!hu_grpc_is_waiting(k->call)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        now_ns = now.tv_sec * (int64_t)NS + now.tv_nsec;
        if (!begin || (k->was_asked && now_ns - k->begun_ns < LEAST_MS * (int64_t)MS))
            return;
        k->begun_ns = now_ns;
        hu_grpc_begin(k->call, now_ns + DEADLINE_S * (int64_t)NS);
    }
    switch (hu_grpc_go_on(k->call, wait_ms)) {
    case HU_GRPC_IDLE:
    case HU_GRPC_WAITING:
        k->is_there = true;
        break;
    case HU_GRPC_DONE:
        k->is_there = true;
        k->why[0] = '\0';
        if (!hu_pod_resources_decode(hu_grpc_answer(k->call), &k->answer))
            forget(k, "its answer is damaged");
        break;
    case HU_GRPC_ABSENT:
        k->is_there = false;
        forget(k, "");
        break;
    case HU_GRPC_FAILED:
        k->is_there = true;
        forget(k, hu_grpc_why(k->call));
        break;
    }
    k->was_asked = true;
}
