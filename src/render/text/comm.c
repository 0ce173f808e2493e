/* SPDX-License-Identifier: Apache-2.0
 * comm.c - what communication of several ranks could be: transfer times by size, latency, bandwidth; and clocks. */
#include <math.h>
#include <stdio.h>

#include "advise/say.h"
#include "render/text/text.h"
#include "base/units.h"

enum { MOST_SIZES = 6, MOST_FITS = 4 };

static void right_number(hu_text_page *p, double value, int decimals, size_t width)
{
    char text[HU_NUMBER_BYTES];

    if (isnan(value))
        memcpy(text, "–", sizeof "–");
    else
        hu_format_fixed(text, value, decimals);
    hu_text_right(p, text, width);
}

static void write_size(hu_text_page *p, const hu_transfer *t)
{
    char text[HU_UNIT_BYTES];

    hu_units_time(text, (double)t->total_ns);
    hu_text_right(p, text, 10);
    hu_units_count(text, t->size.calls);
    hu_text_right(p, text, 7);
    hu_units_time(text, t->size.least_ns);
    hu_text_right(p, text, 10);
    hu_units_bytes(text, t->size.bytes >= 0 ? (double)t->size.bytes : (double)NAN);
    hu_text_right(p, text, 9);
    right_number(p, hu_transfer_bus_gbps(t), 1, 9);
    right_number(p, 100 * t->size.share, 0, 6);
    hu_out_text(p->out, "  ");
    hu_text_left(p, hu_str_of(t->size.bound == HU_COMM_BY_UNKNOWN ? "–" : hu_comm_bound_key(t->size.bound)), 9);
    right_number(p, t->size.group_size > 0 ? (double)t->size.group_size : (double)NAN, 0, 6);
    hu_out_text(p->out, "  ");
    hu_units_clip(p->out, t->name, p->r->width > 80 ? p->r->width - 70 : 10);
    hu_out_text(p->out, "\n");
}

/* "all-reduce of 8 ranks on several hosts: 56.0 µs and 350 GB/s, equal at 11 MB (6 sizes, error 3 %)" */
static void write_fit(hu_text_page *p, const hu_comm_fit *f)
{
    static const char *const places[] = {
        [HU_LINK_UNKNOWN] = "", [HU_LINK_HOST] = " on one host", [HU_LINK_NETWORK] = " on several hosts"};
    char   line[512], bytes[HU_UNIT_BYTES], rate[HU_NUMBER_BYTES];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", hu_comm_kind_words(f->kind));

    if (f->group_size > 0)
        n += (size_t)snprintf(line + n, sizeof line - n, " between %lld ranks%s", (long long)f->group_size, places[f->link]);
    for (size_t i = 0; i < f->fit.n; i++) {
        const hu_fit_piece *x = &f->fit.at[i];

        hu_units_bytes(bytes, hu_comm_fit_bytes(f, x->to_bytes));
        n += (size_t)snprintf(line + n, sizeof line - n, "%s", i ? ", above: " : ": ");
        if (f->fit.n > 1 && i == 0)
            n += (size_t)snprintf(line + n, sizeof line - n, "up to %s ", bytes);
        if (x->alpha_ns > 0)
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", hu_say_time(x->alpha_ns).t,
                                  x->ns_per_byte > 0 ? " and " : " at any size");
        if (x->ns_per_byte > 0) {
            hu_format_fixed(rate, 1 / x->ns_per_byte, x->ns_per_byte > 0.1 ? 2 : 0);
            n += (size_t)snprintf(line + n, sizeof line - n, "%s GB/s", rate);
        }
        if (x->ns_per_byte > 0 && x->alpha_ns > 0) {
            hu_units_bytes(bytes, hu_comm_half_bytes(f, x));
            n += (size_t)snprintf(line + n, sizeof line - n, ", equal at %s", bytes);
        }
    }
    snprintf(line + n, sizeof line - n, " (error %s)", hu_say_pct(100 * f->fit.error).t);
    hu_text_paragraph(p, line, 2);
}

/* Nothing where no bandwidth is known: times alone say little. */
static void write_transfers(hu_text_page *p, const hu_transfers *t)
{
    size_t known = 0;

    while (known < t->n && isnan(hu_transfer_bus_gbps(&t->at[known])))
        known++;
    if (known == t->n)
        return;
    hu_out_text(p->out, "\n");
    hu_text_paragraph(p, "communication without waiting: shortest time of any rank, 10th percentile of repetitions", 2);
    hu_text_style(p, "2");
    hu_out_text(p->out, "    in all  calls  transfer    bytes  busGB/s % max  bound by  ranks  collective\n");
    hu_text_style(p, "0");
    for (size_t i = 0; i < t->n && i < MOST_SIZES; i++)
        write_size(p, &t->at[i]);
    if (t->n > MOST_SIZES)
        hu_out_printf(p->out, "  and %zu more; --json has all\n", t->n - MOST_SIZES);
    for (size_t i = 0; i < t->n_fits && i < MOST_FITS; i++)
        write_fit(p, &t->fits[i]);
}

/* "clocks: 4 hosts on one clock within ±1.8 µs (212 ends, drift up to 11 ppm)" */
static void write_clocks(hu_text_page *p, const hu_clocks *c, const hu_messages *m)
{
    const int64_t violations = c->violations + m->violations;
    char          line[512], ppm[HU_NUMBER_BYTES];
    double        drift = 0, device = 0;
    size_t        n, devices = 0;

    for (size_t i = 0; i < c->n; i++) {
        drift = fmax(drift, isnan(c->at[i].offset_ns) ? 0 : fabs(c->at[i].drift_ppm));
        device = fmax(device, fabs(c->at[i].device_ns));
        devices += c->at[i].device_ns != 0;
    }
    if (c->n_links == 0 && violations == 0 && devices == 0)
        return;
    hu_format_fixed(ppm, drift, 1);
    n = (size_t)snprintf(line, sizeof line, "clocks: ");
    if (c->n_links)
        n += (size_t)snprintf(line + n, sizeof line - n,
                              "%zu clocks known to ±%s from %zu collective ends, drift up to "
                              "%s ppm",
                              c->n_hosts, hu_say_time(c->error_ns).t, c->n_ends, ppm);
    if (c->n_links && c->n_unreached)
        n += (size_t)snprintf(line + n, sizeof line - n, "; %zu rank%s unreached: no collective links them to rank 0's host",
                              c->n_unreached, hu_plural((int64_t)c->n_unreached));
    if (devices)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%zu GPU clock%s off the host's by up to %s",
                              c->n_links ? "; " : "", devices, devices == 1 ? " is" : "s are", hu_say_time(device).t);
    if (violations)
        n += (size_t)snprintf(
            line + n, sizeof line - n, "%s%lld of %lld ends precede a start they depend on: clocks or matches are wrong",
            c->n_links || devices ? "; " : "", (long long)violations, (long long)(c->checked + m->checked));
    if (c->agreement < 0.9)
        n += (size_t)snprintf(line + n, sizeof line - n, "; waits with and without these clocks disagree");
    snprintf(line + n, sizeof line - n, ".");
    hu_text_paragraph(p, line, 2);
}

static void write_messages(hu_text_page *p, const hu_messages *m)
{
    char   line[512];
    size_t n;

    if (m->matched + m->unmatched + m->peer_missing == 0)
        return;
    n = (size_t)snprintf(line, sizeof line, "messages: %lld send%s matched", (long long)m->matched, hu_plural(m->matched));
    if (m->unmatched)
        n += (size_t)snprintf(line + n, sizeof line - n, ", %lld end%s unmatched", (long long)m->unmatched,
                              hu_plural(m->unmatched));
    if (m->peer_missing)
        n += (size_t)snprintf(line + n, sizeof line - n, ", %lld of them with a peer that was not read",
                              (long long)m->peer_missing);
    if (m->matched)
        n += (size_t)snprintf(line + n, sizeof line - n,
                              ". Receivers waited %s for late senders, senders %s for late receivers",
                              hu_say_time((double)m->late_sender_ns).t, hu_say_time((double)m->late_receiver_ns).t);
    if (m->n_paths && m->paths[0].late_sender_ns + m->paths[0].late_receiver_ns > 0)
        n += (size_t)snprintf(line + n, sizeof line - n, "; most of it from rank %lld to %lld",
                              (long long)m->paths[0].source, (long long)m->paths[0].target);
    snprintf(line + n, sizeof line - n, ".");
    hu_text_paragraph(p, line, 2);
}

void hu_text_comm(hu_text_page *p)
{
    const hu_rendezvous *r = p->r->job->rendezvous;

    if (!r)
        return;
    write_messages(p, &r->messages);
    write_clocks(p, &r->clocks, &r->messages);
    write_transfers(p, &r->transfers);
}
