/* SPDX-License-Identifier: Apache-2.0
 * log_difference.c - the step in a sentence, then all that both logs have; bandwidths of the sizes that changed most. */
#include "render/log_difference.h"

#include <math.h>

#include "advise/say.h"
#include "base/json_out.h"
#include "base/units.h"

enum { NUMBER = 12, LINE = 400, ROWS = 24 };

#define MINUS "\xe2\x88\x92"

static hu_said say_value(const hu_log_change *c, double value)
{
    hu_said s;
    char    number[HU_UNIT_BYTES];

    if (c->kind == HU_LOG_CHANGE_NS)
        return hu_say_time(value);
    hu_units_number(number, value);
    snprintf(s.t, sizeof s.t, "%.20s%s", number, c->kind == HU_LOG_CHANGE_BANDWIDTH ? " GB/s" : "");
    return s;
}

static hu_said say_change(const hu_log_change *c)
{
    const double pct = c->a > 0 ? 100 * (c->b - c->a) / c->a : (double)NAN;
    hu_said      s;

    if (isnan(pct))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else
        snprintf(s.t, sizeof s.t, "%s%.20s", pct > 0 ? "+" : pct < 0 ? MINUS : "", hu_say_pct(fabs(pct)).t);
    return s;
}

static void write_row(const hu_log_change *c, size_t width, hu_out *out)
{
    char   size[HU_UNIT_BYTES] = "", words[LINE];
    size_t room = width > 3 * NUMBER + 22 ? width - 3 * NUMBER - 2 : 20;

    if (c->bytes)
        hu_units_bytes(size, (double)c->bytes);
    snprintf(words, sizeof words, "%.*s%s%s", (int)(c->name.n < 200 ? c->name.n : 200), c->name.p,
             c->bytes                             ? " of "
             : c->kind == HU_LOG_CHANGE_BANDWIDTH ? ", the highest"
                                                  : "",
             size);
    hu_units_right(out, say_value(c, c->a).t, NUMBER);
    hu_units_right(out, say_value(c, c->b).t, NUMBER);
    hu_units_right(out, say_change(c).t, NUMBER);
    hu_out_text(out, "  ");
    hu_units_clip(out, hu_str_of(words), room);
    hu_out_text(out, "\n");
}

void hu_log_difference_text(const hu_log_difference *x, const hu_str name[2], size_t width, hu_out *out)
{
    char line[LINE];

    for (int k = 0; k < 2; k++) {
        hu_out_printf(out, "%c  ", 'A' + k);
        hu_units_clip_file(out, name[k], width - 3);
        hu_out_text(out, "\n");
    }
    if (x->has_step || x->n_obstacles)
        hu_out_text(out, "\n");
    if (x->has_step) {
        const hu_log_change *c = &x->at.at[0];

        snprintf(line, sizeof line, "The median step takes %s in A and %s in B%s%s%s.", say_value(c, c->a).t,
                 say_value(c, c->b).t, x->is_clear ? ": " : "", x->is_clear ? say_change(c).t : "",
                 x->is_clear ? "" : ": no difference that is larger than the lines of each vary");
        hu_units_paragraph(out, line, 0, width);
    }
    for (size_t i = 0; i < x->n_obstacles; i++) {
        snprintf(line, sizeof line, "note: %s", x->obstacles[i]);
        hu_units_paragraph(out, line, 0, width);
    }
    if (x->at.n == 0) {
        hu_units_paragraph(out, "The logs have nothing in common that could be compared.", 0, width);
        return;
    }
    hu_out_text(out, "\n");
    hu_units_right(out, "A", NUMBER);
    hu_units_right(out, "B", NUMBER);
    hu_units_right(out, "change", NUMBER);
    hu_out_text(out, "  medians\n");
    for (size_t i = 0; i < x->at.n && i < ROWS; i++)
        write_row(&x->at.at[i], width, out);
    if (x->at.n > ROWS)
        hu_out_printf(out, "  %zu more; --json has all\n", x->at.n - ROWS);
}

void hu_log_difference_json(const hu_log_difference *x, const hu_str name[2], hu_out *out)
{
    static const char *const kinds[] = {"ns", "per_second", "gb_per_second"};
    hu_json_out              j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_str(&j, "kind", HU_STR("log_difference"));
    hu_json_str(&j, "a", name[0]);
    hu_json_str(&j, "b", name[1]);
    if (x->has_step)
        hu_json_bool(&j, "is_clear", x->is_clear);
    else
        hu_json_null(&j, "is_clear");
    hu_json_open(&j, "notes", '[');
    for (size_t i = 0; i < x->n_obstacles; i++)
        hu_json_str(&j, NULL, hu_str_of(x->obstacles[i]));
    hu_json_close(&j, ']');
    hu_json_open(&j, "changes", '[');
    for (size_t i = 0; i < x->at.n; i++) {
        const hu_log_change *c = &x->at.at[i];

        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", c->name);
        hu_json_str(&j, "unit", hu_str_of(kinds[c->kind]));
        if (c->bytes)
            hu_json_int(&j, "bytes", c->bytes);
        else
            hu_json_null(&j, "bytes");
        hu_json_fixed(&j, "a", c->a, 4);
        hu_json_fixed(&j, "b", c->b, 4);
        hu_json_fixed(&j, "diff_pct", c->a > 0 ? 100 * (c->b - c->a) / c->a : (double)NAN, 4);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}
