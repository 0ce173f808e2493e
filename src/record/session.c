/* SPDX-License-Identifier: Apache-2.0
 * session.c - makes the directory where rings can live: on this machine, with room, and for this user alone.
 *
 * Rings are files that programs write by storing to memory.  On a network's file system such stores reach others late
 * or never, and cost; so only file systems of this machine are taken unless the user names a place.
 */
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/str.h"

_Static_assert(sizeof HU_VERSION <= sizeof((hu_control *)0)->made_by, "the version fits into a control page");

enum { CONTROL_BYTES = 4096, LEAST_FREE_BYTES = 16 << 20, TEMPLATE_BYTES = 16, DEEPEST = 2 };

/* Magic numbers of statfs(2) of file systems that are somewhere else. */
static const unsigned long remote[] = {
    0x6969,     0xff534d42, 0xfe534d42, 0x517b,     0x564c,     0x0bd00bd0, 0x47504653, 0x19830326,
    0x00c36400, 0x65735546, 0x01021997, 0x5346414f, 0x73757245, 0xaad7aaea, 0x20030528,
    /* nfs, cifs, smb2, smb, ncp, lustre, gpfs, beegfs, ceph, fuse, 9p, afs, coda, panfs, orangefs */
};

static bool is_remote(const char *path)
{
    struct statfs fs;

    if (statfs(path, &fs) < 0)
        return true;
    for (size_t i = 0; i < HU_COUNT(remote); i++)
        if ((unsigned long)fs.f_type == remote[i])
            return true;
    return false;
}

bool hu_session_file(const hu_session *session, const char *name, char *out, size_t room)
{
    const int n = snprintf(out, room, "%s/%s", session->path, name);

    return n > 0 && (size_t)n < room;
}

/* The page must really be on the disk: a store to a file that cannot grow is a SIGBUS, in the user's program. */
static int map_new_control(hu_session *s, hu_error *err)
{
    char path[HU_SESSION_PATH_MAX + 64];
    int  fd, rc;

    hu_session_file(s, "control", path, sizeof path);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot be created: %s", strerror(errno));
    rc = posix_fallocate(fd, 0, CONTROL_BYTES);
    s->control = rc ? MAP_FAILED : mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->control == MAP_FAILED) {
        s->control = NULL;
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot be mapped: %s", strerror(rc ? rc : errno));
        unlink(path);
    }
    close(fd);
    return s->control ? 0 : HU_EIO;
}

static int make_in(const char *folder, hu_session *s, hu_error *err)
{
    char          absolute[PATH_MAX];
    struct statfs fs;

    if (!realpath(folder, absolute))
        return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "%s", strerror(errno));
    if (strlen(absolute) + TEMPLATE_BYTES >= sizeof s->path)
        return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "the path is too long");
    if (statfs(absolute, &fs) == 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < LEAST_FREE_BYTES)
        return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "less than %d MB are free", LEAST_FREE_BYTES >> 20);
    snprintf(s->path, sizeof s->path, "%s/.holdup-XXXXXX", absolute[1] ? absolute : "");
    if (!mkdtemp(s->path))
        return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "%s", strerror(errno));
    if (map_new_control(s, err) < 0) {
        rmdir(s->path);
        return err ? err->code : HU_EIO;
    }
    return 0;
}

/* "a: why; b: why" of what was tried. */
static void remember(char *tried, size_t room, const char *folder, const hu_error *why)
{
    const size_t used = strlen(tried);

    snprintf(tried + used, room - used, "%s%s: %s", used ? "; " : "", folder, why->text);
}

int hu_session_make(const char *scratch, const char *beside, hu_session *out, hu_error *err)
{
    const struct {
        const char *folder, *place;
        bool        takes_remote;
    } places[] = {
        {scratch ? scratch : getenv("HOLDUP_SCRATCH"), scratch ? "--scratch" : "HOLDUP_SCRATCH", true},
        {beside, "next to the output", false},
        {getenv("TMPDIR"), "TMPDIR", false},
        {"/tmp", "/tmp", false},
        {"/dev/shm", "/dev/shm", true},
        {"/tmp", "/tmp", true}, /* of a container whose file system a program provides */
    };
    char     tried[1024] = "";
    hu_error why = {0};

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < HU_COUNT(places); i++) {
        if (!places[i].folder || !places[i].folder[0])
            continue;
        if (!places[i].takes_remote && is_remote(places[i].folder))
            hu_fail(&why, HU_EIO, NULL, HU_NO_OFFSET, "not a local file system");
        else if (make_in(places[i].folder, out, &why) == 0) {
            snprintf(out->place, sizeof out->place, "%s", places[i].place);
            return 0;
        }
        remember(tried, sizeof tried, places[i].folder, &why);
        if (i == 0) /* the user's own word is not passed over */
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s cannot be used: %s", places[0].place, tried);
    }
    return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "no directory is usable for the recording; pass one with --scratch (%s)",
                   tried);
}

void hu_session_publish(hu_session *session)
{
    session->control->version = HU_FORMAT_VERSION;
    session->control->bytes = sizeof *session->control;
    memcpy(session->control->made_by, HU_VERSION, sizeof HU_VERSION);
    __atomic_store_n(&session->control->magic, HU_CONTROL_MAGIC, __ATOMIC_RELEASE);
}

void hu_session_record(hu_control *control, bool is_recording)
{
    uint32_t mask = control->live;

    if (is_recording)
        mask |= control->wanted | (control->wants_steps || control->capture_range[0] ? (uint32_t)HU_DOOR_WATCH : 0);
    __atomic_store_n(&control->mask, mask, __ATOMIC_RELEASE);
    if (is_recording)
        control->state = HU_SESSION_RECORDING;
    else
        control->state = control->state == HU_SESSION_RECORDING ? HU_SESSION_PAUSED : HU_SESSION_ARMED;
}

void hu_session_maker(const hu_control *control, char out[sizeof((hu_control *)0)->made_by])
{
    size_t n = 0;

    for (; n < sizeof control->made_by - 1 && control->made_by[n] > ' ' && control->made_by[n] < 0x7f; n++)
        out[n] = control->made_by[n];
    memcpy(out + n, n ? "" : "0.1", n ? 1 : sizeof "0.1");
}

int hu_session_judge(const hu_control *control, const char *path, hu_error *err)
{
    char maker[sizeof control->made_by];

    if (__atomic_load_n(&control->magic, __ATOMIC_ACQUIRE) != HU_CONTROL_MAGIC)
        return hu_fail(err, HU_EFORMAT, path, HU_NO_OFFSET, "is not the control page of a session of holdup");
    if (control->version == HU_FORMAT_VERSION)
        return 0;
    hu_session_maker(control, maker);
    return hu_fail(err, HU_EFORMAT, path, HU_NO_OFFSET,
                   "is of a session that holdup %s made (format %u), and this is holdup " HU_VERSION
                   " (format %d): use holdup %s for it",
                   maker, control->version, HU_FORMAT_VERSION, maker);
}

int hu_session_open(const char *path, hu_session *out, hu_error *err)
{
    char        file[HU_SESSION_PATH_MAX + 64];
    struct stat st;
    int         fd, rc;

    memset(out, 0, sizeof *out);
    if (strlen(path) >= sizeof out->path)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "the path is too long");
    snprintf(out->path, sizeof out->path, "%s", path);
    hu_session_file(out, "control", file, sizeof file);
    fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hu_fail(err, HU_EIO, file, HU_NO_OFFSET, "%s", strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= CONTROL_BYTES)
        out->control = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (out->control == MAP_FAILED)
        out->control = NULL;
    rc = out->control ? hu_session_judge(out->control, file, err)
                      : hu_fail(err, HU_EFORMAT, file, HU_NO_OFFSET, "is not the control page of a session of holdup");
    if (rc < 0)
        hu_session_close(out);
    return rc;
}

void hu_session_close(hu_session *session)
{
    if (session->control)
        munmap(session->control, CONTROL_BYTES);
    session->control = NULL;
}

/* A file, or a folder with what is in it: of the hook, where Python keeps its byte code. */
static void remove_entry(int folder, const char *name, unsigned depth)
{
    struct dirent *e;
    DIR           *d;
    int            fd;

    if (unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth == 0)
        return;
    fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_entry(dirfd(d), e->d_name, depth - 1);
    if (d)
        closedir(d);
    unlinkat(folder, name, AT_REMOVEDIR);
}

int hu_session_remove(const char *path, hu_error *err)
{
    DIR           *d = opendir(path);
    struct dirent *e;

    if (!d)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_entry(dirfd(d), e->d_name, DEEPEST);
    closedir(d);
    if (rmdir(path) < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    return 0;
}

int hu_session_append(const hu_session *session, const char *name, const void *bytes, size_t n, hu_error *err)
{
    char        path[HU_SESSION_PATH_MAX + 64];
    const char *p = bytes;
    int         fd;

    if (!hu_session_file(session, name, path, sizeof path))
        return hu_fail(err, HU_EIO, name, HU_NO_OFFSET, "the path is too long");
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (size_t done = 0; fd >= 0 && done < n;) {
        const ssize_t k = write(fd, p + done, n - done);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
            close(fd);
            return HU_EIO;
        }
        done += (size_t)k;
    }
    if (fd < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    close(fd);
    return 0;
}
