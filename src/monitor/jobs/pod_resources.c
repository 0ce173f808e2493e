/* SPDX-License-Identifier: Apache-2.0
 * pod_resources.c - pods, their containers, their devices. */
#include "monitor/jobs/pod_resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/protobuf.h"
#include "monitor/jobs/pod_names.h"

enum { FIRST_ROOM = 8 };

static hu_str cut_at(hu_str s, hu_str mark)
{
    const char *at = s.n ? memmem(s.p, s.n, mark.p, mark.n) : NULL;

    return at ? (hu_str){s.p, (size_t)(at - s.p)} : s;
}

static bool is_bus(hu_str s) /* 0000:3b:00.0 */
{
    return s.n == 12 && s.p[4] == ':' && s.p[7] == ':' && s.p[10] == '.';
}

static bool take_number(hu_str s, hu_str before, int32_t *out)
{
    uint64_t n;

    if (!hu_str_starts(s, before) || !hu_parse_u64((hu_str){s.p + before.n, s.n - before.n}, &n) || n >= HU_BOARD_GPUS)
        return false;
    *out = (int32_t)n;
    return true;
}

bool hu_gpu_name_of_plugin(hu_str resource, hu_str id, hu_gpu_name *out)
{
    const bool   is_nvidia = hu_str_starts(resource, HU_STR("nvidia.com/"));
    const hu_str one = cut_at(id, HU_STR("::")), front = cut_at(one, HU_STR("/"));

    *out = (hu_gpu_name){.by = HU_GPU_BY_UUID, .gi = -1};
    if (hu_str_starts(one, HU_STR("GPU-")) || hu_str_starts(one, HU_STR("MIG-"))) {
        hu_owner_text(out->text, sizeof out->text, one);
        return out->text[0] != '\0';
    }
    if (is_nvidia && take_number(front, HU_STR("nvidia"), &out->number)) {
        const hu_str part = {front.p + front.n + 1, one.n > front.n ? one.n - front.n - 1 : 0};

        out->by = HU_GPU_BY_MINOR;
        /* "nvidia0/vgpu3": one of those that share it */
        return part.n == 0 || hu_str_starts(part, HU_STR("vgpu")) || take_number(part, HU_STR("gi"), &out->gi);
    }
    if (is_bus(one) && (hu_str_starts(resource, HU_STR("amd.com/")) || hu_str_starts(resource, HU_STR("gpu.intel.com/")))) {
        out->by = HU_GPU_BY_BUS;
        hu_owner_text(out->text, sizeof out->text, one);
        return true;
    }
    return false;
}

/* "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "gpu.intel.com/i915", but no network card. */
static bool is_gpus(hu_str resource)
{
    return hu_str_has(resource, HU_STR("gpu")) || hu_str_has(resource, HU_STR("/mig-"));
}

static bool take_devices(hu_str message, const hu_owner *owner, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message), again = m;
    hu_protobuf_field f;
    hu_str            resource = HU_STR("");

    while (hu_protobuf_next(&m, &f))
        if (f.number == 1)
            resource = f.bytes;
    while (hu_protobuf_next(&again, &f)) {
        hu_gpu_name gpu;

        if (f.number != 2 || !is_gpus(resource))
            continue;
        if (hu_gpu_name_of_plugin(resource, f.bytes, &gpu))
            hu_allocations_add(&out->list, &gpu, owner);
        else
            out->n_strange++;
    }
    return !m.bad;
}

static hu_claim *new_claim(hu_pod_resources *out)
{
    if (out->n_claims == out->room) {
        const size_t room = out->room ? 2 * out->room : FIRST_ROOM;
        hu_claim    *at = room <= HU_CLAIMS_MOST ? realloc(out->claim, room * sizeof *at) : NULL;

        if (!at) {
            out->is_cut = true;
            return NULL;
        }
        out->claim = at;
        out->room = room;
    }
    return &out->claim[out->n_claims++];
}

static bool take_claim_device(hu_str message, const hu_claim *whose, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_claim          c = *whose, *to;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 2)
            HU_OWNER_SET(c.driver, f.bytes);
        else if (f.number == 3)
            HU_OWNER_SET(c.pool, f.bytes);
        else if (f.number == 4)
            HU_OWNER_SET(c.device, f.bytes);
    }
    to = m.bad ? NULL : new_claim(out);
    if (to)
        *to = c;
    return !m.bad;
}

static bool take_claim(hu_str message, const hu_owner *owner, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message), again = m;
    hu_protobuf_field f;
    hu_claim          c = {0};
    bool              is_whole = true;

    memcpy(c.k8s_namespace, owner->k8s_namespace, sizeof c.k8s_namespace);
    memcpy(c.k8s_pod, owner->k8s_pod, sizeof c.k8s_pod);
    memcpy(c.k8s_container, owner->k8s_container, sizeof c.k8s_container);
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 2)
            HU_OWNER_SET(c.claim, f.bytes);
        else if (f.number == 3)
            HU_OWNER_SET(c.claim_namespace, f.bytes);
    }
    while (is_whole && hu_protobuf_next(&again, &f))
        if (f.number == 4)
            is_whole = take_claim_device(f.bytes, &c, out);
    return is_whole && !m.bad;
}

static bool take_container(hu_str message, hu_owner owner, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message), again = m;
    hu_protobuf_field f;
    bool              is_whole = true;

    while (hu_protobuf_next(&m, &f))
        if (f.number == 1)
            HU_OWNER_SET(owner.k8s_container, f.bytes);
    while (is_whole && hu_protobuf_next(&again, &f)) {
        if (f.number == 2)
            is_whole = take_devices(f.bytes, &owner, out);
        else if (f.number == 5)
            is_whole = take_claim(f.bytes, &owner, out);
    }
    return is_whole && !m.bad;
}

static bool take_pod(hu_str message, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message), again = m;
    hu_protobuf_field f;
    hu_owner          owner = {.scheduler = "kubernetes"};
    bool              is_whole = true;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            HU_OWNER_SET(owner.k8s_pod, f.bytes);
        else if (f.number == 2)
            HU_OWNER_SET(owner.k8s_namespace, f.bytes);
    }
    hu_pod_job_id(&owner);
    while (is_whole && hu_protobuf_next(&again, &f))
        if (f.number == 3 && owner.k8s_pod[0] && owner.k8s_namespace[0])
            is_whole = take_container(f.bytes, owner, out);
    return is_whole && !m.bad;
}

bool hu_pod_resources_decode(hu_str message, hu_pod_resources *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    bool              is_whole = true;

    out->list.n = out->n_claims = out->n_strange = 0;
    out->list.is_cut = out->is_cut = false;
    while (is_whole && hu_protobuf_next(&m, &f))
        if (f.number == 1)
            is_whole = take_pod(f.bytes, out);
    if (is_whole && !m.bad)
        return true;
    out->list.n = out->n_claims = 0;
    return false;
}

void hu_pod_resources_free(hu_pod_resources *r)
{
    hu_allocations_free(&r->list);
    free(r->claim);
    *r = (hu_pod_resources){0};
}
