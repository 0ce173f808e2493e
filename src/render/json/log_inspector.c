/* SPDX-License-Identifier: Apache-2.0
 * log_inspector.c - calls of NCCL's Inspector for programs (docs/formats/nccl-inspector.md). */
#include <math.h>

#include "render/log_inspector.h"

static void write_rank_number(hu_json_out *j, const char *key, int64_t rank)
{
    if (rank < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, rank);
}

static void write_size(hu_json_out *j, const hu_inspector_size *s)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "op", s->op->op);
    hu_json_bool(j, "is_p2p", s->op->is_p2p);
    hu_json_int(j, "bytes", s->bytes);
    hu_json_int(j, "ranks", s->ranks);
    hu_json_int(j, "count", s->count);
    hu_json_int(j, "records", s->records);
    hu_json_ns(j, "median_ns", s->median_ns);
    hu_json_ns(j, "total_ns", s->total_ns);
    hu_json_ns(j, "last_rank_ns", s->least_ns);
    hu_json_ns(j, "wait_ns", s->wait_ns);
    hu_json_fixed(j, "alg_gbps", s->alg, 3);
    hu_json_fixed(j, "bus_gbps", s->bus, 3);
    hu_json_fixed(j, "last_rank_bus_gbps", s->best_bus, 3);
    write_rank_number(j, "last_rank", s->last);
    hu_json_fixed(j, "last_rank_share", s->last < 0 ? (double)NAN : s->last_share, 6);
    hu_json_close(j, '}');
}

static void write_rank(hu_json_out *j, const hu_log_inspector *log, const hu_inspector_rank *k)
{
    hu_json_open(j, NULL, '{');
    hu_json_int(j, "rank", k->rank);
    hu_json_str(j, "host", log->processes.at[k->process].host);
    hu_json_int(j, "pid", log->processes.at[k->process].pid);
    hu_json_int(j, "calls", k->calls);
    hu_json_int(j, "last_in", k->n_last);
    hu_json_ns(j, "waited_for_ns", k->held_ns);
    hu_json_ns(j, "wait_ns", k->wait_ns);
    hu_json_ns(j, "time_ns", k->ns);
    hu_json_close(j, '}');
}

void hu_inspector_json(const hu_log_report *r, hu_json_out *j)
{
    const hu_log_inspector    *log = &r->log->inspector;
    const hu_inspector_answer *a = &r->answer->inspector;

    if (log->n_files == 0) {
        hu_json_null(j, "inspector");
        return;
    }
    hu_json_open(j, "inspector", '{');
    hu_json_str(j, "version", log->version);
    hu_json_int(j, "files", (int64_t)log->n_files);
    hu_json_int(j, "processes", (int64_t)log->processes.n);
    hu_json_int(j, "communicators", (int64_t)log->comms.n);
    hu_json_int(j, "world_size", a->world);
    hu_json_int(j, "records", (int64_t)log->calls.n);
    hu_json_int(j, "timed_by_cpu", log->n_cpu);
    hu_json_int(j, "dropped", log->n_dropped);
    hu_json_int(j, "torn", log->n_torn);
    hu_json_int(j, "left_out", log->n_more);
    hu_json_int(j, "compared_calls", a->compared);
    hu_json_ns(j, "time_ns", a->ns);
    hu_json_ns(j, "wait_ns", a->wait_ns);
    hu_json_open(j, "sizes", '[');
    for (size_t i = 0; i < a->sizes.n; i++)
        write_size(j, &a->sizes.at[i]);
    hu_json_close(j, ']');
    hu_json_open(j, "ranks", '[');
    for (size_t i = 0; i < a->ranks.n; i++)
        write_rank(j, log, &a->ranks.at[i]);
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}
