/* SPDX-License-Identifier: Apache-2.0
 * check_values.c - what a node is made of, for `doctor --compare`: values that are the same on nodes that are alike.
 *
 * No names, addresses, serial numbers, times or load: those have to differ.  Of several alike (GPUs, links, CPUs) one value
 * says how many have what ("7 x 16, 1 x 8"), so that the order in which they were found does not matter.  What is not there
 * is "none"; what could not be looked at has no value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "doctor/doctor.h"
#include "doctor/facts.h"
#include "protocol/redact.h"

/* -- a value that is a file -------------------------------------------------------------------------------------------- */

static void value_of(hu_doctor *d, const char *key, hu_look how, const char *text)
{
    if (how == HU_LOOK_OK || how == HU_LOOK_ABSENT)
        hu_doctor_value(d, key, how == HU_LOOK_OK && text[0] ? text : "none");
}

/* The text of one line. */
static const char *first_line(hu_doctor *d, const char *text)
{
    return hu_doctor_format(d, "%.*s", (int)strcspn(text, "\n"), text);
}

static const struct {
    const char *key, *path;
} files[] = {
    {"kernel", "/proc/sys/kernel/osrelease"},
    {"machine", "/sys/class/dmi/id/product_name"},
    {"cpus", "/sys/devices/system/cpu/online"},
    {"smt", "/sys/devices/system/cpu/smt/control"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"numa", "/sys/devices/system/node/online"},
    {"thp", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"thp.defrag", "/sys/kernel/mm/transparent_hugepage/defrag"},
    {"sysctl.kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"},
    {"sysctl.vm.swappiness", "/proc/sys/vm/swappiness"},
    {"sysctl.vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"},
    {"sysctl.vm.max_map_count", "/proc/sys/vm/max_map_count"},
    {"sysctl.vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"},
    {"sysctl.vm.nr_hugepages", "/proc/sys/vm/nr_hugepages"},
    {"sysctl.kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"},
    {"sysctl.net.core.rmem_max", "/proc/sys/net/core/rmem_max"},
    {"sysctl.net.core.wmem_max", "/proc/sys/net/core/wmem_max"},
    {"amdgpu_driver", "/sys/module/amdgpu/version"},
    {"module.mlx5_core", "/sys/module/mlx5_core/version"},
};

static void look_at_files(hu_doctor *d)
{
    for (size_t i = 0; i < HU_COUNT(files); i++) {
        const char   *text, *chosen;
        const hu_look how = hu_doctor_read(d, files[i].path, &text);

        text = first_line(d, text);
        chosen = strchr(text, '['); /* "always [madvise] never" */
        if (chosen)
            text = hu_doctor_format(d, "%.*s", (int)strcspn(chosen + 1, "]"), chosen + 1);
        value_of(d, files[i].key, how, text);
    }
}

/* The value behind "NAME<blanks>:" or "NAME=" at the beginning of a line, without quotes; NULL: there is no such line. */
static const char *field(hu_doctor *d, const char *text, const char *name)
{
    const size_t n = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        const char *p;
        size_t      length;

        line += *line == '\n';
        p = line + n;
        if (strncmp(line, name, n) != 0 || !strchr(":= \t", *p) || !*p)
            continue;
        p += strspn(p, " \t");
        p += *p == ':' || *p == '=';
        p += strspn(p, " \t\"");
        length = strcspn(p, "\n");
        while (length && strchr(" \t\"", p[length - 1]))
            length--;
        return hu_doctor_format(d, "%.*s", (int)length, p);
    }
    return NULL;
}

static void look_at_system(hu_doctor *d)
{
    const char *text, *name, *vendor;
    hu_look     how = hu_doctor_read(d, "/etc/os-release", &text);

    if (how == HU_LOOK_OK && (name = field(d, text, "PRETTY_NAME")))
        hu_doctor_value(d, "os", name);
    how = hu_doctor_read(d, "/sys/class/dmi/id/bios_version", &text);
    if (hu_doctor_read(d, "/sys/class/dmi/id/bios_vendor", &vendor) == HU_LOOK_OK && how == HU_LOOK_OK)
        text = hu_doctor_format(d, "%s %s", vendor, text);
    value_of(d, "bios", how, text);
    if (hu_doctor_read(d, "/proc/cpuinfo", &text) == HU_LOOK_OK) {
        if ((name = field(d, text, "model name")) || (name = field(d, text, "CPU part")))
            hu_doctor_value(d, "cpu", name);
        if ((name = field(d, text, "microcode")))
            hu_doctor_value(d, "microcode", name);
    }
    if (hu_doctor_read(d, "/proc/meminfo", &text) == HU_LOOK_OK) {
        static const char *const names[][2] = {{"MemTotal", "memory"}, {"SwapTotal", "swap"}};

        for (size_t i = 0; i < HU_COUNT(names); i++) {
            int64_t kib;

            if ((name = field(d, text, names[i][0])) && hu_parse_i64((hu_str){name, strcspn(name, " ")}, &kib))
                hu_doctor_value(d, names[i][1],
                                hu_doctor_format(d, "%lld.%lld GiB", (long long)(kib / (1 << 20)),
                                                 (long long)(kib % (1 << 20) * 10 / (1 << 20))));
        }
    }
}

/* -- values of several alike ------------------------------------------------------------------------------------------- */

typedef struct {
    hu_doctor *d;
    HU_VEC(const char *) items;
} several;

static void also(several *s, const char *item)
{
    (void)hu_vec_push(hu_doctor_arena(s->d), &s->items, item);
}

static int by_text(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* "7 x 16, 1 x 8"; "none" where there are none. */
static void put_several(several *s, const char *key)
{
    const char *all = "";

    if (s->items.n)
        qsort(s->items.at, s->items.n, sizeof *s->items.at, by_text);
    for (size_t i = 0, next; i < s->items.n; i = next) {
        for (next = i + 1; next < s->items.n && strcmp(s->items.at[next], s->items.at[i]) == 0; next++)
            ;
        all = hu_doctor_format(s->d, "%s%s%zu x %s", all, i ? ", " : "", next - i, s->items.at[i]);
    }
    hu_doctor_value(s->d, key, s->items.n ? all : "none");
}

static bool is_cpu(const char *name)
{
    return strncmp(name, "cpu", 3) == 0 && name[3] >= '0' && name[3] <= '9';
}

static void look_at_cpus(hu_doctor *d)
{
    several            governors = {.d = d}, sockets = {.d = d};
    const char *const *names;
    size_t             n, n_sockets = 0;
    const char        *text, *last = NULL;
    hu_look            how;

    if (hu_doctor_list(d, "/sys/devices/system/cpu", &names, &n) != HU_LOOK_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!is_cpu(names[i]))
            continue;
        if (hu_doctor_read(d, hu_doctor_format(d, "/sys/devices/system/cpu/%s/cpufreq/scaling_governor", names[i]), &text) ==
            HU_LOOK_OK)
            also(&governors, text);
        if (hu_doctor_read(d, hu_doctor_format(d, "/sys/devices/system/cpu/%s/topology/physical_package_id", names[i]),
                           &text) == HU_LOOK_OK)
            also(&sockets, text);
    }
    put_several(&governors, "governor");
    if (sockets.items.n)
        qsort(sockets.items.at, sockets.items.n, sizeof *sockets.items.at, by_text);
    for (size_t i = 0; i < sockets.items.n; i++) {
        n_sockets += !last || strcmp(last, sockets.items.at[i]) != 0;
        last = sockets.items.at[i];
    }
    if (n_sockets)
        hu_doctor_value(d, "sockets", hu_doctor_format(d, "%zu", n_sockets));
    if ((how = hu_doctor_read(d, "/sys/devices/system/cpu/intel_pstate/no_turbo", &text)) == HU_LOOK_OK)
        hu_doctor_value(d, "turbo", strcmp(text, "0") == 0 ? "on" : "off");
    else if (how == HU_LOOK_ABSENT && hu_doctor_read(d, "/sys/devices/system/cpu/cpufreq/boost", &text) == HU_LOOK_OK)
        hu_doctor_value(d, "turbo", strcmp(text, "0") == 0 ? "off" : "on");
}

static void look_at_mitigations(hu_doctor *d)
{
    static const char  folder[] = "/sys/devices/system/cpu/vulnerabilities";
    const char *const *names;
    const char        *text;
    size_t             n;

    if (hu_doctor_list(d, folder, &names, &n) != HU_LOOK_OK)
        return;
    hu_doctor_value(d, "mitigation", "listed");
    for (size_t i = 0; i < n; i++)
        if (hu_doctor_read(d, hu_doctor_format(d, "%s/%s", folder, names[i]), &text) == HU_LOOK_OK)
            hu_doctor_value(d, hu_doctor_format(d, "mitigation.%s", names[i]), text);
}

/* -- the PCI bus ------------------------------------------------------------------------------------------------------- */

/* Width now and the speed that the card can do: the speed now falls while a GPU is idle, which is no fault. */
static void look_at_link(hu_doctor *d, several *s, const char *card)
{
    const char *width, *speed;

    if (hu_doctor_read(d, hu_doctor_format(d, "%s/current_link_width", card), &width) == HU_LOOK_OK &&
        hu_doctor_read(d, hu_doctor_format(d, "%s/max_link_speed", card), &speed) == HU_LOOK_OK && strcmp(width, "0") != 0)
        also(s, hu_doctor_format(d, "x%s of %s", width, speed));
}

static void look_at_bus(hu_doctor *d)
{
    static const char  folder[] = "/sys/bus/pci/devices";
    several            gpus = {.d = d}, gpu_links = {.d = d}, nic_links = {.d = d}, nvme_links = {.d = d};
    const char *const *names;
    size_t             n;

    if (hu_doctor_list(d, folder, &names, &n) != HU_LOOK_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        const char *card = hu_doctor_format(d, "%s/%s", folder, names[i]), *device;
        int64_t class, vendor;

        if (hu_doctor_read_number(d, hu_doctor_format(d, "%s/class", card), &class) != HU_LOOK_OK)
            continue;
        if (class >> 8 == 0x0108)
            look_at_link(d, &nvme_links, card);
        else if (class >> 8 == 0x0200 || class >> 8 == 0x0207)
            look_at_link(d, &nic_links, card);
        /* displays of a board's own controller are no GPUs */
        if ((class >> 16 != 0x03 && class >> 8 != 0x1200) ||
            hu_doctor_read_number(d, hu_doctor_format(d, "%s/vendor", card), &vendor) != HU_LOOK_OK ||
            (vendor != 0x10de && vendor != 0x1002 && vendor != 0x8086))
            continue;
        if (hu_doctor_read(d, hu_doctor_format(d, "%s/device", card), &device) == HU_LOOK_OK)
            also(&gpus, hu_doctor_format(d, "%04llx:%s", (long long)vendor, strncmp(device, "0x", 2) ? device : device + 2));
        look_at_link(d, &gpu_links, card);
    }
    put_several(&gpus, "gpu_bus");
    put_several(&gpu_links, "gpu_link");
    put_several(&nic_links, "nic_link");
    put_several(&nvme_links, "nvme_link");
}

/* -- NVIDIA's driver --------------------------------------------------------------------------------------------------- */

static void look_at_nvidia(hu_doctor *d)
{
    static const char  folder[] = "/proc/driver/nvidia/gpus";
    several            models = {.d = d}, bioses = {.d = d}, firmware = {.d = d};
    const char *const *names;
    const char        *text;
    size_t             n;
    hu_look            how = hu_doctor_read(d, "/proc/driver/nvidia/version", &text);

    if (how != HU_LOOK_OK) {
        value_of(d, "driver.version", how, "");
        return;
    }
    hu_doctor_value(d, "driver.modules", strstr(text, "Open Kernel Module") ? "open" : "closed");
    if (hu_doctor_read(d, "/proc/driver/nvidia/params", &text) == HU_LOOK_OK) {
        static const char *const params[] = {"RmProfilingAdminOnly", "EnableGpuFirmware", "EnableStreamMemOPs",
                                             "RegistryDwords", "EnableResizableBar"};

        for (size_t i = 0; i < HU_COUNT(params); i++) {
            const char *value = field(d, text, params[i]);

            if (value)
                hu_doctor_value(d, hu_doctor_format(d, "nvidia.%s", params[i]), value[0] ? value : "none");
        }
    }
    if (hu_doctor_list(d, folder, &names, &n) != HU_LOOK_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        const char *value;

        if (hu_doctor_read(d, hu_doctor_format(d, "%s/%s/information", folder, names[i]), &text) != HU_LOOK_OK)
            continue;
        if ((value = field(d, text, "Model")))
            also(&models, value);
        if ((value = field(d, text, "Video BIOS")) && !strchr(value, '?')) /* "??.??..." until a GPU is in use */
            also(&bioses, value);
        if ((value = field(d, text, "GPU Firmware")))
            also(&firmware, value);
    }
    put_several(&models, "gpu_model");
    if (bioses.items.n == models.items.n)
        put_several(&bioses, "gpu_vbios");
    put_several(&firmware, "gpu_firmware");
}

/* -- kernel, limits, networks, mounts ---------------------------------------------------------------------------------- */

static void look_at_modules(hu_doctor *d)
{
    static const char *const modules[] = {"nvidia_peermem", "nvidia_uvm", "gdrdrv", "nvidia_fs",
                                          "nouveau",        "ib_umad",    "xpmem"};

    if (!hu_doctor_exists(d, "/sys/module"))
        return;
    for (size_t i = 0; i < HU_COUNT(modules); i++)
        hu_doctor_value(d, hu_doctor_format(d, "module.%s", modules[i]),
                        hu_doctor_exists(d, hu_doctor_format(d, "/sys/module/%s", modules[i])) ? "loaded" : "none");
}

/* Parameters that change how fast a node is; others (root=, ip=) have to differ. */
static void look_at_parameters(hu_doctor *d)
{
    static const char *const known[] = {"iommu",
                                        "intel_iommu",
                                        "amd_iommu",
                                        "mitigations",
                                        "isolcpus",
                                        "nohz_full",
                                        "hugepages",
                                        "hugepagesz",
                                        "nosmt",
                                        "pcie_aspm",
                                        "pci",
                                        "default_hugepagesz",
                                        "numa_balancing",
                                        "processor.max_cstate",
                                        "intel_idle.max_cstate",
                                        "idle",
                                        "clocksource",
                                        "tsc",
                                        "intel_pstate",
                                        "amd_pstate",
                                        "preempt",
                                        "selinux",
                                        "transparent_hugepage",
                                        "cgroup_no_v1",
                                        "systemd.unified_cgroup_hierarchy",
                                        "nouveau.modeset",
                                        "rcu_nocbs",
                                        "skew_tick",
                                        "nmi_watchdog"};
    const char              *text;

    if (hu_doctor_read(d, "/proc/cmdline", &text) != HU_LOOK_OK)
        return;
    hu_doctor_value(d, "boot", "listed");
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, " \n"), name = strcspn(p, "= \n");

        for (size_t i = 0; i < HU_COUNT(known); i++)
            if (strlen(known[i]) == name && strncmp(p, known[i], name) == 0)
                hu_doctor_value(d, hu_doctor_format(d, "boot.%s", known[i]),
                                name < n ? hu_doctor_format(d, "%.*s", (int)(n - name - 1), p + name + 1) : "set");
        p += n;
        p += strspn(p, " \n");
    }
}

static void look_at_limits(hu_doctor *d)
{
    static const char *const names[] = {"memlock", "nofile", "nproc", "stack"};

    for (size_t i = 0; i < HU_COUNT(names); i++) {
        const char *value = hu_fact(d, hu_doctor_format(d, "limit.%s", names[i]));

        if (value)
            hu_doctor_value(d, hu_doctor_format(d, "limit.%s", names[i]), value);
    }
}

/* Interfaces with a card behind them: bridges and tunnels come and go with containers. */
static void look_at_interfaces(hu_doctor *d)
{
    const char *const *names;
    size_t             n;

    if (hu_doctor_list(d, "/sys/class/net", &names, &n) != HU_LOOK_OK)
        return;
    hu_doctor_value(d, "nic", "listed");
    for (size_t i = 0; i < n; i++) {
        static const char *const what[] = {"speed", "mtu", "operstate"};

        if (!hu_doctor_exists(d, hu_doctor_format(d, "/sys/class/net/%s/device", names[i])))
            continue;
        for (size_t k = 0; k < HU_COUNT(what); k++) {
            const char *text;

            /* the speed of an interface that is down cannot be read, or is -1 */
            if (hu_doctor_read(d, hu_doctor_format(d, "/sys/class/net/%s/%s", names[i], what[k]), &text) == HU_LOOK_OK)
                hu_doctor_value(d, hu_doctor_format(d, "nic.%s %s", names[i], what[k]),
                                strcmp(text, "-1") == 0 ? "unknown" : text);
        }
    }
}

static void look_at_infiniband(hu_doctor *d)
{
    static const char *const card[][2] = {{"fw_ver", "firmware"}, {"hca_type", "type"}, {"board_id", "board"}};
    static const char *const port[][2] = {{"rate", "rate"}, {"state", "state"}, {"link_layer", "link layer"}};
    const char *const *names, *const *ports;
    const char   *text;
    size_t        n, n_ports;
    const hu_look how = hu_doctor_list(d, "/sys/class/infiniband", &names, &n);

    if (how == HU_LOOK_OK || how == HU_LOOK_ABSENT)
        hu_doctor_value(d, "ib", "listed");
    for (size_t i = 0; how == HU_LOOK_OK && i < n; i++) {
        const char *folder = hu_doctor_format(d, "/sys/class/infiniband/%s", names[i]);

        for (size_t k = 0; k < HU_COUNT(card); k++)
            if (hu_doctor_read(d, hu_doctor_format(d, "%s/%s", folder, card[k][0]), &text) == HU_LOOK_OK)
                hu_doctor_value(d, hu_doctor_format(d, "ib.%s %s", names[i], card[k][1]), text);
        if (hu_doctor_list(d, hu_doctor_format(d, "%s/ports", folder), &ports, &n_ports) != HU_LOOK_OK)
            continue;
        for (size_t p = 0; p < n_ports; p++)
            for (size_t k = 0; k < HU_COUNT(port); k++)
                if (hu_doctor_read(d, hu_doctor_format(d, "%s/ports/%s/%s", folder, ports[p], port[k][0]), &text) ==
                    HU_LOOK_OK)
                    hu_doctor_value(d, hu_doctor_format(d, "ib.%s port %s %s", names[i], ports[p], port[k][1]), text);
    }
}

/* What an option of a mount says of the node, and not of how it mounts. */
static bool is_own(const char *option, size_t n)
{
    static const char *const own[] = {"addr=", "clientaddr=", "mountaddr=", "mountport=", "port=", "localaddr="};

    for (size_t i = 0; i < HU_COUNT(own); i++)
        if (n >= strlen(own[i]) && strncmp(option, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static const char *common_options(hu_doctor *d, const char *options)
{
    const char *all = "";

    while (*options) {
        const size_t n = strcspn(options, ",");

        if (!is_own(options, n))
            all = hu_doctor_format(d, "%s%s%.*s", all, all[0] ? "," : "", (int)n, options);
        options += n + (options[n] == ',');
    }
    return all;
}

/* Shared file systems, and /dev/shm.  "36 35 98:0 / /data rw,noatime shared:1 - nfs4 server:/x rw,vers=4.2,..." */
static void look_at_mounts(hu_doctor *d)
{
    static const char *const shared[] = {"nfs",    "lustre", "gpfs", "beegfs",   "ceph", "cifs",  "smb3",
                                         "wekafs", "fuse.",  "9p",   "virtiofs", "daos", "panfs", "orangefs"};
    const char              *text;

    if (hu_doctor_read(d, "/proc/self/mountinfo", &text) != HU_LOOK_OK)
        return;
    hu_doctor_value(d, "mount", "listed");
    for (const char *line = text; line; line = strchr(line, '\n')) {
        char        copy[4096], place[1024], own[512], kind[64], options[2048];
        const char *dash;
        bool        is_shared = false;

        line += *line == '\n';
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        dash = strstr(copy, " - ");
        if (!dash || sscanf(copy, "%*s %*s %*s %*s %1023s %511s", place, own) != 2 ||
            sscanf(dash, " - %63s %*s %2047s", kind, options) != 2)
            continue;
        for (size_t i = 0; i < HU_COUNT(shared); i++)
            is_shared |= strncmp(kind, shared[i], strlen(shared[i])) == 0;
        /* the user's own, of a login (sshfs, gvfs), and those of containers */
        if (strncmp(place, "/run/", 5) == 0 || strncmp(place, "/var/lib/", 9) == 0 || strcmp(kind, "fuse.lxcfs") == 0)
            is_shared = false;
        if (is_shared || strcmp(place, "/dev/shm") == 0)
            hu_doctor_value(d, hu_doctor_format(d, "mount.%s", place),
                            hu_doctor_format(d, "%s %s,%s", kind, own, common_options(d, options)));
    }
}

/* Variables that a job hands to its libraries on all nodes alike; a few are of the rank or the node. */
static void look_at_variables(hu_doctor *d)
{
    static const char *const begins[] = {"NCCL_", "CUDA_", "OMP_", "MKL_", "TORCH_", "PYTORCH_", "UCX_", "FI_", "GLOO_"};
    static const char *const differ[] = {"CUDA_VISIBLE_DEVICES", "NCCL_HOSTID", "NCCL_COMM_ID", "CUDA_MPS_",
                                         "CUDA_CACHE_PATH"};

    hu_doctor_value(d, "variable", "listed");
    for (const char *const *e = hu_doctor_environment(d); *e; e++) {
        const size_t name = strcspn(*e, "=");
        bool         is_asked = false;
        char         clean[1024];
        hu_redactor  r = {0};
        size_t       n;

        for (size_t i = 0; i < HU_COUNT(begins); i++)
            is_asked |= strncmp(*e, begins[i], strlen(begins[i])) == 0;
        for (size_t i = 0; i < HU_COUNT(differ); i++)
            is_asked &= strncmp(*e, differ[i], strlen(differ[i])) != 0;
        if (!is_asked || !(*e)[name])
            continue;
        n = hu_redact_argument(&r, hu_str_of(*e), clean, sizeof clean - 1);
        clean[n] = '\0';
        hu_doctor_value(d, hu_doctor_format(d, "variable.%.*s", (int)name, *e),
                        strchr(clean, '=') ? strchr(clean, '=') + 1 : "");
    }
}

static void look(hu_doctor *d, const hu_check *check)
{
    look_at_system(d);
    look_at_files(d);
    look_at_cpus(d);
    look_at_mitigations(d);
    look_at_bus(d);
    look_at_nvidia(d);
    look_at_modules(d);
    look_at_parameters(d);
    look_at_limits(d);
    look_at_interfaces(d);
    look_at_infiniband(d);
    look_at_mounts(d);
    if (hu_doctor_is_job(d))
        look_at_variables(d);
    hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "holdup doctor --compare judges them, over several nodes");
}

const hu_check hu_checks_values[] = {
    {"node-values", "Values that nodes should share", HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     "The node that is not like the others is usually the one for which they wait.",
     "write holdup doctor --json on each node and compare the files with holdup doctor --compare", look, 0},
    {.id = NULL},
};
