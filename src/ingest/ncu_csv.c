/* SPDX-License-Identifier: Apache-2.0
 * ncu_csv.c - `ncu --csv`: --page raw has a row for each launch, and one of units below the names; --page details a row for
 * each metric.  What the profiled program printed may stand before it and between its rows. */
#include "ingest/ncu.h"

#include "base/number.h"

enum { NO_COLUMN = -1 };

typedef struct {
    const char     *p, *end;
    const hu_input *in;
    hu_arena       *arena;
    hu_counters    *out;
    HU_VEC(hu_str) row;
    HU_VEC(int) places;                                                             /* of the columns of --page raw */
    HU_VEC(hu_str) units;                                                           /* the same */
    int      id, process, name, block, grid, cc, device, title, label, unit, value; /* columns; NO_COLUMN: absent */
    uint64_t last_id, last_process;                                                 /* of the rows of --page details */
    bool     is_open;                                                               /* the last launch is theirs */
} reader;

/* A field in quotes, whose opening one is read: "" stands for one of them.  False where its end is cut off. */
static bool take_quoted(reader *r, hu_str *out)
{
    const char *begin = r->p;
    size_t      doubled = 0;
    char       *copy;

    for (;; r->p += 2, doubled++) {
        r->p = r->p < r->end ? memchr(r->p, '"', (size_t)(r->end - r->p)) : NULL;
        if (!r->p) {
            r->p = r->end;
            return false;
        }
        if (r->p + 1 == r->end || r->p[1] != '"')
            break;
    }
    *out = (hu_str){begin, (size_t)(r->p++ - begin)};
    if (!doubled)
        return true;
    if (!(copy = hu_arena_alloc(r->arena, out->n)))
        return false;
    *out = (hu_str){copy, 0};
    for (const char *p = begin; p < r->p - 1; p++) {
        copy[out->n++] = *p;
        p += *p == '"';
    }
    return true;
}

static void take_plain(reader *r, hu_str *out)
{
    const char *begin = r->p;

    while (r->p < r->end && *r->p != ',' && *r->p != '\n')
        r->p++;
    *out = (hu_str){begin, (size_t)(r->p - begin)};
    if (out->n && out->p[out->n - 1] == '\r')
        out->n--;
}

/* One row into r->row.  1: a row, 0: none left, HU_EFORMAT: cut in the middle of a field, HU_ENOMEM. */
static int take_row(reader *r, hu_error *err)
{
    hu_str field;

    r->row.n = 0;
    if (r->p == r->end)
        return 0;
    for (;;) {
        const bool is_quoted = r->p < r->end && *r->p == '"';

        if (is_quoted) {
            r->p++;
            if (!take_quoted(r, &field))
                return HU_EFORMAT;
        } else {
            take_plain(r, &field);
        }
        if (!hu_vec_push(r->arena, &r->row, field))
            return hu_fail_memory(err);
        while (is_quoted && r->p < r->end && *r->p != ',' && *r->p != '\n')
            r->p++;
        if (r->p == r->end)
            return 1;
        if (*r->p++ == '\n')
            return 1;
    }
}

static int column(const reader *r, const char *name)
{
    for (size_t i = 0; i < r->row.n; i++)
        if (hu_str_equal(r->row.at[i], hu_str_of(name)))
            return (int)i;
    return NO_COLUMN;
}

static hu_str field(const reader *r, int at)
{
    return at >= 0 && (size_t)at < r->row.n ? r->row.at[at] : HU_STR("");
}

static int read_names(reader *r, hu_error *err)
{
    r->id = column(r, "ID");
    r->process = column(r, "Process ID");
    r->name = column(r, "Kernel Name");
    r->block = column(r, "Block Size");
    r->grid = column(r, "Grid Size");
    r->cc = column(r, "CC");
    r->device = column(r, "device__attribute_display_name");
    r->title = column(r, "Section Name");
    r->label = column(r, "Metric Name");
    r->unit = column(r, "Metric Unit");
    r->value = column(r, "Metric Value");
    r->places.n = r->units.n = 0;
    r->is_open = false;
    for (size_t i = 0; i < r->row.n; i++)
        if (!hu_vec_push(r->arena, &r->places, hu_ncu_place(r->row.at[i])))
            return hu_fail_memory(err);
    return 0;
}

static int read_units(reader *r, hu_error *err)
{
    for (size_t i = 0; i < r->row.n; i++)
        if (!hu_vec_push(r->arena, &r->units, r->row.at[i]))
            return hu_fail_memory(err);
    return 0;
}

/* The launch of this row, new or of the row before. */
static hu_counted *launch(reader *r, uint64_t id, hu_error *err)
{
    uint64_t    process = 0;
    hu_counted *k;

    (void)hu_parse_u64(field(r, r->process), &process);
    if (r->is_open && id == r->last_id && process == r->last_process)
        return &r->out->kernels.at[r->out->kernels.n - 1];
    if (!(k = hu_ncu_add(r->out, r->arena, hu_input_limits(r->in), err)))
        return NULL;
    r->is_open = r->label != NO_COLUMN;
    r->last_id = k->id = id;
    r->last_process = process;
    k->name = field(r, r->name);
    k->cc = field(r, r->cc);
    k->device = field(r, r->device);
    (void)hu_ncu_triple(field(r, r->grid), k->grid);
    (void)hu_ncu_triple(field(r, r->block), k->block);
    return k;
}

static int read_values(reader *r, uint64_t id, hu_error *err)
{
    hu_counted *k = launch(r, id, err);

    if (!k)
        return err->code;
    if (r->label != NO_COLUMN)
        hu_ncu_store_text(k, hu_ncu_label_place(field(r, r->title), field(r, r->label)), field(r, r->value),
                          field(r, r->unit));
    for (size_t i = 0; r->label == NO_COLUMN && i < r->row.n && i < r->places.n; i++)
        if (r->places.at[i] >= 0)
            hu_ncu_store_text(k, r->places.at[i], r->row.at[i], i < r->units.n ? r->units.at[i] : HU_STR(""));
    return 0;
}

/* Rows begin with a number or the empty field of the units; all else was printed by the program. */
static bool is_row(const reader *r)
{
    return *r->p == '"' || *r->p == ',' || (*r->p >= '0' && *r->p <= '9') ||
           hu_str_starts((hu_str){r->p, (size_t)(r->end - r->p)}, HU_STR("ID,"));
}

static void skip_line(reader *r)
{
    const char *p = memchr(r->p, '\n', (size_t)(r->end - r->p));

    r->p = p ? p + 1 : r->end;
}

int hu_ncu_read_csv(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err)
{
    reader       r = {.p = file.p, .end = file.p + file.n, .in = in, .arena = arena, .out = out, .name = NO_COLUMN};
    const size_t before = out->kernels.n;
    int          rc = 1;

    while (rc > 0 && r.p < r.end) {
        uint64_t id;

        if (!is_row(&r)) {
            skip_line(&r);
            continue;
        }
        if ((rc = take_row(&r, err)) <= 0)
            break;
        if (hu_str_equal(field(&r, 0), HU_STR("ID")) && column(&r, "Kernel Name") != NO_COLUMN)
            rc = read_names(&r, err) < 0 ? err->code : 1;
        else if (r.name == NO_COLUMN || r.row.n <= (size_t)r.name)
            continue;
        else if (field(&r, 0).n == 0 && r.units.n == 0)
            rc = read_units(&r, err) < 0 ? err->code : 1;
        else if (hu_parse_u64(field(&r, r.id), &id))
            rc = read_values(&r, id, err) < 0 ? err->code : 1;
    }
    out->is_cut |= rc == HU_EFORMAT;
    if (rc < 0 && rc != HU_EFORMAT)
        return rc;
    return out->kernels.n > before
               ? 0
               : hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                         "is CSV of Nsight Compute without a launch; write it by `ncu --import FILE --csv --page raw`");
}
