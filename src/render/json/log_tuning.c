/* SPDX-License-Identifier: Apache-2.0
 * log_tuning.c - what DeepSpeed's autotuner found, for programs (docs/formats/step-log.md). */
#include <math.h>

#include "render/log_tuning.h"

static void write_count(hu_json_out *j, const char *key, int64_t value)
{
    if (value < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, value);
}

static void write_experiment(hu_json_out *j, const hu_log_tuning *t, const hu_log_experiment *e)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", e->name);
    hu_json_fixed(j, "value", hu_tuning_value(t, e), 6);
    hu_json_fixed(j, "throughput", e->throughput, 6);
    hu_json_fixed(j, "latency", e->latency, 6);
    hu_json_fixed(j, "flops_per_gpu", e->flops, 6);
    write_count(j, "zero_stage", e->zero_stage);
    write_count(j, "micro_batch", e->micro_batch);
    write_count(j, "accumulation", e->accumulation);
    write_count(j, "gpus", e->gpus);
    write_count(j, "nodes", e->nodes);
    hu_json_str(j, "offload_optimizer", e->offload_optimizer);
    hu_json_str(j, "offload_params", e->offload_params);
    hu_json_close(j, '}');
}

void hu_tuning_json(const hu_log_report *r, hu_json_out *j)
{
    const hu_log_tuning      *t = &r->log->tuning;
    const hu_log_experiment **list = hu_tuning_is_there(t) ? hu_tuning_ranked(t, r->scratch) : NULL;
    const bool                has_model = t->n_files > 0;

    if (!list) {
        hu_json_null(j, "tuning");
        return;
    }
    hu_json_open(j, "tuning", '{');
    hu_json_str(j, "metric", t->metric.n ? t->metric : HU_STR("throughput"));
    hu_json_fixed(j, "params", has_model ? t->params : (double)NAN, 0);
    hu_json_fixed(j, "trainable_params", has_model ? t->trainable : (double)NAN, 0);
    hu_json_fixed(j, "activation_bytes_per_gpu", has_model ? t->activation : (double)NAN, 0);
    hu_json_open(j, "experiments", '[');
    for (size_t i = 0; i < t->experiments.n; i++)
        write_experiment(j, t, list[i]);
    hu_json_close(j, ']');
    hu_json_open(j, "spaces", '[');
    for (size_t i = 0; i < t->spaces.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "space", t->spaces.at[i].space);
        hu_json_int(j, "experiments", t->spaces.at[i].n);
        hu_json_fixed(j, "best", t->spaces.at[i].best, 6);
        hu_json_str(j, "name", t->spaces.at[i].name);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}
