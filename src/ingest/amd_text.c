/* SPDX-License-Identifier: Apache-2.0
 * amd_text.c - names as in the tool's JSON, in capitals, and nested by blanks:
 *
 *     GPU: 0
 *         USAGE:
 *             GFX_ACTIVITY: 98 %
 *         CLOCK:
 *             GFX_0:
 *                 CLK: 1700 MHz
 */
#include "ingest/amd_text.h"

#include "base/number.h"
#include "ingest/amd_smi.h"

static bool read_number(hu_str line, int64_t *number)
{
    static const hu_str start = {"GPU: ", 5};

    return hu_str_starts(line, start) && hu_parse_i64(hu_str_trim((hu_str){line.p + start.n, line.n - start.n}), number) &&
           *number >= 0;
}

bool hu_amd_text_heading(hu_str line)
{
    int64_t unused;

    return read_number(line, &unused);
}

/* "    USAGE:", "    TEMPERATURE:" */
bool hu_amd_text_follows(hu_str line)
{
    const hu_str name = hu_str_trim(line);

    if (!hu_str_starts(line, HU_STR("    ")) || name.n < 4 || name.p[name.n - 1] != ':')
        return false;
    for (size_t i = 0; i + 1 < name.n; i++)
        if (!(name.p[i] >= 'A' && name.p[i] <= 'Z') && name.p[i] != '_')
            return false;
    return true;
}

void hu_amd_text_end(hu_amd_text *t, hu_node_sink *sink)
{
    if (t->is_open)
        (void)hu_node_put_row(sink, &t->row);
    t->is_open = false;
}

static void open(hu_amd_text *t, hu_node_sink *sink, int64_t number)
{
    hu_amd_text_end(t, sink);
    t->row = hu_node_row_new();
    t->row.who.number = number;
    t->row.is_amd = true;
    t->is_open = true;
    t->outer_n = 0;
}

static size_t lower(hu_str name, char *out, size_t room)
{
    const size_t n = name.n < room ? name.n : room;

    for (size_t i = 0; i < n; i++)
        out[i] = hu_char_lower(name.p[i]);
    return n;
}

/* A member of "gfx_0" is "gfx_0_clk". */
static void take(hu_amd_text *t, hu_node_sink *sink, size_t depth, hu_str name, hu_str value)
{
    char   full[2 * HU_AMD_NAME + 1];
    size_t n = 0, known;

    if (t->outer_n && depth > t->outer_depth) {
        memcpy(full, t->outer, t->outer_n);
        n = t->outer_n;
        full[n++] = '_';
    }
    n += lower(name, full + n, HU_AMD_NAME);
    known = hu_amd_name_find((hu_str){full, n});
    if (known != HU_AMD_NAMES)
        hu_amd_name_take(&t->row, known, hu_node_keep(sink, value));
}

void hu_amd_text_line(hu_amd_text *t, hu_node_sink *sink, hu_str line)
{
    int64_t      number;
    size_t       depth = 0;
    const char  *colon;
    const hu_str all = hu_str_trim(line);
    hu_str       name, value;

    if (read_number(line, &number)) {
        open(t, sink, number);
        return;
    }
    while (depth < line.n && line.p[depth] == ' ')
        depth++;
    colon = all.n ? memchr(all.p, ':', all.n) : NULL;
    if (!t->is_open || depth == 0 || !colon)
        return;
    name = (hu_str){all.p, (size_t)(colon - all.p)};
    value = hu_str_trim((hu_str){colon + 1, all.n - name.n - 1});
    if (value.n) {
        take(t, sink, depth, name, value);
    } else { /* parts of a GPU are not in names; what is in a part may be */
        t->outer_n = depth > 4 ? lower(name, t->outer, HU_AMD_NAME) : 0;
        t->outer_depth = depth;
    }
}
