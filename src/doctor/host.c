/* SPDX-License-Identifier: Apache-2.0
 * host.c - cgroups, mounts, PCI and InfiniBand as /proc and /sys show them. */
#include "doctor/host.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mount_word.h"
#include "base/number.h"
#include "doctor/looker.h"

enum { KIB = 1024, FAST_GBPS = 100, MOST_RANKS = 1 << 16 };

/* A file may hold any number; below this one sums of them, and KiB as bytes, do not overflow. */
static const int64_t most_of_field = INT64_C(1) << 50;

const char *hu_host_size(hu_doctor *d, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int64_t                  whole = bytes, tenths = 0;
    size_t                   unit = 0;

    while (whole >= KIB && unit + 1 < HU_COUNT(units)) {
        tenths = whole % KIB * 10 / KIB;
        whole /= KIB;
        unit++;
    }
    if (whole >= 10 || tenths == 0)
        return hu_doctor_format(d, "%lld %s", (long long)whole, units[unit]);
    return hu_doctor_format(d, "%lld.%lld %s", (long long)whole, (long long)tenths, units[unit]);
}

static const char *line_of(const char *text, const char *name)
{
    const size_t n = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0)
            return line + n;
    }
    return NULL;
}

bool hu_host_field(const char *text, const char *name, int64_t *number)
{
    const char *p = line_of(text, name);
    size_t      n;

    if (!p || !strchr(" \t:=", *p))
        return false;
    p += strspn(p, " \t:=");
    n = strcspn(p, " \t\n");

    int64_t value;

    if (!hu_parse_i64((hu_str){p, n}, &value) || value < 0 || value >= most_of_field)
        return false;
    *number = value;
    return true;
}

const char *hu_host_words(hu_doctor *d, const char *text, const char *name)
{
    const char *p = line_of(text, name);

    if (!p)
        return NULL;
    p += strspn(p, " \t:=");
    return hu_doctor_format(d, "%.*s", (int)strcspn(p, "\n"), p);
}

void hu_host_say_unread(hu_doctor *d, const hu_check *check, hu_look how, const char *path)
{
    if (how == HU_LOOK_DENIED)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "needs root: %s", path);
    else if (how == HU_LOOK_ABSENT)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "there is no %s", path);
    else
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "%s cannot be read", path);
}

bool hu_host_has_capability(hu_doctor *d, int number)
{
    const char *status, *words;

    if (hu_doctor_read(d, "/proc/self/status", &status) != HU_LOOK_OK || !(words = hu_host_words(d, status, "CapEff")))
        return false;
    return strtoull(words, NULL, 16) >> number & 1;
}

/* -- mounts ------------------------------------------------------------------------------------------------------------ */

/* One line of /proc/self/mountinfo (proc(5)). */
typedef struct {
    const char *device, *root, *point, *type, *source, *options;
} mount_line;

static const char *unescaped(hu_doctor *d, hu_str word)
{
    char text[PATH_MAX];

    return hu_mount_word(word, text, sizeof text) ? hu_doctor_format(d, "%s", text) : "";
}

static bool parse_mount(hu_doctor *d, hu_str line, mount_line *out)
{
    enum { FIELDS = 6, TAIL = 3 };
    hu_str      word[FIELDS] = {0}, tail[TAIL] = {0};
    size_t      n = 0, n_tail = 0;
    const char *p = line.p, *end = line.p + line.n;
    bool        is_tail = false;

    while (p < end) {
        const char  *blank = memchr(p, ' ', (size_t)(end - p));
        const hu_str w = {p, (size_t)((blank ? blank : end) - p)};

        if (is_tail && n_tail < TAIL)
            tail[n_tail++] = w;
        else if (!is_tail && n < FIELDS)
            word[n++] = w;
        else if (!is_tail)
            is_tail = hu_str_equal(w, HU_STR("-"));
        p += w.n + 1;
    }
    if (n < FIELDS || n_tail < TAIL)
        return false;
    *out = (mount_line){
        .device = hu_doctor_format(d, "%.*s", HU_FMT(word[2])),
        .root = unescaped(d, word[3]),
        .point = unescaped(d, word[4]),
        .type = hu_doctor_format(d, "%.*s", HU_FMT(tail[0])),
        .source = unescaped(d, tail[1]),
        .options = hu_doctor_format(d, "%.*s,%.*s", HU_FMT(word[5]), HU_FMT(tail[2])),
    };
    return true;
}

/* Calls for each mount, until `each` says false. */
static bool for_mounts(hu_doctor *d, bool (*each)(void *context, const mount_line *m), void *context)
{
    const char *text;

    if (hu_doctor_read(d, "/proc/self/mountinfo", &text) != HU_LOOK_OK)
        return false;
    while (*text) {
        const hu_str line = {text, strcspn(text, "\n")};
        mount_line   m;

        if (parse_mount(d, line, &m) && !each(context, &m))
            break;
        text += line.n + (text[line.n] == '\n');
    }
    return true;
}

bool hu_host_option(const char *options, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = options; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && strncmp(p, word, n) == 0)
            return true;
    return false;
}

typedef struct {
    const char *path;
    size_t      length; /* of the best mount point so far */
    hu_mount    found;
} mount_search;

/* Is `path` the folder, or in it?  "/" holds all. */
static bool is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return n == 1 || (strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

static bool find_mount(void *context, const mount_line *m)
{
    mount_search *s = context;
    const size_t  n = strlen(m->point);

    if (m->point[0] == '/' && is_below(s->path, m->point) && n >= s->length) { /* later ones cover earlier ones */
        s->length = n;
        s->found = (hu_mount){m->point, m->type, m->source, m->options, m->device};
    }
    return true;
}

bool hu_host_mount_of(hu_doctor *d, const char *path, hu_mount *out)
{
    char         real[PATH_MAX];
    mount_search s = {.path = path};

    if (!hu_doctor_is_capture(d)) {
        hu_doctor_begin_call(d, hu_doctor_format(d, "realpath %s", path));
        if (realpath(path, real))
            s.path = real;
        hu_doctor_begin_call(d, NULL);
    }
    if (!for_mounts(d, find_mount, &s) || !s.length)
        return false;
    *out = s.found;
    return true;
}

/* -- cgroups ----------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *controller;
    mount_line  v1, v2;
} cgroup_search;

static bool find_cgroup(void *context, const mount_line *m)
{
    cgroup_search *s = context;

    if (strcmp(m->type, "cgroup2") == 0)
        s->v2 = *m;
    else if (strcmp(m->type, "cgroup") == 0 && hu_host_option(m->options, s->controller))
        s->v1 = *m;
    return true;
}

/* This process' path: of "5:cpu,cpuacct:/docker/x" that behind the second colon. */
static const char *cgroup_path(hu_doctor *d, const char *controller)
{
    const char *text;

    if (hu_doctor_read(d, "/proc/self/cgroup", &text) != HU_LOOK_OK)
        return NULL;
    while (*text) {
        const size_t n = strcspn(text, "\n");
        const char  *line = hu_doctor_format(d, "%.*s", (int)n, text);
        const char  *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

        if (path) {
            const char *list = hu_doctor_format(d, "%.*s", (int)(path - names - 1), names + 1);

            if (controller ? hu_host_option(list, controller) : list[0] == '\0')
                return path + 1;
        }
        text += n + (text[n] == '\n');
    }
    return NULL;
}

/* In a container the hierarchy may be mounted from the container's own group on: what is above is not to be seen. */
static const char *below_mount(const char *path, const char *root)
{
    if (!path || strstr(path, "/.."))
        return "";
    if (strcmp(root, "/") == 0)
        return strcmp(path, "/") == 0 ? "" : path;
    return is_below(path, root) ? path + strlen(root) : "";
}

size_t hu_host_cgroups(hu_doctor *d, const char *controller, const char **folders, size_t room, bool *is_v2)
{
    cgroup_search s = {.controller = controller};
    size_t        n = 0;

    if (!for_mounts(d, find_cgroup, &s))
        return 0;
    *is_v2 = !s.v1.point; /* a mixed system has the controllers in v1 */
    const mount_line *m = *is_v2 ? &s.v2 : &s.v1;

    if (!m->point)
        return 0;
    const char *below = below_mount(cgroup_path(d, *is_v2 ? NULL : controller), m->root);

    for (size_t length = strlen(below); n < room;) {
        folders[n++] = hu_doctor_format(d, "%s%.*s", m->point, (int)length, below);
        if (length == 0)
            break;
        while (length > 0 && below[--length] != '/') {
        }
    }
    return n;
}

/* -- PCI, InfiniBand --------------------------------------------------------------------------------------------------- */

static bool is_gpu(int64_t vendor, int64_t class)
{
    const int64_t kind = class >> 8; /* 0x0300 VGA, 0x0302 3D, 0x0380 other display, 0x1200 accelerator */

    return (vendor == 0x10de && (kind == 0x0300 || kind == 0x0302)) ||
           (vendor == 0x1002 && (kind == 0x0302 || kind == 0x0380 || kind == 0x1200)) ||
           (vendor == 0x8086 && kind == 0x0380);
}

size_t hu_host_gpus(hu_doctor *d, const hu_pci_gpu **gpus)
{
    const char *const *names;
    size_t             n;
    HU_VEC(hu_pci_gpu) list = {0};

    hu_doctor_list(d, "/sys/bus/pci/devices", &names, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t class = 0, vendor = 0, node = -1;

        if (hu_doctor_read_number(d, hu_doctor_format(d, "/sys/bus/pci/devices/%s/class", names[i]), &class) != HU_LOOK_OK ||
            (class >> 16 != 0x03 && class >> 16 != 0x12) ||
            hu_doctor_read_number(d, hu_doctor_format(d, "/sys/bus/pci/devices/%s/vendor", names[i]), &vendor) !=
                HU_LOOK_OK ||
            !is_gpu(vendor, class))
            continue;
        hu_doctor_read_number(d, hu_doctor_format(d, "/sys/bus/pci/devices/%s/numa_node", names[i]), &node);
        (void)hu_vec_push(hu_doctor_arena(d), &list, ((hu_pci_gpu){names[i], (int)vendor, node}));
    }
    *gpus = list.at;
    return list.n;
}

static const char *text_in(hu_doctor *d, const char *folder, const char *name)
{
    const char *text;

    hu_doctor_read(d, hu_doctor_format(d, "%s/%s", folder, name), &text);
    return text;
}

static hu_ib_port read_port(hu_doctor *d, const char *device, const char *port)
{
    const char *base = hu_doctor_format(d, "/sys/class/infiniband/%s", device), *driver;
    hu_ib_port  p = {.device = device, .port = port, .folder = hu_doctor_format(d, "%s/ports/%s", base, port)};
    const char *rate = text_in(d, p.folder, "rate");

    hu_doctor_link(d, hu_doctor_format(d, "%s/device/driver", base), &driver);
    p.driver = strrchr(driver, '/') ? strrchr(driver, '/') + 1 : driver;
    p.state = text_in(d, p.folder, "state");
    p.physical = text_in(d, p.folder, "phys_state");
    p.layer = text_in(d, p.folder, "link_layer");
    p.board = text_in(d, base, "board_id");
    p.is_active = strstr(p.state, "ACTIVE") != NULL;
    if (!hu_parse_i64((hu_str){rate, strspn(rate, "0123456789")}, &p.gbps)) /* "2.5 Gb/sec (1X SDR)" is 2 */
        p.gbps = 0;
    return p;
}

size_t hu_host_ib_ports(hu_doctor *d, const hu_ib_port **ports)
{
    const char *const *devices, *const *names;
    size_t n_devices, n_names;
    HU_VEC(hu_ib_port) list = {0};

    hu_doctor_list(d, "/sys/class/infiniband", &devices, &n_devices);
    for (size_t i = 0; i < n_devices; i++) {
        hu_doctor_list(d, hu_doctor_format(d, "/sys/class/infiniband/%s/ports", devices[i]), &names, &n_names);
        for (size_t k = 0; k < n_names; k++)
            (void)hu_vec_push(hu_doctor_arena(d), &list, read_port(d, devices[i], names[k]));
    }
    *ports = list.at;
    return list.n;
}

bool hu_host_has_fast_fabric(hu_doctor *d)
{
    const hu_ib_port *ports;
    const size_t      n = hu_host_ib_ports(d, &ports);

    for (size_t i = 0; i < n; i++)
        if (ports[i].is_active && (strcmp(ports[i].layer, "InfiniBand") == 0 || ports[i].gbps >= FAST_GBPS))
            return true;
    return false;
}

/* -- the job ----------------------------------------------------------------------------------------------------------- */

static bool variable_number(hu_doctor *d, const char *name, int64_t *out)
{
    const char *value = hu_doctor_variable(d, name);

    return value && hu_parse_i64(hu_str_of(value), out) && *out > 0 && *out <= MOST_RANKS;
}

int64_t hu_host_local_ranks(hu_doctor *d)
{
    /* SLURM's has a number for each node, as in "4" or "4(x2)"; "4,2" does not say which one this is.  PMI and torchrun
       count this node alone. */
    static const char *const names[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "PALS_LOCAL_SIZE"};
    const char              *slurm = hu_doctor_variable(d, "SLURM_STEP_TASKS_PER_NODE");
    int64_t                  n;

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (variable_number(d, names[i], &n))
            return n;
    if (slurm && !strchr(slurm, ',') && hu_parse_i64((hu_str){slurm, strspn(slurm, "0123456789")}, &n) && n > 0 &&
        n <= MOST_RANKS)
        return n;
    return 1;
}

bool hu_host_has_many_nodes(hu_doctor *d)
{
    int64_t n, local;

    if (variable_number(d, "SLURM_STEP_NUM_NODES", &n) || variable_number(d, "SLURM_NNODES", &n) ||
        variable_number(d, "SLURM_JOB_NUM_NODES", &n) || variable_number(d, "GROUP_WORLD_SIZE", &n))
        return n > 1;
    return variable_number(d, "WORLD_SIZE", &n) && variable_number(d, "LOCAL_WORLD_SIZE", &local) && n > local;
}
