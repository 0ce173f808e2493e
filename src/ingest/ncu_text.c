/* SPDX-License-Identifier: Apache-2.0
 * ncu_text.c - pages as text: a line for the launch, a line for each section, tables below lines of dashes.  The raw page
 * has no sections and one line of dashes, and names metrics where the details page has labels. */
#include "ingest/ncu.h"

#include "base/number.h"

enum { COLUMNS = 3 };

typedef struct {
    hu_str      line; /* without the blanks at its ends */
    hu_str      title;
    size_t      begin[COLUMNS], end[COLUMNS]; /* of the columns, as the dashes tell */
    size_t      n_rules;                      /* lines of dashes since the title */
    hu_counted *k;                            /* NULL: before the first launch */
} reader;

static hu_str part(hu_str line, size_t begin, size_t end)
{
    end = end < line.n ? end : line.n;
    return begin < end ? hu_str_trim((hu_str){line.p + begin, end - begin}) : HU_STR("");
}

/* "name(int, float *) (16, 16, 1)x(512, 1, 1), Context 1, Stream 7, Device 0, CC 8.6" */
static bool read_launch(hu_str line, hu_counted *k)
{
    const hu_str between = HU_STR(")x("), behind = HU_STR(", Context ");
    const char  *sizes = NULL, *rest, *grid;

    for (const char *p = line.p; (p = memmem(p, (size_t)(line.p + line.n - p), between.p, between.n)); p++)
        sizes = p;
    if (!sizes)
        return false;
    rest = memmem(sizes, (size_t)(line.p + line.n - sizes), behind.p, behind.n);
    for (grid = sizes; grid > line.p && *grid != '('; grid--)
        ;
    if (!rest || grid == line.p || !hu_ncu_triple((hu_str){grid, (size_t)(sizes - grid)}, k->grid) ||
        !hu_ncu_triple((hu_str){sizes + 2, (size_t)(rest - sizes) - 2}, k->block))
        return false;
    k->name = hu_str_trim((hu_str){line.p, (size_t)(grid - line.p)});
    if ((rest = memmem(rest, (size_t)(line.p + line.n - rest), ", CC ", 5)))
        k->cc = hu_str_trim((hu_str){rest + 5, (size_t)(line.p + line.n - rest) - 5});
    return k->name.n > 0;
}

/* Where three columns of dashes are; false where the line is none of that kind. */
static bool read_rule(reader *r, hu_str line)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n;) {
        const size_t begin = i;

        while (i < line.n && line.p[i] == '-')
            i++;
        if (i > begin + 1 && n < COLUMNS) {
            r->begin[n] = begin;
            r->end[n++] = i;
        } else if (i > begin || line.p[i] != ' ') {
            return false;
        } else {
            i++;
        }
    }
    return n == COLUMNS;
}

static void read_line(reader *r, hu_str raw)
{
    const hu_str line = hu_str_trim(raw), section = HU_STR("Section: ");

    if (hu_str_starts(line, section)) {
        r->title = (hu_str){line.p + section.n, line.n - section.n};
        r->n_rules = 0;
    } else if (line.n && line.p[0] == '-' && read_rule(r, raw)) {
        r->n_rules++;
    } else if (r->k && r->title.n == 0 && r->n_rules == 1) {
        const hu_str metric = part(raw, r->begin[0], r->end[0]), value = part(raw, r->begin[2], raw.n);

        if (hu_str_equal(metric, HU_STR("device__attribute_display_name")))
            r->k->device = value;
        else
            hu_ncu_store_text(r->k, hu_ncu_place(metric), value, part(raw, r->begin[1], r->end[1]));
    } else if (r->k && r->n_rules == 2) {
        hu_ncu_store_text(r->k, hu_ncu_label_place(r->title, part(raw, r->begin[0], r->end[0])),
                          part(raw, r->begin[2], raw.n), part(raw, r->begin[1], r->end[1]));
    }
}

int hu_ncu_read_text(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err)
{
    const size_t before = out->kernels.n;
    reader       r = {.title = HU_STR("")};

    for (const char *p = file.p, *end = file.p + file.n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        hu_str      line = {p, (size_t)((stop ? stop : end) - p)};
        hu_counted  seen = {.cc = HU_STR("")};

        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (hu_str_has(line, HU_STR(", Context ")) && read_launch(hu_str_trim(line), &seen)) {
            if (!(r.k = hu_ncu_add(out, arena, hu_input_limits(in), err)))
                return err->code;
            r.k->name = seen.name;
            r.k->cc = seen.cc;
            r.k->id = out->kernels.n - before - 1;
            memcpy(r.k->grid, seen.grid, sizeof seen.grid);
            memcpy(r.k->block, seen.block, sizeof seen.block);
            r.n_rules = 0;
            r.title = HU_STR("");
        } else {
            read_line(&r, line);
        }
        p = stop ? stop + 1 : end;
    }
    return out->kernels.n > before
               ? 0
               : hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                         "is output of Nsight Compute without a launch; pass its report (ncu -o FILE, then FILE.ncu-rep)");
}
