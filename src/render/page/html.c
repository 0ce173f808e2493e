/* SPDX-License-Identifier: Apache-2.0
 * html.c - the report as one file: plain markup that is whole without its script, then the script and what it draws.
 *
 * Names come from strangers.  Every text in the markup goes through hu_markup_text; everything that the script reads is
 * base64, which no name can break out of; and the policy lets nothing run or load but the two texts whose hashes it holds.
 */
#include <math.h>

#include "across/energy.h"
#include "render/page/page.h"

enum { ROWS = 10, MORE_ROWS = 4 }; /* of a section's first table, and of the others */

typedef struct {
    const char *id, *label, *title;
    const char *views[6]; /* words of --view whose first tables stand in the markup */
} section;

/* In the order of the page's navigation, behind Overview and Findings. */
static const section sections[] = {
    {"steps", "Steps", "Steps", {"steps", "serving"}},
    {"operators", "Operators", "Operators", {"ops"}},
    {"kernels", "Kernels", "Kernels", {"kernels", "families"}},
    {"timeline", "Timeline", "Timeline", {NULL}},
    {"flame", "Flame graph", "Flame graph", {NULL}},
    {"modules", "Modules", "Modules, and slices in groups", {NULL}},
    {"query", "SQL", "SQL over the whole trace", {NULL}},
    {"memory", "Memory", "Memory", {"memory"}},
    {"communication", "Communication", "Communication", {"comm", "parallelism", "phases"}},
    {"ranks", "Ranks", "Ranks", {NULL}},
    {"compare", "Compare", "Two traces compared", {NULL}},
    {"copies", "Copies", "Copies between host and device", {"copies"}},
    {"gpus", "GPUs", "GPUs during the run", {"gpus"}},
    {"energy", "Energy", "Energy of the run", {"energy"}},
    {"host", "Host", "Host, launches and idle time", {"host", "oscalls", "idle", "launch", "calls", "waits"}},
    {"health", "Trace health", "How far the trace can be trusted", {NULL}},
    {"system", "System", "What ran where", {NULL}},
};

/* Were GPUs sampled beside one of the ranks, as `holdup run` does? */
static bool has_gpus(const hu_page *p)
{
    for (size_t i = 0; i < p->r->job->n; i++)
        if (p->r->job->digests[i]->gpu_clocks.n > 0)
            return true;
    return false;
}

static bool has_energy(const hu_page *p)
{
    const hu_job_energy e = hu_job_energy_measure(p->r->job->digests, p->r->job->n);

    return !isnan(e.gpu_joules) || !isnan(e.cpu_joules);
}

static bool is_there(const hu_page *p, const section *s)
{
    if (strcmp(s->id, "query") == 0)
        return p->r->edition > 0;
    if (strcmp(s->id, "compare") == 0)
        return hu_page_has_compare(p);
    return strcmp(s->id, "gpus") == 0 ? has_gpus(p) : strcmp(s->id, "energy") != 0 || has_energy(p);
}

static void write_head(hu_page *p)
{
    hu_out_text(p->out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\""
                        "Content-Security-Policy\" content=\"default-src 'none'; script-src '");
    hu_out_text(p->out, hu_page_script_hash);
    hu_out_text(p->out, "'; style-src '");
    hu_out_text(p->out, hu_page_style_hash);
    hu_out_printf(p->out, "'; worker-src blob:; img-src data:;%s base-uri 'none'; form-action 'none'\">\n",
                  p->r->edition ? " connect-src 'self';" : "");
    hu_out_text(p->out, "<meta name=\"referrer\" content=\"no-referrer\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=\"generator\" content=\"holdup " HU_VERSION "\">\n<title>");
    hu_markup_text(p->out, p->d->info.file);
    hu_out_text(p->out, " · holdup</title>\n<style>");
    hu_out_text(p->out, hu_page_style);
    hu_out_text(p->out, "</style>\n</head>\n");
}

static void write_navigation(hu_page *p)
{
    hu_out_text(p->out, "<nav id=\"nav\" aria-label=\"views\"><ul>\n<li><a href=\"#overview\">Overview</a></li>\n"
                        "<li><a href=\"#findings\">Findings</a></li>\n");
    if (hu_page_has_beside(p))
        hu_out_text(p->out, "<li><a href=\"#beside\">Beside the trace</a></li>\n");
    for (size_t i = 0; i < HU_COUNT(sections); i++)
        if (is_there(p, &sections[i]))
            hu_out_printf(p->out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].label);
    hu_out_text(p->out, "</ul></nav>\n");
}

static void write_rank_rows(hu_page *p)
{
    hu_out_text(p->out,
                "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"ranks\"><table>\n<thead><tr>"
                "<th scope=\"col\">rank</th><th scope=\"col\">mean step</th><th scope=\"col\">GPU busy</th>"
                "<th scope=\"col\">communication</th><th scope=\"col\">idle</th><th scope=\"col\" class=\"t\">device</th>"
                "<th scope=\"col\" class=\"t\">file</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < p->r->job->n && i < HU_PAGE_WHOLE_RANKS; i++) {
        const hu_digest    *d = p->r->job->digests[i];
        const hu_step_time *t = hu_digest_step_time(d);
        const double        step = t ? t->step_ns : 0;

        hu_out_printf(p->out, "<tr><td>%lld</td><td>", (long long)(d->info.rank >= 0 ? d->info.rank : (int64_t)i));
        hu_page_number(p->out, HU_CELL_NS, step);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, t && d->breakdown.has_device && step > 0 ? 100 * (step - t->idle_ns) / step : 0, 1);
        hu_out_text(p->out, " %</td><td>");
        hu_page_number(p->out, HU_CELL_NS, t ? t->comm_ns : 0);
        hu_out_text(p->out, "</td><td>");
        hu_page_number(p->out, HU_CELL_NS, t ? t->idle_ns : 0);
        hu_out_text(p->out, "</td><td class=\"t\">");
        hu_markup_text(p->out, d->device);
        hu_out_text(p->out, "</td><td class=\"t\">");
        hu_markup_text(p->out, d->info.file);
        hu_out_text(p->out, "</td></tr>\n");
    }
    hu_out_text(p->out, "</tbody></table></div>\n");
    if (p->r->job->n > HU_PAGE_WHOLE_RANKS)
        hu_out_printf(p->out, "<p class=\"note\">%zu more rank%s: <code>holdup report --json</code></p>\n",
                      p->r->job->n - HU_PAGE_WHOLE_RANKS, hu_plural((int64_t)(p->r->job->n - HU_PAGE_WHOLE_RANKS)));
}

static void write_system(hu_page *p)
{
    hu_out_text(p->out, "<dl class=\"job\">");
    for (size_t i = 0; i < p->d->n_devices; i++) {
        hu_out_printf(p->out, "<dt>device %lld</dt><dd>", (long long)p->d->devices[i].id);
        hu_markup_text(p->out, p->d->device_names[i]);
        if (p->d->devices[i].memory_bytes > 0) {
            hu_out_text(p->out, ", ");
            hu_page_number(p->out, HU_CELL_BYTES, (double)p->d->devices[i].memory_bytes);
        }
        if (p->d->devices[i].sm_count)
            hu_out_printf(p->out, ", %d SMs", p->d->devices[i].sm_count);
        hu_out_text(p->out, "</dd>");
    }
    hu_out_text(p->out, "<dt>host</dt><dd>");
    hu_markup_text(p->out, p->d->info.host.n ? p->d->info.host : HU_STR("not recorded"));
    hu_out_text(p->out, "</dd><dt>recorded by</dt><dd>");
    hu_markup_text(p->out, p->d->info.tool.n ? p->d->info.tool : HU_STR("unknown"));
    hu_out_text(p->out, "</dd><dt>this page by</dt><dd>holdup " HU_VERSION "</dd></dl>\n");
    if (!has_gpus(p))
        hu_out_text(
            p->out,
            "<p class=\"note\">Clocks, power and temperature are not part of a profiler's trace; <code>holdup run</code> "
            "records them, <code>nvidia-smi -q -d PERFORMANCE,CLOCK</code> shows them while the job runs.</p>\n");
}

/* Calls of the system are left out where none could be recorded: profilers of devices know none. */
static bool is_wanted(const hu_page *p, const hu_view *v)
{
    const bool of_system = strcmp(v->word, "host") == 0 || strcmp(v->word, "oscalls") == 0;

    return !of_system || p->d->host_time.is_recorded;
}

/* Pictures need the script; tables that say nothing are left out. */
static bool is_shown(const hu_page *p, const section *s, const hu_table *t)
{
    static const char *const pictures[] = {"segments", "code", "categories"};

    for (size_t i = 0; strcmp(s->id, "memory") == 0 && i < HU_COUNT(pictures); i++)
        if (strcmp(t->key, pictures[i]) == 0)
            return false;
    return !t->is_series && t->rows(p->rank) > 0;
}

/* Of all views of a section; where they have no row, the first table says so. */
static int write_tables(hu_page *p, const section *s, hu_error *err)
{
    const hu_view *first = NULL;
    bool           is_written = false;
    int            rc = 0;

    for (size_t i = 0; rc == 0 && i < HU_COUNT(s->views) && s->views[i]; i++) {
        hu_part part;

        if (!hu_views_find(hu_str_of(s->views[i]), &part) || !is_wanted(p, part.view))
            continue;
        first = first ? first : part.view;
        for (size_t t = 0; rc == 0 && t < part.view->n_tables; t++) {
            if (!is_shown(p, s, part.view->tables[t]))
                continue;
            rc = hu_page_table(p, part.view->tables[t], part.view->word, i + t ? MORE_ROWS : ROWS, err);
            is_written = true;
        }
    }
    return rc == 0 && first && !is_written ? hu_page_table(p, first->tables[0], first->word, ROWS, err) : rc;
}

/* The others speak of one rank. */
static bool is_of_job(const section *s)
{
    static const char *const ids[] = {"ranks", "energy", "query"};

    for (size_t i = 0; i < HU_COUNT(ids); i++)
        if (strcmp(s->id, ids[i]) == 0)
            return true;
    return false;
}

static int write_section(hu_page *p, const section *s, hu_error *err)
{
    int rc;

    hu_out_printf(p->out, "<section id=\"%s\" class=\"view\" aria-labelledby=\"%s-head\">\n<h2 id=\"%s-head\">%s</h2>\n",
                  s->id, s->id, s->id, s->title);
    if (strcmp(s->id, "timeline") != 0 && strcmp(s->id, "compare") != 0) /* these say it themselves */
        hu_page_scope(p, is_of_job(s) ? HU_PAGE_OF_JOB : HU_PAGE_OF_RANK);
    rc = write_tables(p, s, err);
    if (strcmp(s->id, "ranks") == 0) {
        write_rank_rows(p);
        hu_page_job(p);
    } else if (strcmp(s->id, "compare") == 0)
        hu_page_compare(p);
    else if (strcmp(s->id, "health") == 0)
        hu_page_health(p);
    else if (strcmp(s->id, "system") == 0)
        write_system(p);
    else if (strcmp(s->id, "timeline") == 0)
        hu_out_text(p->out, "<p class=\"note needs-script\">The timeline needs JavaScript, which is switched off. "
                            "<code>holdup export FILE --format perfetto</code> writes it for ui.perfetto.dev.</p>\n");
    else if (strcmp(s->id, "flame") == 0)
        hu_out_text(p->out, "<p class=\"note needs-script\">The flame graph needs JavaScript, which is switched off. "
                            "<code>holdup export FILE --format folded</code> writes its stacks for flamegraph.pl and "
                            "speedscope.</p>\n");
    else if (strcmp(s->id, "query") == 0)
        hu_out_text(p->out, "<p class=\"note needs-script\">Queries need JavaScript, which is switched off. "
                            "<code>holdup query</code> asks the same in a terminal.</p>\n");
    else if (strcmp(s->id, "modules") == 0)
        hu_out_text(p->out, "<p class=\"note needs-script\">Modules and groups need JavaScript, which is switched off. "
                            "<code>holdup query</code> groups slices by anything.</p>\n");
    hu_out_text(p->out, "</section>\n");
    return rc;
}

/* What is missing, and where it can be had. */
static void write_without_script(hu_page *p)
{
    hu_out_text(p->out,
                "<noscript><p class=\"note\">JavaScript is switched off. This page shows the first rows of its tables");
    if (p->r->job->n > 1) {
        hu_out_text(p->out, ", of ");
        hu_page_rank_name(p);
    }
    hu_out_printf(p->out, "; sorting, charts, timeline and flame graph%s need it.</p></noscript>\n",
                  p->r->job->n > 1 ? ", and the other ranks," : "");
}

int hu_html_write(const hu_report *report, hu_out *out, hu_error *err)
{
    const hu_rank *rank = hu_job_shown(report->job);
    hu_page        p = {.r = report, .rank = rank, .d = rank->digest, .out = out};
    int            rc;

    write_head(&p);
    if (report->edition)
        hu_out_printf(out, "<body data-server=\"%u\">\n", report->edition);
    else
        hu_out_text(out, "<body>\n");
    hu_out_text(out, "<a class=\"skip\" href=\"#main\">skip to the report</a>\n<header id=\"top\"><p "
                     "class=\"brand\">holdup</p><h1>");
    if (report->job->n > 1)
        hu_markup_text(out, report->arguments ? hu_str_of(report->arguments) : HU_STR("several traces"));
    else
        hu_markup_text(out, p.d->info.file);
    hu_out_text(out, "</h1></header>\n");
    write_navigation(&p);
    hu_out_text(out, "<main id=\"main\" tabindex=\"-1\">\n");
    write_without_script(&p);
    if ((rc = hu_page_overview(&p, err)) < 0)
        return rc;
    hu_page_findings(&p);
    if (hu_page_has_beside(&p))
        rc = hu_page_beside(&p, err);
    for (size_t i = 0; rc == 0 && i < HU_COUNT(sections); i++)
        rc = is_there(&p, &sections[i]) ? write_section(&p, &sections[i], err) : 0;
    hu_out_text(out, "</main>\n");
    if (rc < 0 || (rc = hu_page_data(&p, err)) < 0)
        return rc;
    hu_out_text(out, "<script type=\"module\">");
    hu_out_text(out, hu_page_script);
    hu_out_text(out, "</script>\n</body>\n</html>\n");
    return 0;
}
