/* SPDX-License-Identifier: Apache-2.0
 * log_calls.c - the sentence: who, how far behind, and in which call. */
#include "render/log_calls.h"

#include <math.h>

#include "render/flight.h"

enum { NAME_BYTES = 64, WORDS_BYTES = 180 };

/* "AllReduce of 1,024 float32 (line 512)"; NULL: the call is not known any more. */
static void say_call(const hu_log_calls *calls, const hu_log_call *call, bool has_line, char out[WORDS_BYTES])
{
    static const char *const types[] = {"int8",    "uint8",   "int32",   "uint32",   "int64",      "uint64",
                                        "float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};
    static const char *const reductions[] = {"sum", "prod", "max", "min", "avg"};
    hu_str                   name;
    size_t                   n;

    if (!call) {
        snprintf(out, WORDS_BYTES, "a collective");
        return;
    }
    name = calls->operations.at[call->operation];
    n = (size_t)snprintf(out, WORDS_BYTES, "%.*s of %s %s", (int)(name.n < 32 ? name.n : 32), name.p,
                         hu_say_count(call->count).t, call->datatype < HU_COUNT(types) ? types[call->datatype] : "elements");
    if (hu_str_has(name, HU_STR("Reduce")) && call->reduction < HU_COUNT(reductions))
        n += (size_t)snprintf(out + n, WORDS_BYTES - n, " (%s)", reductions[call->reduction]);
    if (hu_str_equal(name, HU_STR("Broadcast")) || hu_str_equal(name, HU_STR("Reduce")))
        n += (size_t)snprintf(out + n, WORDS_BYTES - n, " with root %lld", (long long)call->root);
    if (has_line)
        snprintf(out + n, WORDS_BYTES - n, " (line %llu)", (unsigned long long)call->line);
}

/* "Rank 3 (node1:4711)", "ranks 3 and 5", "process node1:4711": of those that are odd, the first with its process. */
static void say_odd(const hu_log_report *r, bool is_first, char out[WORDS_BYTES])
{
    const hu_calls_answer *a = &r->answer->calls;
    const hu_log_member   *m = a->odd[0];
    int64_t               *ranks = m->rank < 0 ? NULL : hu_arena_alloc(r->scratch, a->n_odd * sizeof *ranks);
    hu_out                *text = ranks ? hu_out_open_memory(r->scratch) : NULL;

    if (!text) {
        snprintf(out, WORDS_BYTES, "%crocess %.*s%s", is_first ? 'P' : 'p',
                 (int)(m->process.n < NAME_BYTES ? m->process.n : NAME_BYTES), m->process.p,
                 a->n_odd > 1 ? " and others" : "");
        return;
    }
    for (size_t i = 0; i < a->n_odd; i++)
        ranks[i] = a->odd[i]->rank;
    hu_flight_say_ranks(text, ranks, a->n_odd, is_first);
    if (a->n_odd == 1)
        hu_out_printf(text, " (%.*s)", (int)(m->process.n < NAME_BYTES ? m->process.n : NAME_BYTES), m->process.p);
    hu_log_hint_take(text, out, WORDS_BYTES);
}

/* "rank 0", "process node1:4711" */
static hu_said say_other(const hu_log_member *m)
{
    hu_said said;

    if (m->rank >= 0)
        snprintf(said.t, sizeof said.t, "rank %lld", (long long)m->rank);
    else
        snprintf(said.t, sizeof said.t, "%.*s", (int)(m->process.n < sizeof said.t - 1 ? m->process.n : sizeof said.t - 1),
                 m->process.p);
    return said;
}

/* "py-spy dump --pid 4711 on node1" of "node1:4711". */
static hu_said say_look(const hu_log_member *m)
{
    const char *colon = memrchr(m->process.p, ':', m->process.n);
    const int   host = colon ? (int)(colon - m->process.p) : 0;
    hu_said     said;

    snprintf(said.t, sizeof said.t, "py-spy dump --pid %.*s on %.*s", colon ? (int)m->process.n - host - 1 : 0,
             colon ? colon + 1 : "", host < 32 ? host : 32, m->process.p);
    return said;
}

static void hint_behind(const hu_log_report *r, hu_log_hint *hint)
{
    const hu_log_calls    *calls = &r->log->calls;
    const hu_calls_answer *a = &r->answer->calls;
    const hu_log_member   *m = a->odd[0];
    char       who[WORDS_BYTES], missed[WORDS_BYTES], call[WORDS_BYTES], last[WORDS_BYTES + 32] = "", most[80] = "";
    const bool is_one = a->n_odd == 1;

    say_odd(r, true, who);
    say_call(calls, hu_log_call_of(a->other, a->number - 1), false, missed);
    if (m->n) {
        say_call(calls, hu_log_call_of(m, m->n - 1), true, call);
        snprintf(last, sizeof last, " Before that: %s.", call);
    }
    if (a->other->n > a->least)
        snprintf(most, sizeof most, " to %s", hu_say_count((int64_t)a->other->n).t);
    HU_LOG_SAY(
        hint,
        "%s %s %s NCCL collectives of a communicator of %s ranks, the others %s%s. The first that %s not called: #%s, %s.%s "
        "If the job hangs, the others wait there: %s says what %s instead.",
        who, is_one ? "has called" : "have called", hu_say_count((int64_t)m->n).t, hu_say_count(a->ranks).t,
        hu_say_count((int64_t)a->least).t, most, is_one ? "it has" : "they have", hu_say_count((int64_t)a->number).t, missed,
        last, is_one ? say_look(m).t : "py-spy dump --pid PID", is_one ? "it does" : "they do");
}

static void hint_differ(const hu_log_report *r, hu_log_hint *hint)
{
    const hu_log_calls    *calls = &r->log->calls;
    const hu_calls_answer *a = &r->answer->calls;
    char                   who[WORDS_BYTES], odd[WORDS_BYTES], other[WORDS_BYTES];

    say_odd(r, false, who);
    say_call(calls, hu_log_call_of(a->odd[0], a->number - 1), true, odd);
    say_call(calls, hu_log_call_of(a->other, a->number - 1), true, other);
    HU_LOG_SAY(
        hint,
        "In NCCL collective #%s of a communicator of %s ranks, %s called %s, where %s called %s: a job with such calls "
        "hangs or gives wrong results. %s",
        hu_say_count((int64_t)a->number).t, hu_say_count(a->ranks).t, who, odd, say_other(a->other).t, other,
        a->is_skip ? "From there on it calls what the others called one later: it skipped a call that they made, or the "
                     "log lost a line. Look for a branch that not all ranks take."
                   : "Look for a branch that not all ranks take, or shapes that differ between ranks.");
}

void hu_calls_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_calls_answer *a = &r->answer->calls;

    if (a->cause == HU_CALLS_DIFFER)
        hint_differ(r, hu_log_hint_add(out, n, "calls_differ", INFINITY));
    else if (a->cause == HU_CALLS_BEHIND)
        hint_behind(r, hu_log_hint_add(out, n, "calls_behind", r->answer->hang.call ? INFINITY : NAN));
}
