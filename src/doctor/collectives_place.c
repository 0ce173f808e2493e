/* SPDX-License-Identifier: Apache-2.0
 * collectives_place.c - where the ranks are: machines, processors, and the links that the kernel knows. */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "doctor/collectives_place.h"

enum { PATH_BYTES = 600, TEXT_BYTES = 128 };

/* The first line of a small file, without its end; "" when it cannot be read. */
static void read_line(const char *root, const char *path, char *out, size_t room)
{
    char  whole[PATH_BYTES];
    FILE *f;

    out[0] = '\0';
    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole || !(f = fopen(whole, "re")))
        return;
    if (!fgets(out, (int)room, f))
        out[0] = '\0';
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

/* The number at the start of a text; 0: none. */
static double number_of(const char *text)
{
    double value = 0;

    hu_parse_f64((hu_str){text, strspn(text, "0123456789.")}, &value);
    return value;
}

static void keep_faster(hu_link_found *l, const char *name, double gbps)
{
    if (gbps > l->gbps) {
        l->gbps = gbps;
        snprintf(l->name, sizeof l->name, "%.39s", name);
    }
}

/* "4: ACTIVE", "100 Gb/sec (4X EDR)" */
static void look_at_port(const char *root, const char *device, const char *port, hu_link_found *out)
{
    char path[PATH_BYTES], text[TEXT_BYTES], name[TEXT_BYTES];

    snprintf(path, sizeof path, "/sys/class/infiniband/%.64s/ports/%.16s/state", device, port);
    read_line(root, path, text, sizeof text);
    if (!strstr(text, "ACTIVE"))
        return;
    snprintf(path, sizeof path, "/sys/class/infiniband/%.64s/ports/%.16s/rate", device, port);
    read_line(root, path, text, sizeof text);
    snprintf(name, sizeof name, "%.24s port %.8s", device, port);
    keep_faster(out, name, number_of(text));
}

/* Mbit/s; what has no device is virtual (a bridge, a tunnel) and goes through another one. */
static void look_at_interface(const char *root, const char *name, hu_link_found *out)
{
    char path[PATH_BYTES], whole[2 * PATH_BYTES], text[TEXT_BYTES];

    snprintf(whole, sizeof whole, "%.500s/sys/class/net/%.64s/device", root, name);
    snprintf(path, sizeof path, "/sys/class/net/%.64s/operstate", name);
    read_line(root, path, text, sizeof text);
    if (access(whole, F_OK) < 0 || strcmp(text, "up") != 0)
        return;
    snprintf(path, sizeof path, "/sys/class/net/%.64s/speed", name);
    read_line(root, path, text, sizeof text);
    keep_faster(out, name, number_of(text) / 1000);
}

static DIR *open_folder(const char *root, const char *path)
{
    char whole[PATH_BYTES];

    snprintf(whole, sizeof whole, "%s%s", root, path);
    return opendir(whole);
}

void hu_collectives_links(const char *root, hu_link_found *links)
{
    DIR                 *d = open_folder(root, "/sys/class/infiniband"), *ports;
    const struct dirent *e, *p;
    char                 path[PATH_BYTES];

    memset(links, 0, HU_LINKS_OF_PLACE * sizeof *links);
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "/sys/class/infiniband/%.64s/ports", e->d_name);
        ports = e->d_name[0] == '.' ? NULL : open_folder(root, path);
        while (ports && (p = readdir(ports)))
            if (p->d_name[0] != '.')
                look_at_port(root, e->d_name, p->d_name, &links[0]);
        if (ports)
            closedir(ports);
    }
    if (d)
        closedir(d);
    d = open_folder(root, "/sys/class/net");
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            look_at_interface(root, e->d_name, &links[1]);
    if (d)
        closedir(d);
}

/* "200000 100000": 2 processors; "max 100000": none. */
static double limit_of_group(void)
{
    char   text[TEXT_BYTES];
    char  *blank;
    double quota, period;

    read_line("", "/sys/fs/cgroup/cpu.max", text, sizeof text);
    if (!(blank = strchr(text, ' ')))
        return 0;
    *blank = '\0';
    quota = number_of(text);
    period = number_of(blank + 1);
    return period > 0 ? quota / period : 0;
}

static double available_memory(void)
{
    char   line[TEXT_BYTES];
    double bytes = 0;
    FILE  *f = fopen("/proc/meminfo", "re");

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            bytes = number_of(line + 13 + strspn(line + 13, " ")) * 1024;
    if (f)
        fclose(f);
    return bytes;
}

void hu_rank_place_of_this(hu_rank_place *out)
{
    cpu_set_t set;

    memset(out, 0, sizeof *out);
    if (gethostname(out->host, sizeof out->host - 1) < 0 || !out->host[0])
        snprintf(out->host, sizeof out->host, "unknown");
    read_line("", "/proc/sys/kernel/random/boot_id", out->machine, sizeof out->machine);
    out->pid = getpid();
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        memcpy(out->cpus, &set, sizeof set < sizeof out->cpus ? sizeof set : sizeof out->cpus);
    out->cpu_limit = limit_of_group();
    out->memory = available_memory();
    hu_collectives_links("", out->links);
}

hu_turns hu_turns_now(void)
{
    char        text[TEXT_BYTES];
    const char *blank;

    read_line("", "/proc/thread-self/schedstat", text, sizeof text); /* ns on a processor, ns in its queue, turns */
    blank = strchr(text, ' ');
    return blank ? (hu_turns){number_of(text) * 1e-9, number_of(blank + 1) * 1e-9} : (hu_turns){(double)NAN, (double)NAN};
}

double hu_queued_share(hu_turns before)
{
    const hu_turns now = hu_turns_now();
    const double   queued = now.queued - before.queued, all = queued + now.ran - before.ran;

    return all > 0 ? queued / all : (double)NAN;
}

static bool is_same_machine(const hu_rank_place *a, const hu_rank_place *b)
{
    return a->machine[0] && b->machine[0] ? strcmp(a->machine, b->machine) == 0 : strcmp(a->host, b->host) == 0;
}

static int count_bits(const uint64_t *set)
{
    int n = 0;

    for (size_t i = 0; i < HU_COUNT(((hu_rank_place *)0)->cpus); i++)
        n += __builtin_popcountll(set[i]);
    return n;
}

static bool is_within(const uint64_t *a, const uint64_t *b)
{
    for (size_t i = 0; i < HU_COUNT(((hu_rank_place *)0)->cpus); i++)
        if (a[i] & ~b[i])
            return false;
    return true;
}

/* Does any set of processors have more ranks that can run nowhere else than it has processors? */
static bool is_crowded(const hu_collectives *c, const hu_machine *machine)
{
    for (int i = machine->first; i < c->size; i++) {
        const uint64_t *set = c->places[i].cpus;
        int             n = 0;

        if (!is_same_machine(&c->places[i], machine->place) || count_bits(set) == 0)
            continue;
        for (int k = machine->first; k < c->size; k++)
            n += is_same_machine(&c->places[k], machine->place) && is_within(c->places[k].cpus, set);
        if (n > count_bits(set))
            return true;
    }
    return machine->cpus && machine->n > machine->cpus;
}

static void count_machine(const hu_collectives *c, hu_machine *out)
{
    uint64_t set[HU_COUNT(((hu_rank_place *)0)->cpus)] = {0};
    double   limit = 0;

    for (int i = out->first; i < c->size; i++) {
        const hu_rank_place *p = &c->places[i];

        if (!is_same_machine(p, out->place))
            continue;
        if (++out->n == 2)
            out->second = i;
        for (size_t k = 0; k < HU_COUNT(set); k++)
            set[k] |= p->cpus[k];
        limit = fmax(limit, p->cpu_limit);
    }
    out->cpus = count_bits(set);
    if (limit > 0 && limit < out->cpus)
        out->cpus = (int)fmax(1, limit);
    out->is_crowded = is_crowded(c, out);
}

bool hu_collectives_group(hu_collectives *c, hu_arena *arena)
{
    HU_VEC(hu_machine) list = {0};

    c->is_crowded = false;
    for (int r = 0; r < c->size; r++) {
        hu_machine m = {.host = c->places[r].host, .first = r, .second = -1, .place = &c->places[r]};
        bool       is_known = false;

        for (size_t i = 0; i < list.n && !is_known; i++)
            is_known = is_same_machine(list.at[i].place, m.place);
        if (is_known)
            continue;
        count_machine(c, &m);
        c->is_crowded |= m.is_crowded;
        if (!hu_vec_push(arena, &list, m))
            return false;
    }
    c->machines = list.at;
    c->n_machines = list.n;
    return true;
}
