/* SPDX-License-Identifier: Apache-2.0
 * smi_facts.c - drivers of several years name the same thing differently: each of their names is a row. */
#include "ingest/smi_facts.h"

#include <math.h>

#include "base/number.h"

enum { MIB = 1 << 20 };

typedef enum { UUID, NAME, BUS, MIG, FACT, COUNT, QUANTITY } meaning;

static const struct {
    const char *outer, *inner, *key;
    meaning     is;
    uint32_t    which;
    double      factor;
} known[] = {
    /* text */
    {"", "", "GPU UUID", UUID, 0, 0},
    {"", "", "Product Name", NAME, 0, 0},
    {"", "PCI", "Bus Id", BUS, 0, 0},
    {"", "MIG Mode", "Current", MIG, 0, 0},
    {"GPU Link Info", "Link Width", "Current", FACT, HU_NODE_LANES, 1},
    {"GPU Link Info", "Link Width", "Max", FACT, HU_NODE_MOST_LANES, 1},
    {"", "PCI", "Replays Since Reset", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"", "FB Memory Usage", "Total", FACT, HU_NODE_MEMORY_BYTES, MIB},
    {"", "FB Memory Usage", "Used", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"", "Utilization", "GPU", QUANTITY, HU_GAUGE_BUSY, 1},
    {"", "Utilization", "Gpu", QUANTITY, HU_GAUGE_BUSY, 1},
    {"", "Utilization", "Memory", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"", "Temperature", "GPU Current Temp", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"", "Temperature", "GPU Slowdown Temp", FACT, HU_NODE_SLOW_CELSIUS, 1},
    {"", "Power Readings", "Power Draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "GPU Power Readings", "Power Draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "GPU Power Readings", "Average Power Draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "GPU Power Readings", "Instantaneous Power Draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "Power Readings", "Enforced Power Limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"", "GPU Power Readings", "Current Power Limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"", "Clocks", "SM", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"", "Clocks", "Memory", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"", "Max Clocks", "SM", FACT, HU_NODE_MOST_SM_MHZ, 1},
    {"", "Max Clocks", "Memory", FACT, HU_NODE_MOST_MEMORY_MHZ, 1},
    {"ECC Errors", "Volatile", "SRAM Correctable", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"ECC Errors", "Volatile", "DRAM Correctable", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"ECC Errors", "Volatile", "SRAM Uncorrectable", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ECC Errors", "Volatile", "SRAM Uncorrectable Parity", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ECC Errors", "Volatile", "SRAM Uncorrectable SEC-DED", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ECC Errors", "Volatile", "DRAM Uncorrectable", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"Volatile", "Single Bit", "Total", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"Volatile", "Double Bit", "Total", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"", "Remapped Rows", "Pending", COUNT, HU_NODE_ROWS_PENDING, 1},
    {"", "Clocks Event Reasons Counters", "SW Power Capping", COUNT, HU_NODE_POWER_CAP, 1e-6},
    {"", "Clocks Event Reasons Counters", "Sync Boost", COUNT, HU_NODE_SYNC_BOOST, 1e-6},
    {"", "Clocks Event Reasons Counters", "SW Thermal Slowdown", COUNT, HU_NODE_THERMAL, 1e-6},
    {"", "Clocks Event Reasons Counters", "HW Thermal Slowdown", COUNT, HU_NODE_HARDWARE_THERMAL, 1e-6},
    {"", "Clocks Event Reasons Counters", "HW Power Braking", COUNT, HU_NODE_POWER_BRAKE, 1e-6},
    /* XML */
    {"", "", "uuid", UUID, 0, 0},
    {"", "", "product_name", NAME, 0, 0},
    {"", "pci", "pci_bus_id", BUS, 0, 0},
    {"", "mig_mode", "current_mig", MIG, 0, 0},
    {"pci_gpu_link_info", "link_widths", "current_link_width", FACT, HU_NODE_LANES, 1},
    {"pci_gpu_link_info", "link_widths", "max_link_width", FACT, HU_NODE_MOST_LANES, 1},
    {"", "pci", "replay_counter", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"", "fb_memory_usage", "total", FACT, HU_NODE_MEMORY_BYTES, MIB},
    {"", "fb_memory_usage", "used", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"", "utilization", "gpu_util", QUANTITY, HU_GAUGE_BUSY, 1},
    {"", "utilization", "memory_util", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"", "temperature", "gpu_temp", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"", "temperature", "gpu_temp_slow_threshold", FACT, HU_NODE_SLOW_CELSIUS, 1},
    {"", "power_readings", "power_draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "gpu_power_readings", "power_draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "gpu_power_readings", "average_power_draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "gpu_power_readings", "instant_power_draw", QUANTITY, HU_GAUGE_POWER, 1},
    {"", "power_readings", "enforced_power_limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"", "gpu_power_readings", "current_power_limit", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"", "clocks", "sm_clock", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"", "clocks", "mem_clock", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"", "max_clocks", "sm_clock", FACT, HU_NODE_MOST_SM_MHZ, 1},
    {"", "max_clocks", "mem_clock", FACT, HU_NODE_MOST_MEMORY_MHZ, 1},
    {"ecc_errors", "volatile", "sram_correctable", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"ecc_errors", "volatile", "dram_correctable", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"ecc_errors", "volatile", "sram_uncorrectable", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ecc_errors", "volatile", "sram_uncorrectable_parity", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ecc_errors", "volatile", "sram_uncorrectable_secded", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"ecc_errors", "volatile", "dram_uncorrectable", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"volatile", "single_bit", "total", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"volatile", "double_bit", "total", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"", "remapped_rows", "remapped_row_pending", COUNT, HU_NODE_ROWS_PENDING, 1},
    {"", "clocks_event_reasons_counters", "clocks_event_reasons_counters_sw_power_cap", COUNT, HU_NODE_POWER_CAP, 1e-6},
    {"", "clocks_event_reasons_counters", "clocks_event_reasons_counters_sync_boost", COUNT, HU_NODE_SYNC_BOOST, 1e-6},
    {"", "clocks_event_reasons_counters", "clocks_event_reasons_counters_sw_therm_slowdown", COUNT, HU_NODE_THERMAL, 1e-6},
    {"", "clocks_event_reasons_counters", "clocks_event_reasons_counters_hw_therm_slowdown", COUNT, HU_NODE_HARDWARE_THERMAL,
     1e-6},
    {"", "clocks_event_reasons_counters", "clocks_event_reasons_counters_hw_power_brake", COUNT, HU_NODE_POWER_BRAKE, 1e-6},
};

/* Of the text, and what the XML's names end in behind clocks_event_reason_ or clocks_throttle_reason_. */
static const struct {
    const char *text, *xml;
    uint32_t    bit;
} reasons[] = {
    {"Idle", "gpu_idle", 0x1},
    {"Applications Clocks Setting", "applications_clocks_setting", 0x2},
    {"SW Power Cap", "sw_power_cap", 0x4},
    {"HW Slowdown", "hw_slowdown", 0x8},
    {"Sync Boost", "sync_boost", 0x10},
    {"SW Thermal Slowdown", "sw_thermal_slowdown", 0x20},
    {"HW Thermal Slowdown", "hw_thermal_slowdown", 0x40},
    {"HW Power Brake Slowdown", "hw_power_brake_slowdown", 0x80},
    {"Display Clock Setting", "display_clocks_setting", 0x100},
};

static void take_reason(hu_node_row *row, hu_str key, bool is_active)
{
    static const hu_str begins[] = {{"clocks_event_reason_", 20}, {"clocks_throttle_reason_", 23}};
    bool                is_xml = false;

    for (size_t i = 0; i < HU_COUNT(begins) && !is_xml; i++)
        if (hu_str_starts(key, begins[i])) {
            key = (hu_str){key.p + begins[i].n, key.n - begins[i].n};
            is_xml = true;
        }
    for (size_t i = 0; i < HU_COUNT(reasons); i++)
        if (hu_str_equal(key, hu_str_of(is_xml ? reasons[i].xml : reasons[i].text)))
            hu_node_add_reason(row, is_active ? reasons[i].bit : 0);
}

static void take(hu_node_row *row, size_t at, hu_str value)
{
    const uint32_t which = known[at].which;
    double         number;

    switch (known[at].is) {
    case UUID:
        row->who.uuid = value;
        return;
    case NAME:
        row->who.name = value;
        return;
    case BUS:
        row->who.bus = value;
        return;
    case MIG:
        row->is_mig = hu_str_equal(value, HU_STR("Enabled"));
        return;
    case FACT:
    case COUNT:
    case QUANTITY:
        break;
    }
    if (which == HU_NODE_ROWS_PENDING && known[at].is == COUNT)
        number = hu_str_equal(value, HU_STR("Yes")) ? 1 : hu_str_equal(value, HU_STR("No")) ? 0 : NAN;
    else if (!hu_node_number(value, &number))
        return;
    if (known[at].is == FACT)
        row->facts[which] = number * known[at].factor;
    else if (known[at].is == COUNT)
        hu_node_add(&row->counts[which], number * known[at].factor);
    else if (isnan(row->values[which]))
        row->values[which] = number * known[at].factor;
}

void hu_smi_facts_take(hu_node_row *row, hu_str outer, hu_str inner, hu_str key, hu_str value)
{
    if (hu_str_equal(value, HU_STR("Active")) || hu_str_equal(value, HU_STR("Not Active"))) {
        take_reason(row, key, value.p[0] == 'A');
        return;
    }
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(key, hu_str_of(known[i].key)) && hu_str_equal(inner, hu_str_of(known[i].inner)) &&
            hu_str_equal(outer, hu_str_of(known[i].outer)))
            take(row, i, value);
}
