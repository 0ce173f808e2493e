/* SPDX-License-Identifier: Apache-2.0
 * flight.c - why a job hangs, for people: the sentence, the ranks of the group, and the stacks that matter. */
#include "render/flight.h"

#include "advise/say.h"

enum { ROWS = 16, ROLE_WIDTH = 15, CALL_WIDTH = 18, SINCE_WIDTH = 8, STACK_ROWS = 12, NAME_WIDTH = 24, TEXT_BYTES = 160 };

static const char *const role_words[] = {
    [HU_FLIGHT_WAITS] = "waits in",        [HU_FLIGHT_DONE] = "ended",     [HU_FLIGHT_ABSENT] = "not in it; last",
    [HU_FLIGHT_ELSEWHERE] = "waits in",    [HU_FLIGHT_UNSEEN] = "no dump", [HU_FLIGHT_FORGOTTEN] = "lost; last",
    [HU_FLIGHT_EARLIER] = "earlier; last",
};

static void pad(hu_out *out, size_t have, size_t width)
{
    hu_out_printf(out, "%*s", have < width ? (int)(width - have) : 0, "");
}

static void cell(hu_out *out, const char *text, size_t width)
{
    pad(out, hu_units_clip(out, hu_str_of(text), width), width);
    hu_out_text(out, "  ");
}

static void write_head(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_entry *e = NULL;
    const hu_str           version = r->dumps[0].version;
    char                   text[TEXT_BYTES];

    for (size_t d = 0; d < r->n_dumps && !e; d++)
        e = r->dumps[d].entries.n ? r->dumps[d].entries.at : NULL;
    hu_out_printf(out, "FLIGHT RECORDER  %zu dump%s", r->n_dumps, hu_plural((int64_t)r->n_dumps));
    snprintf(text, sizeof text, "%s%.*s%s%.*s", version.n ? ", version " : "", (int)(version.n < 20 ? version.n : 20),
             version.p, e && e->backend.n ? ", " : "", e ? (int)(e->backend.n < 20 ? e->backend.n : 20) : 0,
             e ? e->backend.p : "");
    hu_units_clip(out, hu_str_of(text), sizeof text);
    hu_out_printf(out, ", %zu process group%s\n\n", r->answer->n_groups, hu_plural((int64_t)r->answer->n_groups));
}

static const char *why_not_sure(const hu_flight_answer *a)
{
    if (a->trust == HU_FLIGHT_SURE)
        return "";
    if (!a->knows_members)
        return "the dumps do not say who is in this group: its members are those that used it";
    switch (a->cause) {
    case HU_FLIGHT_MISSING:
    case HU_FLIGHT_NO_DUMP:
        return "ranks without a dump could not be checked";
    case HU_FLIGHT_OPERATION:
    case HU_FLIGHT_SIZES:
    case HU_FLIGHT_TYPES:
        return a->has_majority ? "the job got past this call, so what hangs later may have another cause" : "";
    case HU_FLIGHT_MOMENTS:
        return "these dumps do not tell calls that failed from those that ended";
    case HU_FLIGHT_NOTHING:
        return "dumps that were written at different times look like this, too";
    default:
        return "";
    }
}

static void write_sentence(const hu_flight_report *r, hu_out *out)
{
    const char *why = why_not_sure(r->answer);
    char        text[TEXT_BYTES];

    hu_out_text(out, "WHY IT HANGS  ");
    hu_units_wrap(out, hu_flight_sentence(r), 14, 14, r->width);
    hu_out_text(out, "\n              ");
    snprintf(text, sizeof text, "Confidence: %s%s%s.", hu_flight_trust_word(r->answer->trust), *why ? ", because " : "",
             why);
    hu_units_wrap(out, hu_str_of(text), 14, 14, r->width);
    hu_out_text(out, "\n");
}

static int64_t first_call(const hu_flight_answer *a)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < a->n_places; i++)
        if (a->places[i].entry && a->places[i].entry->created_ns && a->places[i].entry->created_ns < first)
            first = a->places[i].entry->created_ns;
    return first;
}

static void write_where(hu_out *out, const hu_flight_entry *e, size_t width)
{
    const hu_flight_frame *f;
    hu_str                 file;
    char                   text[TEXT_BYTES];

    if (!e || !e->stack)
        return;
    f = &e->stack->at[hu_flight_user_frame(e->stack)];
    file = hu_str_base_name(f->file);
    snprintf(text, sizeof text, "%.*s:%lld %.*s", (int)(file.n < 60 ? file.n : 60), file.p, (long long)f->line,
             (int)(f->function.n < 60 ? f->function.n : 60), f->function.p);
    hu_units_clip(out, hu_str_of(text), width);
}

static void write_place(const hu_flight_report *r, const hu_flight_place *p, int64_t first, hu_out *out)
{
    const hu_flight_entry *e = p->entry ? p->entry : p->last;
    char                   call[TEXT_BYTES] = "", since[HU_UNIT_BYTES + 2] = "";
    const size_t           used = 2 + 6 + 2 + ROLE_WIDTH + 2 + CALL_WIDTH + 2 + SINCE_WIDTH + 2;

    if (e && e->is_p2p)
        snprintf(call, sizeof call, "%.*s", (int)(e->operation.n < 60 ? e->operation.n : 60), e->operation.p);
    else if (e)
        snprintf(call, sizeof call, "%.*s #%lld", (int)(e->operation.n < 60 ? e->operation.n : 60), e->operation.p,
                 (long long)e->sequence);
    if (p->entry && p->entry->created_ns && first != INT64_MAX)
        snprintf(since, sizeof since, "+%s", hu_say_time((double)(p->entry->created_ns - first)).t);
    hu_out_printf(out, "%s%6lld  ", p->is_culprit ? "> " : "  ", (long long)p->rank);
    cell(out, p->last || e || p->role == HU_FLIGHT_UNSEEN ? role_words[p->role] : "called nothing", ROLE_WIDTH);
    cell(out, call, CALL_WIDTH);
    cell(out, since, SINCE_WIDTH);
    write_where(out, e, r->width > used + 8 ? r->width - used : 8);
    hu_out_text(out, "\n");
}

/* Culprits first: where not all fit, those that do not are like those that do. */
static void write_places(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;
    const size_t            rows = r->top ? r->top : ROWS;
    const int64_t           first = first_call(a);
    size_t                  n = 0;

    hu_out_text(out, "\n    rank                   call                entered   where\n");
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < a->n_places && n < rows; i++)
            if (a->places[i].is_culprit == (pass == 0)) {
                write_place(r, &a->places[i], first, out);
                n++;
            }
    if (n < a->n_places)
        hu_out_printf(out, "          %zu more (--top)\n", a->n_places - n);
}

static void write_stack(const hu_flight_report *r, const hu_flight_place *p, hu_out *out)
{
    const hu_flight_entry *e = p->entry ? p->entry : p->last;
    char                   text[TEXT_BYTES];
    size_t                 room = r->width > NAME_WIDTH + 32 ? r->width - NAME_WIDTH - 12 : 20; /* of a path: its end */

    room = room < TEXT_BYTES - 30 ? room : TEXT_BYTES - 30;
    if (!e || !e->stack)
        return;
    snprintf(text, sizeof text, "\nSTACK OF RANK %lld in ", (long long)p->rank);
    hu_out_text(out, text);
    hu_units_clip(out, e->operation, 40);
    hu_out_printf(out, " #%lld%s\n", (long long)e->sequence, e->state == HU_FLIGHT_ENDED ? ", which ended" : "");
    for (size_t i = 0; i < e->stack->n && i < STACK_ROWS; i++) {
        const hu_flight_frame *f = &e->stack->at[i];

        hu_out_text(out, "  ");
        pad(out, hu_units_clip(out, f->function, NAME_WIDTH), NAME_WIDTH);
        hu_out_text(out, "  ");
        snprintf(text, sizeof text, "%s%.*s:%lld", f->file.n > room ? "\xe2\x80\xa6" : "",
                 (int)(f->file.n < room ? f->file.n : room), f->file.p + (f->file.n < room ? 0 : f->file.n - room),
                 (long long)f->line);
        hu_units_clip(out, hu_str_of(text), sizeof text);
        hu_out_text(out, "\n");
    }
    if (e->stack->n > STACK_ROWS)
        hu_out_printf(out, "    %zu more\n", e->stack->n - STACK_ROWS);
}

/* Of the first who is to blame, then of the first who is not and is in the call. */
static void write_first_stack(const hu_flight_report *r, bool is_culprit, hu_out *out)
{
    for (size_t i = 0; i < r->answer->n_places; i++) {
        const hu_flight_place *p = &r->answer->places[i];

        if (p->is_culprit != is_culprit || !(p->entry || is_culprit))
            continue;
        write_stack(r, p, out);
        return;
    }
}

void hu_flight_text(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;

    write_head(r, out);
    write_sentence(r, out);
    if (a->n_unseen && a->cause != HU_FLIGHT_NO_DUMP) {
        hu_out_printf(out, "\nNO DUMP from %zu rank%s:", a->n_unseen, hu_plural((int64_t)a->n_unseen));
        for (size_t i = 0; i < a->n_unseen && i < ROWS; i++)
            hu_out_printf(out, " %lld", (long long)a->unseen[i]);
        hu_out_printf(out, "%s\n", a->n_unseen > ROWS ? " \xe2\x80\xa6" : "");
    }
    if (a->n_places)
        write_places(r, out);
    write_first_stack(r, true, out);
    write_first_stack(r, false, out);
    if (r->unread->n) {
        char text[HU_UNREAD_TEXT];

        hu_unread_say(r->unread, r->n_dumps, text, sizeof text);
        hu_out_text(out, "\n");
        hu_units_wrap(out, hu_str_of(text), 0, 0, r->width);
        hu_out_text(out, "\n");
    }
}
