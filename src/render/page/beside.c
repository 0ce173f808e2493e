/* SPDX-License-Identifier: Apache-2.0
 * beside.c - what was recorded beside the traces: the hang and what does not fit on the first screen, all in a section. */
#include "advise/say_memory.h"
#include "render/counters.h"
#include "render/flight.h"
#include "render/nsys_sums.h"
#include "render/ras.h"
#include "render/page/page.h"
#include "render/step_log.h"

extern const hu_view hu_view_memory; /* render/table/memory.c */

enum { MOST_SAID = 4096, WIDTH = 100, ROWS = 10, KERNELS = 20, LOGS = 8 };

bool hu_page_has_beside(const hu_page *p)
{
    const hu_beside *b = p->r->beside;

    return p->r->job->n_snapshots || (b && (b->counters.kernels.n || b->dumps.n || b->ras.n || b->n_logs || b->n_sums));
}

static hu_flight_report flight_of(const hu_page *p)
{
    const hu_beside *b = p->r->beside;

    return (hu_flight_report){.answer = &b->flight,
                              .dumps = b->dumps.at,
                              .n_dumps = b->dumps.n,
                              .unread = &b->dumps.unread,
                              .scratch = p->r->scratch,
                              .width = WIDTH};
}

static hu_ras_report ras_of(const hu_page *p)
{
    return (hu_ras_report){
        .answer = &p->r->beside->ras_says, .n_queries = p->r->beside->ras.n, .scratch = p->r->scratch, .width = WIDTH};
}

void hu_page_doubts(hu_page *p)
{
    const hu_beside *b = p->r->beside;
    char             text[MOST_SAID];

    if (b && b->hangs) {
        const hu_flight_report flight = flight_of(p);

        hu_out_text(p->out, "<p class=\"error\">First the hang, by its Flight Recorder dumps: ");
        hu_markup_sentence(p->out, hu_flight_sentence(&flight));
        hu_out_text(p->out, " <a href=\"#beside\">The dumps</a></p>\n");
    }
    if (b && b->ras_hangs) {
        const hu_ras_report ras = ras_of(p);

        hu_out_text(p->out, "<p class=\"error\">By NCCL's RAS subsystem: ");
        hu_markup_sentence(p->out, hu_ras_sentence(&ras));
        hu_out_text(p->out, " <a href=\"#beside\">Its answer</a></p>\n");
    }
    if (b && hu_beside_say_agreement(b, text, sizeof text)) {
        hu_out_text(p->out, "<p class=\"error\">");
        hu_markup_text(p->out, hu_str_of(text));
        hu_out_text(p->out, "</p>\n");
    }
    for (size_t i = 0; b && i < b->doubts.n; i++) {
        hu_out_text(p->out, "<p class=\"error unread\">does not fit: ");
        hu_markup_text(p->out, b->doubts.at[i].file);
        hu_out_text(p->out, ": ");
        hu_markup_text(p->out, b->doubts.at[i].error);
        hu_out_text(p->out, "</p>\n");
    }
}

/* A text as a terminal shows it. */
static int write_text(hu_page *p, const char *title, hu_out *memory, hu_error *err)
{
    hu_str    text;
    const int rc = hu_out_take(memory, &text, err);

    if (rc < 0)
        return rc;
    hu_out_printf(p->out, "<h3>%s</h3>\n<pre tabindex=\"0\">", title);
    hu_markup_text(p->out, text);
    hu_out_text(p->out, "</pre>\n");
    return 0;
}

static int write_kernels(hu_page *p, hu_error *err)
{
    const hu_beside         *b = p->r->beside;
    const hu_counters_report counters = {.counters = &b->counters,
                                         .groups = &b->measured.groups,
                                         .measured = &b->measured,
                                         .revised = hu_beside_revised(b, p->r->job->verdict.rank),
                                         .top = KERNELS,
                                         .width = WIDTH};
    hu_out                  *memory = hu_out_open_memory(p->r->scratch);

    if (!memory)
        return hu_fail_memory(err);
    hu_counters_text(&counters, memory);
    return write_text(p, "Kernels, measured one by one", memory, err);
}

static int write_flight(hu_page *p, hu_error *err)
{
    const hu_flight_report flight = flight_of(p);
    hu_out                *memory = hu_out_open_memory(p->r->scratch);

    if (!memory)
        return hu_fail_memory(err);
    hu_flight_text(&flight, memory);
    return write_text(p, "Flight Recorder", memory, err);
}

static int write_ras(hu_page *p, hu_error *err)
{
    const hu_ras_report ras = ras_of(p);
    hu_out             *memory = hu_out_open_memory(p->r->scratch);

    if (!memory)
        return hu_fail_memory(err);
    hu_ras_text(&ras, memory);
    return write_text(p, "NCCL RAS", memory, err);
}

static void write_file(hu_page *p, const char *what, const char *file)
{
    hu_out_printf(p->out, "<h3>%s ", what);
    hu_markup_text(p->out, hu_str_of(file));
    hu_out_text(p->out, "</h3>\n<p>");
}

static int write_log(hu_page *p, const hu_beside_log *l, hu_error *err)
{
    hu_out *memory = hu_out_open_memory(p->r->scratch);
    char    text[MOST_SAID];

    if (!memory)
        return hu_fail_memory(err);
    hu_beside_say_log(l, text, sizeof text);
    hu_log_text(
        &(hu_log_report){.log = &l->log, .answer = &l->says, .scratch = p->r->scratch, .width = WIDTH, .is_beside = true},
        memory);
    write_file(p, "Log", l->file);
    hu_markup_text(p->out, hu_str_of(text));
    hu_out_text(p->out, "</p>\n");
    return write_text(p, "What it says", memory, err);
}

static int write_sums(hu_page *p, const hu_beside_sums *s, hu_error *err)
{
    hu_out *memory = hu_out_open_memory(p->r->scratch);

    if (!memory)
        return hu_fail_memory(err);
    hu_nsys_text(&(hu_nsys_report){.sums = &s->sums, .answer = &s->says, .width = WIDTH}, p->r->scratch, memory);
    write_file(p, "Sums of nsys stats", s->file);
    hu_out_text(p->out, "they have no times, and stand beside the trace as they are</p>\n");
    return write_text(p, "What it says", memory, err);
}

static int write_snapshot(hu_page *p, const hu_rank *snapshot, hu_error *err)
{
    hu_page of = {.r = p->r, .rank = snapshot, .d = snapshot->digest, .out = p->out};
    char    text[MOST_SAID];
    int     rc = 0;

    hu_say_memory(snapshot->digest, text, sizeof text);
    hu_out_text(p->out, "<h3>Memory snapshot ");
    hu_markup_text(p->out, snapshot->digest->info.file);
    hu_out_text(p->out, "</h3>\n<p>");
    hu_markup_sentence(p->out, hu_str_of(text));
    hu_out_text(p->out, "</p>\n");
    for (size_t i = 0; rc == 0 && i < hu_view_memory.n_tables; i++)
        if (hu_view_memory.tables[i]->rows(snapshot) && !hu_view_memory.tables[i]->is_series)
            rc = hu_page_table(&of, hu_view_memory.tables[i], "memory", ROWS, err);
    return rc;
}

int hu_page_beside(hu_page *p, hu_error *err)
{
    const hu_beside *b = p->r->beside;
    int              rc = 0;

    hu_out_text(p->out, "<section id=\"beside\" class=\"view\" aria-labelledby=\"beside-head\">\n"
                        "<h2 id=\"beside-head\">Recorded beside the trace</h2>\n");
    hu_page_scope(p, HU_PAGE_OF_JOB);
    if (b && b->dumps.n)
        rc = write_flight(p, err);
    if (rc == 0 && b && b->ras.n)
        rc = write_ras(p, err);
    if (rc == 0 && b && b->counters.kernels.n)
        rc = write_kernels(p, err);
    for (size_t i = 0; rc == 0 && i < p->r->job->n_snapshots; i++)
        rc = write_snapshot(p, &p->r->job->snapshots[i], err);
    for (size_t i = 0; rc == 0 && b && i < b->n_logs && i < LOGS; i++)
        rc = write_log(p, &b->logs[i], err);
    if (b && b->n_logs > LOGS)
        hu_out_printf(p->out, "<p>%zu more logs; <code>--json</code> has them</p>\n", b->n_logs - LOGS);
    for (size_t i = 0; rc == 0 && b && i < b->n_sums; i++)
        rc = write_sums(p, &b->sums[i], err);
    hu_out_text(p->out, "</section>\n");
    return rc;
}
