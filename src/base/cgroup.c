/* SPDX-License-Identifier: Apache-2.0
 * cgroup.c - the folder of our group: where its hierarchy is mounted, and our place below that.
 *
 * A container may see its own group as the root of the mount, or the path of the host: what the mount shows begins at the
 * `root` field of mountinfo, which is cut off the group's path.  Without it (a path that leads out of the mount) the mount
 * point itself is taken.
 */
#include "base/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mount_word.h"
#include "base/number.h"
#include "base/str.h"

enum { FILE_MOST = 1 << 18, NAME_ROOM = PATH_MAX, FOLDER_ROOM = 3 * NAME_ROOM, US = 1000, MILLI = 1000 };

typedef struct {
    char path[NAME_ROOM]; /* of the group, from the root of the hierarchy */
    char root[NAME_ROOM]; /* of what is mounted */
    char point[NAME_ROOM];
    bool is_v2;
} place;

/* What a small file says, without the last newline; "" where it cannot be read. */
static hu_str read_file(const char *path, char *text, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t    n = 0;
    ssize_t   got;

    if (fd < 0)
        return HU_STR("");
    while (n < room && (got = read(fd, text + n, room - n)) > 0)
        n += (size_t)got;
    close(fd);
    while (n && text[n - 1] == '\n')
        n--;
    return (hu_str){text, n};
}

/* What stands before the first `end`, which is taken off the front with it. */
static hu_str cut(hu_str *rest, char end)
{
    const char  *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    const hu_str front = at ? (hu_str){rest->p, (size_t)(at - rest->p)} : *rest;
    const size_t taken = front.n + (at != NULL);

    *rest = (hu_str){rest->p + taken, rest->n - taken};
    return front;
}

static bool keep(hu_str s, char *out)
{
    if (s.n >= NAME_ROOM)
        return false;
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

/* Is it in a list such as "rw,cpu,cpuacct"? */
static bool lists_cpu(hu_str list)
{
    while (list.n)
        if (hu_str_equal(cut(&list, ','), HU_STR("cpu")))
            return true;
    return false;
}

/* A line is "NUMBER:CONTROLLERS:PATH"; version 2 has the number 0 and no controllers. */
static bool find_path(const char *root, char *text, place *out)
{
    char   file[NAME_ROOM];
    hu_str all;
    bool   is_found = false;

    snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
    for (all = read_file(file, text, FILE_MOST); all.n;) {
        hu_str       line = cut(&all, '\n');
        const hu_str number = cut(&line, ':'), list = cut(&line, ':');

        if (lists_cpu(list)) {
            out->is_v2 = false; /* a controller is in one hierarchy, and it is this one */
            return keep(line, out->path);
        }
        if (hu_str_equal(number, HU_STR("0")) && list.n == 0) {
            out->is_v2 = true;
            is_found = keep(line, out->path);
        }
    }
    return is_found;
}

/* A line is "ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPER-OPTIONS". */
static bool find_mount(const char *root, char *text, place *out)
{
    char   file[NAME_ROOM];
    hu_str all;

    snprintf(file, sizeof file, "%s/proc/self/mountinfo", root);
    for (all = read_file(file, text, FILE_MOST); all.n;) {
        hu_str line = cut(&all, '\n'), from, point, type;

        for (int i = 0; i < 3; i++)
            cut(&line, ' ');
        from = cut(&line, ' ');
        point = cut(&line, ' ');
        while (line.n && !hu_str_equal(cut(&line, ' '), HU_STR("-")))
            ;
        type = cut(&line, ' ');
        cut(&line, ' ');
        if (out->is_v2 ? !hu_str_equal(type, HU_STR("cgroup2")) : !hu_str_equal(type, HU_STR("cgroup")) || !lists_cpu(line))
            continue;
        return hu_mount_word(from, out->root, NAME_ROOM) && hu_mount_word(point, out->point, NAME_ROOM);
    }
    return false;
}

static int64_t number_in(const char *folder, const char *name)
{
    char    file[FOLDER_ROOM + 64], text[64];
    int64_t value;

    snprintf(file, sizeof file, "%s/%s", folder, name);
    return hu_parse_i64(read_file(file, text, sizeof text), &value) ? value : -1;
}

/* "max 100000" or "50000 100000"; version 1 has a file for each, and -1 for no limit. */
static int64_t read_limit(const char *folder, bool is_v2)
{
    int64_t time = -1, period = -1;

    if (is_v2) {
        char   file[FOLDER_ROOM + 64], text[64];
        hu_str rest;

        snprintf(file, sizeof file, "%s/cpu.max", folder);
        rest = read_file(file, text, sizeof text);
        if (!hu_parse_i64(cut(&rest, ' '), &time) || !hu_parse_i64(rest, &period))
            return 0;
    } else {
        time = number_in(folder, "cpu.cfs_quota_us");
        period = number_in(folder, "cpu.cfs_period_us");
    }
    return time > 0 && period > 0 && time < INT64_MAX / MILLI ? time * MILLI / period : 0;
}

static void read_counts(const char *folder, hu_cpu_quota *out)
{
    char   file[FOLDER_ROOM + 64], text[4096];
    hu_str all;

    snprintf(file, sizeof file, "%s/cpu.stat", folder);
    for (all = read_file(file, text, sizeof text); all.n;) {
        hu_str       line = cut(&all, '\n');
        const hu_str key = cut(&line, ' ');
        int64_t      value;

        if (!hu_parse_i64(line, &value) || value < 0)
            continue;
        if (hu_str_equal(key, HU_STR("nr_periods")))
            out->periods = value;
        else if (hu_str_equal(key, HU_STR("nr_throttled")))
            out->throttled = value;
        else if (hu_str_equal(key, HU_STR("throttled_time")))
            out->throttled_ns = value;
        else if (hu_str_equal(key, HU_STR("throttled_usec")) && value < INT64_MAX / US)
            out->throttled_ns = value * US;
    }
}

hu_cpu_quota hu_cgroup_read(const char *root)
{
    hu_cpu_quota out = {0};
    char         text[FILE_MOST];
    place        p = {0};
    char         folder[FOLDER_ROOM];
    size_t       top, skip, n;

    if (!find_path(root, text, &p) || !find_mount(root, text, &p))
        return out;
    skip = strcmp(p.root, "/") == 0 ? 0 : strlen(p.root);
    if (skip && (strncmp(p.path, p.root, skip) != 0 || (p.path[skip] && p.path[skip] != '/')))
        skip = strlen(p.path);
    if (strncmp(p.path, "/..", 3) == 0)
        skip = strlen(p.path);
    top = (size_t)snprintf(folder, sizeof folder, "%s%s", root, p.point);
    n = top + (size_t)snprintf(folder + top, sizeof folder - top, "%s", p.path + skip);
    for (;;) { /* the group, and each above it that the mount shows */
        int64_t limit;

        while (n > top && folder[n - 1] == '/')
            folder[--n] = '\0';
        limit = read_limit(folder, p.is_v2);
        if (limit > 0 && (out.limit_milli == 0 || limit < out.limit_milli)) {
            out = (hu_cpu_quota){.limit_milli = limit};
            read_counts(folder, &out);
        }
        if (n <= top)
            return out;
        while (n > top && folder[n - 1] != '/')
            folder[--n] = '\0';
    }
}

hu_cpu_quota hu_cgroup_between(const hu_cpu_quota *before, const hu_cpu_quota *after)
{
    if (before->limit_milli != after->limit_milli || after->periods < before->periods ||
        after->throttled < before->throttled || after->throttled_ns < before->throttled_ns)
        return (hu_cpu_quota){0};
    return (hu_cpu_quota){after->limit_milli, after->periods - before->periods, after->throttled - before->throttled,
                          after->throttled_ns - before->throttled_ns};
}
