/* SPDX-License-Identifier: Apache-2.0
 * report.c - the report as docs/report.schema.json describes it.  Integers are ns unless their name says otherwise. */
#include <math.h>

#include "across/energy.h"
#include "advise/findings.h"
#include "render/json/comm.h"
#include "render/report.h"

enum { SCHEMA_VERSION = 1 };

static void optional_int(hu_json_out *j, const char *key, int64_t value)
{
    if (value >= 0)
        hu_json_int(j, key, value);
    else
        hu_json_null(j, key);
}

static void write_inputs(hu_json_out *j, const hu_report *r)
{
    hu_json_open(j, "inputs", '[');
    for (size_t i = 0; i < r->job->n; i++) {
        const hu_trace_info *info = &r->job->digests[i]->info;

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", info->file);
        hu_json_str(j, "format", info->format);
        hu_json_str(j, "tool", info->tool);
        hu_json_str(j, "compression", info->compression);
        hu_json_int(j, "bytes", info->bytes);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* Hosts that are named; 1 when none is, because a file comes from some machine. */
/* What the user's batch size makes of the slowest rank's step; null without one. */
static void write_throughput(hu_json_out *j, const hu_report *r)
{
    const hu_digest *d = hu_job_shown(r->job)->digest;

    hu_json_fixed(j, "samples_per_second",
                  r->batch && hu_digest_step_count(d) ? (double)r->batch * 1e9 / d->steps.duration.mean : (double)NAN, 3);
}

/* Of all ranks that were read; for a sample only where no rank is missing. */
static void write_energy(hu_json_out *j, const hu_report *r)
{
    const hu_job_energy e = hu_job_energy_measure(r->job->digests, r->job->n);
    const double        batch = r->batch && r->job->roster.n_missing == 0 ? (double)r->batch : (double)NAN;

    hu_json_open(j, "energy", '{');
    hu_json_fixed(j, "gpu_joules", e.gpu_joules, 3);
    hu_json_fixed(j, "gpu_step_joules", e.gpu_step_joules, 3);
    hu_json_fixed(j, "gpu_sample_joules", e.gpu_step_joules / batch, 6);
    hu_json_fixed(j, "cpu_joules", e.cpu_joules, 3);
    hu_json_fixed(j, "cpu_step_joules", e.cpu_step_joules, 3);
    hu_json_fixed(j, "cpu_sample_joules", e.cpu_step_joules / batch, 6);
    hu_json_close(j, '}');
}

static void write_list(hu_json_out *j, const char *key, const int64_t *at, size_t n)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n && i < HU_ROSTER_NAMED; i++)
        hu_json_int(j, NULL, at[i]);
    hu_json_close(j, ']');
}

/* What more than half of the ranks that say anything say. */
static void write_parallelism(hu_json_out *j, const hu_report *r)
{
    const hu_agreement *a = &r->job->agreement;

    hu_json_open(j, "parallelism", '{');
    hu_json_str(j, "summary", a->said ? a->said->summary : HU_STR(""));
    hu_json_str(j, "why_not", hu_str_of(a->why_not));
    hu_json_str(j, "confidence", hu_str_of(a->said && !a->differ ? hu_trust_name(a->said->trust) : "low"));
    hu_json_int(j, "ranks_that_agree", (int64_t)a->agree);
    hu_json_int(j, "ranks_that_differ", (int64_t)a->differ);
    hu_json_int(j, "ranks_that_say_nothing", (int64_t)a->silent);
    hu_json_open(j, "groups", '[');
    for (size_t i = 0; a->said && i < a->said->n && a->said->at[i].is_main; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "kind", hu_str_of(hu_parallel_kind_key(a->said->at[i].kind)));
        optional_int(j, "group_size", a->said->at[i].size > 0 ? a->said->at[i].size : -1);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_run(hu_json_out *j, const hu_report *r)
{
    const hu_roster *roster = &r->job->roster;

    hu_json_open(j, "run", '{');
    hu_json_int(j, "ranks", (int64_t)r->job->n);
    hu_json_int(j, "nodes", roster->nodes);
    optional_int(j, "world_size", roster->world_size);
    hu_json_int(j, "missing_count", (int64_t)roster->n_missing);
    write_list(j, "missing_ranks", roster->missing, roster->n_missing);
    write_list(j, "ranks_read_twice", roster->twice, roster->n_twice);
    hu_json_bool(j, "mixes_runs", roster->mixes_runs);
    write_list(j, "ranks_with_other_steps", roster->odd, roster->n_odd);
    write_throughput(j, r);
    write_energy(j, r);
    write_parallelism(j, r);
    hu_json_close(j, '}');
}

static void write_verdict(hu_json_out *j, const hu_verdict *v)
{
    hu_json_open(j, "verdict", '{');
    hu_json_str(j, "text", hu_str_of(v->text));
    hu_json_str(j, "confidence", hu_str_of(hu_confidence_name(v->confidence)));
    hu_json_open(j, "reasons", '[');
    for (size_t i = 0; i < v->n_reasons; i++)
        hu_json_str(j, NULL, hu_str_of(v->reasons[i]));
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_finding(hu_json_out *j, const hu_finding *f)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "id", hu_str_of(hu_rule_key(f->rule)));
    hu_json_str(j, "title", hu_str_of(hu_rule_title(f->rule)));
    hu_json_str(j, "statement", hu_str_of(f->statement));
    hu_json_fixed(j, "gain_pct", f->gain_pct, 3);
    hu_json_fixed(j, "gain_low_pct", f->low_pct, 3);
    hu_json_fixed(j, "gain_high_pct", f->high_pct, 3);
    hu_json_fixed(j, "gain_free_pct", f->free_pct, 3);
    hu_json_ns(j, "step_before_ns", f->before_ns);
    hu_json_ns(j, "step_after_ns", f->after_ns);
    hu_json_str(j, "confidence", hu_str_of(hu_confidence_name(f->confidence)));
    hu_json_open(j, "evidence", '[');
    for (size_t i = 0; i < f->n_evidence; i++)
        hu_json_str(j, NULL, hu_str_of(f->evidence[i]));
    hu_json_close(j, ']');
    hu_json_str(j, "fix", hu_str_of(hu_finding_fix(f)));
    hu_json_str(j, "verify", hu_str_of(hu_rule_verify(f->rule)));
    hu_json_close(j, '}');
}

/* Of the rank that the verdict speaks of. */
static void write_findings(hu_json_out *j, const hu_report *r)
{
    const hu_findings *f = r->job->n ? hu_job_shown(r->job)->findings : NULL;
    const bool         replayed = f && f->is_replayed;

    hu_json_open(j, "findings", '[');
    for (size_t i = 0; replayed && i < f->n; i++)
        write_finding(j, &f->at[i]);
    hu_json_close(j, ']');
    hu_json_open(j, "passed", '[');
    for (size_t i = 0; replayed && i < f->n_passed; i++)
        hu_json_str(j, NULL, hu_str_of(hu_rule_key(f->passed[i])));
    hu_json_close(j, ']');
    if (!replayed) {
        hu_json_null(j, "replay");
        return;
    }
    hu_json_open(j, "replay", '{');
    hu_json_fixed(j, "error_pct", 100 * (f->replayed_ns / f->seen_ns - 1), 4);
    hu_json_bool(j, "is_trusted", f->is_trusted);
    hu_json_str(j, "grade", hu_str_of(hu_grade_name(f->check.worst)));
    hu_json_ns(j, "measured_step_ns", f->seen_ns);
    hu_json_ns(j, "replayed_step_ns", f->replayed_ns);
    hu_json_int(j, "steps", (int64_t)f->n_steps);
    hu_json_fixed(j, "covered_pct", 100 * f->covered, 3);
    if (f->next_class < HU_CLASS_COUNT)
        hu_json_str(j, "binds_next", hu_str_of(hu_class_key(f->next_class)));
    else
        hu_json_null(j, "binds_next");
    hu_json_fixed(j, "binds_next_pct", 100 * f->next_share, 3);
    hu_json_close(j, '}');
}

/* What several ranks show together; null for one. */
static void write_rendezvous(hu_json_out *j, const hu_report *r)
{
    const hu_rendezvous *v = r->job->rendezvous;

    if (!v) {
        hu_json_null(j, "collectives");
        hu_json_null(j, "messages");
        hu_json_null(j, "clocks");
    } else {
        hu_json_open(j, "collectives", '{');
        hu_json_int(j, "matched", v->matched);
        hu_json_int(j, "unmatched", v->unmatched);
        hu_json_matching(j, v);
        hu_json_mismatches(j, r);
        hu_json_called(j, r);
        hu_json_transfers(j, &v->transfers);
        hu_json_close(j, '}');
        hu_json_messages(j, &v->messages);
        hu_json_clocks(j, v, hu_digest_rank_of(r->job->digests, v->clocks.reference));
    }
    hu_json_open(j, "stragglers", '[');
    for (size_t i = 0; i < r->job->stragglers.n; i++) {
        const hu_straggler *s = &r->job->stragglers.at[i];
        const int64_t       rank = r->job->digests[s->late.digest]->info.rank;

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "rank", rank >= 0 ? rank : (int64_t)s->late.digest);
        hu_json_ns(j, "lost_ns_per_step", s->late.lost_step_ns);
        hu_json_fixed(j, "share_pct", s->late.share_pct, 3);
        hu_json_int(j, "last", s->late.last);
        hu_json_str(j, "cause", hu_str_of(s->cause < HU_CLASS_COUNT ? hu_class_key(s->cause) : ""));
        hu_json_ns(j, "cause_ns_per_step", s->cause < HU_CLASS_COUNT ? s->cause_step_ns : (double)NAN);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* How this rank met the others; null for one rank alone. */
static void write_attendance(hu_json_out *j, const hu_report *r, size_t index)
{
    const hu_attendance *a = r->job->rendezvous ? &r->job->rendezvous->at[index] : NULL;

    if (!a) {
        hu_json_null(j, "rendezvous");
        return;
    }
    hu_json_open(j, "rendezvous", '{');
    hu_json_int(j, "calls", a->calls);
    hu_json_int(j, "wait_ns", a->wait_ns);
    hu_json_int(j, "transfer_ns", a->transfer_ns);
    hu_json_int(j, "last", a->last);
    hu_json_int(j, "caused_wait_ns", a->caused_ns);
    hu_json_ns(j, "clock_offset_ns", r->job->rendezvous->clocks.at[index].offset_ns);
    hu_json_int(j, "late_sender_ns", r->job->rendezvous->messages.waits[index].late_sender_ns);
    hu_json_int(j, "late_receiver_ns", r->job->rendezvous->messages.waits[index].late_receiver_ns);
    hu_json_ns(j, "clock_device_ns", r->job->rendezvous->clocks.at[index].device_ns);
    hu_json_fixed(j, "clock_drift_ppm", r->job->rendezvous->clocks.at[index].drift_ppm, 4);
    hu_json_close(j, '}');
}

static void write_devices(hu_json_out *j, const hu_digest *d)
{
    hu_json_open(j, "devices", '[');
    for (size_t i = 0; i < d->n_devices; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_int(j, "id", d->devices[i].id);
        hu_json_str(j, "name", d->device_names[i]);
        hu_json_int(j, "memory_bytes", d->devices[i].memory_bytes);
        hu_json_int(j, "sm_count", d->devices[i].sm_count);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_gpu(hu_json_out *j, const hu_gpu_time *g)
{
    hu_json_open(j, "gpu", '{');
    hu_json_int(j, "span_ns", g->span_ns);
    hu_json_int(j, "busy_ns", g->busy_ns);
    hu_json_int(j, "idle_ns", hu_gpu_time_idle_ns(g));
    hu_json_int(j, "compute_ns", g->compute_ns);
    hu_json_int(j, "comm_ns", g->comm_ns);
    hu_json_int(j, "memcpy_ns", g->memcpy_ns);
    hu_json_int(j, "memset_ns", g->memset_ns);
    hu_json_int(j, "overlapped_comm_ns", g->overlapped_comm_ns);
    hu_json_int(j, "exposed_comm_ns", hu_gpu_time_exposed_comm_ns(g));
    hu_json_int(j, "exposed_memcpy_ns", g->exposed_memcpy_ns);
    hu_json_int(j, "compute_sum_ns", g->kernel_sum_ns);
    hu_json_int(j, "comm_sum_ns", g->comm_sum_ns);
    hu_json_int(j, "compute_kernels", g->n_kernels);
    hu_json_int(j, "comm_kernels", g->n_comm);
    hu_json_int(j, "memcpys", g->n_memcpy);
    hu_json_int(j, "memsets", g->n_memset);
    hu_json_close(j, '}');

    hu_json_open(j, "temporal_breakdown", '{');
    hu_json_fixed(j, "kernel_time_us", (double)g->span_ns / 1e3, 3);
    hu_json_fixed(j, "compute_time_us", (double)g->compute_ns / 1e3, 3);
    hu_json_fixed(j, "non_compute_time_us", (double)(g->busy_ns - g->compute_ns) / 1e3, 3);
    hu_json_fixed(j, "idle_time_us", (double)hu_gpu_time_idle_ns(g) / 1e3, 3);
    hu_json_close(j, '}');
}

static void write_cell(hu_json_out *j, const hu_column *c, const hu_rank *rank, size_t row)
{
    hu_cell cell = {0};

    c->get(rank, row, &cell);
    switch (c->type) {
    case HU_CELL_TEXT:
        hu_json_str(j, c->key, cell.text);
        break;
    case HU_CELL_BOOL:
        hu_json_bool(j, c->key, cell.number != 0);
        break;
    case HU_CELL_NUMBER:
    case HU_CELL_PERCENT:
        hu_json_fixed(j, c->key, cell.number, 4);
        break;
    default:
        if (cell.is_whole)
            hu_json_int(j, c->key, cell.whole);
        else
            hu_json_ns(j, c->key, cell.number);
    }
}

/* Of very many ranks: does the page hold all of this one?  Of those that a verdict speaks of. */
static bool is_whole(const hu_report *r, const hu_rank *rank)
{
    const hu_job *job = r->job;
    bool          is = rank == hu_job_shown(job);

    for (size_t i = 0; i < job->runs.n; i++)
        is |= rank == &job->ranks[job->runs.at[i].verdict.rank];
    return is;
}

/* How many rows of a table are written. */
static size_t rows_of(const hu_report *r, const hu_table *t, const hu_rank *rank)
{
    enum { BRIEF_ROWS = 5, BRIEF_STEPS = 400 };
    const size_t n = hu_report_rows(r, t, rank);
    size_t       most = r->top == 0 || t->is_series ? n : (size_t)r->top;

    if (r->is_brief && !is_whole(r, rank))
        most = t == &hu_table_steps ? BRIEF_STEPS : t->is_series ? 0 : BRIEF_ROWS;
    return n < most ? n : most;
}

static int write_table(hu_json_out *j, const hu_report *r, const hu_table *t, const char *key, const hu_rank *rank,
                       hu_error *err)
{
    const size_t    n = rows_of(r, t, rank);
    const uint32_t *order = hu_columns_order(t, rank, hu_report_rows(r, t, rank), r->sort, r->scratch);

    if (!order)
        return hu_fail_memory(err);
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        hu_json_open(j, NULL, '{');
        for (size_t k = 0; k < t->n_columns; k++)
            if (t->columns[k].key)
                write_cell(j, &t->columns[k], rank, order[i]);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    return 0;
}

int hu_json_view(hu_json_out *j, const hu_report *r, const hu_view *v, const hu_rank *rank, hu_error *err)
{
    int rc = 0;

    if (v->is_list)
        return write_table(j, r, v->tables[0], v->key, rank, err);
    hu_json_open(j, v->key, '{');
    for (size_t i = 0; i < v->n_facts; i++)
        if (v->facts[i].key)
            write_cell(j, &v->facts[i], rank, 0);
    for (size_t i = 0; rc == 0 && i < v->n_tables; i++)
        rc = write_table(j, r, v->tables[i], v->tables[i]->key, rank, err);
    hu_json_close(j, '}');
    return rc;
}

/* By class of call; classes that were not seen are left out. */
static void write_host_calls(hu_json_out *j, const hu_digest *d)
{
    hu_json_open(j, "host_calls", '{');
    for (unsigned c = 0; c < HU_HOST_CLASS_COUNT; c++) {
        const hu_host_sum *s = &d->host_calls.by_class[c];

        if (s->calls == 0)
            continue;
        hu_json_open(j, hu_host_class_key(c), '{');
        hu_json_int(j, "calls", s->calls);
        hu_json_int(j, "total_ns", s->total_ns);
        hu_json_int(j, "longest_ns", s->longest_ns);
        hu_json_int(j, "bytes", s->bytes);
        hu_json_int(j, "main_ns", s->main_ns);
        hu_json_close(j, '}');
    }
    hu_json_close(j, '}');
}

static void write_breakdown(hu_json_out *j, const hu_digest *d)
{
    const hu_step_time *t = hu_digest_step_time(d);

    if (!t) {
        hu_json_null(j, "step_breakdown");
        return;
    }
    hu_json_open(j, "step_breakdown", '{');
    hu_json_ns(j, "step_ns", t->step_ns);
    hu_json_ns(j, "compute_ns", t->compute_ns);
    hu_json_ns(j, "comm_ns", t->comm_ns);
    hu_json_ns(j, "exposed_comm_ns", t->exposed_comm_ns);
    hu_json_ns(j, "exposed_copy_ns", t->exposed_copy_ns);
    hu_json_ns(j, "idle_ns", t->idle_ns);
    hu_json_ns(j, "host_wait_ns", t->wait_ns);
    hu_json_ns(j, "host_unknown_ns", t->unknown_ns);
    hu_json_fixed(j, "gpu_busy_pct",
                  d->breakdown.has_device && t->step_ns > 0 ? 100 * (t->step_ns - t->idle_ns) / t->step_ns : (double)NAN, 3);
    hu_json_open(j, "categories", '{');
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++) {
        char         key[40];
        const size_t n = strlen(hu_role_key(r));

        memcpy(key, hu_role_key(r), n);
        memcpy(key + n, "_ns", 4);
        hu_json_ns(j, key, t->role_ns[r]);
    }
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

void hu_json_phases(hu_json_out *j, const hu_quality *q)
{
    hu_json_open(j, "by_phase", '{');
    for (size_t i = 1; i < HU_COUNT(q->by_phase); i++) {
        const char key[2] = {(char)i, '\0'};

        if (q->by_phase[i])
            hu_json_int(j, key, q->by_phase[i]);
    }
    hu_json_close(j, '}');
}

static void write_quality(hu_json_out *j, const hu_digest *d)
{
    const hu_health  *h = &d->health;
    const hu_quality *q = &h->quality;

    hu_json_open(j, "quality", '{');
    hu_json_int(j, "events", q->events);
    hu_json_int(j, "lost", hu_quality_lost(q));
    hu_json_int(j, "lost_records", q->count[HU_REASON_RECORDER]);
    hu_json_int(j, "torn_records", q->count[HU_REASON_TORN]);
    hu_json_int(j, "overwritten_records", q->count[HU_REASON_OVERWRITTEN]);
    hu_json_phases(j, q);
    hu_json_open(j, "by_kind", '{');
    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        if (h->kinds[k])
            hu_json_int(j, hu_kind_name(k), h->kinds[k]);
    hu_json_close(j, '}');
    hu_json_open(j, "reasons", '[');
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++) {
        if (q->count[r]) {
            hu_json_open(j, NULL, '{');
            hu_json_str(j, "id", hu_str_of(hu_reason_name(r)));
            hu_json_str(j, "words", hu_str_of(hu_reason_words(r)));
            hu_json_bool(j, "is_loss", hu_reason_is_loss(r));
            hu_json_int(j, "count", q->count[r]);
            hu_json_int(j, "duration_ns", q->dur_ns[r]);
            hu_json_close(j, '}');
        }
    }
    hu_json_close(j, ']');
    hu_json_bool(j, "is_truncated", q->is_truncated);
    optional_int(j, "truncated_at_byte", q->is_truncated ? q->truncated_at : -1);
    hu_json_str(j, "truncated_why", hu_str_of(q->truncated_why));
    hu_json_str(j, "profiler_warned", hu_str_of(q->warned));
    hu_json_int(j, "trailing_bytes", q->trailing_bytes);
    hu_json_int(j, "invalid_utf8_names", q->invalid_utf8);
    hu_json_int(j, "device_work_without_launch", h->unlinked_kernels);
    hu_json_int(j, "device_work_without_launch_ns", h->unlinked_kernels_ns);
    hu_json_int(j, "launches_without_device_work", h->unlinked_launches);
    hu_json_int(j, "kernels_launched_by_graphs", h->graph_kernels);
    hu_json_open(j, "not_captured", '[');
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++)
        if (h->missing & 1u << m)
            hu_json_str(j, NULL, hu_str_of(hu_missing_key(m)));
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

/* Of thousands of ranks the page holds what compares them; the rest of those that it shows or draws alone. */
static bool is_outline(const hu_report *r, const hu_rank *rank)
{
    enum { MOST_BRIEF = 512 };

    return r->is_brief && r->job->n > MOST_BRIEF && !is_whole(r, rank) && rank->timeline.bytes.n == 0;
}

static void write_outline(hu_json_out *j, const hu_report *r, size_t index)
{
    const hu_digest *d = r->job->digests[index];

    hu_json_bool(j, "is_outline", true);
    write_attendance(j, r, index);
    write_breakdown(j, d);
    hu_json_open(j, "steps", '{');
    hu_json_int(j, "count", (int64_t)d->steps.n);
    hu_json_ns(j, "mean_ns", d->steps.n_counted ? d->steps.duration.mean : (double)NAN);
    hu_json_open(j, "list", '[');
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static int write_rank(hu_json_out *j, const hu_report *r, size_t index, hu_error *err)
{
    const hu_rank   *rank = &r->job->ranks[index];
    const hu_digest *d = rank->digest;
    int              rc = 0;

    hu_json_open(j, NULL, '{');
    hu_json_int(j, "rank", d->info.rank >= 0 ? d->info.rank : (int64_t)index);
    hu_json_str(j, "host", d->info.host);
    hu_json_str(j, "device", d->device);
    if (is_outline(r, rank)) {
        write_outline(j, r, index);
        hu_json_close(j, '}');
        return 0;
    }
    write_devices(j, d);
    write_quality(j, d);
    write_attendance(j, r, index);
    write_gpu(j, &d->gpu_time);
    write_breakdown(j, d);
    write_host_calls(j, d);
    for (size_t i = 0; rc == 0 && hu_views[i]; i++)
        if (!hu_view_is_job(hu_views[i]))
            rc = hu_json_view(j, r, hu_views[i], rank, err);
    if (rc == 0 && d->hta)
        rc = hu_json_view(j, r, &hu_view_hta, rank, err);
    if (rc == 0 && d->tracelens)
        rc = hu_json_view(j, r, &hu_view_tracelens, rank, err);
    hu_json_close(j, '}');
    return rc;
}

/* Every view that is not each rank's own. */
static int write_merged(hu_json_out *j, const hu_report *r, hu_error *err)
{
    int rc = 0;

    hu_json_open(j, "merged", '{');
    write_gpu(j, &r->merged->digest->gpu_time);
    write_host_calls(j, r->merged->digest);
    for (size_t i = 0; rc == 0 && hu_views[i]; i++)
        if (!hu_views[i]->is_alone && !hu_view_is_job(hu_views[i]))
            rc = hu_json_view(j, r, hu_views[i], r->merged, err);
    hu_json_close(j, '}');
    return rc;
}

int hu_json_write(const hu_report *report, hu_out *out, hu_error *err)
{
    hu_json_out j = {.out = out, .is_empty = true};
    int         rc = 0;

    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", SCHEMA_VERSION);
    hu_json_str(&j, "holdup_version", HU_STR(HU_VERSION));
    write_inputs(&j, report);
    write_run(&j, report);
    hu_json_unread(&j, "unread", &report->job->unread);
    write_verdict(&j, &report->job->verdict);
    write_findings(&j, report);
    write_rendezvous(&j, report);
    hu_json_job(&j, report);
    rc = hu_json_beside(&j, report, err);
    hu_json_open(&j, "ranks", '[');
    for (size_t i = 0; rc == 0 && i < report->job->n; i++)
        rc = write_rank(&j, report, i, err);
    hu_json_close(&j, ']');
    for (size_t i = 0; rc == 0 && hu_views[i]; i++)
        if (hu_view_is_job(hu_views[i]))
            rc = hu_json_view(&j, report, hu_views[i], report->job->ranks, err);
    if (rc == 0 && report->merged)
        rc = write_merged(&j, report, err);
    hu_json_close(&j, '}');
    return rc;
}
