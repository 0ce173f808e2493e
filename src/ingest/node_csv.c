/* SPDX-License-Identifier: Apache-2.0
 * node_csv.c - a heading, and a line for each GPU and moment.
 *
 * Traps: units stand in the heading, behind values, or nowhere (nounits).  nvidia-smi's times are local and name no zone;
 * they are read in the zone of this machine (TZ), others as they say.  Without a UUID, GPUs are told apart by index, so logs
 * of two nodes would be one: then each file is a node of its own.  amd-smi quotes lists, which have commas.
 */
#include "ingest/node_csv.h"

#include <math.h>

#include "base/number.h"
#include "ingest/amd_smi.h"
#include "ingest/node_time.h"

enum { MIB = 1 << 20, AMD = 1 << 12 /* and above: a name of amd_smi.h */ };

typedef enum { NOTHING, TIME, INDEX, UUID, NAME, BUS, DRIVER, FACT, COUNT, QUANTITY, REASON } meaning;

static const struct {
    const char *name;
    meaning     is;
    uint32_t    which; /* hu_node_fact, hu_node_count_kind, hu_gpu_quantity or bit of a reason */
    double      factor;
} known[] = {
    {"timestamp", TIME, 0, 0},
    {"index", INDEX, 0, 0},
    {"gpu", INDEX, 0, 0},
    {"uuid", UUID, 0, 0},
    {"gpu_uuid", UUID, 0, 0},
    {"name", NAME, 0, 0},
    {"gpu_name", NAME, 0, 0},
    {"pci.bus_id", BUS, 0, 0},
    {"gpu_bus_id", BUS, 0, 0},
    {"driver_version", DRIVER, 0, 0},
    {"power.limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"enforced.power.limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"clocks.max.sm", FACT, HU_NODE_MOST_SM_MHZ, 1},
    {"clocks.max.memory", FACT, HU_NODE_MOST_MEMORY_MHZ, 1},
    {"memory.total", FACT, HU_NODE_MEMORY_BYTES, MIB},
    {"pcie.link.width.current", FACT, HU_NODE_LANES, 1},
    {"pcie.link.width.max", FACT, HU_NODE_MOST_LANES, 1},
    {"ecc.errors.corrected.volatile.total", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"ecc.errors.uncorrected.volatile.total", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"clocks_event_reasons_counters.sw_power_cap", COUNT, HU_NODE_POWER_CAP, 1e-6},
    {"clocks_event_reasons_counters.sync_boost", COUNT, HU_NODE_SYNC_BOOST, 1e-6},
    {"clocks_event_reasons_counters.sw_thermal_slowdown", COUNT, HU_NODE_THERMAL, 1e-6},
    {"clocks_event_reasons_counters.hw_thermal_slowdown", COUNT, HU_NODE_HARDWARE_THERMAL, 1e-6},
    {"clocks_event_reasons_counters.hw_power_brake_slowdown", COUNT, HU_NODE_POWER_BRAKE, 1e-6},
    {"utilization.gpu", QUANTITY, HU_GAUGE_BUSY, 1},
    {"utilization.memory", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"clocks.sm", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"clocks.current.sm", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"clocks.mem", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"clocks.current.memory", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"power.draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"power.draw.instant", QUANTITY, HU_GAUGE_POWER, 1},
    {"memory.used", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"temperature.gpu", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"clocks_throttle_reasons.active", QUANTITY, HU_GAUGE_REASONS, 1},
    {"clocks_event_reasons.active", QUANTITY, HU_GAUGE_REASONS, 1},
    {"clocks_throttle_reasons.sw_power_cap", REASON, 0x4, 0},
    {"clocks_event_reasons.sw_power_cap", REASON, 0x4, 0},
    {"clocks_throttle_reasons.hw_slowdown", REASON, 0x8, 0},
    {"clocks_event_reasons.hw_slowdown", REASON, 0x8, 0},
    {"clocks_throttle_reasons.sync_boost", REASON, 0x10, 0},
    {"clocks_event_reasons.sync_boost", REASON, 0x10, 0},
    {"clocks_throttle_reasons.sw_thermal_slowdown", REASON, 0x20, 0},
    {"clocks_event_reasons.sw_thermal_slowdown", REASON, 0x20, 0},
    {"clocks_throttle_reasons.hw_thermal_slowdown", REASON, 0x40, 0},
    {"clocks_event_reasons.hw_thermal_slowdown", REASON, 0x40, 0},
    {"clocks_throttle_reasons.hw_power_brake_slowdown", REASON, 0x80, 0},
    {"clocks_event_reasons.hw_power_brake_slowdown", REASON, 0x80, 0},
};

/* The next field of a line; *at is behind it.  One in quotes loses them, and none of those that hold a quote matters. */
static bool next_field(hu_str line, size_t *at, hu_str *field)
{
    const char *comma;
    size_t      from = *at;

    if (*at > line.n)
        return false;
    while (from < line.n && line.p[from] == ' ')
        from++;
    if (from < line.n && line.p[from] == '"') {
        const char *quote = memchr(line.p + from + 1, '"', line.n - from - 1);

        from = quote ? (size_t)(quote - line.p) : from;
    }
    comma = memchr(line.p + from, ',', line.n - from);
    *field = hu_str_trim((hu_str){line.p + *at, (comma ? (size_t)(comma - line.p) : line.n) - *at});
    if (field->n > 1 && field->p[0] == '"' && field->p[field->n - 1] == '"')
        *field = (hu_str){field->p + 1, field->n - 2};
    *at = comma ? (size_t)(comma - line.p) + 1 : line.n + 1;
    return true;
}

/* "utilization.gpu [%]" is utilization.gpu. */
static uint16_t find_column(hu_str heading)
{
    const char *unit = heading.n ? memchr(heading.p, '[', heading.n) : NULL;
    size_t      amd;

    if (unit)
        heading = hu_str_trim((hu_str){heading.p, (size_t)(unit - heading.p)});
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(heading, hu_str_of(known[i].name)))
            return (uint16_t)(i + 1);
    amd = hu_amd_name_find(heading);
    return amd == HU_AMD_NAMES ? 0 : (uint16_t)(AMD + amd);
}

bool hu_node_csv_heading(hu_node_csv *csv, hu_str line)
{
    hu_node_csv out = {0};
    size_t      at = 0;
    hu_str      field;
    bool        has_place = false, has_quantity = false;

    if (line.n == 0 || (line.p[0] >= '0' && line.p[0] <= '9') ||
        !memchr(line.p, ',', line.n)) /* a sample begins with digits */
        return false;
    for (; out.n < HU_NODE_CSV_COLUMNS && next_field(line, &at, &field); out.n++) {
        const uint16_t column = out.columns[out.n] = find_column(field);

        if (column >= AMD) {
            has_place |= hu_amd_name_is_place((size_t)(column - AMD));
            has_quantity |= hu_amd_name_is_quantity((size_t)(column - AMD));
        } else if (column) {
            has_place |= known[column - 1].is == TIME || known[column - 1].is == INDEX || known[column - 1].is == UUID ||
                         known[column - 1].is == BUS;
            has_quantity |= known[column - 1].is >= QUANTITY;
        }
    }
    if (!has_place || !has_quantity)
        return false;
    out.last_ns = csv->last_ns;
    out.least_ns = csv->least_ns;
    out.sum_ns = csv->sum_ns;
    out.n_gaps = csv->n_gaps;
    *csv = out;
    return true;
}

/* What stands in place of values when a GPU does not answer: "[GPU requires reset]".  "[N/A]" is another matter. */
static bool is_loss(hu_str field)
{
    static const char *const words[] = {"GPU requires reset", "GPU is lost", "Unknown Error"};

    if (field.n < 2 || field.p[0] != '[' || field.p[field.n - 1] != ']')
        return false;
    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_equal((hu_str){field.p + 1, field.n - 2}, hu_str_of(words[i])))
            return true;
    return false;
}

static void take(hu_node_row *w, uint16_t column, hu_str field)
{
    const uint32_t which = known[column - 1].which;
    const double   factor = known[column - 1].factor;
    double         value;

    if (is_loss(field)) {
        w->lost = (hu_str){field.p + 1, field.n - 2};
        return;
    }
    switch (known[column - 1].is) {
    case TIME:
        w->ns = hu_node_time(field);
        break;
    case INDEX:
        if (w->who.number < 0 && !hu_parse_i64(field, &w->who.number))
            w->who.number = -1;
        break;
    case UUID:
        w->who.uuid = field;
        break;
    case NAME:
        w->who.name = field;
        break;
    case BUS:
        w->who.bus = field;
        break;
    case DRIVER:
        w->who.driver = field;
        break;
    case FACT:
        if (hu_node_number(field, &value))
            w->facts[which] = value * factor;
        break;
    case COUNT:
        if (hu_node_number(field, &value))
            w->counts[which] = value * factor;
        break;
    case QUANTITY:
        if (isnan(w->values[which]) && hu_node_number(field, &value))
            w->values[which] = value * factor;
        break;
    case REASON:
        if (hu_str_equal(field, HU_STR("Active")) || hu_str_equal(field, HU_STR("Not Active")))
            hu_node_add_reason(w, field.p[0] == 'A' ? which : 0);
        break;
    case NOTHING:
        break;
    }
}

/* Rows that name no GPU are of the only one, which looks come from one after another. */
static void take_alone(hu_node_csv *csv, hu_node_row *w)
{
    const int64_t gap = w->ns - csv->last_ns;

    if (w->ns == 0 || w->who.number >= 0 || w->who.uuid.n || w->who.bus.n)
        return;
    w->who.number = 0;
    if (csv->last_ns) {
        csv->least_ns = csv->n_gaps == 0 || gap < csv->least_ns ? gap : csv->least_ns;
        csv->sum_ns += gap;
        csv->n_gaps++;
    }
    csv->last_ns = w->ns;
}

bool hu_node_csv_is_of_several(const hu_node_csv *csv)
{
    return csv->n_gaps && (csv->least_ns <= 0 || csv->least_ns < csv->sum_ns / (int64_t)csv->n_gaps / 4);
}

bool hu_node_csv_line(hu_node_csv *csv, hu_node_sink *sink, hu_str line)
{
    hu_node_row w = hu_node_row_new();
    bool        has_time = false;
    size_t      at = 0, n = 0;
    hu_str      field;

    for (; n < csv->n && next_field(line, &at, &field); n++) {
        const uint16_t column = csv->columns[n];

        if (column >= AMD)
            hu_amd_name_take(&w, (size_t)(column - AMD), field);
        else if (column)
            take(&w, column, field);
        has_time |= column && column < AMD && known[column - 1].is == TIME;
    }
    if (n < csv->n || (w.ns == 0 && has_time))
        return false;
    take_alone(csv, &w);
    return hu_node_put_row(sink, &w);
}
