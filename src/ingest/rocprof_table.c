/* SPDX-License-Identifier: Apache-2.0
 * rocprof_table.c - rows of CSV by their headings.
 *
 * Traps: names of kernels have commas and quotes, and since nobody escaped them in rocprof they may end in the middle of a
 * cell; a heading may be in quotes or not, with blanks behind its commas; numbers may be hexadecimal.
 */
#include "ingest/rocprof_table.h"

#include "base/number.h"

enum { MOST_CELL = 1 << 20 }; /* bytes in quotes: a longer name comes from a file that was made to be slow */

static const struct {
    const char    *word; /* in lower case, without '_' and '-' */
    rocprof_column column;
} words[] = {
    {"starttimestamp", ROCPROF_START},
    {"beginns", ROCPROF_START},
    {"endtimestamp", ROCPROF_END},
    {"endns", ROCPROF_END},
    {"kernelname", ROCPROF_KERNEL},
    {"function", ROCPROF_FUNCTION},
    {"domain", ROCPROF_DOMAIN},
    {"direction", ROCPROF_DIRECTION},
    {"operation", ROCPROF_OPERATION},
    {"agentid", ROCPROF_AGENT},
    {"gpuid", ROCPROF_NUMBER},
    {"queueid", ROCPROF_QUEUE},
    {"streamid", ROCPROF_STREAM},
    {"processid", ROCPROF_PROCESS},
    {"pid", ROCPROF_PROCESS},
    {"threadid", ROCPROF_THREAD},
    {"tid", ROCPROF_THREAD},
    {"dispatchid", ROCPROF_DISPATCH},
    {"correlationid", ROCPROF_CORRELATION},
    {"sourceagentid", ROCPROF_FROM},
    {"destinationagentid", ROCPROF_TO},
    {"allocationsize", ROCPROF_BYTES},
    {"address", ROCPROF_ADDRESS},
    {"gridsizex", ROCPROF_GRID_X},
    {"gridsizey", ROCPROF_GRID_Y},
    {"gridsizez", ROCPROF_GRID_Z},
    {"gridsize", ROCPROF_GRID_X},
    {"grd", ROCPROF_GRID_X},
    {"workgroupsizex", ROCPROF_GROUP_X},
    {"workgroupsizey", ROCPROF_GROUP_Y},
    {"workgroupsizez", ROCPROF_GROUP_Z},
    {"workgroupsize", ROCPROF_GROUP_X},
    {"wgr", ROCPROF_GROUP_X},
    {"ldsblocksize", ROCPROF_SHARED},
    {"groupsegmentsize", ROCPROF_SHARED},
    {"ldsperworkgroup", ROCPROF_SHARED},
    {"lds", ROCPROF_SHARED},
    {"vgprcount", ROCPROF_VECTOR},
    {"archvgpr", ROCPROF_VECTOR},
    {"vgpr", ROCPROF_VECTOR},
    {"accumvgprcount", ROCPROF_ACCUMULATION},
    {"accumvgpr", ROCPROF_ACCUMULATION},
    {"countername", ROCPROF_COUNTER},
    {"nodeid", ROCPROF_NODE},
    {"logicalnodeid", ROCPROF_LOGICAL},
    {"agenttype", ROCPROF_TYPE},
    {"cucount", ROCPROF_UNITS},
    {"wavefrontsize", ROCPROF_WAVE},
    {"maxwavespercu", ROCPROF_WAVES},
    {"name", ROCPROF_NAME},
    {"productname", ROCPROF_PRODUCT},
};

static rocprof_column column_of(hu_str heading)
{
    char   plain[32];
    size_t n = 0;

    for (size_t i = 0; i < heading.n; i++)
        if (heading.p[i] != '_' && heading.p[i] != '-' && heading.p[i] != ' ') {
            if (n == sizeof plain)
                return ROCPROF_OTHER;
            plain[n++] = hu_char_lower(heading.p[i]);
        }
    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_equal((hu_str){plain, n}, hu_str_of(words[i].word)))
            return words[i].column;
    return ROCPROF_OTHER;
}

static bool has(const rocprof_heading *h, rocprof_column column)
{
    return h->place[column] >= 0;
}

static rocprof_kind kind_of(const rocprof_heading *h)
{
    if (has(h, ROCPROF_NODE) && has(h, ROCPROF_TYPE))
        return ROCPROF_AGENTS;
    if (!has(h, ROCPROF_START) || !has(h, ROCPROF_END))
        return ROCPROF_NO_TABLE;
    if (has(h, ROCPROF_KERNEL) && !has(h, ROCPROF_FUNCTION))
        return has(h, ROCPROF_COUNTER) ? ROCPROF_COUNTERS : ROCPROF_KERNELS;
    if (has(h, ROCPROF_DIRECTION))
        return ROCPROF_COPIES;
    if (has(h, ROCPROF_FUNCTION))
        return ROCPROF_CALLS;
    return has(h, ROCPROF_OPERATION) && has(h, ROCPROF_BYTES) ? ROCPROF_ALLOCATIONS : ROCPROF_NO_TABLE;
}

bool rocprof_heading_take(hu_str *text, rocprof_heading *out)
{
    const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
    hu_str      line = {text->p, end ? (size_t)(end - text->p) : text->n};
    size_t      n = 0;

    *out = (rocprof_heading){ROCPROF_NO_TABLE};
    for (size_t i = 0; i < ROCPROF_COLUMNS; i++)
        out->place[i] = -1;
    if (hu_str_starts(line, HU_STR("\xef\xbb\xbf")))
        line = (hu_str){line.p + 3, line.n - 3};
    if (!memchr(line.p ? line.p : "", ',', line.n) || line.n > 16384)
        return false;
    while (n < ROCPROF_MOST_CELLS) {
        const char    *comma = line.n ? memchr(line.p, ',', line.n) : NULL;
        hu_str         cell = hu_str_trim((hu_str){line.p, comma ? (size_t)(comma - line.p) : line.n});
        rocprof_column column;

        if (cell.n >= 2 && cell.p[0] == '"' && cell.p[cell.n - 1] == '"')
            cell = hu_str_trim((hu_str){cell.p + 1, cell.n - 2});
        column = column_of(cell);
        if (column != ROCPROF_OTHER && out->place[column] < 0)
            out->place[column] = (int16_t)n;
        n++;
        if (!comma)
            break;
        line = (hu_str){comma + 1, (size_t)(line.p + line.n - comma) - 1};
    }
    out->n = (uint32_t)n;
    out->kind = kind_of(out);
    if (out->kind == ROCPROF_NO_TABLE)
        return false;
    *text = end ? (hu_str){end + 1, (size_t)(text->p + text->n - end) - 1} : (hu_str){text->p + text->n, 0};
    return true;
}

/* A cell in quotes, whose opening one is passed. */
static rocprof_taken take_quoted(hu_str *text, hu_arena *arena, hu_str *out)
{
    const char *begin = text->p, *p = begin, *end = begin + text->n;
    size_t      doubled = 0, n = 0;
    char       *copy;

    for (;; p += 2, doubled++) {
        p = p < end ? memchr(p, '"', (size_t)(end - p)) : NULL;
        if (!p || p - begin > MOST_CELL)
            return ROCPROF_CUT_ROW;
        if (p + 1 >= end || p[1] != '"')
            break;
    }
    *out = (hu_str){begin, (size_t)(p - begin)};
    *text = (hu_str){p + 1, (size_t)(end - p) - 1};
    if (!doubled)
        return ROCPROF_ROW;
    copy = hu_arena_alloc(arena, out->n);
    if (!copy)
        return ROCPROF_NO_MEMORY;
    for (size_t i = 0; i < out->n; i++) {
        copy[n++] = out->p[i];
        i += out->p[i] == '"';
    }
    *out = (hu_str){copy, n};
    return ROCPROF_ROW;
}

static hu_str take_plain(hu_str *text)
{
    size_t n = 0;
    hu_str cell;

    while (n < text->n && text->p[n] != ',' && text->p[n] != '\n')
        n++;
    cell = (hu_str){text->p, n};
    *text = (hu_str){text->p + n, text->n - n};
    return hu_str_trim(cell);
}

rocprof_taken rocprof_row_take(hu_str *text, hu_arena *arena, rocprof_cells *out)
{
    out->n = 0;
    while (text->n && (text->p[0] == '\n' || text->p[0] == '\r'))
        *text = (hu_str){text->p + 1, text->n - 1};
    if (!text->n)
        return ROCPROF_NO_MORE;
    for (;;) {
        hu_str cell;

        while (text->n && text->p[0] == ' ')
            *text = (hu_str){text->p + 1, text->n - 1};
        if (text->n && text->p[0] == '"') {
            rocprof_taken taken;

            *text = (hu_str){text->p + 1, text->n - 1};
            taken = take_quoted(text, arena, &cell);
            if (taken == ROCPROF_CUT_ROW) /* the rest has no end of the quotes, so no rows */
                *text = (hu_str){text->p + text->n, 0};
            if (taken != ROCPROF_ROW)
                return taken;
            take_plain(text);
        } else {
            cell = take_plain(text);
        }
        if (out->n < ROCPROF_MOST_CELLS)
            out->at[out->n++] = cell;
        if (!text->n)
            return ROCPROF_CUT_ROW; /* no end of the line: its last number may lack digits */
        *text = (hu_str){text->p + 1, text->n - 1};
        if (text->p[-1] == '\n')
            return ROCPROF_ROW;
    }
}

hu_str rocprof_text(const rocprof_heading *h, const rocprof_cells *c, rocprof_column column)
{
    const int place = h->place[column];

    return place >= 0 && (uint32_t)place < c->n ? c->at[place] : HU_STR("");
}

/* "0x00007ffb26354000" */
static bool parse_hex(hu_str s, int64_t *out)
{
    uint64_t v = 0;

    if (!hu_str_starts(s, HU_STR("0x")) || s.n < 3 || s.n > 18)
        return false;
    for (size_t i = 2; i < s.n; i++) {
        static const char digits[] = "0123456789abcdef";
        const char       *at = memchr(digits, hu_char_lower(s.p[i]), 16);

        if (!at)
            return false;
        v = v << 4 | (uint64_t)(at - digits);
    }
    *out = (int64_t)v;
    return true;
}

int64_t rocprof_int(const rocprof_heading *h, const rocprof_cells *c, rocprof_column column, int64_t absent)
{
    const hu_str text = rocprof_text(h, c, column);
    int64_t      v;

    return hu_parse_i64(text, &v) || parse_hex(text, &v) ? v : absent;
}
