/* SPDX-License-Identifier: Apache-2.0
 * log_calls.c - what ranks called of NCCL's collectives, for programs (docs/formats/step-log.md). */
#include "render/log_calls.h"

static void write_call(hu_json_out *j, const char *key, const hu_log_calls *calls, const hu_log_call *call)
{
    if (!call) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '{');
    hu_json_str(j, "operation", calls->operations.at[call->operation]);
    hu_json_int(j, "elements", call->count);
    hu_json_int(j, "datatype", call->datatype);
    hu_json_int(j, "reduction", call->reduction);
    hu_json_int(j, "root", call->root);
    hu_json_int(j, "line", (int64_t)call->line);
    hu_json_close(j, '}');
}

static void write_odd(hu_json_out *j, const hu_calls_answer *a)
{
    hu_json_open(j, "ranks", '[');
    for (size_t i = 0; i < a->n_odd; i++) {
        hu_json_open(j, NULL, '{');
        if (a->odd[i]->rank >= 0)
            hu_json_int(j, "rank", a->odd[i]->rank);
        else
            hu_json_null(j, "rank");
        hu_json_str(j, "process", a->odd[i]->process);
        hu_json_int(j, "calls", (int64_t)a->odd[i]->n);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

void hu_calls_json(const hu_log_report *r, hu_json_out *j)
{
    static const char *const causes[] = {"alike", "behind", "differ"};
    const hu_calls_answer   *a = &r->answer->calls;
    const hu_log_calls      *calls = &r->log->calls;
    const bool               is_odd = a->n_odd > 0;

    if (calls->n == 0) {
        hu_json_null(j, "calls");
        return;
    }
    hu_json_open(j, "calls", '{');
    hu_json_int(j, "count", (int64_t)calls->n);
    hu_json_int(j, "communicators", (int64_t)a->n_communicators);
    hu_json_int(j, "communicators_unknown", (int64_t)a->n_unknown);
    hu_json_str(j, "ranks_are", hu_str_of(a->n_communicators ? causes[a->cause] : "unknown"));
    hu_json_int(j, "communicator_ranks", is_odd ? a->ranks : 0);
    hu_json_int(j, "number", (int64_t)a->number);
    write_odd(j, a);
    write_call(j, "call", calls, is_odd ? hu_log_call_of(a->odd[0], a->number - 1) : NULL);
    write_call(j, "others_call", calls, is_odd ? hu_log_call_of(a->other, a->number - 1) : NULL);
    hu_json_close(j, '}');
}
