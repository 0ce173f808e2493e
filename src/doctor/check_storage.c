/* SPDX-License-Identifier: Apache-2.0
 * check_storage.c - the folders that a job reads from and writes to: what they are on, and whether there is room.
 *
 * A server that does not answer holds up a look for good: the process that looks is lost then (looker.c), and the reason
 * names the folder.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "doctor/facts.h"
#include "doctor/host.h"

enum { MOST_PLACES = 72, SECTOR = 512 };

static const int64_t MIB = 1 << 20, GIB = 1 << 30;

/* A folder, and what for. */
typedef struct {
    const char *path, *what;
    bool        is_temporary;
} place;

static void add(place *list, size_t *n, const char *path, const char *what, bool is_temporary)
{
    if (!path || path[0] != '/' || *n == MOST_PLACES)
        return;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i].path, path) == 0) {
            list[i].is_temporary |= is_temporary;
            return;
        }
    list[(*n)++] = (place){path, what, is_temporary};
}

/* Relative paths are those of this process. */
static const char *absolute(hu_doctor *d, const char *path, const char *cwd)
{
    return path[0] == '/' ? path : cwd ? hu_doctor_format(d, "%s/%s", cwd, path) : NULL;
}

static size_t find_places(hu_doctor *d, place *list)
{
    const char        *tmp = hu_doctor_variable(d, "TMPDIR"), *cwd = hu_fact(d, "cwd");
    size_t             n = 0, n_paths;
    const char *const *paths = hu_doctor_paths(d, &n_paths);

    for (size_t i = 0; i < n_paths; i++)
        add(list, &n, absolute(d, paths[i], cwd), "--path", false);
    add(list, &n, tmp && tmp[0] == '/' ? tmp : "/tmp", tmp && tmp[0] == '/' ? "TMPDIR" : "temporary files", true);
    add(list, &n, cwd, "current folder", false);
    add(list, &n, hu_doctor_variable(d, "HF_HOME"), "HF_HOME", false);
    return n;
}

static const char *name_of(hu_doctor *d, const place *p)
{
    return hu_doctor_format(d, "%s (%s)", p->path, p->what);
}

/* -- kinds of file systems --------------------------------------------------------------------------------------------- */

typedef enum { LOCAL, MEMORY, NETWORK, PARALLEL, FUSE, LAYERED, UNKNOWN } medium;

/* Magic numbers of statfs(2), linux/magic.h and the file systems' own sources. */
static const struct {
    uint32_t    magic;
    const char *name;
    medium      medium;
} kinds[] = {
    {0x6969, "NFS", NETWORK},         {0xff534d42, "CIFS", NETWORK},    {0xfe534d42, "SMB", NETWORK},
    {0x01021997, "9p", NETWORK},      {0x00c36400, "Ceph", NETWORK},    {0x0bd00bd0, "Lustre", PARALLEL},
    {0x47504653, "GPFS", PARALLEL},   {0x19830326, "BeeGFS", PARALLEL}, {0x65735546, "FUSE", FUSE},
    {0x794c7630, "overlay", LAYERED}, {0x01021994, "tmpfs", MEMORY},    {0x858458f6, "ramfs", MEMORY},
    {0xef53, "ext4", LOCAL},          {0x58465342, "XFS", LOCAL},       {0x9123683e, "Btrfs", LOCAL},
    {0x2fc12fc1, "ZFS", LOCAL},       {0xf2f52010, "F2FS", LOCAL},      {0xca451a4e, "bcachefs", LOCAL},
};

static medium medium_of(uint64_t magic, const char **name)
{
    for (size_t i = 0; i < HU_COUNT(kinds); i++)
        if (kinds[i].magic == magic) {
            *name = kinds[i].name;
            return kinds[i].medium;
        }
    *name = NULL;
    return UNKNOWN;
}

/* Options that make each write, or each look at a file, wait for the server or the disk. */
static const char *slow_option(const char *options, medium m)
{
    static const char *const words[] = {"sync", "noac", "actimeo=0"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_host_option(options, words[i]) && (m == NETWORK || i == 0))
            return words[i];
    return NULL;
}

typedef struct {
    hu_verdict_of_check verdict;
    const char         *fix;
} judgement;

static judgement judge(const place *p, medium m, const char *slow)
{
    if (slow)
        return (judgement){HU_VERDICT_WARNING, "mount it without the options sync, noac and actimeo=0"};
    if (p->is_temporary && (m == NETWORK || m == PARALLEL || m == FUSE))
        return (judgement){HU_VERDICT_WARNING, "set TMPDIR, TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR to a local disk"};
    if (m == NETWORK)
        return (judgement){HU_VERDICT_NOTE,
                           "for many small files: pack them (WebDataset, tar, Parquet) or copy them to a local "
                           "disk; NFS: mount with nconnect=8"};
    if (m == PARALLEL)
        return (judgement){HU_VERDICT_NOTE,
                           "for many small files: pack them; for large files read by many ranks: stripe them "
                           "(lfs setstripe -c 8)"};
    if (m == FUSE)
        return (judgement){HU_VERDICT_NOTE, "read large files in sequence, or copy the data to a local disk"};
    if (m == LAYERED && !p->is_temporary)
        return (judgement){HU_VERDICT_NOTE,
                           "keep data and checkpoints on a mounted volume, not in the container's own layer"};
    if (m == MEMORY && p->is_temporary)
        return (judgement){HU_VERDICT_NOTE, "what lies there takes memory, also of the job's limit: mind large caches"};
    return (judgement){HU_VERDICT_OK, NULL};
}

/* A local file system where all reads go to is fine; of the others the job should know. */
static void look_at_place(hu_doctor *d, const hu_check *check, const place *p)
{
    hu_filesystem_fact f;
    hu_mount           mount = {"", "", "", "", ""};
    const char        *fact = hu_fact(d, hu_doctor_format(d, "filesystem:%s", p->path)), *name;

    if (fact && strncmp(fact, "error:", 6) == 0) {
        hu_doctor_say(d, check, HU_VERDICT_WARNING, name_of(d, p), "create it, or name another one", "statfs: %s", fact + 7);
        return;
    }
    if (!hu_fact_filesystem(d, p->path, &f)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, name_of(d, p), NULL, "file system not known");
        return;
    }
    const medium m = medium_of(f.magic, &name);

    hu_host_mount_of(d, p->path, &mount);
    if (!name)
        name = mount.type[0] ? mount.type : hu_doctor_format(d, "file system 0x%llx", (unsigned long long)f.magic);

    const char     *slow = slow_option(mount.options, m);
    const judgement j = judge(p, m, slow);
    const bool      is_read_only = (f.flags & 1) && p->is_temporary;

    hu_doctor_say(d, check, is_read_only ? HU_VERDICT_FAILURE : j.verdict, name_of(d, p),
                  is_read_only ? "mount it read-write, or set TMPDIR" : j.fix, "%s%s%s%s%s%s", name,
                  mount.point[0] ? " at " : "", mount.point, is_read_only ? ", read-only" : "",
                  slow ? ", mounted with " : "", slow ? slow : "");
}

static void look_at_places(hu_doctor *d, const hu_check *check)
{
    place        list[MOST_PLACES];
    const size_t n = find_places(d, list);

    for (size_t i = 0; i < n; i++)
        look_at_place(d, check, &list[i]);
}

/* -- room -------------------------------------------------------------------------------------------------------------- */

static void look_at_room(hu_doctor *d, const hu_check *check, const place *p)
{
    hu_filesystem_fact f;
    const char        *name;

    if (!hu_fact_filesystem(d, p->path, &f)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, name_of(d, p), NULL, "file system not known");
        return;
    }
    const int64_t       size = f.blocks * f.block_bytes, left = f.blocks_for_users * f.block_bytes;
    const medium        m = medium_of(f.magic, &name);
    const bool          is_layer = m == MEMORY || m == LAYERED;
    hu_verdict_of_check verdict = HU_VERDICT_OK;

    if (size == 0 || f.flags & 1) { /* of what has no size of its own, or takes no files, nothing can run out */
        hu_doctor_say(d, check, HU_VERDICT_NONE, name_of(d, p), NULL,
                      f.flags & 1 ? "read-only" : "the file system has no size");
        return;
    }
    /* the root of a container may be small by design (Apptainer: 64 MiB), and is full only when it is full */
    if (left < 100 * MIB && (!is_layer || left < size / 10))
        verdict = HU_VERDICT_FAILURE;
    else if ((left < 5 * GIB && left < size / 20) || (left < 100 * MIB && p->is_temporary))
        verdict = HU_VERDICT_WARNING;
    hu_doctor_say(d, check, verdict, name_of(d, p), NULL, "%s free of %s", hu_host_size(d, left), hu_host_size(d, size));
    if (f.inodes <= 0)
        return;

    /* servers count them as they like: Ceph has none left from the beginning */
    const bool is_ours = m == LOCAL || is_layer;

    verdict = HU_VERDICT_OK;
    if (is_ours && f.free_inodes == 0)
        verdict = HU_VERDICT_FAILURE;
    else if (is_ours && f.free_inodes < f.inodes / 50)
        verdict = HU_VERDICT_WARNING;
    hu_doctor_say(d, check, verdict, name_of(d, p), "remove small files: du --inodes -xs DIR/* finds them",
                  "%lld of %lld inodes free", (long long)f.free_inodes, (long long)f.inodes);
}

static void look_at_space(hu_doctor *d, const hu_check *check)
{
    place  list[MOST_PLACES];
    size_t n = find_places(d, list);

    add(list, &n, "/", "root", false);
    for (size_t i = 0; i < n; i++)
        look_at_room(d, check, &list[i]);
}

/* -- disks ------------------------------------------------------------------------------------------------------------- */

/* A partition's queue is that of its disk, which is the folder above. */
static const char *queue_of(hu_doctor *d, const char *device, const char **disk)
{
    const char *link, *end;
    int64_t     partition;

    if (hu_doctor_link(d, hu_doctor_format(d, "/sys/dev/block/%s", device), &link) != HU_LOOK_OK)
        return NULL;
    end = link + strlen(link);
    if (hu_doctor_read_number(d, hu_doctor_format(d, "/sys/dev/block/%s/partition", device), &partition) == HU_LOOK_OK)
        while (end > link && *--end != '/') {
        }
    const char *cut = hu_doctor_format(d, "%.*s", (int)(end - link), link);

    *disk = strrchr(cut, '/') ? strrchr(cut, '/') + 1 : cut;
    return hu_doctor_format(d, "/sys/block/%s/queue", *disk);
}

static bool is_virtual(hu_doctor *d)
{
    const char *text;

    return hu_doctor_read(d, "/proc/cpuinfo", &text) == HU_LOOK_OK && strstr(text, " hypervisor");
}

/* What turns is told by disks of SCSI and SATA on a machine of their own; virtual disks claim it without turning. */
static void look_at_disk(hu_doctor *d, const hu_check *check, const place *p, size_t *n_said)
{
    hu_mount    mount;
    const char *disk, *queue, *scheduler;
    int64_t     turns = 0, ahead = 0;

    if (!hu_host_mount_of(d, p->path, &mount) || strncmp(mount.device, "0:", 2) == 0 ||
        !(queue = queue_of(d, mount.device, &disk)) ||
        hu_doctor_read_number(d, hu_doctor_format(d, "%s/rotational", queue), &turns) != HU_LOOK_OK)
        return;
    hu_doctor_read_number(d, hu_doctor_format(d, "%s/read_ahead_kb", queue), &ahead);
    hu_doctor_read(d, hu_doctor_format(d, "%s/scheduler", queue), &scheduler);

    const bool turns_really = turns && strncmp(disk, "sd", 2) == 0 && !is_virtual(d);

    hu_doctor_say(d, check, turns_really ? HU_VERDICT_NOTE : HU_VERDICT_OK, name_of(d, p), NULL,
                  "%s/rotational is %lld, read_ahead_kb is %lld, scheduler is %s", queue, (long long)turns, (long long)ahead,
                  scheduler[0] ? scheduler : "unknown");
    ++*n_said;
}

static void look_at_disks(hu_doctor *d, const hu_check *check)
{
    place        list[MOST_PLACES];
    const size_t n = find_places(d, list);
    size_t       n_said = 0;

    for (size_t i = 0; i < n; i++)
        look_at_disk(d, check, &list[i], &n_said);
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no folder is on a disk of this node");
}

const hu_check hu_checks_storage[] = {
    {.id = "filesystem",
     .title = "File systems of data, results and temporary files",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Each small file on a server costs a round trip; compilers' caches and locks on one are slow and sometimes wrong.",
     .fix = "copy the data to a local disk, or pack them into large files",
     .look = look_at_places},
    {.id = "space",
     .title = "Room for files",
     .when = HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG,
     .why = "A job that cannot write its caches, logs or checkpoint dies, often hours after it started.",
     .fix = "remove files (du -xh --max-depth=2 DIR | sort -h), or name a larger folder",
     .look = look_at_space},
    {.id = "disk-queue",
     .title = "Disks of these folders",
     .when = HU_CHECK_OF_NODE,
     .why = "A disk that turns reads some hundred files a second at random.",
     .fix = "read in sequence from large files, raise read_ahead_kb, or copy the data to an SSD",
     .look = look_at_disks},
    {.id = NULL},
};
