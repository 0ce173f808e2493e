/* SPDX-License-Identifier: Apache-2.0
 * execution.c - operators of execution traces by calls, for programs (docs/formats/execution-trace.md). */
#include "render/execution.h"

#include "base/json_out.h"

static void write_text(hu_json_out *j, const char *key, hu_str text)
{
    if (text.n)
        hu_json_str(j, key, text);
    else
        hu_json_null(j, key);
}

static void write_file(hu_json_out *j, const hu_execution_file *f)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "file", hu_str_of(f->of->file));
    hu_json_str(j, "writer", hu_str_of(f->of->writer));
    write_text(j, "schema", f->of->schema);
    if (f->of->pid >= 0)
        hu_json_int(j, "pid", f->of->pid);
    else
        hu_json_null(j, "pid");
    if (f->of->rank >= 0)
        hu_json_int(j, "rank", f->of->rank);
    else
        hu_json_null(j, "rank");
    hu_json_int(j, "nodes", (int64_t)f->of->nodes.n);
    hu_json_int(j, "operators", f->operators);
    hu_json_int(j, "outermost", f->outermost);
    hu_json_int(j, "ranges", f->ranges);
    hu_json_int(j, "threads", f->threads);
    hu_json_int(j, "depth", f->depth);
    hu_json_int(j, "malformed", f->of->malformed);
    hu_json_bool(j, "is_cut", f->of->is_cut);
    hu_json_close(j, '}');
}

static void write_row(hu_json_out *j, const hu_execution_row *row, bool has_durations)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", row->name);
    hu_json_int(j, "calls", row->calls);
    hu_json_int(j, "outermost", row->outermost);
    hu_json_int(j, "with_shapes", row->with_shapes);
    hu_json_int(j, "forms", row->forms);
    if (has_durations)
        hu_json_int(j, "total_ns", row->dur_ns);
    else
        hu_json_null(j, "total_ns");
    write_text(j, "shapes", row->shapes);
    write_text(j, "types", row->types);
    hu_json_int(j, "form_calls", row->form_calls);
    hu_json_close(j, '}');
}

void hu_execution_json(const hu_execution_report *r, hu_out *out)
{
    const hu_execution_answer *a = r->answer;
    hu_json_out                j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("execution-trace"));
    hu_json_open(&j, "files", '[');
    for (size_t i = 0; i < a->n_files; i++)
        write_file(&j, &a->files[i]);
    hu_json_close(&j, ']');
    hu_json_open(&j, "operators", '[');
    for (size_t i = 0; i < a->n_rows; i++)
        write_row(&j, &a->rows[i], a->has_durations);
    hu_json_close(&j, ']');
    hu_json_null(&j, "why");
    hu_json_str(&j, "why_not", hu_str_of(hu_execution_why_not(a)));
    hu_json_str(&j, "next", hu_str_of(hu_execution_next));
    hu_json_bool(&j, "is_cut", a->is_cut);
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
