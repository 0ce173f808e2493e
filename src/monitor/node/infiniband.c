/* SPDX-License-Identifier: Apache-2.0
 * infiniband.c - a source: ports of InfiniBand, RoCE and EFA (/sys/class/infiniband).
 *
 * Data counters count words of four bytes (Documentation/ABI/stable/sysfs-class-infiniband of Linux); EFA has none of them
 * but counts bytes in hw_counters.  Counters that are not there are not shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { DEVICES_MOST = 64, PORTS_MOST = 8, NAME_ROOM = 64, WORD = 4 };

/* Of counters/. */
static const char *const errors[] = {
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "local_link_integrity_errors",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_rcv_constraint_errors",
    "port_xmit_constraint_errors",
    "port_xmit_discards",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
};

/* Of hw_counters/: what mlx5, bnxt_re, irdma and EFA count. */
static const char *const events[] = {
    "out_of_sequence",
    "out_of_buffer",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "duplicate_request",
    "rnr_nak_retry_err",
    "req_cqe_error",
    "resp_cqe_error",
    "rx_icrc_encapsulated",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "rx_drops",
    "retrans_pkts",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
};

static bool infiniband_open(const hu_source_options *options, void **state, hu_readings *out)
{
    (void)out;
    return hu_folder_open(options->root, "sys/class/infiniband", ".", state);
}

static bool number_at(int folder, const char *group, const char *name, uint64_t *out)
{
    char path[2 * NAME_ROOM];

    snprintf(path, sizeof path, "%s/%s", group, name);
    return hu_files_number(folder, path, out);
}

/* "100 Gb/sec (4X EDR)", in bytes per second. */
static bool read_rate(int port, double *out)
{
    char   text[64];
    hu_str rest = hu_files_text(port, "rate", text, sizeof text);

    if (!hu_parse_f64(hu_cut_word(&rest), out) || !hu_str_equal(hu_cut_word(&rest), HU_STR("Gb/sec")))
        return false;
    *out *= 1e9 / 8;
    return true;
}

static void put_bytes(int port, hu_metric metric, const char *words, const char *bytes, const char *device,
                      const char *number, hu_readings *out)
{
    uint64_t value;

    if (number_at(port, "counters", words, &value))
        hu_put(out, metric, (double)value * WORD, device, number);
    else if (number_at(port, "hw_counters", bytes, &value))
        hu_put(out, metric, (double)value, device, number);
}

static void put_port(int port, const char *device, const char *number, hu_readings *out)
{
    char         text[64];
    const hu_str state = hu_files_text(port, "state", text, sizeof text); /* "4: ACTIVE" */
    uint64_t     value;
    double       rate;

    if (state.n)
        hu_put(out, HU_METRIC_IB_UP, hu_str_ends(state, HU_STR(": ACTIVE")), device, number);
    if (read_rate(port, &rate))
        hu_put(out, HU_METRIC_IB_RATE, rate, device, number);
    put_bytes(port, HU_METRIC_IB_RECEIVED, "port_rcv_data", "rx_bytes", device, number, out);
    put_bytes(port, HU_METRIC_IB_SENT, "port_xmit_data", "tx_bytes", device, number, out);
    if (number_at(port, "counters", "port_xmit_wait", &value))
        hu_put(out, HU_METRIC_IB_SEND_WAIT, (double)value, device, number);
    for (size_t i = 0; i < HU_COUNT(errors); i++)
        if (number_at(port, "counters", errors[i], &value))
            hu_put(out, HU_METRIC_IB_ERRORS, (double)value, device, number, errors[i]);
    for (size_t i = 0; i < HU_COUNT(events); i++)
        if (number_at(port, "hw_counters", events[i], &value))
            hu_put(out, HU_METRIC_IB_EVENTS, (double)value, device, number, events[i]);
}

static void text_at(int folder, const char *name, char *out, size_t room)
{
    char text[NAME_ROOM];

    hu_str_copy(out, room, hu_files_text(folder, name, text, sizeof text));
}

/* The device's address is the last part of where the link `device` leads to. */
static void pci_address(int folder, char *out, size_t room)
{
    char          target[512];
    const ssize_t n = readlinkat(folder, "device", target, sizeof target);

    hu_str_copy(out, room, n > 0 ? hu_str_base_name((hu_str){target, (size_t)n}) : (hu_str){target, 0});
}

/* The network interface of a device of RoCE; where it has several, none is named. */
static void interface_name(int folder, char *out, size_t room)
{
    hu_names names;
    int      n = 0;

    out[0] = '\0';
    if (!hu_names_open(&names, folder, "device/net"))
        return;
    for (const char *name = hu_names_next(&names); name; name = hu_names_next(&names))
        if (n++ == 0)
            hu_str_copy(out, room, hu_str_of(name));
    if (n > 1)
        out[0] = '\0';
}

static void put_info(int folder, int port, const char *device, const char *number, hu_readings *out)
{
    char layer[NAME_ROOM], board[NAME_ROOM], firmware[NAME_ROOM], pci[NAME_ROOM], netdev[NAME_ROOM];

    text_at(port, "link_layer", layer, sizeof layer);
    text_at(folder, "board_id", board, sizeof board);
    text_at(folder, "fw_ver", firmware, sizeof firmware);
    pci_address(folder, pci, sizeof pci);
    interface_name(folder, netdev, sizeof netdev);
    hu_put(out, HU_METRIC_IB_INFO, 1, device, number, layer, board, firmware, pci, netdev);
}

static void put_device(int folder, const char *device, hu_sample_group group, hu_readings *out)
{
    hu_names ports;
    int      n = 0;

    if (!hu_names_open(&ports, folder, "ports"))
        return;
    for (const char *number = hu_names_next(&ports); number && n < PORTS_MOST; number = hu_names_next(&ports), n++) {
        const int port = hu_files_folder(ports.fd, number);

        if (port < 0)
            continue;
        if (group == HU_SAMPLE_MEDIUM)
            put_port(port, device, number, out);
        else
            put_info(folder, port, device, number, out);
        close(port);
    }
    hu_names_close(&ports);
}

/* Counters of a port cost a command to its firmware: never in the fast group. */
static bool infiniband_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;
    hu_names         names;
    int              n = 0;

    if (group == HU_SAMPLE_FAST)
        return true;
    if (!hu_names_open(&names, h->fd, "."))
        return false;
    for (const char *name = hu_names_next(&names); name && n < DEVICES_MOST; name = hu_names_next(&names), n++) {
        const int folder = hu_files_folder(names.fd, name);

        if (folder < 0)
            continue;
        put_device(folder, name, group, out);
        close(folder);
    }
    hu_names_close(&names);
    return true;
}

const hu_source hu_source_infiniband = {"infiniband", HU_SAMPLER_HOST, infiniband_open, infiniband_sample, hu_folder_close};
