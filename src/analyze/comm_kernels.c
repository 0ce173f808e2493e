/* SPDX-License-Identifier: Apache-2.0
 * comm_kernels.c - what was launched inside a collective of the framework is most likely that collective.
 *
 * Names of communication libraries are a table (ingest/producers.c), and new libraries come faster than rows.  But PyTorch
 * calls them all through the same operators: c10d::…, those of back ends (nccl:…, oneCCL's) and record_param_comms.  A
 * kernel that was launched inside the outermost of these is a collective when
 *
 *     no kernel there is known to be one by its name       (else it copies or casts for it), and
 *     its name tells no other purpose, or tells this one    (analyze/kernel_name.h)
 *
 * Kernels of PyTorch, CUB and the like that flatten lists of tensors there stay what they are.
 */
#include "analyze/comm_kernels.h"

#include "analyze/comm.h"
#include "analyze/kernel_name.h"
#include "base/map.h"

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    hu_arena       *scratch;
    hu_map          span_of; /* of a launching call */
    HU_VEC(bool) is_known;   /* of a span: has a collective by name */
} work;

bool hu_comm_kernels_is_call(hu_str name)
{
    return hu_str_starts(name, HU_STR("c10d::")) || hu_str_starts(name, HU_STR("_c10d_functional::")) ||
           hu_str_starts(name, HU_STR("c10d_functional::")) || hu_str_starts(name, HU_STR("record_param_comms")) ||
           hu_str_starts(name, HU_STR("nccl:")) || hu_str_starts(name, HU_STR("oneccl_bindings_for_pytorch::"));
}

/* Of each text: does it name a collective of the host?  NULL in *out when none does.  False when there is no memory. */
static bool find_names(const work *w, bool **out)
{
    const uint32_t n = hu_trace_string_count(w->trace);

    *out = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!hu_comm_kernels_is_call(hu_trace_text(w->trace, i)))
            continue;
        if (!*out && !(*out = hu_arena_calloc(w->scratch, n, sizeof **out)))
            return false;
        (*out)[i] = true;
    }
    return true;
}

/* Calls inside of the outermost collectives of each thread. */
static bool find_launches(work *w, const bool *names)
{
    const uint32_t *order = hu_trace_order(w->trace);
    uint32_t        track = HU_NONE;
    int64_t         until = INT64_MIN;

    for (size_t k = 0; k < w->s.n; k++) {
        const uint32_t i = order[k];

        if (w->s.track[i] != track) {
            track = w->s.track[i];
            until = INT64_MIN;
        }
        if (hu_kind_in(w->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)) && names[w->s.name[i]] && w->s.start_ns[i] >= until) {
            until = w->s.start_ns[i] + w->s.dur_ns[i];
            if (!hu_vec_push(w->scratch, &w->is_known, false))
                return false;
        } else if (hu_kind_in(w->s.kind[i], HU_KINDS_CALL) && w->s.start_ns[i] < until) {
            uint32_t *place = hu_map_put(&w->span_of, i);

            if (!place)
                return false;
            *place = (uint32_t)w->is_known.n - 1;
        }
    }
    return true;
}

static uint32_t span_of(const work *w, uint32_t i)
{
    const uint32_t launch = hu_kind_in(w->s.kind[i], HU_BIT(KERNEL) | HU_BIT(COLLECTIVE)) ? hu_trace_launch_of(w->trace, i)
                                                                                          : HU_NONE;

    return launch != HU_NONE ? hu_map_get(&w->span_of, launch) : HU_MAP_NONE;
}

/* Nothing else is known about it. */
static bool may_communicate(hu_str name, const hu_kernel_reader *reader, hu_arena *scratch, bool *may)
{
    const hu_comm_kind kind = hu_comm_kind_of(name);
    hu_kernel_name     read;

    if (!hu_kernel_name_read(reader, name, false, scratch, &read))
        return false;
    *may = !hu_str_equal(read.library, HU_STR("PyTorch")) && !hu_str_equal(read.library, HU_STR("CUB")) &&
           (read.family == HU_FAMILY_OTHER || read.family == HU_FAMILY_COMMUNICATION || kind == HU_COMM_ALL_REDUCE ||
            kind == HU_COMM_ALL_GATHER || kind == HU_COMM_REDUCE_SCATTER || kind == HU_COMM_ALL_TO_ALL);
    return true;
}

static const uint8_t *change(work *w)
{
    hu_kernel_reader reader;
    uint8_t         *kinds = NULL;

    for (uint32_t i = 0; i < w->s.n; i++)
        if (w->s.kind[i] == HU_KIND_COLLECTIVE && span_of(w, i) != HU_MAP_NONE)
            w->is_known.at[span_of(w, i)] = true;
    hu_kernel_reader_init(&reader);
    for (uint32_t i = 0; i < w->s.n; i++) {
        const uint32_t span = w->s.kind[i] == HU_KIND_KERNEL ? span_of(w, i) : HU_MAP_NONE;
        bool           may;

        if (span == HU_MAP_NONE || w->is_known.at[span])
            continue;
        if (!may_communicate(hu_trace_text(w->trace, w->s.name[i]), &reader, w->scratch, &may))
            return NULL;
        if (!may)
            continue;
        if (!kinds) {
            kinds = hu_arena_alloc(w->scratch, w->s.n);
            if (!kinds)
                return NULL;
            memcpy(kinds, w->s.kind, w->s.n);
        }
        kinds[i] = HU_KIND_COLLECTIVE;
    }
    return kinds ? kinds : w->s.kind;
}

const uint8_t *hu_comm_kernels_find(const hu_trace *trace, hu_arena *scratch)
{
    work  w = {.trace = trace, .s = hu_trace_slices(trace), .scratch = scratch};
    bool *names;

    if (!find_names(&w, &names))
        return NULL;
    if (!names)
        return w.s.kind;
    if (!hu_map_init(&w.span_of, scratch, 64) || !find_launches(&w, names))
        return NULL;
    return w.is_known.n ? change(&w) : w.s.kind;
}
