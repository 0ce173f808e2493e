/* SPDX-License-Identifier: Apache-2.0
 * parallel_traits.c - what the trace says of parallelism besides its calls: frameworks by name, attention before experts. */
#include "analyze/parallel_work.h"
#include "base/words.h"

typedef hu_parallel_work work;

static void find_names(work *w)
{
    enum { LONGEST = 400, FSDP = 4, DEEPSPEED = 7, DDP = 8, TENSOR = 12, EMBEDDINGS = 17, TABLES = 22 };
    /* clang-format off */
    static const char *const words[] = {
        "FSDP::", "FullyShardedDataParallel.", "Module: FullyShardedDataParallel", "torch/distributed/fsdp/_",
        "DeepSpeedEngine", "DeepSpeedZeroOptimizer", "deepspeed/runtime/",
        "DistributedDataParallel",
        "ModelParallelRegion", "SequenceParallelRegion", "LinearWithGradAccumulationAndAsyncCommunication",
        "megatron/core/tensor_parallel/",
        "KJTAllToAll", "PooledEmbeddingsAwaitable", "PooledEmbeddingsAllToAll", "torchrec/", "All2All_Pooled",
        "EmbeddingBag", "embedding_bag", "split_embedding", "fbgemm::", "table_batched_embedding",
        "ep::internode", "ep::intranode", "deep_ep", "moeA2A", "EpDispatch", "MoEAlltoAllTokenDispatcher",
        "TokenDispatcher", "FusedDispatch",
        "dispatch(F)", "dispatch(B)", "combine(F)", "combine(B)"};
    /* clang-format on */
    hu_words finder;

    hu_words_init(&finder, words, HU_COUNT(words));
    for (uint32_t i = 0; i < hu_trace_string_count(w->ask->trace); i++) {
        const hu_str text = hu_trace_text(w->ask->trace, i);
        const int    at = text.n < 6 || text.n > LONGEST || text.p[0] == '[' ? -1 : hu_words_find(&finder, text);

        w->traits.names_fsdp |= at >= 0 && at < FSDP;
        w->traits.names_deepspeed |= at >= FSDP && at < DEEPSPEED;
        w->traits.names_ddp |= at >= DEEPSPEED && at < DDP;
        w->traits.names_tensor |= at >= DDP && at < TENSOR;
        w->traits.names_embeddings |= at >= TENSOR && at < EMBEDDINGS;
        w->traits.names_tables |= at >= EMBEDDINGS && at < TABLES;
        w->traits.names_experts |= at >= TABLES;
    }
}

static bool is_attention(hu_str kernel)
{
    static const char *const parts[] = {"flash", "fmha", "attention", "attn", "softmax"};

    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (hu_str_has(kernel, hu_str_of(parts[i])))
            return true;
    return false;
}

static bool has_all_to_all(const hu_traffic *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].kind == HU_TRAFFIC_ALL_TO_ALL)
            return true;
    return false;
}

/* Experts come behind attention; heads are exchanged before it.  Looks at the first all-to-all of each forward pass. */
static bool look_for_attention(work *w)
{
    const hu_ask *ask = w->ask;
    uint8_t      *known = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);
    int64_t      *first = hu_arena_alloc(ask->scratch, (w->spans.n + 1) * sizeof *first); /* by span: its attention */
    uint8_t      *seen = hu_arena_calloc(ask->scratch, w->spans.n + 1, 1);
    size_t        behind = 0, before = 0;

    if (!known || !first || !seen)
        return false;
    for (size_t i = 0; i < w->spans.n; i++)
        first[i] = INT64_MAX;
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        uint32_t       span;
        int64_t        time_ns;

        if (ask->s.kind[i] != HU_KIND_KERNEL)
            continue;
        if (!known[ask->s.name[i]])
            known[ask->s.name[i]] = is_attention(hu_ask_name(ask, i)) ? 2 : 1;
        if (known[ask->s.name[i]] != 2)
            continue;
        if (!hu_phase_started(ask, &w->spans, i, &time_ns))
            continue;
        span = hu_phase_span_before(&w->spans, time_ns);
        if (span != HU_NONE && time_ns < first[span])
            first[span] = time_ns;
    }
    for (size_t i = 0; i < w->traffic.n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];

        if (c->kind != HU_TRAFFIC_ALL_TO_ALL || c->is_integer || c->slot != HU_SLOT_FORWARD || seen[c->span] ||
            first[c->span] == INT64_MAX)
            continue;
        seen[c->span] = 1;
        if (first[c->span] < c->host_ns)
            before++;
        else
            behind++;
    }
    w->traits.has_attention = before + behind > 0;
    w->traits.attention_first = before > behind;
    return true;
}

bool hu_parallel_traits_find(hu_parallel_work *w)
{
    size_t passes = 0;

    w->traits.is_training = w->spans.has_backward;
    for (uint32_t i = 0; i < w->ask->s.n && !w->traits.has_host; i++)
        w->traits.has_host = w->ask->s.kind[i] == HU_KIND_CPU_OP;
    w->traits.steps = w->traffic.steps.n ? (double)w->traffic.steps.n : 1;
    for (size_t i = 0; i < w->spans.n; i++)
        passes += w->spans.at[i].phase == HU_PHASE_FORWARD &&
                  (!w->traffic.steps.n || hu_select_in(&w->traffic.steps, w->spans.at[i].start_ns));
    w->traits.passes = (double)passes;
    if (w->traffic.n)
        find_names(w);
    return !has_all_to_all(&w->traffic) || look_for_attention(w);
}
