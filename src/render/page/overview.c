/* SPDX-License-Identifier: Apache-2.0
 * overview.c - the first screen of the page: what ran, what holds it up, where the time of a step goes. */
#include <math.h>

#include "advise/say.h"
#include "advise/say_memory.h"
#include "render/page/page.h"
#include "base/units.h"

enum { SHORT_ROWS = 5 };

static void open_tile(hu_page *p, const char *label)
{
    hu_out_printf(p->out, "<div class=\"tile\"><dt>%s</dt><dd><strong>", label);
}

static void write_step_tile(hu_page *p)
{
    const hu_steps *s = &p->d->steps;
    const double    mean = s->duration.mean, spread = s->duration.stddev;

    if (s->source == HU_STEPS_NONE || s->n_counted == 0)
        return;
    open_tile(p, "one step");
    hu_page_number(p->out, HU_CELL_NS, mean);
    hu_out_text(p->out, "</strong>");
    if (!isnan(spread)) {
        hu_out_text(p->out, " ± ");
        hu_page_number(p->out, HU_CELL_NS, spread);
    }
    hu_out_text(p->out, "<br><small>");
    if (s->n_counted == 1)
        hu_out_text(p->out, "one complete step");
    else
        hu_out_printf(p->out, "mean of %zu steps", s->n_counted);
    hu_out_printf(p->out, ", found by: %s</small></dd></div>\n", hu_step_source_name(s->source));
}

static void write_lost_tile(hu_page *p)
{
    const hu_step_time *t = hu_digest_step_time(p->d);

    if (!t || !p->d->breakdown.has_device || !(t->step_ns > 0))
        return;
    open_tile(p, "GPU time lost");
    hu_out_fixed(p->out, 100 * (1 - t->compute_ns / t->step_ns), 0);
    hu_out_text(p->out, " %</strong><br><small>");
    hu_page_number(p->out, HU_CELL_NS, t->step_ns - t->compute_ns);
    hu_out_printf(p->out, " per step without compute on %s: ", p->r->job->n > 1 ? "each GPU" : "this GPU");
    hu_out_fixed(p->out, 10 * (double)p->r->job->n * (1 - t->compute_ns / t->step_ns), 1);
    hu_out_text(p->out, " GPU-hours lost in ten hours</small></dd></div>\n");
}

static void write_best_tile(hu_page *p)
{
    const hu_findings *f = p->rank->findings;

    if (!f || !f->is_replayed || f->n == 0 || isnan(f->at[0].gain_pct))
        return;
    open_tile(p, "largest saving");
    hu_out_printf(p->out, "−%s</strong> %s → %s<br><small>", hu_say_pct(f->at[0].gain_pct).t,
                  hu_say_time(f->at[0].before_ns).t, hu_say_time(f->at[0].after_ns).t);
    hu_markup_text(p->out, hu_str_of(hu_rule_title(f->at[0].rule)));
    hu_out_text(p->out, "</small></dd></div>\n");
}

static void write_throughput_tile(hu_page *p)
{
    if (!p->r->batch || !hu_digest_step_count(p->d))
        return;
    open_tile(p, "throughput");
    hu_out_fixed(p->out, (double)p->r->batch * 1e9 / p->d->steps.duration.mean, 1);
    hu_out_text(p->out, "</strong> ");
    hu_markup_text(p->out, hu_str_of(p->r->unit));
    hu_out_text(p->out, "/s</dd></div>\n");
}

static void write_fact(hu_page *p, const char *label, hu_str value)
{
    if (value.n == 0)
        return;
    hu_out_printf(p->out, "<dt>%s</dt><dd>", label);
    hu_markup_text(p->out, value);
    hu_out_text(p->out, "</dd>");
}

/* As in the table of ranks. */
static int64_t shown_rank(const hu_page *p)
{
    const hu_job *job = p->r->job;

    for (size_t i = 0; i < job->n; i++)
        if (job->digests[i] == p->d)
            return hu_digest_rank_of(job->digests, i);
    return p->d->info.rank;
}

static void write_job(hu_page *p)
{
    const hu_trace_info *info = &p->d->info;

    hu_out_text(p->out, "<dl class=\"job\">");
    write_fact(p, "device",
               p->d->device.n            ? p->d->device
               : p->d->gpu_time.n_slices ? HU_STR("a GPU whose name was not recorded")
               : hu_is_memory_only(p->d) ? HU_STR("memory only, no GPU work recorded")
                                         : HU_STR("no GPU work in this trace"));
    hu_out_printf(p->out, "<dt>ranks</dt><dd>%zu", p->r->job->n);
    if (info->world_size > 0)
        hu_out_printf(p->out, " of %lld", (long long)info->world_size);
    if (p->r->job->n > 1)
        hu_out_printf(p->out,
                      hu_is_memory_only(p->d) ? "; number %lld is shown" : "; rank %lld is shown, it has the longest steps",
                      (long long)shown_rank(p));
    hu_out_text(p->out, "</dd>");
    write_fact(p, "parallelism", p->d->parallelism.summary);
    write_fact(p, "host", info->host);
    write_fact(p, "recorded by", info->tool);
    write_fact(p, "file", info->file);
    hu_out_printf(p->out, "<dt>events</dt><dd>%lld", (long long)p->d->health.quality.events);
    if (hu_quality_lost(&p->d->health.quality))
        hu_out_printf(p->out, ", %lld lost", (long long)hu_quality_lost(&p->d->health.quality));
    hu_out_text(p->out, "</dd></dl>\n");
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
        shares[i] = (hu_page_share){rows[i].class, rows[i].label, t->state_ns[rows[i].state]};
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
    hu_page_share roles[HU_ROLE_COUNT];

    if (!t)
        return;
    hu_out_printf(p->out, "<h3>Where the time goes</h3>\n<p class=\"note\">%s</p>\n<div class=\"columns\">\n",
                  p->d->steps.source == HU_STEPS_NONE ? "The whole capture: no steps found." : "Mean of the counted steps.");
    if (p->d->breakdown.has_device) {
        const hu_page_share device[] = {{"c-compute", "compute", t->compute_ns},
                                        {"c-comm", "exposed communication", t->exposed_comm_ns},
                                        {"c-copy", "exposed copies", t->exposed_copy_ns},
                                        {"c-idle", "idle", t->idle_ns}};

        hu_page_shares(p, "The GPU", device, HU_COUNT(device), t->step_ns);
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
        roles[r] = (hu_page_share){classes[r], hu_role_label(r), t->role_ns[r]};
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

int hu_page_overview(hu_page *p, hu_error *err)
{
    const hu_verdict *v = &p->r->job->verdict;
    int               rc;

    hu_out_text(p->out, "<section id=\"overview\" class=\"view\" aria-labelledby=\"overview-head\">\n"
                        "<h2 id=\"overview-head\">What is the holdup?</h2>\n");
    hu_page_unread(p->out, &p->r->job->unread, &p->r->job->partial, p->r->job->n);
    hu_page_doubts(p);
    hu_out_text(p->out, "<p class=\"verdict\">");
    hu_markup_text(p->out, hu_str_of(v->text));
    hu_out_printf(p->out, "</p>\n<p class=\"confidence\"><span class=\"badge %s\">confidence: %s</span>",
                  hu_confidence_name(v->confidence), hu_confidence_name(v->confidence));
    for (size_t i = 0; i < v->n_reasons; i++) {
        hu_out_text(p->out, i ? "; " : " ");
        hu_markup_text(p->out, hu_str_of(v->reasons[i]));
    }
    hu_out_text(p->out, "</p>\n<dl class=\"tiles\">\n");
    write_step_tile(p);
    write_lost_tile(p);
    write_best_tile(p);
    write_throughput_tile(p);
    hu_out_text(p->out, "</dl>\n");
    write_job(p);
    write_where(p);
    if (hu_is_memory_only(p->d)) {
        rc = write_memory(p, err);
        hu_out_text(p->out, "</section>\n");
        return rc;
    }
    hu_out_text(p->out, "<div class=\"columns\"><div>\n");
    if ((rc = hu_page_table(p, &hu_table_operators, "ops", SHORT_ROWS, err)) < 0)
        return rc;
    hu_out_text(p->out, "</div><div>\n");
    if (hu_table_kernels.rows(p->rank) && (rc = hu_page_table(p, &hu_table_kernels, "kernels", SHORT_ROWS, err)) < 0)
        return rc;
    hu_out_text(p->out, "</div></div>\n</section>\n");
    return 0;
}
