/* SPDX-License-Identifier: Apache-2.0
 * node.c - samples of a monitor for programs (docs/formats/node-log.md). */
#include "render/node.h"

#include <math.h>

#include "base/json_out.h"

static double or_nan(double value)
{
    return value > 0 ? value : (double)NAN;
}

static void write_stat(hu_json_out *j, const char *key, const hu_node_stat *s, int decimals)
{
    if (s->n == 0) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '{');
    hu_json_int(j, "samples", (int64_t)s->n);
    hu_json_fixed(j, "mean", s->mean, decimals);
    hu_json_fixed(j, "min", s->least, decimals);
    hu_json_fixed(j, "max", s->most, decimals);
    hu_json_close(j, '}');
}

static void write_reasons(hu_json_out *j, const hu_node_gpu_answer *g)
{
    static const char *const words[] = {
#define R(id, bit, lowers, words) words,
        HU_GPU_REASONS(R)
#undef R
    };

    if (g->reason_looks == 0) {
        hu_json_null(j, "reasons");
        return;
    }
    hu_json_open(j, "reasons", '{');
    hu_json_int(j, "samples", (int64_t)g->reason_looks);
    hu_json_int(j, "lowered", (int64_t)g->lowered);
    write_stat(j, "lowered_sm_mhz", &g->lowered_mhz, 1);
    hu_json_open(j, "by_reason", '{');
    for (hu_gpu_reason r = 0; r < HU_GPU_REASON_COUNT; r++)
        if (g->by_reason[r])
            hu_json_int(j, words[r], (int64_t)g->by_reason[r]);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

static void write_counts(hu_json_out *j, const hu_node_gpu_answer *g)
{
    static const char *const keys[] = {
        "pcie_replays",
        "nvlink_crc_flits",
        "nvlink_crc_data",
        "nvlink_replays",
        "nvlink_recoveries",
        "ecc_corrected",
        "ecc_uncorrected",
        "rows_pending",
        "power_cap_s",
        "sync_boost_s",
        "software_thermal_slowdown_s",
        "hardware_thermal_slowdown_s",
        "power_brake_s",
    };
    _Static_assert(HU_COUNT(keys) == HU_NODE_COUNT_KINDS, "a key for each counter");

    hu_json_open(j, "counters", '{');
    for (size_t k = 0; k < HU_NODE_COUNT_KINDS; k++)
        if (!isnan(g->last[k])) {
            hu_json_open(j, keys[k], '{');
            hu_json_fixed(j, "first", g->first[k], 6);
            hu_json_fixed(j, "last", g->last[k], 6);
            hu_json_close(j, '}');
        }
    hu_json_close(j, '}');
}

static void write_gpu(hu_json_out *j, const hu_node_gpu_answer *g)
{
    const double *facts = g->gpu->facts;

    hu_json_open(j, NULL, '{');
    hu_json_int(j, "number", g->gpu->number);
    hu_json_str(j, "uuid", g->gpu->uuid);
    hu_json_str(j, "name", g->gpu->name);
    hu_json_str(j, "host", g->gpu->host);
    hu_json_str(j, "pci_bus", g->gpu->bus);
    hu_json_str(j, "driver", g->gpu->driver);
    hu_json_bool(j, "is_mig", g->gpu->is_mig);
    hu_json_int(j, "samples", (int64_t)g->looks);
    write_stat(j, "busy_pct", &g->of[HU_GAUGE_BUSY], 3);
    write_stat(j, "memory_busy_pct", &g->of[HU_GAUGE_MEMORY_BUSY], 3);
    write_stat(j, "sm_mhz", &g->of[HU_GAUGE_SM_CLOCK], 1);
    write_stat(j, "sm_mhz_while_busy", &g->busy_mhz, 1);
    write_stat(j, "memory_mhz", &g->of[HU_GAUGE_MEMORY_CLOCK], 1);
    write_stat(j, "watts", &g->of[HU_GAUGE_POWER], 3);
    write_stat(j, "memory_bytes", &g->of[HU_GAUGE_MEMORY], 0);
    write_stat(j, "celsius", &g->of[HU_GAUGE_TEMPERATURE], 1);
    hu_json_fixed(j, "joules",
                  g->of[HU_GAUGE_ENERGY].n > 1 ? g->of[HU_GAUGE_ENERGY].most - g->of[HU_GAUGE_ENERGY].least : NAN, 3);
    hu_json_fixed(j, "max_sm_mhz", or_nan(facts[HU_NODE_MOST_SM_MHZ]), 1);
    hu_json_fixed(j, "max_memory_mhz", or_nan(facts[HU_NODE_MOST_MEMORY_MHZ]), 1);
    hu_json_fixed(j, "limit_watts", or_nan(facts[HU_NODE_LIMIT_WATTS]), 3);
    hu_json_fixed(j, "total_memory_bytes", or_nan(facts[HU_NODE_MEMORY_BYTES]), 0);
    hu_json_fixed(j, "pcie_lanes", or_nan(facts[HU_NODE_LANES]), 0);
    hu_json_fixed(j, "max_pcie_lanes", or_nan(facts[HU_NODE_MOST_LANES]), 0);
    hu_json_fixed(j, "slowdown_celsius", or_nan(facts[HU_NODE_SLOW_CELSIUS]), 1);
    write_reasons(j, g);
    write_counts(j, g);
    hu_json_int(j, "xids", (int64_t)g->xids);
    hu_json_fixed(j, "last_xid", g->last_xid, 0);
    hu_json_fixed(j, "xid_before", or_nan(g->gpu->old_xid), 0);
    hu_json_close(j, '}');
}

static void write_troubles(hu_json_out *j, const hu_node_report *r)
{
    const hu_node_answer *a = r->answer;

    hu_json_open(j, "findings", '[');
    for (size_t i = 0; i < a->n_troubles; i++) {
        hu_out *out = hu_out_open_memory(r->scratch);
        hu_str  words = HU_STR("");

        if (out) {
            hu_node_say_trouble(r, &a->troubles[i], out);
            if (hu_out_take(out, &words, NULL) < 0)
                words = HU_STR("");
        }
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "id", hu_str_of(hu_node_trouble_word(a->troubles[i].kind)));
        hu_json_str(j, "words", words);
        hu_json_open(j, "gpus", '[');
        for (size_t k = 0; k < a->troubles[i].n; k++)
            hu_json_str(j, NULL, a->at[a->troubles[i].gpus[k]].gpu->uuid);
        hu_json_close(j, ']');
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_topology(hu_json_out *j, const hu_node_topology *t)
{
    hu_json_open(j, NULL, '{');
    hu_json_int(j, "gpus", (int64_t)t->n_gpus);
    hu_json_open(j, "devices", '[');
    for (size_t i = 0; i < t->n; i++)
        hu_json_str(j, NULL, t->names[i]);
    hu_json_close(j, ']');
    hu_json_open(j, "links", '[');
    for (size_t i = 0; i < t->n_gpus; i++) {
        hu_json_open(j, NULL, '[');
        for (size_t k = 0; k < t->n; k++)
            hu_json_str(j, NULL, t->links[i * t->n + k]);
        hu_json_close(j, ']');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_sum(hu_json_out *j, const char *key, const hu_node_sum *s, int decimals)
{
    if (s->n == 0) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '{');
    hu_json_int(j, "samples", (int64_t)s->n);
    hu_json_fixed(j, "mean", s->sum / (double)s->n, decimals);
    hu_json_fixed(j, "min", s->least, decimals);
    hu_json_fixed(j, "max", s->most, decimals);
    hu_json_fixed(j, "first", s->first, decimals);
    hu_json_fixed(j, "last", s->last, decimals);
    hu_json_close(j, '}');
}

static void write_process(hu_json_out *j, const hu_node_answer *a, const hu_node_process *p)
{
    hu_json_open(j, NULL, '{');
    hu_json_int(j, "gpu", a->log->gpus.at[p->gpu].number);
    hu_json_int(j, "pid", p->pid);
    hu_json_str(j, "type", p->type);
    hu_json_str(j, "command", p->command);
    hu_json_int(j, "looks", (int64_t)p->looks);
    hu_json_fixed(j, "seconds", p->first_ns ? (double)(p->last_ns - p->first_ns) / 1e9 : (double)NAN, 3);
    write_sum(j, "busy_pct", &p->busy, 3);
    write_sum(j, "memory_busy_pct", &p->memory_busy, 3);
    write_sum(j, "memory_bytes", &p->memory, 0);
    hu_json_close(j, '}');
}

void hu_node_json(const hu_node_report *r, hu_out *out)
{
    const hu_node_answer *a = r->answer;
    hu_json_out           j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("node_samples"));
    hu_json_str(&j, "verdict", hu_str_of(hu_node_verdict_word(a)));
    hu_json_str(&j, "words", hu_node_sentence(r));
    hu_json_int(&j, "looks", (int64_t)a->looks);
    hu_json_fixed(&j, "seconds", a->seconds, 3);
    hu_json_bool(&j, "has_times", !isnan(a->seconds));
    hu_json_int(&j, "lines_left_out", a->log->bad_lines);
    write_troubles(&j, r);
    hu_json_open(&j, "gpus", '[');
    for (size_t i = 0; i < a->n; i++)
        write_gpu(&j, &a->at[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "processes", '[');
    for (size_t i = 0; i < a->n_processes; i++)
        write_process(&j, a, a->processes[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "topologies", '[');
    for (size_t i = 0; i < a->log->topologies.n; i++)
        write_topology(&j, &a->log->topologies.at[i]);
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}
