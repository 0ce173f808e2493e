/* SPDX-License-Identifier: Apache-2.0
 * flight.c - why a job hangs, for programs (docs/formats/flight-recorder.md). */
#include "render/flight.h"

#include "base/json_out.h"

static const char *const role_words[] = {
    [HU_FLIGHT_WAITS] = "waits",         [HU_FLIGHT_DONE] = "ended",     [HU_FLIGHT_ABSENT] = "absent",
    [HU_FLIGHT_ELSEWHERE] = "elsewhere", [HU_FLIGHT_UNSEEN] = "no-dump", [HU_FLIGHT_FORGOTTEN] = "lost",
    [HU_FLIGHT_EARLIER] = "earlier",
};

static const char *const state_words[] = {
    [HU_FLIGHT_SCHEDULED] = "scheduled", [HU_FLIGHT_STARTED] = "started", [HU_FLIGHT_ENDED] = "ended"};

static void write_text(hu_json_out *j, const char *key, hu_str text)
{
    if (text.n)
        hu_json_str(j, key, text);
    else
        hu_json_null(j, key);
}

static void write_stack(hu_json_out *j, const hu_flight_stack *stack)
{
    hu_json_open(j, "stack", '[');
    for (size_t i = 0; stack && i < stack->n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "function", stack->at[i].function);
        hu_json_str(j, "file", stack->at[i].file);
        hu_json_int(j, "line", stack->at[i].line);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_call(hu_json_out *j, const char *key, const hu_flight_entry *e)
{
    if (!e) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '{');
    hu_json_str(j, "operation", e->operation);
    hu_json_str(j, "group", e->group);
    write_text(j, "about", e->about);
    hu_json_int(j, "sequence", e->sequence);
    hu_json_bool(j, "is_p2p", e->is_p2p);
    hu_json_str(j, "state", hu_str_of(state_words[e->state]));
    if (e->created_ns)
        hu_json_int(j, "entered_ns", e->created_ns);
    else
        hu_json_null(j, "entered_ns");
    write_text(j, "input_sizes", e->sizes[0]);
    write_text(j, "output_sizes", e->sizes[1]);
    write_text(j, "input_types", e->types[0]);
    write_text(j, "output_types", e->types[1]);
    write_stack(j, e->stack);
    hu_json_close(j, '}');
}

static void write_places(hu_json_out *j, const hu_flight_answer *a)
{
    hu_json_open(j, "ranks", '[');
    for (size_t i = 0; i < a->n_places; i++) {
        const hu_flight_place *p = &a->places[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "rank", p->rank);
        hu_json_str(j, "role", hu_str_of(role_words[p->role]));
        hu_json_bool(j, "is_culprit", p->is_culprit);
        if (p->dump)
            hu_json_str(j, "file", p->dump->file);
        else
            hu_json_null(j, "file");
        write_call(j, "call", p->entry);
        write_call(j, "last", p->last);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_numbers(hu_json_out *j, const char *key, const int64_t *ranks, size_t n)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        hu_json_int(j, NULL, ranks[i]);
    hu_json_close(j, ']');
}

void hu_flight_json(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;
    hu_json_out             j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("flight-recorder"));
    hu_json_str(&j, "cause", hu_str_of(hu_flight_cause_word(a->cause)));
    hu_json_str(&j, "text", hu_flight_sentence(r));
    hu_json_str(&j, "confidence", hu_str_of(hu_flight_trust_word(a->trust)));
    hu_json_open(&j, "culprits", '[');
    for (size_t i = 0; i < a->n_places; i++)
        if (a->places[i].is_culprit)
            hu_json_int(&j, NULL, a->places[i].rank);
    hu_json_close(&j, ']');
    write_text(&j, "group", a->group);
    write_text(&j, "about", a->about);
    hu_json_bool(&j, "knows_members", a->knows_members);
    write_call(&j, "expected", a->expected);
    hu_json_bool(&j, "has_majority", a->has_majority);
    hu_json_bool(&j, "is_cycle", a->is_cycle);
    if (a->last_rank >= 0) {
        hu_json_int(&j, "last_rank", a->last_rank);
        hu_json_int(&j, "late_ns", a->late_ns);
    } else {
        hu_json_null(&j, "last_rank");
        hu_json_null(&j, "late_ns");
    }
    if (a->waited_ns >= 0)
        hu_json_int(&j, "waited_ns", a->waited_ns);
    else
        hu_json_null(&j, "waited_ns");
    write_places(&j, a);
    write_numbers(&j, "without_dump", a->unseen, a->n_unseen);
    hu_json_unread(&j, "unread", r->unread);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
