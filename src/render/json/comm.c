/* SPDX-License-Identifier: Apache-2.0
 * comm.c - members of the report about several ranks: transfers by size, messages, clocks. */
#include "render/json/comm.h"

#include <math.h>

enum { MOST_PATHS = 64 }; /* those with the longest waits */

static void optional_int(hu_json_out *j, const char *key, int64_t value)
{
    if (value >= 0)
        hu_json_int(j, key, value);
    else
        hu_json_null(j, key);
}

void hu_json_transfers(hu_json_out *j, const hu_transfers *t)
{
    hu_json_open(j, "sizes", '[');
    for (size_t i = 0; i < t->n; i++) {
        const hu_transfer *x = &t->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", x->name);
        hu_json_str(j, "kind", hu_str_of(hu_comm_kind_words(x->size.kind)));
        hu_json_str(j, "dtype", x->dtype);
        optional_int(j, "bytes", x->size.bytes);
        optional_int(j, "group_size", x->size.group_size);
        hu_json_str(j, "link", hu_str_of(hu_comm_link_key(x->size.link)));
        hu_json_int(j, "calls", x->size.calls);
        hu_json_ns(j, "transfer_ns", x->size.least_ns);
        hu_json_int(j, "median_transfer_ns", x->median_ns);
        hu_json_int(j, "total_transfer_ns", x->total_ns);
        hu_json_fixed(j, "alg_gbps", hu_transfer_alg_gbps(x), 4);
        hu_json_fixed(j, "bus_gbps", hu_transfer_bus_gbps(x), 4);
        hu_json_str(j, "bound", hu_str_of(hu_comm_bound_key(x->size.bound)));
        hu_json_fixed(j, "bandwidth_pct", 100 * x->size.share, 2);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_open(j, "fits", '[');
    for (size_t i = 0; i < t->n_fits; i++) {
        const hu_comm_fit *f = &t->fits[i];

        for (size_t k = 0; k < f->fit.n; k++) {
            const hu_fit_piece *p = &f->fit.at[k];

            hu_json_open(j, NULL, '{');
            hu_json_str(j, "kind", hu_str_of(hu_comm_kind_words(f->kind)));
            optional_int(j, "group_size", f->group_size);
            hu_json_str(j, "link", hu_str_of(hu_comm_link_key(f->link)));
            hu_json_ns(j, "from_bytes", hu_comm_fit_bytes(f, p->from_bytes));
            hu_json_ns(j, "to_bytes", hu_comm_fit_bytes(f, p->to_bytes));
            hu_json_int(j, "sizes", (int64_t)p->n);
            hu_json_ns(j, "alpha_ns", p->alpha_ns > 0 ? p->alpha_ns : (double)NAN);
            hu_json_fixed(j, "beta_gbps", p->ns_per_byte > 0 ? 1 / p->ns_per_byte : (double)NAN, 4);
            hu_json_ns(j, "half_bytes", hu_comm_half_bytes(f, p));
            hu_json_fixed(j, "error_pct", 100 * f->fit.error, 3);
            hu_json_close(j, '}');
        }
    }
    hu_json_close(j, ']');
    hu_json_int(j, "latency_bound_calls", (int64_t)t->n_latency);
    hu_json_int(j, "bandwidth_bound_calls", (int64_t)t->n_bandwidth);
}

void hu_json_messages(hu_json_out *j, const hu_messages *m)
{
    hu_json_open(j, "messages", '{');
    hu_json_int(j, "matched", m->matched);
    hu_json_int(j, "unmatched", m->unmatched);
    hu_json_int(j, "peer_missing", m->peer_missing);
    hu_json_int(j, "sizes_differ", m->sizes_differ);
    hu_json_int(j, "late_sender_ns", m->late_sender_ns);
    hu_json_int(j, "late_receiver_ns", m->late_receiver_ns);
    hu_json_open(j, "paths", '[');
    for (size_t i = 0; i < m->n_paths && i < MOST_PATHS; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_int(j, "source", m->paths[i].source);
        hu_json_int(j, "target", m->paths[i].target);
        hu_json_int(j, "messages", m->paths[i].messages);
        hu_json_int(j, "bytes", m->paths[i].bytes);
        hu_json_int(j, "transfer_ns", m->paths[i].transfer_ns);
        hu_json_int(j, "late_sender_ns", m->paths[i].late_sender_ns);
        hu_json_int(j, "late_receiver_ns", m->paths[i].late_receiver_ns);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_json_clocks(hu_json_out *j, const hu_rendezvous *r, int64_t reference_rank)
{
    const hu_clocks   *c = &r->clocks;
    const hu_messages *m = &r->messages;

    hu_json_open(j, "clocks", '{');
    optional_int(j, "reference_rank", reference_rank);
    hu_json_int(j, "hosts", (int64_t)c->n_hosts);
    hu_json_int(j, "links", (int64_t)c->n_links);
    hu_json_int(j, "drifting_links", (int64_t)c->n_drifting);
    hu_json_int(j, "ranks_without_clock", (int64_t)c->n_unreached);
    hu_json_int(j, "ends", (int64_t)c->n_ends);
    hu_json_ns(j, "residual_ns", c->residual_ns);
    hu_json_ns(j, "worst_ns", c->worst_ns);
    hu_json_ns(j, "error_ns", c->error_ns);
    hu_json_ns(j, "cycle_ns", c->cycle_ns);
    hu_json_int(j, "checked", c->checked + m->checked);
    hu_json_int(j, "violations", c->violations + m->violations);
    hu_json_fixed(j, "agreement", c->agreement, 4);
    hu_json_close(j, '}');
}
