/* SPDX-License-Identifier: Apache-2.0
 * rank_times.c - three forms (--timing-log-option): minmax, max and all.
 *
 *     (min, max) time across ranks (ms):
 *         forward-backward ...............................: (3198.27, 3199.53)
 *     max time across ranks (ms):                                      older versions keep the heading "(min, max)"
 *         optimizer ......................................: 166.36
 *     times across ranks (ms):
 *       forward-backward:
 *          rank  0: 3198.27
 *
 * A launcher's words may stand before a line, lines of another rank between two of a block, and the first timer behind the
 * heading.
 */
#include "ingest/rank_times.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"

enum { MOST_OTHERS = 3 };

static const double MOST_MS = 1e9;

static bool read_ms(hu_str text, int64_t *ns)
{
    double ms;

    text = hu_str_trim(text);
    if (text.n == 0 || !isdigit((unsigned char)text.p[0]) || !hu_parse_f64(text, &ms) || !(ms >= 0 && ms < MOST_MS))
        return false;
    *ns = llround(ms * 1e6);
    return true;
}

/* The last word of a text, without the dots that fill it up. */
static hu_str last_word(hu_str text)
{
    size_t from;

    while (text.n && (text.p[text.n - 1] == '.' || isspace((unsigned char)text.p[text.n - 1])))
        text.n--;
    for (from = text.n; from && !isspace((unsigned char)text.p[from - 1]); from--)
        continue;
    return (hu_str){text.p + from, text.n - from};
}

/* "name ....: (1.00, 2.00)" or "name ....: 2.00" */
static bool read_value(hu_str line, hu_rank_time *out)
{
    const char *colon = line.n ? memrchr(line.p, ':', line.n) : NULL;
    hu_str      value;
    const char *comma;

    if (!colon || colon == line.p || !strchr(". ", colon[-1])) /* "step: 1.13" is of others */
        return false;
    out->name = last_word((hu_str){line.p, (size_t)(colon - line.p)});
    out->least = out->slowest = -1;
    value = hu_str_trim((hu_str){colon + 1, (size_t)(line.p + line.n - colon) - 1});
    if (out->name.n == 0 || out->name.n >= HU_RANK_NAME || !hu_char_is_letter(out->name.p[0]))
        return false;
    if (value.n < 2 || value.p[0] != '(')
        return read_ms(value, &out->most);
    comma = memchr(value.p, ',', value.n);
    if (!comma || value.p[value.n - 1] != ')' ||
        !read_ms((hu_str){value.p + 1, (size_t)(comma - value.p) - 1}, &out->least) ||
        !read_ms((hu_str){comma + 1, (size_t)(value.p + value.n - comma) - 2}, &out->most))
        return false;
    return out->least <= out->most;
}

/* Ends the list of a timer. */
static bool end_list(hu_ranks_reader *r, hu_rank_time *out)
{
    const bool has = r->block == HU_RANKS_LISTS && r->n_ranks > 0;

    if (has) {
        memcpy(r->ended, r->name, r->n_name);
        *out = (hu_rank_time){{r->ended, r->n_name}, r->n_ranks > 1 ? r->least : -1, r->most, r->slowest};
    }
    r->n_ranks = 0;
    return has;
}

/* "rank  7: 12.34" */
static bool read_rank(hu_ranks_reader *r, hu_str line)
{
    const char *at = line.n > 5 ? memmem(line.p, line.n, "rank ", 5) : NULL, *colon;
    hu_str      rest;
    int64_t     rank, ns;

    if (!at)
        return false;
    rest = (hu_str){at + 5, (size_t)(line.p + line.n - at) - 5};
    colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL;
    if (!colon || !hu_parse_i64(hu_str_trim((hu_str){rest.p, (size_t)(colon - rest.p)}), &rank) || rank < 0 ||
        !read_ms((hu_str){colon + 1, (size_t)(rest.p + rest.n - colon) - 1}, &ns))
        return false;
    if (r->n_ranks == 0 || ns < r->least)
        r->least = ns;
    if (r->n_ranks == 0 || ns > r->most) {
        r->most = ns;
        r->slowest = rank;
    }
    r->n_ranks++;
    return true;
}

static void take_list_line(hu_ranks_reader *r, hu_str line, hu_rank_time *out, bool *has, bool *is_taken)
{
    hu_str name;

    if (r->n_name && read_rank(r, line)) {
        *is_taken = true;
        return;
    }
    *has = end_list(r, out);
    name = line.n > 1 && line.p[line.n - 1] == ':' ? last_word((hu_str){line.p, line.n - 1}) : HU_STR("");
    r->block = HU_RANKS_NONE;
    if (name.n == 0 || name.n >= HU_RANK_NAME || !hu_char_is_letter(name.p[0]) || hu_str_has(line, HU_STR("]")))
        return;
    r->block = HU_RANKS_LISTS;
    *is_taken = true;
    memcpy(r->name, name.p, name.n);
    r->n_name = name.n;
}

void hu_ranks_line(hu_ranks_reader *r, hu_str line, hu_rank_time *out, bool *has, bool *is_taken)
{
    static const char values[] = "time across ranks (ms):", lists[] = "times across ranks (ms):";
    const bool        may_begin = line.n >= sizeof lists - 1 && hu_str_has(line, HU_STR(" across ranks (ms):"));
    const char       *at = may_begin ? memmem(line.p, line.n, values, sizeof values - 1) : NULL;

    *has = *is_taken = false;
    if (may_begin && (at || hu_str_has(line, HU_STR(lists)))) {
        *has = end_list(r, out);
        *is_taken = true;
        r->block = at ? HU_RANKS_VALUES : HU_RANKS_LISTS;
        r->n_name = r->n_others = 0;
        if (at && !*has) {
            at += sizeof values - 1;
            *has = read_value((hu_str){at, (size_t)(line.p + line.n - at)}, out);
        }
        return;
    }
    if (r->block == HU_RANKS_LISTS) {
        take_list_line(r, line, out, has, is_taken);
        return;
    }
    if (r->block != HU_RANKS_VALUES)
        return;
    *has = *is_taken = read_value(line, out);
    r->n_others = *is_taken ? 0 : r->n_others + 1;
    if (r->n_others > MOST_OTHERS)
        r->block = HU_RANKS_NONE;
}
