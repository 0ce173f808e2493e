/* SPDX-License-Identifier: Apache-2.0
 * parallel_rules.c - the decision table: what is gathered, scattered and reduced in forward, in backward, and afterwards.
 *
 *     forward                 backward                        after optimizer     is
 *     all-reduce              all-reduce of the same size     -                   TP (Megatron-LM: 2 of each in a layer)
 *     all-gather + r-scatter  all-gather + reduce-scatter     -                   TP with sequence parallel
 *     all-gather              all-gather + reduce-scatter     -                   FSDP full shard, ZeRO-3
 *     all-gather              reduce-scatter                  -                   FSDP SHARD_GRAD_OP
 *     -                       reduce-scatter or reduce        all-gather          ZeRO-2, or ZeRO-1 in one piece
 *     -                       all-reduce                      all-gather, bcast   ZeRO-1
 *     -                       all-reduce                      -                   DDP
 *
 * Sources: Rajbhandari et al., ZeRO (2020); Zhao et al., PyTorch FSDP (2023); Narayanan et al., Megatron-LM (2021);
 * Korthikanti et al., sequence parallelism (2022).  DeepSpeed's stages 1 and 2 have reduced gradients by all-reduce, reduce
 * and reduce-scatter over the years, so what was seen is said first, and the stage is only consistent with it.
 */
#include "analyze/parallel_rules.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"

void hu_judgement_say(hu_judgement *j, const char *format, ...)
{
    va_list list;

    if (j->n_reasons == HU_JUDGEMENT_REASONS)
        return;
    va_start(list, format);
    vsnprintf(j->reasons[j->n_reasons++], HU_JUDGEMENT_BYTES, format, list);
    va_end(list);
}

hu_count_text hu_parallel_per(int64_t n, double steps)
{
    hu_count_text out;
    char          number[HU_NUMBER_BYTES];
    const double  each = (double)n / (steps > 0 ? steps : 1);
    const bool    whole = each - (double)(int64_t)each < 0.05;

    hu_format_fixed(number, each, whole ? 0 : 1);
    snprintf(out.t, sizeof out.t, "%.20s", number);
    return out;
}

/* Is it there, and no part of a longer word where it is as short as "tp"? */
static bool names(hu_str text, const char *word)
{
    const hu_str w = hu_str_of(word);

    return w.n > 4 ? hu_str_has_lower(text, w) : hu_str_has_word(text, w);
}

/* "mesh_tp" of a DeviceMesh, "TENSOR_MODEL_PARALLEL_GROUP" of Megatron-LM. */
int hu_parallel_name_speaks(const hu_traffic_group *g, hu_parallel_kind kind)
{
    enum { TENSOR = 1, PIPELINE = 2, EXPERT = 4, CONTEXT = 8, DATA = 16, EMBEDDING = 32 };
    static const struct {
        const char *word;
        unsigned    says;
        /* clang-format off */
    } words[] = {
        {"expert", EXPERT | DATA}, {"ep", EXPERT},        {"tensor", TENSOR},   {"tp", TENSOR},
        {"pipeline", PIPELINE},    {"pp", PIPELINE},      {"pipe", PIPELINE},   {"embedding", EMBEDDING},
        {"context", CONTEXT | DATA}, {"cp", CONTEXT | DATA}, {"sequence", CONTEXT}, {"sp", CONTEXT | TENSOR},
        {"data_parallel", DATA},   {"dp", DATA},          {"replicate", DATA},  {"shard", DATA},
        {"fsdp", DATA},            {"ddp", DATA},         {"ulysses", CONTEXT},
    };
    /* clang-format on */
    static const unsigned of[HU_PARALLEL_COUNT] = {
        [HU_PARALLEL_TP] = TENSOR,          [HU_PARALLEL_TP_SP] = TENSOR,    [HU_PARALLEL_CP] = CONTEXT,
        [HU_PARALLEL_PP] = PIPELINE,        [HU_PARALLEL_EP] = EXPERT,       [HU_PARALLEL_HSDP] = DATA,
        [HU_PARALLEL_HSDP_REPLICAS] = DATA, [HU_PARALLEL_FULL_SHARD] = DATA, [HU_PARALLEL_GRAD_OP] = DATA,
        [HU_PARALLEL_ZERO_2] = DATA,        [HU_PARALLEL_ZERO_1] = DATA,     [HU_PARALLEL_DDP] = DATA,
        [HU_PARALLEL_TIED] = EMBEDDING};
    unsigned said = 0;

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (names(g->description, words[i].word) || names(g->name, words[i].word))
            said |= words[i].says;
    return !said || kind >= HU_PARALLEL_COUNT || !of[kind] ? 0 : said & of[kind] ? 1 : -1;
}

/* What the counts become, with the names that bear on them. */
static void conclude(hu_judgement *j, const hu_pattern *p, const hu_traffic_group *g, hu_parallel_kind kind, hu_trust trust)
{
    const int    speaks = hu_parallel_name_speaks(g, kind);
    const hu_str name = g->description.n ? g->description : g->name;
    const int    shown = name.n > 60 ? 60 : (int)name.n;

    j->kind = kind;
    j->trust = trust;
    if (p->named == 0 && j->trust == HU_TRUST_HIGH) {
        j->trust = HU_TRUST_MEDIUM;
        hu_judgement_say(j, "identified by kernel names only");
    }
    if (p->orphans)
        hu_judgement_say(j, "%lld calls not counted: launched before the capture began", (long long)p->orphans);
    if (speaks > 0) {
        j->trust = HU_TRUST_HIGH;
        hu_judgement_say(j, "the group is called %.*s", shown, name.p);
    } else if (speaks < 0) {
        j->trust = HU_TRUST_LOW;
        hu_judgement_say(j, "but the group is called %.*s", shown, name.p);
    }
}

typedef struct {
    int64_t f_ag, f_rs, f_ar, b_ag, b_rs, b_ar, b_reduce;
    int64_t after_ag, after_bc, after_ar, after_rs;
} counts;

static counts count(const hu_pattern *p)
{
    return (counts){
        .f_ag = hu_pattern_in_forward(p, HU_TRAFFIC_ALL_GATHER),
        .f_rs = hu_pattern_in_forward(p, HU_TRAFFIC_REDUCE_SCATTER),
        .f_ar = hu_pattern_in_forward(p, HU_TRAFFIC_ALL_REDUCE),
        .b_ag = hu_pattern_in_backward(p, HU_TRAFFIC_ALL_GATHER),
        .b_rs = hu_pattern_in_backward(p, HU_TRAFFIC_REDUCE_SCATTER),
        .b_ar = hu_pattern_in_backward(p, HU_TRAFFIC_ALL_REDUCE),
        .b_reduce = hu_pattern_in_backward(p, HU_TRAFFIC_REDUCE),
        .after_ag = hu_pattern_after(p, HU_TRAFFIC_ALL_GATHER),
        .after_bc = hu_pattern_after(p, HU_TRAFFIC_BROADCAST),
        .after_ar = hu_pattern_after(p, HU_TRAFFIC_ALL_REDUCE),
        .after_rs = hu_pattern_after(p, HU_TRAFFIC_REDUCE_SCATTER),
    };
}

/* Without a backward pass. */
static void judge_inference(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t, hu_judgement *j)
{
    enum { FEWEST = 8 };
    int64_t common = 0, reductions = 0;

    for (size_t s = 0; s < HU_SLOT_COUNT; s++) {
        reductions += p->n[s][HU_TRAFFIC_ALL_REDUCE];
        common = p->common_n[s][HU_TRAFFIC_ALL_REDUCE] > common ? p->common_n[s][HU_TRAFFIC_ALL_REDUCE] : common;
    }
    if (!t->has_host) {
        conclude(j, p, g, HU_PARALLEL_UNKNOWN, HU_TRUST_LOW);
        hu_judgement_say(j, "host not recorded: forward and backward cannot be separated");
        return;
    }
    hu_judgement_say(j, "no backward pass was recorded");
    if (p->sized == 0 && reductions == p->tensors)
        common = reductions; /* sizes are not recorded */
    if (common < FEWEST || 2 * common < reductions) {
        conclude(j, p, g, HU_PARALLEL_UNKNOWN, HU_TRUST_LOW);
        return;
    }
    conclude(j, p, g, HU_PARALLEL_TP, t->names_tensor ? HU_TRUST_MEDIUM : HU_TRUST_LOW);
    j->words = "TP without a backward pass";
    hu_judgement_say(j, "%lld all-reduces%s, as in tensor-parallel inference", (long long)common,
                     p->sized ? " of one size" : "");
    if (t->names_tensor)
        hu_judgement_say(j, "operators of Megatron-LM's tensor parallelism");
}

/*
 * Each at most of/per times as many as the other: a layer does in backward what it does in forward, or that recomputed
 * too.
 */
static bool as_often(int64_t a, int64_t b, int64_t of, int64_t per)
{
    return a > 0 && b > 0 && per * a <= of * b && per * b <= of * a;
}

/* Activations and looked-up rows: forward and backward move the same sizes. */
static bool judge_tensor(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t, const counts *c,
                         hu_judgement *j)
{
    const int64_t(*common)[HU_TRAFFIC_COUNT] = p->common;
    const int64_t forward = common[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_REDUCE];
    const int64_t backward = common[HU_SLOT_BACKWARD][HU_TRAFFIC_ALL_REDUCE];
    const int64_t gathered = common[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_GATHER];
    const int64_t scattered = common[HU_SLOT_FORWARD][HU_TRAFFIC_REDUCE_SCATTER];

    if (t->names_embeddings && c->f_rs && c->b_ag && c->f_ag + c->b_rs == 0) {
        conclude(j, p, g, HU_PARALLEL_EMBEDDINGS, HU_TRUST_HIGH);
        hu_judgement_say(j, "rows are reduce-scattered in forward, gradients gathered");
        return true;
    }
    if (as_often(c->f_rs, c->f_ag, 3, 2) && as_often(c->b_rs, c->b_ag, 3, 1)) {
        conclude(j, p, g, HU_PARALLEL_TP_SP, gathered == scattered && gathered >= 0 ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
        hu_judgement_say(j, "all-gathers and reduce-scatters in forward and in backward%s",
                         gathered == scattered && gathered >= 0 ? ", of the same size" : "");
        return true;
    }
    if (c->f_ar == 0 || c->b_ar == 0 || c->f_rs || c->b_rs)
        return false;
    if (p->sized) {
        if (forward < 0 || forward != backward || 2 * p->common_n[HU_SLOT_BACKWARD][HU_TRAFFIC_ALL_REDUCE] < c->b_ar ||
            !as_often(p->common_n[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_REDUCE],
                      p->common_n[HU_SLOT_BACKWARD][HU_TRAFFIC_ALL_REDUCE], 3, 1))
            return false;
    } else if (c->f_ar < 2 || !as_often(c->f_ar, c->b_ar, 3, 1)) {
        return false;
    }
    conclude(j, p, g, HU_PARALLEL_TP, p->sized && c->f_ar > 1 ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
    hu_judgement_say(j, "all-reduces in forward and in backward%s", p->sized ? ", of the same size" : "");
    return true;
}

/* Parameters are gathered before they are used. */
static bool judge_full_shard(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t, const counts *c,
                             hu_judgement *j)
{
    const bool named = t->names_fsdp || t->names_deepspeed;

    if (c->f_ag == 0 || c->b_rs + c->after_rs == 0)
        return false;
    if (4 * c->b_ag >= c->f_ag) {
        conclude(j, p, g, HU_PARALLEL_FULL_SHARD,
                 named || (2 * c->b_ag >= c->f_ag && c->f_ag > 2) ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
        j->words = t->names_fsdp ? "FSDP full shard" : t->names_deepspeed ? "ZeRO-3" : NULL;
        hu_judgement_say(j, "gathers in forward and in backward, reduce-scatters in backward");
        if (g->is_stream && c->b_ar && c->b_ar >= c->b_rs) {
            j->kind = HU_PARALLEL_HSDP;
            j->words = "HSDP";
            hu_judgement_say(j, "an all-reduce with each reduce-scatter; groups not recorded");
            return true;
        }
        if (!named)
            hu_judgement_say(j, "no range says which of the two");
        return true;
    }
    conclude(j, p, g, HU_PARALLEL_GRAD_OP, t->names_fsdp && (double)c->f_ag > t->passes ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
    hu_judgement_say(j, "gathers in forward only, reduce-scatters in backward");
    if ((double)c->f_ag <= t->passes)
        hu_judgement_say(j, "one gather per pass: a full shard of one unit looks the same");
    else if (!t->names_fsdp)
        hu_judgement_say(j, "an optimizer shard that is gathered in forward looks the same");
    return true;
}

/* The optimizer's state is split; gradients come by all-reduce, reduce-scatter or reduce. */
static bool judge_optimizer_shard(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t,
                                  const counts *c, hu_judgement *j)
{
    const int64_t *const backward = p->bytes[HU_SLOT_BACKWARD], *const after = p->bytes[HU_SLOT_AFTER];
    const int64_t *const optimizer = p->bytes[HU_SLOT_OPTIMIZER];
    const int64_t        reduced = backward[HU_TRAFFIC_ALL_REDUCE] + after[HU_TRAFFIC_ALL_REDUCE];
    const int64_t        gathered = optimizer[HU_TRAFFIC_ALL_GATHER] + after[HU_TRAFFIC_ALL_GATHER];
    const int64_t        sent = optimizer[HU_TRAFFIC_BROADCAST] + after[HU_TRAFFIC_BROADCAST];
    const bool           scattered = c->b_rs + c->b_reduce + c->after_rs > 0;
    const bool           large = p->sized == 0 || scattered || 8 * (gathered + sent) >= reduced;

    if (c->after_ag + c->after_bc == 0 || !large)
        return false;
    if (scattered) {
        const bool each_pass = t->passes > t->steps && (double)(c->b_rs + c->b_reduce) >= t->passes;
        const bool once = (double)(c->b_rs + c->b_reduce) <= t->steps || (c->b_rs + c->b_reduce == 0);

        conclude(j, p, g, once && !each_pass ? HU_PARALLEL_ZERO_1 : HU_PARALLEL_ZERO_2,
                 t->names_deepspeed ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
        hu_judgement_say(j, "%s in %sbackward, %s after the optimizer",
                         c->b_rs + c->after_rs ? "reduce-scatters" : "reduces", each_pass ? "each " : "",
                         c->after_ag ? "gathers" : "broadcasts");
        hu_judgement_say(j, "%s",
                         once && !each_pass ? "in one call: a distributed optimizer looks the same"
                                            : "ZeRO-1 that reduce-scatters looks the same");
        hu_judgement_say(j, "the stage itself is not in the trace");
        return true;
    }
    if (c->b_ar + c->after_ar == 0)
        return false;
    conclude(j, p, g, HU_PARALLEL_ZERO_1, t->names_deepspeed ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
    hu_judgement_say(j, "all-reduces in backward, %s after the optimizer", c->after_ag ? "gathers" : "broadcasts");
    hu_judgement_say(j, "the stage itself is not in the trace");
    return true;
}

static bool judge_data(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t, const counts *c,
                       hu_judgement *j)
{
    const int64_t *const bytes = p->bytes[HU_SLOT_BACKWARD];
    const int64_t        reduced = bytes[HU_TRAFFIC_ALL_REDUCE] + p->bytes[HU_SLOT_AFTER][HU_TRAFFIC_ALL_REDUCE];

    if (c->b_ar + c->after_ar == 0 || c->b_rs + c->after_rs + c->b_ag > 0)
        return false;
    if (p->sized && !t->names_ddp && c->f_ar && 2 * p->bytes[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_REDUCE] >= reduced)
        return false; /* gradients are reduced in backward alone */
    conclude(j, p, g, HU_PARALLEL_DDP,
             c->b_ar && (t->names_ddp || c->f_ar + c->f_ag == 0) ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
    if (!t->names_ddp && j->trust == HU_TRUST_HIGH && (double)c->b_ar <= t->steps)
        j->trust = HU_TRUST_MEDIUM;
    hu_judgement_say(j, "all-reduces in backward, no gathers afterwards");
    if (c->f_ag)
        hu_judgement_say(j, "all-gathers in forward: SyncBatchNorm, or a loss over all ranks");
    return true;
}

void hu_parallel_judge_reductions(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t,
                                  hu_judgement *out)
{
    const counts c = count(p);

    *out = (hu_judgement){.kind = HU_PARALLEL_UNKNOWN};
    if (!t->is_training)
        judge_inference(p, g, t, out);
    else if (!judge_tensor(p, g, t, &c, out) && !judge_full_shard(p, g, t, &c, out) &&
             !judge_optimizer_shard(p, g, t, &c, out) && !judge_data(p, g, t, &c, out)) {
        conclude(out, p, g, HU_PARALLEL_UNKNOWN, HU_TRUST_LOW);
        hu_judgement_say(out, "no known pattern");
        out->is_minor = true;
    }
}

void hu_parallel_judge_all_to_all(const hu_pattern *p, const hu_traffic_group *g, const hu_parallel_traits *t,
                                  hu_judgement *out)
{
    const int64_t forward = hu_pattern_in_forward(p, HU_TRAFFIC_ALL_TO_ALL);
    const int64_t backward = hu_pattern_in_backward(p, HU_TRAFFIC_ALL_TO_ALL);

    *out = (hu_judgement){.kind = HU_PARALLEL_UNKNOWN};
    if (t->names_embeddings) {
        conclude(out, p, g, HU_PARALLEL_EMBEDDINGS, HU_TRUST_HIGH);
        hu_judgement_say(out, "all-to-alls of looked-up embeddings (TorchRec)");
        return;
    }
    /* kernels of experts, unless this is the one group that says it is for something else */
    if (t->names_experts && hu_parallel_name_speaks(g, HU_PARALLEL_EP) >= 0) {
        conclude(out, p, g, HU_PARALLEL_EP, HU_TRUST_HIGH);
        hu_judgement_say(out, "names of dispatch to experts and combine");
        return;
    }
    if (t->names_tables && !t->has_attention) {
        conclude(out, p, g, HU_PARALLEL_EMBEDDINGS, HU_TRUST_MEDIUM);
        hu_judgement_say(out, "embeddings are looked up in many tables, and no attention is recorded");
        return;
    }
    if (!t->is_training || forward == 0 || backward == 0) {
        conclude(out, p, g, HU_PARALLEL_UNKNOWN, HU_TRUST_LOW);
        hu_judgement_say(out, t->is_training ? "all-to-alls in one direction only" : "no backward pass was recorded");
        return;
    }
    if (t->has_attention && !t->attention_first) {
        conclude(out, p, g, HU_PARALLEL_CP, HU_TRUST_MEDIUM);
        out->words = "CP by heads (Ulysses)";
        hu_judgement_say(out, "all-to-alls before and after attention, in forward and in backward");
        return;
    }
    conclude(out, p, g, HU_PARALLEL_EP, t->has_attention || p->uneven || p->integers ? HU_TRUST_HIGH : HU_TRUST_MEDIUM);
    hu_judgement_say(out, "all-to-alls in forward and in backward%s%s", t->has_attention ? ", behind attention" : "",
                     p->uneven ? ", with splits that differ" : "");
    if (!t->has_attention && !p->uneven)
        hu_judgement_say(out, "Ulysses looks the same when attention is not recorded");
}
