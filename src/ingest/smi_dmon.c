/* SPDX-License-Identifier: Apache-2.0
 * smi_dmon.c - a heading that comes again now and then, its units, and a line for each GPU and look.
 *
 * Without -o DT a line has no time of day, and one without the date cannot be laid beside anything: such samples are counted
 * as looks.  A GPU that comes again begins the next.  With --format csv commas stand between the fields.
 */
#include "ingest/smi_dmon.h"

#include <stdio.h>

#include "base/number.h"
#include "ingest/node_time.h"
#include "ingest/smi_word.h"

enum { MIB = 1 << 20, TIME_BYTES = 32 };

/* Which violation is software's and which the board's, dmon does not say. */
enum { POWER_CAP = 0x4, THERMAL = 0x20 };
enum { MOST_OF_A_LOOK = 50 };

typedef enum { GPU, DATE, CLOCK, FACT, COUNT, QUANTITY, REASON } meaning;

static const struct {
    const char *name;
    meaning     is;
    uint32_t    which;
    double      factor;
    bool        is_dcgmi;
} known[] = {
    {"gpu", GPU, 0, 0, false},
    {"Date", DATE, 0, 0, false},
    {"Time", CLOCK, 0, 0, false},
    {"pwr", QUANTITY, HU_GAUGE_POWER, 1, false},
    {"gtemp", QUANTITY, HU_GAUGE_TEMPERATURE, 1, false},
    {"temp", QUANTITY, HU_GAUGE_TEMPERATURE, 1, false},
    {"sm", QUANTITY, HU_GAUGE_BUSY, 1, false},
    {"mem", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1, false},
    {"mclk", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1, false},
    {"pclk", QUANTITY, HU_GAUGE_SM_CLOCK, 1, false},
    {"fb", QUANTITY, HU_GAUGE_MEMORY, MIB, false},
    {"pviol", REASON, POWER_CAP, 0, false},
    {"tviol", REASON, THERMAL, 0, false},
    {"sbecc", COUNT, HU_NODE_ECC_CORRECTED, 1, false},
    {"dbecc", COUNT, HU_NODE_ECC_UNCORRECTED, 1, false},
    {"pci", COUNT, HU_NODE_PCIE_REPLAYS, 1, false},
    {"Entity", GPU, 0, 0, true},
    {"GPUTL", QUANTITY, HU_GAUGE_BUSY, 1, true},
    {"MCUTL", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1, true},
    {"SMCLK", QUANTITY, HU_GAUGE_SM_CLOCK, 1, true},
    {"MMCLK", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1, true},
    {"POWER", QUANTITY, HU_GAUGE_POWER, 1, true},
    {"TOTEC", QUANTITY, HU_GAUGE_ENERGY, 1e-3, true},
    {"TMPTR", QUANTITY, HU_GAUGE_TEMPERATURE, 1, true},
    {"FBUSD", QUANTITY, HU_GAUGE_MEMORY, MIB, true},
    {"FBTTL", FACT, HU_NODE_MEMORY_BYTES, MIB, true},
    {"DVCCTR", QUANTITY, HU_GAUGE_REASONS, 1, true},
};

static uint8_t find_column(hu_str name, bool is_dcgmi)
{
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (known[i].is_dcgmi == is_dcgmi && hu_str_equal(name, hu_str_of(known[i].name)))
            return (uint8_t)(i + 1);
    return 0;
}

bool hu_smi_dmon_heading(hu_smi_dmon *d, hu_str line)
{
    hu_smi_dmon out = {0};
    size_t      at = 1;
    hu_str      word;
    bool        has_gpu = false, has_any = false;

    line = hu_str_trim(line);
    if (line.n == 0 || line.p[0] != '#')
        return false;
    for (; out.n < HU_SMI_DMON_COLUMNS && hu_smi_word(line, &at, &word); out.n++) {
        if (out.n == 0)
            out.is_dcgmi = hu_str_equal(word, HU_STR("Entity"));
        out.columns[out.n] = find_column(word, out.is_dcgmi);
        has_gpu |= out.columns[out.n] && known[out.columns[out.n] - 1].is == GPU;
        has_any |= out.columns[out.n] && known[out.columns[out.n] - 1].is > CLOCK;
        if (hu_str_equal(word, HU_STR("pid"))) /* of pmon: a line for each process */
            return false;
    }
    if (!has_gpu || !has_any)
        return false;
    *d = out;
    return true;
}

/* pviol is a share of the look in percent, tviol yes or no. */
static void take_violation(hu_node_row *w, uint32_t bit, double value)
{
    const bool is_power = bit == POWER_CAP;

    w->held[!is_power] = is_power ? value / 100 : value > 0;
    hu_node_add_reason(w, value > 0 && (!is_power || value >= MOST_OF_A_LOOK) ? bit : 0);
}

static void take(hu_node_row *w, uint8_t column, hu_str word)
{
    const uint32_t which = known[column - 1].which;
    const double   factor = known[column - 1].factor;
    double         value;

    if (!hu_node_number(word, &value))
        return;
    if (known[column - 1].is == FACT)
        w->facts[which] = value * factor;
    else if (known[column - 1].is == COUNT)
        w->counts[which] = value * factor;
    else if (known[column - 1].is == REASON)
        take_violation(w, which, value);
    else if (known[column - 1].is == QUANTITY)
        w->values[which] = value * factor;
}

bool hu_smi_dmon_line(const hu_smi_dmon *d, hu_node_sink *sink, hu_str line)
{
    hu_node_row w = hu_node_row_new();
    char        text[TIME_BYTES];
    hu_str      word, date = HU_STR(""), clock = HU_STR("");
    size_t      at = 0, n = 0;

    for (; n < d->n && hu_smi_word(line, &at, &word); n++) {
        const uint8_t column = d->columns[n];

        if (column == 0)
            continue;
        switch (known[column - 1].is) {
        case GPU: /* "GPU 0" of dcgmi; "GPU-I 3" and "CPU 0" are others */
            if (d->is_dcgmi && (!hu_str_equal(word, HU_STR("GPU")) || !hu_smi_word(line, &at, &word)))
                return true;
            if (!hu_parse_i64(word, &w.who.number))
                return false;
            break;
        case DATE:
            date = word;
            break;
        case CLOCK:
            clock = word;
            break;
        case FACT:
        case COUNT:
        case QUANTITY:
        case REASON:
            take(&w, column, word);
            break;
        }
    }
    if (n < d->n)
        return false;
    if (date.n && clock.n) {
        const int length = snprintf(text, sizeof text, "%.*s %.*s", HU_FMT(date), HU_FMT(clock));

        w.ns = length > 0 && (size_t)length < sizeof text ? hu_node_time((hu_str){text, (size_t)length}) : 0;
        if (w.ns == 0)
            return false;
    }
    return hu_node_put_row(sink, &w);
}
