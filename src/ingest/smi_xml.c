/* SPDX-License-Identifier: Apache-2.0
 * smi_xml.c - elements and their text, from front to back: nvidia-smi writes no attribute that matters, no CDATA, and
 * entities only in the names of processes, which nobody asks for here.
 */
#include "ingest/smi_xml.h"

#include "ingest/node_time.h"
#include "ingest/smi_facts.h"

enum { PROBED = 2048, DEPTH = 12, NAME_BYTES = 80, TEXT_BYTES = 96 };

/* A text that outlives the piece of the file that it was read from. */
typedef struct {
    char   at[TEXT_BYTES];
    size_t n;
} kept;

typedef struct {
    hu_node_sink *sink;
    hu_node_row   row;
    char          names[DEPTH][NAME_BYTES]; /* of the open elements */
    size_t        lengths[DEPTH];
    size_t        depth; /* open elements; those deeper than DEPTH are counted and not kept */
    size_t        looks;
    int64_t       ns, number;
    kept          driver, uuid, name, bus, text; /* text: of the innermost element, since its tag */
} reader;

static hu_str without_blanks(hu_str s)
{
    while (s.n && strchr(" \t\r\n", s.p[0]))
        s = (hu_str){s.p + 1, s.n - 1};
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

bool hu_smi_xml_probe(hu_str head)
{
    head.n = head.n < PROBED ? head.n : PROBED;
    head = without_blanks(head);
    return head.n && head.p[0] == '<' && hu_str_has(head, HU_STR("<nvidia_smi_log"));
}

static void keep(kept *k, hu_str text)
{
    k->n = text.n < TEXT_BYTES ? text.n : 0;
    if (k->n)
        memcpy(k->at, text.p, k->n);
}

static hu_str text_of(const kept *k)
{
    return (hu_str){k->at, k->n};
}

/* "" where there is none */
static hu_str name_at(const reader *r, size_t depth)
{
    return depth < r->depth && depth < DEPTH ? (hu_str){r->names[depth], r->lengths[depth]} : HU_STR("");
}

/* nvidia_smi_log > gpu > …: names below the GPU begin here. */
enum { ROOT, GPU, BELOW };

static bool is_in_gpu(const reader *r)
{
    return hu_str_equal(name_at(r, GPU), HU_STR("gpu"));
}

static void begin_element(reader *r, hu_str name)
{
    if (r->depth < DEPTH) {
        r->lengths[r->depth] = name.n < NAME_BYTES ? name.n : NAME_BYTES;
        memcpy(r->names[r->depth], name.p, r->lengths[r->depth]);
    }
    r->depth++;
    r->text.n = 0;
    if (r->depth == GPU && hu_str_equal(name, HU_STR("nvidia_smi_log"))) {
        r->looks++;
        r->ns = 0;
        r->number = -1;
        r->driver.n = 0;
    }
    if (r->depth == BELOW && is_in_gpu(r)) {
        r->number++;
        r->row = hu_node_row_new();
        r->uuid.n = r->name.n = r->bus.n = 0;
    }
}

static void put_gpu(reader *r)
{
    r->row.who = (hu_node_who){.uuid = text_of(&r->uuid),
                               .host = HU_STR(""),
                               .name = text_of(&r->name),
                               .bus = text_of(&r->bus),
                               .driver = text_of(&r->driver),
                               .number = r->number};
    r->row.ns = r->ns;
    (void)hu_node_put_row(r->sink, &r->row);
}

/* The value of an element of a GPU, with the two names above it. */
static void take_value(reader *r)
{
    const size_t at = r->depth - 1;
    hu_node_row *row = &r->row;

    if (at < BELOW || at > BELOW + 3)
        return;
    hu_smi_facts_take(row, at > BELOW + 1 ? name_at(r, at - 2) : HU_STR(""), at > BELOW ? name_at(r, at - 1) : HU_STR(""),
                      name_at(r, at), text_of(&r->text));
    if (row->who.uuid.n && row->who.uuid.p == r->text.at)
        keep(&r->uuid, row->who.uuid);
    if (row->who.name.n && row->who.name.p == r->text.at)
        keep(&r->name, row->who.name);
    if (row->who.bus.n && row->who.bus.p == r->text.at)
        keep(&r->bus, row->who.bus);
    row->who = (hu_node_who){.uuid = HU_STR(""), .name = HU_STR(""), .bus = HU_STR(""), .number = -1};
}

static void end_element(reader *r)
{
    if (r->depth == 0)
        return;
    if (r->depth == BELOW && hu_str_equal(name_at(r, GPU), HU_STR("timestamp")))
        r->ns = hu_node_time(text_of(&r->text));
    else if (r->depth == BELOW && hu_str_equal(name_at(r, GPU), HU_STR("driver_version")))
        keep(&r->driver, text_of(&r->text));
    else if (r->depth == BELOW && is_in_gpu(r))
        put_gpu(r);
    else if (is_in_gpu(r) && r->text.n)
        take_value(r);
    r->depth--;
    r->text.n = 0;
}

/* What stands between < and >. */
static void take_tag(reader *r, hu_str tag)
{
    size_t n = 0;

    if (tag.n == 0 || tag.p[0] == '?' || tag.p[0] == '!')
        return;
    if (tag.p[0] == '/') {
        end_element(r);
        return;
    }
    while (n < tag.n && !strchr(" \t\r\n/", tag.p[n]))
        n++;
    begin_element(r, (hu_str){tag.p, n});
    if (tag.p[tag.n - 1] == '/')
        end_element(r);
}

/* Returns how much of the span was read; the rest is not whole. */
static size_t read_span(reader *r, hu_str s, bool is_last)
{
    size_t at = 0;

    while (at < s.n) {
        const char *open = memchr(s.p + at, '<', s.n - at), *close;
        size_t      from;

        if (!open)
            return is_last ? s.n : at;
        from = (size_t)(open - s.p);
        close = s.n - from > 3 && memcmp(open, "<!--", 4) == 0 ? memmem(open, s.n - from, "-->", 3)
                                                               : memchr(open, '>', s.n - from);
        if (!close)
            return is_last ? s.n : at;
        if (*close == '-')
            close += 2;
        if (from > at && r->text.n == 0)
            keep(&r->text, without_blanks((hu_str){s.p + at, from - at}));
        take_tag(r, (hu_str){open + 1, (size_t)(close - open) - 1});
        at = (size_t)(close - s.p) + 1;
    }
    return at;
}

int hu_smi_xml_read(hu_node_sink *sink, hu_input *in, hu_error *err)
{
    reader *r;
    hu_span span;
    size_t  left = 0;
    int     rc = 0;

    r = hu_arena_calloc(sink->log->arena, 1, sizeof *r);
    if (!r)
        return hu_fail_memory(err);
    *r = (reader){.sink = sink, .row = hu_node_row_new(), .number = -1};
    do {
        rc = hu_input_next(in, left, &span, err);
        if (rc == 0)
            left = span.n - read_span(r, (hu_str){span.p, span.n}, span.is_last);
    } while (rc == 0 && !span.is_last && sink->has_memory);
    /* a loop that was stopped leaves its last look cut: the others count */
    if (rc == 0 && r->depth && r->looks < 2)
        rc = hu_fail(err, HU_EFORMAT, hu_input_name(in), (int64_t)(span.offset + span.n),
                     "this XML of nvidia-smi ends before </nvidia_smi_log>; ask for it again");
    return rc;
}
