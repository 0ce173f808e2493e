/* SPDX-License-Identifier: Apache-2.0
 * ras.c - what RAS says of a job, for people: the sentence, and every set of ranks that stands out. */
#include "render/ras.h"

#include "advise/say.h"

enum { ROWS = 16, COMM_WIDTH = 22, WHAT_WIDTH = 26, TEXT_BYTES = 200 };

static void cell(hu_out *out, const char *text, size_t width)
{
    const size_t have = hu_units_clip(out, hu_str_of(text), width);

    hu_out_printf(out, "%*s  ", have < width ? (int)(width - have) : 0, "");
}

static void write_what(const hu_ras_set *s, char *text, size_t n)
{
    const int what = (int)(s->what.n < 40 ? s->what.n : 40);

    switch (s->kind) {
    case HU_RAS_DEAD:
        snprintf(text, n, "dead");
        break;
    case HU_RAS_SILENT:
        snprintf(text, n, "no answer");
        break;
    case HU_RAS_COUNT:
        snprintf(text, n, "launched %lld %.*s", (long long)s->count, what, s->what.p);
        break;
    case HU_RAS_STATUS:
        snprintf(text, n, "status %.*s", what, s->what.p);
        break;
    case HU_RAS_ERROR:
        snprintf(text, n, "%.*s", what, s->what.p);
    }
}

static void write_members(const hu_ras_set *s, size_t width, hu_out *out)
{
    char   text[TEXT_BYTES] = "";
    size_t n = 0;

    for (size_t i = 0; i < s->members.n && n < sizeof text - 1; i++) {
        const hu_ras_member *m = &s->members.at[i];

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%lld", i ? ", " : "", m->rank < 0 ? "process " : "",
                              (long long)(m->rank < 0 ? m->pid : m->rank));
    }
    hu_units_clip(out, hu_str_of(text), width);
}

static size_t write_comm(const hu_ras_report *r, const hu_ras_comm *c, size_t rows, hu_out *out)
{
    const size_t used = 2 + COMM_WIDTH + 2 + 6 + 2 + WHAT_WIDTH + 2;
    size_t       n = 0;

    for (; n < c->sets.n && n < rows; n++) {
        const hu_ras_set *s = &c->sets.at[n];
        char              name[TEXT_BYTES], what[TEXT_BYTES];

        snprintf(name, sizeof name, "%.*s%s%.*s", (int)(c->name.n < 20 ? c->name.n : 20), c->name.p, c->name.n ? " " : "",
                 (int)(c->hash.n < 40 ? c->hash.n : 40), c->hash.p);
        write_what(s, what, sizeof what);
        hu_out_text(out, s == r->answer->odd ? "> " : "  ");
        cell(out, c->hash.n ? name : "(the job)", COMM_WIDTH);
        hu_out_printf(out, "%6lld  ", (long long)s->n);
        cell(out, what, WHAT_WIDTH);
        write_members(s, r->width > used + 8 ? r->width - used : 8, out);
        hu_out_text(out, "\n");
    }
    return n;
}

void hu_ras_text(const hu_ras_report *r, hu_out *out)
{
    const hu_ras_status *s = r->answer->status;
    const size_t         most = r->top ? r->top : ROWS;
    size_t               rows = 0, all = s->job.sets.n;
    char                 text[TEXT_BYTES];

    snprintf(text, sizeof text, "%zu quer%s, version %.*s", r->n_queries, r->n_queries == 1 ? "y" : "ies",
             (int)(s->version.n < 40 ? s->version.n : 40), s->version.p);
    hu_out_text(out, "NCCL RAS  ");
    hu_units_clip(out, hu_str_of(text), sizeof text);
    hu_out_printf(out, ", %lld communicator%s\n\nWHY IT HANGS  ", (long long)s->n_comms, hu_plural(s->n_comms));
    hu_units_wrap(out, hu_ras_sentence(r), 14, 14, r->width);
    hu_out_printf(out, "\n              Confidence: %s.\n", hu_ras_trust_word(r->answer));
    if (s->timeouts)
        hu_out_printf(out, "              %lld timeout%s while RAS gathered the data.\n", (long long)s->timeouts,
                      hu_plural(s->timeouts));
    for (size_t i = 0; i < s->comms.n; i++)
        all += s->comms.at[i].sets.n;
    if (all == 0)
        return;
    hu_out_text(out, "\n  communicator             ranks  what                        which\n");
    rows = write_comm(r, &s->job, most, out);
    for (size_t i = 0; i < s->comms.n && rows < most; i++)
        rows += write_comm(r, &s->comms.at[i], most - rows, out);
    if (rows < all)
        hu_out_printf(out, "  %zu more (--top)\n", all - rows);
}
