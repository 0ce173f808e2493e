/* SPDX-License-Identifier: Apache-2.0
 * host_nfs.c - a source: what NFS servers were asked and how long that took (/proc/self/mountstats).
 *
 * The kernel's client counts; no server is asked, so one that is gone holds up nothing.  Mounts of one export share their
 * counters: the first one is shown.
 */
#include "base/number.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { MOUNTS_MOST = 32, NAME_ROOM = 256, FIELDS = 8 };

typedef enum { READ, WRITE, OTHER, OPERATIONS } operation;

/* Sums of one mount. */
typedef struct {
    char   device[NAME_ROOM], point[NAME_ROOM];
    bool   is_nfs, in_operations, has_bytes;
    double read, written;
    double calls[OPERATIONS], seconds[OPERATIONS], again;
} mount_stats;

static const char mountstats[] = "proc/self/mountstats";

/* "device server:/export mounted on /data with fstype nfs4 statvers=1.1" */
static bool parse_device(hu_str line, mount_stats *m)
{
    if (!hu_str_equal(hu_cut_word(&line), HU_STR("device")))
        return false;
    *m = (mount_stats){0};
    hu_str_copy(m->device, sizeof m->device, hu_cut_word(&line));
    hu_cut_word(&line); /* mounted on */
    hu_cut_word(&line);
    hu_str_copy(m->point, sizeof m->point, hu_cut_word(&line));
    hu_cut_word(&line); /* with fstype */
    hu_cut_word(&line);
    const hu_str type = hu_cut_word(&line);

    m->is_nfs = (hu_str_equal(type, HU_STR("nfs")) || hu_str_equal(type, HU_STR("nfs4"))) && m->device[0] && m->point[0];
    return true;
}

static bool host_nfs_open(const hu_source_options *options, void **state, hu_readings *out)
{
    hu_lines    lines;
    hu_str      line;
    mount_stats m;
    bool        any = false;

    (void)out;
    if (!hu_folder_open(options->root, ".", mountstats, state))
        return false;
    if (hu_lines_open(&lines, ((const hu_folder *)*state)->fd, mountstats))
        while (!any && hu_lines_next(&lines, &line))
            any = parse_device(line, &m) && m.is_nfs;
    hu_lines_close(&lines);
    if (!any)
        hu_folder_close(*state);
    return any;
}

static size_t parse_numbers(hu_str line, uint64_t *out, size_t most)
{
    size_t n = 0;

    while (n < most && hu_parse_u64(hu_cut_word(&line), &out[n]))
        n++;
    return n;
}

/* "bytes:" has 8 numbers: read and written by programs, the same around the cache, then of the server, then pages. */
static void take_bytes(hu_str line, mount_stats *m)
{
    uint64_t n[FIELDS];

    if (parse_numbers(line, n, FIELDS) < 6)
        return;
    m->read = (double)n[4];
    m->written = (double)n[5];
    m->has_bytes = true;
}

/* "READ: calls transmissions timeouts bytes-sent bytes-received queue-ms round-trip-ms whole-ms [errors]" */
static void take_operation(hu_str name, hu_str line, mount_stats *m)
{
    const operation o = hu_str_equal(name, HU_STR("READ")) ? READ : hu_str_equal(name, HU_STR("WRITE")) ? WRITE : OTHER;
    uint64_t        n[FIELDS];

    if (parse_numbers(line, n, FIELDS) < FIELDS)
        return;
    m->calls[o] += (double)n[0];
    m->seconds[o] += (double)n[7] / 1e3;
    if (n[1] > n[0])
        m->again += (double)(n[1] - n[0]);
}

static void take_line(hu_str line, mount_stats *m)
{
    const hu_str word = hu_cut_word(&line);

    if (hu_str_equal(word, HU_STR("bytes:")))
        take_bytes(line, m);
    else if (hu_str_equal(word, HU_STR("per-op")))
        m->in_operations = true;
    else if (m->in_operations && hu_str_ends(word, HU_STR(":")))
        take_operation((hu_str){word.p, word.n - 1}, line, m);
}

static void put_mount(const mount_stats *m, hu_readings *out)
{
    static const char *const names[] = {"read", "write", "other"};

    if (!m->is_nfs || !m->has_bytes || !m->in_operations)
        return; /* its counters are of a version that is not known */
    hu_put(out, HU_METRIC_NFS_READ, m->read, m->device, m->point);
    hu_put(out, HU_METRIC_NFS_WRITTEN, m->written, m->device, m->point);
    hu_put(out, HU_METRIC_NFS_AGAIN, m->again, m->device, m->point);
    for (size_t i = 0; i < OPERATIONS; i++) {
        hu_put(out, HU_METRIC_NFS_OPERATIONS, m->calls[i], m->device, m->point, names[i]);
        hu_put(out, HU_METRIC_NFS_TIME, m->seconds[i], m->device, m->point, names[i]);
    }
}

/* Puts it if its device is a new one; false: there are enough. */
static bool finish(const mount_stats *m, char seen[][NAME_ROOM], size_t *n, hu_readings *out)
{
    if (!m->is_nfs)
        return true;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(seen[i], m->device) == 0)
            return true;
    if (*n == MOUNTS_MOST)
        return false;
    memcpy(seen[(*n)++], m->device, NAME_ROOM);
    put_mount(m, out);
    return true;
}

static bool host_nfs_sample(void *state, hu_sample_group group, hu_readings *out)
{
    const hu_folder *h = state;
    char             seen[MOUNTS_MOST][NAME_ROOM];
    size_t           n = 0;
    mount_stats      m = {0}, next;
    hu_lines         lines;
    hu_str           line;
    bool             has_room = true;

    if (group != HU_SAMPLE_MEDIUM)
        return true;
    if (!hu_lines_open(&lines, h->fd, mountstats))
        return false;
    while (has_room && hu_lines_next(&lines, &line)) {
        if (parse_device(line, &next)) {
            has_room = finish(&m, seen, &n, out);
            m = next;
        } else if (m.is_nfs) {
            take_line(line, &m);
        }
    }
    hu_lines_close(&lines);
    if (has_room)
        finish(&m, seen, &n, out);
    return n > 0;
}

const hu_source hu_source_host_nfs = {"host_nfs", HU_SAMPLER_HOST, host_nfs_open, host_nfs_sample, hu_folder_close};
