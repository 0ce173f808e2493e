/* SPDX-License-Identifier: Apache-2.0
 * json.c - numbers in base units, names as they are. */
#include "top/json.h"

#include "base/json_out.h"
#include "base/number.h"

static void put_number(hu_json_out *j, const char *key, double value)
{
    char text[HU_NUMBER_BYTES];

    if (!isfinite(value)) {
        hu_json_null(j, key);
        return;
    }
    hu_format_f64(text, value, true);
    hu_json_digits(j, key, text);
}

static void put_text(hu_json_out *j, const char *key, const char *text)
{
    hu_json_str(j, key, hu_str_of(text));
}

/* "" is what is not known. */
static void put_word(hu_json_out *j, const char *key, const char *text)
{
    if (text[0])
        put_text(j, key, text);
    else
        hu_json_null(j, key);
}

static void put_flag(hu_json_out *j, const char *key, double value)
{
    if (isnan(value))
        hu_json_null(j, key);
    else
        hu_json_bool(j, key, value > 0);
}

static void put_node(hu_json_out *j, const hu_top_node *n)
{
    static const hu_top_rates still = {NAN, {NAN, NAN, NAN}, NAN, NAN, NAN, NAN};
    hu_top_host               none;
    const hu_top_host        *h = n->look ? &n->look->host : &none;
    const hu_top_rates       *r = n->look ? &n->rates : &still;

    hu_top_host_clear(&none);
    hu_json_open(j, NULL, '{');
    put_text(j, "node", n->name);
    hu_json_bool(j, "answers", n->look != NULL && !n->state[0]);
    put_word(j, "problem", n->state);
    put_number(j, "cpus", h->cpus);
    put_number(j, "load1", h->load1);
    put_number(j, "cpu_ratio", r->cpu);
    put_number(j, "memory_total_bytes", h->memory_total);
    put_number(j, "memory_available_bytes", h->memory_available);
    put_number(j, "waiting_for_cpu_ratio", r->waiting[HU_TOP_CPU]);
    put_number(j, "waiting_for_memory_ratio", r->waiting[HU_TOP_MEMORY]);
    put_number(j, "waiting_for_io_ratio", r->waiting[HU_TOP_IO]);
    put_number(j, "network_receive_bytes_per_second", r->received);
    put_number(j, "network_transmit_bytes_per_second", r->sent);
    put_number(j, "disk_read_bytes_per_second", r->read);
    put_number(j, "disk_written_bytes_per_second", r->written);
    hu_json_bool(j, "cut", n->look && n->look->is_cut);
    hu_json_open(j, "problems", '[');
    for (size_t i = 0; n->look && i < n->look->n_problems; i++) {
        hu_json_open(j, NULL, '{');
        put_text(j, "source", n->look->problem[i].source);
        put_text(j, "what", n->look->problem[i].what);
        put_text(j, "fix", n->look->problem[i].fix);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void put_gpu(hu_json_out *j, const hu_top_gpu_row *r)
{
    const hu_top_gpu *g = r->gpu;

    hu_json_open(j, NULL, '{');
    put_text(j, "node", r->node->name);
    put_word(j, "gpu", g->gpu);
    put_word(j, "gi", g->gi);
    put_text(j, "uuid", g->uuid);
    put_word(j, "model", g->model);
    put_flag(j, "up", g->up);
    put_number(j, "utilization_ratio", g->busy);
    put_number(j, "sm_active_ratio", g->sm_active);
    put_number(j, "memory_used_bytes", g->memory_used);
    put_number(j, "memory_total_bytes", g->memory_total);
    put_number(j, "power_watts", g->power);
    put_number(j, "power_limit_watts", g->power_limit);
    put_number(j, "temperature_celsius", g->temperature);
    put_number(j, "sm_clock_hertz", g->clock);
    if (g->has_reasons)
        put_text(j, "slowed_by", g->limit);
    else
        hu_json_null(j, "slowed_by");
    put_flag(j, "allocated", g->allocated);
    put_word(j, "job", r->job ? r->job->id : "");
    put_word(j, "user", r->job ? r->job->user : "");
    hu_json_close(j, '}');
}

static void put_job(hu_json_out *j, const hu_top_job_row *r)
{
    const hu_top_job *job = r->job;

    hu_json_open(j, NULL, '{');
    put_text(j, "node", r->node->name);
    put_word(j, "scheduler", job->scheduler);
    put_word(j, "job", job->id);
    put_word(j, "user", job->user);
    put_word(j, "name", job->name);
    hu_json_int(j, "gpus", (int64_t)r->n_gpus);
    put_number(j, "utilization_ratio", r->busy);
    put_number(j, "ranks", job->ranks_sending);
    put_number(j, "ranks_lost", job->ranks_lost);
    put_number(j, "world", job->world);
    put_number(j, "step_seconds", r->step_s);
    put_number(j, "samples_per_second", r->samples_per_s);
    put_number(j, "tokens_per_second", r->tokens_per_s);
    put_number(j, "gpu_idle_seconds", job->idle_s);
    put_number(j, "power_watts", r->watts);
    put_number(j, "joules_per_step", r->joules_per_step);
    put_number(j, "joules_per_sample", r->joules_per_sample);
    put_number(j, "energy_joules", job->energy_j);
    put_number(j, "energy_wasted_joules", job->wasted_j);
    put_number(j, "energy_waited_joules_at_most", job->waited_j);
    put_word(j, "holdup", r->most ? r->most->cause : "");
    hu_json_open(j, "shares", '{');
    for (size_t i = 0; i < job->n_shares; i++)
        put_number(j, job->share[i].cause, job->share[i].share);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

static void put_rank(hu_json_out *j, const hu_top_rank_row *r)
{
    static const char *const names[HU_LIVE_CAUSE_COUNT] = {
#define L(id, name, help) name,
        HU_LIVE_CAUSES(L)
#undef L
    };

    hu_json_open(j, NULL, '{');
    put_text(j, "node", r->node->name);
    put_word(j, "job", r->job->id);
    put_word(j, "job_step", r->rank->step_id);
    put_word(j, "rank", r->rank->rank);
    put_word(j, "pid", r->rank->pid);
    put_word(j, "name", r->rank->name);
    put_flag(j, "up", r->rank->up);
    hu_json_bool(j, "late", r->pace && r->pace->is_late);
    put_number(j, "step", r->rank->step_number);
    put_number(j, "step_seconds", r->pace ? r->pace->step_s : NAN);
    hu_json_open(j, "shares", '{');
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        put_number(j, names[i], r->pace ? r->pace->share[i] : NAN);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

static void put_process(hu_json_out *j, const hu_top_process_row *r)
{
    const hu_top_process *p = r->process;
    const char            state[2] = {p->state, '\0'};

    hu_json_open(j, NULL, '{');
    hu_json_int(j, "pid", p->pid);
    put_word(j, "user", p->user);
    put_text(j, "state", state);
    put_number(j, "cpus", p->cpu);
    put_number(j, "cpu_seconds", p->cpu_s);
    put_number(j, "memory_bytes", p->memory);
    hu_json_int(j, "threads", p->threads);
    put_word(j, "gpus", p->gpus);
    put_number(j, "gpu_ratio", p->gpu_busy);
    put_number(j, "gpu_memory_bytes", p->gpu_memory);
    put_text(j, "command", p->command);
    hu_json_close(j, '}');
}

static void put_row(hu_json_out *j, hu_top_table_id t, const void *row)
{
    switch (t) {
    case HU_TOP_NODES:
        put_node(j, row);
        break;
    case HU_TOP_GPUS:
        put_gpu(j, row);
        break;
    case HU_TOP_JOBS:
        put_job(j, row);
        break;
    case HU_TOP_RANKS:
        put_rank(j, row);
        break;
    case HU_TOP_PROCESSES:
        put_process(j, row);
        break;
    case HU_TOP_TABLES:
        break;
    }
}

void hu_top_json_write(hu_out *out, const hu_top_view *v, const hu_top_model *m)
{
    hu_json_out j = {.out = out, .is_empty = true, .is_line = true};
    char        text[512];

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "schema", HU_STR("holdup-top/1"));
    hu_json_fixed(&j, "at", m->now, 3);
    hu_json_bool(&j, "demo", m->is_demo);
    hu_top_model_verdict(m, text, sizeof text);
    put_word(&j, "holds", text);
    for (int t = 0; t < HU_TOP_TABLES; t++) {
        hu_json_open(&j, hu_top_tables[t].name, '[');
        for (size_t i = 0; i < v->order[t].n; i++)
            put_row(&j, (hu_top_table_id)t, v->order[t].rows[i]);
        hu_json_close(&j, ']');
    }
    hu_json_close(&j, '}');
}
