/* SPDX-License-Identifier: Apache-2.0
 * beside.c - members of the report for what was recorded beside the traces; null and empty where nothing was. */
#include "advise/say_memory.h"
#include "base/out.h"
#include "render/counters.h"
#include "render/flight.h"
#include "render/nsys_sums.h"
#include "render/ras.h"
#include "render/report.h"
#include "render/step_log.h"

extern const hu_view hu_view_memory; /* render/table/memory.c */

enum { MOST_SAID = 4096 };

/* What a writer of a whole document has written, as a member. */
static int put_document(hu_json_out *j, const char *key, hu_out *memory, hu_arena *scratch, hu_error *err)
{
    hu_str text, whole;
    int    rc = hu_out_take(memory, &text, err);

    if (rc < 0)
        return rc;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    whole = hu_arena_copy(scratch, text);
    if (!whole.p)
        return hu_fail_memory(err);
    hu_json_digits(j, key, whole.p);
    return 0;
}

static int write_flight(hu_json_out *j, const hu_report *r, hu_error *err)
{
    const hu_beside *b = r->beside;
    hu_out          *memory;

    if (!b || b->dumps.n == 0) {
        hu_json_null(j, "flight_recorder");
        return 0;
    }
    memory = hu_out_open_memory(r->scratch);
    if (!memory)
        return hu_fail_memory(err);
    hu_flight_json(&(hu_flight_report){.answer = &b->flight,
                                       .dumps = b->dumps.at,
                                       .n_dumps = b->dumps.n,
                                       .unread = &b->dumps.unread,
                                       .scratch = r->scratch},
                   memory);
    return put_document(j, "flight_recorder", memory, r->scratch, err);
}

static int write_ras(hu_json_out *j, const hu_report *r, hu_error *err)
{
    const hu_beside *b = r->beside;
    hu_out          *memory;

    if (!b || b->ras.n == 0) {
        hu_json_null(j, "nccl_ras");
        return 0;
    }
    memory = hu_out_open_memory(r->scratch);
    if (!memory)
        return hu_fail_memory(err);
    hu_ras_json(&(hu_ras_report){.answer = &b->ras_says, .n_queries = b->ras.n, .scratch = r->scratch}, memory);
    return put_document(j, "nccl_ras", memory, r->scratch, err);
}

static int write_counters(hu_json_out *j, const hu_report *r, hu_error *err)
{
    const hu_beside *b = r->beside;
    hu_out          *memory;

    if (!b || b->counters.kernels.n == 0) {
        hu_json_null(j, "counters");
        return 0;
    }
    memory = hu_out_open_memory(r->scratch);
    if (!memory)
        return hu_fail_memory(err);
    hu_counters_json(&(hu_counters_report){.counters = &b->counters,
                                           .groups = &b->measured.groups,
                                           .measured = &b->measured,
                                           .revised = hu_beside_revised(b, r->job->verdict.rank)},
                     memory);
    return put_document(j, "counters", memory, r->scratch, err);
}

static int write_snapshots(hu_json_out *j, const hu_report *r, hu_error *err)
{
    char text[MOST_SAID];
    int  rc = 0;

    hu_json_open(j, "memory_snapshots", '[');
    for (size_t i = 0; rc == 0 && i < r->job->n_snapshots; i++) {
        const hu_rank *s = &r->job->snapshots[i];

        hu_say_memory(s->digest, text, sizeof text);
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", s->digest->info.file);
        hu_json_str(j, "text", hu_str_of(text));
        rc = hu_json_view(j, r, &hu_view_memory, s, err);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    return rc;
}

static int write_log(hu_json_out *j, const hu_report *r, const hu_beside_log *l, hu_error *err)
{
    static const char *const fits[] = {"unknown", "same", "parts", "longer", "shorter"};
    static const char *const clocks[] = {"log-has-none", "traces-have-none", "apart", "aligned"};
    char                     text[MOST_SAID];
    hu_out                  *memory = hu_out_open_memory(r->scratch);
    int                      rc;

    if (!memory)
        return hu_fail_memory(err);
    hu_log_json(&(hu_log_report){.log = &l->log, .answer = &l->says, .scratch = r->scratch}, memory);
    hu_beside_say_log(l, text, sizeof text);
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "file", hu_str_of(l->file));
    hu_json_str(j, "text", hu_str_of(text));
    hu_json_str(j, "fit", hu_str_of(fits[l->fit]));
    hu_json_ns(j, "trace_step_ns", l->trace_ns);
    hu_json_fixed(j, "step_ratio", l->ratio, 4);
    hu_json_str(j, "clock", hu_str_of(clocks[l->clock]));
    if (l->clock == HU_LOG_CLOCK_FITS) {
        hu_json_int(j, "first_step", l->first_step);
        hu_json_int(j, "last_step", l->last_step);
    } else {
        hu_json_null(j, "first_step");
        hu_json_null(j, "last_step");
    }
    hu_json_ns(j, "then_ns", l->then_ns);
    rc = put_document(j, "log", memory, r->scratch, err);
    hu_json_close(j, '}');
    return rc;
}

static int write_logs(hu_json_out *j, const hu_report *r, hu_error *err)
{
    const hu_beside *b = r->beside;
    int              rc = 0;

    hu_json_open(j, "logs", '[');
    for (size_t i = 0; b && rc == 0 && i < b->n_logs; i++)
        rc = write_log(j, r, &b->logs[i], err);
    hu_json_close(j, ']');
    return rc;
}

static int write_sums(hu_json_out *j, const hu_report *r, hu_error *err)
{
    const hu_beside *b = r->beside;
    int              rc = 0;

    hu_json_open(j, "sums", '[');
    for (size_t i = 0; b && rc == 0 && i < b->n_sums; i++) {
        hu_out *memory = hu_out_open_memory(r->scratch);

        if (!memory)
            return hu_fail_memory(err);
        hu_nsys_json(&(hu_nsys_report){.sums = &b->sums[i].sums, .answer = &b->sums[i].says}, r->scratch, memory);
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", hu_str_of(b->sums[i].file));
        rc = put_document(j, "sums", memory, r->scratch, err);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    return rc;
}

static void write_left(hu_json_out *j, const hu_beside *b)
{
    const hu_left none = {0}, *left = b ? &b->left : &none;

    hu_json_open(j, "not_read", '{');
    hu_json_int(j, "count", (int64_t)left->n);
    hu_json_int(j, "traces", (int64_t)left->n_traces);
    hu_json_open(j, "files", '[');
    for (size_t i = 0; i < left->n && i < HU_LEFT_NAMED; i++)
        hu_json_str(j, NULL, hu_str_of(left->at[i]));
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_doubts(hu_json_out *j, const hu_beside *b)
{
    hu_json_open(j, "doubts", '[');
    for (size_t i = 0; b && i < b->doubts.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", b->doubts.at[i].file);
        hu_json_str(j, "doubt", b->doubts.at[i].error);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_executions(hu_json_out *j, const hu_job *job)
{
    hu_json_open(j, "execution_traces", '[');
    for (size_t i = 0; i < job->n_executions; i++) {
        const hu_execution_fit *fit = &job->executions[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", fit->file);
        hu_json_str(j, "trace", fit->trace);
        hu_json_int(j, "operators", (int64_t)fit->operators);
        hu_json_int(j, "alike", (int64_t)fit->alike);
        hu_json_int(j, "distance", fit->distance);
        hu_json_int(j, "filled", (int64_t)fit->filled);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

int hu_json_write_hang(const hu_report *r, const hu_unread_list *unread, hu_out *out, hu_error *err)
{
    hu_json_out j = {.out = out, .is_empty = true};
    char        text[MOST_SAID];
    int         rc;

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("hang"));
    rc = write_flight(&j, r, err);
    if (rc == 0)
        rc = write_ras(&j, r, err);
    if (hu_beside_say_agreement(r->beside, text, sizeof text))
        hu_json_str(&j, "agreement", hu_str_of(text));
    else
        hu_json_null(&j, "agreement");
    hu_json_unread(&j, "unread", unread);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
    return rc;
}

int hu_json_beside(hu_json_out *j, const hu_report *r, hu_error *err)
{
    int rc;

    if ((rc = write_flight(j, r, err)) < 0 || (rc = write_ras(j, r, err)) < 0 || (rc = write_counters(j, r, err)) < 0 ||
        (rc = write_snapshots(j, r, err)) < 0 || (rc = write_logs(j, r, err)) < 0 || (rc = write_sums(j, r, err)) < 0)
        return rc;
    write_executions(j, r->job);
    write_left(j, r->beside);
    write_doubts(j, r->beside);
    return 0;
}
