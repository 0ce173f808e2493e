/* SPDX-License-Identifier: Apache-2.0
 * draw_header.c - the node in three lines, and what holds things up in one. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "top/draw.h"

enum { METER = 16, PART = 256 };

/* Shares from which the meter of CPU or memory is drawn in another tone. */
#define HIGH_FROM  .8
#define GRAVE_FROM .95

/* "CPU [||||||          ] 35.2 %"; returns the column behind it. */
static int draw_meter(hu_top_canvas *c, int y, int x, const char *name, double share, const char *words)
{
    const hu_top_tone tone = share >= GRAVE_FROM ? HU_TONE_BAD : share >= HIGH_FROM ? HU_TONE_WARN : HU_TONE_GOOD;
    const int         full = isnan(share) ? 0 : (int)(fmin(fmax(share, 0), 1) * METER + .5);

    x += hu_top_put(c, y, x, c->width - x, HU_TONE_BOLD, name);
    x += hu_top_put(c, y, x, c->width - x, HU_TONE_DIM, " [");
    for (int i = 0; i < METER; i++)
        x += hu_top_put(c, y, x, c->width - x, tone, i < full ? "|" : " ");
    x += hu_top_put(c, y, x, c->width - x, HU_TONE_DIM, "] ");
    x += hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, words);
    return x + 2;
}

static double memory_share(const hu_top_host *h)
{
    return h->memory_total > 0 ? 1 - h->memory_available / h->memory_total : NAN;
}

static void draw_meters(hu_top_canvas *c, int y, const hu_top_node *n)
{
    const hu_top_host *h = &n->look->host;
    char               words[PART], part[HU_UNIT_BYTES], all[HU_UNIT_BYTES];
    int                x;

    hu_top_percent(part, n->rates.cpu, 1);
    snprintf(words, sizeof words, "%s%s", part, isnan(n->rates.cpu) ? "" : "%");
    if (!isnan(h->cpus))
        snprintf(words + strlen(words), sizeof words - strlen(words), " of %.0f", h->cpus);
    x = draw_meter(c, y, 0, "CPU", n->rates.cpu, words);
    hu_top_bytes(part, h->memory_total - h->memory_available);
    hu_top_bytes(all, h->memory_total);
    snprintf(words, sizeof words, "%s/%s", part, all);
    draw_meter(c, y, x, "Mem", memory_share(h), words);
}

/* One pair of words; nothing where neither is known. */
static int draw_pair(hu_top_canvas *c, int y, int x, const char *name, const char *first, const char *second)
{
    char text[PART];

    if (x >= c->width)
        return x;
    x += hu_top_put(c, y, x, c->width - x, HU_TONE_BOLD, name);
    snprintf(text, sizeof text, " %s%s%s", first, second ? " " : "", second ? second : "");
    return x + hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text) + 2;
}

static int draw_rates(hu_top_canvas *c, int y, int x, const char *name, const char *in, double in_rate, const char *out,
                      double out_rate)
{
    char first[PART], second[PART], number[HU_UNIT_BYTES];

    hu_top_rate(number, in_rate);
    snprintf(first, sizeof first, "%s %s", in, number);
    hu_top_rate(number, out_rate);
    snprintf(second, sizeof second, "%s %s", out, number);
    return draw_pair(c, y, x, name, first, second);
}

static void draw_shortages(hu_top_canvas *c, int y, const hu_top_node *n)
{
    static const char *const names[HU_TOP_PRESSURES] = {"cpu", "mem", "io"};
    char                     text[PART] = "", number[HU_UNIT_BYTES];
    int                      x;

    for (int i = 0; i < HU_TOP_PRESSURES; i++) {
        hu_top_percent(number, n->rates.waiting[i], 1);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %s%s", i ? " " : "", names[i], number,
                 isnan(n->rates.waiting[i]) ? "" : "%");
    }
    x = draw_pair(c, y, 0, "Waits", text, NULL);
    x = draw_rates(c, y, x, "Net/s", "in", n->rates.received, "out", n->rates.sent);
    (void)draw_rates(c, y, x, "Disk/s", "rd", n->rates.read, "wr", n->rates.written);
}

static void draw_first(hu_top_canvas *c, int y, const hu_top_model *m)
{
    const hu_top_node *n = &m->nodes[0];
    char               text[PART], number[HU_UNIT_BYTES];
    int                x = hu_top_put(c, y, 0, c->width, HU_TONE_BOLD, n->name) + 2;

    if (m->is_demo)
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_WARN, "invented GPUs and jobs") + 2;
    if (n->look && n->look->host.boot_at > 0) {
        hu_top_duration(number, fmax(0, m->now - n->look->host.boot_at));
        snprintf(text, sizeof text, "up %s", number);
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text) + 2;
    }
    if (n->look && !isnan(n->look->host.load1)) {
        snprintf(text, sizeof text, "load %.2f", n->look->host.load1);
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text) + 2;
    }
    if (n->look && n->n_gpus) {
        hu_top_percent(number, n->busy, 0);
        snprintf(text, sizeof text, "%zu GPU%s %s%% busy", n->n_gpus, n->n_gpus == 1 ? "" : "s", number);
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text) + 2;
        hu_top_rate(number, n->power);
        snprintf(text, sizeof text, "%s W", number);
        x += isnan(n->power) ? 0 : hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text) + 2;
    } else if (n->look) {
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_DIM, "no GPU") + 2;
    }
    if (n->state[0])
        (void)hu_top_put(c, y, x, c->width - x, HU_TONE_BAD, n->state);
}

static void draw_all_nodes(hu_top_canvas *c, int y, const hu_top_model *m)
{
    char   text[PART], number[HU_UNIT_BYTES];
    size_t answering = 0, gpus = 0;
    double power = NAN;
    int    x;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const hu_top_node *n = &m->nodes[i];

        if (!n->look)
            continue;
        answering++;
        gpus += n->n_gpus;
        if (!isnan(n->power))
            power = isnan(power) ? n->power : power + n->power;
    }
    snprintf(text, sizeof text, "%zu of %zu nodes answer", answering, m->n_nodes);
    x = hu_top_put(c, y, 0, c->width, answering == m->n_nodes ? HU_TONE_BOLD : HU_TONE_BAD, text) + 2;
    hu_top_rate(number, power);
    snprintf(text, sizeof text, "%zu GPUs  %s W", gpus, number);
    (void)hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, text);
}

/* What keeps something from being known, where somebody can do something about it. */
static const hu_top_problem *problem_of(const hu_top_model *m)
{
    static const char hopeless[] = "nothing";

    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; m->nodes[i].look && k < m->nodes[i].look->n_problems; k++) {
            const hu_top_problem *p = &m->nodes[i].look->problem[k];

            if (strncmp(p->fix, hopeless, sizeof hopeless - 1) != 0 && strcmp(p->source, "demo_gpu") != 0)
                return p;
        }
    return NULL;
}

int hu_top_draw_header(hu_top_canvas *c, int y, const hu_top_model *m)
{
    const hu_top_node    *n = &m->nodes[0];
    char                  text[2 * PART];
    const hu_top_problem *problem;
    int                   x;

    if (m->n_nodes > 1) {
        draw_all_nodes(c, y++, m);
    } else {
        draw_first(c, y++, m);
        if (n->look) {
            draw_meters(c, y++, n);
            draw_shortages(c, y++, n);
        }
    }
    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].look && m->nodes[i].look->is_cut) {
            snprintf(text, sizeof text, "%s has more than is kept: rows are missing", m->nodes[i].name);
            (void)hu_top_put(c, y++, 0, c->width, HU_TONE_WARN, text);
            break;
        }
    hu_top_model_verdict(m, text, sizeof text);
    if (text[0]) {
        x = hu_top_put(c, y, 0, c->width, HU_TONE_BOLD, "Holds ");
        (void)hu_top_put(c, y++, x, c->width - x, HU_TONE_WARN, text);
        return y;
    }
    problem = problem_of(m);
    if (problem) {
        x = hu_top_put(c, y, 0, c->width, HU_TONE_BOLD, "Note  ");
        snprintf(text, sizeof text, "%s; %s", problem->what, problem->fix);
        (void)hu_top_put(c, y++, x, c->width - x, HU_TONE_DIM, text);
    }
    return y;
}
