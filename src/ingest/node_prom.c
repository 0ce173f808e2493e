/* SPDX-License-Identifier: Apache-2.0
 * node_prom.c - name{label="text",…} value [time in ms].
 *
 * Scrapes that are laid behind one another in a file are told apart by their first series, which comes again.  A line with
 * nothing but a time (of `date`) is that of the scrape behind it.
 */
#include "ingest/node_prom.h"

#include "base/number.h"
#include "ingest/node_time.h"

enum { MILLISECOND = 1000000 };

static bool is_name(char c)
{
    return hu_char_is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

static hu_str name_of(hu_str line)
{
    size_t n = 0;

    while (n < line.n && is_name(line.p[n]))
        n++;
    return (hu_str){line.p, n};
}

bool hu_node_prom_heading(hu_str line)
{
    line = hu_str_trim(line);
    if (hu_str_starts(line, HU_STR("# HELP ")) || hu_str_starts(line, HU_STR("# TYPE ")))
        return hu_series_is_known((hu_str){line.p + 7, line.n - 7});
    return hu_series_is_known(line) && name_of(line).n < line.n && line.p[name_of(line).n] == '{';
}

/* From the opening brace to behind the closing one; quotes and what stands behind a backslash stay in texts.  0: broken. */
static size_t take_labels(hu_str s, hu_series_labels *out)
{
    size_t at = 1;

    while (at < s.n && s.p[at] != '}') {
        hu_str  name, text;
        hu_str *label;
        size_t  from;

        while (at < s.n && (s.p[at] == ' ' || s.p[at] == ','))
            at++;
        name = name_of((hu_str){s.p + at, s.n - at});
        if (at < s.n && s.p[at] == '}')
            break;
        at += name.n;
        if (name.n == 0 || at + 1 >= s.n || s.p[at] != '=' || s.p[at + 1] != '"')
            return 0;
        for (from = at += 2; at < s.n && s.p[at] != '"'; at++)
            at += s.p[at] == '\\';
        if (at >= s.n)
            return 0;
        text = (hu_str){s.p + from, at - from};
        at++;
        label = hu_series_label(out, name);
        if (label && text.n)
            *label = text;
    }
    return at < s.n ? at + 1 : 0;
}

static void next_scrape(hu_node_prom *p)
{
    hu_node_next_moment(p->series->sink);
    p->has_begun = true;
}

/* Does this series begin a scrape? */
static void see(hu_node_prom *p, hu_str key)
{
    key.n = key.n < HU_NODE_PROM_KEY ? key.n : HU_NODE_PROM_KEY;
    if (p->n_first == 0) {
        memcpy(p->first, key.p, key.n);
        p->n_first = key.n;
    } else if (p->has_begun && hu_str_equal(key, (hu_str){p->first, p->n_first})) {
        p->has_begun = false;
        p->ns = 0;
    }
    if (!p->has_begun)
        next_scrape(p);
}

/* "# 1795000000", "Fri Jul  3 22:11:09 UTC 2026" */
bool hu_node_prom_time(hu_node_prom *p, hu_str line)
{
    int64_t ns;

    while (line.n && (line.p[0] == '#' || line.p[0] == ' '))
        line = (hu_str){line.p + 1, line.n - 1};
    ns = hu_node_time(line);
    if (ns == 0)
        return false;
    p->ns = ns;
    p->has_begun = false;
    return true;
}

static bool take_value(hu_node_prom *p, hu_str name, hu_str key, const hu_series_labels *l, hu_str rest)
{
    const char *blank;
    hu_str      number, stamp = HU_STR("");
    int64_t     ns, ms;
    double      value;
    uint32_t    gpu;

    rest = hu_str_trim(rest);
    blank = rest.n ? memchr(rest.p, ' ', rest.n) : NULL;
    number = blank ? (hu_str){rest.p, (size_t)(blank - rest.p)} : rest;
    if (blank)
        stamp = hu_str_trim((hu_str){blank, (size_t)(rest.p + rest.n - blank)});
    if (!hu_parse_f64(number, &value))
        return hu_str_equal(number, HU_STR("NaN")) || hu_str_equal(number, HU_STR("+Inf")) ||
               hu_str_equal(number, HU_STR("-Inf"));
    see(p, key);
    ns = hu_parse_i64(stamp, &ms) && ms > INT64_C(1000000000000) && ms < INT64_MAX / MILLISECOND ? ms * MILLISECOND
         : p->ns                                                                                 ? p->ns
                                                                                                 : p->series->sink->moment;
    if (hu_series_take_zone(p->series, name, l, HU_STR(""), ns, value))
        return true;
    gpu = hu_series_gpu(p->series, name, l, HU_STR(""));
    if (gpu != HU_NONE)
        hu_series_take(p->series, gpu, name, l, ns, value);
    return true;
}

bool hu_node_prom_line(hu_node_prom *p, hu_str line)
{
    hu_series_labels l = {0};
    hu_str           name;
    size_t           n;

    line = hu_str_trim(line);
    name = name_of(line);
    if (hu_str_starts(line, HU_STR("# HELP ")))
        hu_series_take_help(p->series, line);
    if (name.n == 0)
        return line.n == 0 || hu_node_prom_time(p, line) || line.p[0] == '#';
    n = name.n;
    if (n < line.n && line.p[n] == '{') {
        const size_t labels = take_labels((hu_str){line.p + n, line.n - n}, &l);

        if (labels == 0)
            return false;
        n += labels;
    }
    return hu_node_prom_time(p, line) || take_value(p, name, (hu_str){line.p, n}, &l, (hu_str){line.p + n, line.n - n});
}
