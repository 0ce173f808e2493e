/* SPDX-License-Identifier: Apache-2.0
 * rocm_text.c - two forms, between a line that names the tool and one that says its end:
 *
 *     GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%      of ROCm up to 5
 *     0    42.0c           38.0W   800Mhz  1600Mhz  0%   auto  560.0W  64%    98%
 *     Device  Node  IDs              Temp    Power     Partitions          SCLK  MCLK  Fan  Perf  PwrCap  VRAM%  GPU%
 *     0       2     0x66a1,   29631  45.0°C  24.0W     N/A, N/A, 0         925Mhz  350Mhz  14%  auto  225.0W  4%  0%
 *
 *     GPU[0]          : GPU use (%): 98                                                 with --showuse, --showpower, -a …
 *     GPU[0]          : sclk clock level: 1: (800Mhz)
 *
 * Cells of the table have blanks in them, but not the last seven, nor temperature and power, which are known by their units.
 * VRAM% is a share of what the table does not say, and is left out.
 */
#include "ingest/rocm_text.h"

#include <math.h>

#include "base/number.h"
#include "ingest/amd_smi.h"

enum { TOKENS = 24, RIGHT = 7 };

bool hu_rocm_text_heading(hu_str line)
{
    line = hu_str_trim(line);
    return hu_str_starts(line, HU_STR("===")) && hu_str_has(line, HU_STR("ROCm System Management Interface"));
}

void hu_rocm_text_begin(hu_rocm_text *t)
{
    t->is_table = false;
    for (size_t i = 0; i < HU_ROCM_MOST; i++)
        t->has[i] = false;
}

void hu_rocm_text_end(hu_rocm_text *t, hu_node_sink *sink)
{
    for (size_t i = 0; i < HU_ROCM_MOST; i++)
        if (t->has[i])
            (void)hu_node_put_row(sink, &t->rows[i]);
    hu_rocm_text_begin(t);
}

/* NULL: no such number. */
static hu_node_row *row_of(hu_rocm_text *t, int64_t number)
{
    if (number < 0 || number >= HU_ROCM_MOST)
        return NULL;
    if (!t->has[number]) {
        t->has[number] = true;
        t->rows[number] = hu_node_row_new();
        t->rows[number].who.number = number;
        t->rows[number].is_amd = true;
    }
    return &t->rows[number];
}

static size_t split(hu_str line, hu_str tokens[TOKENS])
{
    size_t n = 0;

    for (size_t i = 0, from; i < line.n && n < TOKENS;) {
        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
            i++;
        for (from = i; i < line.n && line.p[i] != ' ' && line.p[i] != '\t';)
            i++;
        if (i > from)
            tokens[n++] = (hu_str){line.p + from, i - from};
    }
    return n;
}

static bool is_table_heading(hu_str line)
{
    static const hu_str right[RIGHT] = {{"SCLK", 4},   {"MCLK", 4},  {"Fan", 3}, {"Perf", 4},
                                        {"PwrCap", 6}, {"VRAM%", 5}, {"GPU%", 4}};
    hu_str              tokens[TOKENS];
    const size_t        n = split(line, tokens);

    for (size_t i = 0; n > RIGHT && i < RIGHT; i++)
        if (!hu_str_equal(tokens[n - RIGHT + i], right[i]))
            return false;
    return n > RIGHT && (hu_str_equal(tokens[0], HU_STR("GPU")) || hu_str_equal(tokens[0], HU_STR("Device")));
}

/* "98%", "300Mhz", "38.0W": NaN where the unit is another, or there is none. */
static double with_unit(hu_str token, const char *unit)
{
    const size_t n = strlen(unit);
    double       value;

    if (token.n <= n || memcmp(token.p + token.n - n, unit, n) != 0 || !hu_parse_f64((hu_str){token.p, token.n - n}, &value))
        return NAN;
    return value;
}

/* "42.0c", "42.0°C", "42.0_C" */
static double celsius(hu_str token)
{
    double value = with_unit(token, "\xc2\xb0"
                                    "C");

    value = !isnan(value) ? value : with_unit(token, "_C");
    return !isnan(value) ? value : with_unit(token, "c");
}

static void take_row(hu_rocm_text *t, hu_str line)
{
    hu_str       tokens[TOKENS];
    const size_t n = split(line, tokens);
    hu_node_row *row;
    int64_t      number;

    if (n < RIGHT + 3 || !hu_parse_i64(tokens[0], &number) || !(row = row_of(t, number)))
        return;
    row->values[HU_GAUGE_BUSY] = with_unit(tokens[n - 1], "%");
    row->facts[HU_NODE_LIMIT_WATTS] = with_unit(tokens[n - 3], "W");
    row->values[HU_GAUGE_MEMORY_CLOCK] = with_unit(tokens[n - 6], "Mhz");
    row->values[HU_GAUGE_SM_CLOCK] = with_unit(tokens[n - 7], "Mhz");
    for (size_t i = 1; i + RIGHT < n; i++) {
        const double heat = celsius(tokens[i]), watts = with_unit(tokens[i], "W");

        row->values[HU_GAUGE_TEMPERATURE] = !isnan(heat) ? heat : row->values[HU_GAUGE_TEMPERATURE];
        row->values[HU_GAUGE_POWER] = !isnan(watts) ? watts : row->values[HU_GAUGE_POWER];
    }
}

/* "GPU[0]" and what stands behind the colon; false: the line is none. */
static bool read_place(hu_str line, int64_t *number, hu_str *rest)
{
    const char *close = line.n ? memchr(line.p, ']', line.n) : NULL;
    const char *colon = close ? memchr(close, ':', (size_t)(line.p + line.n - close)) : NULL;

    if (!colon || !hu_str_starts(line, HU_STR("GPU[")) ||
        !hu_parse_i64((hu_str){line.p + 4, (size_t)(close - line.p) - 4}, number))
        return false;
    *rest = hu_str_trim((hu_str){colon + 1, (size_t)(line.p + line.n - colon) - 1});
    return true;
}

/* A name, and behind its last colon a value. */
static void take_member(hu_rocm_text *t, hu_node_sink *sink, hu_str line)
{
    hu_str       rest, name, value;
    int64_t      number;
    const char  *colon;
    hu_node_row *row;
    size_t       known;

    if (!read_place(line, &number, &rest) || !(colon = rest.n ? memrchr(rest.p, ':', rest.n) : NULL))
        return;
    name = hu_str_trim((hu_str){rest.p, (size_t)(colon - rest.p)});
    value = hu_str_trim((hu_str){colon + 1, (size_t)(rest.p + rest.n - colon) - 1});
    if (hu_str_starts(name, HU_STR("sclk clock level")))
        name = HU_STR("sclk clock speed:");
    else if (hu_str_starts(name, HU_STR("mclk clock level")))
        name = HU_STR("mclk clock speed:");
    else if (hu_str_starts(rest, HU_STR("PCI Bus: "))) { /* which has colons of its own */
        name = HU_STR("PCI Bus");
        value = (hu_str){rest.p + 9, rest.n - 9};
    }
    known = hu_amd_name_find(name);
    if (known == HU_AMD_NAMES || !(row = row_of(t, number)))
        return;
    hu_amd_name_take(row, known, hu_node_keep(sink, value));
    row->who.number = number;
}

void hu_rocm_text_line(hu_rocm_text *t, hu_node_sink *sink, hu_str line)
{
    line = hu_str_trim(line);
    if (hu_str_starts(line, HU_STR("GPU[")))
        take_member(t, sink, line);
    else if (is_table_heading(line))
        t->is_table = true;
    else if (t->is_table)
        take_row(t, line);
}
