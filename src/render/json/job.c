/* SPDX-License-Identifier: Apache-2.0
 * job.c - what only several ranks show: the member "joint_replay", and calls that do not fit each other. */
#include <math.h>

#include "render/report.h"

static void write_prices(hu_json_out *j, const hu_report *r)
{
    hu_json_open(j, "what_if", '[');
    for (size_t i = 0; i < r->job->joint->n_prices; i++) {
        const hu_joint_replay_price *p = &r->job->joint->price[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "edit", hu_str_of(hu_edit_word(p->edit)));
        if (p->edit == HU_EDIT_STRAGGLER)
            hu_json_int(j, "rank", hu_digest_rank_of(r->job->digests, p->digest));
        else
            hu_json_null(j, "rank");
        hu_json_ns(j, "step_after_ns", p->after_ns);
        hu_json_fixed(j, "gain_pct", p->gain_pct, 3);
        hu_json_fixed(j, "gain_low_pct", p->low_pct, 3);
        hu_json_fixed(j, "gain_high_pct", p->high_pct, 3);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_path(hu_json_out *j, const hu_report *r)
{
    hu_json_open(j, "critical_path", '[');
    for (size_t i = 0; i < r->job->joint->n_pieces; i++) {
        const hu_joint_replay_piece *p = &r->job->joint->piece[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "rank", hu_digest_rank_of(r->job->digests, p->digest));
        hu_json_str(j, "class", hu_str_of(hu_class_key(p->class)));
        hu_json_ns(j, "step_ns", p->step_ns);
        hu_json_fixed(j, "share_pct", 100 * p->share, 3);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* What was matched without a group or a number, and the evidence. */
void hu_json_matching(hu_json_out *j, const hu_rendezvous *v)
{
    hu_json_int(j, "matched_by_order", v->by_order);
    hu_json_ns(j, "by_order_ends_ns", v->by_order ? v->order_ns : (double)NAN);
    hu_json_int(j, "rejected_by_order", v->rejected);
    hu_json_ns(j, "rejected_ends_ns", v->rejected ? v->rejected_ns : (double)NAN);
}

void hu_json_mismatches(hu_json_out *j, const hu_report *r)
{
    const hu_rendezvous *v = r->job->rendezvous;

    hu_json_int(j, "mismatched", v->mismatched);
    if (v->mismatched == 0) {
        hu_json_null(j, "first_mismatch");
        return;
    }
    hu_json_open(j, "first_mismatch", '{');
    hu_json_int(j, "sequence", v->first_mismatch.sequence);
    hu_json_open(j, "calls", '[');
    for (size_t i = 0; i < 2; i++) {
        const hu_collective *c = &v->first_mismatch.call[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "rank", hu_digest_rank_of(r->job->digests, v->first_mismatch.digest[i]));
        hu_json_str(j, "name", c->name);
        if (c->bytes >= 0)
            hu_json_int(j, "bytes", c->bytes);
        else
            hu_json_null(j, "bytes");
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

/* Collectives of which only the calls are recorded. */
void hu_json_called(hu_json_out *j, const hu_report *r)
{
    const hu_called *c = &r->job->rendezvous->called;

    if (c->matched == 0) {
        hu_json_null(j, "called");
        return;
    }
    hu_json_open(j, "called", '{');
    hu_json_int(j, "matched", c->matched);
    hu_json_int(j, "compared", c->compared);
    if (c->last)
        hu_json_int(j, "last_rank", hu_digest_rank_of(r->job->digests, c->digest));
    else
        hu_json_null(j, "last_rank");
    hu_json_int(j, "last", c->last);
    hu_json_ns(j, "late_ns", c->last ? c->late_ns : (double)NAN);
    hu_json_close(j, '}');
}

void hu_json_job(hu_json_out *j, const hu_report *r)
{
    const hu_joint_replay *joint = r->job->joint;

    if (!joint) {
        hu_json_null(j, "joint_replay");
        return;
    }
    hu_json_open(j, "joint_replay", '{');
    hu_json_bool(j, "is_replayed", joint->is_replayed);
    hu_json_str(j, "why_not", hu_str_of(joint->why_not));
    hu_json_int(j, "ranks", (int64_t)joint->ranks);
    hu_json_int(j, "collectives", (int64_t)joint->meetings);
    hu_json_int(j, "messages", (int64_t)joint->messages);
    hu_json_ns(j, "measured_step_ns", joint->is_replayed ? joint->seen_ns : (double)NAN);
    hu_json_ns(j, "replayed_step_ns", joint->is_replayed ? joint->replayed_ns : (double)NAN);
    hu_json_bool(j, "is_trusted", joint->is_trusted);
    hu_json_str(j, "why_no_price", hu_str_of(joint->why_no_price));
    hu_json_fixed(j, "joined_pct", joint->is_replayed ? 100 * joint->joined_share : (double)NAN, 3);
    write_prices(j, r);
    write_path(j, r);
    hu_json_open(j, "parked", '[');
    for (size_t i = 0; i < joint->n_parked; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_int(j, "waits", hu_digest_rank_of(r->job->digests, joint->parked[i].waits));
        hu_json_int(j, "missing", hu_digest_rank_of(r->job->digests, joint->parked[i].missing));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}
