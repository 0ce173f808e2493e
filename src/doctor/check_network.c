/* SPDX-License-Identifier: Apache-2.0
 * check_network.c - interfaces of the node and ports of its HCAs; with --job, whether ranks can find the first one.
 *
 * A port that is down may be one that nobody cabled.  It counts as broken where others of the same board are active and it
 * is the odd one out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "doctor/facts.h"
#include "doctor/host.h"

enum {
    FAST_GBPS = 100,
    SLOW_MBPS = 1000,
    FAST_MBPS = 10000,
    JUMBO_MTU = 4200, /* what 4096 bytes of RoCE need with their headers */
    MANY_DOWN = 10,
    MANY_SYMBOLS = 1000, /* in an hour */
    LEAST_PACKETS = 100000,
};

/* -- interfaces -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *folder, *state, *duplex;
    int64_t     mbps; /* 0: not known, as of virtual ones */
    int64_t     mtu;
} interface;

/* Cards, and bonds of them: what bridges, containers and tunnels make is left out. */
static bool is_card(hu_doctor *d, const char *folder)
{
    return hu_doctor_exists(d, hu_doctor_format(d, "%s/device", folder)) ||
           hu_doctor_exists(d, hu_doctor_format(d, "%s/bonding", folder));
}

static size_t find_interfaces(hu_doctor *d, const interface **out)
{
    const char *const *names;
    size_t             n;
    HU_VEC(interface) list = {0};

    hu_doctor_list(d, "/sys/class/net", &names, &n);
    for (size_t i = 0; i < n; i++) {
        interface f = {.name = names[i], .folder = hu_doctor_format(d, "/sys/class/net/%s", names[i])};

        if (!is_card(d, f.folder))
            continue;
        hu_doctor_read(d, hu_doctor_format(d, "%s/operstate", f.folder), &f.state);
        hu_doctor_read(d, hu_doctor_format(d, "%s/duplex", f.folder), &f.duplex);
        if (hu_doctor_read_number(d, hu_doctor_format(d, "%s/speed", f.folder), &f.mbps) != HU_LOOK_OK || f.mbps < 0 ||
            f.mbps >= UINT16_MAX * INT64_C(1000))
            f.mbps = 0;
        hu_doctor_read_number(d, hu_doctor_format(d, "%s/mtu", f.folder), &f.mtu);
        (void)hu_vec_push(hu_doctor_arena(d), &list, f);
    }
    *out = list.at;
    return list.n;
}

static int64_t counter(hu_doctor *d, const char *folder, const char *name)
{
    int64_t n = 0;

    return hu_doctor_read_number(d, hu_doctor_format(d, "%s/%s", folder, name), &n) == HU_LOOK_OK ? n : 0;
}

static void look_at_interface(hu_doctor *d, const hu_check *check, const interface *f)
{
    const char   *counters = hu_doctor_format(d, "%s/statistics", f->folder);
    const int64_t packets = counter(d, counters, "rx_packets"), damaged = counter(d, counters, "rx_crc_errors");
    const char   *speed = f->mbps ? hu_doctor_format(d, "%lld Mb/s", (long long)f->mbps) : "speed not known";

    if (strcmp(f->duplex, "half") == 0)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, f->name, "check cable and switch port: ethtool names both sides' modes",
                      "%s/duplex is half, %s", f->folder, speed);
    else if (damaged > 100 && packets > LEAST_PACKETS && damaged > packets / 100000)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, f->name, NULL, "%s/rx_crc_errors is %lld, of %lld packets", counters,
                      (long long)damaged, (long long)packets);
    else
        hu_doctor_say(d, check, f->mbps && f->mbps < SLOW_MBPS ? HU_VERDICT_NOTE : HU_VERDICT_OK, f->name,
                      "check cable and switch port: a damaged pair makes both sides agree on less", "%s, %s, mtu %lld",
                      f->state, speed, (long long)f->mtu);
}

static void look_at_interfaces(hu_doctor *d, const hu_check *check)
{
    const interface *list;
    const size_t     n = find_interfaces(d, &list);
    size_t           n_up = 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].state, "up") != 0)
            continue;
        look_at_interface(d, check, &list[i]);
        n_up++;
    }
    if (n_up == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no network card is up");
}

/* /proc/net/route: name, destination, gateway, flags …; the default has destination and mask 0.  Of several the first. */
static const char *default_interface(hu_doctor *d)
{
    const char *text;

    if (hu_doctor_read(d, "/proc/net/route", &text) != HU_LOOK_OK)
        return NULL;
    for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
        const size_t n = strcspn(++line, " \t");
        const char  *destination = line + n + strspn(line + n, " \t");

        if (strncmp(destination, "00000000", 8) == 0)
            return hu_doctor_format(d, "%.*s", (int)n, line);
    }
    return NULL;
}

static void look_at_route(hu_doctor *d, const hu_check *check)
{
    const interface *list, *slow = NULL, *fast = NULL;
    const size_t     n = find_interfaces(d, &list);
    const char      *name = default_interface(d), *chosen = hu_doctor_variable(d, "NCCL_SOCKET_IFNAME");

    if (!name) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no default route of IPv4");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0)
            slow = &list[i];
        else if (strcmp(list[i].state, "up") == 0 && list[i].mbps >= FAST_MBPS && (!fast || list[i].mbps > fast->mbps))
            fast = &list[i];
    }
    if (!slow || !fast || slow->mbps == 0 || slow->mbps > SLOW_MBPS) {
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "the default route is by %s%s", name,
                      slow && slow->mbps ? hu_doctor_format(d, ", %lld Mb/s", (long long)slow->mbps) : "");
        return;
    }
    hu_doctor_say(d, check,
                  chosen || hu_host_has_fast_fabric(d)               ? HU_VERDICT_OK /* its data go there */
                  : hu_doctor_is_job(d) && hu_host_has_many_nodes(d) ? HU_VERDICT_WARNING
                                                                     : HU_VERDICT_NOTE,
                  NULL, hu_doctor_format(d, "export NCCL_SOCKET_IFNAME=%s GLOO_SOCKET_IFNAME=%s", fast->name, fast->name),
                  "the default route is by %s (%lld Mb/s), and %s has %lld Mb/s%s%s", name, (long long)slow->mbps,
                  fast->name, (long long)fast->mbps, chosen ? "; NCCL_SOCKET_IFNAME=" : "", chosen ? chosen : "");
}

/* -- how ranks meet ---------------------------------------------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || strncmp(address, "::1 ", 4) == 0;
}

static void look_at_master(hu_doctor *d, const hu_check *check)
{
    const char *name = hu_doctor_variable(d, "MASTER_ADDR"), *port = hu_doctor_variable(d, "MASTER_PORT"), *address;
    int64_t     number;

    if (!hu_doctor_has_environment(d)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "variables were not captured");
        return;
    }
    if (!name || !name[0]) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "MASTER_ADDR is not set");
        return;
    }
    address = hu_fact(d, hu_doctor_format(d, "address:%s", name));
    if (!address)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the address of MASTER_ADDR is not known");
    else if (strncmp(address, "error:", 6) == 0)
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, "MASTER_ADDR", "set it to a name or an address that this node knows",
                      "MASTER_ADDR=%s: %s", name, address + 7);
    else if (is_loopback(address) && hu_host_has_many_nodes(d))
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, "MASTER_ADDR",
                      "set it to the first node's address in the job's network, and take its name off the 127.0 lines of "
                      "/etc/hosts",
                      "MASTER_ADDR=%s is %s, which is each node itself", name, address);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, "MASTER_ADDR", NULL, "MASTER_ADDR=%s is %s", name, address);
    if (port && (!hu_parse_i64(hu_str_of(port), &number) || number < 1 || number > UINT16_MAX))
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, "MASTER_PORT", "set it to a free port, such as 29500",
                      "MASTER_PORT=%s is no port", port);
}

/* gloo and NCCL's bootstrap take the address of the node's own name; Debian's installer puts it on 127.0.1.1. */
static void look_at_name(hu_doctor *d, const hu_check *check)
{
    const char *name = hu_fact(d, "hostname"), *address;
    const bool  has_many = hu_host_has_many_nodes(d);

    if (!has_many) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no job of several nodes");
        return;
    }
    if (!name || !(address = hu_fact(d, hu_doctor_format(d, "address:%s", name)))) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the node's name or address is not known");
        return;
    }
    if (strncmp(address, "error:", 6) == 0)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL, "the node's name %s: %s", name, address + 7);
    else
        hu_doctor_say(d, check,
                      is_loopback(address) && !hu_doctor_variable(d, "GLOO_SOCKET_IFNAME") ? HU_VERDICT_WARNING
                                                                                           : HU_VERDICT_OK,
                      NULL, NULL, "the node's name %s is %s", name, address);
}

/* -- InfiniBand and RoCE ----------------------------------------------------------------------------------------------- */

static bool same_kind(const hu_ib_port *a, const hu_ib_port *b)
{
    return a->board[0] && strcmp(a->board, b->board) == 0 && strcmp(a->layer, b->layer) == 0;
}

static hu_verdict_of_check judge_down(const hu_ib_port *ports, size_t n, const hu_ib_port *p)
{
    size_t up = 0, down = 0, up_here = 0;

    for (size_t i = 0; i < n; i++) {
        up_here += ports[i].is_active && strcmp(ports[i].device, p->device) == 0;
        if (!same_kind(&ports[i], p))
            continue;
        up += ports[i].is_active;
        down += !ports[i].is_active;
    }
    if (strstr(p->physical, "LinkUp") && strcmp(p->layer, "InfiniBand") == 0)
        return HU_VERDICT_FAILURE; /* cabled, and nobody configures it */
    if (up_here || strstr(p->physical, "Disabled"))
        return HU_VERDICT_NOTE;
    if (up >= 2 && down < up)
        return HU_VERDICT_FAILURE;
    return strcmp(p->layer, "InfiniBand") == 0 ? HU_VERDICT_WARNING : HU_VERDICT_NOTE;
}

/* The rate of most active ports like this one. */
static int64_t usual_gbps(const hu_ib_port *ports, size_t n, const hu_ib_port *p)
{
    int64_t best = p->gbps;
    size_t  best_n = 0;

    for (size_t i = 0; i < n; i++) {
        size_t same = 0;

        if (!ports[i].is_active || !same_kind(&ports[i], p))
            continue;
        for (size_t k = 0; k < n; k++)
            same += ports[k].is_active && same_kind(&ports[k], p) && ports[k].gbps == ports[i].gbps;
        if (same > best_n || (same == best_n && ports[i].gbps > best)) {
            best_n = same;
            best = ports[i].gbps;
        }
    }
    return best;
}

static void look_at_port(hu_doctor *d, const hu_check *check, const hu_ib_port *ports, size_t n, const hu_ib_port *p)
{
    const char   *name = hu_doctor_format(d, "%s port %s", p->device, p->port);
    const int64_t usual = usual_gbps(ports, n, p);

    if (!p->is_active)
        hu_doctor_say(d, check, judge_down(ports, n, p), name,
                      strstr(p->physical, "LinkUp")
                          ? "start a subnet manager, or ask why it does not configure this port: sminfo, "
                            "ibdiagnet"
                          : NULL,
                      "%s/state is %s, phys_state is %s", p->folder, p->state, p->physical);
    else if (p->gbps > 0 && p->gbps < usual)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, name, NULL, "%s/rate is %lld Gb/s, that of others like it is %lld Gb/s",
                      p->folder, (long long)p->gbps, (long long)usual);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, name, NULL, "%s, %lld Gb/s, %s", p->state, (long long)p->gbps, p->layer);
}

static bool has_ports(hu_doctor *d, const hu_check *check, const hu_ib_port **ports, size_t *n)
{
    *n = hu_host_ib_ports(d, ports);
    if (*n == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no InfiniBand or RoCE device");
    return *n > 0;
}

static void look_at_ports(hu_doctor *d, const hu_check *check)
{
    const hu_ib_port *ports;
    size_t            n;

    if (has_ports(d, check, &ports, &n))
        for (size_t i = 0; i < n; i++)
            look_at_port(d, check, ports, n, &ports[i]);
}

/*
 * Counters since the port came up or was cleared: no rate, and one look sees none.  A link that goes down again and again is
 * a cable; so are symbol errors by the thousand, which on links from EDR on are what error correction could not repair.
 */
static void look_at_port_counters(hu_doctor *d, const hu_check *check, const hu_ib_port *p, double hours)
{
    const char   *name = hu_doctor_format(d, "%s port %s", p->device, p->port);
    const char   *folder = hu_doctor_format(d, "%s/counters", p->folder);
    const int64_t down = counter(d, folder, "link_downed"), symbols = counter(d, folder, "symbol_error");
    const int64_t recovered = counter(d, folder, "link_error_recovery"), damaged = counter(d, folder, "port_rcv_errors");
    const int64_t late = counter(d, hu_doctor_format(d, "%s/hw_counters", p->folder), "local_ack_timeout_err");
    const bool    is_bad = down >= MANY_DOWN || recovered >= MANY_DOWN ||
                        (hours >= 1 && (double)symbols > MANY_SYMBOLS * hours);

    hu_doctor_say(d, check,
                  is_bad                                                                ? HU_VERDICT_WARNING
                  : down > 2 || recovered > 0 || symbols > 0 || late > 0 || damaged > 0 ? HU_VERDICT_NOTE
                                                                                        : HU_VERDICT_OK,
                  name, NULL,
                  "%s: link_downed %lld, link_error_recovery %lld, symbol_error %lld, port_rcv_errors %lld; "
                  "local_ack_timeout_err %lld",
                  folder, (long long)down, (long long)recovered, (long long)symbols, (long long)damaged, (long long)late);
}

static void look_at_counters(hu_doctor *d, const hu_check *check)
{
    const hu_ib_port *ports;
    const char       *text;
    size_t            n, n_said = 0;
    int64_t           seconds = 0;

    if (!has_ports(d, check, &ports, &n))
        return;
    hu_doctor_read(d, "/proc/uptime", &text);
    (void)hu_parse_i64((hu_str){text, strspn(text, "0123456789")}, &seconds);
    for (size_t i = 0; i < n; i++)
        if (ports[i].is_active && hu_doctor_exists(d, hu_doctor_format(d, "%s/counters", ports[i].folder))) {
            look_at_port_counters(d, check, &ports[i], (double)seconds / 3600);
            n_said++;
        }
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no active port has counters");
}

/* Types of GIDs are listed for all, also empty ones, whose type cannot be read (EINVAL). */
static bool has_version_2(hu_doctor *d, const hu_ib_port *p, size_t *n_types)
{
    const char *const *names;
    size_t             n;
    bool               found = false;

    *n_types = 0;
    hu_doctor_list(d, hu_doctor_format(d, "%s/gid_attrs/types", p->folder), &names, &n);
    for (size_t i = 0; i < n && !found; i++) {
        const char *text;

        if (hu_doctor_read(d, hu_doctor_format(d, "%s/gid_attrs/types/%s", p->folder, names[i]), &text) != HU_LOOK_OK)
            continue;
        ++*n_types;
        found = strstr(text, "RoCE v2") != NULL;
    }
    return found;
}

static void look_at_roce_port(hu_doctor *d, const hu_check *check, const hu_ib_port *p)
{
    const char        *name = hu_doctor_format(d, "%s port %s", p->device, p->port);
    const char        *folder = hu_doctor_format(d, "/sys/class/infiniband/%s/device/net", p->device);
    const char *const *names;
    const bool         is_fast = p->gbps >= FAST_GBPS;
    size_t             n, n_types;
    const bool         is_new = has_version_2(d, p, &n_types);

    hu_doctor_list(d, folder, &names, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t mtu;

        if (hu_doctor_read_number(d, hu_doctor_format(d, "%s/%s/mtu", folder, names[i]), &mtu) != HU_LOOK_OK)
            continue;
        hu_doctor_say(
            d, check,
            mtu >= JUMBO_MTU ? HU_VERDICT_OK
            : is_fast        ? HU_VERDICT_WARNING
                             : HU_VERDICT_NOTE,
            name, hu_doctor_format(d, "ip link set %s mtu 9000, if all switches between the nodes have it too", names[i]),
            "%s/%s/mtu is %lld", folder, names[i], (long long)mtu);
    }
    if (n_types == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, name, NULL, "the port has no GIDs with a type");
    else
        hu_doctor_say(d, check,
                      is_new    ? HU_VERDICT_OK
                      : is_fast ? HU_VERDICT_WARNING
                                : HU_VERDICT_NOTE,
                      name, "give its interface an address, and use RoCE v2 (cma_roce_mode)", "%s/gid_attrs/types: %s",
                      p->folder, is_new ? "RoCE v2" : "no RoCE v2");
}

static void look_at_roce(hu_doctor *d, const hu_check *check)
{
    const hu_ib_port *ports;
    size_t            n, n_roce = 0;

    if (!has_ports(d, check, &ports, &n))
        return;
    for (size_t i = 0; i < n; i++)
        if (ports[i].is_active && strcmp(ports[i].layer, "Ethernet") == 0) {
            look_at_roce_port(d, check, &ports[i]);
            n_roce++;
        }
    if (n_roce == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no active RoCE port");
}

/* -- GPUDirect RDMA ---------------------------------------------------------------------------------------------------- */

/* DMA-BUF needs Linux 5.12 and NVIDIA's open kernel modules, whose version text says so. */
static bool has_dma_buf(hu_doctor *d, const char *driver)
{
    const char *release = hu_fact(d, "uname.release"), *end;
    int64_t     major = 0, minor = 0;

    if (!release || !strstr(driver, "Open Kernel Module"))
        return false;
    end = strchr(release, '.');
    (void)hu_parse_i64((hu_str){release, strspn(release, "0123456789")}, &major);
    if (end)
        (void)hu_parse_i64((hu_str){end + 1, strspn(end + 1, "0123456789")}, &minor);
    return major > 5 || (major == 5 && minor >= 12);
}

static bool has_module(const char *modules, const char *name)
{
    const size_t n = strlen(name);

    for (const char *line = modules; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return true;
    }
    return false;
}

static bool has_nvidia_partner(hu_doctor *d)
{
    const hu_ib_port *ports;
    const size_t      n = hu_host_ib_ports(d, &ports);

    for (size_t i = 0; i < n; i++)
        if (ports[i].is_active && (strcmp(ports[i].layer, "InfiniBand") == 0 || ports[i].gbps >= FAST_GBPS) &&
            strcmp(ports[i].driver, "efa") != 0)
            return true;
    return false;
}

static void look_at_gpudirect(hu_doctor *d, const hu_check *check)
{
    const char   *driver, *modules;
    const hu_look how = hu_doctor_read(d, "/proc/driver/nvidia/version", &driver);

    if (how != HU_LOOK_OK || !has_nvidia_partner(d)) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL,
                      how != HU_LOOK_OK ? "no NVIDIA driver" : "no fast InfiniBand or RoCE");
        return;
    }
    if (hu_doctor_read(d, "/proc/modules", &modules) != HU_LOOK_OK) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "/proc/modules cannot be read");
        return;
    }
    if (has_module(modules, "nvidia_peermem") || has_module(modules, "nv_peer_mem"))
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "/proc/modules has %s",
                      has_module(modules, "nvidia_peermem") ? "nvidia_peermem" : "nv_peer_mem");
    else if (has_dma_buf(d, driver))
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "DMA-BUF: open kernel modules, and a kernel from 5.12 on");
    else
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL,
                      "/proc/modules has no nvidia_peermem, and DMA-BUF needs the open kernel modules and Linux 5.12");
}

const hu_check hu_checks_network[] = {
    {.id = "interfaces",
     .title = "Network interfaces",
     .when = HU_CHECK_OF_NODE,
     .why = "A link with a bad cable or in half duplex sends most packets twice: rendezvous, storage and gloo wait.",
     .fix = "replace cable or transceiver; ethtool -S and ethtool -m say more",
     .look = look_at_interfaces},
    {.id = "default-route",
     .title = "Interface that sockets use",
     .when = HU_CHECK_OF_NODE,
     .why = "gloo, and NCCL without InfiniBand, would send gradients over the slow management network.",
     .look = look_at_route},
    {.id = "rendezvous",
     .title = "Address of the first rank",
     .when = HU_CHECK_OF_JOB,
     .why = "Ranks wait for the store at MASTER_ADDR until a timeout ends the job, many minutes later.",
     .look = look_at_master},
    {.id = "node-name",
     .title = "Address of the node's own name",
     .when = HU_CHECK_OF_JOB,
     .why = "gloo and launchers give others the address of this name; 127.0.1.1 means themselves to all of them.",
     .fix = "take the name off the 127.0 lines of /etc/hosts, or export GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME",
     .look = look_at_name},
    {.id = "ib-port",
     .title = "InfiniBand and RoCE ports",
     .when = HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG,
     .why = "NCCL leaves a port out that is down, and all ranks are as slow as the one whose link is slow.",
     .fix = "reseat or replace the cable; ibstat, mlxlink -d DEVICE and the switch's log say more",
     .look = look_at_ports},
    {.id = "ib-errors",
     .title = "Errors of InfiniBand and RoCE links",
     .when = HU_CHECK_OF_NODE,
     .why = "Each damaged packet is sent again, and collectives of all ranks wait for it.",
     .fix = "see whether they rise: perfquery -x, twice; clean or replace the cable if so",
     .look = look_at_counters},
    {.id = "roce",
     .title = "RoCE: addresses and size of packets",
     .when = HU_CHECK_OF_NODE,
     .why = "Packets of 1 KiB do not fill a fast link, and RoCE v1 does not cross a router.",
     .look = look_at_roce},
    {.id = "gpudirect-rdma",
     .title = "GPUDirect RDMA",
     .when = HU_CHECK_OF_NODE,
     .why = "Without it, everything that goes to another node is copied through the host's memory first.",
     .fix = "modprobe nvidia_peermem, and let it load at boot",
     .look = look_at_gpudirect},
    {.id = NULL},
};
