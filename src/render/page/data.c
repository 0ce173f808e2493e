/* SPDX-License-Identifier: Apache-2.0
 * data.c - what the page's script reads: the report as --json prints it, what its tables are called, the timelines.
 *
 * Each is gzip in base64 in an element that no browser runs, with its length unpacked so that a reader can refuse more.
 */
#include <string.h>

#include "base/pack.h"
#include "render/page/page.h"
#include "render/table/plain.h"

/* What stands for the values of a text. */
static void write_terms(hu_json_out *j, const hu_term *terms)
{
    if (!terms)
        return;
    hu_json_open(j, "words", '{');
    for (const hu_term *t = terms; t->key; t++)
        hu_json_str(j, t->key, hu_str_of(t->words));
    hu_json_close(j, '}');
}

/* Has another one of them the same heading? */
static bool is_ambiguous(const hu_column *columns, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (i != at && columns[i].key && columns[i].head && strcmp(columns[i].head, columns[at].head) == 0)
            return true;
    return false;
}

/* The name of a column whose heading does not tell it from the others: the key is for programs. */
static void write_name(hu_json_out *j, const hu_column *columns, size_t n, size_t at)
{
    hu_plain  plain;
    hu_column named = columns[at];

    if (named.head && !is_ambiguous(columns, n, at) && hu_str_equal(hu_plain_name(&plain, &named), hu_str_of(named.head)))
        return;
    named.head = NULL;
    hu_json_str(j, "name", hu_plain_name(&plain, &named));
}

/* Of `table`, or the facts of `view` where that is NULL. */
static void write_columns(hu_json_out *j, const char *key, const hu_view *view, const hu_table *table, const hu_rank *rank)
{
    const hu_column *columns = table ? table->columns : view->facts;
    const size_t     n = table ? table->n_columns : view->n_facts;
    hu_plain         plain;

    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        const hu_column *c = &columns[i];

        if (!c->key)
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "key", hu_str_of(c->key));
        hu_json_str(j, "head", hu_str_of(c->head ? c->head : ""));
        write_name(j, columns, n, i);
        hu_json_str(j, "type", hu_str_of(hu_columns_type(c)));
        hu_json_str(j, "help", hu_plain_help(&plain, view, table, c));
        write_terms(j, c->terms);
        hu_json_bool(j, "shown", c->head && (!c->shown || c->shown(rank)));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* Names, units and words of every view, so that the script knows no table by heart. */
static void write_views(hu_json_out *j, const hu_rank *rank)
{
    hu_json_open(j, "views", '[');
    for (size_t v = 0; hu_views[v]; v++) {
        const hu_view *view = hu_views[v];

        if (hu_view_is_job(view)) /* the page shows ranks in its own way */
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "word", hu_str_of(view->word));
        hu_json_str(j, "key", hu_str_of(view->key));
        hu_json_str(j, "about", hu_str_of(view->about));
        hu_json_bool(j, "is_list", view->is_list);
        hu_json_str(j, "nothing", hu_str_of(view->nothing ? view->nothing : ""));
        write_columns(j, "facts", view, NULL, rank);
        hu_json_open(j, "tables", '[');
        for (size_t t = 0; t < view->n_tables; t++) {
            hu_json_open(j, NULL, '{');
            hu_json_str(j, "key", hu_str_of(view->tables[t]->key));
            hu_json_str(j, "title", hu_str_of(view->tables[t]->title));
            hu_json_str(j, "about", hu_str_of(view->tables[t]->about));
            hu_json_str(j, "empty", hu_str_of(view->tables[t]->empty ? view->tables[t]->empty : ""));
            hu_json_bool(j, "is_series", view->tables[t]->is_series);
            write_columns(j, "columns", view, view->tables[t], rank);
            hu_json_close(j, '}');
        }
        hu_json_close(j, ']');
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* The capture setting that would bring what is missing, by its key in quality.not_captured. */
static void write_missing(hu_json_out *j, const hu_page *p)
{
    hu_json_open(j, "missing", '{');
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++) {
        hu_json_open(j, hu_missing_key(m), '{');
        hu_json_str(j, "what", hu_str_of(hu_missing_what(m)));
        hu_json_str(j, "how", hu_str_of(hu_missing_how(&p->d->health, m)));
        hu_json_close(j, '}');
    }
    hu_json_close(j, '}');
}

/* What classes of time are called, by their keys. */
static void write_classes(hu_json_out *j)
{
    hu_json_open(j, "classes", '{');
    for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
        hu_json_str(j, hu_class_key(c), hu_str_of(hu_class_words(c)));
    hu_json_close(j, '}');
}

/* What the kinds of the timeline's legend are: rows of docs/words.md. */
static void write_kinds(hu_json_out *j)
{
    hu_json_open(j, "kinds", '{');
    for (unsigned k = 0; k < HU_KIND_COUNT; k++)
        if (*hu_kind_help(k))
            hu_json_str(j, hu_kind_name(k), hu_str_of(hu_kind_help(k)));
    hu_json_close(j, '}');
}

/* Findings whose simulated step the timeline of the rank holds. */
static void write_scenarios(hu_json_out *j, const hu_page *p)
{
    const hu_timeline *t = &p->rank->timeline;

    hu_json_open(j, "scenarios", '[');
    for (size_t i = 0; i < t->n_scenarios; i++)
        hu_json_str(j, NULL, hu_str_of(hu_rule_key(t->scenarios[i])));
    hu_json_close(j, ']');
}

/* By rank, the moment from which its timeline counts; null where none is drawn. */
static void write_origins(hu_json_out *j, const hu_page *p)
{
    hu_json_open(j, "origins", '[');
    for (size_t i = 0; i < p->r->job->n; i++) {
        const hu_timeline *t = &p->r->job->ranks[i].timeline;

        if (t->raw_bytes)
            hu_json_int(j, NULL, t->origin_ns);
        else
            hu_json_null(j, NULL);
    }
    hu_json_close(j, ']');
}

/* The runs that are separate, with what each says of itself; empty: all ranks are of one. */
static void write_runs(hu_json_out *j, const hu_runs *runs)
{
    hu_json_open(j, "runs", '[');
    for (size_t i = 0; i < runs->n; i++) {
        const hu_run *run = &runs->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", run->name);
        hu_json_str(j, "verdict", hu_str_of(run->verdict.text));
        hu_json_str(j, "confidence", hu_str_of(hu_confidence_name(run->verdict.confidence)));
        hu_json_int(j, "shown", (int64_t)run->verdict.rank);
        hu_json_open(j, "ranks", '[');
        for (size_t k = 0; k < run->n; k++)
            hu_json_int(j, NULL, (int64_t)run->ranks[k]);
        hu_json_close(j, ']');
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static int write_block(hu_page *p, const char *id, hu_str text, hu_error *err)
{
    hu_str packed;
    int    rc = hu_pack_gzip(text, p->r->scratch, &packed, err);

    if (rc < 0)
        return rc;
    hu_out_printf(p->out, "<script type=\"application/octet-stream\" id=\"%s\" data-bytes=\"%zu\">", id, text.n);
    hu_pack_base64(p->out, packed);
    hu_out_text(p->out, "</script>\n");
    return 0;
}

static int write_words(hu_page *p, hu_error *err)
{
    hu_out     *memory = hu_out_open_memory(p->r->scratch);
    hu_json_out j = {.out = memory, .is_empty = true};
    hu_str      text;
    int         rc;

    if (!memory)
        return hu_fail_memory(err);
    hu_json_open(&j, NULL, '{');
    write_views(&j, p->rank);
    write_missing(&j, p);
    write_classes(&j);
    write_kinds(&j);
    hu_json_int(&j, "rank_index", (int64_t)p->r->job->verdict.rank);
    write_scenarios(&j, p);
    write_origins(&j, p);
    write_runs(&j, &p->r->job->runs);
    hu_json_bool(&j, "is_brief", p->r->job->n > HU_PAGE_WHOLE_RANKS);
    hu_json_close(&j, '}');
    rc = hu_out_take(memory, &text, err);
    return rc < 0 ? rc : write_block(p, "data-words", text, err);
}

static int write_report(hu_page *p, hu_error *err)
{
    hu_report whole = *p->r;
    hu_out   *memory = hu_out_open_memory(p->r->scratch);
    hu_str    text;
    int       rc;

    if (!memory)
        return hu_fail_memory(err);
    whole.top = 0;
    whole.is_brief = p->r->job->n > HU_PAGE_WHOLE_RANKS;
    rc = hu_json_write(&whole, memory, err);
    if (rc < 0) {
        hu_out_abandon(memory);
        return rc;
    }
    rc = hu_out_take(memory, &text, err);
    return rc < 0 ? rc : write_block(p, "data-report", text, err);
}

int hu_page_data(hu_page *p, hu_error *err)
{
    int rc;

    if ((rc = write_words(p, err)) < 0 || (rc = write_report(p, err)) < 0)
        return rc;
    for (size_t i = 0; i < p->r->job->n && !p->r->edition; i++) { /* a server is asked for them, piece by piece */
        const hu_timeline *t = &p->r->job->ranks[i].timeline;

        if (t->bytes.n == 0)
            continue;
        hu_out_printf(p->out,
                      "<script type=\"application/octet-stream\" class=\"data-timeline\" data-rank=\"%zu\" "
                      "data-bytes=\"%zu\" data-slices=\"%zu\">",
                      i, t->raw_bytes, t->n);
        hu_pack_base64(p->out, t->bytes);
        hu_out_text(p->out, "</script>\n");
    }
    return 0;
}
