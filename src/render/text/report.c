/* SPDX-License-Identifier: Apache-2.0
 * report.c - the report for a terminal of 80 columns: verdict, WHERE, WHAT, health; or one view. */
#include <math.h>
#include <stdio.h>

#include "advise/findings.h"
#include "advise/say.h"
#include "advise/say_memory.h"
#include "base/number.h"
#include "render/text/text.h"
#include "base/units.h"

enum { SHORT_WHY = 3 }; /* findings in the whole report */

/* Who is not in the numbers, and whose are not whole. */
static void write_missing(hu_text_page *p)
{
    char line[HU_UNREAD_TEXT];

    hu_unread_say(&p->r->job->unread, p->r->job->n, line, sizeof line);
    if (line[0]) {
        hu_text_style(p, "1");
        hu_text_hanging(p, line, 2);
        hu_text_style(p, "0");
    }
    hu_unread_say_partial(&p->r->job->partial, p->r->job->n, line, sizeof line);
    if (line[0] && (p->r->job->n > 1 || p->r->show == HU_SHOW_VIEW)) /* of one rank the verdict says so */
        hu_text_hanging(p, line, 2);
}

enum { LEAST_NAME = 8, MOST_DEVICE = 32 }; /* columns */

static void write_header(hu_text_page *p)
{
    const hu_report *r = p->r;
    const hu_digest *d = hu_job_shown(r->job)->digest;
    const hu_str     device = d->device.n                 ? d->device
                              : d->gpu_time.n_slices      ? HU_STR("GPU")
                              : hu_is_memory_only(d)      ? HU_STR("memory only")
                              : hu_digest_may_hide_gpu(d) ? HU_STR("no known GPU work")
                                                          : HU_STR("no GPU work");
    char             text[HU_UNIT_BYTES], rank[64] = "";
    size_t           behind, room;

    if (r->job->n > 1)
        snprintf(rank, sizeof rank,
                 hu_is_memory_only(hu_job_shown(r->job)->digest) ? " · one of %zu snapshots" : " · slowest of %zu ranks",
                 r->job->n);
    else if (d->info.rank >= 0 && d->info.world_size > 1)
        snprintf(rank, sizeof rank, " · rank %lld of %lld", (long long)d->info.rank, (long long)d->info.world_size);
    behind = hu_units_width(device) < MOST_DEVICE ? hu_units_width(device) : MOST_DEVICE;
    behind += hu_units_width(hu_str_of(rank)) + 3;
    behind = behind < r->width / 2 ? r->width / 2 : behind; /* that much of the line, or what is there */
    room = r->width > behind + LEAST_NAME ? r->width - behind : LEAST_NAME;
    hu_text_hang(p);
    hu_text_style(p, "1");
    hu_units_clip_file(p->out, hu_str_base_name(d->info.file), room);
    hu_text_style(p, "0");
    hu_out_text(p->out, rank);
    hu_out_text(p->out, " · ");
    hu_units_clip(p->out, device, MOST_DEVICE);
    hu_out_text(p->out, "\n");
    if (hu_digest_step_count(d)) {
        hu_units_time(text, d->steps.duration.mean);
        hu_out_printf(p->out, "%s per step", text);
        if (!isnan(d->steps.duration.stddev)) {
            hu_units_time(text, d->steps.duration.stddev);
            hu_out_printf(p->out, " (± %s)", text);
        }
        if (r->batch) {
            hu_out_text(p->out, " · ");
            hu_text_throughput(p, d->steps.duration.mean);
        }
        hu_out_printf(p->out, " · %zu step%s", d->steps.n, hu_plural((int64_t)d->steps.n));
        if (d->steps.n_counted < d->steps.n)
            hu_out_printf(p->out, ", %zu counted", d->steps.n_counted);
        hu_out_text(p->out, " · ");
    }
    hu_out_printf(p->out, "confidence: %s\n", hu_confidence_name(r->job->verdict.confidence));
    write_missing(p);
    hu_text_doubts(p);
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, r->job->verdict.text, 0);
    for (size_t i = 0; i < r->job->verdict.n_reasons; i++) {
        hu_text_style(p, "2");
        hu_out_text(p->out, "  but: ");
        hu_text_hanging(p, r->job->verdict.reasons[i], 7);
        hu_text_style(p, "0");
    }
}

/* WHERE */

static void rank_title(hu_text_page *p, const hu_digest *d)
{
    if (p->r->job->n == 1)
        return;
    hu_text_heading(p, "");
    hu_out_text(p->out, "\n");
    hu_text_style(p, "1");
    if (d->info.rank >= 0)
        hu_out_printf(p->out, "rank %lld · ", (long long)d->info.rank);
    hu_units_clip_file(p->out, hu_str_base_name(d->info.file), p->r->width - 16);
    hu_text_style(p, "0");
    hu_out_text(p->out, "\n");
}

static void write_overview(hu_text_page *p)
{
    const hu_rank *rank = hu_job_shown(p->r->job);

    write_header(p);
    hu_out_text(p->out, "\n");
    if (p->r->job->n > 1) {
        hu_text_ranks(p);
        hu_out_text(p->out, "\n");
    }
    hu_text_where(p, rank->digest);
    hu_out_text(p->out, "\n");
    hu_text_parallelism(p, rank->digest);
    hu_text_serving(p, rank);
    hu_text_gpus(p, rank->digest);
    hu_text_energy(p, rank->digest);
    hu_text_why(p, rank->findings, p->r->show == HU_SHOW_ALL ? SHORT_WHY : HU_TEXT_LONG);
}

/* What to type next.  Whole, however long: a command that is cut cannot be pasted. */
static void write_next(hu_text_page *p, const hu_digest *d)
{
    hu_out_text(p->out, "\nnext  ");
    if (p->r->arguments) {
        hu_out_text(p->out, "holdup report ");
        hu_units_clip(p->out, hu_str_of(p->r->arguments), SIZE_MAX); /* for the signs that a terminal would obey */
        hu_out_printf(p->out, " --view %s\n      ",
                      hu_is_memory_only(d)       ? "memory"
                      : d->gpu_time.n_slices     ? "idle"
                      : d->host_time.is_recorded ? "host"
                                                 : "ops");
    }
    hu_out_text(p->out, "holdup report --view list      lists every view\n");
}

extern const hu_view hu_view_memory; /* render/table/memory.c */

/* Nothing in it took time: who holds the memory is the answer. */
static void write_memory(hu_text_page *p, const hu_rank *rank)
{
    write_header(p);
    for (size_t i = 0; i < hu_view_memory.n_tables; i++) {
        const hu_table *t = hu_view_memory.tables[i];
        char            title[64] = "MEMORY  pools";

        if (t->rows(rank) == 0 || t->is_series || strcmp(t->key, "stacks") == 0 || strcmp(t->key, "segments") == 0)
            continue; /* call chains are lines that no terminal holds: --view memory has them */
        hu_out_text(p->out, "\n");
        if (i)
            snprintf(title, sizeof title, "        %c%s", t->title[0] | ' ', t->title + 1);
        hu_text_titled_table(p, title, t, rank, HU_TEXT_SHORT);
    }
    hu_text_beside(p);
    hu_out_text(p->out, "\n");
    hu_text_health(p, rank->digest, false);
    write_next(p, rank->digest);
}

static void write_all(hu_text_page *p)
{
    const hu_rank   *rank = hu_job_shown(p->r->job);
    const hu_digest *d = rank->digest;

    if (hu_is_memory_only(d)) {
        write_memory(p, rank);
        return;
    }
    write_overview(p);
    hu_out_text(p->out, "\n");
    hu_text_titled_table(p, "WHAT    operators", &hu_table_operators, rank, HU_TEXT_SHORT);
    if (d->kernels.n) {
        hu_out_text(p->out, "\n");
        hu_text_titled_table(p, "        kernels", &hu_table_kernels, rank, HU_TEXT_SHORT);
    }
    if (d->copies.n) {
        hu_out_text(p->out, "\n");
        hu_text_titled_table(p, "        copies", &hu_table_copies, rank, HU_TEXT_SHORT);
    }
    if (d->host_calls.n) {
        hu_out_text(p->out, "\n");
        hu_text_titled_table(p, "        system calls", &hu_table_host, rank, HU_TEXT_SHORT);
    }
    if (d->host_time.n > 1) {
        hu_out_text(p->out, "\n");
        hu_text_titled_table(p, "        processes", &hu_table_processes, rank, HU_TEXT_SHORT);
    }
    if (d->hot.samples) {
        hu_out_text(p->out, "\n");
        hu_text_titled_table(p, "        CPU samples: top functions", &hu_table_hot, rank, HU_TEXT_SHORT);
    }
    hu_text_beside(p);
    hu_out_text(p->out, "\n");
    hu_text_health(p, d, false);
    write_next(p, d);
}

void hu_text_write(const hu_report *report, hu_out *out)
{
    hu_text_page p = {report, out};

    if (report->show == HU_SHOW_ALL) {
        write_all(&p);
        return;
    }
    if (report->show == HU_SHOW_OVERVIEW) {
        write_overview(&p);
        hu_text_beside(&p);
        return;
    }
    write_missing(&p);
    if (report->show == HU_SHOW_VIEW && (report->merged || hu_view_is_job(report->part.view))) {
        hu_text_view(&p, report->merged ? report->merged : report->job->ranks);
        return;
    }
    for (size_t i = 0; i < report->job->n; i++) {
        rank_title(&p, report->job->digests[i]);
        if (report->show == HU_SHOW_HEALTH)
            hu_text_health(&p, report->job->digests[i], true);
        else
            hu_text_view(&p, &report->job->ranks[i]);
    }
}
