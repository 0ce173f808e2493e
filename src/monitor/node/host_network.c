/* SPDX-License-Identifier: Apache-2.0
 * host_network.c - a source: physical network interfaces (/proc/net/dev, /sys/class/net) and what TCP had to send again.
 *
 * An interface is physical if it has a device.  Where none has, as in a container, all but the loopback are shown.
 * The interfaces are those of process 1, which are the node's (or the container's), whatever network this program is in.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { DEVICES_MOST = 64, NAME_ROOM = 32, FIELDS = 16 };

static bool host_network_open(const hu_source_options *options, void **state, hu_readings *out)
{
    (void)out;
    return hu_folder_open(options->root, ".", "proc/1/net/dev", state) ||
           hu_folder_open(options->root, ".", "proc/net/dev", state);
}

/* What /sys/class/net says of it; the speed is -1 or cannot be read where there is no link. */
static void put_link(const hu_folder *h, const char *device, hu_readings *out)
{
    char         path[128], text[64];
    const size_t n = (size_t)snprintf(path, sizeof path, "sys/class/net/%s/operstate", device);
    hu_str       operstate;
    int64_t      mbit;

    if (n >= sizeof path)
        return;
    operstate = hu_files_text(h->fd, path, text, sizeof text);
    if (operstate.n && !hu_str_equal(operstate, HU_STR("unknown")))
        hu_put(out, HU_METRIC_NETWORK_UP, hu_str_equal(operstate, HU_STR("up")), device);
    snprintf(path, sizeof path, "sys/class/net/%s/speed", device);
    if (hu_files_signed(h->fd, path, &mbit) && mbit > 0)
        hu_put(out, HU_METRIC_NETWORK_SPEED, (double)mbit * 1e6 / 8, device);
}

/* Columns of /proc/net/dev: 8 of what is received, 8 of what is sent. */
static void put_device(const hu_folder *h, hu_str fields, const char *device, hu_readings *out)
{
    static const struct {
        hu_metric metric;
        int       field;
    } columns[] = {{HU_METRIC_NETWORK_RECEIVED, 0},      {HU_METRIC_NETWORK_RECEIVE_ERRORS, 2},
                   {HU_METRIC_NETWORK_RECEIVE_DROPS, 3}, {HU_METRIC_NETWORK_SENT, 8},
                   {HU_METRIC_NETWORK_SEND_ERRORS, 10},  {HU_METRIC_NETWORK_SEND_DROPS, 11}};
    uint64_t value[FIELDS];

    for (int i = 0; i < FIELDS; i++)
        if (!hu_parse_u64(hu_cut_word(&fields), &value[i]))
            return;
    for (size_t i = 0; i < HU_COUNT(columns); i++)
        hu_put(out, columns[i].metric, (double)value[columns[i].field], device);
    put_link(h, device, out);
}

static bool is_physical(const hu_folder *h, const char *device)
{
    char path[128];

    return (size_t)snprintf(path, sizeof path, "sys/class/net/%s/device", device) < sizeof path &&
           faccessat(h->fd, path, F_OK, 0) == 0;
}

/* Adds what is physical, or all but the loopback; how many there were. */
static int put_devices(const hu_folder *h, bool only_physical, hu_readings *out)
{
    hu_lines lines;
    hu_str   line;
    int      n = 0;

    if (!hu_lines_open(&lines, h->fd, "proc/1/net/dev") && !hu_lines_open(&lines, h->fd, "proc/net/dev"))
        return -1;
    while (n < DEVICES_MOST && hu_lines_next(&lines, &line)) {
        const hu_str front = hu_str_has(line, HU_STR(":")) ? hu_cut(&line, ':') : (hu_str){0};
        hu_str       rest = front;
        char         device[NAME_ROOM];

        hu_str_copy(device, sizeof device, hu_cut_word(&rest));
        if (!device[0] || strchr(device, '/') || strcmp(device, "lo") == 0 || (only_physical && !is_physical(h, device)))
            continue;
        put_device(h, line, device, out);
        n++;
    }
    hu_lines_close(&lines);
    return n;
}

/* Two lines begin with "Tcp:": the names of the columns, then their values. */
static void put_tcp(const hu_folder *h, hu_readings *out)
{
    hu_lines lines;
    hu_str   line;
    char     names[1024] = "";

    if (!hu_lines_open(&lines, h->fd, "proc/1/net/snmp") && !hu_lines_open(&lines, h->fd, "proc/net/snmp"))
        return;
    while (hu_lines_next(&lines, &line)) {
        hu_str key = {names, strlen(names)}, rest = line;

        if (!hu_str_equal(hu_cut(&rest, ':'), HU_STR("Tcp")))
            continue;
        if (!names[0]) {
            hu_str_copy(names, sizeof names, rest);
            continue;
        }
        for (hu_str name = hu_cut_word(&key); name.n; name = hu_cut_word(&key)) {
            const hu_str word = hu_cut_word(&rest);
            uint64_t     value;

            if (!hu_parse_u64(word, &value))
                continue;
            if (hu_str_equal(name, HU_STR("OutSegs")))
                hu_put_plain(out, HU_METRIC_TCP_SENT, (double)value);
            else if (hu_str_equal(name, HU_STR("RetransSegs")))
                hu_put_plain(out, HU_METRIC_TCP_SENT_AGAIN, (double)value);
        }
        break;
    }
    hu_lines_close(&lines);
}

static bool host_network_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;
    int              n;

    if (group != HU_SAMPLE_MEDIUM)
        return true;
    n = put_devices(h, true, out);
    if (n == 0)
        n = put_devices(h, false, out);
    put_tcp(h, out);
    return n >= 0;
}

const hu_source hu_source_host_network = {"host_network", HU_SAMPLER_HOST, host_network_open, host_network_sample,
                                          hu_folder_close};
