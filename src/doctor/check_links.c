/* SPDX-License-Identifier: Apache-2.0
 * check_links.c - the ways from GPUs to the CPU, to each other and to network cards.
 *
 * A link that is slower than it could be is a finding only where a load would show it: the speed of an idle PCIe link is
 * lowered to save power, its width is not.  What a virtual machine shows of the bus is not what the board has.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/gpu_facts.h"
#include "doctor/pci.h"
#include "gpu/nvml_setup.h"
#include "gpu/nvml_values.h"

enum { BUSY_PERCENT = 50, WIDTH_MOST = 32, FEW_ERRORS = 100 }; /* few that were corrected are usual, as after a start */

static bool has(int64_t fact)
{
    return fact != HU_GPU_NO_FACT;
}

static const char *subject(hu_doctor *d, size_t gpu)
{
    return hu_doctor_format(d, "GPU %zu", gpu);
}

/* GPUs for computing that are on the bus; false after it said that there are none. */
static bool has_gpus(hu_doctor *d, const hu_check *check, const hu_bus_gpu **gpus, size_t *n)
{
    size_t n_for_work = 0;

    *gpus = hu_bus_gpus(d, n);
    for (size_t i = 0; i < *n; i++)
        n_for_work += !(*gpus)[i].is_given_away && *(*gpus)[i].driver && (*gpus)[i].vendor != HU_PCI_INTEL;
    if (n_for_work == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no GPU with a driver");
    return n_for_work > 0;
}

static bool is_for_work(const hu_bus_gpu *g)
{
    return !g->is_given_away && *g->driver && g->vendor != HU_PCI_INTEL;
}

static int64_t number(hu_doctor *d, const char *folder, const char *name)
{
    int64_t value;

    return hu_doctor_read_number(d, hu_doctor_format(d, "%s/%s", folder, name), &value) == HU_LOOK_OK ? value : -1;
}

/* -- PCIe ----------------------------------------------------------------------------------------------------------- */

/* Lanes that the device and the bridge above it have both; 0 not known. */
static int64_t most_lanes(hu_doctor *d, const hu_bus_gpu *g)
{
    const char   *hops[HU_PCI_HOPS];
    const size_t  n = hu_bus_way(d, g->folder, hops);
    const int64_t own = number(d, g->folder, "max_link_width");
    const int64_t above = n > 1 ? number(d, hu_doctor_format(d, "/sys/bus/pci/devices/%s", hops[1]), "max_link_width") : -1;

    if (own <= 0 || own > WIDTH_MOST || above <= 0 || above > WIDTH_MOST)
        return 0;
    return own < above ? own : above;
}

static void look_at_width(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    size_t              n, n_said = 0, n_known = 0, n_idle = 0;
    const hu_bus_gpu   *gpus = hu_bus_gpus(d, &n);

    if (f->n == 0 && !has_gpus(d, check, &gpus, &n))
        return;
    for (size_t i = 0; i < f->n; i++) {
        const hu_gpu_fact *g = &f->gpu[i];

        if (!g->is_there || g->width <= 0 || g->width_most <= 0)
            continue;
        n_known++;
        hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.pcie_width", i), hu_doctor_format(d, "%" PRId64, g->width));
        n_idle += g->use < BUSY_PERCENT;
        if (g->width < g->width_most)
            hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL, "PCIe runs with %d of %d lanes", (int)g->width,
                          (int)g->width_most);
        else if (g->use >= BUSY_PERCENT && g->generation > 0 && g->generation < g->generation_most)
            hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL, "under load, PCIe runs as generation %d of %d",
                          (int)g->generation, (int)g->generation_most);
        else
            continue;
        n_said++;
    }
    for (size_t i = 0; i < n && n_known == 0; i++) {
        const hu_bus_gpu *g = &gpus[i];
        const int64_t     now = number(d, g->folder, "current_link_width"), most = is_for_work(g) ? most_lanes(d, g) : 0;

        if (most <= 0 || now <= 0)
            continue;
        n_idle++;
        n_known += 1;
        if (now < most) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_WARNING, g->address, NULL, "%s/current_link_width is %d, it could be %d",
                          g->folder, (int)now, (int)most);
        }
    }
    if (n_said == 0 && n_known)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "all lanes are in use%s",
                      n_idle ? " (the speed of an idle link says nothing)" : "");
    else if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "neither driver nor /sys says how wide the links are");
}

/* "TOTAL_ERR_FATAL 0": the number of the line that begins with TOTAL; -1 not known. */
static int64_t total_of(hu_doctor *d, const char *path)
{
    const char *text, *line;

    hu_doctor_read(d, path, &text);
    line = strstr(text, "TOTAL_ERR_");
    line = line ? strchr(line, ' ') : NULL;
    return line ? strtoll(line, NULL, 10) : -1;
}

static void look_at_errors(hu_doctor *d, const hu_check *check)
{
    static const struct {
        const char         *file;
        const char         *words;
        hu_verdict_of_check verdict;
        bool                is_corrected;
    } kinds[] = {{"aer_dev_fatal", "fatal", HU_VERDICT_WARNING},
                 {"aer_dev_nonfatal", "uncorrected", HU_VERDICT_NOTE},
                 {"aer_dev_correctable", "corrected", HU_VERDICT_NOTE, true}};
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    size_t              n, n_said = 0, n_known = 0;
    const hu_bus_gpu   *gpus = hu_bus_gpus(d, &n);

    if (f->n == 0 && !has_gpus(d, check, &gpus, &n))
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; is_for_work(&gpus[i]) && k < HU_COUNT(kinds); k++) {
            const char   *path = hu_doctor_format(d, "%s/%s", gpus[i].folder, kinds[k].file);
            const int64_t total = total_of(d, path);

            n_known += total >= 0;
            if (total <= (kinds[k].is_corrected ? FEW_ERRORS : 0))
                continue;
            n_said++;
            hu_doctor_say(d, check, kinds[k].verdict, gpus[i].address, NULL, "%" PRId64 " %s errors since boot (%s)", total,
                          kinds[k].words, path);
        }
    for (size_t i = 0; i < f->n; i++) {
        n_known += f->gpu[i].is_there && has(f->gpu[i].replays);
        if (!f->gpu[i].is_there || f->gpu[i].replays <= FEW_ERRORS)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), NULL,
                      "%" PRId64 " packets were sent again since the driver was "
                      "loaded (PCIe replays)",
                      f->gpu[i].replays);
    }
    if (n_said == 0 && n_known)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no more PCIe errors than are usual");
    else if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "neither driver nor /sys counts PCIe errors");
}

/* -- what stands between peers -------------------------------------------------------------------------------------- */

enum {
    EXTENDED = 0x100,
    ACS = 0x000d,
    ACS_CONTROL = 6,
    REDIRECTS = 0x04 | 0x08 | 0x10 /* P2P request redirect, completion redirect, upstream forwarding */
};

static unsigned word_at(hu_str c, size_t at)
{
    return at + 1 < c.n ? (unsigned char)c.p[at] | (unsigned)(unsigned char)c.p[at + 1] << 8 : 0;
}

/* Access control services: does the port send what its devices send to each other up to the CPU? */
static bool redirects(hu_str c)
{
    unsigned at = EXTENDED;

    for (int i = 0; at >= EXTENDED && at + 8 <= c.n && i < 64; i++) {
        if (word_at(c, at) == ACS)
            return (word_at(c, at + ACS_CONTROL) & REDIRECTS) != 0;
        at = word_at(c, at + 2) >> 4 & 0xffc;
    }
    return false;
}

/* Of the ports above a GPU, those of switches that redirect; the topmost one is the CPU's own, where redirection is
   usual. */
static size_t redirecting_ports(hu_doctor *d, const hu_bus_gpu *g, const char **first, bool *needs_root)
{
    const char  *hops[HU_PCI_HOPS];
    const size_t n = hu_bus_way(d, g->folder, hops);
    size_t       found = 0;

    for (size_t i = 1; i + 1 < n; i++) {
        const char *path = hu_doctor_format(d, "/sys/bus/pci/devices/%s/config", hops[i]);
        hu_str      c;

        if (hu_doctor_read_bytes(d, path, &c) != HU_LOOK_OK)
            continue;
        *needs_root |= c.n <= 64; /* the rest is root's */
        if (redirects(c) && found++ == 0)
            *first = hops[i];
    }
    return found;
}

static void look_at_acs(hu_doctor *d, const hu_check *check)
{
    const hu_bus_gpu *gpus;
    size_t            n, n_work = 0, n_nics = 0, n_ports = 0;
    const char       *first = "", *const * names;
    bool              needs_root = false;

    if (!has_gpus(d, check, &gpus, &n))
        return;
    if (hu_bus_is_virtual(d)) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "a virtual machine: its host has the switches");
        return;
    }
    hu_doctor_list(d, "/sys/class/infiniband", &names, &n_nics);
    for (size_t i = 0; i < n; i++)
        if (is_for_work(&gpus[i])) {
            n_work++;
            n_ports += redirecting_ports(d, &gpus[i], &first, &needs_root);
        }
    if (n_work < 2 && n_nics == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "one GPU and no InfiniBand: no peers");
    else if (n_ports)
        hu_doctor_say(
            d, check, HU_VERDICT_WARNING, NULL, NULL,
            "%zu port%s of PCIe switches above GPUs send%s traffic between peers up to the CPU (ACS), the first is %s",
            n_ports, n_ports == 1 ? "" : "s", n_ports == 1 ? "s" : "", first);
    else if (needs_root)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "needs root: /sys/bus/pci/devices/*/config");
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no PCIe switch above a GPU redirects traffic between peers");
}

static void look_at_iommu(hu_doctor *d, const hu_check *check)
{
    const hu_bus_gpu *gpus;
    size_t            n, n_translated = 0, n_groups = 0, n_known = 0, n_work = 0, n_nics = 0;
    const char       *first = "", *cpus, *line, *const * names;

    if (!has_gpus(d, check, &gpus, &n))
        return;
    hu_doctor_read(d, "/proc/cpuinfo", &cpus);
    if (hu_bus_is_virtual(d) || !strstr(cpus, "vendor_id")) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "judged on x86 without a hypervisor only");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *group, *type, *path;

        if (!is_for_work(&gpus[i]))
            continue;
        n_work++;
        if (hu_doctor_link(d, hu_doctor_format(d, "%s/iommu_group", gpus[i].folder), &group) != HU_LOOK_OK)
            continue;
        n_groups++;
        group = strrchr(group, '/') ? strrchr(group, '/') + 1 : group;
        path = hu_doctor_format(d, "/sys/kernel/iommu_groups/%s/type", group);
        n_known += hu_doctor_read(d, path, &type) == HU_LOOK_OK;
        if (strncmp(type, "DMA", 3) == 0 && n_translated++ == 0)
            first = hu_doctor_format(d, "%s is %s", path, type);
    }
    hu_doctor_list(d, "/sys/class/infiniband", &names, &n_nics);
    hu_doctor_read(d, "/proc/cmdline", &line);
    if (n_translated)
        hu_doctor_say(d, check, n_work > 1 || n_nics ? HU_VERDICT_WARNING : HU_VERDICT_NOTE, NULL, NULL,
                      "the IOMMU translates DMA of %zu of %zu GPUs (%s)%s", n_translated, n_work, first,
                      strstr(line, "iommu=pt") ? ", though /proc/cmdline has iommu=pt" : "");
    else if (n_known < n_groups)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "cannot read /sys/kernel/iommu_groups/*/type");
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL,
                      n_known ? "DMA of GPUs passes through the IOMMU untranslated" : "GPUs are behind no IOMMU");
}

static void look_at_peers(hu_doctor *d, const hu_check *check)
{
    static const char *const words[] = {[HU_PEER_CHIPSET] = "the chipset cannot",
                                        [HU_PEER_GPU] = "these GPUs cannot",
                                        [HU_PEER_TOPOLOGY] = "the way between them cannot",
                                        [HU_PEER_SWITCHED_OFF] = "a setting of the driver forbids it",
                                        [HU_PEER_NOT_SUPPORTED] = "not supported"};
    const hu_gpu_facts      *f = hu_gpu_facts_or_say(d, check);
    size_t                   n_pairs = 0, n_bad = 0, one = 0, other = 0;
    int                      worst = 0;

    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = i + 1; k < f->n; k++) {
            const int status = f->gpu[i].peer[k];

            n_pairs += status >= 0;
            if (status <= 0)
                continue;
            if (n_bad++ == 0) {
                one = i;
                other = k;
                worst = status;
            }
        }
    if (n_pairs == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no two GPUs that say");
    else if (n_bad)
        hu_doctor_say(d, check,
                      worst == HU_PEER_GPU || worst == HU_PEER_NOT_SUPPORTED ? HU_VERDICT_NOTE : HU_VERDICT_WARNING, NULL,
                      NULL, "%zu of %zu pairs of GPUs cannot read each other's memory: GPU %zu and %zu, %s", n_bad, n_pairs,
                      one, other, words[worst]);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "GPUs can read each other's memory (%zu pairs)", n_pairs);
}

/* -- NVLink --------------------------------------------------------------------------------------------------------- */

static void look_at_nvlink(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;
    int64_t             most_up = 0;

    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        if (f->gpu[i].links > 0 && f->gpu[i].links_active > most_up)
            most_up = f->gpu[i].links_active;
    for (size_t i = 0; i < f->n && most_up > 0; i++) {
        const hu_gpu_fact *g = &f->gpu[i];
        const bool         has_errors = g->link_data > 0 || g->link_recoveries > 0;

        if (g->links <= 0 || g->links_active <= 0)
            continue; /* a board without a bridge has links, and none is up */
        n_known++;
        hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.nvlinks", i), hu_doctor_format(d, "%" PRId64, g->links_active));
        if (g->links_active < most_up)
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i), NULL,
                          "%d of %d NVLinks are up, link %d is not; another GPU of this node has %d up",
                          (int)g->links_active, (int)g->links, (int)g->link_down, (int)most_up);
        else if (has_errors)
            hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), NULL,
                          "NVLink had %d data errors and was started anew %d times since the driver was loaded",
                          g->link_data > 0 ? (int)g->link_data : 0, g->link_recoveries > 0 ? (int)g->link_recoveries : 0);
        else
            continue;
        n_said++;
    }
    if (n_known == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no NVLink is up");
    else if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%d NVLinks are up on each of %zu GPUs", (int)most_up, n_known);
}

static void look_at_fabric(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        const hu_gpu_fact *g = &f->gpu[i];

        n_known += g->fabric > HU_FABRIC_NOT_SUPPORTED;
        if (g->fabric == HU_FABRIC_NOT_STARTED || g->fabric == HU_FABRIC_IN_PROGRESS)
            hu_doctor_say(d, check, f->n > 1 ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING, subject(d, i), NULL,
                          "it has not joined the NVSwitch fabric: %s",
                          g->fabric == HU_FABRIC_NOT_STARTED ? "not started" : "in progress");
        else if (g->fabric == HU_FABRIC_COMPLETED && g->fabric_code > 0)
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i), NULL,
                          "it could not join the NVSwitch fabric: NVML error %d", (int)g->fabric_code);
        else if (g->fabric_health == HU_FABRIC_UNHEALTHY || g->fabric_health == HU_FABRIC_LIMITED)
            hu_doctor_say(d, check, g->fabric_health == HU_FABRIC_LIMITED ? HU_VERDICT_WARNING : HU_VERDICT_FAILURE,
                          subject(d, i), NULL, "its NVSwitch fabric %s",
                          g->fabric_health == HU_FABRIC_LIMITED ? "has less capacity than it should" : "is unhealthy");
        else
            continue;
        n_said++;
    }
    if (n_known == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no NVSwitch fabric");
    else if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "all %zu GPUs have joined the NVSwitch fabric", n_known);
}

/* -- to the network card -------------------------------------------------------------------------------------------- */

/* How many steps of two ways from the CPU down are the same. */
static size_t shared_steps(const char *const *one, size_t n_one, const char *const *other, size_t n_other)
{
    size_t n = 0;

    while (n < n_one && n < n_other && strcmp(one[n_one - 1 - n], other[n_other - 1 - n]) == 0)
        n++;
    return n;
}

static void look_at_nics(hu_doctor *d, const hu_check *check)
{
    const hu_bus_gpu  *gpus;
    const char *const *nics;
    size_t             n, n_nics = 0, n_far = 0, n_known = 0;
    const char        *first = "";

    if (!has_gpus(d, check, &gpus, &n))
        return;
    if (hu_doctor_list(d, "/sys/class/infiniband", &nics, &n_nics) != HU_LOOK_OK || n_nics == 0) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no InfiniBand or RoCE device");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t node = number(d, gpus[i].folder, "numa_node");
        const char   *way[HU_PCI_HOPS], *other[HU_PCI_HOPS], *nearest = "";
        const size_t  n_way = is_for_work(&gpus[i]) ? hu_bus_way(d, gpus[i].folder, way) : 0;
        bool          has_near = false;
        size_t        best = 0;

        if (!is_for_work(&gpus[i]) || node < 0)
            continue;
        n_known++;
        for (size_t k = 0; k < n_nics; k++) {
            const char  *folder = hu_doctor_format(d, "/sys/class/infiniband/%s/device", nics[k]);
            const size_t steps = shared_steps(way, n_way, other, hu_bus_way(d, folder, other));

            has_near |= number(d, folder, "numa_node") == node;
            if (steps > best) {
                best = steps;
                nearest = nics[k];
            }
        }
        if (*nearest)
            hu_doctor_value(d, hu_doctor_format(d, "pci.%zu.nic", i), nearest);
        if (!has_near && n_far++ == 0)
            first = hu_doctor_format(d, "%s is on NUMA node %d", gpus[i].address, (int)node);
    }
    if (n_known == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "the bus says nothing of NUMA nodes");
    else if (n_far)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, NULL,
                      "%zu of %zu GPUs have no InfiniBand or RoCE device on their NUMA node: %s", n_far, n_known, first);
    else
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "each GPU has an InfiniBand or RoCE device on its NUMA node");
}

#define LINK_CHECK(id_, title_, when_, look_, why_, fix_)                                                              \
    {                                                                                                                  \
        .id = id_, .title = title_, .when = when_, .why = why_, .fix = fix_, .look = look_, .limit_ms = HU_GPU_LOOK_MS \
    }

const hu_check hu_checks_links[] = {
    LINK_CHECK("pcie-link", "PCIe links of the GPUs", HU_CHECK_OF_NODE, look_at_width,
               "With half of the lanes, copies to and from the GPU take twice as long.",
               "seat the board anew; look at riser, cable and the slot's setting in the BIOS"),
    LINK_CHECK("pcie-errors", "PCIe errors of the GPUs", HU_CHECK_OF_NODE, look_at_errors,
               "What was sent wrong is sent again, and a link that fails takes the GPU with it.",
               "see whether it grows; seat the board anew; look at riser and cable"),
    LINK_CHECK(
        "pcie-acs", "Access control of PCIe switches", HU_CHECK_OF_NODE, look_at_acs,
        "Traffic between GPUs, or from a GPU to a network card, goes up to the CPU and back: NCCL is slow, or hangs.",
        "switch ACS off in the BIOS, or with setpci for each port after each boot, where no virtual machine needs it"),
    LINK_CHECK(
        "iommu", "IOMMU", HU_CHECK_OF_NODE, look_at_iommu,
        "Each transfer between devices is translated and goes up to the CPU: peers and GPUDirect RDMA are slow, or hang.",
        "boot with iommu=pt, where no virtual machine uses the devices"),
    LINK_CHECK("peer-access", "Access between GPUs", HU_CHECK_OF_NODE, look_at_peers,
               "Without it, what GPUs send each other goes through the host's memory.",
               "see nvidia-smi topo -p2p r; look at ACS and the IOMMU of this node"),
    LINK_CHECK("nvlink", "NVLink", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_nvlink,
               "With a link down, collectives of all ranks run at the speed of the GPU that lacks it, or do not start.",
               "drain the node and reset its GPUs together; look for XID 74 or 144 to 150 in dmesg"),
    LINK_CHECK("nvswitch", "NVSwitch fabric", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_fabric,
               "Before the fabric is up, CUDA programs get error 802 (system not yet initialized).",
               "systemctl status nvidia-fabricmanager; it must be of the driver's version"),
    LINK_CHECK("gpu-nic", "GPUs and network cards", HU_CHECK_OF_NODE, look_at_nics,
               "Traffic of a GPU without a near card crosses the link between the CPUs.",
               "choose cards by NCCL_IB_HCA where the layout of the node allows it; see nvidia-smi topo -m"),
    {.id = NULL},
};
