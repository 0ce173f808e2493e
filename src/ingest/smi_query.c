/* SPDX-License-Identifier: Apache-2.0
 * smi_query.c - four blanks of indentation are one level; a line with a value may be a heading, too ("HW Slowdown"). */
#include "ingest/smi_query.h"

#include "ingest/node_time.h"
#include "ingest/smi_facts.h"

enum { INDENT = 4, DEEPEST = 4 };

bool hu_smi_query_heading(hu_str line)
{
    return hu_str_starts(line, HU_STR("====")) && hu_str_has(line, HU_STR("NVSMI LOG"));
}

void hu_smi_query_begin(hu_smi_query *q)
{
    *q = (hu_smi_query){.row = hu_node_row_new(), .number = -1};
}

/* Lines go when the next are read: texts of a GPU stay here until it is put down. */
static void keep_text(hu_str *text, char room[HU_SMI_QUERY_TEXT])
{
    if (text->n >= HU_SMI_QUERY_TEXT)
        text->n = HU_SMI_QUERY_TEXT - 1;
    if (text->n && text->p != room)
        memcpy(room, text->p, text->n);
    text->p = room;
}

void hu_smi_query_end(hu_smi_query *q, hu_node_sink *sink)
{
    if (q->number >= 0) {
        q->row.who.number = q->number;
        q->row.who.driver = hu_str_of(q->driver);
        q->row.ns = q->ns;
        (void)hu_node_put_row(sink, &q->row);
    }
    q->row = hu_node_row_new();
}

static hu_str heading_at(const hu_smi_query *q, size_t depth)
{
    return depth > 0 && depth < HU_SMI_QUERY_DEPTH ? (hu_str){q->stack[depth], q->lengths[depth]} : HU_STR("");
}

static void push(hu_smi_query *q, size_t depth, hu_str key)
{
    if (depth == 0 || depth >= HU_SMI_QUERY_DEPTH)
        return;
    q->lengths[depth] = key.n < HU_SMI_QUERY_TEXT ? key.n : HU_SMI_QUERY_TEXT - 1;
    memcpy(q->stack[depth], key.p, q->lengths[depth]);
}

/* What stands above all GPUs. */
static void take_top(hu_smi_query *q, hu_str key, hu_str value)
{
    if (hu_str_equal(key, HU_STR("Timestamp"))) {
        q->ns = hu_node_time(value);
    } else if (hu_str_equal(key, HU_STR("Driver Version")) && value.n < sizeof q->driver) {
        memcpy(q->driver, value.p, value.n);
        q->driver[value.n] = '\0';
    }
}

/* "GPU 00000000:83:00.0" at the left. */
static bool is_gpu(hu_str line)
{
    return hu_str_starts(line, HU_STR("GPU ")) && hu_str_has(line, HU_STR(":"));
}

void hu_smi_query_line(hu_smi_query *q, hu_node_sink *sink, hu_str line)
{
    size_t      blanks = 0, depth;
    const char *mark;
    hu_str      key, value = HU_STR("");

    while (blanks < line.n && line.p[blanks] == ' ')
        blanks++;
    if (blanks == 0 && is_gpu(line)) {
        hu_smi_query_end(q, sink);
        q->number++;
        return;
    }
    depth = blanks / INDENT; /* 1: directly below the GPU */
    key = hu_str_trim(line);
    mark = key.n ? memmem(key.p, key.n, " : ", 3) : NULL;
    if (mark) {
        value = hu_str_trim((hu_str){mark + 3, (size_t)(key.p + key.n - mark) - 3});
        key = hu_str_trim((hu_str){key.p, (size_t)(mark - key.p)});
    }
    if (depth == 0 || key.n == 0) {
        take_top(q, key, value);
        return;
    }
    push(q, depth, key);
    if (!mark || q->number < 0 || depth > DEEPEST)
        return;
    hu_smi_facts_take(&q->row, depth > 2 ? heading_at(q, depth - 2) : HU_STR(""), heading_at(q, depth - 1), key, value);
    keep_text(&q->row.who.uuid, q->uuid);
    keep_text(&q->row.who.name, q->name);
    keep_text(&q->row.who.bus, q->bus);
}
