/* SPDX-License-Identifier: Apache-2.0
 * overview.c - the first screen of the page: what ran, what holds it up, where the time of a step goes. */
#include <math.h>

#include "advise/say.h"
#include "advise/say_memory.h"
#include "render/page/page.h"
#include "base/units.h"

enum { SHORT_ROWS = 5, PLACE_BYTES = 96 };

/*
 * A tile is a link all over, and says whose number it is; close_tile ends it.  `key`: the script adds the number of the rank
 * that is chosen.
 */
static void open_tile(hu_page *p, const char *key, const char *label, const char *section, const char *to)
{
    hu_out_printf(p->out, "<div class=\"tile\" data-of=\"%s\"><dt>%s", key, label);
    if (strcmp(key, "job") != 0)
        hu_page_of_rank(p, ", ");
    else if (p->r->job->n > 1)
        hu_out_text(p->out, ", whole job");
    hu_out_text(p->out, "</dt><dd>");
    hu_page_open_link(p, section, to, NULL);
    hu_out_text(p->out, "<strong>");
}

static void close_tile(hu_page *p)
{
    hu_out_text(p->out, "</a></dd></div>\n");
}

/* What of the step is not compute, by the largest part of it. */
static const char *largest_loss(const hu_step_time *t)
{
    return t->idle_ns >= t->exposed_comm_ns && t->idle_ns >= t->exposed_copy_ns ? "/timeline?proof=idle"
           : t->exposed_comm_ns >= t->exposed_copy_ns                           ? "/timeline?proof=exposed_comm"
                                                                                : "/timeline?proof=exposed_copy";
}

static void write_step_tile(hu_page *p)
{
    const hu_steps *s = &p->d->steps;
    const double    mean = s->duration.mean, spread = s->duration.stddev;

    if (s->source == HU_STEPS_NONE || s->n_counted == 0)
        return;
    open_tile(p, "step", "one step", "steps", "/steps");
    hu_page_number(p->out, HU_CELL_NS, mean);
    hu_out_text(p->out, "</strong>");
    if (!isnan(spread)) {
        hu_out_text(p->out, " ");
        hu_page_quantity(p->out, "± ", HU_CELL_NS, spread);
    }
    hu_out_text(p->out, "<br><small>");
    if (s->n_counted == 1)
        hu_out_text(p->out, "one complete step");
    else
        hu_out_printf(p->out, "mean of %zu steps", s->n_counted);
    hu_out_printf(p->out, ", found by: %s%s", hu_step_source_name(s->source),
                  s->at[s->n - 1].is_open ? "; the last one is left out: no next mark tells its end" : "");
    if (s->n_pauses) {
        hu_out_printf(p->out, "; %zu pause%s between steps left out: ", s->n_pauses, hu_plural((int64_t)s->n_pauses));
        hu_page_number(p->out, HU_CELL_NS, (double)s->pauses_ns);
    }
    hu_out_text(p->out, "</small>");
    close_tile(p);
}

/* Of ten hours of the job: the GPU-hours without compute, each rank by its own step. */
static void write_hours(hu_page *p)
{
    const hu_job *job = p->r->job;
    double        lost = 0;
    int           gpus = 0;

    for (size_t i = 0; i < job->n; i++) {
        const hu_step_time *t = hu_digest_step_time(job->digests[i]);

        if (!t || !job->digests[i]->breakdown.has_device || !(t->step_ns > 0))
            continue;
        lost += 1 - t->compute_ns / t->step_ns;
        gpus++;
    }
    hu_out_text(p->out, job->n > 1 ? "the job loses " : "");
    hu_out_fixed(p->out, 10 * lost, 1);
    if (job->n > 1)
        hu_out_printf(p->out, " of %d GPU-hours in ten hours", 10 * gpus);
    else
        hu_out_text(p->out, " GPU-hours lost in ten hours");
}

static void write_lost_tile(hu_page *p)
{
    const hu_step_time *t = hu_digest_step_time(p->d);

    if (!t || !p->d->breakdown.has_device || !(t->step_ns > 0))
        return;
    open_tile(p, "lost", "GPU time lost", "host", largest_loss(t));
    hu_out_fixed(p->out, 100 * (1 - t->compute_ns / t->step_ns), 0);
    hu_out_text(p->out, " %</strong><br><small>");
    hu_page_quantity(p->out, "", HU_CELL_NS, t->step_ns - t->compute_ns);
    hu_out_printf(p->out,
                  " %s without compute on this GPU: ", p->d->steps.source == HU_STEPS_NONE ? "of the capture" : "per step");
    write_hours(p);
    hu_out_text(p->out, "</small>");
    close_tile(p);
}

/* Does the timeline hold the step after this fix? */
static bool is_drawn(const hu_page *p, hu_rule rule)
{
    for (size_t i = 0; i < p->rank->timeline.n_scenarios; i++)
        if (p->rank->timeline.scenarios[i] == rule)
            return true;
    return false;
}

static void write_best_tile(hu_page *p)
{
    const hu_findings *f = p->rank->findings;
    char               section[PLACE_BYTES], to[PLACE_BYTES];

    if (!f || !f->is_replayed || f->n == 0 || isnan(f->at[0].gain_pct))
        return;
    snprintf(section, sizeof section, "finding-%s", hu_rule_key(f->at[0].rule));
    snprintf(to, sizeof to, "/timeline?whatif=%s", hu_rule_key(f->at[0].rule));
    open_tile(p, "saving", "largest saving", section, is_drawn(p, f->at[0].rule) ? to : NULL);
    hu_markup_say(p->out, "−%s</strong> %s → %s<br><small>", hu_say_pct(f->at[0].gain_pct).t,
                  hu_say_time(f->at[0].before_ns).t, hu_say_time(f->at[0].after_ns).t);
    hu_markup_text(p->out, hu_str_of(hu_rule_title(f->at[0].rule)));
    hu_out_text(p->out, "</small>");
    close_tile(p);
}

static void write_throughput_tile(hu_page *p)
{
    if (!p->r->batch || !hu_digest_step_count(p->d))
        return;
    open_tile(p, "job", "throughput", "steps", "/steps");
    hu_out_fixed(p->out, (double)p->r->batch * 1e9 / p->d->steps.duration.mean, 1);
    hu_out_text(p->out, "</strong> ");
    hu_markup_text(p->out, hu_str_of(p->r->unit));
    hu_out_text(p->out, "/s");
    close_tile(p);
}

/* Of the pool that holds most. */
static void write_memory_tile(hu_page *p)
{
    const hu_memory_pool *pool = p->d->memory.n ? &p->d->memory.at[0] : NULL;

    if (!pool || pool->peak_bytes <= 0)
        return;
    open_tile(p, "peak", "peak memory", "memory", "/memory?peak=1");
    hu_page_number(p->out, HU_CELL_BYTES, (double)pool->peak_bytes);
    hu_out_text(p->out, "</strong>");
    if (pool->capacity_bytes > 0) {
        hu_out_text(p->out, " of ");
        hu_page_quantity(p->out, "", HU_CELL_BYTES, (double)pool->capacity_bytes);
    }
    hu_out_text(p->out, "<br><small>most held at once in ");
    hu_markup_text(p->out, pool->name);
    hu_out_text(p->out, "</small>");
    close_tile(p);
}

static void write_fact(hu_page *p, const char *label, hu_str value)
{
    if (value.n == 0)
        return;
    hu_out_printf(p->out, "<div><dt>%s</dt><dd>", label);
    hu_markup_text(p->out, value);
    hu_out_text(p->out, "</dd></div>");
}

static void write_job(hu_page *p)
{
    const hu_trace_info *info = &p->d->info;

    hu_out_text(p->out, "<dl class=\"line\">");
    write_fact(p, "device",
               p->d->device.n                 ? p->d->device
               : p->d->gpu_time.n_slices      ? HU_STR("a GPU whose name was not recorded")
               : hu_is_memory_only(p->d)      ? HU_STR("memory only, no GPU work recorded")
               : hu_digest_may_hide_gpu(p->d) ? HU_STR("no known GPU work in this trace")
                                              : HU_STR("no GPU work in this trace"));
    hu_out_printf(p->out, "<div><dt>ranks</dt><dd>%zu", p->r->job->n);
    if (info->world_size > 0)
        hu_out_printf(p->out, " of %lld", (long long)info->world_size);
    if (p->r->job->n > 1)
        hu_out_printf(p->out, "; %s %lld is shown%s", hu_is_memory_only(p->d) ? "number" : "rank",
                      (long long)hu_digest_rank_of(p->r->job->digests, p->r->job->verdict.rank), hu_page_why_shown(p));
    hu_out_text(p->out, "</dd></div>");
    write_fact(p, "parallelism", p->d->parallelism.summary);
    write_fact(p, "host", info->host);
    write_fact(p, "recorded by", info->tool);
    write_fact(p, "file", info->file);
    hu_out_printf(p->out, "<div><dt>events</dt><dd>%lld", (long long)p->d->health.quality.events);
    if (hu_quality_lost(&p->d->health.quality))
        hu_out_printf(p->out, ", %lld lost", (long long)hu_quality_lost(&p->d->health.quality));
    hu_out_text(p->out, "</dd></div></dl>\n");
}

/* The main thread by what it waits for, where its calls were recorded. */
static void write_main_thread(hu_page *p)
{
    static const struct {
        const char *class, *label;
        unsigned state;
        /* clang-format off */
    } rows[] = {
        {"c-op", "runs", HU_STATE_RUNS},                     {"c-rest", "waits for a CPU", HU_STATE_STARVED},
        {"c-comm", "communicates", HU_STATE_COMM},           {"c-data", "reads files", HU_HOST_FILE_READ},
        {"c-data", "writes files", HU_HOST_FILE_WRITE},      {"c-data", "looks up files", HU_HOST_FILE_META},
        {"c-copy", "waits for the disk", HU_HOST_FSYNC},     {"c-copy", "waits for the network", HU_HOST_NETWORK},
        {"c-set", "waits on a pipe", HU_HOST_PIPE},          {"c-call", "waits for locks", HU_HOST_LOCK},
        {"c-idle", "sleeps", HU_HOST_SLEEP},                 {"c-idle", "polls", HU_HOST_POLL},
        {"c-set", "waits for other threads", HU_HOST_WAIT},  {"c-set", "waits for child processes", HU_HOST_CHILD},
        {"c-idle", "other system calls", HU_HOST_OTHER},     {"c-idle", "waits, not recorded", HU_STATE_BLOCKED},
        {"c-call", "waits at barriers of OpenMP", HU_STATE_TEAM}, {"c-rest", "not known", HU_STATE_UNKNOWN},
    };
    /* clang-format on */
    const hu_host_time *t = &p->d->host_time;
    hu_page_share       shares[HU_COUNT(rows)];

    if (!t->is_recorded)
        return;
    for (size_t i = 0; i < HU_COUNT(rows); i++)
        shares[i] = (hu_page_share){rows[i].class, rows[i].label, t->state_ns[rows[i].state], "host", "/host"};
    if (t->source == HU_STATES_NONE)
        shares[0].label = "in no known call";
    hu_page_shares(p, "The main thread: each instant counts once", shares, HU_COUNT(rows), t->step_ns);
}

static void write_where(hu_page *p)
{
    const hu_step_time      *t = hu_digest_step_time(p->d);
    static const char *const classes[HU_ROLE_COUNT] = {
        [HU_ROLE_KERNEL] = "c-compute",     [HU_ROLE_MEMCPY] = "c-copy",  [HU_ROLE_MEMSET] = "c-set",
        [HU_ROLE_COMMUNICATION] = "c-comm", [HU_ROLE_RUNTIME] = "c-call", [HU_ROLE_DATA_LOADER] = "c-data",
        [HU_ROLE_CPU_EXEC] = "c-op",        [HU_ROLE_OTHER] = "c-idle"};
    static const char *const sections[HU_ROLE_COUNT] = {
        [HU_ROLE_KERNEL] = "kernels",     [HU_ROLE_MEMCPY] = "copies",
        [HU_ROLE_MEMSET] = "copies",      [HU_ROLE_COMMUNICATION] = "communication",
        [HU_ROLE_RUNTIME] = "host",       [HU_ROLE_DATA_LOADER] = "steps",
        [HU_ROLE_CPU_EXEC] = "operators", [HU_ROLE_OTHER] = "host",
    };
    static const char *const places[HU_ROLE_COUNT] = {
        [HU_ROLE_KERNEL] = "/kernels",     [HU_ROLE_MEMCPY] = "/copies",
        [HU_ROLE_MEMSET] = "/copies",      [HU_ROLE_COMMUNICATION] = "/communication",
        [HU_ROLE_RUNTIME] = "/host",       [HU_ROLE_DATA_LOADER] = "/timeline?proof=data_loader",
        [HU_ROLE_CPU_EXEC] = "/operators", [HU_ROLE_OTHER] = "/timeline?proof=idle",
    };
    hu_page_share roles[HU_ROLE_COUNT];

    if (!t)
        return;
    hu_out_printf(p->out, "<h3>Where the time goes <span class=\"note\">%s",
                  p->d->steps.source == HU_STEPS_NONE ? "the whole capture: no steps found" : "mean of the counted steps");
    hu_page_of_rank(p, "; ");
    hu_out_text(p->out, "</span></h3>\n<div class=\"columns\">\n");
    if (p->d->breakdown.has_device) {
        const hu_page_share device[] = {
            {"c-compute", "compute", t->compute_ns, "kernels", "/kernels"},
            {"c-comm", "exposed communication", t->exposed_comm_ns, "communication", "/timeline?proof=exposed_comm"},
            {"c-copy", "exposed copies", t->exposed_copy_ns, "copies", "/timeline?proof=exposed_copy"},
            {"c-idle", "idle", t->idle_ns, "host", "/timeline?proof=idle"},
        };

        hu_page_shares(p, "The GPU", device, HU_COUNT(device), t->step_ns);
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
        roles[r] = (hu_page_share){classes[r], hu_role_label(r), t->role_ns[r], sections[r], places[r]};
    hu_page_shares(p,
                   p->d->breakdown.has_device ? "With the host: each instant counts for the first that applies"
                                              : "The host: each instant counts for the first that applies",
                   roles, HU_COUNT(roles), t->step_ns);
    write_main_thread(p);
    hu_out_text(p->out, "</div>\n");
}

extern const hu_view hu_view_memory; /* render/table/memory.c */

/* Nothing in it took time: who holds the memory is the answer.  The section "Memory" has all of it. */
static int write_memory(hu_page *p, hu_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < hu_view_memory.n_tables; i++) {
        const hu_table *t = hu_view_memory.tables[i];

        if (t->rows(p->rank) && !t->is_series && strcmp(t->key, "stacks") != 0 && strcmp(t->key, "segments") != 0)
            rc = hu_page_table(p, t, "memory", SHORT_ROWS, err);
    }
    return rc;
}

/* It leads to what shows it: the slice of its first finding, else of what takes the GPU's time. */
static void write_verdict(hu_page *p)
{
    const hu_findings  *f = p->rank->findings;
    const hu_step_time *t = hu_digest_step_time(p->d);
    char                section[PLACE_BYTES] = "health", to[PLACE_BYTES] = "/health";

    if (f && f->is_replayed && f->n) {
        snprintf(section, sizeof section, "finding-%s", hu_rule_key(f->at[0].rule));
        snprintf(to, sizeof to, "/timeline?proof=%s", hu_rule_key(f->at[0].rule));
    } else if (hu_is_memory_only(p->d)) {
        snprintf(section, sizeof section, "memory");
        snprintf(to, sizeof to, "/memory?peak=1");
    } else if (t && p->d->breakdown.has_device) {
        const bool is_compute = t->compute_ns >= t->step_ns / 2;

        snprintf(section, sizeof section, is_compute ? "kernels" : "host");
        snprintf(to, sizeof to, "%s", is_compute ? "/timeline?proof=compute" : largest_loss(t));
    } else if (t) {
        snprintf(section, sizeof section, "operators");
        snprintf(to, sizeof to, "/timeline?proof=operator");
    }
    hu_out_text(p->out, "<p class=\"verdict\">");
    hu_page_open_link(p, section, to, NULL);
    hu_markup_sentence(p->out, hu_str_of(p->r->job->verdict.text));
    hu_out_text(p->out, "</a></p>\n");
}

int hu_page_overview(hu_page *p, hu_error *err)
{
    const hu_verdict *v = &p->r->job->verdict;
    int               rc;

    hu_out_text(p->out, "<section id=\"overview\" class=\"view\" aria-labelledby=\"overview-head\">\n"
                        "<h2 id=\"overview-head\">What is the holdup?</h2>\n");
    hu_page_scope(p, HU_PAGE_VERDICT);
    hu_page_unread(p->out, &p->r->job->unread, &p->r->job->partial, p->r->job->n);
    hu_page_doubts(p);
    hu_page_compare_link(p);
    write_verdict(p);
    hu_out_text(p->out, "<p class=\"confidence\">");
    hu_page_badge(p, v->confidence);
    for (size_t i = 0; i < v->n_reasons; i++) {
        hu_out_text(p->out, i ? "; " : " ");
        hu_markup_sentence(p->out, hu_str_of(v->reasons[i]));
    }
    hu_out_text(p->out, "</p>\n<dl class=\"tiles\">\n");
    write_step_tile(p);
    write_lost_tile(p);
    write_best_tile(p);
    write_throughput_tile(p);
    write_memory_tile(p);
    hu_out_text(p->out, "</dl>\n");
    write_job(p);
    hu_page_strip(p);
    write_where(p);
    if (hu_is_memory_only(p->d)) {
        rc = write_memory(p, err);
        hu_out_text(p->out, "</section>\n");
        return rc;
    }
    hu_out_text(p->out, "<div class=\"columns\"><div>\n");
    if ((rc = hu_page_short_table(p, &hu_table_operators, "ops", "operators", SHORT_ROWS, err)) < 0)
        return rc;
    hu_out_text(p->out, "</div><div>\n");
    if (hu_table_kernels.rows(p->rank) &&
        (rc = hu_page_short_table(p, &hu_table_kernels, "kernels", "kernels", SHORT_ROWS, err)) < 0)
        return rc;
    hu_out_text(p->out, "</div></div>\n</section>\n");
    return 0;
}
