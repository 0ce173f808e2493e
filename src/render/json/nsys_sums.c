/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.c - where time went and to what, as far as sums tell, for programs (docs/formats/nsys-stats.md). */
#include "render/nsys_sums.h"

#include "base/json_out.h"

static void write_part(hu_json_out *j, const char *key, const hu_nsys_part *part, bool is_known)
{
    if (!is_known) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '{');
    hu_json_ns(j, "total_ns", part->ns);
    hu_json_int(j, "count", part->count);
    hu_json_close(j, '}');
}

static void write_where(hu_json_out *j, const hu_nsys_answer *a)
{
    hu_json_open(j, "where", '{');
    hu_json_open(j, "gpu", '{');
    write_part(j, "compute", &a->compute, a->kernels.is_known);
    write_part(j, "communication", &a->comm, a->kernels.is_known);
    write_part(j, "copies", &a->memcpys, a->copies.is_known);
    write_part(j, "memsets", &a->memsets, a->copies.is_known);
    hu_json_close(j, '}');
    hu_json_open(j, "calls", '{');
    write_part(j, "waits", &a->waits, a->calls.is_known);
    write_part(j, "launches", &a->launches, a->calls.is_known);
    write_part(j, "graph_launches", &a->graphs, a->calls.is_known);
    write_part(j, "async_copies", &a->async_copies, a->calls.is_known);
    write_part(j, "memory", &a->memory, a->calls.is_known);
    write_part(j, "others", &a->rest, a->calls.is_known);
    hu_json_close(j, '}');
    hu_json_close(j, '}');
}

static void write_list(hu_json_out *j, const char *key, const hu_nsys_list *list, const hu_nsys_answer *a)
{
    if (!list->is_known) {
        hu_json_null(j, key);
        return;
    }
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++) {
        const hu_nsys_row *row = list->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", row->name);
        if (list == &a->ranges)
            hu_json_str(j, "group", row->group);
        hu_json_ns(j, "total_ns", row->total);
        hu_json_int(j, "count", row->count);
        hu_json_fixed(j, "mean_ns", row->mean, 1);
        hu_json_fixed(j, "median_ns", row->median, 1);
        hu_json_ns(j, "min_ns", row->least);
        hu_json_ns(j, "max_ns", row->most);
        if (list == &a->kernels)
            hu_json_bool(j, "is_communication", row->is_comm);
        if (list == &a->copies)
            hu_json_ns(j, "bytes", hu_nsys_sums_bytes(a, row));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_tables(hu_json_out *j, const hu_nsys_sums *sums)
{
    static const char *const kinds[HU_NSYS_KINDS] = {"kernels", "copies", "copy_sizes", "calls", "os_calls",
                                                     "ranges",  "mpi",    "mixed",      "other"};

    hu_json_open(j, "tables", '[');
    for (size_t i = 0; i < sums->tables.n; i++) {
        const hu_nsys_table *t = &sums->tables.at[i];

        hu_json_open(j, NULL, '{');
        if (t->key.n)
            hu_json_str(j, "report", t->key);
        else
            hu_json_null(j, "report");
        hu_json_str(j, "kind", hu_str_of(kinds[t->kind]));
        hu_json_int(j, "rows", (int64_t)t->rows.n);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

void hu_nsys_json(const hu_nsys_report *r, hu_arena *scratch, hu_out *out)
{
    const hu_nsys_answer *a = r->answer;
    hu_json_out           j = {.out = out, .is_empty = true};
    char                  hints[HU_NSYS_HINTS][HU_NSYS_HINT_BYTES];
    const size_t          n = hu_nsys_hints(a, hints);
    hu_out               *command = hu_out_open_memory(scratch);
    hu_str                next = HU_STR("");

    if (command)
        hu_nsys_next(r->sums, command);
    if (command && hu_out_take(command, &next, NULL) < 0)
        next = HU_STR("");
    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("nsys-stats"));
    write_where(&j, a);
    hu_json_open(&j, "what", '{');
    write_list(&j, "kernels", &a->kernels, a);
    write_list(&j, "copies", &a->copies, a);
    write_list(&j, "calls", &a->calls, a);
    write_list(&j, "ranges", &a->ranges, a);
    write_list(&j, "mpi", &a->mpi, a);
    write_list(&j, "os_calls", &a->os_calls, a);
    hu_json_close(&j, '}');
    hu_json_null(&j, "why");
    hu_json_str(&j, "why_not", hu_str_of(hu_nsys_why_not));
    hu_json_open(&j, "hints", '[');
    for (size_t i = 0; i < n; i++)
        hu_json_str(&j, NULL, hu_str_of(hints[i]));
    hu_json_close(&j, ']');
    hu_json_str(&j, "doubts", hu_nsys_doubts(r, scratch));
    hu_json_str(&j, "next", next);
    hu_json_bool(&j, "lacks_graphs", a->lacks_graphs);
    hu_json_bool(&j, "is_cut", r->sums->is_cut);
    write_tables(&j, r->sums);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
