/* SPDX-License-Identifier: Apache-2.0
 * host_disk.c - a source: what disks did (/proc/diskstats), and how full local file systems are.
 *
 * A file system is asked only where the answer cannot depend on another machine or on a program: its type is one of a list
 * of local ones, and nothing that its path leads through is anything else.  A server that is gone would hold up statvfs(2)
 * for good, and all that this sampler looks at with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mount_word.h"
#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { SECTOR = 512, MOUNTS_MOST = 1024, FILESYSTEMS_MOST = 64, PATH_ROOM = 1024, TYPE_ROOM = 32 };

typedef struct {
    uint64_t id, parent;
    bool     is_local; /* itself, or the root, without which nothing runs; what it lies in has an entry of its own */
} mount_place;

typedef struct {
    hu_folder   folder; /* the root; first, so that hu_folder_close may free all */
    char        root[PATH_ROOM];
    size_t      n;
    mount_place mounts[MOUNTS_MOST];
} host_disk;

/* Of process 1 where the root is another one: then the paths of this process lead elsewhere. */
static bool open_mounts(const host_disk *h, hu_lines *lines)
{
    return (h->root[0] && hu_lines_open(lines, h->folder.fd, "proc/1/mountinfo")) ||
           hu_lines_open(lines, h->folder.fd, "proc/self/mountinfo");
}

static bool host_disk_open(const hu_source_options *options, void **state, hu_readings *out)
{
    host_disk *h;
    void      *folder;

    (void)out;
    if (!hu_folder_open(options->root, ".", "proc/diskstats", &folder))
        return false;
    h = calloc(1, sizeof *h);
    if (!h) {
        hu_folder_close(folder);
        return false;
    }
    h->folder = *(hu_folder *)folder;
    free(folder);
    snprintf(h->root, sizeof h->root, "%s", options->root);
    *state = h;
    return true;
}

/* A disk, and neither a part of one nor what is made of several (dm, md), whose bytes would count twice. */
static bool is_whole_disk(const host_disk *h, const char *name)
{
    char path[128];

    if ((size_t)snprintf(path, sizeof path, "sys/block/%s/device", name) >= sizeof path)
        return false;
    for (size_t i = sizeof "sys/block/" - 1; i < sizeof "sys/block/" - 1 + strlen(name); i++)
        if (path[i] == '/')
            path[i] = '!'; /* as the kernel writes cciss/c0d0 there */
    return faccessat(h->folder.fd, path, F_OK, 0) == 0;
}

/* Documentation/admin-guide/iostats.rst: fields behind the name; times are ms, sizes sectors of 512 bytes. */
static void put_disk(hu_str line, hu_readings *out, const char *device)
{
    static const struct {
        hu_metric metric;
        int       field;
        double    unit, per; /* so many of it are one second */
    } fields[] = {{HU_METRIC_DISK_READS, 0, 1, 1},        {HU_METRIC_DISK_READ, 2, SECTOR, 1},
                  {HU_METRIC_DISK_READ_TIME, 3, 1, 1e3},  {HU_METRIC_DISK_WRITES, 4, 1, 1},
                  {HU_METRIC_DISK_WRITTEN, 6, SECTOR, 1}, {HU_METRIC_DISK_WRITE_TIME, 7, 1, 1e3},
                  {HU_METRIC_DISK_BUSY, 9, 1, 1e3}};
    uint64_t value[10];

    for (size_t i = 0; i < HU_COUNT(value); i++)
        if (!hu_parse_u64(hu_cut_word(&line), &value[i]))
            return;
    for (size_t i = 0; i < HU_COUNT(fields); i++)
        hu_put(out, fields[i].metric, (double)value[fields[i].field] * fields[i].unit / fields[i].per, device);
}

static bool put_disks(const host_disk *h, hu_readings *out)
{
    hu_lines lines;
    hu_str   line;

    if (!hu_lines_open(&lines, h->folder.fd, "proc/diskstats"))
        return false;
    while (hu_lines_next(&lines, &line)) {
        char device[64];

        hu_cut_word(&line); /* major and minor number */
        hu_cut_word(&line);
        hu_str_copy(device, sizeof device, hu_cut_word(&line));
        if (device[0] && is_whole_disk(h, device))
            put_disk(line, out, device);
    }
    return true;
}

/* No FUSE (a program of a user), no overlay (a network may be below it), nothing that is neither a disk nor memory. */
static bool is_local_type(hu_str type)
{
    static const char *const types[] = {"ext2", "ext3", "ext4", "xfs",   "btrfs", "f2fs",
                                        "zfs",  "jfs",  "vfat", "exfat", "tmpfs", "bcachefs"};

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (hu_str_equal(type, hu_str_of(types[i])))
            return true;
    return false;
}

/* What a path may lead through besides: file systems that the kernel makes up without asking anybody. */
static bool is_harmless_type(hu_str type)
{
    static const char *const types[] = {"rootfs", "ramfs", "devtmpfs", "proc", "sysfs", "devpts", "squashfs", "erofs"};

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (hu_str_equal(type, hu_str_of(types[i])))
            return true;
    return is_local_type(type);
}

/* Fields of "ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPER-OPTIONS" (proc_pid_mountinfo(5)). */
typedef struct {
    uint64_t id, parent;
    hu_str   device, from, point, options, type, source;
} mount_line;

static bool parse_mount(hu_str line, mount_line *m)
{
    if (!hu_parse_u64(hu_cut_word(&line), &m->id) || !hu_parse_u64(hu_cut_word(&line), &m->parent))
        return false;
    m->device = hu_cut_word(&line);
    m->from = hu_cut_word(&line);
    m->point = hu_cut_word(&line);
    m->options = hu_cut_word(&line);
    for (;;) {
        const hu_str word = hu_cut_word(&line);

        if (word.n == 0)
            return false;
        if (hu_str_equal(word, HU_STR("-")))
            break;
    }
    m->type = hu_cut_word(&line);
    m->source = hu_cut_word(&line);
    return m->type.n > 0;
}

/* Does the way to it lead through nothing but what is local?  A mount without a listed parent is the root of what we see. */
static bool is_reached(const host_disk *h, uint64_t id)
{
    for (size_t steps = 0; steps <= h->n; steps++) {
        size_t i = 0;

        while (i < h->n && h->mounts[i].id != id)
            i++;
        if (i == h->n)
            return steps > 0;
        if (!h->mounts[i].is_local)
            return false;
        if (h->mounts[i].parent == id)
            return true;
        id = h->mounts[i].parent;
    }
    return false; /* a circle */
}

/* Where the kernel, services and containers mount small ones of their own, hundreds of them; /dev/shm is none of these. */
static bool is_plumbing(hu_str point)
{
    static const char *const folders[] = {
        "/sys/", "/proc/", "/run/", "/var/lib/docker/", "/var/lib/kubelet/", "/var/lib/containers/"};

    for (size_t i = 0; i < HU_COUNT(folders); i++)
        if (hu_str_starts(point, hu_str_of(folders[i])))
            return true;
    return false;
}

static bool is_read_only(hu_str options)
{
    while (options.n)
        if (hu_str_equal(hu_cut(&options, ','), HU_STR("ro")))
            return true;
    return false;
}

static void put_filesystem(const host_disk *h, const mount_line *m, hu_readings *out)
{
    char           path[2 * PATH_ROOM], point[PATH_ROOM], source[PATH_ROOM], type[TYPE_ROOM];
    struct statvfs s;

    if (!hu_mount_word(m->point, point, sizeof point) || !hu_mount_word(m->source, source, sizeof source))
        return;
    hu_str_copy(type, sizeof type, m->type);
    snprintf(path, sizeof path, "%s%s", h->root, point);
    if (statvfs(path, &s) != 0 || s.f_blocks == 0)
        return;
    hu_put(out, HU_METRIC_FILESYSTEM_SIZE, (double)s.f_blocks * (double)s.f_frsize, source, point, type);
    hu_put(out, HU_METRIC_FILESYSTEM_AVAILABLE, (double)s.f_bavail * (double)s.f_frsize, source, point, type);
    hu_put(out, HU_METRIC_FILESYSTEM_READONLY, is_read_only(m->options), source, point, type);
    if (s.f_files) { /* some make them as they need them */
        hu_put(out, HU_METRIC_FILESYSTEM_FILES, (double)s.f_files, source, point, type);
        hu_put(out, HU_METRIC_FILESYSTEM_FILES_FREE, (double)s.f_ffree, source, point, type);
    }
}

/* A device is shown once, at the first place where it is mounted: containers mount it a hundred times more. */
static void put_filesystems(host_disk *h, hu_readings *out)
{
    char       seen[FILESYSTEMS_MOST][24];
    size_t     n_seen = 0;
    hu_lines   lines;
    hu_str     line;
    mount_line m;

    h->n = 0;
    if (!open_mounts(h, &lines))
        return;
    while (h->n < MOUNTS_MOST && hu_lines_next(&lines, &line))
        if (parse_mount(line, &m))
            h->mounts[h->n++] = (mount_place){m.id, m.parent,
                                              is_harmless_type(m.type) || hu_str_equal(m.point, HU_STR("/"))};
    hu_lines_close(&lines);
    if (!open_mounts(h, &lines))
        return;
    while (n_seen < FILESYSTEMS_MOST && hu_lines_next(&lines, &line)) {
        bool is_new = true;

        if (!parse_mount(line, &m) || !is_local_type(m.type) || is_plumbing(m.point) || m.device.n >= sizeof *seen ||
            !is_reached(h, m.id))
            continue;
        for (size_t i = 0; i < n_seen && is_new; i++)
            is_new = !hu_str_equal(m.device, hu_str_of(seen[i]));
        if (!is_new)
            continue;
        hu_str_copy(seen[n_seen++], sizeof *seen, m.device);
        put_filesystem(h, &m, out);
    }
    hu_lines_close(&lines);
}

static bool host_disk_sample(void *state, hu_sample_group group, hu_readings *out)
{
    if (group == HU_SAMPLE_MEDIUM)
        return put_disks(state, out);
    if (group == HU_SAMPLE_SLOW)
        put_filesystems(state, out);
    return true;
}

const hu_source hu_source_host_disk = {"host_disk", HU_SAMPLER_HOST, host_disk_open, host_disk_sample, hu_folder_close};
