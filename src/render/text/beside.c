/* SPDX-License-Identifier: Apache-2.0
 * beside.c - what was recorded beside the traces: a hang before all else, kernels and memory behind the trace's answer. */
#include "advise/say_memory.h"
#include "render/counters.h"
#include "render/flight.h"
#include "render/left.h"
#include "render/nsys_sums.h"
#include "render/ras.h"
#include "render/step_log.h"
#include "render/text/text.h"

extern const hu_view hu_view_memory; /* render/table/memory.c */

enum { MOST_SAID = 4096, SHORT_KERNELS = 3, DEFAULT_TOP = 10, WHOLE_LOGS = 2, SHORT_LOGS = 8 };

static hu_flight_report flight_of(const hu_report *r)
{
    const hu_beside *b = r->beside;

    return (hu_flight_report){.answer = &b->flight,
                              .dumps = b->dumps.at,
                              .n_dumps = b->dumps.n,
                              .unread = &b->dumps.unread,
                              .scratch = r->scratch,
                              .top = (size_t)r->top,
                              .width = r->width};
}

static hu_ras_report ras_of(const hu_report *r)
{
    return (hu_ras_report){.answer = &r->beside->ras_says,
                           .n_queries = r->beside->ras.n,
                           .scratch = r->scratch,
                           .top = (size_t)r->top,
                           .width = r->width};
}

static void write_first(hu_text_page *p, const char *line)
{
    hu_text_style(p, "1");
    hu_text_hanging(p, line, 0);
    hu_text_style(p, "0");
}

void hu_text_hang(hu_text_page *p)
{
    const hu_beside *b = p->r->beside;
    char             text[MOST_SAID];

    if (b && b->hangs) {
        const hu_flight_report flight = flight_of(p->r);

        write_first(p, "First the hang, by its Flight Recorder dumps:");
        hu_flight_text(&flight, p->out);
        hu_out_text(p->out, "\n");
    }
    if (b && b->ras_hangs) {
        const hu_ras_report ras = ras_of(p->r);

        write_first(p, b->hangs ? "The same by NCCL's RAS subsystem:" : "First the hang, by NCCL's RAS subsystem:");
        hu_ras_text(&ras, p->out);
        hu_out_text(p->out, "\n");
    }
    if (b && hu_beside_say_agreement(b, text, sizeof text)) {
        write_first(p, text);
        hu_out_text(p->out, "\n");
    }
}

/* Execution traces of these ranks. */
static void write_executions(hu_text_page *p)
{
    const hu_job *job = p->r->job;

    for (size_t i = 0; i < job->n_executions; i++) {
        char fit[MOST_SAID], line[MOST_SAID + HU_UNREAD_TEXT];

        if (!hu_execution_fit_say(&job->executions[i], fit, sizeof fit))
            continue;
        snprintf(line, sizeof line, "execution trace %.*s: %s", HU_FMT(hu_str_base_name(job->executions[i].file)), fit);
        hu_text_hanging(p, line, 2);
    }
}

void hu_text_doubts(hu_text_page *p)
{
    const hu_unread_list *doubts = p->r->beside ? &p->r->beside->doubts : NULL;

    write_executions(p);

    for (size_t i = 0; doubts && i < doubts->n; i++) {
        char line[HU_UNREAD_TEXT];

        snprintf(line, sizeof line, "does not fit: %.*s: %.*s", HU_FMT(doubts->at[i].file), HU_FMT(doubts->at[i].error));
        hu_text_style(p, "1");
        hu_text_hanging(p, line, 2);
        hu_text_style(p, "0");
    }
}

static void write_kernels(hu_text_page *p)
{
    const hu_report         *r = p->r;
    const hu_counters_report counters = {.counters = &r->beside->counters,
                                         .groups = &r->beside->measured.groups,
                                         .measured = &r->beside->measured,
                                         .revised = hu_beside_revised(r->beside, r->job->verdict.rank),
                                         .top = r->top                   ? (size_t)r->top
                                                : r->show == HU_SHOW_ALL ? DEFAULT_TOP
                                                                         : SHORT_KERNELS,
                                         .width = r->width};

    hu_out_text(p->out, "\n");
    hu_text_heading(p, "MEASURED KERNELS");
    hu_out_text(p->out, "\n");
    hu_counters_text(&counters, p->out);
}

static void write_snapshot(hu_text_page *p, const hu_rank *s)
{
    char text[MOST_SAID];

    hu_say_memory(s->digest, text, sizeof text);
    hu_out_text(p->out, "\n");
    hu_text_heading(p, "MEMORY SNAPSHOT");
    hu_out_text(p->out, "  ");
    hu_units_clip(p->out, hu_str_base_name(s->digest->info.file), p->r->width > 40 ? p->r->width - 20 : 20);
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, text, 0);
    for (size_t i = 0; p->r->show == HU_SHOW_ALL && i < hu_view_memory.n_tables; i++) {
        const hu_table *t = hu_view_memory.tables[i];
        char            title[80];

        if (t->rows(s) == 0 || t->is_series)
            continue;
        hu_out_text(p->out, "\n");
        snprintf(title, sizeof title, "        %c%s", t->title[0] | ' ', t->title + 1);
        hu_text_titled_table(p, title, t, s, HU_TEXT_SHORT);
    }
}

static void write_name(hu_text_page *p, const char *heading, const char *file)
{
    hu_out_text(p->out, "\n");
    hu_text_heading(p, heading);
    hu_out_text(p->out, "  ");
    hu_units_clip(p->out, hu_str_base_name(hu_str_of(file)), p->r->width > 40 ? p->r->width - 20 : 20);
    hu_out_text(p->out, "\n");
}

static void write_log(hu_text_page *p, const hu_beside_log *l)
{
    char                text[MOST_SAID];
    const hu_log_report log = {.log = &l->log,
                               .answer = &l->says,
                               .scratch = p->r->scratch,
                               .top = (size_t)p->r->top,
                               .width = p->r->width,
                               .is_beside = true};

    write_name(p, "LOG", l->file);
    if (hu_beside_say_log(l, text, sizeof text))
        hu_text_paragraph(p, text, 0);
    hu_log_text(&log, p->out);
}

/* What no other log says for it. */
static bool says_why_it_ended(const hu_beside_log *l)
{
    return l->log.ends.n || l->log.timeouts.n;
}

/* Ranks often have a log each, which say the same: of those behind the first few, a line. */
static void write_logs(hu_text_page *p)
{
    const hu_beside *b = p->r->beside;
    const size_t     most = p->r->top ? (size_t)p->r->top : SHORT_LOGS;

    for (size_t i = 0; i < b->n_logs && i < WHOLE_LOGS; i++)
        write_log(p, &b->logs[i]);
    for (size_t i = WHOLE_LOGS; i < b->n_logs && i < most; i++) {
        char text[MOST_SAID];

        if (says_why_it_ended(&b->logs[i])) {
            write_log(p, &b->logs[i]);
            continue;
        }
        write_name(p, "LOG", b->logs[i].file);
        hu_beside_say_log(&b->logs[i], text, sizeof text);
        hu_text_paragraph(p, text[0] ? text : "Lines of NCCL alone; `holdup report FILE` shows them.", 0);
    }
    if (b->n_logs > most && b->n_logs > WHOLE_LOGS)
        hu_out_printf(p->out, "\n%zu more logs; --top and --json show them\n",
                      b->n_logs - (most > WHOLE_LOGS ? most : WHOLE_LOGS));
}

static void write_sums(hu_text_page *p, const hu_beside_sums *s)
{
    const hu_nsys_report sums = {.sums = &s->sums, .answer = &s->says, .top = (size_t)p->r->top, .width = p->r->width};

    write_name(p, "SUMS", s->file);
    hu_nsys_text(&sums, p->r->scratch, p->out);
}

/* What lies in a directory that was named and is in no number. */
static void write_left(hu_text_page *p)
{
    char text[HU_LEFT_TEXT];

    hu_left_say(&p->r->beside->left, text);
    if (!text[0])
        return;
    hu_out_text(p->out, "\n");
    hu_text_heading(p, "NOT READ");
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, text, 0);
}

/* Dumps and answers in which nothing hangs. */
static void write_calm(hu_text_page *p)
{
    const hu_beside *b = p->r->beside;

    if (b && b->dumps.n && !b->hangs) {
        const hu_flight_report flight = flight_of(p->r);

        hu_out_text(p->out, "\n");
        hu_text_heading(p, "FLIGHT RECORDER");
        hu_out_text(p->out, "\n");
        hu_flight_text(&flight, p->out);
    }
    if (b && b->ras.n && !b->ras_hangs) {
        const hu_ras_report ras = ras_of(p->r);

        hu_out_text(p->out, "\n");
        hu_text_heading(p, "RAS");
        hu_out_text(p->out, "\n");
        hu_ras_text(&ras, p->out);
    }
}

void hu_text_write_hang(const hu_report *report, hu_out *out)
{
    hu_text_page p = {report, out};

    hu_text_hang(&p);
    write_calm(&p);
}

void hu_text_beside(hu_text_page *p)
{
    const hu_beside *b = p->r->beside;

    if (b && b->counters.kernels.n)
        write_kernels(p);
    for (size_t i = 0; i < p->r->job->n_snapshots; i++)
        write_snapshot(p, &p->r->job->snapshots[i]);
    if (b)
        write_logs(p);
    for (size_t i = 0; b && i < b->n_sums; i++)
        write_sums(p, &b->sums[i]);
    write_calm(p);
    if (b)
        write_left(p);
}
