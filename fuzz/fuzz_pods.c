/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pods.c - any answer of a kubelet, any control group, any name of a log: what is taken lies inside of it and fits.
 *
 * The input is all of these at once; an answer that is damaged leaves nothing behind.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/jobs/job_cgroup.h"
#include "monitor/jobs/pod_names.h"
#include "monitor/jobs/pod_resources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_text(const char *text, size_t room)
{
    const size_t length = strnlen(text, room);

    if (length == room)
        abort();
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            abort();
}

#define CHECK(field) check_text(field, sizeof(field))

static void check_owner(const hu_owner *o)
{
    CHECK(o->job_id);
    CHECK(o->k8s_namespace);
    CHECK(o->k8s_pod);
    CHECK(o->k8s_container);
}

static void decode(hu_str message)
{
    hu_pod_resources r = {0};
    const bool       is_whole = hu_pod_resources_decode(message, &r);

    if ((!is_whole && (r.list.n || r.n_claims)) || r.list.n > HU_ALLOCATIONS_MOST || r.n_claims > HU_CLAIMS_MOST)
        abort();
    for (size_t i = 0; i < r.list.n; i++) {
        const hu_allocation *a = &r.list.at[i];

        check_owner(&a->owner);
        CHECK(a->gpu.text);
        if (strcmp(a->owner.scheduler, "kubernetes") != 0 || !a->owner.k8s_pod[0] || a->gpu.number < 0 ||
            a->gpu.number >= HU_BOARD_GPUS || a->gpu.gi < -1)
            abort();
    }
    for (size_t i = 0; i < r.n_claims; i++) {
        CHECK(r.claim[i].claim);
        CHECK(r.claim[i].claim_namespace);
        CHECK(r.claim[i].driver);
        CHECK(r.claim[i].pool);
        CHECK(r.claim[i].device);
    }
    hu_pod_resources_free(&r);
}

static void check_part(hu_str part, hu_str whole)
{
    if (part.n && (part.p < whole.p || part.p + part.n > whole.p + whole.n))
        abort();
}

static void parse_group(hu_str text)
{
    const hu_job_group g = hu_job_group_of(text);

    check_part(g.job_id, text);
    check_part(g.step_id, text);
    check_part(g.pod_uid, text);
    check_part(g.container_id, text);
    if (g.container_id.n && g.container_id.n != 64)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_str all = {(const char *)data, n}, front = {all.p, n < 64 ? n : 64};
    hu_owner     o = {0};

    decode(all);
    parse_group(all);
    hu_pod_names_of(all, front, &o);
    check_owner(&o);
    return 0;
}
