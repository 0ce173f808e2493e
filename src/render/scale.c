/* SPDX-License-Identifier: Apache-2.0
 * scale.c - one sentence first, then the numbers that it is made of. */
#include "render/scale.h"

#include <math.h>
#include <stdlib.h>

#include "advise/say.h"
#include "base/json_out.h"
#include "render/page/markup.h"
#include "base/units.h"

enum { NAMED = 4, SENTENCE = 1024 };

static const double LEAST_POINTS = 0.5; /* of 100; smaller losses are not named */

static const hu_scaling_run *last_run(const hu_scaling *s)
{
    return &s->run[s->n - 1];
}

/* Losses of the largest run, the largest first. */
static void order_losses(const hu_scaling_row *row, hu_loss order[HU_LOSS_COUNT])
{
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++) {
        size_t k = c;

        for (; k > 0 && row->loss_pct[order[k - 1]] < row->loss_pct[c]; k--)
            order[k] = order[k - 1];
        order[k] = c;
    }
}

/* What is counted. */
static const char *unit_of(const hu_scaling *s)
{
    return last_run(s)->has_device ? "GPUs" : "processes";
}

static hu_said points(double value)
{
    hu_said s;

    hu_format_fixed(s.t, value, fabs(value) < 9.95 ? 1 : 0);
    return s;
}

void hu_scale_sentence(const hu_scale_report *r, char *out, size_t room)
{
    const hu_scaling     *s = r->scaling;
    const hu_scaling_row *row = &s->row[s->n - 1];
    hu_loss               order[HU_LOSS_COUNT];
    size_t                n, named = 0;

    n = (size_t)snprintf(out, room, "%lld \xe2\x86\x92 %lld %s: %s\xc3\x97 (%s efficiency).", (long long)s->run[0].gpus,
                         (long long)last_run(s)->gpus, unit_of(s), points(row->speedup).t,
                         hu_say_pct(row->efficiency_pct).t);
    order_losses(row, order);
    for (size_t k = 0; k < HU_LOSS_COUNT && named < NAMED && n < room; k++) {
        const hu_loss c = order[k];
        const char   *who = r->runs[last_run(s)->id].waited_for;

        if (row->loss_pct[c] < LEAST_POINTS)
            break;
        if (named++ == 0)
            n += (size_t)snprintf(out + n, room - n, " Of the %s points lost: ", points(100 - row->efficiency_pct).t);
        else
            n += (size_t)snprintf(out + n, room - n, "; ");
        if (n < room && c == HU_LOSS_WAIT && who[0])
            n += (size_t)snprintf(out + n, room - n, "waiting for %s %s", who, points(row->loss_pct[c]).t);
        else if (n < room)
            n += (size_t)snprintf(out + n, room - n, "%s %s", hu_loss_words(c), points(row->loss_pct[c]).t);
    }
    if (named && n < room)
        snprintf(out + n, room - n, ".");
}

static const char *mode_words(const hu_scaling *s)
{
    if (s->mode == HU_SCALING_STRONG)
        return s->mode_is_guessed ? "strong scaling, inferred from compute time per step (--weak if each GPU keeps its "
                                    "batch)"
                                  : "strong scaling: the batch is divided";
    return s->mode_is_guessed ? "weak scaling, inferred from compute time per step (--strong if the batch is divided)"
                              : "weak scaling: each GPU keeps its batch";
}

enum { CELL_BYTES = 40, MOST_CELLS = 9 };

/* Numbers under their headings, every column as wide as the widest of them. */
typedef struct {
    const char        *title;
    const char *const *headings;
    size_t             n_columns, n_rows;
    char               cell[HU_SCALING_RUNS][MOST_CELLS][CELL_BYTES];
} grid;

static void put_number(char cell[CELL_BYTES], double value, int decimals, const char *unit)
{
    char text[HU_NUMBER_BYTES];

    hu_format_fixed(text, value, decimals);
    snprintf(cell, CELL_BYTES, "%.30s%s", isnan(value) ? "\xe2\x80\x93" : text, isnan(value) ? "" : unit);
}

static void write_grid(const grid *g, hu_out *out)
{
    size_t width[MOST_CELLS];

    for (size_t c = 0; c < g->n_columns; c++) {
        width[c] = strlen(g->headings[c]);
        for (size_t i = 0; i < g->n_rows; i++) {
            const size_t needs = hu_units_width(hu_str_of(g->cell[i][c]));

            width[c] = needs > width[c] ? needs : width[c];
        }
    }
    hu_out_text(out, g->title);
    for (size_t c = 0; c < g->n_columns; c++)
        hu_units_right(out, g->headings[c], width[c] + 2);
    hu_out_text(out, "\n");
    for (size_t i = 0; i < g->n_rows; i++) {
        hu_out_printf(out, "%*s", (int)strlen(g->title), "");
        for (size_t c = 0; c < g->n_columns; c++)
            hu_units_right(out, g->cell[i][c], width[c] + 2);
        hu_out_text(out, "\n");
    }
}

static void write_laws(const hu_scale_report *r, hu_out *out)
{
    static const char *const headings[] = {"count",      "nodes",  "step",    "speed-up",
                                           "efficiency", "serial", "balance", "transfer"};
    const hu_scaling        *s = r->scaling;
    grid                     g = {.title = "RUNS", .headings = headings, .n_columns = HU_COUNT(headings), .n_rows = s->n};

    for (size_t i = 0; i < s->n; i++) {
        char(*cell)[CELL_BYTES] = g.cell[i];

        put_number(cell[0], (double)s->run[i].gpus, 0, "");
        put_number(cell[1], (double)s->run[i].nodes, 0, "");
        hu_units_time(cell[2], s->run[i].step_ns);
        put_number(cell[3], s->row[i].speedup, 2, "\xc3\x97");
        put_number(cell[4], s->row[i].efficiency_pct, 1, " %");
        put_number(cell[5], 100 * s->row[i].karp_flatt, 1, " %");
        put_number(cell[6], s->row[i].load_balance_pct, 0, " %");
        put_number(cell[7], s->row[i].transfer_pct, 0, " %");
    }
    write_grid(&g, out);
}

static void write_losses(const hu_scale_report *r, hu_out *out)
{
    static const char *const headings[] = {"count",  "points", "compute", "waiting", "transfer",
                                           "copies", "loader", "host",    "other"};
    const hu_scaling        *s = r->scaling;
    grid g = {.title = "LOST", .headings = headings, .n_columns = HU_COUNT(headings), .n_rows = s->n - 1};

    for (size_t i = 1; i < s->n; i++) {
        char(*cell)[CELL_BYTES] = g.cell[i - 1];

        put_number(cell[0], (double)s->run[i].gpus, 0, "");
        put_number(cell[1], 100 - s->row[i].efficiency_pct, 1, "");
        for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
            put_number(cell[2 + c], s->row[i].loss_pct[c], 1, "");
    }
    hu_out_text(out, "\n");
    write_grid(&g, out);
}

/* "16 GPUs would do 10.4x [9.1 ... 11.0]" */
static bool say_next(const hu_scaling *s, char *out, size_t room)
{
    if (isnan(s->next_speedup))
        return false;
    snprintf(out, room, "%lld %s would reach %s\xc3\x97 [%s \xe2\x80\xa6 %s] if the losses keep growing at this rate",
             2 * (long long)last_run(s)->gpus, unit_of(s), points(s->next_speedup).t, points(s->next_low).t,
             points(s->next_high).t);
    return true;
}

/* Which ranks are not in the numbers, and whose traces are not whole; one line of `line` for each. */
static void say_missing(const hu_scale_report *r, char line[2][HU_UNREAD_TEXT])
{
    hu_unread_say(&r->unread, r->n_read, line[0], HU_UNREAD_TEXT);
    hu_unread_say_partial(&r->partial, r->n_read, line[1], HU_UNREAD_TEXT);
}

void hu_scale_text(const hu_scale_report *r, size_t width, hu_out *out)
{
    char line[SENTENCE], missing[2][HU_UNREAD_TEXT];

    hu_scale_sentence(r, line, sizeof line);
    hu_units_paragraph(out, line, 0, width);
    say_missing(r, missing);
    for (size_t i = 0; i < HU_COUNT(missing); i++)
        if (missing[i][0])
            hu_units_paragraph(out, missing[i], 0, width);
    hu_out_text(out, "\n");
    write_laws(r, out);
    write_losses(r, out);
    hu_out_text(out, "\n");
    hu_units_paragraph(out, mode_words(r->scaling), 0, width);
    if (say_next(r->scaling, line, sizeof line)) {
        hu_out_text(out, "next: ");
        hu_units_paragraph(out, line, 0, width - 6);
    }
    if (!last_run(r->scaling)->has_waits)
        hu_units_paragraph(
            out, "waiting and transfer cannot be separated: that needs the traces of all ranks, with their collectives", 0,
            width);
}

void hu_scale_markdown(const hu_scale_report *r, hu_out *out)
{
    const hu_scaling *s = r->scaling;
    char              line[SENTENCE], missing[2][HU_UNREAD_TEXT];

    hu_scale_sentence(r, line, sizeof line);
    hu_out_text(out, "**");
    hu_markup_text(out, hu_str_of(line));
    hu_out_text(out, "**\n\n");
    say_missing(r, missing);
    for (size_t i = 0; i < HU_COUNT(missing); i++) {
        if (!missing[i][0])
            continue;
        hu_markup_text(out, hu_str_of(missing[i]));
        hu_out_text(out, "\n\n");
    }
    hu_out_text(out, "| count | nodes | step | speed-up | efficiency |");
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        hu_out_printf(out, " %s |", hu_loss_words(c));
    hu_out_text(out, "\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < s->n; i++) {
        char step[HU_UNIT_BYTES];

        hu_units_time(step, s->run[i].step_ns);
        hu_out_printf(out, "| %lld | %lld | %s | ", (long long)s->run[i].gpus, (long long)s->run[i].nodes, step);
        hu_out_fixed(out, s->row[i].speedup, 2);
        hu_out_text(out, "\xc3\x97 | ");
        hu_out_fixed(out, s->row[i].efficiency_pct, 1);
        hu_out_text(out, " % |");
        for (hu_loss c = 0; c < HU_LOSS_COUNT; c++) {
            hu_out_text(out, " ");
            hu_out_fixed(out, s->row[i].loss_pct[c], 1);
            hu_out_text(out, " |");
        }
        hu_out_text(out, "\n");
    }
    hu_out_printf(out, "\nEfficiency points lost by cause; they add up to the total. %s.\n", mode_words(s));
}

static void write_run(hu_json_out *j, const hu_scale_report *r, size_t i)
{
    const hu_scaling_run *run = &r->scaling->run[i];
    const hu_scaling_row *row = &r->scaling->row[i];

    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", r->runs[run->id].name);
    hu_json_int(j, "gpus", run->gpus);
    hu_json_int(j, "nodes", run->nodes);
    hu_json_int(j, "ranks", (int64_t)run->ranks);
    hu_json_ns(j, "step_ns", run->step_ns);
    hu_json_fixed(j, "speedup", row->speedup, 6);
    hu_json_fixed(j, "efficiency_pct", row->efficiency_pct, 6);
    hu_json_fixed(j, "karp_flatt", row->karp_flatt, 6);
    hu_json_fixed(j, "load_balance_pct", row->load_balance_pct, 4);
    hu_json_fixed(j, "transfer_efficiency_pct", row->transfer_pct, 4);
    hu_json_fixed(j, "serialisation_efficiency_pct", row->serialisation_pct, 4);
    hu_json_bool(j, "waits_are_known", run->has_waits);
    hu_json_str(j, "waited_for", hu_str_of(r->runs[run->id].waited_for));
    hu_json_open(j, "step_classes_ns", '{');
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        hu_json_ns(j, hu_loss_key(c), run->class_ns[c]);
    hu_json_close(j, '}');
    hu_json_open(j, "loss_pct", '{');
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        hu_json_fixed(j, hu_loss_key(c), row->loss_pct[c], 6);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

void hu_scale_json(const hu_scale_report *r, hu_out *out)
{
    const hu_scaling *s = r->scaling;
    hu_json_out       j = {.out = out, .is_empty = true};
    char              line[SENTENCE];

    hu_scale_sentence(r, line, sizeof line);
    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_unread(&j, "unread", &r->unread);
    hu_json_unread(&j, "partial", &r->partial);
    hu_json_str(&j, "bottleneck_summary", hu_str_of(line));
    hu_json_str(&j, "mode", hu_str_of(s->mode == HU_SCALING_STRONG ? "strong" : "weak"));
    hu_json_bool(&j, "mode_is_guessed", s->mode_is_guessed);
    hu_json_open(&j, "runs", '[');
    for (size_t i = 0; i < s->n; i++)
        write_run(&j, r, i);
    hu_json_close(&j, ']');
    hu_json_open(&j, "next", '{');
    hu_json_int(&j, "gpus", 2 * last_run(s)->gpus);
    hu_json_fixed(&j, "speedup", s->next_speedup, 4);
    hu_json_fixed(&j, "speedup_low", s->next_low, 4);
    hu_json_fixed(&j, "speedup_high", s->next_high, 4);
    hu_json_close(&j, '}');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}

/* Speed-up over devices on two logarithmic axes, the ideal as a broken line.  In a page its style colours it; alone it is
   for any background. */
static void write_chart(const hu_scale_report *r, bool is_in_page, hu_out *out)
{
    enum { WIDTH = 480, HEIGHT = 320, LEFT = 40, RIGHT = 100, TOP = 20, BOTTOM = 50 };
    const hu_scaling *s = r->scaling;
    const double      first = (double)s->run[0].gpus, octaves = fmax(1, log2((double)last_run(s)->gpus / first));

    if (is_in_page)
        hu_out_printf(out, "<svg class=\"chart scaling\" role=\"img\" viewBox=\"0 0 %d %d\"><title>", LEFT + WIDTH + RIGHT,
                      TOP + HEIGHT + BOTTOM);
    else
        hu_out_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                      "font-family=\"sans-serif\" font-size=\"12\"><title>",
                      LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    {
        char line[SENTENCE];

        hu_scale_sentence(r, line, sizeof line);
        hu_markup_text(out, hu_str_of(line));
    }
    hu_out_text(out, "</title>");
    if (!is_in_page)
        hu_out_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>", LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    hu_out_printf(out, "<path %s d=\"M%d %d L%d %d\"/><polyline %s points=\"",
                  is_in_page ? "class=\"ideal\"" : "stroke=\"#888\" stroke-dasharray=\"5 4\"", LEFT, TOP + HEIGHT,
                  LEFT + WIDTH, TOP,
                  is_in_page ? "class=\"reached\"" : "fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2.5\"");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->n; i++) {
            const double x = LEFT + WIDTH * log2((double)s->run[i].gpus / first) / octaves;
            const double y = TOP + HEIGHT * (1 - fmax(0, log2(fmax(s->row[i].speedup, 1e-6))) / octaves);

            if (pass == 0) {
                hu_out_fixed(out, x, 1);
                hu_out_text(out, ",");
                hu_out_fixed(out, y, 1);
                hu_out_text(out, " ");
                continue;
            }
            hu_out_printf(out, "<circle r=\"5\" %s cx=\"", is_in_page ? "class=\"c-compute\"" : "fill=\"#0072b2\"");
            hu_out_fixed(out, x, 1);
            hu_out_text(out, "\" cy=\"");
            hu_out_fixed(out, y, 1);
            hu_out_text(out, "\"/><text text-anchor=\"middle\" x=\"");
            hu_out_fixed(out, x, 1);
            hu_out_printf(out, "\" y=\"%d\">%lld</text><text x=\"", TOP + HEIGHT + 24, (long long)s->run[i].gpus);
            hu_out_fixed(out, x + 10, 1);
            hu_out_text(out, "\" y=\"");
            hu_out_fixed(out, y + 4, 1);
            hu_out_printf(out, "\">%s\xc3\x97 (%s)</text>", points(s->row[i].speedup).t,
                          hu_say_pct(s->row[i].efficiency_pct).t);
        }
        if (pass == 0)
            hu_out_text(out, "\"/>");
    }
    hu_out_printf(out, "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">%s</text></svg>\n", LEFT + WIDTH / 2,
                  TOP + HEIGHT + 44, unit_of(s));
}

void hu_scale_svg(const hu_scale_report *r, hu_out *out)
{
    write_chart(r, false, out);
}

void hu_scale_chart(const hu_scale_report *r, hu_out *out)
{
    write_chart(r, true, out);
}
