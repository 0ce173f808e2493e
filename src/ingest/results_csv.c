/* SPDX-License-Identifier: Apache-2.0
 * results_csv.c - performance as PyTorch's benchmarks/dynamo writes it, a line for each model:
 *
 *     dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,…
 *     cuda,BERT_pytorch,16,1.8231,12.31,33.1,0.91,…
 *
 * abs_latency is of the compiled model in ms, compilation_latency in seconds; the other numbers have no unit in the file.
 * Traps: a model that failed has zeros, or a line that ends early; more columns come with every version.
 */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "ingest/results_parts.h"

enum { COLUMNS = 8, MOST_LINE = 4096, NAME = 256 };

typedef enum { DEV, MODEL, BATCH, SPEEDUP, LATENCY, COMPILATION, COMPRESSION, TAG } column;

static const hu_str headings[COLUMNS] = {
    [DEV] = {"dev", 3},
    [MODEL] = {"name", 4},
    [BATCH] = {"batch_size", 10},
    [SPEEDUP] = {"speedup", 7},
    [LATENCY] = {"abs_latency", 11},
    [COMPILATION] = {"compilation_latency", 19},
    [COMPRESSION] = {"compression_ratio", 17},
    [TAG] = {"tag", 3},
};

typedef struct {
    size_t at[COLUMNS]; /* its place in a line, from 1 on; 0: there is none */
} layout;

static hu_str take_cell(hu_str *line)
{
    const char  *comma = line->n ? memchr(line->p, ',', line->n) : NULL;
    const hu_str cell = {line->p, comma ? (size_t)(comma - line->p) : line->n};

    *line = comma ? (hu_str){comma + 1, line->n - cell.n - 1} : (hu_str){line->p + line->n, 0};
    return hu_str_trim(cell);
}

static hu_str take_line(hu_str *text)
{
    const char  *newline = text->n ? memchr(text->p, '\n', text->n) : NULL;
    const hu_str line = {text->p, newline ? (size_t)(newline - text->p) : text->n};

    *text = newline ? (hu_str){newline + 1, text->n - line.n - 1} : (hu_str){text->p + text->n, 0};
    return hu_str_trim(line);
}

static bool read_heading(hu_str line, layout *out)
{
    *out = (layout){{0}};
    for (size_t i = 1; line.n && line.n < MOST_LINE; i++) {
        const hu_str cell = take_cell(&line);

        for (size_t k = 0; k < COLUMNS; k++)
            if (hu_str_equal(cell, headings[k]) && out->at[k] == 0)
                out->at[k] = i;
    }
    return out->at[DEV] && out->at[MODEL] && out->at[BATCH] && out->at[SPEEDUP] && out->at[LATENCY];
}

bool hu_results_probe_dynamo(hu_str head)
{
    layout unused;

    return head.n && hu_char_is_letter(head.p[0]) && read_heading(take_line(&head), &unused);
}

static double number_of(hu_str cell)
{
    double value;

    return hu_parse_f64(cell, &value) && value > 0 && value < 1e15 ? value : (double)NAN;
}

/* "BERT_pytorch, batch 16: compiled step" */
static bool put(hu_results *out, const hu_str cells[COLUMNS], const char *what, hu_result_kind kind, double value,
                hu_arena *arena)
{
    char         name[NAME];
    const hu_str model = cells[MODEL], batch = cells[BATCH], tag = cells[TAG];
    hu_result    r = hu_result_new();
    int          n;

    n = snprintf(name, sizeof name, "%.*s%s%.*s, batch %.*s: %s", model.n < 128 ? (int)model.n : 128, model.p,
                 tag.n ? " " : "", tag.n < 32 ? (int)tag.n : 32, tag.p, batch.n < 16 ? (int)batch.n : 16, batch.p, what);
    r.kind = kind;
    r.median = value;
    return hu_results_add(out, (hu_str){name, n < NAME ? (size_t)n : NAME - 1}, r, arena);
}

static bool take_model(hu_results *out, const hu_str cells[COLUMNS], hu_arena *arena)
{
    const double latency = number_of(cells[LATENCY]), compilation = number_of(cells[COMPILATION]);

    if (isnan(latency)) /* it failed, and has zeros, or nothing */
        return put(out, cells, "compiled step", HU_RESULT_TIME, (double)NAN, arena);
    return put(out, cells, "compiled step", HU_RESULT_TIME, latency * 1e6, arena) &&
           put(out, cells, "speedup over eager", HU_RESULT_NUMBER, number_of(cells[SPEEDUP]), arena) &&
           (isnan(compilation) || put(out, cells, "compilation", HU_RESULT_TIME, compilation * 1e9, arena));
}

int hu_results_read_dynamo(hu_str text, hu_arena *arena, hu_results *out, hu_error *err)
{
    layout where;

    out->tool = HU_STR("TorchDynamo");
    if (!read_heading(take_line(&text), &where))
        return 0;
    while (text.n) {
        hu_str cells[COLUMNS], line = take_line(&text);
        layout again;

        if (line.n == 0 || line.n >= MOST_LINE || read_heading(line, &again))
            continue;
        for (size_t k = 0; k < COLUMNS; k++)
            cells[k] = HU_STR("");
        for (size_t i = 1; line.n; i++) {
            const hu_str cell = take_cell(&line);

            for (size_t k = 0; k < COLUMNS; k++)
                if (where.at[k] == i)
                    cells[k] = cell;
        }
        if (cells[MODEL].n == 0)
            out->n_bad++;
        else if (!take_model(out, cells, arena))
            return hu_fail_memory(err);
    }
    return 0;
}
