/* SPDX-License-Identifier: Apache-2.0
 * dcgm_names.c - one row for each family of dcgm-exporter's default-counters.csv that has an equal among our metrics.
 *
 * Left out: DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, which is called a counter and is a rate, and vGPU licences.  Names are those
 * of DCGM 4.5 and before, which later versions keep as aliases.
 */
#include "monitor/serve/dcgm_names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define PER_MIB (1.0 / (1 << 20))

/* clang-format off */
const hu_dcgm_name hu_dcgm_names[] = {
    {"DCGM_FI_DEV_SM_CLOCK", false, "holdup_gpu_sm_clock_hertz", NULL, 1e-6, "SM clock frequency (in MHz)."},
    {"DCGM_FI_DEV_MEM_CLOCK", false, "holdup_gpu_memory_clock_hertz", NULL, 1e-6, "Memory clock frequency (in MHz)."},
    {"DCGM_FI_DEV_MEMORY_TEMP", false, "holdup_gpu_memory_temperature_celsius", NULL, 1, "Memory temperature (in C)."},
    {"DCGM_FI_DEV_GPU_TEMP", false, "holdup_gpu_temperature_celsius", NULL, 1, "GPU temperature (in C)."},
    {"DCGM_FI_DEV_POWER_USAGE", false, "holdup_gpu_power_watts", NULL, 1, "Power draw (in W)."},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", true, "holdup_gpu_energy_joules_total", NULL, 1e3,
     "Total energy consumption since the driver was loaded (in mJ)."},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", true, "holdup_gpu_pcie_replays_total", NULL, 1, "Total number of PCIe retries."},
    {"DCGM_FI_DEV_GPU_UTIL", false, "holdup_gpu_utilization_ratio", NULL, 100, "GPU utilization (in %)."},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", false, "holdup_gpu_memory_busy_ratio", NULL, 100,
     "Share of time in which memory was read or written (in %)."},
    {"DCGM_FI_DEV_ENC_UTIL", false, "holdup_gpu_encoder_utilization_ratio", NULL, 100, "Encoder utilization (in %)."},
    {"DCGM_FI_DEV_DEC_UTIL", false, "holdup_gpu_decoder_utilization_ratio", NULL, 100, "Decoder utilization (in %)."},
    {"DCGM_FI_DEV_FB_FREE", false, "holdup_gpu_memory_free_bytes", NULL, PER_MIB, "Framebuffer memory free (in MiB)."},
    {"DCGM_FI_DEV_FB_USED", false, "holdup_gpu_memory_used_bytes", NULL, PER_MIB, "Framebuffer memory used (in MiB)."},
    {"DCGM_FI_DEV_FB_RESERVED", false, "holdup_gpu_memory_reserved_bytes", NULL, PER_MIB,
     "Framebuffer memory reserved (in MiB)."},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", true, "holdup_gpu_remapped_rows_total", "cause=uncorrected", 1,
     "Number of remapped rows for uncorrectable errors."},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", true, "holdup_gpu_remapped_rows_total", "cause=corrected", 1,
     "Number of remapped rows for correctable errors."},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", false, "holdup_gpu_row_remap_failed", NULL, 1, "Whether remapping rows has failed."},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", false, "holdup_gpu_graphics_active_ratio", NULL, 1,
     "Ratio of time the graphics engine is active."},
    {"DCGM_FI_PROF_SM_ACTIVE", false, "holdup_gpu_sm_active_ratio", NULL, 1,
     "Ratio of cycles in which an SM has at least one warp assigned."},
    {"DCGM_FI_PROF_SM_OCCUPANCY", false, "holdup_gpu_sm_occupancy_ratio", NULL, 1,
     "Ratio of warps resident on an SM to the most that it can hold."},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", false, "holdup_gpu_tensor_active_ratio", NULL, 1,
     "Ratio of cycles the tensor pipe is active."},
    {"DCGM_FI_PROF_DRAM_ACTIVE", false, "holdup_gpu_dram_active_ratio", NULL, 1,
     "Ratio of cycles the device memory interface is active sending or receiving data."},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", false, "holdup_gpu_pcie_transmit_bytes_per_second", NULL, 1,
     "Rate of data sent over the PCIe bus, headers and payload (in B/s)."},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", false, "holdup_gpu_pcie_receive_bytes_per_second", NULL, 1,
     "Rate of data received over the PCIe bus, headers and payload (in B/s)."},
    {NULL},
};
/* clang-format on */

static const hu_dcgm_name xid = {"DCGM_FI_DEV_XID_ERRORS",
                                 false,
                                 "holdup_gpu_xid_last_timestamp_seconds",
                                 NULL,
                                 1,
                                 "Value of the last XID error encountered."};

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* The value of a label; "" when the metric has no such label, or the series no value of it. */
static const char *label_of(const hu_reading *r, const char *key)
{
    for (size_t i = 0; r && i < r->n; i++) {
        size_t      n;
        const char *at = hu_metric_label(r->metric, i, &n);

        if (strlen(key) == n && memcmp(at, key, n) == 0)
            return r->label[i];
    }
    return "";
}

static const hu_reading *find_info(const hu_reading *rows, size_t n, const char *uuid)
{
    for (size_t i = 0; i < n && uuid[0]; i++)
        if (rows[i].metric == HU_METRIC_GPU_INFO && strcmp(label_of(&rows[i], "uuid"), uuid) == 0)
            return &rows[i];
    return NULL;
}

/* "0000:3b:00.0" as DCGM writes it: "00000000:3B:00.0". */
static void wide_address(char out[48], const char *address)
{
    size_t n = 0;

    for (size_t i = strcspn(address, ":"); i < 8 && address[0]; i++)
        out[n++] = '0';
    for (; *address && n + 1 < 48; address++)
        out[n++] = (char)toupper((unsigned char)*address);
    out[n] = '\0';
}

static void put(hu_text *t, const char **separator, const char *key, const char *value)
{
    hu_text_label(t, separator, key, strlen(key), value);
}

/* Labels in the order of dcgm-exporter.  A MIG device has the number and UUID of the GPU that it is a part of. */
static const char *put_labels(hu_text *t, const hu_reading *r, const hu_reading *info, const char *host)
{
    const char *separator = "{", *parent = label_of(info, "parent");
    char        address[48], device[32] = "";

    wide_address(address, label_of(info, "pci_bus_id"));
    if (label_of(info, "minor")[0])
        snprintf(device, sizeof device, "nvidia%s", label_of(info, "minor"));
    put(t, &separator, "gpu", label_of(r, "gpu"));
    put(t, &separator, "UUID", parent[0] ? parent : label_of(r, "uuid"));
    put(t, &separator, "pci_bus_id", address);
    put(t, &separator, "device", device);
    put(t, &separator, "modelName", label_of(info, "model"));
    put(t, &separator, "GPU_I_PROFILE", label_of(info, "profile"));
    put(t, &separator, "GPU_I_ID", label_of(info, "gi"));
    put(t, &separator, "Hostname", host);
    put(t, &separator, "DCGM_FI_DRIVER_VERSION", label_of(info, "driver"));
    return separator;
}

/* ---- families ---------------------------------------------------------------------------------------------------- */

static bool is_meant(const hu_dcgm_name *d, const hu_reading *r, const hu_reading *info)
{
    const char *vendor = label_of(info, "vendor"), *equals = d->where ? strchr(d->where, '=') : NULL;
    char        key[32];

    if (vendor[0] && strcasecmp(vendor, "nvidia") != 0)
        return false;
    if (!equals)
        return true;
    snprintf(key, sizeof key, "%.*s", (int)(equals - d->where), d->where);
    return strcmp(label_of(r, key), equals + 1) == 0;
}

bool hu_dcgm_has(const hu_reading *rows, size_t n, size_t i)
{
    for (const hu_dcgm_name *d = hu_dcgm_names; d->name; d++)
        if (strcmp(d->own, hu_metric_rows[rows[i].metric].name) == 0 &&
            is_meant(d, &rows[i], find_info(rows, n, label_of(&rows[i], "uuid"))))
            return true;
    return false;
}

/* Shares and clocks come out as the whole numbers that they were, whatever a factor of 10^-6 does to a double. */
static double scaled(double value, double factor)
{
    const double v = value * factor;

    return factor == 1 ? v : fabs(v) < 1e9 ? rint(v * 1e6) / 1e6 : rint(v * 1e3) / 1e3;
}

static void put_head(hu_text *t, const hu_dcgm_name *d, bool is_open)
{
    hu_text_word(t, "# HELP ");
    hu_text_word(t, d->name);
    hu_text_word(t, " ");
    hu_text_escaped(t, d->help, is_open);
    hu_text_word(t, "\n# TYPE ");
    hu_text_word(t, d->name);
    hu_text_word(t, !d->is_counter ? " gauge\n" : is_open ? " unknown\n" : " counter\n");
}

static void put_family(hu_text *t, const hu_dcgm_name *d, const hu_reading *rows, size_t n, const char *host, bool is_open)
{
    const hu_metric m = hu_metric_find(d->own, strlen(d->own));
    bool            has_head = false;

    for (size_t i = 0; i < n; i++) {
        const hu_reading *info;

        if (rows[i].metric != m)
            continue;
        info = find_info(rows, n, label_of(&rows[i], "uuid"));
        if (!is_meant(d, &rows[i], info))
            continue;
        if (!has_head)
            put_head(t, d, is_open);
        has_head = true;
        hu_text_word(t, d->name);
        hu_text_value(t, put_labels(t, &rows[i], info, host), scaled(rows[i].value, d->factor));
    }
}

/* DCGM has the number of the last error as a value; ours has the time of each number's last one. */
static void put_xids(hu_text *t, const hu_reading *rows, size_t n, const char *host, bool is_open)
{
    const hu_metric m = hu_metric_find(xid.own, strlen(xid.own));
    bool            has_head = false;

    for (size_t i = 0; i < n; i++) {
        const hu_reading *last = &rows[i];
        double            number = 0;

        if (rows[i].metric != m ||
            (i > 0 && rows[i - 1].metric == m && strcmp(label_of(&rows[i - 1], "uuid"), label_of(&rows[i], "uuid")) == 0))
            continue; /* another one of the same GPU: they lie together */
        for (size_t k = i; k < n && rows[k].metric == m; k++)
            if (strcmp(label_of(&rows[k], "uuid"), label_of(&rows[i], "uuid")) == 0 && rows[k].value > last->value)
                last = &rows[k];
        for (const char *p = label_of(last, "xid"); *p >= '0' && *p <= '9'; p++)
            number = 10 * number + (*p - '0');
        if (!has_head)
            put_head(t, &xid, is_open);
        has_head = true;
        hu_text_word(t, xid.name);
        hu_text_value(t, put_labels(t, last, find_info(rows, n, label_of(last, "uuid")), host), number);
    }
}

void hu_dcgm_write(hu_text *t, const hu_reading *rows, size_t n, bool is_open)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    for (const hu_dcgm_name *d = hu_dcgm_names; d->name; d++)
        put_family(t, d, rows, n, host, is_open);
    put_xids(t, rows, n, host, is_open);
}
