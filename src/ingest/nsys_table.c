/* SPDX-License-Identifier: Apache-2.0
 * nsys_table.c - headings mean columns, whatever year wrote them; rows are read by them.
 *
 * Traps: numbers may have commas in groups of three; grids are three numbers with blanks between them, so text columns are
 * cut where the dashes below the headings begin, which counts characters and not bytes; a name may have bars, commas, quotes
 * and line ends; until 2020 units stood in the title, and sizes were KiB. */
#include "ingest/nsys_table.h"

#include <math.h>

#include "base/number.h"
#include "base/utf8.h"

static const double MOST_VALUE = 1e18; /* 31 years in ns: more is no time */
enum { MOST_FIELD = 64 << 10 };        /* bytes in quotes: a longer name comes from a file that was made to be slow */

typedef struct {
    hu_str at[HU_NSYS_MOST_COLUMNS];
    size_t n;
} cells;

hu_str hu_nsys_line_take(hu_str *text)
{
    const char  *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
    hu_str       line = {text->p, end ? (size_t)(end - text->p) : text->n};
    const size_t taken = line.n + (end != NULL);

    *text = (hu_str){text->p + taken, text->n - taken};
    while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

/* Headings */

/* "ns" of "Total Time (ns)"; "" without. */
static hu_str unit_of(hu_str heading)
{
    const char *open = heading.n ? memrchr(heading.p, '(', heading.n) : NULL;

    if (!open || heading.p[heading.n - 1] != ')')
        return HU_STR("");
    return (hu_str){open + 1, (size_t)(heading.p + heading.n - open) - 2};
}

/* ns or bytes of one; 0: unknown. */
static double factor_of(hu_str unit, bool is_bytes)
{
    static const struct {
        const char *word;
        bool        is_bytes;
        double      factor;
    } units[] = {
        {"ns", false, 1},          {"nsec", false, 1},        {"nanoseconds", false, 1},
        {"us", false, 1e3},        {"\xc2\xb5s", false, 1e3}, {"usec", false, 1e3},
        {"ms", false, 1e6},        {"msec", false, 1e6},      {"s", false, 1e9},
        {"sec", false, 1e9},       {"m", false, 60e9},        {"min", false, 60e9},
        {"h", false, 3600e9},      {"hour", false, 3600e9},   {"B", true, 1},
        {"KB", true, 1e3},         {"kB", true, 1e3},         {"KiB", true, 1024},
        {"MB", true, 1e6},         {"MiB", true, 1048576},    {"GB", true, 1e9},
        {"GiB", true, 1073741824},
    };

    for (size_t i = 0; i < HU_COUNT(units); i++)
        if (units[i].is_bytes == is_bytes && hu_str_equal(unit, hu_str_of(units[i].word)))
            return units[i].factor;
    return 0;
}

static hu_nsys_column column_of(hu_str heading)
{
    static const struct {
        const char    *word;
        hu_nsys_column column;
    } begins[] =
        {
            {"Avg", HU_NSYS_COLUMN_MEAN},     {"Average", HU_NSYS_COLUMN_MEAN},     {"Med", HU_NSYS_COLUMN_MEDIAN},
            {"Min", HU_NSYS_COLUMN_LEAST},    {"Minimum", HU_NSYS_COLUMN_LEAST},    {"Max", HU_NSYS_COLUMN_MOST},
            {"Maximum", HU_NSYS_COLUMN_MOST}, {"StdDev", HU_NSYS_COLUMN_DEVIATION},
        },
      whole[] = {
          {"Time(%)", HU_NSYS_COLUMN_PCT},      {"Time (%)", HU_NSYS_COLUMN_PCT},    {"Num Calls", HU_NSYS_COLUMN_COUNT},
          {"Calls", HU_NSYS_COLUMN_COUNT},      {"Instances", HU_NSYS_COLUMN_COUNT}, {"Count", HU_NSYS_COLUMN_COUNT},
          {"Operations", HU_NSYS_COLUMN_COUNT}, {"Name", HU_NSYS_COLUMN_NAME},       {"Operation", HU_NSYS_COLUMN_NAME},
          {"Range", HU_NSYS_COLUMN_NAME},       {"Style", HU_NSYS_COLUMN_GROUP},     {"Category", HU_NSYS_COLUMN_GROUP},
      };
    const char  *open = heading.n ? memchr(heading.p, '(', heading.n) : NULL;
    const hu_str bare = hu_str_trim((hu_str){heading.p, open ? (size_t)(open - heading.p) : heading.n});

    for (size_t i = 0; i < HU_COUNT(whole); i++)
        if (hu_str_equal(heading, hu_str_of(whole[i].word)))
            return whole[i].column;
    for (size_t i = 0; i < HU_COUNT(begins); i++)
        if (hu_str_equal(bare, hu_str_of(begins[i].word)))
            return begins[i].column;
    return hu_str_equal(bare, HU_STR("Total")) || hu_str_equal(bare, HU_STR("Total Time")) ? HU_NSYS_COLUMN_TOTAL
                                                                                           : HU_NSYS_COLUMN_OTHER;
}

static bool add_cell(cells *c, hu_str text)
{
    if (c->n == HU_NSYS_MOST_COLUMNS)
        return false;
    c->at[c->n++] = text;
    return true;
}

/* By two blanks or more, which headings do not have inside. */
static bool split_blanks(hu_str line, cells *c)
{
    for (line = hu_str_trim(line); line.n; line = hu_str_trim(line)) {
        const char *gap = memmem(line.p, line.n, "  ", 2);
        hu_str      text = {line.p, gap ? (size_t)(gap - line.p) : line.n};

        if (!add_cell(c, text))
            return false;
        line = (hu_str){line.p + text.n, line.n - text.n};
    }
    return true;
}

/* The text up to `mark`, which is cut off too. */
static hu_str take_until(hu_str *s, char mark)
{
    const char  *at = s->n ? memchr(s->p, mark, s->n) : NULL;
    const hu_str text = {s->p, at ? (size_t)(at - s->p) : s->n};
    const size_t taken = text.n + (at != NULL);

    *s = (hu_str){s->p + taken, s->n - taken};
    return text;
}

/* Headings have none of the marks that part them, and no quotes that are needed. */
static bool split_marks(hu_str line, char mark, cells *c)
{
    while (line.n) {
        hu_str text = hu_str_trim(take_until(&line, mark));

        if (text.n >= 2 && text.p[0] == '"' && text.p[text.n - 1] == '"')
            text = (hu_str){text.p + 1, text.n - 2};
        if (!add_cell(c, text))
            return false;
    }
    return true;
}

/* A line of dashes and blanks: where each run of dashes begins.  False: another line, or not `n` runs. */
static bool read_dashes(hu_str line, size_t n, size_t *begin)
{
    size_t found = 0;

    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != '-' && line.p[i] != ' ')
            return false;
        if (line.p[i] == '-' && (i == 0 || line.p[i - 1] == ' ')) {
            if (found == n)
                return false;
            begin[found++] = i;
        }
    }
    return found == n;
}

/* A byte-order mark is what spreadsheets put before a CSV. */
static hu_str without_mark(hu_str line)
{
    return hu_str_starts(line, HU_STR("\xef\xbb\xbf")) ? (hu_str){line.p + 3, line.n - 3} : line;
}

/* The first column is one of few. */
static bool may_be_heading(hu_str line)
{
    static const hu_str firsts[] = {{"Time", 4}, {"Total", 5}, {"\"Time", 5}, {"\"Total", 6}};
    size_t              i = 0;

    while (i < line.n && i < 64 && (line.p[i] == ' ' || line.p[i] == '\t'))
        i++;
    for (size_t k = 0; k < HU_COUNT(firsts); k++)
        if (hu_str_starts((hu_str){line.p + i, line.n - i}, firsts[k]))
            return true;
    return line.n > 2 && line.p[0] == '|' && line.p[1] == ' ' && may_be_heading((hu_str){line.p + 1, line.n - 1});
}

static bool split_heading(hu_str line, hu_str below, hu_nsys_heading *h, cells *c)
{
    const hu_str words = hu_str_trim(line);

    if (words.p[0] == '|' && words.p[words.n - 1] == '|') {
        h->form = HU_NSYS_BARS;
        return split_marks((hu_str){words.p + 1, words.n - 2}, '|', c);
    }
    if (memchr(line.p, ',', line.n)) {
        h->form = HU_NSYS_COMMAS;
        return split_marks(line, ',', c);
    }
    if (memchr(words.p, '\t', words.n)) {
        h->form = HU_NSYS_TABS;
        return split_marks(line, '\t', c);
    }
    h->form = HU_NSYS_COLUMNS;
    return split_blanks(line, c) && read_dashes(below, c->n, h->begin);
}

bool hu_nsys_heading_read(hu_str text, hu_nsys_heading *out)
{
    const char  *begin = text.p;
    const hu_str line = without_mark(hu_nsys_line_take(&text));
    hu_str       rest = text, below, total = {0};
    unsigned     seen = 0;
    cells        c = {0};

    if (!may_be_heading(line))
        return false;
    below = hu_nsys_line_take(&rest);
    *out = (hu_nsys_heading){.count = HU_STR(""), .name = HU_STR("")};
    if (!split_heading(line, below, out, &c))
        return false;
    out->n = c.n;
    for (size_t i = 0; i < c.n; i++) {
        out->columns[i] = column_of(c.at[i]);
        if (out->columns[i] != HU_NSYS_COLUMN_OTHER && (seen >> out->columns[i] & 1u))
            return false;
        seen |= 1u << out->columns[i];
        if (out->columns[i] == HU_NSYS_COLUMN_TOTAL)
            total = c.at[i];
        else if (out->columns[i] == HU_NSYS_COLUMN_COUNT)
            out->count = c.at[i];
        else if (out->columns[i] == HU_NSYS_COLUMN_NAME)
            out->name = c.at[i];
    }
    if (!(seen >> HU_NSYS_COLUMN_TOTAL & 1u) || !out->count.n || !out->name.n)
        return false;
    out->is_bytes = !hu_str_starts(total, HU_STR("Total Time"));
    out->unit = memchr(total.p, '(', total.n) ? factor_of(unit_of(total), out->is_bytes) : out->is_bytes ? 1024 : 1;
    out->n_bytes = (size_t)((out->form == HU_NSYS_COLUMNS ? rest.p : text.p) - begin);
    return out->unit > 0;
}

/* Rows */

/* "1,234.5" or "74.3%" without what is no digit, as long as commas part groups of three.  False: no number. */
static bool read_number(hu_str text, double *out)
{
    char   plain[HU_NUMBER_BYTES];
    double value;
    size_t n = 0, digits = 0;
    bool   is_grouped = false, has_point = false;

    text = hu_str_trim(text);
    if (text.n && text.p[text.n - 1] == '%')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        const char ch = text.p[i];

        if ((ch == ',' || ch == '.') && !has_point && is_grouped && digits != 3)
            return false;
        if (ch == ',') {
            if (has_point || digits == 0 || digits > 3)
                return false;
            is_grouped = true;
            digits = 0;
            continue;
        }
        if (n == sizeof plain)
            return false;
        has_point |= ch == '.';
        digits += !has_point;
        plain[n++] = ch;
    }
    if (is_grouped && !has_point && digits != 3)
        return false;
    if (n == 0 || !hu_parse_f64((hu_str){plain, n}, &value) || !isfinite(value) || fabs(value) > MOST_VALUE)
        return false;
    *out = value;
    return true;
}

/* A field in quotes, in which two of them stand for one. */
static hu_nsys_taken take_quoted(hu_str *text, hu_arena *arena, hu_str *out)
{
    const char *const begin = text->p + 1, *const end = text->p + text->n, *p = begin;
    size_t doubled = 0, n = 0;
    char  *copy;

    for (;; p += 2, doubled++) {
        p = p < end ? memchr(p, '"', (size_t)(end - p)) : NULL;
        if (p && p - begin > MOST_FIELD)
            return HU_NSYS_NO_ROW;
        if (!p)
            return end - begin > MOST_FIELD ? HU_NSYS_NO_ROW : HU_NSYS_CUT_ROW;
        if (p + 1 == end || p[1] != '"')
            break;
    }
    *text = (hu_str){p + 1, (size_t)(end - p) - 1};
    *out = (hu_str){begin, (size_t)(p - begin)};
    if (!doubled)
        return HU_NSYS_ROW;
    if (!(copy = hu_arena_alloc(arena, out->n)))
        return HU_NSYS_NO_MEMORY;
    for (size_t from = 0; from < out->n; from++) {
        copy[n++] = out->p[from];
        from += out->p[from] == '"';
    }
    *out = (hu_str){copy, n};
    return HU_NSYS_ROW;
}

static hu_nsys_taken split_fields(hu_str *text, char mark, hu_arena *arena, cells *c)
{
    for (;;) {
        hu_str        field = {text->p, 0};
        hu_nsys_taken taken;

        if (text->n && text->p[0] == '"') {
            if ((taken = take_quoted(text, arena, &field)) != HU_NSYS_ROW)
                return taken;
        } else {
            while (field.n < text->n && text->p[field.n] != mark && text->p[field.n] != '\n')
                field.n++;
            *text = (hu_str){text->p + field.n, text->n - field.n};
            if (field.n && field.p[field.n - 1] == '\r')
                field.n--;
        }
        if (!add_cell(c, field))
            return HU_NSYS_NO_ROW;
        while (text->n && text->p[0] != mark && text->p[0] != '\n')
            *text = (hu_str){text->p + 1, text->n - 1};
        if (text->n == 0)
            return HU_NSYS_ROW;
        *text = (hu_str){text->p + 1, text->n - 1};
        if (text->p[-1] == '\n')
            return HU_NSYS_ROW;
    }
}

/* Where character `n` of a line begins; its end where it has fewer. */
static size_t byte_of(hu_str line, size_t n)
{
    hu_str rest = line;

    while (n && rest.n) {
        hu_utf8_next(&rest);
        n--;
    }
    return (size_t)(rest.p - line.p);
}

static bool is_text(hu_nsys_column column)
{
    return column == HU_NSYS_COLUMN_OTHER || column >= HU_NSYS_COLUMN_GROUP;
}

/* Numbers have no blanks; what follows them begins where its dashes do, or is all that is left. */
static bool split_columns(const hu_nsys_heading *h, hu_str line, cells *c)
{
    hu_str rest = hu_str_trim(line);

    for (; c->n < h->n && !is_text(h->columns[c->n]); rest = hu_str_trim(rest))
        c->at[c->n++] = take_until(&rest, ' ');
    if (c->n + 1 == h->n)
        return add_cell(c, rest);
    while (c->n < h->n) {
        const size_t from = byte_of(line, h->begin[c->n]);
        const size_t to = c->n + 1 < h->n ? byte_of(line, h->begin[c->n + 1]) : line.n;

        c->at[c->n++] = hu_str_trim((hu_str){line.p + from, to - from});
    }
    return true;
}

/* The last cell has what is left: names may have bars in them. */
static bool split_bars(const hu_nsys_heading *h, hu_str line, cells *c)
{
    hu_str rest = hu_str_trim(line);

    if (rest.n < 2 || rest.p[0] != '|' || rest.p[rest.n - 1] != '|')
        return false;
    rest = (hu_str){rest.p + 1, rest.n - 2};
    while (c->n + 1 < h->n)
        c->at[c->n++] = hu_str_trim(take_until(&rest, '|'));
    return add_cell(c, hu_str_trim(rest));
}

static hu_nsys_taken take_cells(const hu_nsys_heading *h, hu_str *text, hu_arena *arena, cells *c)
{
    hu_str line, before;

    if (h->form == HU_NSYS_COMMAS || h->form == HU_NSYS_TABS)
        return split_fields(text, h->form == HU_NSYS_COMMAS ? ',' : '\t', arena, c);
    do {
        before = *text;
        line = hu_nsys_line_take(text);
    } while (h->form == HU_NSYS_BARS && hu_str_starts(hu_str_trim(line), HU_STR("+-")));
    if (hu_str_trim(line).n && (h->form == HU_NSYS_BARS ? split_bars(h, line, c) : split_columns(h, line, c)))
        return HU_NSYS_ROW;
    *text = before;
    return HU_NSYS_NO_ROW;
}

hu_nsys_taken hu_nsys_row_take(const hu_nsys_heading *heading, hu_str *text, hu_arena *arena, hu_nsys_row *out)
{
    const hu_str  before = *text;
    cells         c = {0};
    hu_nsys_taken taken = text->n ? take_cells(heading, text, arena, &c) : HU_NSYS_NO_ROW;
    const double  none = (double)NAN;
    double        values[HU_NSYS_COLUMN_DEVIATION + 1];
    size_t        n_empty = 0;
    const bool    is_last = text->n == 0 && before.n && before.p[before.n - 1] != '\n';

    if (taken == HU_NSYS_ROW && c.n != heading->n)
        taken = is_last && c.n < heading->n && c.n > 1 ? HU_NSYS_CUT_ROW : HU_NSYS_NO_ROW;
    for (size_t i = 0; i < HU_COUNT(values); i++)
        values[i] = none;
    *out = (hu_nsys_row){.name = HU_STR(""), .group = HU_STR("")};
    for (size_t i = 0; taken == HU_NSYS_ROW && i < c.n; i++) {
        if (heading->columns[i] == HU_NSYS_COLUMN_NAME)
            out->name = hu_str_trim(c.at[i]);
        else if (heading->columns[i] == HU_NSYS_COLUMN_GROUP)
            out->group = hu_str_trim(c.at[i]);
        else if (heading->columns[i] != HU_NSYS_COLUMN_OTHER && !read_number(c.at[i], &values[heading->columns[i]]))
            n_empty++;
    }
    if (taken == HU_NSYS_ROW && !(values[HU_NSYS_COLUMN_TOTAL] >= 0 && values[HU_NSYS_COLUMN_COUNT] >= 0))
        taken = is_last && values[HU_NSYS_COLUMN_PCT] >= 0 ? HU_NSYS_CUT_ROW : HU_NSYS_NO_ROW;
    else if (taken == HU_NSYS_ROW && is_last && (n_empty || !out->name.n))
        taken = HU_NSYS_CUT_ROW; /* its last number may lack digits */
    if (taken == HU_NSYS_NO_ROW)
        *text = before;
    if (taken != HU_NSYS_ROW)
        return taken;
    out->pct = values[HU_NSYS_COLUMN_PCT] >= 0 ? values[HU_NSYS_COLUMN_PCT] : none;
    out->count = (int64_t)values[HU_NSYS_COLUMN_COUNT];
    out->total = values[HU_NSYS_COLUMN_TOTAL] * heading->unit;
    out->mean = values[HU_NSYS_COLUMN_MEAN] * heading->unit;
    out->median = values[HU_NSYS_COLUMN_MEDIAN] * heading->unit;
    out->least = values[HU_NSYS_COLUMN_LEAST] * heading->unit;
    out->most = values[HU_NSYS_COLUMN_MOST] * heading->unit;
    return HU_NSYS_ROW;
}
