/* SPDX-License-Identifier: Apache-2.0
 * node_series.c - tables of names.  dcgm-exporter had names of its own (dcgm_gpu_temp) before it took DCGM's.
 *
 * Traps: the first value of a counter says nothing of when its errors were; dcgm-exporter's XID is a gauge, the last error's
 * number.  DCGM's times of violations had different units; HELP says which.
 * The scraped address (instance) may be that of a pod or of a service: Hostname comes first.
 */
#include "ingest/node_series.h"

#include "base/number.h"
#include "ingest/node_zones.h"

enum { MIB = 1 << 20 };
enum { LAST_XID = -1, POWER_VIOLATION = -2, THERMAL_VIOLATION = -3 };

typedef enum { QUANTITY, FACT, COUNT, VIOLATION, XID_GAUGE } meaning;

/* Series that hold a quantity, and what one unit of theirs is in ours (base/gpu_counters.h). */
static const struct {
    const char *name;
    meaning     is;
    int         which;
    double      factor;
} series[] = {
    {"holdup_gpu_utilization_ratio", QUANTITY, HU_GAUGE_BUSY, 100},
    {"holdup_gpu_memory_busy_ratio", QUANTITY, HU_GAUGE_MEMORY_BUSY, 100},
    {"holdup_gpu_sm_clock_hertz", QUANTITY, HU_GAUGE_SM_CLOCK, 1e-6},
    {"holdup_gpu_memory_clock_hertz", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1e-6},
    {"holdup_gpu_power_watts", QUANTITY, HU_GAUGE_POWER, 1},
    {"holdup_gpu_energy_joules_total", QUANTITY, HU_GAUGE_ENERGY, 1},
    {"holdup_gpu_memory_used_bytes", QUANTITY, HU_GAUGE_MEMORY, 1},
    {"holdup_gpu_temperature_celsius", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"holdup_gpu_power_limit_watts", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"holdup_gpu_sm_clock_max_hertz", FACT, HU_NODE_MOST_SM_MHZ, 1e-6},
    {"holdup_gpu_memory_clock_max_hertz", FACT, HU_NODE_MOST_MEMORY_MHZ, 1e-6},
    {"holdup_gpu_memory_total_bytes", FACT, HU_NODE_MEMORY_BYTES, 1},
    {"holdup_gpu_pcie_link_width", FACT, HU_NODE_LANES, 1},
    {"holdup_gpu_pcie_link_width_max", FACT, HU_NODE_MOST_LANES, 1},
    {"holdup_gpu_pcie_replays_total", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"holdup_gpu_row_remap_pending", COUNT, HU_NODE_ROWS_PENDING, 1},
    {"DCGM_FI_DEV_GPU_UTIL", QUANTITY, HU_GAUGE_BUSY, 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"DCGM_FI_DEV_SM_CLOCK", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"DCGM_FI_DEV_MEM_CLOCK", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"DCGM_FI_DEV_POWER_USAGE", QUANTITY, HU_GAUGE_POWER, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", QUANTITY, HU_GAUGE_ENERGY, 1e-3},
    {"DCGM_FI_DEV_FB_USED", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"DCGM_FI_DEV_GPU_TEMP", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", QUANTITY, HU_GAUGE_REASONS, 1},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", QUANTITY, HU_GAUGE_REASONS, 1},
    {"DCGM_FI_DEV_MAX_SM_CLOCK", FACT, HU_NODE_MOST_SM_MHZ, 1},
    {"DCGM_FI_DEV_MAX_MEM_CLOCK", FACT, HU_NODE_MOST_MEMORY_MHZ, 1},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"DCGM_FI_DEV_FB_TOTAL", FACT, HU_NODE_MEMORY_BYTES, MIB},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", FACT, HU_NODE_LANES, 1},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", FACT, HU_NODE_MOST_LANES, 1},
    {"DCGM_FI_DEV_SLOWDOWN_TEMP", FACT, HU_NODE_SLOW_CELSIUS, 1},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", COUNT, HU_NODE_NVLINK_FLITS, 1},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", COUNT, HU_NODE_NVLINK_DATA, 1},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", COUNT, HU_NODE_NVLINK_REPLAYS, 1},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", COUNT, HU_NODE_NVLINK_RECOVERIES, 1},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", COUNT, HU_NODE_ROWS_PENDING, 1},
    {"DCGM_FI_DEV_POWER_VIOLATION", VIOLATION, POWER_VIOLATION, 0},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", VIOLATION, THERMAL_VIOLATION, 0},
    {"DCGM_FI_DEV_XID_ERRORS", XID_GAUGE, 0, 0},
    {"dcgm_gpu_utilization", QUANTITY, HU_GAUGE_BUSY, 1},
    {"dcgm_mem_copy_utilization", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"dcgm_sm_clock", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"dcgm_memory_clock", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"dcgm_power_usage", QUANTITY, HU_GAUGE_POWER, 1},
    {"dcgm_total_energy_consumption", QUANTITY, HU_GAUGE_ENERGY, 1e-3},
    {"dcgm_fb_used", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"dcgm_gpu_temp", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"dcgm_pcie_replay_counter", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"dcgm_nvlink_flit_crc_error_count_total", COUNT, HU_NODE_NVLINK_FLITS, 1},
    {"dcgm_nvlink_data_crc_error_count_total", COUNT, HU_NODE_NVLINK_DATA, 1},
    {"dcgm_nvlink_replay_error_count_total", COUNT, HU_NODE_NVLINK_REPLAYS, 1},
    {"dcgm_nvlink_recovery_error_count_total", COUNT, HU_NODE_NVLINK_RECOVERIES, 1},
    {"dcgm_ecc_sbe_volatile_total", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"dcgm_ecc_dbe_volatile_total", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
    {"dcgm_power_violation", VIOLATION, POWER_VIOLATION, 0},
    {"dcgm_thermal_violation", VIOLATION, THERMAL_VIOLATION, 0},
    {"dcgm_xid_errors", XID_GAUGE, 0, 0},
};

static const struct {
    uint32_t    bit;
    const char *words;
} reasons[] = {
#define R(id, bit, lowers, words) {bit, words},
    HU_GPU_REASONS(R)
#undef R
};

/* Of ours with a label `type` or `reason`. */
static const struct {
    const char        *name, *label;
    hu_node_count_kind kind;
} kinds[] = {
    {"holdup_gpu_nvlink_errors_total", "crc_flit", HU_NODE_NVLINK_FLITS},
    {"holdup_gpu_nvlink_errors_total", "crc_data", HU_NODE_NVLINK_DATA},
    {"holdup_gpu_nvlink_errors_total", "replay", HU_NODE_NVLINK_REPLAYS},
    {"holdup_gpu_nvlink_errors_total", "recovery", HU_NODE_NVLINK_RECOVERIES},
    {"holdup_gpu_ecc_errors_total", "corrected", HU_NODE_ECC_CORRECTED},
    {"holdup_gpu_ecc_errors_total", "uncorrected", HU_NODE_ECC_UNCORRECTED},
    {"holdup_gpu_throttle_seconds_total", "software power cap", HU_NODE_POWER_CAP},
    {"holdup_gpu_throttle_seconds_total", "sync boost with another GPU", HU_NODE_SYNC_BOOST},
    {"holdup_gpu_throttle_seconds_total", "software thermal slowdown", HU_NODE_THERMAL},
    {"holdup_gpu_throttle_seconds_total", "hardware thermal slowdown", HU_NODE_HARDWARE_THERMAL},
    {"holdup_gpu_throttle_seconds_total", "hardware power brake", HU_NODE_POWER_BRAKE},
};

bool hu_series_is_known(hu_str name)
{
    return hu_str_starts(name, HU_STR("holdup_")) || hu_str_starts(name, HU_STR("DCGM_FI_")) ||
           hu_str_starts(name, HU_STR("dcgm_"));
}

hu_str *hu_series_label(hu_series_labels *l, hu_str name)
{
    static const struct {
        const char *key;
        size_t      offset;
    } known[] = {
        {"gpu", offsetof(hu_series_labels, gpu)},         {"uuid", offsetof(hu_series_labels, uuid)},
        {"UUID", offsetof(hu_series_labels, uuid)},       {"gi", offsetof(hu_series_labels, gi)},
        {"GPU_I_ID", offsetof(hu_series_labels, gi)},     {"instance", offsetof(hu_series_labels, instance)},
        {"host", offsetof(hu_series_labels, host)},       {"Hostname", offsetof(hu_series_labels, host)},
        {"hostname", offsetof(hu_series_labels, host)},   {"model", offsetof(hu_series_labels, model)},
        {"modelName", offsetof(hu_series_labels, model)}, {"pci_bus_id", offsetof(hu_series_labels, bus)},
        {"driver", offsetof(hu_series_labels, driver)},   {"DCGM_FI_DRIVER_VERSION", offsetof(hu_series_labels, driver)},
        {"rank", offsetof(hu_series_labels, rank)},       {"reason", offsetof(hu_series_labels, reason)},
        {"xid", offsetof(hu_series_labels, xid)},         {"zone", offsetof(hu_series_labels, zone)},
        {"type", offsetof(hu_series_labels, type)},
    };

    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(name, hu_str_of(known[i].key)))
            return (hu_str *)(void *)((char *)l + known[i].offset);
    return NULL;
}

/* "node7:9878" is node7. */
static hu_str without_port(hu_str host)
{
    const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;

    return colon ? (hu_str){host.p, (size_t)(colon - host.p)} : host;
}

static hu_str host_of(const hu_series_labels *l, hu_str other)
{
    const hu_str host = l->host.n ? l->host : l->instance;

    return host.n ? without_port(host) : other;
}

/* The GPU of these labels; it is added where it is new.  HU_NONE: they name none. */
static uint32_t find_gpu(hu_series *s, const hu_series_labels *l, hu_str host)
{
    hu_node_who who = {
        .uuid = l->uuid, .host = host_of(l, host), .name = l->model, .bus = l->bus, .driver = l->driver, .number = -1};

    if (l->uuid.n == 0 || !hu_parse_i64(l->gpu, &who.number) || who.number < 0)
        return HU_NONE;
    return hu_node_gpu_of(s->sink, &who);
}

/* Is it the same for each of the parts that MIG makes, as there is one for all of them? */
static bool is_of_device(hu_str name)
{
    static const char *const names[] = {"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_POWER_USAGE",
                                        "DCGM_FI_DEV_GPU_TEMP"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i])))
            return true;
    return false;
}

void hu_series_take_help(hu_series *s, hu_str text)
{
    if (hu_str_has(text, HU_STR("_VIOLATION ")) || hu_str_has(text, HU_STR("_violation ")))
        s->violation_s = hu_str_has(text, HU_STR("(in us)")) ? 1e-6 : hu_str_has(text, HU_STR("(in ns)")) ? 1e-9 : 0;
}

uint32_t hu_series_gpu(hu_series *s, hu_str name, const hu_series_labels *l, hu_str host)
{
    uint32_t gpu;

    if (!hu_str_starts(name, HU_STR("holdup_gpu_")) && !hu_str_equal(name, HU_STR("holdup_job_info")) &&
        !hu_str_starts(name, HU_STR("DCGM_FI_")) && !hu_str_starts(name, HU_STR("dcgm_")))
        return HU_NONE;
    gpu = find_gpu(s, l, host);
    if (gpu != HU_NONE && l->gi.n) {
        s->sink->log->gpus.at[gpu].is_mig = true;
        return is_of_device(name) ? gpu : HU_NONE;
    }
    return gpu;
}

/* The counter's last value becomes this one.  False: it was not seen before, or there are too many. */
static bool next_count(hu_series *s, uint32_t gpu, int64_t which, double count, double *before)
{
    size_t i = 0;

    while (i < s->n_rises && (s->rises[i].gpu != gpu || s->rises[i].which != which))
        i++;
    if (i == HU_SERIES_RISES)
        return false;
    if (i == s->n_rises) {
        s->rises[s->n_rises++] = (hu_series_rise){gpu, which, count};
        return false;
    }
    *before = s->rises[i].count;
    s->rises[i].count = count;
    return true;
}

static void take_xid(hu_series *s, uint32_t gpu, const hu_series_labels *l, int64_t ns, double count)
{
    hu_node_gpu *at = &s->sink->log->gpus.at[gpu];
    int64_t      xid;
    double       before;

    if (!hu_parse_i64(l->xid, &xid) || xid < 0)
        return;
    if (!next_count(s, gpu, xid, count, &before))
        at->old_xid = count > 0 ? (double)xid : at->old_xid;
    else if (count > before)
        hu_node_put_sample(s->sink, gpu, HU_GAUGE_XID, ns, (double)xid);
}

/* A gauge that holds the last error's number: the same error again does not show. */
static void take_last_xid(hu_series *s, uint32_t gpu, int64_t ns, double xid)
{
    double before;

    if (!next_count(s, gpu, LAST_XID, xid, &before))
        s->sink->log->gpus.at[gpu].old_xid = xid;
    else if (xid > 0 && (xid > before || xid < before))
        hu_node_put_sample(s->sink, gpu, HU_GAUGE_XID, ns, xid);
}

static void take_violation(hu_series *s, uint32_t gpu, int64_t which, int64_t ns, double value)
{
    double before;

    if (s->violation_s > 0)
        hu_node_put_count(s->sink, gpu, which == POWER_VIOLATION ? HU_NODE_POWER_CAP : HU_NODE_THERMAL, ns,
                          value * s->violation_s);
    else if (next_count(s, gpu, which, value, &before) && value > before)
        s->sink->log->gpus.at[gpu].has_violations = true;
}

/* Whose the GPU is: known once, whenever it was sampled. */
static void take_job(hu_node_gpu *gpu, const hu_series_labels *l)
{
    int64_t rank;

    if (hu_parse_i64(l->rank, &rank) && rank >= 0)
        gpu->rank = gpu->rank < 0 || gpu->rank == rank ? (gpu->rank == HU_NODE_SEVERAL ? HU_NODE_SEVERAL : rank)
                                                       : HU_NODE_SEVERAL;
}

static void take_labelled(hu_series *s, uint32_t gpu, hu_str name, const hu_series_labels *l, int64_t ns, double value)
{
    const hu_str label = l->type.n ? l->type : l->reason;

    if (hu_str_equal(name, HU_STR("holdup_gpu_clock_event_reason"))) {
        for (size_t i = 0; i < HU_COUNT(reasons); i++)
            if (hu_str_equal(l->reason, hu_str_of(reasons[i].words)))
                hu_node_put_sample(s->sink, gpu, HU_GAUGE_REASONS, ns, value > 0 ? reasons[i].bit : 0);
        return;
    }
    for (size_t i = 0; i < HU_COUNT(kinds); i++)
        if (hu_str_equal(name, hu_str_of(kinds[i].name)) && hu_str_equal(label, hu_str_of(kinds[i].label)))
            hu_node_put_count(s->sink, gpu, kinds[i].kind, ns, value);
    if (hu_str_equal(name, HU_STR("holdup_gpu_xid_errors_total")))
        take_xid(s, gpu, l, ns, value);
    else if (hu_str_equal(name, HU_STR("holdup_job_info")))
        take_job(&s->sink->log->gpus.at[gpu], l);
}

void hu_series_take(hu_series *s, uint32_t gpu, hu_str name, const hu_series_labels *l, int64_t ns, double value)
{
    size_t i = 0;

    if (!hu_node_is_value(value))
        return;
    while (i < HU_COUNT(series) && !hu_str_equal(name, hu_str_of(series[i].name)))
        i++;
    if (i == HU_COUNT(series)) {
        take_labelled(s, gpu, name, l, ns, value);
        return;
    }
    switch (series[i].is) {
    case QUANTITY:
        hu_node_put_sample(s->sink, gpu, (hu_gpu_quantity)series[i].which, ns, value * series[i].factor);
        break;
    case FACT:
        if (value > 0)
            s->sink->log->gpus.at[gpu].facts[series[i].which] = value * series[i].factor;
        break;
    case COUNT:
        hu_node_put_count(s->sink, gpu, (hu_node_count_kind)series[i].which, ns, value * series[i].factor);
        break;
    case VIOLATION:
        take_violation(s, gpu, series[i].which, ns, value);
        break;
    case XID_GAUGE:
        take_last_xid(s, gpu, ns, value);
        break;
    }
}

bool hu_series_take_zone(hu_series *s, hu_str name, const hu_series_labels *l, hu_str host, int64_t ns, double joules)
{
    hu_node_log *log = s->sink->log;

    if (!hu_str_equal(name, HU_STR("holdup_host_energy_joules_total")))
        return false;
    if ((int64_t)(log->samples.n + log->zone_samples.n) >= s->sink->most)
        s->sink->is_full = true;
    else if (!hu_node_is_moment(ns) && !hu_node_zones_take(log, host_of(l, host), l->zone, ns, joules))
        s->sink->has_memory = false;
    return true;
}
